/*
 * storage/rocksdb/pace.c - a compaction filter that filters nothing, and checks the clock.
 *
 * 1. RocksDB's own rate limiter stays off: in 7.8.3 it can lose a waiting thread.
 * 2. Each compaction has a filter of its own, which one thread uses.
 * 3. Counters that the engine has anyway show whether requests are served: writes, reads that went
 *    to a reader, and the samples of the block cache. A change counts for RDB_PACE_BUSY_MS.
 * 4. due_ns is when the bytes processed so far are due, of all compactions: it may be ahead of now
 *    by the time for burst_bytes. Bytes processed while no requests are served do not move it.
 */
#include "storage/rocksdb/pace.h"

#include <stdbool.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "storage/rocksdb/rdb.h"

#include "base/banned.h"

#define NS_PER_S  1000000000ULL
#define NS_PER_MS 1000000ULL
#define REST_MS   10 /* one rest; then it checks whether it may continue */

struct passing {
    struct rdb_pace *pace;
    uint64_t bytes;   /* since the last check */
    uint64_t signs;   /* of requests, at the last check */
    uint64_t sign_ns; /* of the last change; 0: there was none */
};

/* Returns a number that grows when requests are served. */
static uint64_t signs_of(struct rdb_engine *e)
{
    return atomic_load_explicit(&e->acked_sequence, memory_order_relaxed) +
           atomic_load_explicit(&e->reads_handed_over, memory_order_relaxed) +
           atomic_load_explicit(&e->cache_sample.hits, memory_order_relaxed) +
           atomic_load_explicit(&e->cache_sample.misses, memory_order_relaxed);
}

static bool is_busy(struct passing *p, uint64_t now_ns)
{
    uint64_t signs = signs_of(p->pace->engine);
    if (signs != p->signs)
        p->sign_ns = now_ns;
    p->signs = signs;
    if (atomic_load_explicit(&p->pace->test_is_busy, memory_order_relaxed))
        return true;
    return p->sign_ns != 0 && now_ns - p->sign_ns < RDB_PACE_BUSY_MS * NS_PER_MS;
}

/* Returns whether writers would wait for this compaction, or the engine for its end. */
static bool is_pressed(struct rdb_engine *e)
{
    return atomic_load(&e->closing) || atomic_load(&e->failed) ||
           sto_rdb_pressure_level(&e->pressure) > 0;
}

static uint64_t ns_of(const struct rdb_engine *e, uint64_t bytes)
{
    return (uint64_t)((double)bytes * NS_PER_S / (double)e->options.reclaim_bytes_per_s);
}

static void look(struct passing *p)
{
    const struct timespec pause = {.tv_nsec = REST_MS * (long)NS_PER_MS};
    struct rdb_pace *pace = p->pace;
    struct rdb_engine *e = pace->engine;
    uint64_t now_ns = base_monotonic_ns();
    uint64_t due_ns = atomic_load(&pace->due_ns);
    uint64_t ahead_ns = ns_of(e, pace->burst_bytes);
    if (due_ns < now_ns)
        due_ns = now_ns;
    if (is_busy(p, now_ns))
        due_ns += ns_of(e, p->bytes);
    atomic_store(&pace->due_ns, due_ns); /* if two threads store at once, one may be lost */
    p->bytes = 0;
    while (now_ns + ahead_ns < due_ns && is_busy(p, now_ns) && !is_pressed(e)) {
        uint64_t begun_ns = now_ns;
        (void)nanosleep(&pause, NULL); /* a wake-up only checks earlier */
        now_ns = base_monotonic_ns();
        atomic_fetch_add_explicit(&pace->rested_ns, now_ns - begun_ns, memory_order_relaxed);
    }
}

/* Filters an entry. 0: it stays. */
static unsigned char pass(void *state, int level, const char *key, size_t key_len,
                          const char *value, size_t value_len, char **new_value,
                          size_t *new_value_len, unsigned char *value_changed)
{
    struct passing *p = state;
    (void)level;
    (void)key;
    (void)value;
    (void)new_value;
    (void)new_value_len;
    *value_changed = 0;
    p->bytes += key_len + value_len;
    if (p->bytes >= RDB_PACE_BYTES)
        look(p);
    return 0;
}

static const char *name(void *state)
{
    (void)state;
    return "bigtent.pace";
}

static rocksdb_compactionfilter_t *filter_make(void *state,
                                               rocksdb_compactionfiltercontext_t *context)
{
    struct rdb_pace *pace = state;
    if (rocksdb_compactionfiltercontext_is_manual_compaction(context) == 0 ||
        pace->engine->options.reclaim_bytes_per_s == UINT64_MAX)
        return NULL;
    struct passing *p = base_new(sizeof *p);
    *p = (struct passing){.pace = pace, .signs = signs_of(pace->engine)};
    return rocksdb_compactionfilter_create(p, base_free, pass, name);
}

static void factory_drop(void *state)
{
    (void)state; /* belongs to the engine */
}

void sto_rdb_pace_init(struct rdb_pace *p, struct rdb_engine *e)
{
    p->engine = e;
    p->burst_bytes = RDB_PACE_BURST;
}

rocksdb_compactionfilterfactory_t *sto_rdb_pace_factory(struct rdb_pace *p)
{
    return rocksdb_compactionfilterfactory_create(p, factory_drop, filter_make, name);
}
