/*
 * tests/tenancy/test_metering.c - bills: exact totals, integrals and idle hours, whatever the clock
 * and the process do. 540 lines because all of it needs the same few helpers.
 */
#include "tests/tenancy/tent_rows.h"

#include "tenancy/internal.h"
#include "tenancy/metering.h"

#include "base/banned.h"

#define HOUR              500000ULL /* one of 2027; at 20:00, not the first of a day */
#define S                 1000000LL
#define AT(hour, seconds) ((int64_t)(hour)*TEN_HOUR_US + (seconds)*S)
#define BILLS             64

static struct tent tent;
static struct ten_tenant *t;

/* --- helpers ---------------------------------------------------------------------------------- */

static void stop_ticks(struct tent *tn, void *ctx)
{
    (void)ctx;
    ten_metering_test_stop(tn->registry);
}

static void reopen(void)
{
    tent_reopen(&tent);
    tent_control(&tent, stop_ticks, NULL);
    t = tent_find(&tent, "altostrat");
}

static void do_flush(struct tent *tn, void *ctx)
{
    const int64_t *now = ctx;
    ck_assert_int_eq(ten_metering_flush(tn->registry, *now, &tn->eb), ERR_OK);
}

static void flush(int64_t now_us)
{
    tent_control(&tent, do_flush, &now_us);
}

static uint64_t written(void)
{
    return ten_metering_written(tent.registry);
}

static struct bills {
    size_t count;
    struct {
        char tenant[LIM_TENANT_ID + 1];
        uint64_t hour;
        struct ten_metering_doc doc;
    } each[BILLS];
} bills;

static enum err take(void *ctx, const struct ten_bill *bill)
{
    (void)ctx;
    ck_assert_uint_lt(bills.count, BILLS);
    memcpy(bills.each[bills.count].tenant, bill->tenant.ptr, bill->tenant.len);
    bills.each[bills.count].tenant[bill->tenant.len] = '\0';
    bills.each[bills.count].hour = bill->hour;
    bills.each[bills.count++].doc = bill->doc;
    return ERR_OK;
}

static void read_bills(struct ten_tenant *tenant, uint64_t from, uint64_t until, int64_t now_us,
                       size_t steps)
{
    bool end = false;
    struct ten_bills *b = ten_bills_open(tent.registry, tenant, from, until, now_us);
    bills.count = 0;
    for (size_t calls = 0; !end; calls++) {
        ck_assert_uint_lt(calls, 100000);
        ck_assert_int_eq(ten_bills_read(b, steps, take, NULL, &end, &tent.eb), ERR_OK);
    }
    ten_bills_close(b);
}

/* Of the one bill of the tenant in that hour; NULL: there is none. */
static const struct ten_metering_doc *bill(const char *tenant, uint64_t hour, int64_t now_us)
{
    const struct ten_metering_doc *found = NULL;
    read_bills(NULL, hour, hour + 1, now_us, 3);
    for (size_t i = 0; i < bills.count; i++)
        if (strcmp(bills.each[i].tenant, tenant) == 0) {
            ck_assert_ptr_null(found);
            found = &bills.each[i].doc;
        }
    return found;
}

static void check_byte_s(const char *tenant, uint64_t hour, int64_t now_us, uint64_t byte_s)
{
    const struct ten_metering_doc *doc = bill(tenant, hour, now_us);
    ck_assert_msg((doc == NULL ? 0 : doc->byte_s) == byte_s, "%s in hour %llu: %llu, not %llu",
                  tenant, (unsigned long long)hour,
                  (unsigned long long)(doc == NULL ? 0 : doc->byte_s), (unsigned long long)byte_s);
}

/* Stored bytes of a tenant are set as if by a write. */
static void store(struct ten_tenant *tenant, uint64_t bytes)
{
    atomic_store(&tenant->account.total.bytes, bytes);
}

static void remove_doc(struct ten_doc_key key)
{
    const struct sto_doc_change change = {.key = ten_doc_key_slice(&key), .expect = STO_DOC_ANY};
    ck_assert_int_eq(sto_docs_commit(tent.engine, &change, 1, &tent.eb), ERR_OK);
}

