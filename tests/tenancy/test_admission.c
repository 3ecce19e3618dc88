/*
 * tests/tenancy/test_admission.c - who is admitted, what it is charged, and what it is told.
 * Over 500 lines because every policy is met with every way of being charged.
 */
#include "tests/tenancy/tent.h"

#include <inttypes.h>
#include <pthread.h>

#include "base/clock.h"
#include "tests/support/wall.h"

#include "base/banned.h"

static struct tent tent;

/* Requests of the main thread are charged at a time that stands still until a test advances it. */
static void setup(void)
{
    tent_make(&tent);
    tent_open(&tent);
    wall_hold_monotonic();
}

static void teardown(void)
{
    wall_release_monotonic();
    tent_close(&tent);
    tent_remove(&tent);
}

/* --- tools ------------------------------------------------------------------------------------ */

/* So slow that nothing comes back while a test runs, or so that a burst is known. */
static struct ten_tenant *tenant_with(const char *id, const char *field, uint64_t value)
{
    struct ten_tenant *t = tent_create(&tent, id);
    struct ten_quota q;
    bool found = false;
    ten_quota_default(&q);
    for (size_t i = 0; i < TEN_QUOTA_FIELDS; i++) {
        if (strcmp(ten_quota_field(i).name, field) == 0) {
            ten_quota_give(&q, i, value);
            found = true;
        }
    }
    ck_assert(found);
    ck_assert_int_eq(tent_set_quota(&tent, t, &q), ERR_OK);
    return t;
}

static struct ten_refusal why;

static enum err admit(struct ten_visit *v, enum ten_access access, uint64_t ops, uint64_t bytes)
{
    why = (struct ten_refusal){.name = NULL};
    return ten_admit(v, access, (struct ten_load){ops, bytes}, &why, &tent.eb);
}

static struct ten_visit visit_of(struct ten_tenant *t, struct ten_key_rates *key)
{
    struct ten_visit v = {.tenant = NULL};
    ten_visit_begin(&v, t, key);
    return v;
}

static void expect_refusal(enum ten_policy policy, const char *name, uint64_t limit)
{
    ck_assert_int_eq(why.policy, policy);
    ck_assert_str_eq(why.name, name);
    ck_assert_uint_eq(why.limit, limit);
    ck_assert_uint_gt(why.wait_ns, 0);
    ck_assert_ptr_nonnull(strstr(tent.eb.text, name));
}

static uint64_t throttled(const struct ten_tenant *t, enum ten_policy policy)
{
    struct ten_metered_now now;
    ten_meter_read(t, &now);
    ck_assert((now.throttled_ns[policy] > 0) == (now.throttled[policy] > 0));
    return now.throttled[policy];
}

static struct ten_key_rates *key_with(enum ten_rate_kind kind, uint64_t per_second)
{
    struct ten_rate_limits limits = {.burst_ms = 1000};
    for (size_t i = 0; i < TEN_RATE_COUNT; i++)
        limits.per_second[i] = UINT64_MAX;
    limits.per_second[kind] = per_second;
    return ten_key_rates_new(&limits);
}

/* --- each policy: below, at and above --------------------------------------------------------- */

struct limited {
    const char *field;
    uint64_t limit;
    enum ten_access access;
    struct ten_load one;
    uint64_t passes; /* of such loads at once */
    enum ten_policy policy;
    const char *name, *text;
};

static const struct limited LIMITED[] = {
    {"read_ops_per_s", 3, TEN_READ, {1, 0}, 3, TEN_POLICY_READ_OPS, "read_ops", "read operations"},
    {"write_ops_per_s",
     2,
     TEN_WRITE,
     {1, 5},
     2,
     TEN_POLICY_WRITE_OPS,
     "write_ops",
     "write operations"},
    {"write_bytes_per_s",
     1024,
     TEN_WRITE,
     {1, 2000},
     1,
     TEN_POLICY_WRITE_BYTES,
     "write_bytes",
     "bytes written"},
};

