/*
 * tests/storage/test_manifest.c - edits of a MANIFEST, whole and in part.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "storage/rocksdb/manifest.h"
#include "tests/storage/log_maker.h"
#include "tests/support/process.h"

#include "base/banned.h"

Suite *suite_storage_manifest(void);

enum { ROUNDS = 20000 };

static char dir[PROCESS_PATH];
static char path[PROCESS_PATH + 32];
static int keeper_fd;
static struct buf log_bytes;
static struct errbuf eb;

static void setup(void)
{
    char current[PROCESS_PATH + 16];
    keeper_fd = process_temp_dir(dir);
    (void)snprintf(current, sizeof current, "%s/CURRENT", dir);
    (void)snprintf(path, sizeof path, "%s/MANIFEST-000001", dir);
    ck_assert_int_eq(base_file_create(current, SLICE_LIT("MANIFEST-000001\n"), 0600, &eb), ERR_OK);
    base_buf_init(&log_bytes, MIB);
}

static void teardown(void)
{
    base_buf_fini(&log_bytes);
    process_temp_dir_remove(dir, keeper_fd);
}

static enum err read_it(struct rdb_manifest *out)
{
    FILE *f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(log_bytes.ptr, 1, log_bytes.len, f), log_bytes.len);
    ck_assert_int_eq(fclose(f), 0);
    return sto_rdb_manifest_read(dir, out, &eb);
}

/* Of the default family: its oldest log is 5, the last change 100, file 12 in level 0. */
#define FIRST "\x02\x05\x04\x64"
#define FILE_12                                                                                    \
    "\x67\x00\x0c\x63\x09"                                                                         \
    "a\1\1\1\1\1\1\1\1"                                                                            \
    "\x0a"                                                                                         \
    "zz\1\1\1\1\1\1\1\1"                                                                           \
    "\x01\x63\x01"
/* A group of two: log 7, change 120, the file deleted; log 9. */
#define GROUP_1 "\xac\x02\x01\x02\x07\x04\x78\x06\x00\x0c"
#define GROUP_2 "\xac\x02\x00\x02\x09"

START_TEST(edits_of_a_group_count_together)
{
    struct rdb_manifest m;
    maker_record(&log_bytes, SLICE_LIT(FIRST FILE_12));
    uint64_t end = log_bytes.len;
    for (int records = 0; records < 3; records++) {
        if (records > 0)
            maker_record(&log_bytes, records == 1 ? SLICE_LIT(GROUP_1) : SLICE_LIT(GROUP_2));
        enum err rc = read_it(&m);
        ck_assert_msg(rc == ERR_OK, "%s", eb.text);
        bool is_whole = records == 2;
        ck_assert_uint_eq(m.oldest_log, is_whole ? 9 : 5);
        ck_assert_uint_eq(m.logs[RDB_CF_DEFAULT], is_whole ? 9 : 5);
        ck_assert_uint_eq(m.sequence, is_whole ? 120 : 100);
        ck_assert_uint_eq(m.end, is_whole ? log_bytes.len : end);
        ck_assert_uint_eq(m.file_count, is_whole ? 0 : 1);
        sto_rdb_manifest_fini(&m);
    }
}
END_TEST

START_TEST(a_file_has_its_keys)
{
    struct rdb_manifest m;
    maker_record(&log_bytes, SLICE_LIT(FIRST FILE_12));
    ck_assert_int_eq(read_it(&m), ERR_OK);
    ck_assert_uint_eq(m.file_count, 1);
    ck_assert_uint_eq(m.files[0].number, 12);
    ck_assert_uint_eq(m.files[0].bytes, 99);
    ck_assert_uint_eq(m.files[0].last_sequence, 99);
    ck_assert(base_slice_is(m.files[0].first, "a"));
    ck_assert(base_slice_is(m.files[0].last, "zz"));
    sto_rdb_manifest_fini(&m);
}
END_TEST

START_TEST(a_torn_end_is_the_end_and_damage_is_refused)
{
    struct rdb_manifest m;
    maker_record(&log_bytes, SLICE_LIT(FIRST));
    uint64_t end = log_bytes.len;
    maker_record(&log_bytes, SLICE_LIT(FILE_12));
    uint64_t whole = log_bytes.len;
    for (; log_bytes.len > end; log_bytes.len--) {
        ck_assert_int_eq(read_it(&m), ERR_OK);
        ck_assert_uint_eq(m.file_count, log_bytes.len == whole ? 1 : 0);
        ck_assert_uint_eq(m.end, log_bytes.len == whole ? whole : end);
        sto_rdb_manifest_fini(&m);
    }
    maker_record(&log_bytes, SLICE_LIT(FILE_12));
    for (size_t at = 0; at < log_bytes.len; at++) {
        size_t in_record = at < end ? at : at - (size_t)end;
        bool is_length = in_record == 4 || in_record == 5; /* it may lead out of the file: torn */
        log_bytes.ptr[at] ^= 1;
        enum err rc = read_it(&m);
        log_bytes.ptr[at] ^= 1;
        if (rc == ERR_OK)
            sto_rdb_manifest_fini(&m);
        ck_assert_msg(rc == ERR_CORRUPT || rc == ERR_UNSUPPORTED || (rc == ERR_OK && is_length),
                      "byte %zu: %d", at, (int)rc);
    }
}
END_TEST

/* Edits of any bytes: refused or read, and nothing else. */
START_TEST(random_edits_are_read_or_refused)
{
    uint32_t dice = 12345;
    size_t sound = 0;
    for (int round = 0; round < ROUNDS; round++) {
        static const uint8_t tags[] = {1, 2, 3, 4, 5, 6, 9, 10, 103, 200, 201, 203, 1, 0, 7};
        uint8_t edit[64];
        for (size_t i = 0; i < sizeof edit; i++) {
            dice = dice * 1664525u + 1013904223u;
            edit[i] = (dice >> 24) % 3 == 0 ? tags[(dice >> 8) % sizeof tags]
                                            : (uint8_t)((dice >> 16) % 12);
        }
        struct rdb_manifest m;
        base_buf_truncate(&log_bytes, 0);
        maker_record(&log_bytes, base_slice(edit, 1 + dice % sizeof edit));
        enum err rc = read_it(&m);
        ck_assert(rc == ERR_OK || rc == ERR_CORRUPT || rc == ERR_UNSUPPORTED);
        if (rc != ERR_OK)
            continue;
        sound++;
        sto_rdb_manifest_fini(&m);
    }
    ck_assert_uint_gt(sound, 0);
}
END_TEST

Suite *suite_storage_manifest(void)
{
    Suite *s = suite_create("storage_manifest");
    TCase *t = tcase_create("manifest");
    tcase_set_timeout(t, 240);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, edits_of_a_group_count_together);
    tcase_add_test(t, a_file_has_its_keys);
    tcase_add_test(t, a_torn_end_is_the_end_and_damage_is_refused);
    tcase_add_test(t, random_edits_are_read_or_refused);
    suite_add_tcase(s, t);
    return s;
}
