/*
 * storage/rocksdb/watch.h - whether somebody wrote into a range while it was read elsewhere.
 *
 * Does:     look at what each batch of a committer changes, keep the lowest such key of a range.
 * Owns:     nothing; a watch is its maker's, who also keeps the bounds.
 * May use:  base/, storage/.
 * Knows no: who reads, and what for.
 * Threads:  the committer's of the range's tenant: all writes of the range are in its batches.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   none; each watch costs a batch one search in its overlay.
 * Promises: 1. Between begin and end no write into the range stays unseen.
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

/* A batch is about to be written. */
void sto_rdb_watches_see_batch(struct rdb_watch *list, struct rdb_overlay *o);
/* Beside its overlay, a range of rows goes. */
void sto_rdb_watches_see_span(struct rdb_watch *list, struct sto_span span);

/* Whether something was written in front of `end`. */
bool sto_rdb_watch_saw(const struct rdb_watch *w, struct slice end);

#endif
