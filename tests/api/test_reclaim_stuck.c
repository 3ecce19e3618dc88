/*
 * tests/api/test_reclaim_stuck.c - a server says that a damaged table file keeps bytes of a drop,
 * names nobody, and takes it back when the file can be rewritten.
 *
 * The server has the file open, so a footer that is damaged under it is no error of reads. But a
 * damaged file is read as a whole before a block of it is left out, and with such a footer none
 * is: its compactions fail (storage/rocksdb/damage.c, 3).
 */
#define _GNU_SOURCE
#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "tests/storage/files_hold.h"
#include "tests/support/random.h"
#include "tests/support/scrape.h"
#include "tests/support/world.h"

#include "base/banned.h"

Suite *suite_api_reclaim_stuck(void);

enum { ROWS = 8, VALUE = 3000, DAMAGED = 0, DROPPED = ROWS - 1 };

static struct server server;
static struct world w;
static char values[ROWS][VALUE + 1];

/* The file of the rows. */
static char table_path[2 * PROCESS_PATH];
static off_t in_block; /* of a byte in the block of the damaged row */
static off_t in_footer;

/* Text that does not compress, so that it stands in the file as it is. */
static void values_make(void)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    struct random dice = {7};
    for (int row = 0; row < ROWS; row++)
        for (int i = 0; i < VALUE; i++)
            values[row][i] = alphabet[random_next(&dice) % 64];
}

static off_t find_in(const char *path, const char *text)
{
    struct buf b;
    ck_assert_int_eq(base_file_read(path, 64 * MIB, &b, NULL), ERR_OK);
    const uint8_t *at = b.len > 0 ? memmem(b.ptr, b.len, text, strlen(text)) : NULL;
    off_t offset = at == NULL ? -1 : (off_t)(at - b.ptr);
    base_buf_fini(&b);
    return offset;
}

static void table_find(void)
{
    char db[PROCESS_PATH + 16];
    struct stat st;
    (void)snprintf(db, sizeof db, "%s/db", server.data);
    DIR *dir = opendir(db);
    ck_assert_ptr_nonnull(dir);
    in_block = -1;
    for (const struct dirent *d; in_block < 0 && (d = readdir(dir)) != NULL;) {
        if (strstr(d->d_name, ".sst") == NULL)
            continue;
        (void)snprintf(table_path, sizeof table_path, "%s/%s", db, d->d_name);
        in_block = find_in(table_path, values[DAMAGED]);
    }
    (void)closedir(dir);
    ck_assert_int_ge(in_block, 0);
    ck_assert_int_gt(find_in(table_path, values[DROPPED]) - in_block, 8192); /* in another block */
    ck_assert_int_eq(stat(table_path, &st), 0);
    in_block += VALUE / 2;
    in_footer = st.st_size - 1;
}

static void byte_flip(int fd, off_t at)
{
    uint8_t byte;
    ck_assert_int_eq(pread(fd, &byte, 1, at), 1);
    byte ^= 0x10;
    ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
}

