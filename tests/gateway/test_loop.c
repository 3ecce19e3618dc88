/*
 * Loops as a whole: start, spread connections, reload, run out of descriptors, drain.
 */
#include <check.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/support/edge_h2.h"
#include "tests/support/process.h"

#include "base/banned.h"

#define H      "Host: x\r\n"
#define STATIC "GET /static HTTP/1.1\r\n" H "\r\n"

static struct edge edge;

#define TEST_S 120

/* A stop that waits for the end of the drain takes longer than a test may. */
static void set_up(void)
{
    const struct gw_timeouts timeouts = {.drain_ms = 2000u * TEST_S * (uint32_t)process_patience()};
    edge_start_with(&edge, 2, &timeouts);
}

static void tear_down(void)
{
    edge_stop(&edge);
}

/* --- starting ----------------------------------------------------------------------------------
 */

static enum err start_another(const char *host, uint16_t port, struct errbuf *eb)
{
    struct gw_loop_options options = edge.options;
    struct gw_loops *loops = NULL;
    options.endpoints[GW_ENDPOINT_TLS].host = host;
    options.endpoints[GW_ENDPOINT_TLS].port = port;
    enum err e = gw_loops_start(&options, &loops, eb);
    ck_assert((loops != NULL) == (e == ERR_OK));
    gw_loops_stop(loops);
    return e;
}

/* A machine, or a container, may have no loopback of IPv6. */
static bool has_ipv6(void)
{
    const struct sockaddr_in6 at = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool bound = fd >= 0 && bind(fd, (const struct sockaddr *)&at, sizeof at) == 0;
    if (fd >= 0)
        (void)close(fd); /* never used */
    return bound;
}

START_TEST(port_in_use_is_an_error)
{
    struct errbuf eb = {0};
    char port[16];
    (void)snprintf(port, sizeof port, "port %u", edge.port); /* fits */
    ck_assert_int_eq(start_another("127.0.0.1", edge.port, &eb), ERR_IO);
    ck_assert_msg(strstr(eb.text, port) != NULL && strstr(eb.text, "in use") != NULL, "%s",
                  eb.text);
    ck_assert_int_eq(start_another("localhost", 0, &eb), ERR_INVALID);
    ck_assert_msg(strstr(eb.text, "localhost") != NULL, "%s", eb.text);
    ck_assert_int_eq(start_another("192.0.2.1", 0, &eb), ERR_IO);
    ck_assert_int_eq(start_another("127.0.0.1", 0, &eb), ERR_OK);
    if (has_ipv6())
        ck_assert_int_eq(start_another("::1", 0, &eb), ERR_OK);
    else
        ck_assert_int_eq(start_another("::1", 0, &eb), ERR_IO);
}
END_TEST

static atomic_int begins;

static enum err second_thread_fails(struct gw_loop *loop, void *user, void **out_thread_state)
{
    (void)loop;
    *out_thread_state = user;
    return atomic_fetch_add(&begins, 1) == 1 ? ERR_NO_MEMORY : ERR_OK;
}

static void no_end(struct gw_loop *loop, void *thread_state)
{
    (void)loop;
    (void)thread_state;
}

START_TEST(thread_that_cannot_begin_stops_the_start)
{
    struct errbuf eb = {0};
    struct gw_loop_options options = edge.options;
    struct gw_loops *loops = NULL;
    options.count = 3;
    options.thread_begin = second_thread_fails;
    options.thread_end = no_end;
    ck_assert_int_eq(gw_loops_start(&options, &loops, &eb), ERR_NO_MEMORY);
    ck_assert_ptr_null(loops);
}
END_TEST

