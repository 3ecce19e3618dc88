/*
 * migrations/backup_tables.h - the tables of a tenant, as a backup has them.
 *
 * Does:     collect schemas from their documents, in the order of their keys.
 * Owns:     the schemas, until mig_tables_fini.
 * May use:  base/, storage/, tenancy/.
 * Knows no: where the documents come from.
 * Threads:  one at a time.
 * Blocks:   no.
 * Fails by: ERR_CORRUPT, ERR_TOO_BIG.
 * Limits:   LIM_TABLES, and as many that are being deleted.
 * Promises: 1. Tables that are being deleted, or not yet restored, are left out.
 */
#ifndef MIGRATIONS_BACKUP_TABLES_H
#define MIGRATIONS_BACKUP_TABLES_H

#include "storage/schema.h"

/* All zero: empty. */
struct mig_tables {
    struct slice tenant;
    struct slice only; /* that table; empty: all */
    struct sto_schema **schemas;
    size_t count;
};

/* out_taken: it is one of them now, the last one. */
enum err mig_tables_take(struct mig_tables *t, struct slice key, struct slice body, bool *out_taken,
                         struct errbuf *eb) MUST_CHECK;
/* Index of the table; false when it is not there. */
bool mig_tables_find(const struct mig_tables *t, struct slice table_id, size_t *out_at);
void mig_tables_fini(struct mig_tables *t);

#endif
