/*
 * tenancy/tables_replace.h - replaces all tables of a tenant.
 *
 * Does:     hides every table of a tenant, in one batch, and has their rows removed; keeps others
 *           from creating tables until the new ones are published.
 * Owns:     nothing.
 * May use:  base/, storage/, tenancy/.
 * Knows no: backups, the new tables (tenancy/table_restore.h).
 * Threads:  control.
 * Blocks:   begin on the disk.
 * Fails by: ERR_CONFLICT (deletion protection of a table or a view), ERR_GONE, ERR_SUSPENDED,
 *           ERR_UNAVAILABLE (the server stops).
 * Limits:   LIM_TABLES.
 * Promises: 1. Either all tables are hidden and `also` is stored, or neither.
 *           2. From begin or resume to end, requests for a table are refused with ERR_UNAVAILABLE,
 *              which says to retry, and no table can be created.
 */
#ifndef TENANCY_TABLES_REPLACE_H
#define TENANCY_TABLES_REPLACE_H

#include "tenancy/registry.h"

/* Returns the error that begin would fail with. */
enum err ten_tables_replace_check(const struct ten_tenant *t, struct errbuf *eb) MUST_CHECK;
enum err ten_tables_replace_begin(struct ten_registry *r, struct ten_tenant *t,
                                  const struct sto_doc_change *also, size_t also_count,
                                  struct errbuf *eb) MUST_CHECK;
/* Restores the state after a start, for a replacement in progress. */
void ten_tables_replace_resume(struct ten_tenant *t);
/* Returns whether nothing of any deleted table of the tenant is left. Retries a removal that
 * failed. */
bool ten_tables_replace_is_clear(struct ten_registry *r, const struct ten_tenant *t);
/* Ends the replacement, whether it succeeded or not. */
void ten_tables_replace_end(struct ten_tenant *t);

#endif
