/*
 * tests/tenancy/test_tenant_doc.c - the stored form of a tenant, its keys and its states.
 */
#include <check.h>

#include "base/record.h"
#include "tenancy/doc_key.h"
#include "tenancy/lifecycle.h"
#include "tenancy/tenant_doc.h"

#include "base/banned.h"

static struct ten_plan gold = {.id_len = 4, .id = "gold"};

static const struct ten_hold held = {1700000002000000, "k0123456789a", "a court asked"};

static struct ten_details sample(void)
{
    static char name[LIM_DISPLAY_NAME + 1], reason[LIM_REASON + 1];
    memset(name, 'n', LIM_DISPLAY_NAME);
    memset(reason, 'r', LIM_REASON);
    struct ten_details d = {
        .doc_version = 7, /* not part of the body */
        .created_us = 1700000000123456,
        .state_since_us = 1700000001000000,
        .plan = &gold,
        .display_name = name,
        .reason = reason,
        .job = "01hzzzzzzzzzzzzz",
        .instance = "main-2",
        .closed = STO_GATE_NO_WRITES,
        .was_suspended = true,
        .delete_at_us = 1700000009000000,
        .hold = &held,
    };
    ten_quota_default(&d.quota);
    static const uint64_t GIVEN[] = {1, 0, 5, UINT64_MAX, 1000000000};
    for (size_t i = 0; i < sizeof GIVEN / sizeof GIVEN[0]; i++)
        ten_quota_give(&d.quota, i, GIVEN[i]);
    for (size_t i = TEN_QUOTA_CEILINGS; i < TEN_QUOTA_FIELDS; i++)
        ten_quota_give(&d.quota, i, i);
    return d;
}

static void encode(enum ten_state state, const struct ten_details *d, struct buf *out)
{
    base_buf_init(out, TEN_TENANT_DOC_MAX);
    ck_assert_int_eq(ten_tenant_encode(state, d, out), ERR_OK);
}

START_TEST(round_trip_keeps_everything)
{
    struct ten_details d = sample();
    for (enum ten_state s = TEN_ACTIVE; s < TEN_STATES; s++) {
        struct buf body;
        struct ten_tenant_doc doc;
        encode(s, &d, &body);
        ck_assert_int_eq(ten_tenant_decode(base_buf_slice(&body), &doc), ERR_OK);
        ck_assert_int_eq(doc.state, s);
        const struct ten_details back = doc.details;
        ck_assert_str_eq(doc.plan, "gold");
        ck_assert_ptr_null(back.plan);
        bool is_closed = s == TEN_SUSPENDED || s == TEN_DELETE_REQUESTED;
        ck_assert_uint_eq(back.closed,
                          is_closed ? STO_GATE_NO_WRITES : STO_GATE_NO_READS | STO_GATE_NO_WRITES);
        ck_assert(back.was_suspended == (s == TEN_DELETE_REQUESTED));
        ck_assert_int_eq(back.delete_at_us, s == TEN_DELETE_REQUESTED ? d.delete_at_us : 0);
        ck_assert_int_eq(back.hold->since_us, d.hold->since_us);
        ck_assert_str_eq(back.hold->by, d.hold->by);
        ck_assert_str_eq(back.hold->reason, d.hold->reason);
        ck_assert_str_eq(back.instance, d.instance);
        ck_assert_str_eq(back.display_name, d.display_name);
        ck_assert_str_eq(back.reason, d.reason);
        ck_assert_str_eq(back.job, d.job);
        ck_assert_int_eq(back.created_us, d.created_us);
        ck_assert_int_eq(back.state_since_us, d.state_since_us);
        ck_assert_int_eq(memcmp(&back.quota, &d.quota, sizeof d.quota), 0);
        ck_assert_uint_eq(back.doc_version, 0);
        base_buf_fini(&body);
    }
}
END_TEST

