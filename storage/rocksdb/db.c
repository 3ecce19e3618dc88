/*
 * storage/rocksdb/db.c - options, in one place, each with its reason.
 *
 * 1. Everything is set here, at open. README.md lists what stays off and why.
 * 2. The prefix of a cell key is its row prefix (storage/keycodec.h), so that a read of one row
 *    checks one filter; its name contains a number that changes when the rule does.
 * 3. Handles are destroyed before the database, options and cache after it.
 */
#include "storage/rocksdb/db.h"

#include <linux/magic.h>
#include <stdio.h>
#include <sys/vfs.h>

#include "storage/keycodec.h"
#include "storage/rocksdb/compat.h"
#include "storage/rocksdb/cut.h"
#include "storage/rocksdb/damage_io.h"
#include "storage/rocksdb/metadata_parts.h"
#include "storage/rocksdb/options.h"
#include "storage/rocksdb/pace.h"
#include "storage/rocksdb/pressure.h"
#include "storage/rocksdb/tenant_collector.h"
#include "storage/rocksdb/threads.h"
#include "storage/rocksdb/tombstone_files.h"

#include "base/banned.h"

#define CACHE_TIER_ONLY   1 /* kBlockCacheTier */
#define BLOCK_BYTES       (8 * KIB)
#define BLOOM_BITS        10
#define META_MEMTABLE     (8 * MIB)
#define INFO_LOG_BYTES    (4 * MIB)
#define INFO_LOG_FILES    4
#define WHOLE_PER_CACHE   2 /* data per cache byte; filters and indexes are at most a tenth of it */
#define COMPACTION_FILES  8 /* of input, where RocksDB can choose: a purge waits for it */
#define LOG_LEVEL_WARN    2
#define MEMTABLE_BLOOM    0.05
#define SYNC_STRIDE_BYTES MIB

/* A file in which this many deletes are this close together is compacted for its own sake, so that
 * the space of dropped rows is reclaimed without waiting for other writes. */
#define RDB_DELETES_WINDOW  4096
#define RDB_DELETES_TRIGGER 2048

#define RDB_TEXT_OF(x) #x
#define RDB_TEXT(x)    RDB_TEXT_OF(x)

/* Small manifests: deleted keys in them disappear with each roll, which a purge provokes (purge.c);
 * each has to be written in one go, a few hundred bytes for each file. No automatic resume: an
 * error of the engine stops it, the supervisor restarts it. Nothing is rewritten for its age alone,
 * which a compaction filter (pace.h) would otherwise cause. */
static const char STRING_OPTIONS[] =
    "max_manifest_file_size=" RDB_TEXT(RDB_MANIFEST_BYTES) ";max_bgerror_resume_count=0"
                                                           ";periodic_compaction_seconds=0";

const char *const RDB_FAMILY_NAMES[RDB_CF_COUNT] = {
#define X(id, name, fate) name,
    STO_FAMILIES(X)
#undef X
};

int sto_rdb_family_index(const char *name)
{
    int i = 0;
    while (i < RDB_CF_COUNT && strcmp(name, RDB_FAMILY_NAMES[i]) != 0)
        i++;
    INVARIANT(i < RDB_CF_COUNT);
    return i;
}

/* --- row prefix ------------------------------------------------------------------------------ */

static char *row_prefix(void *state, const char *key, size_t len, size_t *out_len)
{
    (void)state;
    *out_len = sto_key_row_prefix_len(base_slice(key, len));
    return (char *)(uintptr_t)key;
}

static unsigned char has_row_prefix(void *state, const char *key, size_t len)
{
    (void)state;
    return sto_key_row_prefix_len(base_slice(key, len)) != 0;
}

static unsigned char is_row_prefix(void *state, const char *key, size_t len)
{
    (void)state;
    return len != 0 && sto_key_row_prefix_len(base_slice(key, len)) == len;
}

static const char *row_prefix_name(void *state)
{
    (void)state;
    return "bigtent.row.1";
}

static void row_prefix_destroy(void *state)
{
    (void)state;
}

/* --- options --------------------------------------------------------------------------------- */

/* Returns whether the file system is in memory: there, space reserved for a log (74 MB at each
 * open) uses memory and is zeroed. */
static bool is_in_memory(const char *dir)
{
    struct statfs s;
    return statfs(dir, &s) == 0 && s.f_type == TMPFS_MAGIC;
}

