/*
 * tests/storage/test_engine_checkpoint.c - images of a database that is in use.
 */
#include "fixture.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/wait.h>

#include "storage/rocksdb/checkpoint.h"
#include "storage/rocksdb/image.h"

#include "base/banned.h"

Suite *suite_storage_engine_checkpoint(void);

enum { ROWS = 300 };
static char image[300];
static struct errbuf eb;

static void setup(void)
{
    fix_setup_alone(); /* all keys and tables of an image are counted */
    (void)snprintf(image, sizeof(image), "%s/image", fix.dir);
    memset(&eb, 0, sizeof(eb));
}

static void put_rows(int from, int to)
{
    for (int i = from; i < to; i++) {
        char row[32];
        (void)snprintf(row, sizeof(row), "row%05d", i);
        ck_assert_int_eq(fix_put(&fix.tables[(size_t)i % 2][0], row, "value"), ERR_OK);
    }
}

static enum err make(void)
{
    uint64_t sequence = 0;
    memset(&eb, 0, sizeof(eb));
    enum err rc = sto_rocksdb_checkpoint(fix.engine, image, &sequence, &eb);
    ck_assert_int_eq(rc == ERR_OK, eb.text[0] == '\0');
    if (rc == ERR_OK)
        ck_assert_uint_gt(sequence, 0);
    return rc;
}

static struct sto_image_counts count(void)
{
    struct sto_image_counts counts;
    enum err rc = sto_rocksdb_image_count(image, SLICE_LIT("t/"), NULL, NULL, &counts, &eb);
    ck_assert_msg(rc == ERR_OK, "%s", eb.text);
    return counts;
}

START_TEST(image_holds_what_was_acknowledged_and_nothing_later)
{
    put_rows(0, ROWS);
    struct sto_doc_change docs[2] = {
        {.key = SLICE_LIT("t/ab"), .body = SLICE_LIT("x"), .expect = STO_DOC_ABSENT},
        {.key = SLICE_LIT("p/tab"), .body = SLICE_LIT("x"), .expect = STO_DOC_ABSENT}};
    ck_assert_int_eq(sto_docs_commit(fix.engine, docs, 2, NULL), ERR_OK);
    ck_assert_int_eq(make(), ERR_OK);
    put_rows(ROWS, ROWS + 50);
    struct sto_image_counts counts = count();
    ck_assert_uint_eq(counts.keys[RDB_CF_CELLS], 2 * ROWS); /* each row's header and cell */
    ck_assert_uint_eq(counts.documents, 1);
    ck_assert_uint_gt(counts.keys[RDB_CF_META], 2);
    ck_assert_str_eq(sto_image_family_name(RDB_CF_CELLS), "cells");
    char release[STO_IMAGE_RELEASE];
    ck_assert_int_eq(sto_rocksdb_image_release(image, release, &eb), ERR_OK);
    ck_assert_int_eq(strspn(release, "0123456789."), strlen(release));
    ck_assert_uint_ge(strlen(release), 5);
}
END_TEST

START_TEST(image_is_a_database_that_opens)
{
    put_rows(0, ROWS);
    ck_assert_int_eq(make(), ERR_OK);
    ck_assert_int_eq(sto_rocksdb_checkpoint_remove(image, &eb), ERR_OK);
    ck_assert_int_ne(access(image, F_OK), 0);
    ck_assert_int_eq(sto_rocksdb_checkpoint_remove(image, &eb), ERR_OK); /* not there: fine */
    char restored[330], db[340];
    (void)snprintf(restored, sizeof(restored), "%s/restored", fix.dir);
    (void)snprintf(db, sizeof(db), "%s/db", restored);
    ck_assert_int_eq(mkdir(restored, 0700), 0);
    uint64_t sequence = 0;
    ck_assert_int_eq(sto_rocksdb_checkpoint(fix.engine, db, &sequence, &eb), ERR_OK);
    ck_assert_int_eq(sto_rocksdb_adopt(restored, &eb), ERR_OK);
    struct sto_rocksdb_options options = fix.options;
    struct sto_engine *second = NULL;
    options.dir = restored;
    ck_assert_msg(sto_rocksdb_open(&options, &second, &eb) == ERR_OK, "%s", eb.text);
    struct sto_health health;
    sto_health_get(second, &health);
    ck_assert_uint_ge(health.sequence, sequence);
    sto_engine_close(second);
}
END_TEST