START_TEST(empty_texts_and_no_limits_round_trip)
{
    struct ten_details d = {0};
    struct ten_tenant_doc doc;
    struct buf body;
    ten_quota_default(&d.quota);
    encode(TEN_ACTIVE, &d, &body);
    ck_assert_int_eq(ten_tenant_decode(base_buf_slice(&body), &doc), ERR_OK);
    ck_assert_str_eq(doc.details.display_name, "");
    ck_assert_str_eq(doc.details.reason, "");
    ck_assert_str_eq(doc.details.job, "");
    ck_assert_uint_eq(doc.details.quota.stored_bytes, UINT64_MAX);
    ck_assert_uint_eq(doc.details.quota.rows, UINT64_MAX);
    ck_assert_uint_eq(doc.details.quota.read_ops_per_s, UINT64_MAX);
    ck_assert_uint_eq(doc.details.quota.write_ops_per_s, UINT64_MAX);
    for (enum sto_limit i = 0; i < STO_LIMIT_COUNT; i++)
        ck_assert_uint_eq(doc.details.quota.limits[i], sto_limit_info(i)->standard);
    base_buf_fini(&body);
}
END_TEST

/* As programs wrote them that knew one limit of the data model, cell_bytes. */
START_TEST(documents_from_before_the_limits_get_the_defaults)
{
    struct ten_tenant_doc doc;
    struct buf body;
    base_buf_init(&body, TEN_TENANT_DOC_MAX);
    static const uint64_t OLD[][2] = {{1, TEN_ACTIVE},
                                      {4, 1700000000123456},
                                      {5, 1700000000123456},
                                      {6, 1000},
                                      {7, 5},
                                      {8, 10},
                                      {9, 20},
                                      {10, 30}};
    for (size_t i = 0; i < sizeof OLD / sizeof OLD[0]; i++)
        ck_assert_int_eq(base_record_put_u64(&body, (uint32_t)OLD[i][0], OLD[i][1]), ERR_OK);
    ck_assert_int_eq(ten_tenant_decode(base_buf_slice(&body), &doc), ERR_OK);
    ck_assert_uint_eq(doc.details.quota.stored_bytes, 1000);
    ck_assert_uint_eq(doc.details.quota.rows, 5);
    ck_assert_uint_eq(doc.details.quota.read_ops_per_s, 10);
    ck_assert_uint_eq(doc.details.quota.write_ops_per_s, 20);
    for (enum sto_limit i = 0; i < STO_LIMIT_COUNT; i++)
        ck_assert_uint_eq(doc.details.quota.limits[i],
                          i == STO_LIMIT_CELL ? 30 : sto_limit_info(i)->standard);
    base_buf_fini(&body);
}
END_TEST

START_TEST(unknown_fields_are_skipped)
{
    struct ten_details d = sample();
    struct ten_tenant_doc doc;
    struct buf body;
    encode(TEN_SUSPENDED, &d, &body);
    ck_assert_int_eq(base_record_put_u64(&body, 60000, 5), ERR_OK);
    ck_assert_int_eq(base_record_put_bytes(&body, 999, SLICE_LIT("later")), ERR_OK);
    ck_assert_int_eq(ten_tenant_decode(base_buf_slice(&body), &doc), ERR_OK);
    ck_assert_int_eq(doc.state, TEN_SUSPENDED);
    base_buf_fini(&body);
}
END_TEST

START_TEST(every_cut_is_refused_or_whole)
{
    struct ten_details d = sample();
    struct ten_tenant_doc doc;
    struct buf body;
    encode(TEN_ACTIVE, &d, &body);
    size_t whole = 0;
    for (size_t len = 0; len < body.len; len++)
        whole += ten_tenant_decode(base_slice(body.ptr, len), &doc) == ERR_OK;
    ck_assert_uint_le(whole, 23); /* only between two fields can a cut go unnoticed */
    ck_assert_int_eq(ten_tenant_decode(SLICE_EMPTY, &doc), ERR_CORRUPT);
    base_buf_fini(&body);
}
END_TEST

