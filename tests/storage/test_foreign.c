/*
 * tests/storage/test_foreign.c - databases of other programs: read as they are, left as they are.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/rocksdb/foreign.h"
#include "tests/support/foreign.h"
#include "tests/support/process.h"

#include "base/banned.h"

#define KEYS 500

static char dir[PROCESS_PATH];
static char path[PROCESS_PATH + 8];
static int keeper;
static struct errbuf eb;
static struct sto_foreign *f;

static void set_up(void)
{
    keeper = process_temp_dir(dir);
    (void)snprintf(path, sizeof path, "%s/db", dir);
    (void)setenv("TMPDIR", dir, 1); /* where the reader's own log would be seen */
    eb = (struct errbuf){{0}};
    f = NULL;
}

static void tear_down(void)
{
    sto_foreign_close(f);
    process_temp_dir_remove(dir, keeper);
}

/* Half of the keys in files, the other half in the log alone. */
static void make_database(void)
{
    struct foreign db = foreign_open(path);
    for (int i = 0; i < KEYS; i++) {
        char key[32];
        (void)snprintf(key, sizeof key, "key%04d", i);
        foreign_put(&db, 0, key, "value");
        if (i == KEYS / 2)
            foreign_flush(&db);
    }
    foreign_put(&db, 1, "other", "family");
    foreign_close(&db);
}

static void open_family(const char *family)
{
    enum err e = sto_foreign_open(path, family, &f, &eb);
    ck_assert_msg(e == ERR_OK, "%s", eb.text);
}

struct seen {
    int count;
    int stop_at; /* 0: never */
    char first[32];
    char last[32];
};

static enum err see(void *ctx, struct slice key, struct slice value)
{
    struct seen *s = ctx;
    ck_assert_uint_lt(key.len, sizeof s->last);
    (void)value;
    (void)snprintf(s->last, sizeof s->last, "%.*s", (int)key.len, (const char *)key.ptr);
    if (s->count++ == 0)
        memcpy(s->first, s->last, sizeof s->first);
    return s->count == s->stop_at ? ERR_CANCELLED : ERR_OK;
}

static struct seen read_all(void)
{
    struct seen s = {0};
    ck_assert_int_eq(sto_foreign_read(f, false, SLICE_EMPTY, see, &s, &eb), ERR_OK);
    return s;
}

START_TEST(files_and_log_are_read_in_order)
{
    make_database();
    open_family("default");
    struct seen s = read_all();
    ck_assert_int_eq(s.count, KEYS);
    ck_assert_str_eq(s.first, "key0000");
    ck_assert_str_eq(s.last, "key0499");
    ck_assert_uint_gt(sto_foreign_bytes(f), 0);
}
END_TEST

START_TEST(other_column_families_are_read_by_name)
{
    make_database();
    open_family("more");
    struct seen s = read_all();
    ck_assert_int_eq(s.count, 1);
    ck_assert_str_eq(s.first, "other");
}
END_TEST

START_TEST(reading_goes_on_behind_a_key)
{
    static const struct {
        const char *after;
        int count;
        const char *first;
    } cases[] = {
        {"key0100", KEYS - 101, "key0101"},
        {"key01005", KEYS - 101, "key0101"},
        {"", KEYS, "key0000"},
        {"key0499", 0, ""},
        {"zebra", 0, ""},
    };
    make_database();
    open_family("default");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct seen s = {0};
        ck_assert_int_eq(sto_foreign_read(f, true, base_slice_text(cases[i].after), see, &s, &eb),
                         ERR_OK);
        ck_assert_int_eq(s.count, cases[i].count);
        ck_assert_str_eq(s.first, cases[i].first);
    }
}
END_TEST

START_TEST(visitor_ends_the_reading)
{
    struct seen s = {.stop_at = 3};
    make_database();
    open_family("default");
    ck_assert_int_eq(sto_foreign_read(f, false, SLICE_EMPTY, see, &s, &eb), ERR_CANCELLED);
    ck_assert_int_eq(s.count, 3);
}
END_TEST

START_TEST(sequence_tells_of_every_write)
{
    make_database();
    open_family("default");
    uint64_t first = sto_foreign_sequence(f);
    sto_foreign_close(f);
    open_family("more");
    ck_assert_uint_eq(sto_foreign_sequence(f), first);
    sto_foreign_close(f);
    f = NULL;
    struct foreign db = foreign_open(path);
    foreign_put(&db, 1, "one", "more");
    foreign_close(&db);
    open_family("default");
    ck_assert_uint_gt(sto_foreign_sequence(f), first);
}
END_TEST

/* Names and times of everything in the directory, added up. */
static uint64_t state_of(const char *what, int *out_files)
{
    uint64_t sum = 0;
    DIR *names = opendir(what);
    ck_assert_ptr_nonnull(names);
    *out_files = 0;
    for (const struct dirent *d = readdir(names); d != NULL; d = readdir(names)) {
        char file[2 * PROCESS_PATH];
        struct stat st;
        if (d->d_name[0] == '.')
            continue;
        (void)snprintf(file, sizeof file, "%s/%s", what, d->d_name);
        ck_assert_int_eq(stat(file, &st), 0);
        for (const char *c = d->d_name; *c != '\0'; c++)
            sum = sum * 31 + (uint8_t)*c;
        sum += (uint64_t)st.st_size + (uint64_t)st.st_mtim.tv_nsec + (uint64_t)st.st_mtim.tv_sec;
        ++*out_files;
    }
    (void)closedir(names);
    return sum;
}