static void setup(void)
{
    tent_make(&tent);
    tent_open(&tent);
    tent_control(&tent, stop_ticks, NULL);
    t = tent_create(&tent, "altostrat");
}

static void teardown(void)
{
    tent_close(&tent);
    tent_remove(&tent);
}

/* --- documents -------------------------------------------------------------------------------- */

START_TEST(document_comes_back_as_it_was_stored)
{
    struct ten_metering_doc d = {
        .byte_s = 1, .byte_rest = 999999, .at_us = TEN_HOUR_US, .bytes = 4};
    struct ten_metering_doc back;
    struct buf out;
    for (size_t i = 0; i < TEN_METER_COUNT; i++)
        d.each[i] = i == TEN_METER_LATENCY_NS ? 0 : UINT64_MAX - i;
    for (size_t i = 0; i < TEN_POLICY_COUNT; i++) {
        d.throttled[i] = i;
        d.throttled_ns[i] = UINT64_MAX - i;
    }
    base_buf_init(&out, TEN_METERING_DOC_MAX);
    ck_assert_int_eq(ten_metering_encode(&d, &out), ERR_OK);
    ck_assert_int_eq(ten_metering_decode(base_buf_slice(&out), &back), ERR_OK);
    ck_assert_mem_eq(&d, &back, sizeof d);
    ck_assert_int_eq(ten_metering_decode(base_slice(out.ptr, out.len - 1), &back), ERR_CORRUPT);
    base_buf_truncate(&out, 0);
    d.at_us = TEN_HOUR_US + 1;
    ck_assert_int_eq(ten_metering_encode(&d, &out), ERR_OK);
    ck_assert_int_eq(ten_metering_decode(base_buf_slice(&out), &back), ERR_CORRUPT);
    base_buf_fini(&out);
}
END_TEST

START_TEST(integral_keeps_fractions_and_never_runs_twice)
{
    struct ten_metering_doc d = {.at_us = 0};
    for (uint64_t us = 1; us <= 3000000; us += 7)
        ten_metering_settle(&d, 3, us);
    ten_metering_settle(&d, 3, 3000000);
    ck_assert_uint_eq(d.byte_s, 9);
    ck_assert_uint_eq(d.byte_rest, 0);
    ten_metering_settle(&d, 1000, 2000000);
    ck_assert_uint_eq(d.byte_s, 9);
    d = (struct ten_metering_doc){.at_us = 0};
    ten_metering_settle(&d, 1ULL << 50, TEN_HOUR_US);
    ck_assert_uint_eq(d.byte_s, 3600ULL << 50);
}
END_TEST

START_TEST(keys_sort_by_hour_and_come_apart)
{
    struct ten_doc_key k = ten_metering_key(HOUR, SLICE_LIT("altostrat"));
    struct slice tenant;
    uint64_t hour = 0;
    ck_assert(base_slice_is(ten_doc_key_slice(&k), "m/0000500000/altostrat"));
    ck_assert_int_eq(ten_metering_key_parts(ten_doc_key_slice(&k), &hour, &tenant), ERR_OK);
    ck_assert_uint_eq(hour, HOUR);
    ck_assert(base_slice_is(tenant, "altostrat"));
    k = ten_metering_base_key(HOUR);
    ck_assert_int_eq(ten_metering_key_parts(ten_doc_key_slice(&k), &hour, &tenant), ERR_OK);
    ck_assert_uint_eq(tenant.len, 0);
    ck_assert_int_eq(ten_metering_key_parts(SLICE_LIT("m/000050000"), &hour, &tenant), ERR_CORRUPT);
    ck_assert_int_eq(ten_metering_key_parts(SLICE_LIT("m/00005000x0/a"), &hour, &tenant),
                     ERR_CORRUPT);
    ck_assert_int_eq(ten_metering_key_parts(SLICE_LIT("m/0000500000a"), &hour, &tenant),
                     ERR_CORRUPT);
}
END_TEST

/* --- totals ----------------------------------------------------------------------------------- */

