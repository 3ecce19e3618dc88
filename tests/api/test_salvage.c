/*
 * tests/api/test_salvage.c - bigtentd salvage on the directory of a real server: the new directory
 * passes bigtentd check and is served; the damaged one stays as it is, however the command ends.
 */
#define _GNU_SOURCE
#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/limits.h"
#include "tests/support/disk.h"
#include "tests/support/world.h"

#include "base/banned.h"

#define MASTER     "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define VALUE      900
#define FILE_BYTES 1000

enum { ROWS = 60, HIT = 30, KILLS = 12, SECTORS = 2, PATH_BYTES = PROCESS_PATH + 64 };

static struct server server, salvaged;
static struct world sealed, plain;
static char program[PROCESS_PATH];
static char key_file[PATH_BYTES], backups[PATH_BYTES], copy[PATH_BYTES];
static char backup_id[64];
static struct process_result result;

/* --- rows ------------------------------------------------------------------------------------- */

static void value_make(char out[VALUE + 1], const char *tenant, int row, int version)
{
    uint32_t dice = (uint32_t)(row * 7919 + version * 104729) + (uint32_t)tenant[5] * 31u;
    int n = snprintf(out, VALUE, "%s/%03d/%d!", tenant, row, version);
    for (int i = n; i < VALUE; i++) {
        dice = dice * 1664525u + 1013904223u;
        out[i] = (char)('a' + (dice >> 16) % 26);
    }
    out[VALUE] = '\0';
}

static void rows_put(struct world *w, int version)
{
    for (int i = 0; i < ROWS; i++) {
        char row[16], value[VALUE + 1];
        (void)snprintf(row, sizeof row, "row%03d", i);
        value_make(value, w->tenant, i, version);
        tenant_put(w->http, "devices", row, "stats", "q", value);
    }
}

/* The version of the row's newest value; 0: it is corrupt. */
static int row_version(struct world *w, int row)
{
    http_get(w->http, "/v1/tables/devices/cells/row%03d/stats/q", row);
    if (w->http->status == 500) {
        EXPECT_PROBLEM(w->http, 500, "corrupt");
        return 0;
    }
    EXPECT_STATUS(w->http, 200);
    for (int version = 1; version <= 2; version++) {
        char value[VALUE + 1];
        value_make(value, w->tenant, row, version);
        if (strcmp(http_text(w->http), value) == 0)
            return version;
    }
    ck_abort_msg("row %d of %s is nothing that was written", row, w->tenant);
}

/* --- a server that is damaged ----------------------------------------------------------------- */

static void sealed_make(void)
{
    char target[64];
    (void)snprintf(sealed.tenant, sizeof sealed.tenant, "acme-sealed");
    sealed.op = http_open(&server, HTTP_2, server.operator_key);
    http_json(sealed.op, "POST", "{'id':'acme-sealed','encrypted':true}", "/v1/admin/tenants");
    EXPECT_STATUS(sealed.op, 201);
    admin_create_key(sealed.op, sealed.tenant, NULL, sealed.key, target);
    sealed.http = http_open(&server, HTTP_2, sealed.key);
    http_json(sealed.http, "PUT", "{'families':{'stats':{}}}", "/v1/tables/devices");
    EXPECT_STATUS(sealed.http, 201);
}

static void backup_make(void)
{
    http_json(plain.op, "POST", "{}", "/v1/admin/backups");
    EXPECT_STATUS(plain.op, 202);
    (void)snprintf(backup_id, sizeof backup_id, "%s", http_string(plain.op, "/id"));
    ck_assert_str_eq(admin_await_end(plain.op, "/state", "/v1/admin/backups/%s", backup_id),
                     "ready");
}

/* The table file with the row, and where its newest value is stored; bytes: the file's. */
static off_t file_find(int row, char out[FILE_BYTES], struct buf *bytes)
{
    char db[PATH_BYTES], value[VALUE + 1];
    off_t found = -1;
    value_make(value, plain.tenant, row, 2);
    (void)snprintf(db, sizeof db, "%.520s/db", server.data);
    DIR *d = opendir(db);
    ck_assert_ptr_nonnull(d);
    for (const struct dirent *e; found < 0 && (e = readdir(d)) != NULL;) {
        (void)snprintf(out, FILE_BYTES, "%s/%s", db, e->d_name);
        *bytes = (struct buf){0};
        const uint8_t *at = NULL;
        if (strstr(e->d_name, ".sst") != NULL &&
            base_file_read(out, 64 * MIB, bytes, NULL) == ERR_OK)
            at = memmem(bytes->ptr, bytes->len, value, VALUE);
        if (at != NULL)
            found = at - bytes->ptr;
        else
            base_buf_fini(bytes);
    }
    (void)closedir(d);
    ck_assert_int_ge(found, 0);
    return found;
}

