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

#include "storage/engine.h"
#include "storage/rocksdb/options.h"
#include "tests/support/process.h"

#include "base/banned.h"

Suite *suite_storage_options(void);

START_TEST(a_control_group_s_bound_is_a_number_or_none)
{
    ck_assert_uint_eq(sto_rdb_memory_bound(SLICE_LIT("1073741824\n")), GIB);
    ck_assert_uint_eq(sto_rdb_memory_bound(SLICE_LIT("max\n")), UINT64_MAX);
    ck_assert_uint_eq(sto_rdb_memory_bound(SLICE_LIT("")), UINT64_MAX);
    ck_assert_uint_eq(sto_rdb_memory_bound(SLICE_LIT("0\n")), UINT64_MAX);
    ck_assert_uint_eq(sto_rdb_memory_bound(SLICE_LIT("12x\n")), UINT64_MAX);
}
END_TEST

START_TEST(the_cache_is_a_quarter_of_the_memory)
{
    struct sto_rocksdb_options o;
    sto_rocksdb_options_default(&o);
    ck_assert_uint_eq(o.cache_bytes, sto_rdb_memory_bytes() / 4);
    struct rlimit before, limit;
    ck_assert_int_eq(getrlimit(RLIMIT_DATA, &before), 0);
    limit = before;
    limit.rlim_cur = sto_rdb_memory_bytes() / 2;
    ck_assert_int_eq(setrlimit(RLIMIT_DATA, &limit), 0);
    sto_rocksdb_options_default(&o);
    ck_assert_int_eq(setrlimit(RLIMIT_DATA, &before), 0);
    ck_assert_uint_eq(o.cache_bytes, limit.rlim_cur / 4);
}
END_TEST

START_TEST(half_of_the_descriptors_are_for_table_files)
{
    struct sto_rocksdb_options o = {.open_files = 0};
    struct rlimit limit;
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = 600;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    sto_rdb_options_complete(&o);
    ck_assert_int_eq(o.open_files, 300);
    limit.rlim_cur = 32;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    o.open_files = 0;
    sto_rdb_options_complete(&o);
    ck_assert_int_eq(o.open_files, RDB_OPEN_FILES_LEAST);
    o.open_files = 5; /* what is said holds */
    sto_rdb_options_complete(&o);
    ck_assert_int_eq(o.open_files, 5);
    ck_assert_int_ge(o.background_jobs, 3);
    ck_assert_uint_gt(o.index_part_bytes, 0);
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
    tcase_add_test(t, a_control_group_s_bound_is_a_number_or_none);
    tcase_add_test(t, the_cache_is_a_quarter_of_the_memory);
    tcase_add_test(t, half_of_the_descriptors_are_for_table_files);
    tcase_add_test(t, a_log_in_memory_takes_what_is_in_it);
    suite_add_tcase(s, t);
    return s;
}
