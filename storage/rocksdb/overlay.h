/*
 * storage/rocksdb/overlay.h - the changes of the batch in progress, in key order, with undo.
 *
 * Does:     holds the changed cells and row headers of one batch, so that an operation sees the
 *           changes of previous ones; undoes the changes of an operation that is refused.
 * Owns:     its entries and keys, and cell values that were created here; other values are borrowed
 *           from the operations of the batch.
 * May use:  base/, storage/.
 * Knows no: RocksDB, quotas.
 * Threads:  one committer's.
 * Blocks:   no.
 * Fails by: NULL when memory is out or RDB_OVERLAY_MAX is reached.
 * Limits:   RDB_OVERLAY_MAX.
 * Promises: 1. undo(mark) restores the overlay's state at mark, in time linear in the changes since
 *              then (RocksDB's WriteBatchWithIndex rebuilds its whole index instead: 2.5 ms in a
 *              batch of 2,000, for every refused operation).
 *           2. A value that one operation changes many times is copied a few times only.
 */
#ifndef STORAGE_ROCKSDB_OVERLAY_H
#define STORAGE_ROCKSDB_OVERLAY_H

#include "base/arena.h"
#include "storage/value.h"

#define RDB_OVERLAY_MAX    (GIB) /* memory of one batch, without the operations themselves */
#define RDB_OVERLAY_LEVELS 12

struct rdb_change {
    bool live;    /* false: the overlay has no change of this key */
    bool present; /* false: deleted */
    bool in_db;   /* the database holds this key */
    bool is_head;
    uint8_t family_name_len;   /* of a present cell */
    struct slice value;        /* of a present cell: the caller's bytes, or those of own */
    struct sto_row_head head;  /* of a present row header */
    uint8_t *own;              /* a value in the overlay's memory; NULL: borrowed */
    uint32_t own_room;         /* size of own, in bytes */
    uint32_t made_by;          /* number of the operation that created own */
    struct sto_cipher *cipher; /* encrypts a present cell's value when it is written; NULL: none */
};

struct rdb_entry {
    struct slice key;
    struct rdb_change now;
    struct rdb_entry *next[]; /* one per level of the entry; [0] is the next key */
};

struct rdb_undo;

struct rdb_overlay {
    struct arena arena;
    struct rdb_entry *first[RDB_OVERLAY_LEVELS];
    struct rdb_entry *touched;                    /* last; NULL: none, and links are not valid */
    struct rdb_entry **links[RDB_OVERLAY_LEVELS]; /* the pointers to `touched`, per level */
    struct rdb_undo *undo;
    uint64_t dice;
    uint32_t operation; /* number of marks so far */
};

void sto_rdb_overlay_init(struct rdb_overlay *o);
void sto_rdb_overlay_fini(struct rdb_overlay *o);

/* Returns the first entry with a key at or after key, live or not. */
struct rdb_entry *sto_rdb_overlay_seek(struct rdb_overlay *o, struct slice key);
/* Returns whether the overlay changes a key with that prefix. */
bool sto_rdb_overlay_has(struct rdb_overlay *o, struct slice prefix);
/* Returns the entry of key; creates it (not live) if there is none. */
struct rdb_entry *sto_rdb_overlay_touch(struct rdb_overlay *o, struct slice key);
/* Replaces the entry's state, and records the old state for undo. False: no memory; nothing
 * changed. */
bool sto_rdb_overlay_change(struct rdb_overlay *o, struct rdb_entry *entry,
                            const struct rdb_change *change);

/* Returns memory for a value of `len` bytes that the operation in progress creates for entry, to be
 * stored with sto_rdb_overlay_change: own, own_room and made_by are filled in, value is that
 * memory. It may be the memory of the value that the same operation created before, still with that
 * value's bytes; nothing else refers to them. False: no memory. */
bool sto_rdb_overlay_own(struct rdb_overlay *o, const struct rdb_entry *entry, size_t len,
                         struct rdb_change *change);

/* Marks the start of an operation. */
struct rdb_undo *sto_rdb_overlay_mark(struct rdb_overlay *o);
void sto_rdb_overlay_undo(struct rdb_overlay *o, struct rdb_undo *mark);

#endif
