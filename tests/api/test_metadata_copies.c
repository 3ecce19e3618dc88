/*
 * tests/api/test_metadata_copies.c - a server whose metadata was damaged while it was down.
 */
#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/world.h"

#include "base/banned.h"

Suite *suite_api_metadata_copies(void);

#define COPY ".sst.copy"

static struct server server;
static char copied[PROCESS_PATH + 300]; /* a table file of the metadata */

static void set_up(void)
{
    server_create(&server);
}

static void tear_down(void)
{
    server_remove(&server);
}

static bool find_copy(void *arg)
{
    char db[PROCESS_PATH + 32];
    (void)arg;
    copied[0] = '\0';
    (void)snprintf(db, sizeof(db), "%s/db", server.data);
    DIR *dir = opendir(db);
    ck_assert_ptr_nonnull(dir);
    for (const struct dirent *d; (d = readdir(dir)) != NULL;) {
        size_t len = strlen(d->d_name);
        if (len > strlen(COPY) && strcmp(d->d_name + len - strlen(COPY), COPY) == 0)
            (void)snprintf(copied, sizeof(copied), "%s/%.*s", db, (int)(len - strlen(".copy")),
                           d->d_name);
    }
    (void)closedir(dir);
    return copied[0] != '\0' && access(copied, F_OK) == 0;
}

START_TEST(a_start_uses_the_copy_and_says_so)
{
    struct world w;
    server_start(&server, NULL);
    world_init_on(&w, &server, HTTP_2, "twice");
    tenant_put(w.http, "devices", "k", "stats", "q", "v");
    server_stop(&server); /* what is in memory goes into files */
    server_start(&server, NULL);
    ck_assert(!server_log_says(&server, "metadata_file_mended"));
    process_await(find_copy, NULL, "a copy of the metadata");
    server_kill(&server);
    int fd = open(copied, O_WRONLY | O_CLOEXEC);
    ck_assert_int_eq(pwrite(fd, "damage", 6, 20), 6);
    (void)close(fd);
    server_start(&server, NULL);
    ck_assert(server_log_says(&server, "metadata_file_mended file="));
    http_reconnect(w.http);
    http_get(w.http, "/v1/tables/devices/cells/k/stats/q");
    EXPECT_STATUS(w.http, 200);
    world_fini(&w);
}
END_TEST

Suite *suite_api_metadata_copies(void)
{
    Suite *s = suite_create("api_metadata_copies");
    TCase *tc = tcase_create("metadata_copies");
    tcase_set_timeout(tc, 90);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, a_start_uses_the_copy_and_says_so);
    suite_add_tcase(s, tc);
    return s;
}