START_TEST(every_counter_is_billed_once)
{
    for (size_t i = 0; i < TEN_METER_COUNT; i++)
        ten_meter_add(t, (enum ten_metered)i, 10 + i);
    ten_meter_throttled(t, TEN_POLICY_QUOTA, 5);
    flush(AT(HOUR, 10));
    flush(AT(HOUR, 20));
    ten_meter_add(t, TEN_METER_READ_OPS, 1);
    flush(AT(HOUR, 30));
    const struct ten_metering_doc *d = bill("altostrat", HOUR, AT(HOUR, 40));
    ck_assert_ptr_nonnull(d);
    ck_assert_uint_eq(d->each[TEN_METER_READ_OPS], 11);
    for (size_t i = 1; i < TEN_METER_COUNT; i++)
        ck_assert_uint_eq(d->each[i], i == TEN_METER_LATENCY_NS ? 0 : 10 + i);
    ck_assert_uint_eq(d->throttled[TEN_POLICY_QUOTA], 1);
    ck_assert_uint_eq(d->throttled_ns[TEN_POLICY_QUOTA], 5);
}
END_TEST

START_TEST(rest_goes_to_the_hour_that_ended)
{
    ten_meter_add(t, TEN_METER_READ_OPS, 1);
    store(t, 100);
    flush(AT(HOUR, 3000));
    ten_meter_add(t, TEN_METER_READ_OPS, 2);
    flush(AT(HOUR + 1, 1)); /* the first tick of the new hour */
    ten_meter_add(t, TEN_METER_READ_OPS, 4);
    flush(AT(HOUR + 1, 11));
    ck_assert_uint_eq(bill("altostrat", HOUR, AT(HOUR + 1, 11))->each[TEN_METER_READ_OPS], 3);
    ck_assert_uint_eq(bill("altostrat", HOUR + 1, AT(HOUR + 1, 11))->each[TEN_METER_READ_OPS], 4);
    check_byte_s("altostrat", HOUR, AT(HOUR + 1, 11), 100 * 600);
    check_byte_s("altostrat", HOUR + 1, AT(HOUR + 1, 11), 100 * 11);
}
END_TEST

START_TEST(restart_goes_on_within_the_hour)
{
    ten_meter_add(t, TEN_METER_WRITE_OPS, 5);
    store(t, 100);
    flush(AT(HOUR, 10));
    ten_meter_add(t, TEN_METER_WRITE_OPS, 70); /* lost: the process dies before it is flushed */
    reopen();
    store(t, 100); /* as the counters that are loaded say */
    ten_meter_add(t, TEN_METER_WRITE_OPS, 1);
    flush(AT(HOUR, 30));
    ck_assert_uint_eq(bill("altostrat", HOUR, AT(HOUR, 30))->each[TEN_METER_WRITE_OPS], 6);
    check_byte_s("altostrat", HOUR, AT(HOUR, 30), 100 * 20);
}
END_TEST

START_TEST(departed_tenant_is_still_billed)
{
    char job[TEN_JOB_ID + 1];
    struct ten_job end;
    tent_table(&tent, t, "devices");
    tent_write(&tent, t, "devices", "row", "value");
    uint64_t stored = atomic_load(&t->account.total.bytes);
    flush(AT(HOUR, 0));
    ck_assert_int_eq(tent_offboard(&tent, t, job), ERR_OK);
    tent_await_job(&tent, job, &end);
    ck_assert_int_eq(end.state, TEN_JOB_DONE); /* its bill is no left-over */
    flush(AT(HOUR, 100));
    flush(AT(HOUR, 200));
    check_byte_s("altostrat", HOUR, AT(HOUR, 3000), stored * 100);
    check_byte_s("altostrat", HOUR + 1, AT(HOUR + 1, 3000), 0);
}
END_TEST

/* --- idle tenants ----------------------------------------------------------------------------- */

