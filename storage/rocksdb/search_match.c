/*
 * storage/rocksdb/search_match.c - every '#' may end a prefix, every public head may start a
 * canary.
 *
 * 1. No tenant's ID contains '#' or '/': a key belongs to the tenant whose ID ends at the first
 *    '#', or to the one between the first two '/'.
 * 2. A canary is found by its public head and identified by its hash, at any place.
 */
#define _GNU_SOURCE

#include "storage/rocksdb/search_match.h"

#include <openssl/sha.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "storage/rocksdb/docs.h"
#include "storage/rocksdb/purge.h"

#include "base/banned.h"

#define PREFIX_END '#'

static struct slice id_of(const struct rdb_wanted *w)
{
    struct slice prefix = sto_range_begin(&w->range);
    return base_slice(prefix.ptr, prefix.len - 1);
}

static int compare(const void *a, const void *b)
{
    return base_slice_compare(id_of(a), id_of(b));
}

void sto_rdb_match_init(struct rdb_match *m, struct sto_search_target *targets, size_t count)
{
    *m = (struct rdb_match){.count = count, .overlap = STO_CANARY_BYTES - 1};
    m->wanted = base_new_array(count, sizeof m->wanted[0]);
    for (size_t i = 0; i < count; i++) {
        struct rdb_wanted *w = &m->wanted[i];
        w->target = &targets[i];
        w->range = sto_range_of_tenant(targets[i].scope);
        struct slice id = id_of(w);
        m->ends[id.ptr[id.len - 1]] = true;
        m->has_canaries = m->has_canaries || targets[i].canary_count > 0;
        if (id.len > m->overlap)
            m->overlap = id.len;
    }
    qsort(m->wanted, count, sizeof m->wanted[0], compare);
}

void sto_rdb_match_fini(struct rdb_match *m)
{
    base_free(m->wanted);
    *m = (struct rdb_match){0};
}

/* --- keys ------------------------------------------------------------------------------------- */

static struct rdb_wanted *find_id(struct rdb_match *m, struct slice id)
{
    size_t low = 0;
    size_t high = m->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = base_slice_compare(id_of(&m->wanted[middle]), id);
        if (order == 0)
            return &m->wanted[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

bool sto_rdb_match_is_wanted(struct rdb_match *m, struct slice id)
{
    return find_id(m, id) != NULL;
}

static bool is_document(struct slice key)
{
    if (key.len <= 2 || key.ptr[1] != '/')
        return false;
    const struct sto_doc_place *place = sto_doc_place_of(key.ptr[0]);
    return place != NULL && place->fate == STO_PLACE_ERASED;
}

static struct rdb_wanted *owner_of(struct rdb_match *m, struct slice key)
{
    const uint8_t *end = key.len == 0 ? NULL : memchr(key.ptr, PREFIX_END, key.len);
    struct rdb_wanted *found =
        end == NULL ? NULL : find_id(m, base_slice(key.ptr, (size_t)(end - key.ptr)));
    if (found != NULL || !is_document(key))
        return found;
    struct slice rest = base_slice_skip(key, 2);
    end = memchr(rest.ptr, '/', rest.len);
    return end == NULL ? NULL : find_id(m, base_slice(rest.ptr, (size_t)(end - rest.ptr)));
}

/* --- runs of bytes ---------------------------------------------------------------------------- */

/* end: offset of a '#' in bytes. */
static void count_ending_at(struct rdb_match *m, struct slice bytes, size_t end, size_t limit)
{
    if (end == 0 || !m->ends[bytes.ptr[end - 1]])
        return;
    for (size_t i = 0; i < m->count; i++) {
        struct slice id = id_of(&m->wanted[i]);
        if (end >= id.len && end - id.len < limit &&
            memcmp(bytes.ptr + end - id.len, id.ptr, id.len) == 0)
            m->wanted[i].prefixes_here++;
    }
}

static void count_prefixes(struct rdb_match *m, struct slice bytes, size_t limit)
{
    size_t at = 0;
    while (at < bytes.len) {
        const uint8_t *found = memchr(bytes.ptr + at, PREFIX_END, bytes.len - at);
        if (found == NULL)
            return;
        size_t end = (size_t)(found - bytes.ptr);
        count_ending_at(m, bytes, end, limit);
        at = end + 1;
    }
}

static void count_canary(struct rdb_match *m, const uint8_t *at)
{
    struct sto_canary c;
    (void)SHA256(at, STO_CANARY_BYTES, c.hash); /* cannot fail with memory of its own */
    for (size_t i = 0; i < m->count; i++) {
        const struct sto_search_target *t = m->wanted[i].target;
        for (size_t k = 0; k < t->canary_count; k++)
            if (memcmp(c.hash, t->canaries[k].hash, sizeof c.hash) == 0) {
                m->wanted[i].canaries_here++;
                return;
            }
    }
}

static void count_canaries(struct rdb_match *m, struct slice bytes, size_t limit)
{
    const struct slice head = SLICE_LIT(STO_CANARY_HEAD);
    while (m->has_canaries && bytes.len >= STO_CANARY_BYTES) {
        const uint8_t *at = memmem(bytes.ptr, bytes.len, head.ptr, head.len);
        size_t passed = at == NULL ? limit : (size_t)(at - bytes.ptr) + 1;
        if (at == NULL || passed > limit)
            return;
        if (bytes.len - (passed - 1) >= STO_CANARY_BYTES)
            count_canary(m, at);
        bytes = base_slice_skip(bytes, passed);
        limit -= passed;
    }
}

/* --- together --------------------------------------------------------------------------------- */

void sto_rdb_match_bytes(struct rdb_match *m, struct slice bytes, size_t limit)
{
    count_prefixes(m, bytes, limit);
    count_canaries(m, bytes, limit);
}

void sto_rdb_match_entry(struct rdb_match *m, struct slice key, struct slice value)
{
    struct rdb_wanted *owner = owner_of(m, key);
    uint64_t before = owner != NULL ? owner->prefixes_here : 0;
    sto_rdb_match_bytes(m, key, key.len);
    if (owner != NULL) {
        owner->keys_here++;
        owner->prefixes_here = before; /* prefixes in its own key are that key itself */
    }
    sto_rdb_match_bytes(m, value, value.len);
}

void sto_rdb_match_forget(struct rdb_match *m)
{
    for (size_t i = 0; i < m->count; i++) {
        m->wanted[i].keys_here = 0;
        m->wanted[i].prefixes_here = 0;
        m->wanted[i].canaries_here = 0;
    }
}