/* Creates the cache, with fewer shards than RocksDB's default. */
static rocksdb_cache_t *cache_make(size_t bytes)
{
    rocksdb_lru_cache_options_t *o = rocksdb_lru_cache_options_create();
    rocksdb_lru_cache_options_set_capacity(o, bytes);
    rocksdb_lru_cache_options_set_num_shard_bits(o, sto_rdb_cache_shard_bits(bytes));
    rocksdb_cache_t *cache = rocksdb_cache_create_lru_opts(o);
    rocksdb_lru_cache_options_destroy(o);
    return cache;
}

/* Indexes and filters are read in parts, of which only the list stays in memory: a read of one row
 * needs a part of each, not those of a whole file. (Files are written without parts while all of
 * them are a small part of the cache: sto_rdb_db_choose_parts.) Rows are looked up by their prefix,
 * the other families by whole keys. RocksDB 7.8.3 can miss rows with prefixes alone in such filters
 * when it seeks backwards by one (its issue 12872): all our backward seeks are in total order,
 * which uses no filter. */
static rocksdb_block_based_table_options_t *table_options(const struct sto_rocksdb_options *options,
                                                          rocksdb_cache_t *cache, int family)
{
    rocksdb_block_based_table_options_t *t = rocksdb_block_based_options_create();
    rocksdb_block_based_options_set_block_size(t, BLOCK_BYTES);
    rocksdb_block_based_options_set_filter_policy(
        t, rocksdb_filterpolicy_create_bloom_full(BLOOM_BITS));
    rocksdb_block_based_options_set_whole_key_filtering(t, family != RDB_CF_CELLS);
    rocksdb_block_based_options_set_partition_filters(t, 1);
    rocksdb_block_based_options_set_index_type(
        t, rocksdb_block_based_table_index_type_two_level_index_search);
    rocksdb_block_based_options_set_metadata_block_size(t, options->index_part_bytes);
    rocksdb_block_based_options_set_pin_top_level_index_and_filter(t, 1);
    rocksdb_block_based_options_set_block_cache(t, cache);
    rocksdb_block_based_options_set_cache_index_and_filter_blocks(t, 1);
    rocksdb_block_based_options_set_cache_index_and_filter_blocks_with_high_priority(t, 1);
    rocksdb_block_based_options_set_pin_l0_filter_and_index_blocks_in_cache(t, 1);
    rocksdb_block_based_options_set_format_version(t, 5);
    return t;
}

