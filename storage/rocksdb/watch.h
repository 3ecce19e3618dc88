/*
 * storage/rocksdb/watch.h - detects writes into a range while it is read elsewhere.
 *
 * Does:     checks the changes of each batch of a committer, keeps the lowest changed key in a
 *           range.
 * Owns:     nothing; a watch is its creator's, who also keeps the bounds.
 * May use:  base/, storage/.
 * Knows no: the reader and its purpose.
 * Threads:  the committer's of the range's tenant: all writes of the range are in its batches.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   none; each watch costs a batch one search in its overlay.
 * Promises: 1. Every write into the range between begin and end is detected.
 */
#ifndef STORAGE_ROCKSDB_WATCH_H
#define STORAGE_ROCKSDB_WATCH_H

#include "storage/keycodec.h"
#include "storage/range.h"
#include "storage/rocksdb/overlay.h"

struct rdb_watch {
    struct rdb_watch *next;
    struct sto_span span;
    size_t lowest_len; /* 0: nothing was written */
    uint8_t lowest[STO_KEY_MAX];
};

void sto_rdb_watch_begin(struct rdb_watch **list, struct rdb_watch *w, struct sto_span span);
void sto_rdb_watch_end(struct rdb_watch **list, struct rdb_watch *w);

/* Call before a batch is written. */
void sto_rdb_watches_see_batch(struct rdb_watch *list, struct rdb_overlay *o);
/* Call for a range of rows that is deleted in addition to the overlay's changes. */
void sto_rdb_watches_see_span(struct rdb_watch *list, struct sto_span span);

/* Returns whether there was a write before `end`. */
bool sto_rdb_watch_saw(const struct rdb_watch *w, struct slice end);

#endif