START_TEST(connections_are_spread_evenly)
{
    struct edge_client c[40];
    for (int i = 0; i < 40; i++) {
        ck_assert(edge_connect(&c[i], &edge, "http/1.1"));
        ck_assert(edge_send(&c[i], SLICE_LIT("GET /loop HTTP/1.1\r\n" H "\r\n")));
        ck_assert_int_eq(edge_response(&c[i], NULL), 200);
    }
    ck_assert_uint_eq(gw_loops_connections(edge.loops), 40);
    ck_assert_int_ge(atomic_load(&edge.on_first_loop), 18);
    ck_assert_int_le(atomic_load(&edge.on_first_loop), 22);
    for (int i = 0; i < 40; i++)
        edge_disconnect(&c[i]);
    edge_await_connections(&edge, 0);
}
END_TEST

/* --- TLS ---------------------------------------------------------------------------------------
 */

static void check_served_name(const char *expected)
{
    struct edge_client c;
    char name[64];
    ck_assert(edge_connect(&c, &edge, "h2"));
    X509 *cert = SSL_get1_peer_certificate(c.ssl);
    ck_assert_int_gt(
        X509_NAME_get_text_by_NID(X509_get_subject_name(cert), NID_commonName, name, sizeof name),
        0);
    ck_assert_str_eq(name, expected);
    X509_free(cert);
    edge_disconnect(&c);
}

START_TEST(reload_serves_the_new_certificate)
{
    struct errbuf eb = {0};
    struct edge_client old;
    ck_assert(edge_connect(&old, &edge, "http/1.1"));
    check_served_name("first");
    edge_make_certificate(edge.cert_path, edge.key_path, "second", -60, 3600);
    ck_assert_int_eq(gw_tls_reload(edge.tls, &eb), ERR_OK);
    check_served_name("second");
    edge_make_certificate(edge.cert_path, edge.key_path, "third", -7200, -3600);
    ck_assert_int_eq(gw_tls_reload(edge.tls, &eb), ERR_INVALID);
    check_served_name("second");
    ck_assert(edge_send(&old, base_slice_text(STATIC)));
    ck_assert_int_eq(edge_response(&old, NULL), 200);
    edge_disconnect(&old);
}
END_TEST

START_TEST(unknown_protocol_is_turned_away)
{
    struct edge_client c;
    ck_assert(!edge_connect(&c, &edge, "ftp"));
    edge_disconnect(&c);
    edge_await_connections(&edge, 0);
}
END_TEST

START_TEST(tls_is_new_enough)
{
    struct edge_client c;
    ck_assert(!edge_connect_old(&c, &edge, TLS1_1_VERSION));
    edge_disconnect(&c);
    ck_assert(edge_connect_old(&c, &edge, TLS1_2_VERSION));
    ck_assert_msg(strstr(SSL_get_cipher_name(c.ssl), "ECDHE-ECDSA-") != NULL &&
                      strstr(SSL_get_cipher_name(c.ssl), "-SHA") != NULL,
                  "%s", SSL_get_cipher_name(c.ssl));
    ck_assert(strstr(SSL_get_cipher_name(c.ssl), "GCM") != NULL);
    ck_assert(edge_send(&c, base_slice_text(STATIC)));
    ck_assert_int_eq(edge_response(&c, NULL), 200);
    /* renegotiation is refused and ends the connection */
    ck_assert_int_eq(SSL_renegotiate(c.ssl), 1);
    ck_assert_int_le(SSL_do_handshake(c.ssl) == 1 && edge_send(&c, base_slice_text(STATIC)) &&
                         edge_response(&c, NULL) == 200,
                     0);
    edge_disconnect(&c);
}
END_TEST

START_TEST(rubbish_instead_of_tls_is_closed)
{
    char byte;
    int fd = edge_dial(&edge);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, "SSH-2.0-OpenSSH_9\r\n", 19), 19);
    ck_assert_int_le(read(fd, &byte, 1), 0);
    (void)close(fd); /* nothing of value */
    edge_await_connections(&edge, 0);
}
END_TEST

/* Everything until the peer closes. */
static size_t read_all(int fd, char *out, size_t max)
{
    size_t len = 0;
    ssize_t n = 0;
    while (len < max && (n = read(fd, out + len, max - len)) > 0)
        len += (size_t)n;
    ck_assert_msg(n == 0, "%s", strerror(errno));
    out[len] = '\0';
    return len;
}

