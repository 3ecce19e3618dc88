/*
 * tests/gateway/test_addresses.c - what one address has, counted in a table of fixed size.
 */
#include <arpa/inet.h>
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "gateway/addresses.h"

#include "base/banned.h"

Suite *suite_gateway_addresses(void);

static struct gw_addresses all;

static struct sockaddr_storage address(const char *text)
{
    struct sockaddr_storage a = {0};
    ck_assert(gw_address_parse(text, &a));
    return a;
}

static struct gw_address_slots slots(const char *text)
{
    struct sockaddr_storage a = address(text);
    return gw_address_slots_of((const struct sockaddr *)&a);
}

static bool are_same(const char *a, const char *b)
{
    struct gw_address_slots x = slots(a), y = slots(b);
    return memcmp(&x, &y, sizeof x) == 0;
}

START_TEST(an_address_is_known_by_its_network)
{
    ck_assert(are_same("192.0.2.7", "::ffff:192.0.2.7"));
    ck_assert(!are_same("192.0.2.7", "192.0.2.8"));
    ck_assert(are_same("2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff"));
    ck_assert(!are_same("2001:db8:1:2::1", "2001:db8:1:3::1"));
    struct sockaddr_storage none = {0};
    ck_assert(!gw_address_parse("example.org", &none));
    ck_assert(!gw_address_parse("", &none));
}
END_TEST

START_TEST(loopback_is_known)
{
    static const struct {
        const char *text;
        bool is_loopback;
    } cases[] = {{"127.0.0.1", true},        {"127.8.9.10", true}, {"::1", true},
                 {"::ffff:127.0.0.1", true}, {"::2", false},       {"128.0.0.1", false},
                 {"::ffff:10.0.0.1", false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sockaddr_storage a = address(cases[i].text);
        ck_assert_msg(gw_address_is_loopback((const struct sockaddr *)&a) == cases[i].is_loopback,
                      "%s", cases[i].text);
    }
}
END_TEST

/* Never less than there are; rarely more, although there are more addresses than slots. */
START_TEST(connections_are_counted)
{
    enum { ADDRESSES = 3000 };
    char text[32];
    size_t exact = 0;
    gw_addresses_init(&all, 0, 0);
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < ADDRESSES; i++) {
            (void)snprintf(text, sizeof text, "10.1.%d.%d", i / 256, i % 256);
            gw_address_enter(&all, slots(text));
        }
    for (int i = 0; i < ADDRESSES; i++) {
        (void)snprintf(text, sizeof text, "10.1.%d.%d", i / 256, i % 256);
        ck_assert_uint_ge(gw_address_connections(&all, slots(text)), 2);
        exact += gw_address_connections(&all, slots(text)) == 2;
    }
    ck_assert_uint_gt(exact, ADDRESSES / 2);
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < ADDRESSES; i++) {
            (void)snprintf(text, sizeof text, "10.1.%d.%d", i / 256, i % 256);
            gw_address_leave(&all, slots(text));
        }
    ck_assert_uint_eq(gw_address_connections(&all, slots("10.1.0.1")), 0);
}
END_TEST

START_TEST(handshakes_and_failures_have_rates_of_their_own)
{
    uint64_t now_ns = 1000000000000;
    struct gw_address_slots one = slots("192.0.2.7"), other = slots("192.0.2.8");
    gw_addresses_init(&all, 2, 1);
    for (int i = 0; i < 20; i++)
        ck_assert(gw_address_may_shake_hands(&all, one, now_ns));
    ck_assert(!gw_address_may_shake_hands(&all, one, now_ns));
    ck_assert(gw_address_may_shake_hands(&all, other, now_ns));
    ck_assert(gw_address_may_shake_hands(&all, one, now_ns + 600000000));
    for (int i = 0; i < 10; i++) {
        ck_assert(!gw_address_fails_often(&all, one, now_ns));
        gw_address_failed(&all, one, now_ns);
    }
    ck_assert(gw_address_fails_often(&all, one, now_ns));
    ck_assert(!gw_address_fails_often(&all, other, now_ns));
    ck_assert(!gw_address_fails_often(&all, one, now_ns + 2000000000));
}
END_TEST

Suite *suite_gateway_addresses(void)
{
    Suite *s = suite_create("gateway_addresses");
    TCase *t = tcase_create("addresses");
    tcase_add_test(t, an_address_is_known_by_its_network);
    tcase_add_test(t, loopback_is_known);
    tcase_add_test(t, connections_are_counted);
    tcase_add_test(t, handshakes_and_failures_have_rates_of_their_own);
    suite_add_tcase(s, t);
    return s;
}
