/*
 * gateway/metrics/engine.c - queues, commits, RocksDB, the disk.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/share.h"
#include "gateway/metrics/exposition.h"
#include "gateway/metrics/groups.h"

#include "base/banned.h"

#define LABEL_BYTES       64
#define US_DECIMALS       6
#define US_PER_S          1000000
#define THOUSAND_DECIMALS 3

static void put_queues(struct buf *out, const struct sto_engine_stats *s)
{
    gw_metric_one(out, "bigtent_commit_queue_operations", GW_GAUGE, "Writes that wait.",
                  s->commit_queue_ops);
    gw_metric_one(out, "bigtent_commit_queue_bytes", GW_GAUGE, "Bytes of the writes that wait.",
                  s->commit_queue_bytes);
    struct gw_metric m = gw_metric_begin(out, "bigtent_read_queue_operations", GW_GAUGE,
                                         "Reads that wait for a reader: of one row, of many.");
    gw_metric_put(&m, "kind=\"point\"", s->point_queue_ops);
    gw_metric_put(&m, "kind=\"scan\"", s->scan_queue_ops);
    m = gw_metric_begin(
        out, "bigtent_queue_refusals_total", GW_COUNTER,
        "Operations refused: a queue was full, RocksDB near a stall, or the tenant's last "
        "one kept others waiting.");
    gw_metric_put(&m, "kind=\"write\",reason=\"queue\"", s->commit_refused);
    gw_metric_put(&m, "kind=\"write\",reason=\"pressure\"", s->commit_shed);
    gw_metric_put(&m, "kind=\"write\",reason=\"held\"", s->commit_rested);
    gw_metric_put(&m, "kind=\"read\",reason=\"queue\"", s->read_refused);
}

static void put_commits(struct buf *out, const struct sto_engine_stats *s)
{
    struct gw_metric m = gw_metric_begin(out, "bigtent_commit_batch_operations", GW_HISTOGRAM,
                                         "Operations that share one synced write.");
    gw_metric_put_powers(&m, s->commit_ops.count, STO_BUCKETS, s->commit_ops.sum, 0);
    m = gw_metric_begin(out, "bigtent_commit_sync_seconds", GW_HISTOGRAM,
                        "How long a synced write took.");
    gw_metric_put_powers(&m, s->sync_us.count, STO_BUCKETS, s->sync_us.sum, US_DECIMALS);
    m = gw_metric_begin(out, "bigtent_committer_held_seconds_max", GW_GAUGE,
                        "Longest that one write has kept the others waiting, since the start.");
    gw_metric_put_fraction(&m, "", s->commit_held_ns_max, GW_NS_DECIMALS);
    gw_metric_one(out, "bigtent_writes_planned_total", GW_COUNTER,
                  "Writes that would have kept others waiting, and were worked out on readers.",
                  s->writes_planned);
}

static void put_rocksdb(struct buf *out, const struct sto_engine_stats *s)
{
    struct gw_metric m = gw_metric_begin(out, "bigtent_write_pressure_ratio", GW_GAUGE,
                                         "How near RocksDB is to delaying writes: 0 to 1.");
    gw_metric_put_fraction(&m, "", s->pressure, THOUSAND_DECIMALS);
    gw_metric_one(out, "bigtent_level0_files", GW_GAUGE, "Files of level 0.", s->level0_files);
    gw_metric_one(out, "bigtent_compaction_pending_bytes", GW_GAUGE, "Bytes to be compacted.",
                  s->compaction_pending_bytes);
    gw_metric_one(out, "bigtent_compactions_running", GW_GAUGE, "Compactions under way.",
                  s->compactions_running);
    gw_metric_one(out, "bigtent_flushes_running", GW_GAUGE, "Flushes of memtables under way.",
                  s->flushes_running);
    gw_metric_one(out, "bigtent_memtables_waiting", GW_GAUGE, "Memtables to be flushed.",
                  s->memtables_waiting);
    gw_metric_one(out, "bigtent_memtable_bytes", GW_GAUGE, "Bytes of memtables.",
                  s->memtable_bytes);
    gw_metric_one(out, "bigtent_delayed_write_bytes_per_second", GW_GAUGE,
                  "What RocksDB slows all writes down to; 0: it does not.", s->delayed_write_rate);
    gw_metric_one(out, "bigtent_writes_stopped", GW_GAUGE, "1 while RocksDB takes no writes.",
                  s->writes_stopped);
    m = gw_metric_begin(out, "bigtent_write_stall_seconds_total", GW_COUNTER,
                        "For how long RocksDB has delayed or stopped all writes.");
    gw_metric_put_fraction(&m, "kind=\"delayed\"", s->delayed_ns, GW_NS_DECIMALS);
    gw_metric_put_fraction(&m, "kind=\"stopped\"", s->stopped_ns, GW_NS_DECIMALS);
}

static const char *label_of(const struct base_class_now *c, char out[LABEL_BYTES])
{
    (void)snprintf(out, LABEL_BYTES, "class=\"%s\"", c->name);
    return out;
}

/* Writes the shares of the whole server: tenants are not distinguished here. */
static void put_shares(struct buf *out)
{
    struct base_class_now now[BASE_CLASSES];
    char labels[LABEL_BYTES];
    struct gw_metric m =
        gw_metric_begin(out, "bigtent_work_weight", GW_GAUGE,
                        "Share of the processors that a thread of a class of work asks for where "
                        "all are busy; 1 is what others of the server's priority have.");
    for (enum base_class c = 0; c < BASE_CLASSES; c++) {
        base_class_get(c, &now[c]);
        gw_metric_put_fraction(&m, label_of(&now[c], labels), now[c].weight, THOUSAND_DECIMALS);
    }
    m = gw_metric_begin(out, "bigtent_work_lag_ratio", GW_GAUGE,
                        "How far a class of work lags: 0, not at all, to 1, it goes first.");
    for (enum base_class c = 0; c < BASE_CLASSES; c++)
        gw_metric_put_fraction(&m, label_of(&now[c], labels), now[c].lag, THOUSAND_DECIMALS);
    m = gw_metric_begin(out, "bigtent_work_cpu_seconds_total", GW_COUNTER,
                        "Time of the processors that a class of work got.");
    for (enum base_class c = 0; c < BASE_CLASSES; c++)
        gw_metric_put_fraction(&m, label_of(&now[c], labels), now[c].cpu_ns, GW_NS_DECIMALS);
}