START_TEST(nothing_is_written_anywhere)
{
    int before = 0;
    int after = 0;
    make_database();
    uint64_t state = state_of(path, &before);
    open_family("default");
    (void)read_all();
    sto_foreign_close(f);
    f = NULL;
    ck_assert_uint_eq(state_of(path, &after), state);
    ck_assert_int_eq(before, after);
    (void)state_of(dir, &after);
    ck_assert_int_eq(after, 1);
}
END_TEST

static void refused(const char *family, enum err wanted, const char *says)
{
    enum err e = sto_foreign_open(path, family, &f, &eb);
    ck_assert_msg(e == wanted, "%s: %s", base_err_name(e), eb.text);
    ck_assert_msg(strstr(eb.text, says) != NULL, "%s", eb.text);
    ck_assert_ptr_null(f);
}

START_TEST(what_is_no_database_is_refused)
{
    refused("default", ERR_NOT_FOUND, "is no RocksDB database");
    ck_assert_int_eq(mkdir(path, 0700), 0);
    refused("default", ERR_NOT_FOUND, "is no RocksDB database");
}
END_TEST

START_TEST(column_family_that_is_not_there_is_refused)
{
    make_database();
    refused("nothing", ERR_NOT_FOUND, "nothing");
}
END_TEST

static int backwards(void *ctx, const char *a, size_t a_len, const char *b, size_t b_len)
{
    (void)ctx;
    return base_slice_compare(base_slice(b, b_len), base_slice(a, a_len));
}

static const char *name_of_order(void *ctx)
{
    (void)ctx;
    return "backwards";
}

static void nothing(void *ctx)
{
    (void)ctx;
}

START_TEST(database_with_another_order_is_refused)
{
    char *error = NULL;
    rocksdb_options_t *o = rocksdb_options_create();
    rocksdb_comparator_t *order =
        rocksdb_comparator_create(NULL, nothing, backwards, name_of_order);
    rocksdb_options_set_create_if_missing(o, 1);
    rocksdb_options_set_comparator(o, order);
    rocksdb_t *db = rocksdb_open(o, path, &error);
    FOREIGN_OK(error);
    rocksdb_close(db);
    rocksdb_options_destroy(o);
    rocksdb_comparator_destroy(order);
    enum err e = sto_foreign_open(path, "default", &f, &eb);
    ck_assert_int_ne(e, ERR_OK);
    ck_assert_msg(strstr(eb.text, "backwards") != NULL, "%s", eb.text);
}
END_TEST

/* The first table file, cut or with a byte changed in its data. */
static void damage(bool cut)
{
    DIR *names = opendir(path);
    bool done = false;
    for (const struct dirent *d = readdir(names); d != NULL && !done; d = readdir(names)) {
        char file[2 * PROCESS_PATH];
        size_t len = strlen(d->d_name);
        if (len < 4 || strcmp(d->d_name + len - 4, ".sst") != 0)
            continue;
        (void)snprintf(file, sizeof file, "%s/%s", path, d->d_name);
        if (cut) {
            ck_assert_int_eq(truncate(file, 100), 0);
        } else {
            FILE *out = fopen(file, "r+e");
            ck_assert_ptr_nonnull(out);
            ck_assert_int_eq(fseek(out, 30, SEEK_SET), 0);
            ck_assert_int_ne(fputc('#', out), EOF);
            ck_assert_int_eq(fclose(out), 0);
        }
        done = true;
    }
    (void)closedir(names);
    ck_assert(done);
}

START_TEST(damage_is_found)
{
    struct seen s = {0};
    struct foreign db = foreign_open(path);
    for (int i = 0; i < KEYS; i++) {
        char key[32];
        (void)snprintf(key, sizeof key, "key%04d", i);
        foreign_put(&db, 0, key, "value");
    }
    foreign_flush(&db);
    foreign_close(&db);
    damage(_i == 1);
    enum err e = sto_foreign_open(path, "default", &f, &eb);
    if (e == ERR_OK)
        e = sto_foreign_read(f, false, SLICE_EMPTY, see, &s, &eb);
    ck_assert_int_ne(e, ERR_OK);
    ck_assert_int_lt(s.count, KEYS);
    ck_assert_msg(strstr(eb.text, "cannot be") != NULL, "%s", eb.text);
}
END_TEST

Suite *suite_storage_foreign(void);
Suite *suite_storage_foreign(void)
{
    Suite *s = suite_create("storage_foreign");
    TCase *t = tcase_create("databases");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, files_and_log_are_read_in_order);
    tcase_add_test(t, other_column_families_are_read_by_name);
    tcase_add_test(t, reading_goes_on_behind_a_key);
    tcase_add_test(t, visitor_ends_the_reading);
    tcase_add_test(t, sequence_tells_of_every_write);
    tcase_add_test(t, nothing_is_written_anywhere);
    tcase_add_test(t, what_is_no_database_is_refused);
    tcase_add_test(t, column_family_that_is_not_there_is_refused);
    tcase_add_test(t, database_with_another_order_is_refused);
    tcase_add_loop_test(t, damage_is_found, 0, 2);
    suite_add_tcase(s, t);
    return s;
}