START_TEST(what_is_above_a_rate_is_refused_by_its_name)
{
    const struct limited *l = &LIMITED[_i];
    struct ten_tenant *t = tenant_with("altostrat", l->field, l->limit);
    struct ten_tenant *other = tenant_with("contoso", l->field, l->limit);
    struct ten_visit v = visit_of(t, NULL);
    for (uint64_t i = 0; i < l->passes; i++)
        ck_assert_int_eq(admit(&v, l->access, l->one.ops, l->one.bytes), ERR_OK);
    ck_assert_int_eq(admit(&v, l->access, l->one.ops, l->one.bytes), ERR_RATE_LIMITED);
    expect_refusal(l->policy, l->name, l->limit);
    ck_assert_uint_eq(throttled(t, l->policy), 1);
    char says[96];
    (void)snprintf(says, sizeof says, "the tenant's limit is %" PRIu64 " %s per second (%s); retry",
                   l->limit, l->text, l->name);
    ck_assert_msg(strncmp(tent.eb.text, says, strlen(says)) == 0, "%s", tent.eb.text);
    uint64_t wait_ns = why.wait_ns;
    /* the other kind of access, and the other tenant, are not touched */
    struct ten_visit w = visit_of(t, NULL);
    ck_assert_int_eq(admit(&w, l->access == TEN_READ ? TEN_WRITE : TEN_READ, 1, 0), ERR_OK);
    struct ten_visit x = visit_of(other, NULL);
    ck_assert_int_eq(admit(&x, l->access, l->one.ops, l->one.bytes), ERR_OK);
    ck_assert(!throttled(other, l->policy));
    /* what it was told is enough, and no more than enough */
    wall_advance_ns(wait_ns - 1);
    ck_assert_int_eq(admit(&v, l->access, l->one.ops, l->one.bytes), ERR_RATE_LIMITED);
    ck_assert_uint_eq(why.wait_ns, 1);
    wall_advance_ns(1);
    ck_assert_int_eq(admit(&v, l->access, l->one.ops, l->one.bytes), ERR_OK);
    ten_visit_end(&v);
    ten_visit_end(&w);
    ten_visit_end(&x);
}
END_TEST

START_TEST(a_refused_request_is_charged_nothing)
{
    struct ten_tenant *t = tenant_with("altostrat", "write_bytes_per_s", 1024);
    struct ten_visit v = visit_of(t, NULL);
    struct ten_key_rates *key = key_with(TEN_RATE_WRITE_OPS, 5);
    struct ten_visit w = visit_of(t, key);
    ck_assert_int_eq(admit(&v, TEN_WRITE, 1, 1024 * 1024), ERR_OK);
    for (int i = 0; i < 20; i++)
        ck_assert_int_eq(admit(&w, TEN_WRITE, 1, 1), ERR_RATE_LIMITED);
    expect_refusal(TEN_POLICY_WRITE_BYTES, "write_bytes", 1024);
    /* the key's operations were given back each time */
    ck_assert_uint_eq(ten_rate_left(&key->rates.write_ops, base_monotonic_ns()), 5);
    ck_assert_uint_eq(w.charged.ops, 0);
    ck_assert_uint_eq(ten_visit_cost(&w), 0);
    ck_assert(!w.under_way);
    ten_visit_end(&v);
    ten_visit_end(&w);
    ten_key_rates_unref(key);
}
END_TEST

START_TEST(bytes_that_come_later_are_refused_with_their_operation)
{
    struct ten_tenant *t = tenant_with("altostrat", "write_bytes_per_s", 1024);
    struct ten_key_rates *key = key_with(TEN_RATE_WRITE_OPS, 5);
    struct ten_visit v = visit_of(t, key);
    struct ten_visit w = visit_of(t, key);
    ck_assert_int_eq(admit(&v, TEN_WRITE, 1, 0), ERR_OK);
    ck_assert_int_eq(admit(&w, TEN_WRITE, 1, 0), ERR_OK);
    ck_assert_int_eq(ten_admit_bytes(&v, 5000, 1, &why, &tent.eb), ERR_OK);
    ck_assert_int_eq(ten_admit_bytes(&w, 1, 1, &why, &tent.eb), ERR_RATE_LIMITED);
    expect_refusal(TEN_POLICY_WRITE_BYTES, "write_bytes", 1024);
    ck_assert_uint_eq(ten_visit_cost(&w), 0);
    ck_assert_uint_eq(ten_visit_cost(&v), 2 + 5000 / 1024);
    ck_assert_uint_eq(ten_rate_left(&key->rates.write_ops, base_monotonic_ns()), 4);
    /* and who has not even begun is refused from the head */
    ck_assert_int_eq(admit(&w, TEN_WRITE, 1, 0), ERR_RATE_LIMITED);
    /* a load of nothing meets no rate */
    ck_assert_int_eq(admit(&w, TEN_WRITE, 0, 0), ERR_OK);
    ten_visit_end(&v);
    ten_visit_end(&w);
    ten_key_rates_unref(key);
}
END_TEST

START_TEST(state_is_looked_at_before_rates)
{
    struct ten_tenant *t = tenant_with("altostrat", "read_ops_per_s", 1);
    struct ten_visit v = visit_of(t, NULL);
    ck_assert_int_eq(admit(&v, TEN_READ, 1, 0), ERR_OK);
    ck_assert_int_eq(tent_suspend(&tent, t, "unpaid"), ERR_OK);
    struct ten_visit w = visit_of(t, NULL);
    ck_assert_int_eq(admit(&w, TEN_READ, 1, 0), ERR_SUSPENDED);
    ck_assert(!w.under_way);
    ck_assert_uint_eq(throttled(t, TEN_POLICY_READ_OPS), 0);
    ten_visit_end(&v);
    ten_visit_end(&w);
}
END_TEST

/* --- reads are charged afterwards ------------------------------------------------------------- */

