/*
 * storage/rocksdb/engine_stats.c - sums over committers, queues of readers, pressure.
 */
#include "storage/rocksdb/engine_stats.h"

#include "storage/rocksdb/rdb.h"

#include "base/banned.h"

#define LIVE_BYTES "rocksdb.estimate-live-data-size"

static uint64_t load(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

static void add_buckets(struct sto_buckets *to, const struct rdb_buckets *from)
{
    for (size_t i = 0; i < STO_BUCKETS; i++)
        to->count[i] += load(&from->count[i]);
    to->sum += load(&from->sum);
}

static void add_committer(struct sto_engine_stats *to, const struct rdb_committer *c)
{
    to->commit_queue_ops += load(&c->queued_ops);
    to->commit_queue_bytes += load(&c->queued_bytes);
    to->commit_refused += load(&c->refused);
    to->commit_shed += load(&c->shed);
    to->commit_rested += load(&c->rested);
    if (load(&c->held_ns_max) > to->commit_held_ns_max)
        to->commit_held_ns_max = load(&c->held_ns_max);
    add_buckets(&to->commit_ops, &c->batch_ops);
    add_buckets(&to->sync_us, &c->sync_us);
}

/* Returns a property; 0 if RocksDB does not have it. */
static uint64_t property(const struct rdb_engine *e, int cf, const char *name)
{
    uint64_t value = 0;
    return rocksdb_property_int_cf(e->db.handle, e->db.cf[cf], name, &value) == 0 ? value : 0;
}

void sto_rdb_stats_get(struct sto_engine *engine, struct sto_engine_stats *out)
{
    struct rdb_engine *e = sto_rdb_engine(engine);
    const struct rdb_pressure *p = &e->pressure;
    *out = (struct sto_engine_stats){
        .point_queue_ops = load(&e->pool.waiting[RDB_POINTS]),
        .scan_queue_ops = load(&e->pool.waiting[RDB_SCANS]),
        .read_refused = load(&e->pool.refused),
        .pressure = sto_rdb_pressure_level(p),
        .level0_files = load(&p->level0_files),
        .compaction_pending_bytes = load(&p->pending_bytes),
        .memtables_waiting = load(&p->memtables_waiting),
        .delayed_write_rate = load(&p->delayed_write_rate),
        .writes_stopped = atomic_load(&p->stopped),
        .delayed_ns = load(&p->delayed_ns),
        .stopped_ns = load(&p->stopped_ns),
        .reads_handed_over = load(&e->reads_handed_over),
        .writes_planned = load(&e->plans),
        .range_tombstones = sto_rdb_tombstones_mark(&e->tombstones, NULL) == 0,
        .corrupt_reads = load(&e->damage.reads),
        .drops_waiting = load(&e->reclaim.waiting),
        .reclaim_rested_ns = load(&e->pace.rested_ns),
        .removed_passed = load(&e->removed.passed),
        .removed_rewritten = load(&e->removed.rounds),
        .cache_hits = load(&e->cache_sample.hits),
        .cache_misses = load(&e->cache_sample.misses),
        .cache_used_bytes = rocksdb_cache_get_usage(e->db.cache),
        .cache_bytes = rocksdb_cache_get_capacity(e->db.cache),
        .flushes_running = property(e, RDB_CF_CELLS, "rocksdb.num-running-flushes"),
        .compactions_running = property(e, RDB_CF_CELLS, "rocksdb.num-running-compactions"),
    };
    for (int cf = 0; cf < RDB_CF_COUNT; cf++) {
        out->memtable_bytes += property(e, cf, "rocksdb.cur-size-all-mem-tables");
        uint64_t bytes = property(e, cf, "rocksdb.live-sst-files-size");
        uint64_t live = property(e, cf, LIVE_BYTES);
        out->file_bytes += property(e, cf, "rocksdb.total-sst-files-size");
        out->garbage_bytes += live < bytes ? bytes - live : 0;
    }
    for (int i = 0; i < e->committer_count; i++)
        add_committer(out, e->committers[i]);
    for (int kind = 0; kind < STO_READ_KINDS; kind++)
        out->read_samples[kind] =
            (struct sto_read_sample){.slices = load(&e->cache_sample.reads[kind].slices),
                                     .removed = load(&e->cache_sample.reads[kind].removed)};
    out->removed_table_count = sto_rdb_removed_tables(&e->removed, out->removed_tables);
    sto_rdb_scrub_get(&e->scrub, &out->scrub);
}
