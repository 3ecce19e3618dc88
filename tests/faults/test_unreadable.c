/*
 * tests/faults/test_unreadable.c - purges beside a table file that the disk does not return.
 *
 *   the file holds        the purge of          ends
 *   alto                  alto                  names the file, and waits for it
 *                         mezzo                 as if nothing were
 *   alto and tenor        mezzo, between them   names the file: its compaction needs it
 *                         zeta, behind them     as if nothing were
 *
 * The server opened the file before, so that the disk fails at reads of it alone.
 */
#define _GNU_SOURCE
#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "tests/storage/files_hold.h"
#include "tests/support/disk.h"
#include "tests/support/random.h"
#include "tests/support/world.h"

#include "base/banned.h"

enum { VALUE = 3000, ROWS = 10 };

static struct server server;
static struct disk disk;
static struct world alto;
static char value[VALUE + 1]; /* of alto's rows, which take several blocks */
static char table[64];        /* "/000012.sst", the file that holds them */
static char wanted[128];      /* what a job is to say of it */

/* Text that does not compress, so that it stands in the file as it is. */
static void value_make(void)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    struct random dice = {11};
    for (int i = 0; i < VALUE; i++)
        value[i] = alphabet[random_next(&dice) % 64];
}

static void table_find(void)
{
    char db[PROCESS_PATH + 16], path[2 * PROCESS_PATH];
    (void)snprintf(db, sizeof db, "%s/db", server.data);
    DIR *dir = opendir(db);
    ck_assert_ptr_nonnull(dir);
    table[0] = '\0';
    for (const struct dirent *d; table[0] == '\0' && (d = readdir(dir)) != NULL;) {
        struct buf b;
        if (strstr(d->d_name, ".sst") == NULL)
            continue;
        (void)snprintf(path, sizeof path, "%s/%s", db, d->d_name);
        ck_assert_int_eq(base_file_read(path, 64 * MIB, &b, NULL), ERR_OK);
        if (b.len > 0 && memmem(b.ptr, b.len, value, VALUE) != NULL)
            (void)snprintf(table, sizeof table, "/%.40s", d->d_name);
        base_buf_fini(&b);
    }
    (void)closedir(dir);
    ck_assert_str_ne(table, "");
}

static void set_up(void)
{
    server_create(&server);
    disk_init(&disk, &server, server.data);
    server.options[0] = "--scrub-mb";
    server.options[1] = "0";
    server_start(&server, disk.env);
    world_init_on(&alto, &server, HTTP_2, "alto");
    value_make();
    for (int i = 0; i < ROWS; i++) {
        char row[16];
        (void)snprintf(row, sizeof row, "patient-%d", i);
        tenant_put(alto.http, "devices", row, "raw", "v", value);
    }
}

/* Everything that was written is in table files then, and nothing of it in memory. */
static void restart(void)
{
    server_stop(&server);
    server_start(&server, disk.env);
    http_reconnect(alto.op);
    http_reconnect(alto.http);
    table_find();
}

static void tear_down(void)
{
    world_fini(&alto);
    disk_heal(&disk);
    if (server.pid > 0)
        server_stop(&server);
    disk_fini(&disk);
    server_remove(&server);
}

/* A tenant with a row; only an operator's client is left of it. */
static void tenant_make(const char *id)
{
    struct world w;
    world_init_on(&w, &server, HTTP_2, id);
    tenant_put(w.http, "devices", "patient-1", "raw", "v", id);
    world_fini(&w);
}

static void offboard(const char *tenant, char out_job[WORLD_ID])
{
    char body[64];
    (void)snprintf(body, sizeof body, "{'confirm':'%s'}", tenant);
    http_json(alto.op, "POST", body, "/v1/admin/tenants/%s:offboard", tenant);
    EXPECT_STATUS(alto.op, 202);
    (void)snprintf(out_job, WORLD_ID, "%s", http_string(alto.op, "/job"));
}

static bool names_file(void *job)
{
    http_get(alto.op, "/v1/admin/jobs/%s", (const char *)job);
    EXPECT_STATUS(alto.op, 200);
    ck_assert_str_ne(http_string(alto.op, "/state"), "done");
    return strstr((const char *)http_text(alto.op), wanted) != NULL;
}

static bool is_done(void *job)
{
    http_get(alto.op, "/v1/admin/jobs/%s", (const char *)job);
    EXPECT_STATUS(alto.op, 200);
    return strcmp(http_string(alto.op, "/state"), "done") == 0;
}

static void expect_ready(void)
{
    http_get(alto.op, "/readyz");
    EXPECT_STATUS(alto.op, 200);
    ck_assert_str_eq(http_string(alto.op, "/storage"), "ok");
}

START_TEST(it_keeps_only_those_in_it)
{
    char job[WORLD_ID], other[WORLD_ID];
    restart();
    tenant_make("mezzo");
    disk_fail(&disk, DISK_READ, EIO, table, 0);
    (void)snprintf(wanted, sizeof wanted, "table file %s cannot be read", table + 1);
    offboard("alto", job);
    offboard("mezzo", other);
    process_await(is_done, other, "the purge of a tenant that has nothing in the file");
    process_await(names_file, job, "the file in the job");
    ck_assert_uint_gt(disk_failed(&disk), 0);
    expect_ready();
    ck_assert(files_hold(server.data, value));
    disk_heal(&disk);
    process_await(is_done, job, "the purge, which is tried again");
    ck_assert(!files_hold(server.data, value));
}
END_TEST

/* The block behind mezzo's keys is in memory, so that the audit, which looks there, passes. */
START_TEST(one_whose_compaction_needs_it_waits_and_nothing_is_lost)
{
    char job[WORLD_ID], other[WORLD_ID];
    struct world tenor;
    world_init_on(&tenor, &server, HTTP_2, "tenor");
    tenant_put(tenor.http, "devices", "patient-1", "raw", "v", "of tenor");
    restart();
    http_reconnect(tenor.http);
    http_get(tenor.http, "/v1/tables/devices/rows/patient-1");
    EXPECT_STATUS(tenor.http, 200);
    world_fini(&tenor);
    tenant_make("mezzo");
    disk_fail(&disk, DISK_READ, EIO, table, 0);
    (void)snprintf(wanted, sizeof wanted, "table file %s is damaged and cannot be rewritten",
                   table + 1);
    offboard("mezzo", job);
    process_await(names_file, job, "the file in the job");
    tenant_make("zeta"); /* its rows are in no file of mezzo's, which the compaction would need */
    offboard("zeta", other);
    process_await(is_done, other, "the purge of a tenant behind the file");
    expect_ready();
    disk_heal(&disk);
    process_await(is_done, job, "the purge, which is tried again");
    http_get(alto.http, "/v1/tables/devices/rows/patient-1");
    EXPECT_STATUS(alto.http, 200);
    ck_assert_str_eq(http_string(alto.http, "/cells/raw/v/0/value"), value);
    http_get(alto.http, "/v1/tables/devices/rows");
    EXPECT_STATUS(alto.http, 200);
    ck_assert_uint_eq(http_count(alto.http, "/rows"), ROWS);
}
END_TEST

Suite *suite_faults_unreadable(void);
Suite *suite_faults_unreadable(void)
{
    Suite *s = suite_create("faults_unreadable");
    TCase *tc = tcase_create("purges");
    tcase_set_timeout(tc, 600);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, it_keeps_only_those_in_it);
    tcase_add_test(tc, one_whose_compaction_needs_it_waits_and_nothing_is_lost);
    suite_add_tcase(s, tc);
    return s;
}
