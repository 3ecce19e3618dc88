/*
 * tests/grpc/test_backup_list.c - which backups a filter means, and in which order they are listed.
 */
#include <check.h>

#include "base/limits.h"
#include "gateway/grpc/backup_filter.h"
#include "gateway/grpc/backup_order.h"
#include "gateway/grpc/time_proto.h"

#include "base/banned.h"

Suite *suite_grpc_backup_list(void);

#define PREFIX "projects/acme/instances/main/"
#define DAY_US 86400000000LL

static Bta__Backup backup;
static Google__Protobuf__Timestamp start, end, expire;
static struct errbuf eb;

/* Made on 2026-11-20 at 10:00 UTC, in a second; it lives for a week. */
static void setup(void)
{
    static char name[] = PREFIX "clusters/main/backups/Daily-1";
    static char table[] = PREFIX "tables/devices";
    const int64_t made_us = 1795168800000000LL;
    bta__backup__init(&backup);
    gw_time_to_proto(made_us, &start);
    gw_time_to_proto(made_us + 1000000, &end);
    gw_time_to_proto(made_us + 7 * DAY_US, &expire);
    backup.name = name;
    backup.source_table = table;
    backup.start_time = &start;
    backup.end_time = &end;
    backup.expire_time = &expire;
    backup.size_bytes = 4096;
    backup.state = BTA__BACKUP__STATE__READY;
}

static enum err read_filter(const char *text, struct gw_backup_filter *out)
{
    eb.text[0] = '\0';
    enum err e = gw_backup_filter_read(base_slice_text(text), out, &eb);
    ck_assert_int_eq(e == ERR_OK, eb.text[0] == '\0');
    return e;
}

static bool means(const char *text)
{
    struct gw_backup_filter filter;
    ck_assert_msg(read_filter(text, &filter) == ERR_OK, "%s: %s", text, eb.text);
    return gw_backup_filter_means(&filter, &backup);
}

START_TEST(a_filter_compares_each_field)
{
    static const char *const holding[] = {
        "",
        "   ",
        "name:daily",
        "name:\"daily-1\"",
        "name=Daily-1",
        "name = \"" PREFIX "clusters/main/backups/Daily-1\"",
        "NAME:DAILY",
        "source_table:devices",
        "source_table:" PREFIX "tables/dev",
        "source_table=devices",
        "source_table!=phones",
        "state:READY",
        "state=ready",
        "state!=CREATING",
        "start_time=2026-11-20T10:00:00Z",
        "start_time < \"2026-11-20T10:00:01Z\"",
        "start_time>=2026-11-20T10:00:00Z",
        "end_time>2026-11-20T10:00:00.5Z",
        "end_time<=2026-11-20T10:00:01Z",
        "expire_time:2026-11-27T10:00:00Z",
        "size_bytes>4095",
        "size_bytes<=4096",
        "size_bytes:4096",
    };
    static const char *const failing[] = {
        "name:weekly",
        "name:\"daily\"",
        "name:backups", /* every name has it */
        "name=daily",
        "name!=daily-1",
        "name<a",
        "state=CREATING",
        "start_time>2026-11-20T10:00:00Z",
        "end_time<2026-11-20T10:00:01Z",
        "size_bytes>4096",
        "size_bytes!=4096",
        "size_bytes<-1",
    };
    for (size_t i = 0; i < sizeof holding / sizeof holding[0]; i++)
        ck_assert_msg(means(holding[i]), "%s", holding[i]);
    for (size_t i = 0; i < sizeof failing / sizeof failing[0]; i++)
        ck_assert_msg(!means(failing[i]), "%s", failing[i]);
}
END_TEST

START_TEST(not_binds_tightest_then_or_then_and)
{
    ck_assert(means("(name:daily) AND (start_time < \"2027-01-01T00:00:00Z\")"));
    ck_assert(means("(name:daily) (size_bytes>1)"));
    ck_assert(!means("name:daily size_bytes>9999"));
    ck_assert(means("name:weekly OR name:daily"));
    ck_assert(!means("name:daily OR name:daily AND name:weekly"));
    ck_assert(means("name:daily OR (name:daily AND name:weekly)"));
    ck_assert(means("NOT name:weekly AND name:daily"));
    ck_assert(means("NOT name:weekly OR name:weekly"));
    ck_assert(!means("NOT (name:weekly OR name:daily)"));
    ck_assert(means("not not name:daily"));
    ck_assert(means("-name:weekly"));
    ck_assert(means("((((name:daily))))"));
    ck_assert(!means("-(-(-(name:daily)))"));
}
END_TEST

START_TEST(filters_that_make_no_sense_are_refused)
{
    static const char *const wrong[] = {
        "name",
        "name:",
        "name:)",
        ":x",
        "nosuch:x",
        "name:\"open",
        "(name:x",
        "name:x)",
        "()",
        "name:x AND",
        "AND name:x",
        "name:x OR OR name:y",
        "NOT",
        "name:x NOT",
        "start_time>yesterday",
        "size_bytes>many",
        "size_bytes>99999999999999999999",
        "name~x",
        "=",
    };
    struct gw_backup_filter filter;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        ck_assert_msg(read_filter(wrong[i], &filter) == ERR_INVALID, "%s", wrong[i]);
}
END_TEST

