/*
 * storage/rocksdb/recent.c - sets of RDB_RECENT_WAYS places; a key belongs to one set by its hash.
 *
 * 1. Marks are stored together, so that looking up a missing key costs one cache line. Keys are
 *    compared as well: the hash only finds them.
 * 2. A key is in at most one place. A mark of 0 is a free place.
 */
#define _GNU_SOURCE

#include "storage/rocksdb/recent.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/hashmap.h"

#include "base/banned.h"

/* Two cache lines. */
struct place {
    struct rdb_size size;
    uint16_t key_len;
    uint8_t key[RDB_RECENT_KEY];
};

struct rdb_recent_set {
    uint32_t marks[RDB_RECENT_WAYS];
    struct place places[RDB_RECENT_WAYS];
};

struct spot {
    struct rdb_recent_set *set;
    uint32_t mark;
};

void sto_rdb_recent_init(struct rdb_recent *r)
{
    size_t bytes = LIM_RECENT_SETS * sizeof(r->sets[0]);
    *r = (struct rdb_recent){.sets = base_new(bytes)};
    /* Lookups are random: with small pages each one misses the TLB as well. */
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t from = (uintptr_t)r->sets / page * page;
    (void)madvise((void *)from, (uintptr_t)r->sets + bytes - from, MADV_HUGEPAGE); /* a hint */
}

void sto_rdb_recent_fini(struct rdb_recent *r)
{
    base_free(r->sets);
    r->sets = NULL;
}

static struct spot spot_of(const struct rdb_recent *r, struct slice key)
{
    uint64_t hash = base_hash(key);
    uint32_t mark = (uint32_t)(hash >> 32);
    return (struct spot){&r->sets[hash % LIM_RECENT_SETS], mark == 0 ? 1 : mark};
}

/* Returns the index of the key's place, or RDB_RECENT_WAYS. */
static size_t way_of(struct spot spot, struct slice key)
{
    size_t way = 0;
    for (; way < RDB_RECENT_WAYS; way++) {
        const struct place *p = &spot.set->places[way];
        if (spot.set->marks[way] == spot.mark &&
            base_slice_equal(base_slice(p->key, p->key_len), key))
            break;
    }
    return way;
}

bool sto_rdb_recent_find(const struct rdb_recent *r, struct slice key, struct rdb_size *out)
{
    if (key.len > RDB_RECENT_KEY || !r->used)
        return false;
    struct spot spot = spot_of(r, key);
    size_t way = way_of(spot, key);
    if (way == RDB_RECENT_WAYS)
        return false;
    *out = spot.set->places[way].size;
    return true;
}

void sto_rdb_recent_put(struct rdb_recent *r, struct slice key, const struct rdb_size *size)
{
    if (key.len > RDB_RECENT_KEY)
        return;
    struct spot spot = spot_of(r, key);
    size_t way = way_of(spot, key);
    if (way < RDB_RECENT_WAYS) {
        spot.set->places[way].size = *size;
        return;
    }
    for (way = 0; way < RDB_RECENT_WAYS && spot.set->marks[way] != 0;)
        way++;
    if (way == RDB_RECENT_WAYS)
        way = r->turn++ % RDB_RECENT_WAYS;
    struct place *p = &spot.set->places[way];
    spot.set->marks[way] = spot.mark;
    p->size = *size;
    p->key_len = (uint16_t)key.len;
    memcpy(p->key, key.ptr, key.len);
    r->used = true;
}

void sto_rdb_recent_forget(struct rdb_recent *r, struct slice key)
{
    if (key.len > RDB_RECENT_KEY || !r->used)
        return;
    struct spot spot = spot_of(r, key);
    size_t way = way_of(spot, key);
    if (way < RDB_RECENT_WAYS)
        spot.set->marks[way] = 0;
}

void sto_rdb_recent_forget_all(struct rdb_recent *r, struct slice prefix)
{
    if (prefix.len > RDB_RECENT_KEY || !r->used)
        return;
    for (size_t i = 0; i < LIM_RECENT_SETS; i++)
        for (size_t way = 0; way < RDB_RECENT_WAYS; way++) {
            const struct place *p = &r->sets[i].places[way];
            if (r->sets[i].marks[way] != 0 &&
                base_slice_starts_with(base_slice(p->key, p->key_len), prefix))
                r->sets[i].marks[way] = 0;
        }
}

void sto_rdb_recent_clear(struct rdb_recent *r)
{
    if (!r->used)
        return;
    /* Not memset: the pages are freed, and zeroed when they are needed again. */
    sto_rdb_recent_fini(r);
    sto_rdb_recent_init(r);
}
