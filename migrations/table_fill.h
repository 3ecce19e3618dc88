/*
 * migrations/table_fill.h - turns stored keys and values into rows again, by ordinary writes.
 *
 * Does:     accepts headers and cells as they are stored, decrypts encrypted ones, and writes them
 *           to a table with their own timestamps, many writes at a time, at low priority.
 * Owns:     the writes in flight, from new to free.
 * May use:  base/, storage/, migrations/.
 * Knows no: where they come from, whether the table is visible.
 * Threads:  one.
 * Blocks:   while too many writes are in flight, and until the last one finished.
 * Fails by: ERR_CORRUPT (a cell is malformed, or cannot be decrypted), ERR_QUOTA, ERR_STORAGE_FULL,
 *           ERR_TOO_BIG, ERR_GONE, ERR_SUSPENDED, ERR_UNAVAILABLE (engine; the tenant's key),
 *           ERR_CANCELLED (watch).
 * Limits:   MIG_FILL_WRITES, MIG_FILL_BYTES.
 * Promises: 1. Families are matched by name; cells of families that the backup's table had dropped
 *              are left out. 2. A cell is written with its timestamp and value; an aggregate with
 *              its state.
 */
#ifndef MIGRATIONS_TABLE_FILL_H
#define MIGRATIONS_TABLE_FILL_H

#include "migrations/backup.h"

#define MIG_FILL_WRITES    32  /* in flight at a time */
#define MIG_FILL_BYTES     MIB /* of cells in one write, except a single larger cell */
#define MIG_FILL_MUTATIONS 1000

struct mig_fill;

/* Borrows all arguments. from: the schema of the table in the backup. */
struct mig_fill *mig_fill_new(struct sto_engine *engine, const struct sto_table_scope *to,
                              const struct sto_schema *from, struct mig_backup_watch *watch);
/* Accepts NULL; waits for writes in flight. */
void mig_fill_free(struct mig_fill *f);

/* An sto_stored_visit; ctx: struct mig_fill. mig_fill_end reports the error. */
enum err mig_fill_take(void *ctx, struct slice key, struct slice value) MUST_CHECK;
/* Waits for all writes. Returns the first failure of any, or `taken`. */
enum err mig_fill_end(struct mig_fill *f, enum err taken, uint64_t *out_rows,
                      struct errbuf *eb) MUST_CHECK;

#endif