static const char *repeated(const char *part, size_t count, const char *last)
{
    static char text[8 * KIB];
    size_t len = strlen(part);
    ck_assert_uint_lt(count * len + strlen(last), sizeof text);
    for (size_t i = 0; i < count; i++)
        memcpy(text + i * len, part, len);
    memcpy(text + count * len, last, strlen(last) + 1);
    return text;
}

START_TEST(a_filter_has_as_many_comparisons_as_it_may)
{
    struct gw_backup_filter filter;
    const size_t most = GW_BACKUP_FILTER_TERMS;
    ck_assert(means(repeated("name:daily ", most, "")));
    ck_assert(means(repeated("name:weekly OR ", most - 1, "name:daily")));
    ck_assert_int_eq(read_filter(repeated("name:daily ", most + 1, ""), &filter), ERR_TOO_BIG);
}
END_TEST

START_TEST(brackets_and_words_may_be_open_as_deep_as_they_may)
{
    struct gw_backup_filter filter;
    const size_t most = GW_BACKUP_FILTER_TERMS;
    ck_assert_int_eq(read_filter(repeated("(", most, "name:x"), &filter), ERR_INVALID);
    ck_assert_int_eq(read_filter(repeated("(", most + 1, "name:x"), &filter), ERR_TOO_BIG);
    ck_assert(means(repeated("NOT ", most, "name:daily")));
    ck_assert_int_eq(read_filter(repeated("NOT ", most + 1, "name:daily"), &filter), ERR_TOO_BIG);
    ck_assert_int_eq(read_filter(repeated("NOT NOT NOT NOT name:daily ", most, ""), &filter),
                     ERR_TOO_BIG);
}
END_TEST

/* --- order --------------------------------------------------------------------------------------
 */

static int compare(const char *order_by, const Bta__Backup *a, const Bta__Backup *b)
{
    struct gw_backup_order order;
    eb.text[0] = '\0';
    enum err e = gw_backup_order_read(base_slice_text(order_by), &order, &eb);
    ck_assert_msg(e == ERR_OK, "%s: %s", order_by, eb.text);
    int there = gw_backup_order_compare(&order, a, b), back = gw_backup_order_compare(&order, b, a);
    ck_assert((there < 0) == (back > 0) && (there == 0) == (back == 0));
    return there;
}

START_TEST(backups_are_ordered_by_each_field_in_both_ways)
{
    static char later_name[] = PREFIX "clusters/main/backups/a";
    static char other_table[] = PREFIX "tables/phones";
    Google__Protobuf__Timestamp later;
    gw_time_to_proto(1795168900000000LL, &later);
    Bta__Backup other = backup;
    other.name = later_name; /* "a" is behind "Daily-1": letters have their case here */
    other.start_time = &later;
    other.size_bytes = 1;
    other.source_table = other_table;
    ck_assert_int_gt(compare("", &backup, &other), 0);
    ck_assert_int_lt(compare("name", &backup, &other), 0);
    ck_assert_int_gt(compare("name desc", &backup, &other), 0);
    ck_assert_int_lt(compare("start_time", &backup, &other), 0);
    ck_assert_int_lt(compare("start_time asc", &backup, &other), 0);
    ck_assert_int_gt(compare(" start_time   desc ", &backup, &other), 0);
    ck_assert_int_gt(compare("size_bytes", &backup, &other), 0);
    ck_assert_int_lt(compare("source_table", &backup, &other), 0);
    ck_assert_int_gt(compare("state, expire_time,size_bytes", &backup, &other), 0);
    ck_assert_int_lt(compare("end_time desc", &backup, &other), 0); /* alike: the name decides */
    ck_assert_int_eq(compare("end_time desc", &backup, &backup), 0);
}
END_TEST

START_TEST(orders_that_make_no_sense_are_refused)
{
    static const char *const wrong[] = {"nosuch",          "name up", ",",
                                        "name,",           ",name",   "name desc desc",
                                        "name, name desc", " ",       "name;state"};
    struct gw_backup_order order;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        ck_assert_msg(gw_backup_order_read(base_slice_text(wrong[i]), &order, &eb) == ERR_INVALID,
                      "%s", wrong[i]);
}
END_TEST

Suite *suite_grpc_backup_list(void)
{
    Suite *s = suite_create("grpc_backup_list");
    TCase *filter = tcase_create("filter");
    tcase_add_checked_fixture(filter, setup, NULL);
    tcase_add_test(filter, a_filter_compares_each_field);
    tcase_add_test(filter, not_binds_tightest_then_or_then_and);
    tcase_add_test(filter, filters_that_make_no_sense_are_refused);
    tcase_add_test(filter, a_filter_has_as_many_comparisons_as_it_may);
    tcase_add_test(filter, brackets_and_words_may_be_open_as_deep_as_they_may);
    suite_add_tcase(s, filter);
    TCase *order = tcase_create("order");
    tcase_add_checked_fixture(order, setup, NULL);
    tcase_add_test(order, backups_are_ordered_by_each_field_in_both_ways);
    tcase_add_test(order, orders_that_make_no_sense_are_refused);
    suite_add_tcase(s, order);
    return s;
}
