/*
 * storage/rocksdb/removed.c - see removed.h.
 *
 * Passing a removed key costs about 50 ns, rewriting 64 bytes of files about ten times as much. A
 * stretch is rewritten when reads have spent a tenth of what its rewriting costs. Bounding the cost
 * by the damage keeps a rare read from rewriting a large table.
 */
#include "storage/rocksdb/removed.h"

#include <openssl/crypto.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "storage/rocksdb/ranges.h"
#include "storage/rocksdb/rdb.h"

#include "base/banned.h"

#define NS_PER_S    1000000000ULL
#define BYTES_A_KEY 64
#define DUE_FIRST   20000 /* about a millisecond */

void sto_rdb_removed_init(struct rdb_removed *r)
{
    (void)pthread_mutex_init(&r->lock, NULL); /* default attributes: cannot fail */
}

void sto_rdb_removed_fini(struct rdb_removed *r)
{
    (void)pthread_mutex_destroy(&r->lock); /* no thread holds it */
}

static struct slice begin_of(const struct rdb_stretch *s)
{
    return base_slice(s->bounds.lower, s->bounds.lower_len);
}

static struct slice end_of(const struct rdb_stretch *s)
{
    return base_slice(s->bounds.upper, s->bounds.upper_len);
}

static void begin_at(struct rdb_stretch *s, struct slice key)
{
    memcpy(s->bounds.lower, key.ptr, key.len);
    s->bounds.lower_len = key.len;
}

static void end_at(struct rdb_stretch *s, struct slice key)
{
    memcpy(s->bounds.upper, key.ptr, key.len);
    s->bounds.upper_len = key.len;
}

/* Removes a stretch, and its keys from memory. */
static void drop(struct rdb_removed *r, size_t i)
{
    r->of[i] = r->of[--r->count];
    OPENSSL_cleanse(&r->of[r->count], sizeof r->of[0]);
}

/* Returns whether two stored keys belong to one tenant. */
static bool is_of_same(struct slice a, struct slice b)
{
    const uint8_t *end = memchr(a.ptr, '#', a.len);
    return end != NULL && base_slice_starts_with(b, base_slice(a.ptr, (size_t)(end - a.ptr) + 1));
}

/* Returns the stretch with fewer passed keys; either may be NULL. */
static struct rdb_stretch *lesser(struct rdb_stretch *a, struct rdb_stretch *b)
{
    return a == NULL || (b != NULL && b->passed < a->passed) ? b : a;
}

/* Returns the stretch that overlaps the span, or a new one. A full list evicts the stretch with the
 * fewest keys passed, of the same tenant if that has its share. */
static struct rdb_stretch *stretch_of(struct rdb_removed *r, struct slice begin, struct slice end)
{
    struct rdb_stretch *least = NULL, *own = NULL;
    size_t count = 0;
    for (size_t i = 0; i < r->count; i++) {
        struct rdb_stretch *s = &r->of[i];
        if (base_slice_compare(begin, end_of(s)) <= 0 && base_slice_compare(begin_of(s), end) <= 0)
            return s;
        bool is_own = is_of_same(begin, begin_of(s));
        count += is_own;
        own = lesser(own, is_own ? s : NULL);
        least = lesser(least, s);
    }
    struct rdb_stretch *s = count >= REMOVED_STRETCHES_OF_ONE ? own
                            : r->count < REMOVED_STRETCHES    ? &r->of[r->count++]
                                                              : least;
    OPENSSL_cleanse(s, sizeof *s); /* may have keys of another tenant */
    s->due = DUE_FIRST;
    begin_at(s, begin);
    end_at(s, end);
    return s;
}

void sto_rdb_removed_note(struct rdb_engine *e, struct slice begin, struct slice end,
                          uint64_t passed)
{
    struct rdb_removed *r = &e->removed;
    atomic_fetch_add_explicit(&r->passed, passed, memory_order_relaxed);
    pthread_mutex_lock(&r->lock);
    struct rdb_stretch *s = stretch_of(r, begin, end);
    if (base_slice_compare(begin, begin_of(s)) < 0)
        begin_at(s, begin);
    if (base_slice_compare(end, end_of(s)) > 0)
        end_at(s, end);
    bool was_due = s->passed >= s->due;
    s->passed += passed;
    bool is_due = !was_due && s->passed >= s->due;
    pthread_mutex_unlock(&r->lock);
    if (is_due)
        sto_rdb_reclaim_wake(&e->reclaim);
}

void sto_rdb_removed_forget(struct rdb_engine *e, struct sto_span span)
{
    struct rdb_removed *r = &e->removed;
    pthread_mutex_lock(&r->lock);
    for (size_t i = 0; i < r->count;) {
        if (base_slice_compare(begin_of(&r->of[i]), span.end) >= 0 ||
            base_slice_compare(end_of(&r->of[i]), span.begin) < 0) {
            i++;
            continue;
        }
        drop(r, i);
    }
    r->forgets++;
    pthread_mutex_unlock(&r->lock);
}

