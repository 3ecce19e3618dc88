/*
 * migrations/backup_tables.h - the tables of a tenant in a backup.
 *
 * Does:     collects schemas from their documents, in key order.
 * Owns:     the schemas, until mig_tables_fini.
 * May use:  base/, storage/, tenancy/.
 * Knows no: where the documents come from.
 * Threads:  one at a time.
 * Blocks:   no.
 * Fails by: ERR_CORRUPT, ERR_TOO_BIG.
 * Limits:   LIM_TABLES, and the same number of tables being deleted.
 * Promises: 1. Tables that are being deleted, or whose restore is not complete, are left out.
 */
#ifndef MIGRATIONS_BACKUP_TABLES_H
#define MIGRATIONS_BACKUP_TABLES_H

#include "storage/schema.h"

/* All zero: empty. */
struct mig_tables {
    struct slice tenant;
    struct slice only; /* only that table; empty: all */
    struct sto_schema **schemas;
    size_t count;
};

/* out_taken: the schema was added, as the last one. */
enum err mig_tables_take(struct mig_tables *t, struct slice key, struct slice body, bool *out_taken,
                         struct errbuf *eb) MUST_CHECK;
/* Returns the index of the table; false when it is missing. */
bool mig_tables_find(const struct mig_tables *t, struct slice table_id, size_t *out_at);
void mig_tables_fini(struct mig_tables *t);

#endif