START_TEST(visited_rows_and_bytes_close_the_byte_rate_of_reads)
{
    struct ten_tenant *t = tenant_with("altostrat", "read_bytes_per_s", 6400);
    struct ten_visit v = visit_of(t, NULL);
    ck_assert_int_eq(admit(&v, TEN_READ, 1, 0), ERR_OK);
    ten_charge_visited(&v, 50, 3000); /* 6200 */
    ck_assert_uint_eq(ten_visit_pause_ns(&v), 0);
    ck_assert_int_eq(admit(&v, TEN_READ, 1, 0), ERR_OK);
    ten_charge_visited(&v, 100, 0); /* 12600, rows alone */
    ck_assert_uint_gt(ten_visit_pause_ns(&v), 0);
    struct ten_visit w = visit_of(t, NULL);
    ck_assert_int_eq(admit(&w, TEN_READ, 1, 0), ERR_RATE_LIMITED);
    expect_refusal(TEN_POLICY_READ_BYTES, "read_bytes", 6400);
    ck_assert_uint_le(why.wait_ns, 1000000000);
    ck_assert_int_eq(admit(&w, TEN_WRITE, 1, 100), ERR_OK);
    /* the pause and the refusal */
    ck_assert_uint_eq(throttled(t, TEN_POLICY_READ_BYTES), 2);
    /* whatever it visits, the debt is one burst: two seconds later all is open */
    ten_charge_visited(&v, 1000000, 1ull << 40);
    ck_assert_int_eq(admit(&v, TEN_READ, 1, 0), ERR_RATE_LIMITED);
    ck_assert_uint_le(why.wait_ns, 1001000000);
    /* but who visited it waits for the rest as well, in pauses that end */
    for (int i = 0; i < 10; i++)
        ck_assert_uint_eq(ten_visit_pause_ns(&v), TEN_PAUSE_NS);
    ck_assert_uint_eq(ten_visit_pause_ns(&w) > 0, true);
    ten_visit_end(&v);
    ten_visit_end(&w);
}
END_TEST

START_TEST(a_condition_is_held_against_bytes_read)
{
    struct ten_tenant *t = tenant_with("altostrat", "read_bytes_per_s", 6400);
    struct ten_visit v = visit_of(t, NULL);
    struct ten_visit w = visit_of(t, NULL);
    ck_assert_int_eq(admit(&v, TEN_MODIFY, 1, 0), ERR_OK);
    ck_assert_int_eq(ten_admit_condition(&v, 1, &why, &tent.eb), ERR_OK);
    ten_charge_visited(&v, 1, 13000);
    ck_assert_uint_ge(ten_visit_cost(&v), 2 + 13000 / 1024);
    ck_assert_int_eq(admit(&w, TEN_MODIFY, 1, 0), ERR_OK); /* one without a condition */
    ck_assert_int_eq(ten_admit_condition(&w, 1, &why, &tent.eb), ERR_RATE_LIMITED);
    expect_refusal(TEN_POLICY_READ_BYTES, "read_bytes", 6400);
    ck_assert_uint_eq(ten_visit_cost(&w), 0);
    ten_visit_end(&v);
    ten_visit_end(&w);
}
END_TEST

START_TEST(a_dry_run_that_is_refused_takes_nothing_of_changes_of_tables)
{
    enum { ALL = LIM_CONTROL_OPS_PER_S * LIM_CONTROL_BURST_MS / 1000 };
    struct ten_tenant *t = tenant_with("altostrat", "read_bytes_per_s", 6400);
    struct ten_visit v = visit_of(t, NULL);
    struct ten_visit w = visit_of(t, NULL);
    ck_assert_int_eq(admit(&v, TEN_READ, 1, 0), ERR_OK);
    ten_charge_visited(&v, 1, 13000);
    for (int i = 0; i < ALL + 1; i++) {
        ck_assert_int_eq(admit(&w, TEN_DEFINE, 1, 0), ERR_OK);
        ck_assert_int_eq(ten_admit_condition(&w, 1, &why, &tent.eb), ERR_RATE_LIMITED);
    }
    expect_refusal(TEN_POLICY_READ_BYTES, "read_bytes", 6400);
    ten_visit_end(&v);
    ten_visit_end(&w);
}
END_TEST

START_TEST(deletions_close_the_byte_rate_of_writes)
{
    struct ten_tenant *t = tenant_with("altostrat", "write_bytes_per_s", 6400);
    struct ten_visit v = visit_of(t, NULL);
    struct ten_visit w = visit_of(t, NULL);
    ck_assert_int_eq(admit(&v, TEN_WRITE, 1, 100), ERR_OK);
    ten_charge_deleted(&v, 1ull << 40);
    ck_assert_uint_eq(ten_visit_cost(&v), 2 + ((1ull << 40) + 100) / 1024);
    ck_assert_int_eq(admit(&w, TEN_WRITE, 1, 0), ERR_RATE_LIMITED);
    expect_refusal(TEN_POLICY_WRITE_BYTES, "write_bytes", 6400);
    ck_assert_uint_le(why.wait_ns, 1001000000); /* the debt is one burst */
    ck_assert_int_eq(admit(&w, TEN_READ, 1, 0), ERR_OK);
    ten_visit_end(&v);
    ten_visit_end(&w);
}
END_TEST

