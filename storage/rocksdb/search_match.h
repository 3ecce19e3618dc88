/*
 * storage/rocksdb/search_match.h - determines whose bytes these are, for many tenants at once.
 *
 * Does:     counts keys that are a tenant's; counts where a tenant's prefix or one of its canaries
 *           starts in any run of bytes.
 * Owns:     the targets' indexes in the order of their IDs.
 * May use:  base/, storage/, OpenSSL's digests.
 * Knows no: files.
 * Threads:  one; job threads.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   none: any number of targets.
 * Promises: 1. Bytes are read once, however many tenants are searched for.
 *           2. The result for a tenant is the same as if it were searched for alone.
 */
#ifndef STORAGE_ROCKSDB_SEARCH_MATCH_H
#define STORAGE_ROCKSDB_SEARCH_MATCH_H

#include "storage/engine.h"
#include "storage/range.h"

/* One of the tenants that are searched for. */
struct rdb_wanted {
    struct sto_search_target *target; /* the caller's; its `found` is increased */
    struct sto_range range;           /* its begin is the prefix: "tenant#" */
    /* counted since the last reset */
    uint64_t keys_here;
    uint64_t prefixes_here;
    uint64_t canaries_here;
};

struct rdb_match {
    struct rdb_wanted *wanted; /* sorted by ID */
    size_t count;
    /* number of bytes at the end of a window in which a match may start that ends after it */
    size_t overlap;
    bool has_canaries; /* some targets have canaries */
    bool ends[256];    /* set for the last bytes of their IDs */
};

void sto_rdb_match_init(struct rdb_match *m, struct sto_search_target *targets, size_t count);
void sto_rdb_match_fini(struct rdb_match *m);

/* Counts matches in a key and its value: the key itself, if it is that of a tenant's row, change or
 * document, prefixes elsewhere, canaries. */
void sto_rdb_match_entry(struct rdb_match *m, struct slice key, struct slice value);
/* Counts prefixes and canaries that start in the first `limit` bytes. */
void sto_rdb_match_bytes(struct rdb_match *m, struct slice bytes, size_t limit);
/* Returns whether the tenant with that ID is searched for. */
bool sto_rdb_match_is_wanted(struct rdb_match *m, struct slice id);
/* Resets all counts "here" to 0. */
void sto_rdb_match_forget(struct rdb_match *m);

#endif