static rocksdb_options_t *family_options(const struct sto_rocksdb_options *options,
                                         rocksdb_cache_t *cache, struct rdb_pace *pace, int family,
                                         bool create, bool lz4)
{
    rocksdb_options_t *plain = rocksdb_options_create();
    rocksdb_options_t *o = rocksdb_options_create();
    char *error = NULL;
    char text[sizeof STRING_OPTIONS + 128];
    (void)snprintf(text, sizeof text, "%s%s%s", STRING_OPTIONS, sto_rdb_version_options(),
                   is_in_memory(options->dir) ? ";allow_fallocate=false" : "");
    rocksdb_get_options_from_string(plain, text, o, &error);
    INVARIANT(error == NULL); /* constant texts, tested with these releases */
    rocksdb_options_destroy(plain);

    rocksdb_options_set_create_if_missing(o, create);
    /* A database from before there were change streams gets their family; one that is not ours is
     * refused because it has no layout record. */
    rocksdb_options_set_create_missing_column_families(o, 1);
    rocksdb_options_set_paranoid_checks(o, 1);
    rocksdb_options_set_wal_recovery_mode(o, rocksdb_tolerate_corrupted_tail_records_recovery);
    rocksdb_options_set_max_open_files(o, options->open_files);
    rocksdb_options_set_max_background_jobs(o, options->background_jobs);
    rocksdb_options_set_max_compaction_bytes(o, COMPACTION_FILES * options->file_bytes);
    rocksdb_options_set_max_total_wal_size(o, 4 * options->memtable_bytes);
    rocksdb_options_set_keep_log_file_num(o, INFO_LOG_FILES);
    rocksdb_options_set_max_log_file_size(o, INFO_LOG_BYTES);
    rocksdb_options_set_info_log_level(o, LOG_LEVEL_WARN); /* lower levels print keys */
    rocksdb_options_set_stats_dump_period_sec(o, 0);
    rocksdb_options_set_stats_persist_period_sec(o, 0);
    rocksdb_options_set_bytes_per_sync(o, SYNC_STRIDE_BYTES);
    rocksdb_options_set_level_compaction_dynamic_level_bytes(o, 1);
    rocksdb_options_set_target_file_size_base(o, options->file_bytes);
    rocksdb_options_set_max_bytes_for_level_base(o, options->level_bytes);
    rocksdb_options_set_compression(o, lz4 ? rocksdb_lz4_compression : rocksdb_no_compression);

    rocksdb_block_based_table_options_t *t = table_options(options, cache, family);
    rocksdb_options_set_block_based_table_factory(o, t);
    rocksdb_block_based_options_destroy(t);
    sto_rdb_tenant_collector_add(o); /* a purge searches the files that list the tenant */
    if (family == RDB_CF_CELLS) {
        rocksdb_options_set_write_buffer_size(o, options->memtable_bytes);
        rocksdb_options_set_max_write_buffer_number(o, RDB_MEMTABLES);
        /* RocksDB's own values, set explicitly because pressure.c stays below them. */
        rocksdb_options_set_level0_slowdown_writes_trigger(o, RDB_LEVEL0_SLOW);
        rocksdb_options_set_level0_stop_writes_trigger(o, RDB_LEVEL0_STOP);
        rocksdb_options_set_soft_pending_compaction_bytes_limit(o, RDB_PENDING_SLOW);
        rocksdb_options_set_hard_pending_compaction_bytes_limit(o, RDB_PENDING_STOP);
        rocksdb_options_add_compact_on_deletion_collector_factory(o, RDB_DELETES_WINDOW,
                                                                  RDB_DELETES_TRIGGER);
        rocksdb_options_set_memtable_prefix_bloom_size_ratio(o, MEMTABLE_BLOOM);
        if (pace != NULL)
            rocksdb_options_set_compaction_filter_factory(o, sto_rdb_pace_factory(pace));
        rocksdb_options_set_prefix_extractor(
            o, rocksdb_slicetransform_create(NULL, row_prefix_destroy, row_prefix, has_row_prefix,
                                             is_row_prefix, row_prefix_name));
    } else if (family == RDB_CF_CHANGES) {
        rocksdb_options_set_write_buffer_size(o, options->memtable_bytes / 4);
        rocksdb_options_add_compact_on_deletion_collector_factory(o, RDB_DELETES_WINDOW,
                                                                  RDB_DELETES_TRIGGER);
    } else {
        rocksdb_options_set_write_buffer_size(o, META_MEMTABLE);
    }
    return o;
}

void sto_rdb_db_choose_parts(struct rdb_db *db)
{
    uint64_t all = 0;
    for (int i = 0; i < RDB_CF_COUNT; i++) {
        uint64_t bytes = 0;
        if (rocksdb_property_int_cf(db->handle, db->cf[i], "rocksdb.live-sst-files-size", &bytes) ==
            0)
            all += bytes;
    }
    sto_rdb_metadata_parts_set(db->metadata_parts, all >= db->whole_max);
}

/* --- open and close --------------------------------------------------------------------------- */

static void options_make(struct rdb_db *db, const struct sto_rocksdb_options *options,
                         struct rdb_pace *pace, bool create, bool lz4)
{
    for (int i = 0; i < RDB_CF_COUNT; i++) {
        db->options[i] = family_options(options, db->cache, pace, i, create, lz4);
        sto_rdb_metadata_parts_install(db->metadata_parts, db->options[i]);
        sto_rdb_cuts_install(db->cuts, db->options[i]);
    }
    sto_rdb_tombstone_files_install(db->tombstone_files, db->options[RDB_CF_DEFAULT]);
    sto_rdb_threads_install(db->options[RDB_CF_DEFAULT]);
    if (db->damage_io != NULL)
        sto_rdb_damage_io_install(db->damage_io, db->options[RDB_CF_DEFAULT]);
}

static void options_drop(struct rdb_db *db)
{
    for (int i = 0; i < RDB_CF_COUNT; i++) {
        if (db->options[i] != NULL)
            rocksdb_options_destroy(db->options[i]);
        db->options[i] = NULL;
    }
}

