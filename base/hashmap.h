/*
 * base/hashmap.h - a map from bytes to pointers that readers use without a lock.
 *
 * Does:     finds (any thread), inserts, removes and iterates (one writer).
 * Owns:     its nodes and copies of the keys; never the values.
 * May use:  base/.
 * Knows no: the meaning of the values.
 * Threads:  find from threads joined to the epoch; the rest from one writer at a time.
 * Blocks:   no.
 * Fails by: ERR_EXISTS on insert.
 * Limits:   none; it doubles when full.
 * Promises: 1. find sees every insert that returned before find started.
 *           2. Removed nodes live until the epoch passes. 3. Keyed hash (random seed): hostile keys
 *              cannot make long chains.
 */
#ifndef BASE_HASHMAP_H
#define BASE_HASHMAP_H

#include "base/epoch.h"
#include "base/slice.h"

struct base_hashmap;

struct base_hashmap *base_hashmap_new(struct base_epoch *epoch);
/* Frees the map. No reader may use it any more. */
void base_hashmap_free(struct base_hashmap *m);

void *base_hashmap_find(const struct base_hashmap *m, struct slice key);
enum err base_hashmap_insert(struct base_hashmap *m, struct slice key, void *value) MUST_CHECK;
/* Removes a key. Returns the removed value, or NULL if there was none. */
void *base_hashmap_remove(struct base_hashmap *m, struct slice key);
size_t base_hashmap_count(const struct base_hashmap *m);
/* Calls visit for every key in no order; visit returns false to stop. Writer thread only. visit may
 * remove the key it is called with, and change nothing else. */
void base_hashmap_walk(struct base_hashmap *m,
                       bool (*visit)(void *ctx, struct slice key, void *value), void *ctx);

/* Returns SipHash-1-3 with a per-process random key; also used to spread tenants over
 * committers. */
uint64_t base_hash(struct slice key);

#endif
