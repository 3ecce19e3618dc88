/*
 * tests/storage/test_options.c - what the engine takes of the machine when nobody says.
 */
#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/machine.h"
#include "storage/engine.h"
#include "storage/rocksdb/options.h"
#include "storage/rocksdb/pool.h"
#include "tests/support/process.h"

#include "base/banned.h"

Suite *suite_storage_options(void);

START_TEST(the_cache_is_a_quarter_of_the_memory)
{
    struct sto_rocksdb_options o;
    sto_rocksdb_options_default(&o);
    ck_assert_uint_eq(o.cache_bytes, base_machine_memory_bytes() / 4);
    struct rlimit before, limit;
    ck_assert_int_eq(getrlimit(RLIMIT_DATA, &before), 0);
    limit = before;
    limit.rlim_cur = base_machine_memory_bytes() / 2;
    ck_assert_int_eq(setrlimit(RLIMIT_DATA, &limit), 0);
    sto_rocksdb_options_default(&o);
    ck_assert_int_eq(setrlimit(RLIMIT_DATA, &before), 0);
    ck_assert_uint_eq(o.cache_bytes, limit.rlim_cur / 4);
}
END_TEST

START_TEST(half_of_the_descriptors_are_for_table_files)
{
    struct sto_rocksdb_options o = {.open_files = 0};
    struct rdb_machine machine;
    struct rlimit limit;
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = 600;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    sto_rdb_machine_get(&machine);
    ck_assert_uint_eq(machine.descriptors, 600);
    sto_rdb_options_complete(&o, &machine);
    ck_assert_int_eq(o.open_files, 300);
    o.open_files = 5; /* what is said holds */
    sto_rdb_options_complete(&o, &machine);
    ck_assert_int_eq(o.open_files, 5);
    ck_assert_uint_gt(o.index_part_bytes, 0);
}
END_TEST

static const struct open_files_case {
    uint64_t descriptors;
    int open_files;
} OPEN_FILES[] = {
    {0, RDB_OPEN_FILES_LEAST},
    {32, RDB_OPEN_FILES_LEAST},
    {2 * RDB_OPEN_FILES_LEAST + 1, RDB_OPEN_FILES_LEAST},
    {2 * RDB_OPEN_FILES_LEAST + 2, RDB_OPEN_FILES_LEAST + 1},
    {1024, 512},
    {524288, 262144},
    {2000000, 1000000},
    {2000002, 1000000},
    {UINT64_MAX, 1000000},
};

START_TEST(open_files_follow_the_descriptors_within_bounds)
{
    const struct open_files_case *c = &OPEN_FILES[_i];
    struct rdb_machine machine = {
        .processors = 2, .memory_bytes = GIB, .descriptors = c->descriptors};
    struct sto_rocksdb_options o = {.open_files = 0};
    sto_rdb_options_complete(&o, &machine);
    ck_assert_int_eq(o.open_files, c->open_files);
}
END_TEST

/* What each number of processors makes of the threads; scans, aside: of the readers. */
static const struct threads_case {
    int processors;
    int committers;
    int readers;
    int background_jobs;
    int scans;
    int aside;
} THREADS[] = {
    {1, 1, 8, 3, 1, 5},
    {2, 1, 8, 3, 2, 4},
    {3, 1, 12, 4, 3, 7},
    {8, 4, 32, 9, 8, 22},
    {64, 32, 256, 65, 64, 190},
    {65, 32, RDB_READERS_MAX, 66, 65, 189},
    {128, 64, RDB_READERS_MAX, 129, 128, 126},
    {130, RDB_COMMITTERS_MAX, RDB_READERS_MAX, 131, 130, 124},
    {256, RDB_COMMITTERS_MAX, RDB_READERS_MAX, 257, 255, 0},
};