START_TEST(idle_hours_are_billed_without_a_write)
{
    store(t, 1000);
    flush(AT(HOUR, 600)); /* grows from nothing in the interval that ends here */
    uint64_t before = written();
    flush(AT(HOUR, 610));
    flush(AT(HOUR + 1, 0));
    flush(AT(HOUR + 3, 1800)); /* the same day */
    ck_assert_uint_eq(written(), before);
    check_byte_s("altostrat", HOUR, AT(HOUR + 3, 1800), 1000 * 3000);
    check_byte_s("altostrat", HOUR + 1, AT(HOUR + 3, 1800), 1000 * 3600);
    check_byte_s("altostrat", HOUR + 2, AT(HOUR + 3, 1800), 1000 * 3600);
    check_byte_s("altostrat", HOUR + 3, AT(HOUR + 3, 1800), 1000 * 1800);
    store(t, 0);
    flush(AT(HOUR + 3, 1800));
    check_byte_s("altostrat", HOUR + 3, AT(HOUR + 3, 3000), 1000 * 1800);
}
END_TEST

static void add_many(struct tent *tn, void *ctx)
{
    enum { MANY = 100000 };
    const struct ten_details details = {
        .display_name = "", .reason = "", .job = "", .instance = ""};
    char id[16];
    (void)ctx;
    for (size_t i = 0; i < MANY; i++) {
        int n = snprintf(id, sizeof id, "idle-%06zu", i);
        struct ten_tenant *one = ten_tenant_new(base_slice(id, (size_t)n), TEN_ACTIVE, &details);
        ck_assert_int_eq(ten_registry_add(tn->registry, one), ERR_OK);
        store(one, i % 2); /* half of them store something */
    }
}

START_TEST(a_hundred_thousand_idle_tenants_cost_a_write_a_day)
{
    uint64_t day = (HOUR / 24 + 1) * 24;
    tent_control(&tent, add_many, NULL);
    flush(AT(HOUR, 10));
    uint64_t before = written();
    ck_assert_uint_eq(before, 50000);
    flush(AT(HOUR, 20));
    for (uint64_t hour = HOUR + 1; hour < day; hour++)
        flush(AT(hour, 10));
    ck_assert_uint_eq(written(), before);
    read_bills(tent_find(&tent, "idle-099999"), day - 1, day, AT(day, 0), 10);
    ck_assert_uint_eq(bills.count, 1);
    ck_assert_uint_eq(bills.each[0].doc.byte_s, 3600);
    flush(AT(day, 10));
    ck_assert_uint_eq(written(), 2 * before);
}
END_TEST

START_TEST(bills_of_a_day_are_complete_without_the_day_before)
{
    uint64_t day = (HOUR / 24 + 1) * 24;
    store(t, 1000);
    flush(AT(HOUR, 0));
    flush(AT(day, 5));
    for (uint64_t hour = HOUR; hour < day; hour++) {
        remove_doc(ten_metering_key(hour, SLICE_LIT("altostrat")));
        remove_doc(ten_metering_base_key(hour));
    }
    check_byte_s("altostrat", day, AT(day + 2, 0), 1000 * 3600);
    check_byte_s("altostrat", day + 1, AT(day + 2, 0), 1000 * 3600);
}
END_TEST

START_TEST(hours_without_a_process_are_billed)
{
    store(t, 1000);
    flush(AT(HOUR, 0));
    reopen();
    store(t, 1000);
    flush(AT(HOUR + 50, 0)); /* over two midnights */
    read_bills(t, HOUR, HOUR + 50, AT(HOUR + 50, 0), 7);
    ck_assert_uint_eq(bills.count, 50);
    for (size_t i = 0; i < 50; i++) {
        ck_assert_uint_eq(bills.each[i].hour, HOUR + i);
        ck_assert_uint_eq(bills.each[i].doc.byte_s, 1000 * 3600);
    }
}
END_TEST

START_TEST(a_tenant_reads_the_same_as_an_operator)
{
    struct ten_tenant *other = tent_create(&tent, "other");
    struct ten_metering_doc all[4];
    store(t, 10);
    store(other, 20);
    flush(AT(HOUR, 10));
    ten_meter_add(t, TEN_METER_READ_OPS, 9);
    flush(AT(HOUR + 2, 10));
    for (uint64_t i = 0; i < 3; i++)
        all[i] = *bill("altostrat", HOUR + i, AT(HOUR + 2, 10));
    read_bills(t, HOUR, UINT64_MAX, AT(HOUR + 2, 10), 1);
    ck_assert_uint_eq(bills.count, 3);
    for (size_t i = 0; i < bills.count; i++) {
        ck_assert_str_eq(bills.each[i].tenant, "altostrat");
        ck_assert_mem_eq(&bills.each[i].doc, &all[i], sizeof all[i]);
    }
    read_bills(NULL, HOUR, UINT64_MAX, AT(HOUR + 2, 10), 1);
    ck_assert_uint_eq(bills.count, 6);
}
END_TEST

