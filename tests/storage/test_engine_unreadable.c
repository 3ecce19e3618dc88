/*
 * tests/storage/test_engine_unreadable.c - table files that the disk does not return.
 *
 * RocksDB has the file open. For an examination its name becomes a link to itself, which nobody can
 * open; for RocksDB's reads its descriptor becomes one that is for writing.
 */
#include "damaged.h"

#include <unistd.h>

#include "storage/rocksdb/damage.h"
#include "storage/rocksdb/live_files.h"
#include "storage/rocksdb/rdb.h"
#include "tests/support/wall.h"

#include "base/banned.h"

Suite *suite_storage_engine_unreadable(void);

enum { ROWS = 40, HIT = 20, REST_S = 10 /* between two examinations */ };

static struct unread_file {
    uint64_t number;
    char path[600];
    char aside[610];
} file;

static struct rdb_engine *engine(void)
{
    return sto_rdb_engine(fix.engine);
}

static void setup(void)
{
    fix_setup_in_memory(); /* one file of each family, and no compaction */
    damaged_put(0, 0, ROWS, 1);
    ck_assert_int_eq(sto_rdb_flush(engine()), ERR_OK);
}

static void file_find(const char *family)
{
    struct rdb_live_walk walk;
    struct rdb_live_file f;
    sto_rdb_live_walk_open(&walk, engine()->db.handle, family);
    ck_assert(sto_rdb_live_walk_next(&walk, &f));
    file.number = f.number;
    (void)snprintf(file.path, sizeof file.path, "%.250s/db/%.250s", fix.dir, f.name);
    (void)snprintf(file.aside, sizeof file.aside, "%s.aside", file.path);
    ck_assert(!sto_rdb_live_walk_next(&walk, &f));
    sto_rdb_live_walk_close(&walk);
}

static void file_hide(const char *family)
{
    file_find(family);
    ck_assert_int_eq(rename(file.path, file.aside), 0);
    ck_assert_int_eq(symlink(file.path, file.path), 0);
}

static void file_return(void)
{
    ck_assert_int_eq(unlink(file.path), 0);
    ck_assert_int_eq(rename(file.aside, file.path), 0);
}

/* As a compaction that reads the same bytes each time. */
static void file_meet(void)
{
    char text[100];
    (void)snprintf(text, sizeof text,
                   "Corruption: unreadable block in %llu.sst offset 4096 size 32",
                   (unsigned long long)file.number);
    sto_rdb_damage_met(engine(), text);
}

static void expect_listed(size_t blocks)
{
    struct sto_damage damage;
    ck_assert(sto_rdb_damage_wait(engine()));
    sto_damage_get(fix.engine, &damage);
    ck_assert_uint_eq(damage.lost_ranges, 0);
    ck_assert_uint_eq(damage.count, blocks);
}

/* By this thread's clock no time passes until the file is met again. */
static void file_meet_while_it_rests(void)
{
    file_hide("cells");
    wall_hold_monotonic();
    file_meet();
    expect_listed(1);
    damaged_assert_sound();
    file_return();
    file_meet();
    expect_listed(1);
    wall_release_monotonic();
}

START_TEST(one_that_is_returned_again_is_forgotten)
{
    file_meet_while_it_rests();
    wall_pass_s(REST_S);
    file_meet();
    expect_listed(0);
    ck_assert_int_eq(damaged_read(0, HIT, false), ERR_OK);
}
END_TEST

START_TEST(one_that_returns_other_bytes_is_rewritten_without_them)
{
    file_meet_while_it_rests();
    damaged_flip(0, HIT, 1);
    wall_pass_s(REST_S);
    file_meet();
    damaged_await_rewritten();
    ck_assert_int_eq(damaged_read(0, HIT, false), ERR_CORRUPT);
    ck_assert_int_eq(damaged_read(0, 0, false), ERR_OK);
}
END_TEST

/* The next open uses its copy. */
START_TEST(one_of_the_metadata_ends_the_engine)
{
    struct sto_health health;
    file_hide("meta");
    file_meet();
    ck_assert(sto_rdb_damage_wait(engine()));
    sto_health_get(fix.engine, &health);
    file_return();
    ck_assert(health.failed);
    ck_assert_str_eq(health.reason, "read: a table file cannot be read");
}
END_TEST

/* Of the file, as it is open in this process. */
static int descriptor_of_file(void)
{
    for (int fd = 3; fd < 1024; fd++) {
        char link[64], path[600];
        (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t n = readlink(link, path, sizeof path - 1);
        if (n <= 0)
            continue;
        path[n] = '\0';
        if (strcmp(path, file.path) == 0)
            return fd;
    }
    ck_abort_msg("%s is not open", file.path);
}

/* Its blocks are in no cache: it was just written. */
static enum err audit_without(const char *family, struct errbuf *eb)
{
    struct sto_audit audit;
    file_find(family);
    int fd = descriptor_of_file();
    int kept = dup(fd);
    int bad = open("/dev/null", O_WRONLY | O_CLOEXEC);
    ck_assert_int_ge(kept, 0);
    ck_assert_int_ge(bad, 0);
    ck_assert_int_eq(dup2(bad, fd), fd);
    enum err rc = sto_audit_range(fix.engine, &fix.tenants[0], &audit, eb);
    ck_assert_int_eq(dup2(kept, fd), fd);
    ck_assert_int_eq(close(kept), 0);
    ck_assert_int_eq(close(bad), 0);
    return rc;
}

START_TEST(an_audit_names_one_of_rows)
{
    struct errbuf eb = {{0}};
    char wanted[100];
    ck_assert_int_eq(audit_without("cells", &eb), ERR_IO);
    (void)snprintf(wanted, sizeof wanted, "table file %06llu.sst cannot be read",
                   (unsigned long long)file.number);
    ck_assert_str_eq(eb.text, wanted);
    damaged_assert_sound();
}
END_TEST

START_TEST(an_audit_that_meets_one_of_the_metadata_ends_the_engine)
{
    struct sto_health health;
    ck_assert_int_eq(audit_without("meta", NULL), ERR_IO);
    sto_health_get(fix.engine, &health);
    ck_assert(health.failed);
}
END_TEST

Suite *suite_storage_engine_unreadable(void)
{
    Suite *s = suite_create("storage_engine_unreadable");
    TCase *t = tcase_create("unreadable");
    tcase_set_timeout(t, 240);
    tcase_add_checked_fixture(t, setup, fix_teardown);
    tcase_add_test(t, one_that_is_returned_again_is_forgotten);
    tcase_add_test(t, one_that_returns_other_bytes_is_rewritten_without_them);
    tcase_add_test(t, one_of_the_metadata_ends_the_engine);
    tcase_add_test(t, an_audit_names_one_of_rows);
    tcase_add_test(t, an_audit_that_meets_one_of_the_metadata_ends_the_engine);
    suite_add_tcase(s, t);
    return s;
}