/* A byte of the plain tenant's row and, in the same table file, one of a row of the sealed tenant,
 * whose rows are behind them. */
static void damage(int row)
{
    char path[FILE_BYTES];
    struct buf b;
    off_t at = file_find(row, path, &b);
    off_t behind = (off_t)b.len * 80 / 100;
    uint8_t byte = b.ptr[behind] ^ 0x20;
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    ck_assert_int_eq(pwrite(fd, " ", 1, at + 50), 1); /* no value has one */
    ck_assert_int_eq(pwrite(fd, &byte, 1, behind), 1);
    ck_assert_int_eq(close(fd), 0);
    base_buf_fini(&b);
}

static void set_up(void)
{
    process_program("bigtentd", program);
    server_create(&server);
    (void)snprintf(key_file, sizeof key_file, "%s/master.key", server.root);
    (void)snprintf(backups, sizeof backups, "%s/backups", server.data);
    (void)snprintf(copy, sizeof copy, "%s/salvaged", server.root);
    ck_assert_int_eq(base_file_replace(key_file, SLICE_LIT(MASTER), 0600, NULL), ERR_OK);
    server.options[0] = "--master-key-file";
    server.options[1] = key_file;
    server_start(&server, NULL);
    world_init_on(&plain, &server, HTTP_2, "acme-plain");
    sealed_make();
    rows_put(&plain, 1);
    rows_put(&sealed, 1);
    backup_make();
    rows_put(&plain, 2);
    rows_put(&sealed, 2);
}

static void tear_down(void)
{
    world_fini(&plain);
    world_fini(&sealed);
    if (salvaged.pid != 0)
        server_kill(&salvaged);
    server_remove(&server);
}

/* --- running it ------------------------------------------------------------------------------- */

static void salvage(const char *to, bool with_backups)
{
    const char *argv[] = {program, "salvage",   "--data", server.data, "--to",
                          to,      "--backups", backups,  NULL};
    if (!with_backups)
        argv[6] = NULL;
    process_run(argv, NULL, 60000, &result);
}

static void says(const char *text)
{
    ck_assert_msg(strstr(result.output, text) != NULL, "\"%s\" lacks \"%s\"", result.output, text);
}

static void check_copy(void)
{
    const char *argv[] = {program, "check", "--data", copy, NULL};
    process_run(argv, NULL, 60000, &result);
    ck_assert_msg(result.exit_code == 0, "exit %d: %s", result.exit_code, result.output);
    says("2 tenants, 0 with wrong counters, 0 not counted");
}

static void reconnect(void)
{
    struct world *both[] = {&sealed, &plain};
    for (size_t i = 0; i < 2; i++) {
        http_close(both[i]->op);
        http_close(both[i]->http);
        both[i]->op = http_open(&salvaged, HTTP_2, salvaged.operator_key);
        both[i]->http = http_open(&salvaged, HTTP_2, both[i]->key);
    }
}

static void serve_copy(void)
{
    salvaged = server;
    salvaged.pid = 0;
    (void)snprintf(salvaged.data, sizeof salvaged.data, "%.519s", copy);
    server_start(&salvaged, NULL);
    reconnect();
}

/* How many rows are of each version; 0: corrupt. */
static void versions_count(struct world *w, int of[3])
{
    memset(of, 0, 3 * sizeof of[0]);
    for (int i = 0; i < ROWS; i++)
        of[row_version(w, i)]++;
}

static uint64_t file_sum(const char *path)
{
    struct buf b = {0};
    uint64_t sum = 14695981039346656037u;
    if (base_file_read(path, 256 * MIB, &b, NULL) != ERR_OK)
        return 0;
    for (size_t i = 0; i < b.len; i++)
        sum = (sum ^ b.ptr[i]) * 1099511628211u;
    base_buf_fini(&b);
    return sum;
}

