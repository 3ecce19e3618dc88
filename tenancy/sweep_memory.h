/*
 * tenancy/sweep_memory.h - the sweeper's state of its tables, across a restart.
 *
 * Does:     keeps per table the last finished pass and the position of the current one: in the
 *           sto_table and, at intervals and for many tables at once, in documents.
 * Owns:     the list of tables whose documents are out of date.
 * May use:  base/, storage/, tenancy/.
 * Knows no: when a table is due, what is garbage.
 * Threads:  the control thread's; load before it runs.
 * Blocks:   load, save and resume on the disk.
 * Fails by: load: ERR_CORRUPT, ERR_IO. Progress that cannot be saved is swept again after a
 *           restart.
 * Limits:   TEN_SWEEP_SAVE_KEYS scanned keys, or TEN_SWEEP_UNSAVED_MAX tables, between two saves.
 * Promises: 1. A document never claims more than is durable: removals it implies were made before.
 *           2. A table that was not scanned since the last save is not written.
 *           3. Only tables of active tenants are written, so a purge that has started finds every
 *              document.
 */
#ifndef TENANCY_SWEEP_MEMORY_H
#define TENANCY_SWEEP_MEMORY_H

#include "base/buf.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/slice.h"

struct ten_registry;
struct ten_tenant;

#define TEN_SWEEP_SAVE_KEYS   50000 /* keys scanned again after a crash: a second's work */
#define TEN_SWEEP_UNSAVED_MAX 512

/* A name, not a pointer: the table may be gone, or recreated, when it is saved. */
struct ten_sweep_unsaved {
    struct ten_tenant *tenant;
    uint8_t table_len;
    char table[LIM_TABLE_ID + 1];
};

struct ten_sweep_memory {
    uint64_t keys; /* scanned since the last save */
    size_t count;
    struct ten_sweep_unsaved unsaved[TEN_SWEEP_UNSAVED_MAX];
};

/* Where the pass in progress continues; an empty row: no pass is in progress. */
struct ten_sweep_position {
    struct slice tenant_id;
    struct slice table_id;
    struct slice row;
};

/* Blocking, after tenants and tables are loaded. */
enum err ten_sweep_load(struct ten_registry *r, struct errbuf *eb) MUST_CHECK;
/* Records that a portion of the table was swept: its document is out of date. */
void ten_sweep_note(struct ten_sweep_memory *m, struct ten_tenant *t, struct slice table_id,
                    uint64_t keys);
bool ten_sweep_save_is_due(const struct ten_sweep_memory *m);
/* Blocking. Writes the documents that are out of date, in one batch. Returns true when something
 * was written. */
bool ten_sweep_save(struct ten_sweep_memory *m, struct ten_registry *r,
                    const struct ten_sweep_position *at);
/* Blocking. Returns the row where a pass from before the start continues; false: it cannot, start
 * from the first row. */
bool ten_sweep_resume(struct ten_registry *r, struct slice tenant_id, struct slice table_id,
                      struct buf *out_row);

#endif
