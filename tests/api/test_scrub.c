/*
 * tests/api/test_scrub.c - a server reads its table files again, says so, and names nobody.
 */
#define _GNU_SOURCE
#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/scrape.h"
#include "tests/support/world.h"

#include "base/banned.h"

Suite *suite_api_scrub(void);

#define VALUE          "precious-93d17c0a"
#define HOUR_S         3600
#define PATH_MAX_BYTES 600

static struct server server;
static struct world w;

static void set_up(void)
{
    server_create(&server);
    server_start(&server, NULL);
    world_init_on(&w, &server, HTTP_2, "altostrat");
    tenant_put(w.http, "devices", "patient-7741c", "stats", "q", VALUE);
    server_stop(&server);
}

static void tear_down(void)
{
    world_fini(&w);
    server_stop(&server);
    server_remove(&server);
}

/* New files wait: most are replaced soon. flip: a byte in the middle of the value, where it is. */
static void age_tables(bool flip)
{
    char db[PATH_MAX_BYTES];
    int flipped = 0;
    (void)snprintf(db, sizeof db, "%s/db", server.data);
    DIR *dir = opendir(db);
    ck_assert_ptr_nonnull(dir);
    for (const struct dirent *d; (d = readdir(dir)) != NULL;) {
        static char bytes[1024 * 1024];
        char path[2 * PATH_MAX_BYTES];
        struct timespec times[2] = {{.tv_sec = time(NULL) - HOUR_S},
                                    {.tv_sec = time(NULL) - HOUR_S}};
        if (strstr(d->d_name, ".sst") == NULL)
            continue;
        (void)snprintf(path, sizeof path, "%s/%s", db, d->d_name);
        int fd = open(path, O_RDWR);
        ck_assert_int_ge(fd, 0);
        ssize_t n = pread(fd, bytes, sizeof bytes, 0);
        const char *at = n > 0 ? memmem(bytes, (size_t)n, VALUE, strlen(VALUE)) : NULL;
        if (flip && at != NULL) {
            ck_assert_int_eq(pwrite(fd, "#", 1, at - bytes + 8), 1);
            flipped++;
        }
        ck_assert_int_eq(futimens(fd, times), 0);
        ck_assert_int_eq(close(fd), 0);
    }
    (void)closedir(dir);
    ck_assert_int_eq(flipped > 0, flip);
}

static void start_again(void)
{
    server_start(&server, NULL);
    http_reconnect(w.op);
    http_reconnect(w.http);
}

static bool is_counted(void *arg)
{
    return scrape_number(w.op, *(const char **)arg) > 0;
}

static bool is_nothing_old(void *arg)
{
    (void)arg;
    return scrape_number(w.op, "bigtent_scrub_oldest_seconds") < HOUR_S;
}

static void wait_for(const char *metric)
{
    process_await(is_counted, &metric, metric);
}

START_TEST(old_files_are_read_by_themselves)
{
    age_tables(false);
    start_again();
    wait_for("bigtent_scrub_files_total");
    ck_assert_uint_eq(scrape_number(w.op, "bigtent_scrub_bytes_per_second"), 4 * 1024 * 1024);
    ck_assert_uint_gt(scrape_number(w.op, "bigtent_scrub_bytes_total"), 1000);
    ck_assert_uint_eq(scrape_number(w.op, "bigtent_scrub_findings_total{kind=\"block\"}"), 0);
    ck_assert_uint_eq(scrape_number(w.op, "bigtent_scrub_findings_total{kind=\"list\"}"), 0);
    ck_assert_uint_eq(scrape_number(w.op, "bigtent_scrub_findings_total{kind=\"unreadable\"}"), 0);
    ck_assert_uint_eq(scrape_number(w.op, "bigtent_reclaim_stuck"), 0);
    process_await(is_nothing_old, NULL, "all old files to be read");
}
END_TEST

static void others_are_served(void)
{
    struct world other;
    http_get(w.op, "/readyz");
    EXPECT_STATUS(w.op, 200);
    world_init_on(&other, &server, HTTP_2, "bassist");
    tenant_put(other.http, "devices", "a-row", "stats", "q", "sound");
    http_get(other.http, "/v1/tables/devices/rows/a-row");
    EXPECT_STATUS(other.http, 200);
    world_fini(&other);
}

/* The operator is told, before the tenant is; and neither by the tenant's name. */
START_TEST(damage_is_found_before_a_request_meets_it)
{
    age_tables(true);
    start_again();
    wait_for("bigtent_scrub_findings_total{kind=\"block\"}");
    wait_for("bigtent_lost_ranges");
    scrape(w.op);
    for (const char *at = scrape_page(); (at = strstr(at, "bigtent_scrub_")) != NULL;) {
        char line[300];
        (void)snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
        ck_assert_msg(strstr(line, "altostrat") == NULL && strstr(line, "patient") == NULL, "%s",
                      line);
        at += strlen(line);
    }
    http_get(w.http, "/v1/tables/devices/rows/patient-7741c");
    EXPECT_STATUS(w.http, 500);
    ck_assert_str_eq(http_string(w.http, "/code"), "corrupt");
    ck_assert_uint_gt(scrape_number(w.op, "bigtent_corrupt_reads_total"), 0);
    others_are_served();
}
END_TEST

START_TEST(off_reads_nothing)
{
    server.options[0] = "--scrub-mb";
    server.options[1] = "0";
    age_tables(false);
    start_again();
    process_sleep_ms(1000);
    ck_assert_uint_eq(scrape_number(w.op, "bigtent_scrub_bytes_per_second"), 0);
    ck_assert_uint_eq(scrape_number(w.op, "bigtent_scrub_files_total"), 0);
}
END_TEST

Suite *suite_api_scrub(void)
{
    Suite *s = suite_create("api_scrub");
    TCase *t = tcase_create("served");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, old_files_are_read_by_themselves);
    tcase_add_test(t, damage_is_found_before_a_request_meets_it);
    tcase_add_test(t, off_reads_nothing);
    suite_add_tcase(s, t);
    return s;
}
