/*
 * storage/rocksdb/options.c - defaults from the machine, each with its reason.
 *
 *   cache            a quarter of the memory this process may use: the page cache, which holds the
 *                    files as they are on the disk, works best with the rest
 *   cache shards     as many as threads may need, of 64 MiB at least: a block or a part of a filter
 *                    has to fit into its shard many times over, whatever hashes into it
 *   open files       half of the descriptors that the process may have; the rest are connections
 *   readers          a disk is fastest with several requests in flight for each core
 *   background jobs  a flush beside compactions on every core (shares: base/share.h)
 */
#include "storage/rocksdb/options.h"

#include <sys/resource.h>

#include "base/machine.h"
#include "storage/rocksdb/rdb.h"

#include "base/banned.h"

#define CACHE_PART       4
#define DESCRIPTORS_PART 2
#define OPEN_FILES_MOST  1000000
#define JOBS_LEAST       3
#define READERS_LEAST    8
#define READERS_PER_CORE 4 /* one of all readers is for points only */
#define SHARD_BITS_MAX   6

/* --- memory ----------------------------------------------------------------------------------- */

static size_t cache_default(uint64_t memory_bytes)
{
    uint64_t bytes = memory_bytes / CACHE_PART;
    return bytes < RDB_CACHE_LEAST ? (size_t)RDB_CACHE_LEAST : (size_t)bytes;
}

int sto_rdb_cache_shard_bits(size_t cache_bytes)
{
    int bits = 0;
    while (bits < SHARD_BITS_MAX && cache_bytes >> (bits + 1) >= RDB_CACHE_SHARD_LEAST)
        bits++;
    return bits;
}

/* --- files ------------------------------------------------------------------------------------ */

static int open_files_default(uint64_t descriptors)
{
    uint64_t files = descriptors / DESCRIPTORS_PART;
    if (files > OPEN_FILES_MOST)
        files = OPEN_FILES_MOST;
    return files < RDB_OPEN_FILES_LEAST ? RDB_OPEN_FILES_LEAST : (int)files;
}

/* --- all -------------------------------------------------------------------------------------- */

void sto_rdb_machine_get(struct rdb_machine *out)
{
    struct rlimit limit;
    bool is_limited = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    *out = (struct rdb_machine){.processors = base_machine_processors(),
                                .memory_bytes = base_machine_memory_bytes(),
                                .descriptors = is_limited ? limit.rlim_cur : UINT64_MAX};
}

static int at_least(int n, int least)
{
    return n < least ? least : n;
}

static int at_most(int n, int most)
{
    return n > most ? most : n;
}

void sto_rdb_options_of(const struct rdb_machine *machine, struct sto_rocksdb_options *o)
{
    int cores = machine->processors;
    *o = (struct sto_rocksdb_options){
        .cache_bytes = cache_default(machine->memory_bytes),
        .memtable_bytes = 64 * MIB,
        .background_jobs = at_least(cores + 1, JOBS_LEAST),
        .file_bytes = 32 * MIB, /* a purge rewrites about one per level */
        .index_part_bytes = 4 * KIB,
        .level_bytes = 256 * MIB,
        .committers = at_most(at_least(cores / 2, 1), RDB_COMMITTERS_MAX),
        .readers = at_most(at_least(READERS_PER_CORE * cores, READERS_LEAST), RDB_READERS_MAX),
        .drop_range_cells = LIM_DROP_RANGE_CELLS,
        .drop_stretch_cells = LIM_DROP_STRETCH_CELLS,
        .reclaim_after_s = LIM_RECLAIM_AFTER_S,
        .reclaim_bytes_per_s = LIM_RECLAIM_BYTES_PER_S,
        .row_snapshot_ms = LIM_ROW_SNAPSHOT_MS,
        .row_snapshot_waited_ms = LIM_ROW_SNAPSHOT_WAITED_MS,
        .meta_copies_s = RDB_META_COPIES_S,
        .headroom_bytes = LIM_HEADROOM_BYTES_DEFAULT,
        .ballast_bytes = LIM_BALLAST_BYTES_DEFAULT,
    };
}

void sto_rocksdb_options_default(struct sto_rocksdb_options *o)
{
    struct rdb_machine machine;
    sto_rdb_machine_get(&machine);
    sto_rdb_options_of(&machine, o);
}

void sto_rdb_options_complete(struct sto_rocksdb_options *o, const struct rdb_machine *machine)
{
    struct sto_rocksdb_options standard;
    sto_rdb_options_of(machine, &standard);
    if (o->committers <= 0)
        o->committers = standard.committers;
    if (o->readers <= 0)
        o->readers = standard.readers;
    o->committers = at_most(o->committers, RDB_COMMITTERS_MAX);
    o->readers = at_most(o->readers, RDB_READERS_MAX);
    if (o->cache_bytes == 0)
        o->cache_bytes = standard.cache_bytes;
    if (o->memtable_bytes == 0)
        o->memtable_bytes = standard.memtable_bytes;
    if (o->open_files <= 0)
        o->open_files = open_files_default(
            machine->descriptors); /* not earlier, because a server raises its limit first */
    if (o->background_jobs <= 0)
        o->background_jobs = standard.background_jobs;
    if (o->index_part_bytes == 0)
        o->index_part_bytes = standard.index_part_bytes;
    if (o->file_bytes == 0)
        o->file_bytes = standard.file_bytes;
    if (o->level_bytes == 0)
        o->level_bytes = standard.level_bytes;
    if (o->drop_range_cells == 0)
        o->drop_range_cells = standard.drop_range_cells;
    if (o->drop_stretch_cells == 0)
        o->drop_stretch_cells = standard.drop_stretch_cells;
    if (o->reclaim_after_s == 0)
        o->reclaim_after_s = standard.reclaim_after_s;
    if (o->reclaim_bytes_per_s == 0)
        o->reclaim_bytes_per_s = standard.reclaim_bytes_per_s;
    if (o->row_snapshot_ms == 0)
        o->row_snapshot_ms = standard.row_snapshot_ms;
    if (o->row_snapshot_waited_ms == 0)
        o->row_snapshot_waited_ms = standard.row_snapshot_waited_ms;
}
