/*
 * tests/crash/test_audit.c - kill -9 between and in the middle of actions: the trail has no gap and
 * no record twice, every acknowledged action is in it, and every change has its record.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/audit_record.h"
#include "tests/support/random.h"
#include "tests/support/world.h"

#include "base/banned.h"

static struct server server;
static struct world w;

static void set_up(void)
{
    server_create(&server);
    server_start(&server, NULL);
    world_init_on(&w, &server, HTTP_2, "ab");
}

static void tear_down(void)
{
    world_fini(&w);
    server_stop(&server);
    server_remove(&server);
}

static struct slice text_of(const json_t *record, const char *name)
{
    const char *text = json_string_value(json_object_get(record, name));
    return text == NULL ? SLICE_EMPTY : base_slice_text(text);
}

static void record_of(const json_t *json, struct base_audit_record *out)
{
    *out = (struct base_audit_record){
        .number = (uint64_t)json_integer_value(json_object_get(json, "number")),
        .tenant_number = (uint64_t)json_integer_value(json_object_get(json, "tenant_number")),
        .tenant = text_of(json, "tenant"),
        .time = text_of(json, "time"),
        .key = text_of(json, "key"),
        .kind = text_of(json, "kind"),
        .address = text_of(json, "address"),
        .action = text_of(json, "action"),
        .target = text_of(json, "target"),
        .detail = text_of(json, "detail"),
        .outcome = text_of(json, "outcome"),
        .form = BASE_AUDIT_SUBJECT,
    };
    ck_assert_int_eq(base_audit_salt_unhex(text_of(json, "salt"), out->salt), ERR_OK);
    ck_assert_int_eq(base_audit_salt_unhex(text_of(json, "subject_salt"), out->subject_salt),
                     ERR_OK);
    ck_assert_int_eq(base_audit_unhex(text_of(json, "subject"), &out->subject), ERR_OK);
    ck_assert_int_eq(base_audit_unhex(text_of(json, "actor"), &out->actor), ERR_OK);
    ck_assert_int_eq(base_audit_unhex(text_of(json, "tenant_before"), &out->tenant_before), ERR_OK);
    ck_assert_int_eq(base_audit_unhex(text_of(json, "entry"), &out->entry), ERR_OK);
    ck_assert_int_eq(base_audit_unhex(text_of(json, "before"), &out->before), ERR_OK);
    ck_assert_int_eq(base_audit_unhex(text_of(json, "hash"), &out->hash), ERR_OK);
}

/* The whole trail follows; returns how many records say that an action on this target was done. */
static size_t check_trail(const char *action, const char *target)
{
    struct base_audit_head head = {0};
    size_t found = 0;
    http_once(w.op, "Accept: application/x-ndjson");
    http_get(w.op, "/v1/admin/audit");
    EXPECT_STATUS(w.op, 200);
    size_t lines = http_lines(w.op);
    for (size_t i = 0; i < lines; i++) {
        struct base_audit_record record;
        json_t *json = http_line_new(w.op, i);
        record_of(json, &record);
        const char *wrong = base_audit_follow(&head, &record);
        ck_assert_msg(wrong == NULL, "DATA: record %zu: %s", i + 1, wrong == NULL ? "" : wrong);
        found += base_slice_is(record.action, action) && base_slice_is(record.target, target) &&
                 base_slice_is(record.outcome, "done");
        json_decref(json);
    }
    return found;
}

#define TABLES_EACH 12

START_TEST(a_kill_at_any_moment_leaves_change_and_record_together)
{
    struct random dice = {(uint64_t)_i * 131 + 7};
    size_t acknowledged = 0;
    /* so that the kill meets one of them: the last ones are not waited for */
    for (size_t i = 0; i < TABLES_EACH; i++) {
        char target[64];
        (void)snprintf(target, sizeof target, "/v1/tables/t%zu", i);
        bool is_last = i + 1 == TABLES_EACH;
        if (is_last)
            curl_easy_setopt(w.http->curl, CURLOPT_TIMEOUT_MS, 1L + (long)random_below(&dice, 6));
        bool answered = http_try(w.http, "PUT", target, SLICE_LIT("{\"families\":{\"f\":{}}}"));
        acknowledged += answered && w.http->status == 201;
    }
    server_kill(&server);
    server_start(&server, NULL);
    curl_easy_setopt(w.http->curl, CURLOPT_TIMEOUT_MS, 60000L);
    http_reconnect(w.op);
    http_reconnect(w.http);
    size_t there = 0;
    for (size_t i = 0; i < TABLES_EACH; i++) {
        char table[16];
        (void)snprintf(table, sizeof table, "t%zu", i);
        http_get(w.http, "/v1/tables/%s", table);
        bool is_there = w.http->status == 200;
        there += is_there;
        ck_assert_uint_eq(check_trail("table.put", table), is_there ? 1 : 0);
    }
    ck_assert_msg(there >= acknowledged, "DATA: %zu of %zu acknowledged tables are there", there,
                  acknowledged);
    ck_assert_uint_ge(acknowledged, TABLES_EACH - 1);
}
END_TEST

Suite *suite_crash_audit(void);

Suite *suite_crash_audit(void)
{
    Suite *s = suite_create("crash_audit");
    TCase *tc = tcase_create("audit");
    tcase_set_timeout(tc, 90);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, a_kill_at_any_moment_leaves_change_and_record_together, 0,
                        (int)process_rounds(5));
    suite_add_tcase(s, tc);
    return s;
}