static void put_cache(struct buf *out, const struct sto_engine_stats *s)
{
    struct gw_metric m =
        gw_metric_begin(out, "bigtent_block_cache_sampled_blocks_total", GW_COUNTER,
                        "Blocks that one read in 61 found in the block cache, or did not.");
    gw_metric_put(&m, "result=\"hit\"", s->cache_hits);
    gw_metric_put(&m, "result=\"miss\"", s->cache_misses);
    gw_metric_one(out, "bigtent_reads_handed_over_total", GW_COUNTER,
                  "Reads that were not in memory: a reader asked the disk.", s->reads_handed_over);
    gw_metric_one(out, "bigtent_block_cache_bytes", GW_GAUGE, "Bytes in the block cache.",
                  s->cache_used_bytes);
    gw_metric_one(out, "bigtent_block_cache_capacity_bytes", GW_GAUGE,
                  "Bytes that the block cache may hold.", s->cache_bytes);
    gw_metric_one(out, "bigtent_file_bytes", GW_GAUGE, "Bytes of the database's table files.",
                  s->file_bytes);
    gw_metric_one(out, "bigtent_garbage_bytes", GW_GAUGE,
                  "What compactions would give back of them, as RocksDB reckons.",
                  s->garbage_bytes);
}

static void put_reclaim(struct buf *out, const struct sto_engine_stats *s)
{
    gw_metric_one(out, "bigtent_range_tombstones", GW_GAUGE,
                  "1 while range tombstones may cover rows of a tenant; before RocksDB 8.5.2 "
                  "its reads go to readers.",
                  s->range_tombstones);
    gw_metric_one(out, "bigtent_drops_waiting", GW_GAUGE,
                  "Drops of rows and tables whose bytes are still in the files.", s->drops_waiting);
    struct gw_metric m = gw_metric_begin(
        out, "bigtent_reclaim_rested_seconds_total", GW_COUNTER,
        "For how long rewriting files to give space back has rested beside others.");
    gw_metric_put_fraction(&m, "", s->reclaim_rested_ns, GW_NS_DECIMALS);
}

