/*
 * tests/storage/test_metadata_parts.c - filters and indexes, whole and in parts, side by side.
 */
#define _GNU_SOURCE
#include "tests/storage/fixture.h"

#include <string.h>

#include "base/file.h"
#include "storage/rocksdb/live_files.h"
#include "storage/rocksdb/rdb.h"

#include "base/banned.h"

#define T (&fix.tables[0][0])

enum { ROWS = 200 };

struct forms {
    size_t whole;
    size_t in_parts;
};

static bool holds(struct slice bytes, const char *text)
{
    return memmem(bytes.ptr, bytes.len, text, strlen(text)) != NULL;
}

/* Of the files with rows. */
static struct forms forms_now(void)
{
    struct forms forms = {0, 0};
    struct rdb_live_files live;
    sto_rdb_live_files_open(sto_rdb_engine(fix.engine)->db.handle, &live);
    for (int i = 0; i < rocksdb_livefiles_count(live.list); i++) {
        char path[BASE_PATH_BYTES];
        struct buf bytes;
        if (strcmp(rocksdb_livefiles_column_family_name(live.list, i),
                   RDB_FAMILY_NAMES[RDB_CF_CELLS]) != 0)
            continue;
        (void)snprintf(path, sizeof path, "%s/db%s", fix.dir, rocksdb_livefiles_name(live.list, i));
        ck_assert_int_eq(base_file_read(path, MIB, &bytes, NULL), ERR_OK);
        bool in_parts = holds(base_buf_slice(&bytes), "partitionedfilter.");
        ck_assert(in_parts != holds(base_buf_slice(&bytes), "fullfilter."));
        forms.in_parts += in_parts;
        forms.whole += !in_parts;
        base_buf_fini(&bytes);
    }
    sto_rdb_live_files_close(&live);
    return forms;
}

static void reopen_with_cache(size_t bytes)
{
    fix.options.cache_bytes = bytes;
    fix_reopen();
    fix_wait_for_memory();
}

static void rows_put(int from, int to)
{
    for (int i = from; i < to; i++) {
        char row[16];
        (void)snprintf(row, sizeof row, "row%06d", i);
        ck_assert_int_eq(fix_put(T, row, "value"), ERR_OK);
    }
    fix_flush();
}

static int rows_in(struct slice text)
{
    int count = 0;
    for (size_t i = 0; i + 3 <= text.len; i++)
        count += memcmp(text.ptr + i, "row", 3) == 0;
    return count;
}

static void rows_read(int count)
{
    for (int reversed = 0; reversed < 2; reversed++) {
        struct fix_sink s;
        fix_sink_init(&s);
        const struct sto_read_spec spec = {.reversed = reversed != 0};
        ck_assert_int_eq(fix_read(T, &spec, &s, true), ERR_OK);
        ck_assert_int_eq(rows_in(base_buf_slice(&s.text)), count);
        base_buf_fini(&s.text);
    }
    for (int i = -1; i <= count; i++) {
        char row[16];
        struct fix_sink s;
        (void)snprintf(row, sizeof row, "row%06d", i);
        fix_sink_init(&s);
        const struct sto_read_spec spec = {.row_key = base_slice_text(row)};
        ck_assert_int_eq(fix_read(T, &spec, &s, true), ERR_OK);
        ck_assert_int_eq(rows_in(base_buf_slice(&s.text)), i >= 0 && i < count);
        base_buf_fini(&s.text);
    }
}

/* Of a database that is small beside its cache, and then is not any more. */
START_TEST(files_are_in_parts_when_the_cache_is_small)
{
    reopen_with_cache(64 * MIB);
    rows_put(0, ROWS);
    struct forms forms = forms_now();
    ck_assert_uint_eq(forms.in_parts, 0);
    ck_assert_uint_gt(forms.whole, 0);
    reopen_with_cache(16 * KIB);
    rows_put(ROWS, 2 * ROWS);
    forms = forms_now();
    ck_assert_uint_gt(forms.in_parts, 0);
    ck_assert_uint_gt(forms.whole, 0);
    rows_read(2 * ROWS);
}
END_TEST

/* By what there is, not only by what was there when it was opened. */
START_TEST(the_form_changes_when_the_database_grows)
{
    reopen_with_cache(64 * MIB);
    struct rdb_db *db = &sto_rdb_engine(fix.engine)->db;
    rows_put(0, ROWS);
    db->whole_max = 1; /* as if the files were larger */
    sto_rdb_db_choose_parts(db);
    rows_put(ROWS, 2 * ROWS);
    struct forms forms = forms_now();
    ck_assert_uint_gt(forms.in_parts, 0);
    ck_assert_uint_gt(forms.whole, 0);
    rows_read(2 * ROWS);
}
END_TEST

Suite *suite_storage_metadata_parts(void);
Suite *suite_storage_metadata_parts(void)
{
    Suite *s = suite_create("storage_metadata_parts");
    TCase *t = tcase_create("forms");
    tcase_add_checked_fixture(t, fix_setup_alone, fix_teardown); /* files are counted by form */
    tcase_set_timeout(t, 60);
    tcase_add_test(t, files_are_in_parts_when_the_cache_is_small);
    tcase_add_test(t, the_form_changes_when_the_database_grows);
    suite_add_tcase(s, t);
    return s;
}