START_TEST(plain_http_is_told_that_the_port_speaks_tls)
{
    static const char *const REQUESTS[] = {"GET /v1/tables HTTP/1.1\r\nHost: x\r\n\r\n",
                                           "PUT /v1/tables/t HTTP/1.1\r\nContent-Length: 9999\r\n"
                                           "\r\n{\"families\":{}}",
                                           "POST / HTTP/1.1\r\n\r\n", "HEAD / HTTP/1.0\r\n\r\n"};
    char answer[1024];
    int fd = edge_dial(&edge);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, REQUESTS[_i], strlen(REQUESTS[_i])), (ssize_t)strlen(REQUESTS[_i]));
    (void)read_all(fd, answer, sizeof answer - 1);
    ck_assert_msg(strncmp(answer, "HTTP/1.1 400 ", 13) == 0, "%s", answer);
    ck_assert_ptr_nonnull(strstr(answer, "\r\n\r\nThis port speaks TLS"));
    (void)close(fd);
    ck_assert_int_eq(atomic_load(&edge.begun), 0);
    edge_await_connections(&edge, 0);
}
END_TEST

/* --- out of descriptors ------------------------------------------------------------------------
 */

static bool has_refused(void *unused)
{
    (void)unused;
    return edge_counted(&edge, GW_EDGE_DESCRIPTORS) > 0;
}

static void limit_descriptors(int below)
{
    struct rlimit limit;
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = (rlim_t)below;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* Enough for a loop that pauses 200 ms whenever it cannot accept, and ticks twice a second. */
#define TURNS_A_TICK 100

START_TEST(running_out_of_descriptors_is_survived)
{
    enum { MANY = 40, LEFT = 10 };
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(edge.port)};
    struct edge_client good;
    int fds[MANY];
    int count = 0;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ck_assert(edge_connect(&good, &edge, "http/1.1"));
    for (; count < MANY; count++)
        ck_assert_int_ge(fds[count] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), 0);
    limit_descriptors(fds[MANY - 1] + LEFT); /* clients share the limit, and need no more */
    for (int i = 0; i < MANY; i++) {
        if (i == MANY / 2) {
            process_await(has_refused, NULL, "a connection without a descriptor");
            limit_descriptors(3); /* none is left to refuse others with: they stay in the queue */
        }
        ck_assert_int_eq(connect(fds[i], (struct sockaddr *)&to, sizeof to), 0);
    }
    int ticks = atomic_load(&edge.ticks);
    uint64_t turns = atomic_load(&edge.turns);
    edge_await_ticks(&edge, 4);
    ticks = atomic_load(&edge.ticks) - ticks;
    turns = atomic_load(&edge.turns) - turns;
    ck_assert_uint_lt(turns, (uint64_t)ticks * TURNS_A_TICK);
    ck_assert(edge_send(&good, base_slice_text(STATIC)));
    ck_assert_int_eq(edge_response(&good, NULL), 200);
    limit_descriptors(100);
    while (count > 0)
        (void)close(fds[--count]); /* nothing of value */
    edge_await_connections(&edge, 1);
    struct edge_client later;
    ck_assert(edge_connect(&later, &edge, "http/1.1"));
    ck_assert(edge_send(&later, base_slice_text(STATIC)));
    ck_assert_int_eq(edge_response(&later, NULL), 200);
    edge_disconnect(&later);
    edge_disconnect(&good);
}
END_TEST

/* --- stopping ----------------------------------------------------------------------------------
 */

static void *stop_loops(void *unused)
{
    gw_loops_stop(edge.loops);
    edge.loops = NULL;
    return unused;
}

static bool have_begun(void *unused)
{
    (void)unused;
    return atomic_load(&edge.begun) >= 3;
}