/* Writes counts of tombstones, and of versions that newer ones hide. */
static void put_removed(struct buf *out, const struct sto_engine_stats *s)
{
    static const char *const kinds[STO_READ_KINDS] = {[STO_READ_ROW] = "read=\"row\"",
                                                      [STO_READ_ROWS] = "read=\"rows\"",
                                                      [STO_READ_ROWS_REVERSED] =
                                                          "read=\"rows_reversed\""};
    struct gw_metric m = gw_metric_begin(out, "bigtent_sampled_reads_total", GW_COUNTER,
                                         "Reads that were counted, one in 61, by kind.");
    for (int i = 0; i < STO_READ_KINDS; i++)
        gw_metric_put(&m, kinds[i], s->read_samples[i].slices);
    m = gw_metric_begin(out, "bigtent_sampled_reads_removed_keys_total", GW_COUNTER,
                        "Removed keys that these reads passed.");
    for (int i = 0; i < STO_READ_KINDS; i++)
        gw_metric_put(&m, kinds[i], s->read_samples[i].removed);
    gw_metric_one(out, "bigtent_removed_keys_passed_total", GW_COUNTER,
                  "Removed keys that reads walked through, where there were many together.",
                  s->removed_passed);
    gw_metric_one(
        out, "bigtent_removed_stretches_rewritten_total", GW_COUNTER,
        "Stretches of removed keys that were rewritten, because reads walked through them.",
        s->removed_rewritten);
    m = gw_metric_begin(out, "bigtent_removed_keys_passed", GW_GAUGE,
                        "The same, of stretches that were not rewritten yet, by table.");
    for (size_t i = 0; i < s->removed_table_count; i++) {
        char labels[LIM_TENANT_ID + LIM_TABLE_ID + 32];
        (void)snprintf(labels, sizeof labels, "tenant=\"%s\",table=\"%s\"",
                       s->removed_tables[i].tenant, s->removed_tables[i].table); /* fits */
        gw_metric_put(&m, labels, s->removed_tables[i].passed);
    }
}

/* Writes damaged files by their numbers: a key would be a tenant's data. */
static void put_damage(struct buf *out, const struct sto_engine_stats *s,
                       const struct sto_damage *damage)
{
    gw_metric_one(out, "bigtent_corrupt_reads_total", GW_COUNTER,
                  "Reads of storage that met damaged bytes.", s->corrupt_reads);
    gw_metric_one(out, "bigtent_damaged_blocks", GW_GAUGE,
                  "Blocks of table files in use that are known to be damaged.", damage->count);
    gw_metric_one(out, "bigtent_lost_ranges", GW_GAUGE,
                  "Ranges of rows or changes that were lost with damaged blocks.",
                  damage->lost_ranges);
    gw_metric_one(out, "bigtent_reclaim_stuck", GW_GAUGE,
                  "1 while bytes of drops stay because a damaged table file cannot be rewritten.",
                  damage->reclaim_stuck.text[0] != '\0');
    gw_metric_one(out, "bigtent_metadata_files_uncopied", GW_GAUGE,
                  "Table files of the metadata that have no copy yet.", damage->meta_uncopied);
    struct gw_metric m =
        gw_metric_begin(out, "bigtent_damaged_block_bytes", GW_GAUGE,
                        "Bytes of each such block, by file, family and offset in the file.");
    for (size_t i = 0; i < damage->count; i++) {
        const struct sto_damaged_file *f = &damage->files[i];
        char labels[96];
        (void)snprintf(labels, sizeof labels,
                       "file=\"%06" PRIu64 "\",family=\"%s\",offset=\"%" PRIu64 "\"", f->number,
                       f->family, f->offset); /* fits */
        gw_metric_put(&m, labels, f->block_bytes);
    }
}