START_TEST(handling_a_read_is_charged_beyond_its_operations)
{
    struct ten_tenant *t = tenant_with("altostrat", "read_bytes_per_s", 6400);
    struct ten_visit v = visit_of(t, NULL);
    ck_assert_int_eq(admit(&v, TEN_READ, 1, 0), ERR_OK);
    ten_charge_handling(&v, 3000);
    ten_charge_handling(&v, TEN_COST_READ_BYTES - 3000);
    ck_assert_uint_eq(v.charged.bytes, 0);
    ten_charge_visited(&v, 1, 1000); /* pays for nothing but itself */
    ck_assert_uint_eq(v.charged.bytes, 1064);
    ten_charge_handling(&v, 25600);
    ck_assert_uint_eq(v.charged.bytes, 1064 + 25600);
    ten_charge_handling(&v, 1);
    ck_assert_uint_eq(v.charged.bytes, 1064 + 25601);
    ck_assert_uint_eq(ten_visit_cost(&v), 1 + (1064 + 25601) / TEN_COST_READ_BYTES);
    ck_assert_uint_gt(ten_visit_pause_ns(&v), 0);
    ck_assert_int_eq(admit(&v, TEN_READ, 1, 0), ERR_RATE_LIMITED);
    expect_refusal(TEN_POLICY_READ_BYTES, "read_bytes", 6400);
    ck_assert_int_eq(admit(&v, TEN_WRITE, 1, 0), ERR_OK);
    ten_visit_end(&v);
}
END_TEST

START_TEST(handling_a_write_is_charged_beyond_its_operations_and_bytes)
{
    struct ten_tenant *t = tenant_with("altostrat", "write_bytes_per_s", 1024 * 1024);
    struct ten_visit v = visit_of(t, NULL);
    ck_assert_int_eq(admit(&v, TEN_WRITE, 2, 2560), ERR_OK);
    ten_charge_handling(&v, 2 * TEN_COST_WRITE * TEN_COST_WRITE_BYTES + 2560);
    ck_assert_uint_eq(v.charged.bytes, 2560);
    ten_charge_deleted(&v, 1000); /* pays for nothing but itself */
    ten_charge_handling(&v, 2560000);
    ck_assert_uint_eq(v.charged.bytes, 2560 + 1000 + 2560000);
    ck_assert_int_eq(admit(&v, TEN_WRITE, 1, 10), ERR_RATE_LIMITED);
    expect_refusal(TEN_POLICY_WRITE_BYTES, "write_bytes", 1024 * 1024);
    ck_assert_int_eq(admit(&v, TEN_READ, 1, 0), ERR_OK);
    ten_visit_end(&v);
}
END_TEST

START_TEST(a_read_that_went_beyond_the_debt_waits_for_all_of_it)
{
    struct ten_tenant *t = tenant_with("altostrat", "read_bytes_per_s", 10000);
    struct ten_visit v = visit_of(t, NULL);
    ck_assert_int_eq(admit(&v, TEN_READ, 1, 0), ERR_OK);
    ten_charge_visited(&v, 0, 22000); /* 10000 burst, 10000 debt, 2000 beyond */
    ck_assert_uint_eq(v.unpaid, 2000);
    ck_assert_uint_eq(ten_visit_pause_ns(&v), TEN_PAUSE_NS);
    ck_assert_uint_eq(v.unpaid, 2000); /* the common debt first */
    wall_advance_ns(TEN_PAUSE_NS + 10000000);
    ck_assert_uint_eq(ten_visit_pause_ns(&v), 200000000);
    ck_assert_uint_eq(ten_visit_pause_ns(&v), 0);
    ten_visit_end(&v);
}
END_TEST

START_TEST(cost_is_operations_and_bytes)
{
    struct ten_tenant *t = tent_create(&tent, "altostrat");
    struct ten_visit v = visit_of(t, NULL);
    ck_assert_uint_eq(ten_visit_cost(&v), 0);
    ck_assert_int_eq(admit(&v, TEN_READ, 1, 0), ERR_OK);
    ck_assert_uint_eq(ten_visit_cost(&v), 1);
    ten_charge_visited(&v, 1, 4096 - TEN_ROW_VISITED_BYTES - 1);
    ck_assert_uint_eq(ten_visit_cost(&v), 1);
    ten_charge_visited(&v, 0, 1);
    ck_assert_uint_eq(ten_visit_cost(&v), 2);
    struct ten_visit w = visit_of(t, NULL);
    ck_assert_int_eq(admit(&w, TEN_WRITE, 10, 1023), ERR_OK);
    ck_assert_uint_eq(ten_visit_cost(&w), 20);
    ck_assert_int_eq(ten_admit_bytes(&w, 1, 1, &why, &tent.eb), ERR_OK);
    ck_assert_uint_eq(ten_visit_cost(&w), 21);
    ten_visit_end(&v);
    ten_visit_end(&w);
}
END_TEST