static void write_and_die(void)
{
    fix_open();
    put_rows(0, 40);
    _exit(0); /* what was written is in the log alone */
}

static enum err table_name(void *ctx, const char *name, size_t family)
{
    size_t *count = ctx;
    ck_assert_uint_lt(family, STO_IMAGE_FAMILIES);
    ck_assert_ptr_nonnull(strstr(name, ".sst"));
    ck_assert_ptr_null(strchr(name, '/'));
    ++*count;
    return ERR_OK;
}

START_TEST(entries_of_logs_and_names_of_tables_are_told)
{
    int status = 0;
    size_t tables = 0;
    uint64_t logged = 0;
    struct sto_image *opened = NULL;
    char db[340];
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0)
        write_and_die();
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    (void)snprintf(db, sizeof(db), "%s/db", fix.dir);
    ck_assert_int_eq(sto_image_open(db, &opened, &eb), ERR_OK);
    ck_assert_int_eq(sto_image_count_logged(opened, RDB_CF_CELLS, &logged, &eb), ERR_OK);
    ck_assert_uint_eq(logged, 80); /* headers and cells */
    ck_assert_int_eq(sto_image_count_logged(opened, RDB_CF_CHANGES, &logged, &eb), ERR_OK);
    ck_assert_uint_eq(logged, 0);
    ck_assert_int_eq(sto_image_visit_tables(opened, table_name, &tables), ERR_OK);
    ck_assert_uint_eq(tables, 0);
    sto_image_close(opened);
    fix_open();
    fix_reopen(); /* which flushes */
    fix_close();
    ck_assert_int_eq(sto_image_open(db, &opened, &eb), ERR_OK);
    ck_assert_int_eq(sto_image_count_logged(opened, RDB_CF_CELLS, &logged, &eb), ERR_OK);
    ck_assert_uint_eq(logged, 0);
    ck_assert_int_eq(sto_image_visit_tables(opened, table_name, &tables), ERR_OK);
    ck_assert_uint_gt(tables, 0);
    sto_image_close(opened);
    fix_open();
}
END_TEST

START_TEST(image_is_refused_while_a_tenant_is_purged)
{
    put_rows(0, ROWS);
    atomic_store(&fix.accounts[0].gate, STO_GATE_GONE);
    for (int s = 0; s < STO_PURGE_STEP_COUNT; s++) {
        ck_assert_int_eq(
            sto_purge_run(fix.engine, &fix.tenants[0], (enum sto_purge_step)s, NULL, 0, &eb),
            ERR_OK);
        if (s < STO_PURGE_STEP_COUNT - 1) {
            ck_assert_int_eq(make(), ERR_CONFLICT);
            ck_assert_ptr_nonnull(strstr(eb.text, "ab is being purged"));
            memset(&eb, 0, sizeof(eb));
        }
    }
    ck_assert_int_eq(make(), ERR_OK);
    ck_assert_uint_eq(count().keys[RDB_CF_CELLS], ROWS); /* the other tenant's half */
}
END_TEST

START_TEST(image_is_made_again_after_a_purge_step_that_failed)
{
    sto_rdb_engine(fix.engine)->wait_seconds = 0;
    atomic_store(&fix.accounts[0].gate, STO_GATE_GONE);
    atomic_store(&fix.accounts[0].reads_open, 1);
    ck_assert_int_eq(sto_purge_run(fix.engine, &fix.tenants[0], STO_PURGE_FENCE, NULL, 0, &eb),
                     ERR_TIMEOUT);
    ck_assert_int_eq(make(), ERR_OK);
    atomic_store(&fix.accounts[0].reads_open, 0);
}
END_TEST

