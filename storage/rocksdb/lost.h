/*
 * storage/rocksdb/lost.h - ranges of keys of which a lost block held some.
 *
 * Does:     records such ranges in the metadata, table by table, before the block leaves the files;
 *           reports whether keys that are to be read or written are in one.
 * Owns:     the ranges in memory.
 * May use:  base/, storage/.
 * Knows no: how the damage was found.
 * Threads:  any; load at open, before the others; all others any.
 * Blocks:   add, load and forget on the disk.
 * Fails by: ERR_CORRUPT (keys in a lost range), errors of reads and writes of the metadata.
 * Limits:   none: as many ranges as lost blocks, times the tenants in one block.
 * Promises: 1. A range of rows starts and ends between two rows.
 *           2. A range is inside one table, and its record is deleted with that table and tenant.
 *           3. An iterator or get that was created before a check that passed misses nothing.
 */
#ifndef STORAGE_ROCKSDB_LOST_H
#define STORAGE_ROCKSDB_LOST_H

#include <pthread.h>
#include <rocksdb/c.h>
#include <stdatomic.h>

#include "storage/range.h"

struct rdb_engine;

struct rdb_lost_range {
    int family;
    size_t begin_len;
    size_t end_len;
    uint8_t *keys; /* begin, then end, which is exclusive */
};

struct rdb_lost {
    _Atomic uint64_t count;
    _Atomic uint64_t changes; /* number of changes of the list */
    pthread_mutex_t writing;  /* held while the records and the list change together */
    pthread_mutex_t lock;
    struct rdb_lost_range *of; /* under lock, unordered */
};

void sto_rdb_lost_init(struct rdb_lost *l);
void sto_rdb_lost_fini(struct rdb_lost *l);
/* At open: removes records of tables that no longer exist, and fills the list. */
enum err sto_rdb_lost_load(struct rdb_engine *e) MUST_CHECK;

/* A block with the keys after `from`, up to and including `to`. After sto_rdb_lost_add returns
 * ERR_OK, reads of these keys fail, also after a crash. Tenants whose purge is in progress are left
 * out. */
struct rdb_lost_block {
    int family;
    uint64_t file;
    uint64_t offset;
    struct slice from;
    struct slice to;
};
enum err sto_rdb_lost_add(struct rdb_engine *e, const struct rdb_lost_block *block) MUST_CHECK;

/* Deletes the tenant's records about keys in the span. Called after those keys were deleted. */
enum err sto_rdb_lost_forget(struct rdb_engine *e, const struct sto_tenant_scope *scope,
                             struct sto_span within) MUST_CHECK;

/* Call after creating an iterator. ERR_CORRUPT: a key of [begin, end) may have been lost. */
enum err sto_rdb_lost_check(struct rdb_engine *e, int family, struct slice begin,
                            struct slice end) MUST_CHECK;
/* Call after a get. ERR_CORRUPT: the key may have been lost. */
enum err sto_rdb_lost_check_key(struct rdb_engine *e, int family, struct slice key) MUST_CHECK;
/* Finds the first lost keys of [begin, end), or the last, where a read of the span has to stop.
 * out: the bound in the direction of reading, at most out_max bytes. False: no key of the span is
 * lost. */
bool sto_rdb_lost_first(struct rdb_engine *e, int family, struct sto_span span, bool backwards,
                        uint8_t *out, size_t out_max, size_t *out_len);

/* Returns whether the key is lost; if it is, out is the next key that may be read, at most out_max
 * bytes. */
bool sto_rdb_lost_end(struct rdb_engine *e, int family, struct slice key, uint8_t *out,
                      size_t out_max, size_t *out_len);

/* Decodes a record of the metadata. ERR_CORRUPT. */
enum err sto_rdb_lost_decode(struct slice value, int *out_family, struct sto_span *out) MUST_CHECK;

#endif
