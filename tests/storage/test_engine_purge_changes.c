/*
 * tests/storage/test_engine_purge_changes.c - purges beside a damaged table file of the changes.
 *
 *   the file holds                   and is damaged in
 *   the leaver's changes alone       their first block, where a purge looks for any
 *                                    the footer as well: no compaction gets past it (damage.c, 3)
 *   those of two others around the   the block of the leaver's few: nothing of the file's bounds
 *   leaver's                         says that they are there
 *   those of the next tenant         their first block and the footer, which a seek over the
 *                                    leaver's range reads
 */
#include "fixture.h"

#include "storage/rocksdb/live_files.h"
#include "tests/storage/changes.h"
#include "tests/storage/damaged.h"
#include "tests/storage/files_hold.h"

#include "base/banned.h"

Suite *suite_storage_engine_purge_changes(void);

enum { ROWS = 40, FEW = 3, LEAVER = 0, OTHER = 1, LAST = 2 };

static struct changes_file {
    char path[600];
    off_t first; /* of a byte in the block of its first change */
    off_t footer;
} file;

/* The only file of the changes that holds the tenant's first one. */
static void file_find(size_t tenant)
{
    struct rdb_live_walk walk;
    struct rdb_live_file f;
    struct stat st;
    char value[DAMAGED_VALUE + 1];
    damaged_value(value, tenant, 0, 1);
    file.first = -1;
    sto_rdb_live_walk_open(&walk, sto_rdb_engine(fix.engine)->db.handle, "changes");
    while (file.first < 0 && sto_rdb_live_walk_next(&walk, &f)) {
        (void)snprintf(file.path, sizeof file.path, "%.250s/db/%.250s", fix.dir, f.name);
        file.first = damaged_find(file.path, value);
    }
    sto_rdb_live_walk_close(&walk);
    ck_assert_int_ge(file.first, 0);
    ck_assert_int_eq(stat(file.path, &st), 0);
    file.first += DAMAGED_VALUE / 2;
    file.footer = st.st_size - 1;
}

static void setup(void)
{
    static const size_t TENANTS[] = {LEAVER, OTHER};
    fix_setup_alone(); /* whose changes are in which file is known */
    for (size_t i = 0; i < 2; i++) {
        changes_set(&fix.tables[TENANTS[i]][0], RETENTION_S);
        damaged_put(TENANTS[i], 0, ROWS, 1);
        ck_assert_int_eq(sto_rdb_flush(sto_rdb_engine(fix.engine)), ERR_OK);
    }
    file_find(LEAVER);
}

static void setup_behind(void)
{
    fix_setup_in_memory();
    damaged_put(LEAVER, 0, ROWS, 1);
    changes_set(&fix.tables[OTHER][0], RETENTION_S);
    damaged_put(OTHER, 0, ROWS, 1);
    ck_assert_int_eq(sto_rdb_flush(sto_rdb_engine(fix.engine)), ERR_OK);
    file_find(OTHER);
}

/* The tenant between the two others is the leaver. */
static void setup_between(void)
{
    fix_setup_in_memory(); /* one file */
    for (size_t i = 0; i < FIX_TENANTS; i++) {
        changes_set(&fix.tables[i][0], RETENTION_S);
        damaged_put(i, 0, i == OTHER ? FEW : ROWS, 1);
    }
    ck_assert_int_eq(sto_rdb_flush(sto_rdb_engine(fix.engine)), ERR_OK);
    file_find(OTHER);
}

static enum err purge(size_t tenant, struct errbuf *eb)
{
    enum err rc = ERR_OK;
    atomic_store(&fix.accounts[tenant].gate, STO_GATE_GONE);
    for (enum sto_purge_step step = 0; rc == ERR_OK && step < STO_PURGE_STEP_COUNT; step++)
        rc = sto_purge_run(fix.engine, &fix.tenants[tenant], step, NULL, 0, eb);
    return rc;
}