START_TEST(threads_follow_the_processors_within_bounds)
{
    const struct threads_case *c = &THREADS[_i];
    struct rdb_machine machine = {
        .processors = c->processors, .memory_bytes = GIB, .descriptors = 1024};
    struct sto_rocksdb_options of, completed = {.readers = 0};
    struct rdb_pool pool;
    sto_rdb_options_of(&machine, &of);
    ck_assert_int_eq(of.committers, c->committers);
    ck_assert_int_eq(of.readers, c->readers);
    ck_assert_int_eq(of.background_jobs, c->background_jobs);
    sto_rdb_options_complete(&completed, &machine);
    ck_assert_int_eq(completed.committers, c->committers);
    ck_assert_int_eq(completed.readers, c->readers);
    ck_assert_int_eq(completed.background_jobs, c->background_jobs);
    ck_assert_int_eq(sto_rdb_pool_start(&pool, of.readers, c->processors), ERR_OK);
    ck_assert_int_eq(pool.thread_count, c->readers);
    ck_assert_int_eq(pool.scans_max, c->scans);
    ck_assert_int_eq(pool.aside_max, c->aside);
    ck_assert_int_eq(pool.long_max, c->aside > 0 ? c->aside : 1);
    sto_rdb_pool_stop(&pool);
}
END_TEST

/* Of one reader, both points and scans run there. */
START_TEST(what_is_said_of_threads_holds_up_to_the_bounds)
{
    struct rdb_machine machine = {.processors = 8, .memory_bytes = GIB, .descriptors = 1024};
    struct sto_rocksdb_options o = {.readers = 1, .committers = 3, .background_jobs = 1};
    struct rdb_pool pool;
    sto_rdb_options_complete(&o, &machine);
    ck_assert_int_eq(o.readers, 1);
    ck_assert_int_eq(o.committers, 3);
    ck_assert_int_eq(o.background_jobs, 1);
    ck_assert_int_eq(sto_rdb_pool_start(&pool, o.readers, machine.processors), ERR_OK);
    ck_assert_int_eq(pool.scans_max, 1);
    ck_assert_int_eq(pool.long_max, 1);
    sto_rdb_pool_stop(&pool);
    o.readers = RDB_READERS_MAX + 1;
    o.committers = RDB_COMMITTERS_MAX + 1;
    sto_rdb_options_complete(&o, &machine);
    ck_assert_int_eq(o.readers, RDB_READERS_MAX);
    ck_assert_int_eq(o.committers, RDB_COMMITTERS_MAX);
}
END_TEST

/* cache and shard bits: of a machine with that much memory. */
static const struct cache_case {
    uint64_t memory_bytes;
    uint64_t cache_bytes;
    int shard_bits;
} CACHES[] = {
    {0, RDB_CACHE_LEAST, 0},
    {256 * MIB, RDB_CACHE_LEAST, 0},
    {512 * MIB - 4, 128 * MIB - 1, 0},
    {512 * MIB, 128 * MIB, 1},
    {GIB, 256 * MIB, 2},
    {24 * GIB, 6 * GIB, 6},
    {16 * GIB - 4, 4 * GIB - 1, 5},
    {16 * GIB, 4 * GIB, 6},
    {1024 * GIB, 256 * GIB, 6},
};

START_TEST(the_cache_and_its_shards_follow_the_memory)
{
    const struct cache_case *c = &CACHES[_i];
    struct rdb_machine machine = {
        .processors = 64, .memory_bytes = c->memory_bytes, .descriptors = 1024};
    struct sto_rocksdb_options o = {.cache_bytes = 0};
    sto_rdb_options_complete(&o, &machine);
    ck_assert_uint_eq(o.cache_bytes, c->cache_bytes);
    int bits = sto_rdb_cache_shard_bits(o.cache_bytes);
    ck_assert_int_eq(bits, c->shard_bits);
    ck_assert_uint_ge(o.cache_bytes >> bits, RDB_CACHE_SHARD_LEAST);
}
END_TEST

START_TEST(a_small_cache_is_one_shard)
{
    ck_assert_int_eq(sto_rdb_cache_shard_bits(0), 0);
    ck_assert_int_eq(sto_rdb_cache_shard_bits(MIB), 0);
    ck_assert_int_eq(sto_rdb_cache_shard_bits(2 * RDB_CACHE_SHARD_LEAST - 1), 0);
}
END_TEST