/* --- a busy server ---------------------------------------------------------------------------- */

/* A tenant whose limit is so many a second and stays that, in debt for so many seconds. */
static struct ten_tenant *limited(uint64_t per_second, uint64_t owes_s)
{
    struct ten_tenant *t = tent_create(&tent, "altostrat");
    ten_rate_set(&t->load.limit, per_second, 1);
    atomic_store(&t->load.window, UINT64_MAX);
    (void)ten_rate_owe(&t->load.limit, per_second * owes_s, base_monotonic_ns());
    return t;
}

START_TEST(who_has_more_than_its_share_of_a_busy_server_waits_for_its_turn)
{
    struct ten_tenant *t = limited(1000, 1);
    struct ten_visit a = visit_of(t, NULL), b = visit_of(t, NULL);
    ck_assert_int_eq(admit(&a, TEN_WRITE, 1, 0), ERR_OK);
    uint64_t first_ns = ten_visit_turn_ns(&a);
    ck_assert_uint_gt(first_ns, 0);
    ck_assert_uint_le(first_ns, 1000000000);
    ck_assert_uint_eq(throttled(t, TEN_POLICY_SERVICE), 1);
    ck_assert_int_eq(admit(&b, TEN_WRITE, 1, 1000 * 1024), ERR_OK);
    ten_visit_end(&b);
    b = visit_of(t, NULL);
    ck_assert_int_eq(admit(&b, TEN_WRITE, 1, 0), ERR_OK); /* after what the one before it costs */
    ck_assert_uint_gt(ten_visit_turn_ns(&b), first_ns + 900000000);
    ten_visit_end(&a);
    ten_visit_end(&b);
}
END_TEST

START_TEST(one_that_has_begun_pays_for_each_of_its_writes)
{
    struct ten_tenant *t = limited(1000, 0);
    struct ten_visit v = visit_of(t, NULL);
    const struct ten_load many = {5000, 0};
    ck_assert_int_eq(admit(&v, TEN_WRITE, 0, 0), ERR_OK);
    ck_assert_uint_eq(ten_visit_turn_ns(&v), 0);
    ck_assert_int_eq(admit(&v, TEN_WRITE, 1, 0), ERR_OK);
    ck_assert_int_eq(ten_admit_bytes(&v, 500 * 1024, 1, &why, &tent.eb), ERR_OK);
    uint64_t line_ns = ten_visit_turn_ns(&v);
    ck_assert_uint_gt(line_ns, 400000000);
    ck_assert_int_eq(ten_admit_entries(&v, many, &why, &tent.eb), ERR_OK);
    ck_assert_uint_le(ten_visit_turn_ns(&v), line_ns); /* not yet begun */
    ten_visit_pay_entry(&v, 1000 * 1024);
    ck_assert_uint_gt(ten_visit_turn_ns(&v), 1300000000);
    ten_visit_end(&v);
}
END_TEST

START_TEST(who_would_wait_too_long_is_refused_with_a_hint)
{
    struct ten_tenant *t = limited(1000, 2 * LIM_OVERLOAD_TURN_MS / 1000);
    struct ten_visit v = visit_of(t, NULL);
    ck_assert_int_eq(admit(&v, TEN_WRITE, 1, 0), ERR_OVERLOADED);
    expect_refusal(TEN_POLICY_SERVICE, "service", 1000);
    ck_assert_uint_gt(why.wait_ns, LIM_OVERLOAD_TURN_MS * UINT64_C(1000000));
    ck_assert_uint_eq(throttled(t, TEN_POLICY_SERVICE), 1);
    ck_assert_uint_eq(ten_visit_cost(&v), 0);
    ck_assert(!v.under_way);
    ten_visit_end(&v);
}
END_TEST

/* But for changes of tables: they are few, and their clients do not try again. */
START_TEST(so_many_wait_and_no_more)
{
    static struct ten_visit v[LIM_OVERLOAD_TURNS];
    struct ten_tenant *t = limited(1000, 5);
    for (size_t i = 0; i < LIM_OVERLOAD_TURNS; i++) {
        v[i] = visit_of(t, NULL);
        ck_assert_int_eq(admit(&v[i], TEN_READ, 1, 0), ERR_OK);
    }
    struct ten_visit late = visit_of(t, NULL), change = visit_of(t, NULL);
    ck_assert_int_eq(admit(&late, TEN_READ, 1, 0), ERR_OVERLOADED);
    ck_assert_int_eq(admit(&change, TEN_DEFINE, 1, 0), ERR_OK);
    ck_assert_uint_gt(ten_visit_turn_ns(&change), 0);
    ten_visit_end(&change);
    ten_visit_end(&v[0]);
    ck_assert_int_eq(admit(&late, TEN_READ, 1, 0), ERR_OK);
    ten_visit_end(&late);
    for (size_t i = 1; i < LIM_OVERLOAD_TURNS; i++)
        ten_visit_end(&v[i]);
}
END_TEST