/* Copies the part of a stored key up to the next '#'; returns the rest of the key. */
static struct slice part_copy(struct slice key, char *out, size_t len_max)
{
    const uint8_t *end = memchr(key.ptr, '#', key.len);
    size_t n = end == NULL ? key.len : (size_t)(end - key.ptr);
    INVARIANT(end != NULL && n <= len_max); /* a row's key starts with both IDs */
    memcpy(out, key.ptr, n);
    out[n] = '\0';
    return base_slice(end + 1, key.len - n - 1);
}

size_t sto_rdb_removed_tables(struct rdb_removed *r,
                              struct sto_removed_table out[REMOVED_STRETCHES])
{
    size_t count = 0;
    pthread_mutex_lock(&r->lock);
    for (size_t i = 0; i < r->count; i++) {
        struct sto_removed_table *last = &out[count];
        struct slice rest = part_copy(begin_of(&r->of[i]), last->tenant, LIM_TENANT_ID);
        (void)part_copy(rest, last->table, LIM_TABLE_ID);
        last->passed = 0;
        size_t k = 0;
        while (strcmp(out[k].tenant, last->tenant) != 0 || strcmp(out[k].table, last->table) != 0)
            k++;
        out[k].passed += r->of[i].passed;
        count += k == count;
    }
    pthread_mutex_unlock(&r->lock);
    return count;
}

/* Removes a stretch that is due from the list, for its rewriting. */
static bool take(struct rdb_removed *r, struct rdb_stretch *out, uint64_t *out_forgets)
{
    bool found = false;
    pthread_mutex_lock(&r->lock);
    for (size_t i = 0; i < r->count && !found; i++) {
        found = r->of[i].passed >= r->of[i].due;
        if (found) {
            *out = r->of[i];
            drop(r, i);
        }
    }
    *out_forgets = r->forgets;
    pthread_mutex_unlock(&r->lock);
    return found;
}

/* Adds a stretch again, because its rewriting costs too much so far. After a forget its tenant may
 * be gone: it is dropped. */
static void put_back(struct rdb_removed *r, const struct rdb_stretch *s, uint64_t due,
                     uint64_t forgets)
{
    pthread_mutex_lock(&r->lock);
    if (r->forgets == forgets) {
        struct rdb_stretch *to = stretch_of(r, begin_of(s), end_of(s));
        to->passed += s->passed;
        to->due = due;
    }
    pthread_mutex_unlock(&r->lock);
}

static enum err stretch_work(struct rdb_engine *e, const struct rdb_stretch *s, uint64_t forgets,
                             bool *flushed, struct errbuf *eb)
{
    uint64_t bytes = sto_rdb_range_files(e, RDB_CF_CELLS, begin_of(s), end_of(s)).bytes;
    if (bytes / BYTES_A_KEY > s->passed) {
        put_back(&e->removed, s, bytes / BYTES_A_KEY, forgets);
        return ERR_OK;
    }
    enum err rc = *flushed ? ERR_OK : sto_rdb_flush(e);
    *flushed = true;
    if (rc != ERR_OK)
        return rc;
    sto_rdb_range_compact(e, RDB_CF_CELLS, begin_of(s), end_of(s));
    atomic_fetch_add(&e->removed.rounds, 1);
    return sto_rdb_compactions_check(e, eb);
}

static bool is_any_due(struct rdb_removed *r)
{
    bool is_due = false;
    pthread_mutex_lock(&r->lock);
    for (size_t i = 0; i < r->count; i++)
        is_due = is_due || r->of[i].passed >= r->of[i].due;
    pthread_mutex_unlock(&r->lock);
    return is_due;
}

enum err sto_rdb_removed_work(struct rdb_engine *e, uint64_t *out_wait_ns, struct errbuf *eb)
{
    struct rdb_removed *r = &e->removed;
    uint64_t now_ns = base_monotonic_ns();
    *out_wait_ns = UINT64_MAX;
    if (!is_any_due(r))
        return ERR_OK;
    if (now_ns < r->next_ns) {
        *out_wait_ns = r->next_ns - now_ns;
        return ERR_OK;
    }
    struct rdb_stretch *s = base_new(sizeof *s);
    uint64_t forgets;
    bool flushed = false;
    enum err rc = ERR_OK;
    for (size_t i = 0; rc == ERR_OK && i < REMOVED_STRETCHES && take(r, s, &forgets); i++)
        rc = stretch_work(e, s, forgets, &flushed, eb);
    OPENSSL_cleanse(s, sizeof *s);
    base_free(s);
    r->next_ns = base_monotonic_ns() + REMOVED_REST_S * NS_PER_S;
    return rc;
}