static enum err decode_with(uint32_t tag, bool number, uint64_t n, struct slice bytes)
{
    struct ten_details d = {0};
    struct ten_tenant_doc doc;
    struct buf body;
    ten_quota_default(&d.quota);
    encode(TEN_ACTIVE, &d, &body);
    ck_assert_int_eq(number ? base_record_put_u64(&body, tag, n)
                            : base_record_put_bytes(&body, tag, bytes),
                     ERR_OK);
    enum err rc = ten_tenant_decode(base_buf_slice(&body), &doc);
    base_buf_fini(&body);
    return rc;
}

START_TEST(fields_of_the_wrong_kind_or_size_are_refused)
{
    static char long_text[LIM_REASON + 1];
    memset(long_text, 'x', sizeof long_text);
    ck_assert_int_eq(decode_with(1, true, 99, SLICE_EMPTY), ERR_UNSUPPORTED);
    ck_assert_int_eq(decode_with(1, true, UINT64_MAX, SLICE_EMPTY), ERR_UNSUPPORTED);
    ck_assert_int_eq(decode_with(1, true, 0, SLICE_EMPTY), ERR_CORRUPT);
    for (size_t i = 0; i < TEN_QUOTA_FIELDS; i++) {
        struct ten_quota_field f = ten_quota_field(i);
        ck_assert_int_eq(decode_with(f.tag, true, f.max, SLICE_EMPTY), ERR_OK);
        if (f.max != UINT64_MAX)
            ck_assert_int_eq(decode_with(f.tag, true, f.max + 1, SLICE_EMPTY), ERR_CORRUPT);
        ck_assert_int_eq(decode_with(f.tag, true, 0, SLICE_EMPTY),
                         f.min == 0 ? ERR_OK : ERR_CORRUPT);
    }
    for (uint32_t tag = 1; tag <= 17; tag++) {
        bool is_text = tag == 2 || tag == 3 || tag == 11;
        ck_assert_int_eq(is_text ? decode_with(tag, true, 5, SLICE_EMPTY)
                                 : decode_with(tag, false, 0, SLICE_LIT("text")),
                         ERR_CORRUPT);
    }
    ck_assert_int_eq(decode_with(2, false, 0, base_slice(long_text, LIM_DISPLAY_NAME + 1)),
                     ERR_CORRUPT);
    ck_assert_int_eq(decode_with(3, false, 0, base_slice(long_text, LIM_REASON + 1)), ERR_CORRUPT);
    ck_assert_int_eq(decode_with(3, false, 0, SLICE_LIT("a\0b")), ERR_CORRUPT);
    ck_assert_int_eq(decode_with(60, true, 5, SLICE_EMPTY), ERR_CORRUPT);
    ck_assert_int_eq(decode_with(60, false, 0, base_slice(long_text, LIM_PLAN_ID + 1)),
                     ERR_CORRUPT);
    for (uint64_t bits = 0; bits < 6; bits++)
        ck_assert_int_eq(decode_with(61, true, bits, SLICE_EMPTY),
                         bits >= 1 && bits <= 3 ? ERR_OK : ERR_CORRUPT);
}
END_TEST

/* --- keys ------------------------------------------------------------------------------------- */

