/*
 * storage/rocksdb/overlay.h - what the batch under way changes, in key order, with undo.
 *
 * Does:     hold the changed cells and row headers of one batch, so that an operation sees those
 *           before it; take back the changes of an operation that is refused.
 * Owns:     its entries and keys, and cell values that were made here; other values are borrowed
 *           from the operations of the batch.
 * May use:  base/, storage/.
 * Knows no: RocksDB, quotas.
 * Threads:  one committer's.
 * Blocks:   no.
 * Fails by: NULL when memory is out or RDB_OVERLAY_MAX is reached.
 * Limits:   RDB_OVERLAY_MAX.
 * Promises: 1. undo(mark) makes the overlay as it was at mark, in time linear in what was changed
 *              since (RocksDB's WriteBatchWithIndex rebuilds its whole index instead: 2.5 ms in a
 *              batch of 2,000, for every refused operation).
 *           2. A value that one operation changes many times is copied a few times only.
 */
#ifndef STORAGE_ROCKSDB_OVERLAY_H
#define STORAGE_ROCKSDB_OVERLAY_H

#include "base/arena.h"
#include "storage/value.h"

#define RDB_OVERLAY_MAX    (GIB) /* memory of one batch, beside the operations themselves */
#define RDB_OVERLAY_LEVELS 12

struct rdb_change {
    bool live;    /* false: the overlay says nothing about this key */
    bool present; /* false: deleted */
    bool in_db;   /* the database holds this key */
    bool is_head;
    uint8_t family_name_len;  /* a present cell */
    struct slice value;       /* a present cell: the caller's bytes, or those of own */
    struct sto_row_head head; /* a present row header */
    uint8_t *own;             /* value made in the overlay's memory; NULL: borrowed */
    uint32_t own_room;        /* bytes there */
    uint32_t made_by;         /* number of the operation that made it */
    struct sto_cipher
        *cipher; /* a present cell: what seals it on its way to the database, or NULL */
};

struct rdb_entry {
    struct slice key;
    struct rdb_change now;
    struct rdb_entry *next[]; /* as many as its level; [0] is the next key */
};

struct rdb_undo;

struct rdb_overlay {
    struct arena arena;
    struct rdb_entry *first[RDB_OVERLAY_LEVELS];
    struct rdb_entry *touched;                    /* last; NULL: none, links say nothing */
    struct rdb_entry **links[RDB_OVERLAY_LEVELS]; /* to it */
    struct rdb_undo *undo;
    uint64_t dice;
    uint32_t operation; /* counts marks */
};

void sto_rdb_overlay_init(struct rdb_overlay *o);
void sto_rdb_overlay_fini(struct rdb_overlay *o);

/* First entry with a key at or behind key, live or not. */
struct rdb_entry *sto_rdb_overlay_seek(struct rdb_overlay *o, struct slice key);
/* Whether it changes a key that begins like that. */
bool sto_rdb_overlay_has(struct rdb_overlay *o, struct slice prefix);
/* The entry of key, made (not live) when there is none. */
struct rdb_entry *sto_rdb_overlay_touch(struct rdb_overlay *o, struct slice key);
/* Replace its state, remembering the old one. False when memory is out; nothing changed then. */
bool sto_rdb_overlay_change(struct rdb_overlay *o, struct rdb_entry *entry,
                            const struct rdb_change *change);

/* Memory for a value of `len` bytes that the operation under way makes for entry, to be put there
 * with change: own, own_room and made_by are filled in, value is that memory. It may be the memory
 * of the value that the same operation made before, whose bytes then stand in it; nothing else
 * refers to them. False when memory is out. */
bool sto_rdb_overlay_own(struct rdb_overlay *o, const struct rdb_entry *entry, size_t len,
                         struct rdb_change *change);

/* An operation begins. */
struct rdb_undo *sto_rdb_overlay_mark(struct rdb_overlay *o);
void sto_rdb_overlay_undo(struct rdb_overlay *o, struct rdb_undo *mark);

#endif
