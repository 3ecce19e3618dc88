/*
 * Session tickets: who resumes a session, and for how long.
 */
#include <check.h>

#include "base/clock.h"
#include "base/limits.h"
#include "tests/support/edge.h"

#include "base/banned.h"

#define STATIC    "GET /static HTTP/1.1\r\nHost: x\r\n\r\n"
#define PERIOD_NS (LIM_TICKET_KEY_S * 1000000000ULL)

static struct edge edge;

static void set_up(void)
{
    edge_start(&edge, 2); /* a ticket of one loop is good at the other */
}

static void tear_down(void)
{
    edge_stop(&edge);
}

/* Connects with the session, says whether it was resumed, and returns the session that the server
 * gave for the next time. */
static SSL_SESSION *visit(int version, SSL_SESSION *offered, bool *out_resumed)
{
    struct edge_client c;
    ck_assert(edge_connect_again(&c, &edge, version, offered));
    ck_assert(edge_send(&c, base_slice_text(STATIC)));
    ck_assert_int_eq(edge_response(&c, NULL), 200);
    *out_resumed = SSL_session_reused(c.ssl) == 1;
    if (version == TLS1_3_VERSION) /* a fresh key exchange, also of a resumed session */
        ck_assert_int_ne(SSL_get_negotiated_group(c.ssl), 0);
    SSL_SESSION *session = SSL_get1_session(c.ssl);
    ck_assert_ptr_nonnull(session);
    SSL_set_shutdown(c.ssl, SSL_SENT_SHUTDOWN); /* else OpenSSL takes the session for broken */
    edge_disconnect(&c);
    return session;
}

static bool is_resumed(int version, SSL_SESSION *offered)
{
    bool resumed;
    SSL_SESSION_free(visit(version, offered, &resumed));
    return resumed;
}

static SSL_SESSION *first_session(int version)
{
    bool resumed;
    SSL_SESSION *session = visit(version, NULL, &resumed);
    ck_assert(!resumed);
    ck_assert_int_eq(SSL_SESSION_is_resumable(session), 1);
    return session;
}

static const int VERSIONS[] = {TLS1_2_VERSION, TLS1_3_VERSION};

START_TEST(sessions_are_resumed_at_every_loop)
{
    SSL_SESSION *session = first_session(VERSIONS[_i]);
    for (int i = 0; i < 8; i++)
        ck_assert(is_resumed(VERSIONS[_i], session));
    SSL_SESSION_free(session);
}
END_TEST

START_TEST(there_is_no_early_data)
{
    SSL_SESSION *session = first_session(TLS1_3_VERSION);
    ck_assert_uint_eq(SSL_SESSION_get_max_early_data(session), 0);
    ck_assert_uint_le(SSL_SESSION_get_ticket_lifetime_hint(session), LIM_TICKET_KEY_S);
    SSL_SESSION_free(session);
}
END_TEST

START_TEST(keys_are_accepted_for_two_periods)
{
    uint64_t now_ns = base_monotonic_ns();
    SSL_SESSION *session = first_session(VERSIONS[_i]);
    gw_tls_rotate(edge.tls, now_ns + PERIOD_NS);
    ck_assert(is_resumed(VERSIONS[_i], session));
    SSL_SESSION *second = first_session(VERSIONS[_i]);
    gw_tls_rotate(edge.tls, now_ns + 2 * PERIOD_NS);
    ck_assert(!is_resumed(VERSIONS[_i], session));
    ck_assert(is_resumed(VERSIONS[_i], second));
    SSL_SESSION_free(session);
    SSL_SESSION_free(second);
}
END_TEST

START_TEST(a_resumed_session_gets_a_ticket_of_the_newest_key)
{
    bool resumed;
    uint64_t now_ns = base_monotonic_ns();
    SSL_SESSION *first = first_session(VERSIONS[_i]);
    gw_tls_rotate(edge.tls, now_ns + PERIOD_NS);
    SSL_SESSION *second = visit(VERSIONS[_i], first, &resumed);
    ck_assert(resumed);
    gw_tls_rotate(edge.tls, now_ns + 2 * PERIOD_NS);
    ck_assert(is_resumed(VERSIONS[_i], second));
    SSL_SESSION_free(first);
    SSL_SESSION_free(second);
}
END_TEST

START_TEST(keys_of_an_idle_server_are_gone_after_two_periods)
{
    uint64_t now_ns = base_monotonic_ns();
    SSL_SESSION *session = first_session(TLS1_3_VERSION);
    gw_tls_rotate(edge.tls, now_ns + 3 * PERIOD_NS);
    ck_assert(!is_resumed(TLS1_3_VERSION, session));
    SSL_SESSION_free(session);
}
END_TEST

START_TEST(a_new_certificate_ends_all_tickets)
{
    struct errbuf eb = {{0}};
    SSL_SESSION *session = first_session(VERSIONS[_i]);
    ck_assert_int_eq(gw_tls_reload(edge.tls, &eb), ERR_OK);
    ck_assert(!is_resumed(VERSIONS[_i], session));
    SSL_SESSION_free(session);
}
END_TEST

Suite *suite_gateway_tickets(void);
Suite *suite_gateway_tickets(void)
{
    Suite *s = suite_create("gateway_tickets");
    TCase *t = tcase_create("tickets");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_loop_test(t, sessions_are_resumed_at_every_loop, 0, 2);
    tcase_add_test(t, there_is_no_early_data);
    tcase_add_loop_test(t, keys_are_accepted_for_two_periods, 0, 2);
    tcase_add_loop_test(t, a_resumed_session_gets_a_ticket_of_the_newest_key, 0, 2);
    tcase_add_test(t, keys_of_an_idle_server_are_gone_after_two_periods);
    tcase_add_loop_test(t, a_new_certificate_ends_all_tickets, 0, 2);
    suite_add_tcase(s, t);
    return s;
}
