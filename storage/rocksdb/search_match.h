/*
 * storage/rocksdb/search_match.h - whose bytes these are, of many tenants at once.
 *
 * Does:     count keys that are a tenant's; count in any run of bytes where a tenant's prefix or
 *           one of its canaries begins.
 * Owns:     the targets' places in the order of their IDs.
 * May use:  base/, storage/, OpenSSL's digests.
 * Knows no: files.
 * Threads:  one; job threads.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   none: any number of targets.
 * Promises: 1. Bytes are gone through once, however many tenants are looked for. 2. What is found
 *              for a tenant is the same as if it were looked for alone.
 */
#ifndef STORAGE_ROCKSDB_SEARCH_MATCH_H
#define STORAGE_ROCKSDB_SEARCH_MATCH_H

#include "storage/engine.h"
#include "storage/range.h"

/* One of those that are looked for. */
struct rdb_wanted {
    struct sto_search_target *target; /* of the maker; its `found` is counted up */
    struct sto_range range;           /* its begin is the prefix: "tenant#" */
    /* counted since somebody set them to 0 */
    uint64_t keys_here;
    uint64_t prefixes_here;
    uint64_t canaries_here;
};

struct rdb_match {
    struct rdb_wanted *wanted; /* by ID */
    size_t count;
    size_t overlap;    /* so many bytes of a window may begin something that ends behind it */
    bool has_canaries; /* some of them */
    bool ends[256];    /* with which bytes their IDs end */
};

void sto_rdb_match_init(struct rdb_match *m, struct sto_search_target *targets, size_t count);
void sto_rdb_match_fini(struct rdb_match *m);

/* Count what a key and its value hold: the key itself, if a row, change or document of theirs has
 * it, prefixes elsewhere, canaries. */
void sto_rdb_match_entry(struct rdb_match *m, struct slice key, struct slice value);
/* Count prefixes and canaries that begin in the first `limit` bytes. */
void sto_rdb_match_bytes(struct rdb_match *m, struct slice bytes, size_t limit);
/* Whether the tenant of that ID is one of those that are looked for. */
bool sto_rdb_match_is_wanted(struct rdb_match *m, struct slice id);
/* All counts "here" are 0. */
void sto_rdb_match_forget(struct rdb_match *m);

#endif
