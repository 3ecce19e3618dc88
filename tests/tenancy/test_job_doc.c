/*
 * tests/tenancy/test_job_doc.c - the stored form of an offboarding job, and its ID.
 */
#include <check.h>

#include "base/record.h"
#include "tenancy/job_doc.h"

#include "base/banned.h"

#define ID "01hzzzzzzzzzzzzz"

static struct ten_job sample(void)
{
    struct ten_job j = {
        .id = ID,
        .tenant = "altostrat",
        .requested_by = "k0123456789a",
        .state = TEN_JOB_FAILED,
        .steps_done = 3,
        .requested_us = 1700000000123456,
        .step_done_us = {11, 12, 13, 0, 0, 16},
        .finished_us = 1700000001000000,
        .usage_before = {1, 2, 3},
        .audit_before = {4, 5, 6, 7, UINT64_MAX, 8, 9, 10, 11},
        .deleted_at = 12345,
        .audit_after = {0, 0, 8, 0, 9},
        .delete_at_us = 1700000002000000,
        .reason = "end of contract",
        .search_before = {1, 2, 3, 4, 5, 6, 7, "", 12, 13, true, 16, 17},
        .search_after = {8, 9, 0, 0, 0, 10, 0, "7.8.3", 14, 15, false, 18, 0},
        .visible_after = 11,
        .canaries = 4,
        .deep = true,
    };
    memset(j.error, 'e', sizeof j.error - 1);
    return j;
}

static void encode(const struct ten_job *j, struct buf *out)
{
    base_buf_init(out, TEN_JOB_DOC_MAX);
    ck_assert_int_eq(ten_job_encode(j, out), ERR_OK);
}

START_TEST(round_trip_keeps_everything)
{
    struct ten_job j = sample();
    struct ten_job back;
    struct buf body;
    encode(&j, &body);
    ck_assert_int_eq(ten_job_decode(SLICE_LIT(ID), base_buf_slice(&body), &back), ERR_OK);
    ck_assert_str_eq(back.id, ID);
    ck_assert_str_eq(back.tenant, j.tenant);
    ck_assert_str_eq(back.requested_by, j.requested_by);
    ck_assert_str_eq(back.error, j.error);
    ck_assert_int_eq(back.state, j.state);
    ck_assert_int_eq(back.delete_at_us, j.delete_at_us);
    ck_assert_str_eq(back.reason, j.reason);
    ck_assert_uint_eq(back.steps_done, j.steps_done);
    ck_assert_int_eq(back.requested_us, j.requested_us);
    ck_assert_int_eq(back.finished_us, j.finished_us);
    ck_assert_int_eq(memcmp(back.step_done_us, j.step_done_us, sizeof j.step_done_us), 0);
    ck_assert_int_eq(memcmp(&back.usage_before, &j.usage_before, sizeof j.usage_before), 0);
    ck_assert_int_eq(memcmp(&back.audit_before, &j.audit_before, sizeof j.audit_before), 0);
    ck_assert_uint_eq(back.deleted_at, j.deleted_at);
    ck_assert_int_eq(memcmp(&back.audit_after, &j.audit_after, sizeof j.audit_after), 0);
    ck_assert_mem_eq(&back.search_before, &j.search_before, sizeof j.search_before);
    ck_assert_mem_eq(&back.search_after, &j.search_after, sizeof j.search_after);
    ck_assert_uint_eq(back.visible_after, j.visible_after);
    ck_assert_uint_eq(back.canaries, j.canaries);
    base_buf_fini(&body);
}
END_TEST

START_TEST(unknown_fields_and_later_steps_are_skipped)
{
    struct ten_job j = sample();
    struct ten_job back;
    struct buf body;
    struct buf times;
    encode(&j, &body);
    base_buf_init(&times, 256);
    for (uint32_t tag = 1; tag < 40; tag++)
        ck_assert_int_eq(base_record_put_u64(&times, tag, tag), ERR_OK);
    ck_assert_int_eq(base_record_put_bytes(&body, 8, base_buf_slice(&times)), ERR_OK);
    ck_assert_int_eq(base_record_put_u64(&body, 777, 1), ERR_OK);
    ck_assert_int_eq(ten_job_decode(SLICE_LIT(ID), base_buf_slice(&body), &back), ERR_OK);
    ck_assert_int_eq(back.step_done_us[TEN_JOB_STEPS - 1], TEN_JOB_STEPS);
    base_buf_fini(&times);
    base_buf_fini(&body);
}
END_TEST

static enum err decode_with(uint32_t tag, bool number, uint64_t n, struct slice bytes)
{
    struct ten_job j = sample();
    struct ten_job back;
    struct buf body;
    encode(&j, &body);
    ck_assert_int_eq(number ? base_record_put_u64(&body, tag, n)
                            : base_record_put_bytes(&body, tag, bytes),
                     ERR_OK);
    enum err rc = ten_job_decode(SLICE_LIT(ID), base_buf_slice(&body), &back);
    base_buf_fini(&body);
    return rc;
}

