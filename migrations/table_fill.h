/*
 * migrations/table_fill.h - stored keys and values become rows again, by ordinary writes.
 *
 * Does:     take headers and cells as they are stored, open those that are sealed, and write them
 *           to a table with their own timestamps, many writes at a time, behind everybody's
 *           requests.
 * Owns:     the writes under way, from new to free.
 * May use:  base/, storage/, migrations/.
 * Knows no: where they come from, who sees the table.
 * Threads:  one.
 * Blocks:   while too many writes are under way, and until the last one ended.
 * Fails by: ERR_CORRUPT (a cell that is not what it must be, or does not open), ERR_QUOTA,
 *           ERR_STORAGE_FULL, ERR_TOO_BIG, ERR_GONE, ERR_SUSPENDED, ERR_UNAVAILABLE (engine; the
 *           tenant's key), ERR_CANCELLED (watch).
 * Limits:   MIG_FILL_WRITES, MIG_FILL_BYTES.
 * Promises: 1. Families go by their names; cells of families that the backup's table had dropped
 *              are left out. 2. A cell is written with its timestamp and value; an aggregate with
 *              its state.
 */
#ifndef MIGRATIONS_TABLE_FILL_H
#define MIGRATIONS_TABLE_FILL_H

#include "migrations/backup.h"

#define MIG_FILL_WRITES    32  /* under way at a time */
#define MIG_FILL_BYTES     MIB /* of cells in one write, or a single cell that is larger */
#define MIG_FILL_MUTATIONS 1000

struct mig_fill;

/* Borrows all of it. from: the schema of the table as the backup has it. */
struct mig_fill *mig_fill_new(struct sto_engine *engine, const struct sto_table_scope *to,
                              const struct sto_schema *from, struct mig_backup_watch *watch);
/* Accepts NULL; waits for what is under way. */
void mig_fill_free(struct mig_fill *f);

/* An sto_stored_visit; ctx: struct mig_fill. What is wrong is told by mig_fill_end. */
enum err mig_fill_take(void *ctx, struct slice key, struct slice value) MUST_CHECK;
/* Wait for all writes. The first failure of any, or `taken`. */
enum err mig_fill_end(struct mig_fill *f, enum err taken, uint64_t *out_rows,
                      struct errbuf *eb) MUST_CHECK;

#endif