/* What nobody says anything of follows from nothing but the machine. */
START_TEST(the_defaults_are_those_of_this_machine)
{
    struct sto_rocksdb_options asked, of;
    struct rdb_machine machine;
    sto_rdb_machine_get(&machine);
    ck_assert_int_eq(machine.processors, base_machine_processors());
    ck_assert_int_ge(machine.processors, 1);
    ck_assert_uint_eq(machine.memory_bytes, base_machine_memory_bytes());
    sto_rocksdb_options_default(&asked);
    sto_rdb_options_of(&machine, &of);
    ck_assert_int_eq(asked.committers, of.committers);
    ck_assert_int_eq(asked.readers, of.readers);
    ck_assert_int_eq(asked.background_jobs, of.background_jobs);
    ck_assert_uint_eq(asked.cache_bytes, of.cache_bytes);
    ck_assert_int_eq(asked.open_files, 0); /* a server raises its limit first */
}
END_TEST

/* Bytes that the logs of a database take of their file system. */
static uint64_t logs_taken(const char *dir)
{
    char path[PROCESS_PATH + 300];
    uint64_t bytes = 0;
    int count = 0;
    (void)snprintf(path, sizeof path, "%s/db", dir);
    DIR *d = opendir(path);
    ck_assert_ptr_nonnull(d);
    for (const struct dirent *e; (e = readdir(d)) != NULL;) {
        struct stat st;
        if (strstr(e->d_name, ".log") == NULL)
            continue;
        (void)snprintf(path, sizeof path, "%s/db/%s", dir, e->d_name);
        ck_assert_int_eq(stat(path, &st), 0);
        bytes += (uint64_t)st.st_blocks * 512;
        count++;
    }
    (void)closedir(d);
    ck_assert_int_gt(count, 0);
    return bytes;
}

/* There all that is reserved is taken: 74 MB, and zeroed, at each open. */
START_TEST(a_log_in_memory_takes_what_is_in_it)
{
    char dir[PROCESS_PATH];
    struct sto_rocksdb_options o;
    struct sto_engine *engine = NULL;
    struct errbuf eb = {{0}};
    ck_assert_int_eq(setenv("TMPDIR", "/dev/shm", 1), 0);
    int keeper = process_temp_dir(dir);
    sto_rocksdb_options_default(&o);
    o.dir = dir;
    o.cache_bytes = 8 * MIB;
    enum err rc = sto_rocksdb_open(&o, &engine, &eb);
    ck_assert_msg(rc == ERR_OK, "%s", eb.text);
    ck_assert_uint_lt(logs_taken(dir), MIB);
    sto_engine_close(engine);
    process_temp_dir_remove(dir, keeper);
}
END_TEST

Suite *suite_storage_options(void)
{
    Suite *s = suite_create("storage_options");
    TCase *t = tcase_create("defaults");
    tcase_add_test(t, the_cache_is_a_quarter_of_the_memory);
    tcase_add_test(t, half_of_the_descriptors_are_for_table_files);
    tcase_add_loop_test(t, open_files_follow_the_descriptors_within_bounds, 0,
                        (int)(sizeof OPEN_FILES / sizeof OPEN_FILES[0]));
    tcase_add_loop_test(t, threads_follow_the_processors_within_bounds, 0,
                        (int)(sizeof THREADS / sizeof THREADS[0]));
    tcase_add_test(t, what_is_said_of_threads_holds_up_to_the_bounds);
    tcase_add_loop_test(t, the_cache_and_its_shards_follow_the_memory, 0,
                        (int)(sizeof CACHES / sizeof CACHES[0]));
    tcase_add_test(t, a_small_cache_is_one_shard);
    tcase_add_test(t, the_defaults_are_those_of_this_machine);
    tcase_add_test(t, a_log_in_memory_takes_what_is_in_it);
    suite_add_tcase(s, t);
    return s;
}