START_TEST(damaged_fields_are_refused)
{
    static char long_text[200];
    memset(long_text, 'x', sizeof long_text);
    ck_assert_int_eq(decode_with(3, true, 0, SLICE_EMPTY), ERR_CORRUPT);
    ck_assert_int_eq(decode_with(3, true, TEN_JOB_CANCELLED, SLICE_EMPTY), ERR_OK);
    ck_assert_int_eq(decode_with(3, true, TEN_JOB_CANCELLED + 1, SLICE_EMPTY), ERR_CORRUPT);
    ck_assert_int_eq(decode_with(12, false, 0, SLICE_LIT("text")), ERR_CORRUPT);
    ck_assert_int_eq(decode_with(13, true, 1, SLICE_EMPTY), ERR_CORRUPT);
    ck_assert_int_eq(decode_with(4, true, TEN_JOB_STEPS + 1, SLICE_EMPTY), ERR_CORRUPT);
    ck_assert_int_eq(decode_with(1, false, 0, SLICE_EMPTY), ERR_CORRUPT);
    ck_assert_int_eq(decode_with(1, false, 0, base_slice(long_text, LIM_TENANT_ID + 1)),
                     ERR_CORRUPT);
    ck_assert_int_eq(decode_with(2, false, 0, base_slice(long_text, 64)), ERR_CORRUPT);
    ck_assert_int_eq(decode_with(7, false, 0, base_slice(long_text, 160)), ERR_CORRUPT);
    for (uint32_t tag = 1; tag <= 11; tag++) {
        bool is_number = tag >= 3 && tag <= 6;
        ck_assert_int_eq(is_number ? decode_with(tag, false, 0, SLICE_LIT("text"))
                                   : decode_with(tag, true, 1, SLICE_EMPTY),
                         ERR_CORRUPT);
    }
    ck_assert_int_eq(decode_with(9, false, 0, SLICE_LIT("\xff\xff")), ERR_CORRUPT);
}
END_TEST

START_TEST(the_id_in_the_key_is_checked)
{
    struct ten_job j = sample();
    struct ten_job back;
    struct buf body;
    encode(&j, &body);
    ck_assert_int_eq(ten_job_decode(SLICE_LIT("short"), base_buf_slice(&body), &back), ERR_CORRUPT);
    base_buf_fini(&body);
}
END_TEST

START_TEST(steps_and_states_have_names)
{
    static const char *const STEPS[] = {"fence",   "delete_files", "delete_range", "flush",
                                        "compact", "audit",        "files",        "certificate"};
    ck_assert_uint_eq(TEN_JOB_STEPS, 8);
    for (uint32_t i = 0; i < TEN_JOB_STEPS; i++)
        ck_assert_str_eq(ten_job_step_name(i), STEPS[i]);
    ck_assert_str_eq(ten_job_step_name(TEN_JOB_STEPS), "unknown");
    ck_assert_str_eq(ten_job_state_name(TEN_JOB_RUNNING), "running");
    ck_assert_str_eq(ten_job_state_name(TEN_JOB_DONE), "done");
    ck_assert_str_eq(ten_job_state_name(TEN_JOB_FAILED), "failed");
    ck_assert_str_eq(ten_job_state_name(TEN_JOB_WAITING), "waiting");
    ck_assert_str_eq(ten_job_state_name(TEN_JOB_CANCELLED), "cancelled");
    ck_assert_str_eq(ten_job_state_name((enum ten_job_state)0), "unknown");
}
END_TEST

/* --- IDs -------------------------------------------------------------------------------------- */

START_TEST(ids_sort_by_time)
{
    static const uint64_t TIMES[] = {
        0, 1, 31, 32, 1023, 1024, 1700000000000, 1700000000001, 1ull << 45, (1ull << 50) - 1};
    char last[TEN_JOB_ID + 1] = "";
    for (size_t i = 0; i < sizeof TIMES / sizeof TIMES[0]; i++) {
        char id[TEN_JOB_ID + 1];
        uint64_t back = 0;
        ten_job_id_make(TIMES[i], id);
        ck_assert_uint_eq(strlen(id), TEN_JOB_ID);
        ck_assert_int_gt(strcmp(id, last), 0);
        ck_assert_int_eq(ten_job_id_parse(base_slice_text(id), &back), ERR_OK);
        ck_assert_uint_eq(back, TIMES[i]);
        memcpy(last, id, sizeof last);
    }
}
END_TEST

START_TEST(ids_of_one_time_differ)
{
    char a[TEN_JOB_ID + 1];
    char b[TEN_JOB_ID + 1];
    ten_job_id_make(5, a);
    ten_job_id_make(5, b);
    ck_assert_str_ne(a, b);
    ck_assert_int_eq(memcmp(a, b, 10), 0);
}
END_TEST

START_TEST(what_is_no_id_is_refused)
{
    static const char *const BAD[] = {"",
                                      "01hzzzzzzzzzzzz",
                                      "01hzzzzzzzzzzzzzz",
                                      "01hzzzzzzzzzzzzi",
                                      "01hzzzzzzzzzzzzl",
                                      "01hzzzzzzzzzzzzo",
                                      "01hzzzzzzzzzzzzu",
                                      "01HZZZZZZZZZZZZZ",
                                      "01hzzzzzzzzzzz/z"};
    uint64_t ms;
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++)
        ck_assert_int_eq(ten_job_id_parse(base_slice_text(BAD[i]), &ms), ERR_INVALID);
    ck_assert_int_eq(ten_job_id_parse(base_slice("01hzzzzzzzzzzzz\0", 16), &ms), ERR_INVALID);
}
END_TEST

Suite *suite_tenancy_job_doc(void);
Suite *suite_tenancy_job_doc(void)
{
    Suite *s = suite_create("tenancy_job_doc");
    TCase *c = tcase_create("body");
    tcase_add_test(c, round_trip_keeps_everything);
    tcase_add_test(c, unknown_fields_and_later_steps_are_skipped);
    tcase_add_test(c, damaged_fields_are_refused);
    tcase_add_test(c, the_id_in_the_key_is_checked);
    tcase_add_test(c, steps_and_states_have_names);
    suite_add_tcase(s, c);
    c = tcase_create("ids");
    tcase_add_test(c, ids_sort_by_time);
    tcase_add_test(c, ids_of_one_time_differ);
    tcase_add_test(c, what_is_no_id_is_refused);
    suite_add_tcase(s, c);
    return s;
}