/* --- clocks ----------------------------------------------------------------------------------- */

START_TEST(clock_set_back_adds_to_the_hours_document)
{
    ten_meter_add(t, TEN_METER_READ_OPS, 1);
    store(t, 100);
    flush(AT(HOUR, 3000));
    flush(AT(HOUR + 1, 600));
    ten_meter_add(t, TEN_METER_READ_OPS, 2);
    flush(AT(HOUR + 1, 700)); /* billed up to here */
    store(t, 500);
    ten_meter_add(t, TEN_METER_READ_OPS, 4);
    flush(AT(HOUR, 3300)); /* back; what was done until now was done in the hour that it left */
    ten_meter_add(t, TEN_METER_READ_OPS, 8);
    flush(AT(HOUR, 3400));
    ck_assert_uint_eq(bill("altostrat", HOUR, AT(HOUR, 3400))->each[TEN_METER_READ_OPS], 9);
    flush(AT(HOUR + 1, 300));
    flush(AT(HOUR + 1, 1000));
    const struct ten_metering_doc *d = bill("altostrat", HOUR + 1, AT(HOUR + 1, 1000));
    ck_assert_uint_eq(d->each[TEN_METER_READ_OPS], 6);
    /* what was billed is not billed again, what comes is at what is stored */
    check_byte_s("altostrat", HOUR + 1, AT(HOUR + 1, 1000), 100 * 700 + 500 * 300);
    check_byte_s("altostrat", HOUR + 2, AT(HOUR + 2, 1000), 500 * 1000);
}
END_TEST

START_TEST(hours_lived_again_go_on_with_what_is_stored_then)
{
    store(t, 500);
    flush(AT(HOUR, 0));
    flush(AT(HOUR + 1, 0));
    store(t, 5);
    flush(AT(HOUR + 1, 600));
    flush(AT(HOUR, 1800));
    store(t, 0);
    flush(AT(HOUR, 1900));
    flush(AT(HOUR + 1, 0)); /* its document says 5 */
    flush(AT(HOUR + 1, 900));
    check_byte_s("altostrat", HOUR + 2, AT(HOUR + 2, 3000), 0);
}
END_TEST

START_TEST(clock_that_was_ahead_before_a_restart_loses_nothing)
{
    store(t, 100);
    flush(AT(HOUR, 0));
    store(t, 700);
    flush(AT(HOUR + 30, 0));
    reopen();
    store(t, 700);
    flush(AT(HOUR + 1, 0));
    check_byte_s("altostrat", HOUR + 2, AT(HOUR + 3, 0), 700 * 3600);
}
END_TEST

/* --- retention -------------------------------------------------------------------------------- */

static size_t removed;

static void do_expire(struct tent *tn, void *ctx)
{
    const int64_t *now = ctx;
    ck_assert_int_eq(ten_metering_expire(tn->registry, *now, &removed, &tn->eb), ERR_OK);
}

static size_t expire(int64_t now_us)
{
    tent_control(&tent, do_expire, &now_us);
    return removed;
}

START_TEST(bills_go_after_400_days_and_not_before)
{
    uint64_t first = HOUR / 24 * 24;
    store(t, 1);
    for (uint64_t day = 0; day <= 400; day++)
        flush(AT(first + 24 * day, 0));
    uint64_t last = first + 24 * 400;
    ck_assert_uint_eq(expire(AT(last, 0)), 0);
    flush(AT(last + 24, 0));
    ck_assert_uint_eq(expire(AT(last + 23, 3599)), 0);
    ck_assert_uint_eq(expire(AT(last + 24, 0)), 1);
    ck_assert_uint_eq(expire(AT(last + 24, 0)), 0);
    ck_assert_ptr_null(bill("altostrat", first, AT(last + 24, 0)));
    check_byte_s("altostrat", first + 24, AT(last + 24, 0), 3600);
    check_byte_s("altostrat", first + 25, AT(last + 24, 0), 3600);
}
END_TEST

