/*
 * tenancy/tables_replace.h - all tables of a tenant make way for others.
 *
 * Does:     hide every table that a tenant has, in one batch, and have their rows removed; keep
 *           others from making tables until those that come instead are published.
 * Owns:     nothing.
 * May use:  base/, storage/, tenancy/.
 * Knows no: backups, what comes instead (tenancy/table_restore.h).
 * Threads:  control.
 * Blocks:   begin on the disk.
 * Fails by: ERR_CONFLICT (deletion protection of a table or a view), ERR_GONE, ERR_SUSPENDED,
 *           ERR_UNAVAILABLE (the server stops).
 * Limits:   LIM_TABLES.
 * Promises: 1. Either all tables are hidden, and `also` is stored, or nothing of it.
 *           2. From begin or resume to end, who asks for a table is told to try again
 *              (ERR_UNAVAILABLE), and nobody makes one.
 */
#ifndef TENANCY_TABLES_REPLACE_H
#define TENANCY_TABLES_REPLACE_H

#include "tenancy/registry.h"

/* Whether begin would be refused. */
enum err ten_tables_replace_check(const struct ten_tenant *t, struct errbuf *eb) MUST_CHECK;
enum err ten_tables_replace_begin(struct ten_registry *r, struct ten_tenant *t,
                                  const struct sto_doc_change *also, size_t also_count,
                                  struct errbuf *eb) MUST_CHECK;
/* After a start: it had begun. */
void ten_tables_replace_resume(struct ten_tenant *t);
/* Nothing of any deleted table of the tenant is left. A removal that failed is tried again. */
bool ten_tables_replace_is_clear(struct ten_registry *r, const struct ten_tenant *t);
/* However it went. */
void ten_tables_replace_end(struct ten_tenant *t);

#endif