/* Names and bytes of everything under dir. */
static uint64_t dir_sum(const char *dir, int depth)
{
    uint64_t sum = 1;
    DIR *d = opendir(dir);
    ck_assert_ptr_nonnull(d);
    for (const struct dirent *e; (e = readdir(d)) != NULL;) {
        char path[1100];
        struct stat st;
        uint64_t name = 7;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        (void)snprintf(path, sizeof path, "%.800s/%s", dir, e->d_name);
        ck_assert_int_eq(lstat(path, &st), 0);
        for (const char *c = e->d_name; *c != '\0'; c++)
            name = name * 31 + (uint8_t)*c;
        if (S_ISREG(st.st_mode))
            sum += name * file_sum(path);
        else if (S_ISDIR(st.st_mode) && depth < 4)
            sum += name * dir_sum(path, depth + 1);
    }
    (void)closedir(d);
    return sum;
}

/* --- tests ------------------------------------------------------------------------------------ */

/* Of both tenants, a plain and an encrypted one, with no master key at hand. */
START_TEST(lost_rows_come_from_the_backup_and_the_copy_is_served)
{
    int of[3];
    salvage(copy, true);
    ck_assert_int_eq(result.exit_code, 1);
    says("is in use by another process");
    server_stop(&server);
    damage(HIT);
    uint64_t before = dir_sum(server.data, 0);
    salvage(copy, true);
    ck_assert_msg(result.exit_code == 0, "%s", result.output);
    says("acme-plain devices: rows from \"row0");
    says("acme-sealed devices: rows from \"row0");
    says("rows restored from backup ");
    says(backup_id);
    says("2 ranges damaged, 2 of them restored, 0 missing");
    ck_assert_uint_eq(dir_sum(server.data, 0), before);
    char report[PATH_BYTES + 16];
    struct stat st;
    (void)snprintf(report, sizeof report, "%s-salvage.json", copy); /* not in it: it has keys */
    says(report);
    ck_assert_int_eq(stat(report, &st), 0);
    ck_assert_uint_eq(st.st_mode & 0777, 0600);
    check_copy();
    ck_assert_ptr_null(strstr(result.output, "lost"));
    serve_copy();
    struct world *both[] = {&plain, &sealed};
    for (size_t i = 0; i < 2; i++) {
        versions_count(both[i], of);
        ck_assert_int_eq(of[0], 0);
        ck_assert_int_gt(of[1], 0);
        ck_assert_int_gt(of[2], ROWS / 2);
        (void)admin_recount(both[i]->op, both[i]->tenant);
    }
    ck_assert_int_eq(row_version(&plain, HIT), 1);
    rows_put(&plain, 2);
    rows_put(&sealed, 2);
    server_stop(&salvaged);
}
END_TEST

START_TEST(without_a_backup_lost_rows_stay_an_error)
{
    int of[3];
    char table[PATH_BYTES];
    server_stop(&server);
    damage(HIT);
    salvage(copy, false);
    ck_assert_msg(result.exit_code == 0, "%s", result.output);
    says("2 ranges damaged, 0 of them restored, 2 missing");
    check_copy();
    says("2 ranges of rows or changes were lost with damaged blocks");
    serve_copy();
    versions_count(&plain, of);
    ck_assert_int_gt(of[0], 0);
    ck_assert_int_eq(of[1], 0);
    ck_assert_int_gt(of[2], ROWS / 2);
    versions_count(&sealed, of);
    ck_assert_int_gt(of[0], 0);
    ck_assert_int_eq(of[0] + of[2], ROWS);
    http_delete(plain.http, "/v1/tables/devices"); /* how lost ranges end */
    (void)snprintf(table, sizeof table, "%d", plain.http->status);
    ck_assert_msg(plain.http->status == 200 || plain.http->status == 204, "%s", table);
    (void)admin_recount(plain.op, plain.tenant);
    server_stop(&salvaged);
}
END_TEST

static bool has_format(const char *dir)
{
    char path[PATH_BYTES + 16];
    (void)snprintf(path, sizeof path, "%.580s/FORMAT", dir);
    return access(path, F_OK) == 0;
}

static void salvage_under(const struct disk *d, const char *to)
{
    const char *argv[] = {program, "salvage",   "--data", server.data, "--to",
                          to,      "--backups", backups,  NULL};
    process_run(argv, d->env, 60000, &result);
}