START_TEST(clock_that_jumps_ahead_costs_no_bill)
{
    store(t, 1);
    flush(AT(HOUR, 0));
    flush(AT(HOUR + 24, 0));
    flush(AT(HOUR + 24 * 5000, 0));
    ck_assert_uint_eq(expire(AT(HOUR + 24 * 5000, 0)), 0);
    check_byte_s("altostrat", HOUR, AT(HOUR + 1, 0), 3600);
}
END_TEST

START_TEST(a_round_removes_a_bounded_part)
{
    enum { MANY = TEN_METERING_BATCH + 10 };
    struct ten_doc_key *keys = base_new_array(MANY, sizeof keys[0]);
    struct sto_doc_change *changes = base_new_array(MANY, sizeof changes[0]);
    char id[16];
    for (size_t i = 0; i < MANY; i++) {
        (void)snprintf(id, sizeof id, "tenant%05zu", i);
        keys[i] = ten_metering_key(HOUR, base_slice_text(id));
        changes[i] = (struct sto_doc_change){
            .key = ten_doc_key_slice(&keys[i]), .body = SLICE_LIT(""), .expect = STO_DOC_ANY};
    }
    ck_assert_int_eq(sto_docs_commit(tent.engine, changes, MANY, &tent.eb), ERR_OK);
    for (uint64_t day = 0; day <= 400; day++)
        flush(AT(HOUR + 24 * (day + 1), 0));
    ck_assert_uint_eq(expire(AT(HOUR + 24 * 401, 0)), TEN_METERING_BATCH);
    ck_assert_uint_eq(expire(AT(HOUR + 24 * 401, 0)), 10);
    ck_assert_uint_eq(expire(AT(HOUR + 24 * 401, 0)), 0);
    base_free(changes);
    base_free(keys);
}
END_TEST

static TCase *with_tent(Suite *s, const char *name)
{
    TCase *c = tcase_create(name);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, 60);
    suite_add_tcase(s, c);
    return c;
}

Suite *suite_tenancy_metering(void);

Suite *suite_tenancy_metering(void)
{
    Suite *s = suite_create("tenancy_metering");
    TCase *documents = tcase_create("documents");
    tcase_add_test(documents, document_comes_back_as_it_was_stored);
    tcase_add_test(documents, integral_keeps_fractions_and_never_runs_twice);
    tcase_add_test(documents, keys_sort_by_hour_and_come_apart);
    suite_add_tcase(s, documents);

    TCase *totals = with_tent(s, "totals");
    tcase_add_test(totals, every_counter_is_billed_once);
    tcase_add_test(totals, rest_goes_to_the_hour_that_ended);
    tcase_add_test(totals, restart_goes_on_within_the_hour);
    tcase_add_test(totals, departed_tenant_is_still_billed);

    TCase *idle = with_tent(s, "idle tenants");
    tcase_add_test(idle, idle_hours_are_billed_without_a_write);
    tcase_add_test(idle, a_hundred_thousand_idle_tenants_cost_a_write_a_day);
    tcase_add_test(idle, bills_of_a_day_are_complete_without_the_day_before);
    tcase_add_test(idle, hours_without_a_process_are_billed);
    tcase_add_test(idle, a_tenant_reads_the_same_as_an_operator);

    TCase *clocks = with_tent(s, "clocks");
    tcase_add_test(clocks, clock_set_back_adds_to_the_hours_document);
    tcase_add_test(clocks, hours_lived_again_go_on_with_what_is_stored_then);
    tcase_add_test(clocks, clock_that_was_ahead_before_a_restart_loses_nothing);

    TCase *retention = with_tent(s, "retention");
    tcase_add_test(retention, bills_go_after_400_days_and_not_before);
    tcase_add_test(retention, clock_that_jumps_ahead_costs_no_bill);
    tcase_add_test(retention, a_round_removes_a_bounded_part);
    return s;
}