START_TEST(a_scan_of_a_limited_tenant_pauses_between_slices)
{
    struct ten_tenant *t = tent_create(&tent, "altostrat");
    ten_rate_set(&t->load.limit, 1000, 100);
    atomic_store(&t->load.window, UINT64_MAX);
    struct ten_visit v = visit_of(t, NULL);
    ck_assert_int_eq(admit(&v, TEN_READ, 1, 0), ERR_OK);
    ten_charge_visited(&v, 0, 50 * 1024);
    ck_assert_uint_eq(ten_visit_pause_ns(&v), 0); /* within the burst */
    ten_charge_visited(&v, 0, 500 * 1024);
    uint64_t pause_ns = ten_visit_pause_ns(&v);
    ck_assert_uint_eq(pause_ns, 452000000); /* 551 units, 99 of them within the burst */
    ck_assert_uint_eq(throttled(t, TEN_POLICY_SERVICE), 1);
    ten_visit_end(&v);
}
END_TEST

/* --- requests under way ----------------------------------------------------------------------- */

START_TEST(so_many_are_under_way_and_no_more)
{
    struct ten_tenant *t = tenant_with("altostrat", "concurrent_requests", 2);
    struct ten_visit a = visit_of(t, NULL), b = visit_of(t, NULL), c = visit_of(t, NULL);
    ck_assert_int_eq(admit(&a, TEN_READ, 1, 0), ERR_OK);
    ck_assert_int_eq(admit(&a, TEN_WRITE, 1, 0), ERR_OK); /* it counts once */
    ck_assert_int_eq(admit(&b, TEN_WRITE, 1, 0), ERR_OK);
    ck_assert_int_eq(admit(&c, TEN_READ, 1, 0), ERR_RATE_LIMITED);
    expect_refusal(TEN_POLICY_CONCURRENCY, "concurrency", 2);
    ck_assert_uint_eq(throttled(t, TEN_POLICY_CONCURRENCY), 1);
    ten_visit_end(&c); /* was never under way */
    c = visit_of(t, NULL);
    ck_assert_int_eq(admit(&c, TEN_READ, 1, 0), ERR_RATE_LIMITED);
    ten_visit_end(&a);
    ten_visit_end(&a); /* once */
    ck_assert_int_eq(admit(&c, TEN_READ, 1, 0), ERR_OK);
    ck_assert_uint_eq(atomic_load(&t->under_way), 2);
    ten_visit_end(&b);
    ten_visit_end(&c);
    ck_assert_uint_eq(atomic_load(&t->under_way), 0);
}
END_TEST

START_TEST(a_rate_that_refuses_leaves_nothing_under_way)
{
    struct ten_tenant *t = tenant_with("altostrat", "read_ops_per_s", 1);
    struct ten_visit a = visit_of(t, NULL), b = visit_of(t, NULL);
    ck_assert_int_eq(admit(&a, TEN_READ, 1, 0), ERR_OK);
    ck_assert_int_eq(admit(&b, TEN_READ, 1, 0), ERR_RATE_LIMITED);
    ck_assert_uint_eq(atomic_load(&t->under_way), 1);
    /* of one that is under way a later part is refused: it stays */
    ck_assert_int_eq(admit(&a, TEN_READ, 1, 0), ERR_RATE_LIMITED);
    ck_assert_uint_eq(atomic_load(&t->under_way), 1);
    ten_visit_end(&a);
    ten_visit_end(&b);
    ck_assert_uint_eq(atomic_load(&t->under_way), 0);
}
END_TEST

enum { THREADS = 4, TURNS = 20000, TOGETHER = 2 };

struct crowd {
    struct ten_tenant *tenant;
    _Atomic uint32_t inside;
    _Atomic uint32_t most;
    _Atomic uint32_t passed;
};

static void *come_and_go(void *arg)
{
    struct crowd *crowd = arg;
    for (int i = 0; i < TURNS; i++) {
        struct ten_visit v = {.tenant = NULL};
        struct ten_refusal no;
        struct errbuf eb;
        ten_visit_begin(&v, crowd->tenant, NULL);
        if (ten_admit(&v, TEN_READ, (struct ten_load){1, 0}, &no, &eb) == ERR_OK) {
            uint32_t now = atomic_fetch_add(&crowd->inside, 1) + 1;
            uint32_t most = atomic_load(&crowd->most);
            while (now > most && !atomic_compare_exchange_weak(&crowd->most, &most, now)) {
            }
            atomic_fetch_add(&crowd->passed, 1);
            atomic_fetch_sub(&crowd->inside, 1);
        }
        ten_visit_end(&v);
    }
    return NULL;
}

START_TEST(threads_never_exceed_the_cap_together)
{
    struct crowd crowd = {.tenant = tenant_with("altostrat", "concurrent_requests", TOGETHER)};
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, come_and_go, &crowd), 0);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    ck_assert_uint_le(atomic_load(&crowd.most), TOGETHER);
    ck_assert_uint_ge(atomic_load(&crowd.passed), TURNS);
    ck_assert_uint_eq(atomic_load(&crowd.tenant->under_way), 0);
    ck_assert_uint_eq(throttled(crowd.tenant, TEN_POLICY_CONCURRENCY) + crowd.passed,
                      THREADS * TURNS);
}
END_TEST