/* At each of so many moments: the damaged directory is as it was, and nobody serves the new one. */
START_TEST(killed_in_the_middle_it_harms_nothing)
{
    struct disk disk;
    char to[PATH_BYTES + 16];
    server_stop(&server);
    damage(HIT);
    uint64_t before = dir_sum(server.data, 0);
    disk_init(&disk, &server, server.root);
    (void)snprintf(to, sizeof to, "%s-whole", copy);
    disk_kill(&disk, DISK_CHANGE | DISK_SYNC, "salvaged", UINT32_MAX);
    salvage_under(&disk, to);
    ck_assert_msg(result.exit_code == 0, "%s", result.output);
    uint64_t calls = disk_seen(&disk);
    ck_assert_uint_gt(calls, 10 * KILLS);
    for (uint64_t i = 0; i < KILLS; i++) {
        (void)snprintf(to, sizeof to, "%s-%d", copy, (int)i);
        disk_kill(&disk, DISK_CHANGE | DISK_SYNC, "salvaged", calls * 9 / 10 * i / KILLS);
        salvage_under(&disk, to);
        ck_assert_int_eq(result.exit_code, 128 + SIGKILL);
        ck_assert_uint_eq(dir_sum(server.data, 0), before);
        ck_assert(!has_format(to));
        const char *serve[] = {program, "serve", "--data", to, NULL};
        process_run(serve, NULL, 60000, &result);
        ck_assert_int_eq(result.exit_code, 1);
        if (i > 0)
            salvage(to, true);
        ck_assert_int_eq(result.exit_code, 1); /* nor does another run take it */
    }
    disk_fini(&disk);
    salvage(copy, true);
    ck_assert_msg(result.exit_code == 0, "%s", result.output);
    says("2 ranges damaged, 2 of them restored, 0 missing");
    check_copy();
    salvage(copy, true);
    ck_assert_int_eq(result.exit_code, 1);
    says("-salvage.json is there already");
}
END_TEST

/* What the disk does not return is damage of those bytes, and of no others. */
START_TEST(sectors_that_cannot_be_read_are_lost_rows)
{
    struct disk disk;
    struct buf b;
    char path[FILE_BYTES];
    int of[3];
    server_stop(&server);
    (void)file_find(HIT, path, &b);
    base_buf_fini(&b);
    disk_init(&disk, &server, server.data);
    disk_fail_once(&disk, DISK_READ, EIO, strrchr(path, '/'), 0);
    atomic_store(&disk.fault->times, 1 + SECTORS); /* the large read, and the first sectors */
    salvage_under(&disk, copy);
    ck_assert_msg(result.exit_code == 0, "%s", result.output);
    ck_assert_uint_eq(disk_failed(&disk), 1 + SECTORS);
    disk_fini(&disk);
    says("acme-plain devices: rows from ");
    ck_assert_ptr_null(strstr(result.output, "acme-sealed devices"));
    says(", 0 missing");
    check_copy();
    serve_copy();
    versions_count(&plain, of);
    ck_assert_int_eq(of[0], 0);
    ck_assert_int_gt(of[1], 0);
    ck_assert_int_gt(of[2], ROWS / 2);
    versions_count(&sealed, of);
    ck_assert_int_eq(of[2], ROWS);
    server_stop(&salvaged);
}
END_TEST

START_TEST(wrong_command_lines_are_refused)
{
    const char *no_to[] = {program, "salvage", "--data", "x", NULL};
    const char *more[] = {program, "salvage", "--data", "x", "--to", "y", "z", NULL};
    const char *unknown[] = {program, "salvage", "--what", NULL};
    process_run(no_to, NULL, 20000, &result);
    ck_assert_int_eq(result.exit_code, 2);
    says("salvage needs --data DIR and --to NEWDIR");
    process_run(more, NULL, 20000, &result);
    ck_assert_int_eq(result.exit_code, 2);
    says("salvage does not know \"z\"");
    process_run(unknown, NULL, 20000, &result);
    ck_assert_int_eq(result.exit_code, 2);
    says("salvage does not know \"--what\"");
}
END_TEST

static void set_up_program(void)
{
    process_program("bigtentd", program);
}

Suite *suite_api_salvage(void);

Suite *suite_api_salvage(void)
{
    Suite *s = suite_create("api_salvage");
    TCase *tc = tcase_create("salvage");
    tcase_set_timeout(tc, 300);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, lost_rows_come_from_the_backup_and_the_copy_is_served);
    tcase_add_test(tc, without_a_backup_lost_rows_stay_an_error);
    tcase_add_test(tc, killed_in_the_middle_it_harms_nothing);
    tcase_add_test(tc, sectors_that_cannot_be_read_are_lost_rows);
    suite_add_tcase(s, tc);
    tc = tcase_create("arguments");
    tcase_add_checked_fixture(tc, set_up_program, NULL);
    tcase_add_test(tc, wrong_command_lines_are_refused);
    suite_add_tcase(s, tc);
    return s;
}