static void put_scrub(struct buf *out, const struct sto_scrub *s)
{
    gw_metric_one(out, "bigtent_scrub_bytes_per_second", GW_GAUGE,
                  "Table files are read to find damage so fast at most; 0: never.", s->bytes_per_s);
    gw_metric_one(out, "bigtent_scrub_bytes_total", GW_COUNTER, "Bytes that were read for that.",
                  s->bytes);
    gw_metric_one(out, "bigtent_scrub_files_total", GW_COUNTER,
                  "Table files that were read for that, to their ends.", s->files);
    struct gw_metric m = gw_metric_begin(out, "bigtent_scrub_findings_total", GW_COUNTER,
                                         "What was found: damaged blocks, wrong lists of tenants, "
                                         "files that cannot be read, damaged "
                                         "copies of files of the metadata.");
    for (enum sto_scrub_kind k = STO_SCRUB_BLOCK; k < STO_SCRUB_KINDS; k++) {
        char label[32];
        (void)snprintf(label, sizeof label, "kind=\"%s\"", sto_scrub_kind_name(k)); /* fits */
        gw_metric_put(&m, label, s->findings[k]);
    }
    int64_t age_us = base_wall_us() - s->oldest_us;
    if (s->oldest_us != 0) /* otherwise a file of 1970 would raise an alarm */
        gw_metric_one(out, "bigtent_scrub_oldest_seconds", GW_GAUGE,
                      "Since the table file that waits longest was read, or written.",
                      age_us > 0 ? (uint64_t)age_us / US_PER_S : 0);
}

static void put_disk(struct buf *out, const struct sto_health *health)
{
    gw_metric_one(out, "bigtent_disk_free_bytes", GW_GAUGE, "Free on the data directory's disk.",
                  health->disk_free_bytes);
    gw_metric_one(out, "bigtent_disk_low", GW_GAUGE, "1 while writes that grow are refused.",
                  health->disk_low);
    gw_metric_one(out, "bigtent_descriptors_missed_total", GW_COUNTER,
                  "Files of the database that could not be opened at once: no free descriptor.",
                  health->descriptors_missed);
    gw_metric_one(out, "bigtent_engine_failed", GW_GAUGE, "1 once the storage engine has failed.",
                  health->failed);
    struct gw_metric m = gw_metric_begin(out, "bigtent_storage_state", GW_GAUGE,
                                         "1 for the state that storage is in, 0 for the others.");
    for (enum sto_disk disk = STO_DISK_OK; disk < STO_DISK_STATES; disk++) {
        char label[32];
        (void)snprintf(label, sizeof label, "state=\"%s\"", sto_disk_name(disk)); /* fits */
        gw_metric_put(&m, label, disk == health->disk);
    }
}

void gw_metrics_engine(struct buf *out, struct sto_engine *engine)
{
    struct sto_engine_stats stats;
    struct sto_health health;
    struct sto_damage damage;
    sto_engine_stats_get(engine, &stats);
    sto_health_get(engine, &health);
    sto_damage_get(engine, &damage);
    put_queues(out, &stats);
    put_commits(out, &stats);
    put_rocksdb(out, &stats);
    put_shares(out);
    put_cache(out, &stats);
    put_reclaim(out, &stats);
    put_removed(out, &stats);
    put_damage(out, &stats, &damage);
    put_scrub(out, &stats.scrub);
    put_disk(out, &health);
}