static void expect_gone(size_t tenant)
{
    struct sto_audit audit;
    struct errbuf eb = {{0}};
    char value[DAMAGED_VALUE + 1];
    enum err rc = sto_audit_range(fix.engine, &fix.tenants[tenant], &audit, &eb);
    ck_assert_msg(rc == ERR_OK, "%s", eb.text);
    ck_assert_uint_eq(audit.physical_keys, 0);
    ck_assert_uint_eq(audit.live_files_inside, 0);
    for (int row = 0; row < ROWS; row++) {
        damaged_value(value, tenant, row, 1);
        ck_assert(!files_hold(fix.dir, value));
    }
    damaged_assert_sound();
}

START_TEST(a_damaged_block_of_changes_is_got_past)
{
    struct errbuf eb = {{0}};
    damaged_byte_flip(file.path, file.first);
    enum err rc = purge(LEAVER, &eb);
    ck_assert_msg(rc == ERR_OK, "%s", eb.text);
    expect_gone(LEAVER);
    fix_assert_no_drift(OTHER);
}
END_TEST

START_TEST(a_file_of_changes_that_cannot_be_rewritten_keeps_its_tenant_alone)
{
    struct errbuf eb = {{0}};
    char wanted[100];
    damaged_byte_flip(file.path, file.first);
    damaged_byte_flip(file.path, file.footer);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(purge(LEAVER, &eb), ERR_CORRUPT);
        (void)snprintf(wanted, sizeof wanted, "table file %s is damaged and cannot be rewritten",
                       strrchr(file.path, '/') + 1);
        ck_assert_str_eq(eb.text, wanted);
        damaged_assert_sound();
    }
    eb.text[0] = '\0';
    enum err rc = purge(OTHER, &eb);
    ck_assert_msg(rc == ERR_OK, "%s", eb.text);
    expect_gone(OTHER);
    damaged_byte_flip(file.path, file.first);
    damaged_byte_flip(file.path, file.footer);
    rc = purge(LEAVER, &eb);
    ck_assert_msg(rc == ERR_OK, "%s", eb.text);
    expect_gone(LEAVER);
}
END_TEST

static void expect_rows(size_t tenant)
{
    uint64_t rows = 0;
    ck_assert_int_eq(damaged_scan(tenant, 0, ROWS, false, &rows), ERR_OK);
    ck_assert_uint_eq(rows, ROWS);
}

/* The first try, not one after the audit met the block. */
START_TEST(damaged_changes_between_those_of_others_are_found)
{
    struct errbuf eb = {{0}};
    damaged_byte_flip(file.path, file.first);
    enum err rc = purge(OTHER, &eb);
    ck_assert_msg(rc == ERR_OK, "%s", eb.text);
    expect_gone(OTHER);
    expect_rows(LEAVER);
    expect_rows(LAST);
}
END_TEST

/* A seek over the range of the leaver, who has no changes, reads in that file, whose compaction
 * would not help. */
START_TEST(a_damaged_file_behind_the_range_is_not_waited_for)
{
    struct errbuf eb = {{0}};
    damaged_byte_flip(file.path, file.first);
    damaged_byte_flip(file.path, file.footer);
    enum err rc = purge(LEAVER, &eb);
    ck_assert_msg(rc == ERR_OK, "%s", eb.text);
    damaged_byte_flip(file.path, file.first); /* the audit reads in it as well */
    damaged_byte_flip(file.path, file.footer);
    expect_gone(LEAVER);
}
END_TEST

Suite *suite_storage_engine_purge_changes(void)
{
    Suite *s = suite_create("storage_engine_purge_changes");
    TCase *t = tcase_create("damaged");
    tcase_set_timeout(t, 240);
    tcase_add_checked_fixture(t, setup, fix_teardown);
    tcase_add_test(t, a_damaged_block_of_changes_is_got_past);
    tcase_add_test(t, a_file_of_changes_that_cannot_be_rewritten_keeps_its_tenant_alone);
    suite_add_tcase(s, t);
    t = tcase_create("between");
    tcase_set_timeout(t, 240);
    tcase_add_checked_fixture(t, setup_between, fix_teardown);
    tcase_add_test(t, damaged_changes_between_those_of_others_are_found);
    suite_add_tcase(s, t);
    t = tcase_create("behind");
    tcase_set_timeout(t, 240);
    tcase_add_checked_fixture(t, setup_behind, fix_teardown);
    tcase_add_test(t, a_damaged_file_behind_the_range_is_not_waited_for);
    suite_add_tcase(s, t);
    return s;
}