START_TEST(image_is_refused_where_something_is)
{
    ck_assert_int_eq(make(), ERR_OK);
    ck_assert_int_eq(make(), ERR_EXISTS);
}
END_TEST

START_TEST(image_is_refused_once_the_engine_failed)
{
    sto_rocksdb_test_fail_commit(fix.engine, 1);
    ck_assert_int_ne(fix_put(&fix.tables[0][0], "row", "value"), ERR_OK);
    ck_assert_int_eq(make(), ERR_UNAVAILABLE);
    ck_assert_int_ne(access(image, F_OK), 0);
}
END_TEST

/* One byte in the middle of the largest table file. */
static void damage(void)
{
    char largest[600] = "";
    struct stat st;
    off_t most = 0;
    DIR *dir = opendir(image);
    for (const struct dirent *d; (d = readdir(dir)) != NULL;) {
        char path[600];
        (void)snprintf(path, sizeof(path), "%s/%s", image, d->d_name);
        if (strstr(d->d_name, ".sst") == NULL || stat(path, &st) != 0 || st.st_size <= most)
            continue;
        most = st.st_size;
        memcpy(largest, path, sizeof(path));
    }
    closedir(dir);
    int fd = open(largest, O_RDWR);
    ck_assert_int_ge(fd, 0);
    uint8_t byte;
    ck_assert_int_eq(pread(fd, &byte, 1, 100), 1);
    byte ^= 0x10;
    ck_assert_int_eq(pwrite(fd, &byte, 1, 100), 1);
    close(fd);
}

START_TEST(counting_finds_a_flipped_bit)
{
    put_rows(0, ROWS);
    ck_assert_int_eq(make(), ERR_OK);
    sto_engine_close(fix.engine); /* the file is the database's, too */
    fix.engine = NULL;
    damage();
    struct sto_image_counts counts;
    ck_assert_int_eq(sto_rocksdb_image_count(image, SLICE_EMPTY, NULL, NULL, &counts, &eb),
                     ERR_CORRUPT);
    ck_assert_uint_gt(strlen(eb.text), 0);
    fix_scopes_drop();
}
END_TEST

static bool stop_at_once(void *ctx)
{
    ++*(int *)ctx;
    return true;
}

START_TEST(counting_stops_when_told_to)
{
    int asked = 0;
    put_rows(0, 5000);
    ck_assert_int_eq(make(), ERR_OK);
    struct sto_image_counts counts;
    ck_assert_int_eq(
        sto_rocksdb_image_count(image, SLICE_EMPTY, stop_at_once, &asked, &counts, &eb),
        ERR_CANCELLED);
    ck_assert_int_eq(asked, 1);
}
END_TEST

Suite *suite_storage_engine_checkpoint(void)
{
    Suite *suite = suite_create("storage_engine_checkpoint");
    TCase *images = tcase_create("images");
    tcase_add_checked_fixture(images, setup, fix_teardown);
    tcase_add_test(images, image_holds_what_was_acknowledged_and_nothing_later);
    tcase_add_test(images, image_is_a_database_that_opens);
    tcase_add_test(images, image_is_refused_while_a_tenant_is_purged);
    tcase_add_test(images, image_is_made_again_after_a_purge_step_that_failed);
    tcase_add_test(images, image_is_refused_where_something_is);
    tcase_add_test(images, image_is_refused_once_the_engine_failed);
    suite_add_tcase(suite, images);
    TCase *logs = tcase_create("logs");
    tcase_add_checked_fixture(logs, fix_prepare_alone, fix_teardown); /* tables are counted */
    tcase_add_test(logs, entries_of_logs_and_names_of_tables_are_told);
    suite_add_tcase(suite, logs);
    TCase *counting = tcase_create("counting");
    tcase_add_checked_fixture(counting, setup, fix_teardown);
    tcase_set_timeout(counting, 60);
    tcase_add_test(counting, counting_finds_a_flipped_bit);
    tcase_add_test(counting, counting_stops_when_told_to);
    suite_add_tcase(suite, counting);
    return suite;
}