/* --- keys ------------------------------------------------------------------------------------- */

static const struct {
    enum ten_rate_kind kind;
    uint64_t limit;
    enum ten_access access;
    struct ten_load one;
    uint64_t passes;
    const char *name;
} OF_KEY[] = {
    {TEN_RATE_READ_OPS, 2, TEN_READ, {1, 0}, 2, "key_read_ops"},
    {TEN_RATE_WRITE_OPS, 3, TEN_WRITE, {1, 1}, 3, "key_write_ops"},
    {TEN_RATE_WRITE_BYTES, 1000, TEN_WRITE, {1, 1500}, 1, "key_write_bytes"},
};

START_TEST(a_key_has_rates_of_its_own)
{
    struct ten_tenant *t = tent_create(&tent, "altostrat");
    struct ten_key_rates *slow = key_with(OF_KEY[_i].kind, OF_KEY[_i].limit);
    struct ten_visit v = visit_of(t, slow);
    struct ten_load one = OF_KEY[_i].one;
    for (uint64_t i = 0; i < OF_KEY[_i].passes; i++)
        ck_assert_int_eq(admit(&v, OF_KEY[_i].access, one.ops, one.bytes), ERR_OK);
    ck_assert_int_eq(admit(&v, OF_KEY[_i].access, one.ops, one.bytes), ERR_RATE_LIMITED);
    expect_refusal(TEN_POLICY_KEY, OF_KEY[_i].name, OF_KEY[_i].limit);
    ck_assert_uint_eq(throttled(t, TEN_POLICY_KEY), 1);
    /* another key of the tenant goes on */
    struct ten_visit w = visit_of(t, NULL);
    ck_assert_int_eq(admit(&w, OF_KEY[_i].access, one.ops, one.bytes), ERR_OK);
    ten_visit_end(&v);
    ten_visit_end(&w);
    ten_key_rates_unref(slow);
}
END_TEST

START_TEST(what_a_key_visited_pauses_its_reads_alone)
{
    struct ten_tenant *t = tent_create(&tent, "altostrat");
    struct ten_key_rates *slow = key_with(TEN_RATE_READ_BYTES, 1024);
    struct ten_visit v = visit_of(t, slow), w = visit_of(t, NULL);
    ck_assert_int_eq(admit(&v, TEN_READ, 1, 0), ERR_OK);
    ten_charge_visited(&v, 0, 2000);
    ck_assert_uint_gt(ten_visit_pause_ns(&v), 0);
    ck_assert_uint_eq(throttled(t, TEN_POLICY_KEY), 1);
    ck_assert_uint_eq(throttled(t, TEN_POLICY_READ_BYTES), 0);
    ck_assert_uint_eq(ten_visit_pause_ns(&w), 0);
    ten_visit_end(&v);
    ten_visit_end(&w);
    ten_key_rates_unref(slow);
}
END_TEST

START_TEST(rates_of_a_key_outlive_it_while_a_call_is_under_way)
{
    struct ten_tenant *t = tent_create(&tent, "altostrat");
    struct ten_key_rates *key = key_with(TEN_RATE_READ_BYTES, 1024);
    struct ten_visit v = visit_of(t, key);
    ck_assert_int_eq(admit(&v, TEN_READ, 1, 0), ERR_OK);
    ten_key_rates_unref(key); /* revoked */
    ten_charge_visited(&v, 10, 10);
    ck_assert_uint_eq(atomic_load(&v.key->refs), 1);
    ten_visit_end(&v);
    ck_assert_ptr_null(v.key);
}
END_TEST

/* --- what a caller is told -------------------------------------------------------------------- */

START_TEST(a_tenant_without_limits_stands_nowhere)
{
    struct ten_standing all[TEN_STANDINGS];
    struct ten_visit v = visit_of(tent_create(&tent, "altostrat"), NULL);
    ck_assert_int_eq(admit(&v, TEN_WRITE, 1, 10), ERR_OK);
    ck_assert_uint_eq(ten_visit_standings(&v, all), 0);
    ck_assert_int_eq(ten_visit_write_room(&v), -1);
    ten_visit_end(&v);
    ck_assert_uint_eq(ten_visit_standings(&v, all), 0); /* nobody */
}
END_TEST

