/*
 * tenancy/sweep_memory.h - what the sweeper knows of its tables, across a restart.
 *
 * Does:     remember per table the last pass that ended and where the one under way is: in the
 *           sto_table, and now and then, many tables at once, in documents.
 * Owns:     the list of tables whose documents are behind.
 * May use:  base/, storage/, tenancy/.
 * Knows no: when a table is due, what is garbage.
 * Threads:  the control thread's; load before it runs.
 * Blocks:   load, save and resume on the disk.
 * Fails by: load: ERR_CORRUPT, ERR_IO. What cannot be saved is swept again after a restart.
 * Limits:   TEN_SWEEP_SAVE_KEYS keys looked at, or TEN_SWEEP_UNSAVED_MAX tables, between two saves.
 * Promises: 1. A document never says more than is durable: what was removed was removed before.
 *           2. A table that was not looked at since the last save is not written.
 *           3. Only tables of active tenants are written: a purge that has begun finds everything.
 */
#ifndef TENANCY_SWEEP_MEMORY_H
#define TENANCY_SWEEP_MEMORY_H

#include "base/buf.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/slice.h"

struct ten_registry;
struct ten_tenant;

#define TEN_SWEEP_SAVE_KEYS   50000 /* what a crash has looked at again: a second's work */
#define TEN_SWEEP_UNSAVED_MAX 512

/* A name, not a pointer: it may be gone, or another one, when it is saved. */
struct ten_sweep_unsaved {
    struct ten_tenant *tenant;
    uint8_t table_len;
    char table[LIM_TABLE_ID + 1];
};

struct ten_sweep_memory {
    uint64_t keys; /* looked at since the last save */
    size_t count;
    struct ten_sweep_unsaved unsaved[TEN_SWEEP_UNSAVED_MAX];
};

/* Where the pass under way goes on; an empty row: no pass is under way. */
struct ten_sweep_position {
    struct slice tenant_id;
    struct slice table_id;
    struct slice row;
};

/* Blocking, when tenants and tables are there. */
enum err ten_sweep_load(struct ten_registry *r, struct errbuf *eb) MUST_CHECK;
/* A portion of the table went through: its document is behind. */
void ten_sweep_note(struct ten_sweep_memory *m, struct ten_tenant *t, struct slice table_id,
                    uint64_t keys);
bool ten_sweep_save_is_due(const struct ten_sweep_memory *m);
/* Blocking. Write what is behind, in one batch. True when something was written. */
bool ten_sweep_save(struct ten_sweep_memory *m, struct ten_registry *r,
                    const struct ten_sweep_position *at);
/* Blocking. The row where a pass of before the start goes on; false: it cannot, begin anew. */
bool ten_sweep_resume(struct ten_registry *r, struct slice tenant_id, struct slice table_id,
                      struct buf *out_row);

#endif