START_TEST(keys_are_as_documented)
{
    struct slice tenant = SLICE_LIT("altostrat");
    struct ten_doc_key t = ten_doc_key_tenant(tenant);
    struct ten_doc_key s = ten_doc_key_schema(tenant, SLICE_LIT("devices"));
    struct ten_doc_key p = ten_doc_key_schema(tenant, SLICE_EMPTY);
    struct ten_doc_key j = ten_doc_key_job(SLICE_LIT("0123456789abcdef"));
    ck_assert(base_slice_is(ten_doc_key_slice(&t), "t/altostrat"));
    ck_assert(base_slice_is(ten_doc_key_slice(&s), "s/altostrat/devices"));
    ck_assert(base_slice_is(ten_doc_key_slice(&p), "s/altostrat/"));
    ck_assert(base_slice_is(ten_doc_key_slice(&j), "j/0123456789abcdef"));
    struct ten_doc_key plan = ten_doc_key_plan(SLICE_LIT("gold"));
    ck_assert(base_slice_is(ten_doc_key_slice(&plan), "p/gold"));
    struct slice id;
    struct slice table;
    ck_assert_int_eq(ten_doc_key_table_parts(ten_doc_key_slice(&s), &id, &table), ERR_OK);
    ck_assert(base_slice_is(id, "altostrat") && base_slice_is(table, "devices"));
    struct ten_doc_key w = ten_doc_key_sweep(tenant, SLICE_LIT("devices"));
    ck_assert(base_slice_is(ten_doc_key_slice(&w), "w/altostrat/devices"));
    ck_assert_int_eq(ten_doc_key_table_parts(ten_doc_key_slice(&w), &id, &table), ERR_OK);
    ck_assert(base_slice_is(id, "altostrat") && base_slice_is(table, "devices"));
    ck_assert_int_eq(ten_doc_key_table_parts(SLICE_LIT("s/altostrat"), &id, &table), ERR_CORRUPT);
    ck_assert_int_eq(ten_doc_key_table_parts(SLICE_LIT("t/a/b"), &id, &table), ERR_CORRUPT);
}
END_TEST

START_TEST(no_tenants_schema_prefix_covers_anothers)
{
    static const char *const IDS[] = {"ab", "abc", "ab-", "ab-c", "a0", "b", "ab0"};
    for (size_t a = 0; a < 7; a++)
        for (size_t b = 0; b < 7; b++) {
            struct ten_doc_key prefix = ten_doc_key_schema(base_slice_text(IDS[a]), SLICE_EMPTY);
            struct ten_doc_key key =
                ten_doc_key_schema(base_slice_text(IDS[b]), SLICE_LIT("table"));
            ck_assert(base_slice_starts_with(ten_doc_key_slice(&key), ten_doc_key_slice(&prefix)) ==
                      (a == b));
        }
}
END_TEST

/* --- states ----------------------------------------------------------------------------------- */

START_TEST(only_the_legal_transitions_pass)
{
    /* to: active, suspended, purging, purged, delete_requested, expired */
    static const char LEGAL[TEN_STATES][TEN_STATES] = {
        [TEN_ACTIVE] = {0, 1, 1, 1, 0, 1, 0},           [TEN_SUSPENDED] = {0, 1, 1, 1, 0, 1, 0},
        [TEN_PURGING] = {0, 0, 0, 1, 1, 0, 0},          [TEN_PURGED] = {0, 0, 0, 0, 1, 0, 1},
        [TEN_DELETE_REQUESTED] = {0, 1, 1, 1, 0, 1, 0}, [TEN_EXPIRED] = {0, 0, 0, 0, 0, 0, 1},
    };
    for (enum ten_state from = TEN_ACTIVE; from < TEN_STATES; from++)
        for (enum ten_state to = TEN_ACTIVE; to < TEN_STATES; to++) {
            struct errbuf eb = {0};
            enum err rc = ten_transition_check(from, to, &eb);
            ck_assert_int_eq(rc, LEGAL[from][to] ? ERR_OK : ERR_CONFLICT);
            if (rc != ERR_OK) {
                ck_assert_ptr_nonnull(strstr(eb.text, ten_state_name(from)));
                ck_assert_ptr_nonnull(strstr(eb.text, ten_state_name(to)));
            }
        }
}
END_TEST

