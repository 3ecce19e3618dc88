/*
 * tests/api/test_descriptors.c - connections that nobody uses do not take the descriptors that the
 * database needs.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "storage/rocksdb/witness.h"
#include "tests/support/world.h"

#include "base/banned.h"

enum { LIMIT = 512, IDLE = 700, WRITES = 20, NEWCOMERS = 40 };

static struct server server;
static struct world world;

static void set_up(void)
{
    server_create(&server);
}

static void tear_down(void)
{
    server_remove(&server);
}

static void limit_set(rlim_t descriptors)
{
    struct rlimit limit = {descriptors, descriptors};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* Connections without a byte, held until it is killed. Says on out when they are there. */
static _Noreturn void idle_run(int in, int out)
{
    uint16_t port = 0;
    if (read(in, &port, sizeof port) != (ssize_t)sizeof port)
        _exit(1);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (int i = 0; i < IDLE; i++) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        if (fd < 0 || connect(fd, (const struct sockaddr *)&to, sizeof to) != 0)
            _exit(2);
    }
    if (write(out, "", 1) != 1)
        _exit(3);
    for (;;)
        (void)pause();
}

static uint64_t witnessed(void)
{
    struct rdb_witness w;
    ck_assert_int_eq(sto_rdb_witness_read(server.data, &w, NULL), ERR_OK);
    return w.sequence;
}

static bool is_witnessed(void *before)
{
    return witnessed() > *(const uint64_t *)before;
}

START_TEST(idle_connections_leave_the_database_its_descriptors)
{
    int to_idle[2], from_idle[2];
    char byte;
    ck_assert_int_eq(pipe(to_idle), 0);
    ck_assert_int_eq(pipe(from_idle), 0);
    pid_t idle = fork(); /* it keeps the limit of before */
    if (idle == 0)
        idle_run(to_idle[0], from_idle[1]);
    limit_set(LIMIT);
    server_start(&server, NULL);
    world_init_on(&world, &server, HTTP_2, "victim"); /* connected before the flood */
    ck_assert_int_eq(write(to_idle[1], &server.port, sizeof server.port),
                     (ssize_t)sizeof server.port);
    ck_assert_int_eq(read(from_idle[0], &byte, 1), 1);
    for (int i = 0; i < WRITES; i++) { /* over several rewritings of the witness */
        uint64_t before = witnessed();
        tenant_put(world.http, "devices", "row", "stats", "os", "17");
        process_await(is_witnessed, &before, "the next witness");
    }
    struct http *newcomers[NEWCOMERS];
    for (int i = 0; i < NEWCOMERS; i++) { /* each takes the place of an idle one, and stays */
        newcomers[i] = http_open(&server, HTTP_1, NULL);
        http_get(newcomers[i], "/healthz");
        EXPECT_STATUS(newcomers[i], 200);
    }
    for (int i = 0; i < NEWCOMERS; i++)
        http_close(newcomers[i]);
    ck_assert(!server_log_says(&server, "failed"));
    ck_assert_int_eq(kill(idle, SIGKILL), 0);
    ck_assert_int_eq(waitpid(idle, NULL, 0), idle);
    world_fini(&world);
    server_stop(&server);
}
END_TEST

START_TEST(a_limit_that_is_too_low_is_refused)
{
    limit_set(200);
    server_launch(&server, NULL);
    ck_assert_int_eq(server_wait_end(&server, 60000), 1);
    ck_assert(server_log_says(&server, "may open 200 files (ulimit -n); it needs 256 at least"));
}
END_TEST

Suite *suite_api_descriptors(void);
Suite *suite_api_descriptors(void)
{
    Suite *s = suite_create("api_descriptors");
    TCase *t = tcase_create("descriptors");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, idle_connections_leave_the_database_its_descriptors);
    tcase_add_test(t, a_limit_that_is_too_low_is_refused);
    suite_add_tcase(s, t);
    return s;
}