/* Damages the file, or repairs it. */
static void table_flip(void)
{
    int fd = open(table_path, O_RDWR | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    byte_flip(fd, in_block);
    byte_flip(fd, in_footer);
    ck_assert_int_eq(close(fd), 0);
}

static void row_key(char out[16], int row)
{
    (void)snprintf(out, 16, "patient-%d", row);
}

static void set_up(void)
{
    server_create(&server);
    server.options[0] = "--reclaim-after";
    server.options[1] = "1s";
    server.options[2] = "--scrub-mb";
    server.options[3] = "0";
    server_start(&server, NULL);
    world_init_on(&w, &server, HTTP_2, "altostrat");
    values_make();
    for (int row = 0; row < ROWS; row++) {
        char key[16];
        row_key(key, row);
        tenant_put(w.http, "devices", key, "raw", "v", values[row]);
    }
    server_stop(&server); /* the rows are in a table file */
    server_start(&server, NULL);
    http_reconnect(w.op);
    http_reconnect(w.http);
    table_find();
}

static void tear_down(void)
{
    world_fini(&w);
    server_stop(&server);
    server_remove(&server);
}

/* The only such line of the log; "" while there is none. */
static const char *stuck_line(void)
{
    static char line[1024];
    struct buf b;
    ck_assert_int_eq(base_file_read(server.log, 64 * MIB, &b, NULL), ERR_OK);
    ck_assert_int_eq(base_buf_append_byte(&b, '\0'), ERR_OK);
    const char *at = strstr((const char *)b.ptr, " reclaim_stuck ");
    line[0] = '\0';
    if (at != NULL) {
        (void)snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
        ck_assert_ptr_null(strstr(at + 1, " reclaim_stuck "));
    }
    base_buf_fini(&b);
    return line;
}

static bool is_logged(void *arg)
{
    (void)arg;
    return stuck_line()[0] != '\0';
}

static void row_expect(int row, int status)
{
    char key[16];
    row_key(key, row);
    http_get(w.http, "/v1/tables/devices/rows/%s", key);
    EXPECT_STATUS(w.http, status);
}

static bool is_gone(void *text)
{
    return !files_hold(server.data, text);
}

static bool is_over(void *metric)
{
    return scrape_number(w.op, metric) == 0;
}

START_TEST(bytes_that_stay_for_a_damaged_file_are_told_until_they_go)
{
    static char stuck[] = "bigtent_reclaim_stuck";
    static char waiting[] = "bigtent_drops_waiting";
    char wanted[200];
    table_flip();
    ck_assert_uint_eq(scrape_number(w.op, stuck), 0);
    http_json(w.http, "POST", "{'prefix':'patient-7'}", "/v1/tables/devices:drop");
    EXPECT_STATUS(w.http, 200);
    scrape_expect(w.op, stuck, 1);
    process_await(is_logged, NULL, "the line in the log");
    (void)snprintf(wanted, sizeof wanted,
                   " reclaim_stuck reason=\"table file %s is damaged and cannot be rewritten\"",
                   strrchr(table_path, '/') + 1);
    ck_assert_str_eq(stuck_line(), wanted);
    ck_assert(files_hold(server.data, values[DROPPED]));
    http_get(w.op, "/readyz");
    EXPECT_STATUS(w.op, 200);
    row_expect(DROPPED, 404);
    row_expect(DROPPED - 1, 200);

    table_flip();
    process_await(is_over, stuck, "the file to be rewritten");
    process_await(is_gone, values[DROPPED], "files without what was dropped");
    process_await(is_over, waiting, "the drop to be over");
    for (int row = 0; row < DROPPED; row++)
        row_expect(row, 200);
    ck_assert_str_eq(stuck_line(), wanted); /* once */
}
END_TEST

/* A series that is a number of this file's damaged block. */
static bool block_is_told(void *arg)
{
    char series[160];
    (void)arg;
    (void)snprintf(series, sizeof series,
                   "bigtent_damaged_block_bytes{file=\"%.6s\",family=\"cells\",",
                   strrchr(table_path, '/') + 1);
    scrape(w.op);
    const char *at = strstr(scrape_page(), series);
    return at != NULL && scrape_seen("bigtent_damaged_blocks") == 1;
}

START_TEST(a_purge_goes_round_a_damaged_file)
{
    struct world beside;
    table_flip();
    row_expect(DAMAGED, 500);
    process_await(block_is_told, NULL, "the damaged block in the metrics");
    world_init_on(&beside, &server, HTTP_2, "cymbal");
    tenant_put(beside.http, "devices", "patient-1", "raw", "v", "of cymbal");
    admin_offboard(w.op, beside.tenant);
    ck_assert_str_eq(http_string(w.op, "/state"), "done");
    ck_assert(!files_hold(server.data, "of cymbal"));
    world_fini(&beside);
}
END_TEST

static bool is_told(void *job)
{
    char wanted[200];
    (void)snprintf(wanted, sizeof wanted, "table file %s is damaged and cannot be rewritten",
                   strrchr(table_path, '/') + 1);
    http_get(w.op, "/v1/admin/jobs/%s", (const char *)job);
    EXPECT_STATUS(w.op, 200);
    ck_assert_str_ne(http_string(w.op, "/state"), "done");
    return strstr((const char *)http_text(w.op), wanted) != NULL;
}

static bool is_done(void *job)
{
    http_get(w.op, "/v1/admin/jobs/%s", (const char *)job);
    EXPECT_STATUS(w.op, 200);
    return strcmp(http_string(w.op, "/state"), "done") == 0;
}

START_TEST(a_purge_of_a_damaged_file_says_so_and_ends_when_it_can)
{
    char job[WORLD_ID];
    table_flip();
    http_json(w.op, "POST", "{'confirm':'altostrat'}", "/v1/admin/tenants/altostrat:offboard");
    EXPECT_STATUS(w.op, 202);
    (void)snprintf(job, sizeof job, "%s", http_string(w.op, "/job"));
    process_await(is_told, job, "the damaged file in the job");
    ck_assert(files_hold(server.data, values[DAMAGED + 1]));
    table_flip();
    process_await(is_done, job, "the purge, which is tried again");
    for (int row = 0; row < ROWS; row++)
        ck_assert(!files_hold(server.data, values[row]));
}
END_TEST

Suite *suite_api_reclaim_stuck(void)
{
    Suite *s = suite_create("api_reclaim_stuck");
    TCase *t = tcase_create("served");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_set_timeout(t, 300);
    tcase_add_test(t, a_purge_goes_round_a_damaged_file);
    tcase_add_test(t, a_purge_of_a_damaged_file_says_so_and_ends_when_it_can);
    tcase_add_test(t, bytes_that_stay_for_a_damaged_file_are_told_until_they_go);
    suite_add_tcase(s, t);
    return s;
}