START_TEST(states_have_names_and_gates)
{
    ck_assert_str_eq(ten_state_name(TEN_ACTIVE), "active");
    ck_assert_str_eq(ten_state_name(TEN_SUSPENDED), "suspended");
    ck_assert_str_eq(ten_state_name(TEN_PURGING), "purging");
    ck_assert_str_eq(ten_state_name(TEN_PURGED), "purged");
    ck_assert_str_eq(ten_state_name((enum ten_state)0), "unknown");
    ck_assert_str_eq(ten_state_name(TEN_DELETE_REQUESTED), "delete_requested");
    ck_assert_str_eq(ten_state_name(TEN_EXPIRED), "expired");
    ck_assert_str_eq(ten_state_name((enum ten_state)TEN_STATES), "unknown");
    ck_assert_uint_eq(ten_state_gate(TEN_ACTIVE), 0);
    ck_assert_uint_eq(ten_state_gate(TEN_SUSPENDED), STO_GATE_NO_READS | STO_GATE_NO_WRITES);
    ck_assert_uint_eq(ten_state_gate(TEN_PURGING), STO_GATE_GONE);
    ck_assert_uint_eq(ten_state_gate(TEN_PURGED), STO_GATE_GONE);
    ck_assert_uint_eq(ten_state_gate(TEN_DELETE_REQUESTED), STO_GATE_GONE);
    ck_assert_uint_eq(ten_state_gate(TEN_EXPIRED), STO_GATE_GONE);
}
END_TEST

START_TEST(who_is_leaving_cannot_be_changed)
{
    for (enum ten_state s = TEN_ACTIVE; s < TEN_STATES; s++) {
        struct errbuf eb = {0};
        bool is_in_use = s == TEN_ACTIVE || s == TEN_SUSPENDED;
        ck_assert(ten_state_is_leaving(s) == !is_in_use);
        ck_assert(ten_state_is_final(s) == (!is_in_use && s != TEN_DELETE_REQUESTED));
        ck_assert_int_eq(ten_state_change_check(s, &eb), is_in_use ? ERR_OK : ERR_CONFLICT);
        ck_assert((strstr(eb.text, "undelete it first") != NULL) == (s == TEN_DELETE_REQUESTED));
    }
}
END_TEST

START_TEST(what_belongs_together_and_is_not_is_refused)
{
    struct ten_tenant_doc doc;
    struct ten_details d = sample();
    struct buf body;
    d.delete_at_us = 0;
    encode(TEN_DELETE_REQUESTED, &d, &body); /* without a time */
    ck_assert_int_eq(ten_tenant_decode(base_buf_slice(&body), &doc), ERR_CORRUPT);
    base_buf_fini(&body);
    ck_assert_int_eq(decode_with(62, true, 5, SLICE_EMPTY), ERR_CORRUPT); /* a time, but active */
    ck_assert_int_eq(decode_with(64, true, 5, SLICE_EMPTY), ERR_CORRUPT); /* no reason */
    ck_assert_int_eq(decode_with(66, false, 0, SLICE_LIT("why")), ERR_CORRUPT);
    ck_assert_int_eq(decode_with(63, false, 0, SLICE_LIT("x")), ERR_CORRUPT);
    ck_assert_int_eq(decode_with(65, true, 5, SLICE_EMPTY), ERR_CORRUPT);
}
END_TEST

Suite *suite_tenancy_tenant_doc(void);
Suite *suite_tenancy_tenant_doc(void)
{
    Suite *s = suite_create("tenancy_tenant_doc");
    TCase *c = tcase_create("body");
    tcase_add_test(c, round_trip_keeps_everything);
    tcase_add_test(c, empty_texts_and_no_limits_round_trip);
    tcase_add_test(c, documents_from_before_the_limits_get_the_defaults);
    tcase_add_test(c, unknown_fields_are_skipped);
    tcase_add_test(c, every_cut_is_refused_or_whole);
    tcase_add_test(c, fields_of_the_wrong_kind_or_size_are_refused);
    suite_add_tcase(s, c);
    c = tcase_create("keys");
    tcase_add_test(c, keys_are_as_documented);
    tcase_add_test(c, no_tenants_schema_prefix_covers_anothers);
    suite_add_tcase(s, c);
    c = tcase_create("states");
    tcase_add_test(c, only_the_legal_transitions_pass);
    tcase_add_test(c, states_have_names_and_gates);
    tcase_add_test(c, who_is_leaving_cannot_be_changed);
    tcase_add_test(c, what_belongs_together_and_is_not_is_refused);
    suite_add_tcase(s, c);
    return s;
}
