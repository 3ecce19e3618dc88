/*
 * tests/storage/test_part_file.c - parts of backups: cut by their content, told apart by it.
 */
#define _GNU_SOURCE
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "storage/rocksdb/part_file.h"
#include "tests/support/process.h"

#include "base/banned.h"

Suite *suite_storage_part_file(void);

#define PARTS_MAX 400
#define ROWS      4000

static char dir[PROCESS_PATH];
static int keeper_fd;
static struct errbuf eb;
static const struct sto_part_sizes SIZES = {
    .min_bytes = 2 * KIB, .mean_bytes = 4 * KIB, .max_bytes = 16 * KIB};

static void set_up(void)
{
    keeper_fd = process_temp_dir(dir);
    memset(&eb, 0, sizeof eb);
}

static void tear_down(void)
{
    process_temp_dir_remove(dir, keeper_fd);
}

static const char *path_of(const char *name)
{
    static char path[PROCESS_PATH + 64];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

/* Rows [from, to) but the one at skip, with that value at row changed; how many parts. */
static size_t write_parts(int from, int to, int skip, int changed, struct sto_part *parts)
{
    struct sto_part_writer *w = NULL;
    size_t count = 0;
    for (int i = from; i < to; i++) {
        char key[48];
        const char *value = i == changed ? "another value" : "a value of some length";
        (void)snprintf(key, sizeof key, "altostrat#devices#row%06d", i);
        if (i == skip)
            continue;
        if (w == NULL) {
            (void)unlink(path_of("part"));
            ck_assert_int_eq(sto_part_create(path_of("part"), &SIZES, &w, &eb), ERR_OK);
        }
        ck_assert_int_eq(sto_part_add(w, base_slice_text(key), base_slice_text(value), &eb),
                         ERR_OK);
        if (!sto_part_is_full(w) && i + 1 < to)
            continue;
        ck_assert_uint_lt(count, PARTS_MAX);
        ck_assert_int_eq(sto_part_finish(w, &parts[count++], &eb), ERR_OK);
        w = NULL;
    }
    return count;
}

static size_t shared(const struct sto_part *a, size_t a_count, const struct sto_part *b,
                     size_t b_count)
{
    size_t same = 0;
    for (size_t i = 0; i < a_count; i++)
        for (size_t k = 0; k < b_count; k++)
            same += strcmp(a[i].sha256, b[k].sha256) == 0;
    return same;
}

START_TEST(same_keys_and_values_are_the_same_parts)
{
    static struct sto_part a[PARTS_MAX], b[PARTS_MAX];
    size_t count = write_parts(0, ROWS, -1, -1, a);
    ck_assert_uint_gt(count, 10);
    ck_assert_uint_eq(write_parts(0, ROWS, -1, -1, b), count);
    ck_assert_int_eq(memcmp(a, b, count * sizeof a[0]), 0);
}
END_TEST

START_TEST(a_change_touches_the_part_it_falls_into)
{
    static struct sto_part a[PARTS_MAX], b[PARTS_MAX];
    size_t a_count = write_parts(0, ROWS, -1, -1, a);
    size_t b_count = write_parts(0, ROWS, -1, ROWS / 2, b);
    ck_assert_uint_ge(shared(a, a_count, b, b_count), a_count - 2);
    b_count = write_parts(0, ROWS, ROWS / 2, -1, b); /* one is gone */
    ck_assert_uint_ge(shared(a, a_count, b, b_count), a_count - 3);
    ck_assert_uint_lt(shared(a, a_count, b, b_count), a_count);
    b_count = write_parts(ROWS / 4, ROWS, -1, -1, b); /* what was in front is gone */
    ck_assert_uint_ge(shared(a, a_count, b, b_count), a_count / 2);
}
END_TEST

/* Lengths are in the hash: what moves from a key into its value is another part. */
START_TEST(where_a_key_ends_counts)
{
    struct sto_part_writer *w = NULL;
    struct sto_part parts[2];
    const char *keys[2] = {"ab", "a"}, *values[2] = {"c", "bc"};
    for (int i = 0; i < 2; i++) {
        (void)unlink(path_of("part"));
        ck_assert_int_eq(sto_part_create(path_of("part"), &SIZES, &w, &eb), ERR_OK);
        ck_assert_int_eq(sto_part_add(w, base_slice_text(keys[i]), base_slice_text(values[i]), &eb),
                         ERR_OK);
        ck_assert_int_eq(sto_part_finish(w, &parts[i], &eb), ERR_OK);
    }
    ck_assert_str_ne(parts[0].sha256, parts[1].sha256);
    ck_assert_uint_eq(parts[0].keys, 1);
}
END_TEST

START_TEST(keys_that_do_not_rise_are_refused)
{
    struct sto_part_writer *w = NULL;
    ck_assert_int_eq(sto_part_create(path_of("part"), &SIZES, &w, &eb), ERR_OK);
    ck_assert_int_eq(sto_part_add(w, SLICE_LIT("b"), SLICE_LIT("v"), &eb), ERR_OK);
    ck_assert_int_eq(sto_part_add(w, SLICE_LIT("a"), SLICE_LIT("v"), &eb), ERR_CORRUPT);
    sto_part_abandon(w);
    sto_part_abandon(NULL);
    ck_assert_int_eq(sto_part_create("/nowhere/part", &SIZES, &w, &eb), ERR_IO);
}
END_TEST

static enum err count_keys(void *ctx, struct slice key, struct slice value)
{
    ck_assert(base_slice_starts_with(key, SLICE_LIT("altostrat#devices#row")));
    ck_assert_uint_eq(value.len, strlen("a value of some length"));
    return ++*(int *)ctx == 7 ? ERR_CANCELLED : ERR_OK;
}

START_TEST(reading_gives_every_key_until_told_to_stop)
{
    static struct sto_part parts[PARTS_MAX];
    int count = 0;
    ck_assert_uint_eq(write_parts(0, 5, -1, -1, parts), 1);
    ck_assert_int_eq(sto_part_visit(path_of("part"), count_keys, &count, &eb), ERR_OK);
    ck_assert_int_eq(count, 5);
    count = 0;
    write_parts(0, 20, -1, -1, parts);
    ck_assert_int_eq(sto_part_visit(path_of("part"), count_keys, &count, &eb), ERR_CANCELLED);
    ck_assert_int_eq(count, 7);
    ck_assert_int_eq(sto_part_visit(path_of("other"), count_keys, &count, &eb), ERR_NOT_FOUND);
    ck_assert_int_eq(truncate(path_of("part"), 100), 0);
    ck_assert_int_eq(sto_part_visit(path_of("part"), count_keys, &count, &eb), ERR_CORRUPT);
}
END_TEST

Suite *suite_storage_part_file(void)
{
    Suite *s = suite_create("storage_part_file");
    TCase *tc = tcase_create("part_file");
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, same_keys_and_values_are_the_same_parts);
    tcase_add_test(tc, a_change_touches_the_part_it_falls_into);
    tcase_add_test(tc, where_a_key_ends_counts);
    tcase_add_test(tc, keys_that_do_not_rise_are_refused);
    tcase_add_test(tc, reading_gives_every_key_until_told_to_stop);
    suite_add_tcase(s, tc);
    return s;
}
