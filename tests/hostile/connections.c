/*
 * tests/hostile/connections.c - attacks by connections, without any key.
 */
#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "tests/hostile/hostile.h"
#include "tests/support/raw_tls.h"

#include "base/banned.h"

#define BODIES          40 /* of a thread */
#define BODY_BYTES      (16 * MIB)
#define BODY_SENT       (BODY_BYTES - 1024)
#define DESCRIPTORS_OWN 500 /* that this program needs itself */
#define IDLE_MAX        20400

static void bodies_attack(struct attack *a, unsigned thread)
{
    struct raw_tls *all = base_new_array(BODIES, sizeof *all);
    uint8_t *filler = base_new(64 * KIB);
    struct timeval wait = {2, 0};
    char head[256];
    (void)thread;
    int len = snprintf(head, sizeof head,
                       "POST /v1/tables/t:write HTTP/1.1\r\nHost: x\r\n"
                       "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n{\"",
                       (int)BODY_BYTES);
    memset(filler, 'x', 64 * KIB);
    size_t count = 0;
    for (; count < BODIES && !attack_is_over(a); count++) {
        struct raw_tls *r = &all[count];
        raw_open(r, a->server, "http/1.1");
        (void)setsockopt(r->fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
        bool sent = raw_send(r, base_slice(head, (size_t)len));
        for (size_t n = 0; sent && n < BODY_SENT && !attack_is_over(a); n += 64 * KIB)
            sent = raw_send(r, base_slice(filler, 64 * KIB));
    }
    while (!attack_is_over(a))
        attack_sleep_ms(a, 100);
    for (size_t i = 0; i < count; i++) {
        int status = all[i].closed ? 0 : raw_response(&all[i], 1);
        (void)atomic_fetch_add(&a->codes[status], 1);
        raw_close(&all[i]);
    }
    base_free(all);
    base_free(filler);
}

/* As many as this process may have. The server has the same hard limit, and raises its soft one to
 * it: with less than that here, its descriptors would never be used up. */
static void idle_setup(struct attack *a)
{
    struct rlimit files;
    (void)a;
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &files), 0);
    files.rlim_cur = files.rlim_max;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &files), 0);
}

/* One thread does it at a time: two would take the descriptors of this process. */
static void idle_attack(struct attack *a, unsigned thread)
{
    static atomic_flag is_taken = ATOMIC_FLAG_INIT;
    struct rlimit files;
    (void)thread;
    if (atomic_flag_test_and_set(&is_taken)) {
        attack_sleep_ms(a, 100);
        return;
    }
    (void)getrlimit(RLIMIT_NOFILE, &files);
    size_t max = files.rlim_cur > DESCRIPTORS_OWN ? files.rlim_cur - DESCRIPTORS_OWN : 1;
    max = max < IDLE_MAX ? max : IDLE_MAX;
    int *all = base_new_array(max, sizeof *all);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(a->server->port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    size_t count = 0;
    for (; count < max && !attack_is_over(a); count++) {
        all[count] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (all[count] < 0)
            break;
        (void)connect(all[count], (const struct sockaddr *)&to, sizeof to); /* not waited for */
    }
    while (!attack_is_over(a))
        attack_sleep_ms(a, 100);
    for (size_t i = 0; i < count; i++)
        (void)close(all[i]);
    atomic_store(&a->note, count);
    base_free(all);
    atomic_flag_clear(&is_taken);
}

static bool idle_verify(struct attack *a, char finding[HOSTILE_FINDING])
{
    http_get(a->op, "/readyz");
    (void)snprintf(finding, HOSTILE_FINDING, "/readyz answers %d after %llu idle connections",
                   a->op->status, (unsigned long long)atomic_load(&a->note));
    return a->op->status == 200;
}

const struct hostile_case hostile_connections[] = {
    {.name = "bodies-without-key",
     .proved = "66 connections with bodies without a key pinned 1 GiB: 503 for all of HTTP/1.1",
     .threads = 2,
     .attack = bodies_attack},
    {.name = "idle-connections",
     .proved = "idle TCP connections took the descriptors: the witness could not be opened, exit 3",
     .threads = 1,
     .setup = idle_setup,
     .attack = idle_attack,
     .verify = idle_verify},
    {.name = NULL},
};