START_TEST(stop_lets_running_responses_finish)
{
    pthread_t thread;
    struct edge_client one;
    struct h2 two;
    ck_assert(edge_connect(&one, &edge, "http/1.1"));
    ck_assert(edge_send(&one, SLICE_LIT("GET /slow?300 HTTP/1.1\r\n" H "\r\n")));
    h2_open(&two, &edge);
    const struct h2_stream *big = h2_request(&two, "GET", "/stream?20000000", 0, false);
    const struct h2_stream *slow = h2_request(&two, "GET", "/slow?100", 0, false);
    h2_await_that(&two, have_begun, NULL, "three requests to begin");
    ck_assert_int_eq(base_thread_start(&thread, "stop", stop_loops, NULL), ERR_OK);
    h2_await(&two);
    ck_assert_int_eq(slow->status, 200);
    ck_assert_uint_eq(big->body_bytes, 20000000);
    h2_forget(&two);
    h2_await_end(&two);
    ck_assert(two.got_goaway);
    ck_assert_int_eq(edge_response(&one, NULL), 200);
    edge_await_close(&one);
    pthread_join(thread, NULL);
    ck_assert_int_eq(edge_dial(&edge), -1);
    edge_disconnect(&one);
    h2_close(&two);
}
END_TEST

START_TEST(stop_is_quick_when_all_are_idle)
{
    struct edge_client one;
    struct edge_client fresh;
    struct h2 two;
    ck_assert(edge_connect(&one, &edge, "http/1.1"));
    ck_assert(edge_send(&one, base_slice_text(STATIC)));
    ck_assert_int_eq(edge_response(&one, NULL), 200);
    ck_assert(edge_connect(&fresh, &edge, "http/1.1"));
    h2_open(&two, &edge);
    (void)h2_request(&two, "GET", "/static", 0, false);
    h2_await(&two);
    stop_loops(NULL);
    edge_await_close(&one);
    edge_await_close(&fresh);
    edge_disconnect(&one);
    edge_disconnect(&fresh);
    h2_close(&two);
}
END_TEST

static atomic_int knocks;

/* Connections come and go while the loops stop. */
static void *knock(void *stop)
{
    while (!atomic_load((atomic_bool *)stop)) {
        int fd = edge_dial(&edge);
        atomic_fetch_add(&knocks, fd >= 0);
        if (fd >= 0)
            (void)close(fd); /* never used */
    }
    return NULL;
}

static bool have_knocked(void *unused)
{
    (void)unused;
    return atomic_load(&knocks) >= 200;
}

START_TEST(stop_under_load_loses_no_descriptor)
{
    atomic_bool stop = false;
    pthread_t thread[3];
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(base_thread_start(&thread[i], "knock", knock, &stop), ERR_OK);
    process_await(have_knocked, NULL, "connections that come and go");
    stop_loops(NULL);
    atomic_store(&stop, true);
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
}
END_TEST

Suite *suite_gateway_loop(void);
Suite *suite_gateway_loop(void)
{
    Suite *s = suite_create("gateway_loop");
    TCase *t = tcase_create("usual");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_set_timeout(t, TEST_S);
    tcase_add_test(t, port_in_use_is_an_error);
    tcase_add_test(t, thread_that_cannot_begin_stops_the_start);
    tcase_add_test(t, connections_are_spread_evenly);
    tcase_add_test(t, reload_serves_the_new_certificate);
    tcase_add_test(t, unknown_protocol_is_turned_away);
    tcase_add_test(t, tls_is_new_enough);
    tcase_add_test(t, rubbish_instead_of_tls_is_closed);
    tcase_add_loop_test(t, plain_http_is_told_that_the_port_speaks_tls, 0, 4);
    tcase_add_test(t, running_out_of_descriptors_is_survived);
    tcase_add_test(t, stop_lets_running_responses_finish);
    tcase_add_test(t, stop_is_quick_when_all_are_idle);
    tcase_add_test(t, stop_under_load_loses_no_descriptor);
    suite_add_tcase(s, t);
    return s;
}