START_TEST(standings_name_every_limit_and_mark_those_in_use)
{
    struct ten_standing all[TEN_STANDINGS];
    struct ten_tenant *t = tent_create(&tent, "altostrat");
    struct ten_key_rates *key = key_with(TEN_RATE_READ_OPS, 7);
    struct ten_quota q;
    ten_quota_default(&q);
    for (size_t i = 3; i < 9; i++) /* four rates, the burst, requests at a time */
        ten_quota_give(&q, i, i == 7 ? 2000 : 2048);
    ck_assert_int_eq(tent_set_quota(&tent, t, &q), ERR_OK);
    struct ten_visit v = visit_of(t, key);
    ck_assert_int_eq(admit(&v, TEN_READ, 1, 0), ERR_OK);
    static const char *const names[] = {"read_ops",    "write_ops",   "read_bytes",
                                        "write_bytes", "concurrency", "key_read_ops"};
    static const bool used[] = {true, false, true, false, true, true};
    ck_assert_uint_eq(ten_visit_standings(&v, all), 6);
    for (size_t i = 0; i < 6; i++) {
        ck_assert_str_eq(all[i].name, names[i]);
        ck_assert_int_eq(all[i].is_used, used[i]);
        ck_assert_uint_eq(all[i].limit, i == 5 ? 7 : 2048);
        ck_assert_uint_eq(all[i].burst, i < 4 ? 4096 : all[i].limit);
    }
    ck_assert_uint_eq(all[0].left, 4095);
    ck_assert_uint_eq(all[4].left, 2048); /* it will have ended when it is read */
    ck_assert_uint_eq(all[5].left, 6);
    ck_assert_uint_gt(all[5].reset_ns, 0);
    ten_visit_end(&v);
    ten_key_rates_unref(key);
}
END_TEST

START_TEST(room_for_writes_is_that_of_the_fullest_rate)
{
    struct ten_tenant *t = tenant_with("altostrat", "write_bytes_per_s", 1000000);
    struct ten_key_rates *key = key_with(TEN_RATE_WRITE_OPS, 10);
    struct ten_visit v = visit_of(t, key);
    ck_assert_int_eq(admit(&v, TEN_WRITE, 4, 100), ERR_OK);
    ck_assert_int_eq(ten_visit_write_room(&v), 600);
    ck_assert_int_eq(admit(&v, TEN_WRITE, 1, 10000000), ERR_OK);
    ck_assert_int_eq(ten_visit_write_room(&v), 0);
    ten_visit_end(&v);
    ten_key_rates_unref(key);
}
END_TEST

static void add_case(Suite *s, TCase *c)
{
    tcase_set_timeout(c, 30);
    tcase_add_checked_fixture(c, setup, teardown);
    suite_add_tcase(s, c);
}

Suite *suite_tenancy_admission(void);
Suite *suite_tenancy_admission(void)
{
    Suite *s = suite_create("tenancy_admission");
    TCase *c = tcase_create("policies");
    add_case(s, c);
    tcase_add_loop_test(c, what_is_above_a_rate_is_refused_by_its_name, 0, 3);
    tcase_add_test(c, a_refused_request_is_charged_nothing);
    tcase_add_test(c, bytes_that_come_later_are_refused_with_their_operation);
    tcase_add_test(c, state_is_looked_at_before_rates);
    tcase_add_test(c, visited_rows_and_bytes_close_the_byte_rate_of_reads);
    tcase_add_test(c, a_condition_is_held_against_bytes_read);
    tcase_add_test(c, a_dry_run_that_is_refused_takes_nothing_of_changes_of_tables);
    tcase_add_test(c, deletions_close_the_byte_rate_of_writes);
    tcase_add_test(c, handling_a_read_is_charged_beyond_its_operations);
    tcase_add_test(c, handling_a_write_is_charged_beyond_its_operations_and_bytes);
    tcase_add_test(c, a_read_that_went_beyond_the_debt_waits_for_all_of_it);
    tcase_add_test(c, cost_is_operations_and_bytes);
    c = tcase_create("overload");
    add_case(s, c);
    tcase_add_test(c, who_has_more_than_its_share_of_a_busy_server_waits_for_its_turn);
    tcase_add_test(c, one_that_has_begun_pays_for_each_of_its_writes);
    tcase_add_test(c, who_would_wait_too_long_is_refused_with_a_hint);
    tcase_add_test(c, so_many_wait_and_no_more);
    tcase_add_test(c, a_scan_of_a_limited_tenant_pauses_between_slices);
    c = tcase_create("under_way");
    add_case(s, c);
    tcase_add_test(c, so_many_are_under_way_and_no_more);
    tcase_add_test(c, a_rate_that_refuses_leaves_nothing_under_way);
    tcase_add_test(c, threads_never_exceed_the_cap_together);
    c = tcase_create("keys");
    add_case(s, c);
    tcase_add_loop_test(c, a_key_has_rates_of_its_own, 0, 3);
    tcase_add_test(c, what_a_key_visited_pauses_its_reads_alone);
    tcase_add_test(c, rates_of_a_key_outlive_it_while_a_call_is_under_way);
    c = tcase_create("standings");
    add_case(s, c);
    tcase_add_test(c, a_tenant_without_limits_stands_nowhere);
    tcase_add_test(c, standings_name_every_limit_and_mark_those_in_use);
    tcase_add_test(c, room_for_writes_is_that_of_the_fullest_rate);
    return s;
}