enum err sto_rdb_db_open(struct rdb_db *db, const char *path,
                         const struct sto_rocksdb_options *options, bool create,
                         struct rdb_pace *pace, struct errbuf *eb)
{
    char *error = NULL;
    db->cache = cache_make(options->cache_bytes);
    db->cuts = sto_rdb_cuts_new();
    db->metadata_parts = sto_rdb_metadata_parts_new();
    db->whole_max = WHOLE_PER_CACHE * (uint64_t)options->cache_bytes;
    db->whole_max -=
        options->memtable_bytes < db->whole_max ? options->memtable_bytes : db->whole_max;
    db->tombstone_files = sto_rdb_tombstone_files_new();
    options_make(db, options, pace, create, true);
    db->handle = rocksdb_open_column_families(
        db->options[RDB_CF_DEFAULT], path, RDB_CF_COUNT, RDB_FAMILY_NAMES,
        (const rocksdb_options_t *const *)db->options, db->cf, &error);
    if (error != NULL && strstr(error, "not linked") != NULL) { /* a build without LZ4 */
        rocksdb_free(error);
        error = NULL;
        options_drop(db);
        options_make(db, options, pace, create, false);
        db->handle = rocksdb_open_column_families(
            db->options[RDB_CF_DEFAULT], path, RDB_CF_COUNT, RDB_FAMILY_NAMES,
            (const rocksdb_options_t *const *)db->options, db->cf, &error);
    }
    if (error != NULL) {
        enum err rc = sto_rdb_error_class(error);
        (void)base_fail(eb, rc, "the database cannot be opened: %s", error);
        rocksdb_free(error);
        db->handle = NULL;
        return rc;
    }
    db->cells = db->cf[RDB_CF_CELLS];
    db->meta = db->cf[RDB_CF_META];
    db->changes = db->cf[RDB_CF_CHANGES];
    db->synced = rocksdb_writeoptions_create();
    rocksdb_writeoptions_set_sync(db->synced, 1);
    db->point = rocksdb_readoptions_create();
    db->memory = rocksdb_readoptions_create();
    rocksdb_readoptions_set_read_tier(db->memory, CACHE_TIER_ONLY);
    sto_rdb_db_choose_parts(db);
    return ERR_OK;
}

void sto_rdb_db_close(struct rdb_db *db)
{
    if (db->handle != NULL) {
        for (int i = 0; i < RDB_CF_COUNT; i++)
            rocksdb_column_family_handle_destroy(db->cf[i]);
        rocksdb_close(db->handle);
    }
    if (db->synced != NULL)
        rocksdb_writeoptions_destroy(db->synced);
    if (db->point != NULL)
        rocksdb_readoptions_destroy(db->point);
    if (db->memory != NULL)
        rocksdb_readoptions_destroy(db->memory);
    options_drop(db);
    if (db->cache != NULL)
        rocksdb_cache_destroy(db->cache);
    sto_rdb_cuts_free(db->cuts);
    sto_rdb_metadata_parts_free(db->metadata_parts);
    sto_rdb_tombstone_files_free(db->tombstone_files);
    sto_rdb_damage_io_free(db->damage_io);
    memset(db, 0, sizeof(*db));
}

/* --- errors ----------------------------------------------------------------------------------- */

static bool begins_with(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

bool sto_rdb_error_is_incomplete(const char *error)
{
    return begins_with(error, "Result incomplete");
}

bool sto_rdb_error_is_of_skips(const char *error)
{
    return strcmp(error, "Result incomplete: Too many internal keys skipped.") == 0;
}

bool sto_rdb_iterator_is_stuck(const rocksdb_iterator_t *it)
{
    char *error = NULL;
    rocksdb_iter_get_error(it, &error);
    bool is_stuck = error != NULL && sto_rdb_error_is_of_skips(error);
    rocksdb_free(error);
    return is_stuck;
}

enum err sto_rdb_error_class(const char *error)
{
    if (begins_with(error, "Corruption") || strstr(error, "checksum mismatch") != NULL)
        return ERR_CORRUPT;
    if (begins_with(error, "IO error"))
        return strstr(error, "While lock file") != NULL ||
                       strstr(error, "lock hold by current process") != NULL
                   ? ERR_LOCKED
                   : ERR_IO;
    if (begins_with(error, "Invalid argument") || begins_with(error, "Not implemented"))
        return ERR_CORRUPT; /* at open: column families or files that do not match */
    return ERR_IO;
}

void sto_rdb_uncounted(void)
{
    rocksdb_set_perf_level(rocksdb_disable);
}

rocksdb_readoptions_t *sto_rdb_scan_options(struct slice lower, struct slice upper)
{
    INVARIANT(base_slice_compare(lower, upper) < 0);
    rocksdb_readoptions_t *o = rocksdb_readoptions_create();
    rocksdb_readoptions_set_total_order_seek(o, 1);
    rocksdb_readoptions_set_iterate_lower_bound(o, (const char *)lower.ptr, lower.len);
    rocksdb_readoptions_set_iterate_upper_bound(o, (const char *)upper.ptr, upper.len);
    rocksdb_readoptions_set_background_purge_on_iterator_cleanup(o, 1);
    return o;
}
