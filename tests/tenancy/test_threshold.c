/*
 * tests/tenancy/test_threshold.c - soft thresholds are noticed, upwards and downwards, once.
 */
#include "tests/tenancy/tent_rows.h"
#include "tests/tenancy/ticks.h"

#include "tenancy/table_restore.h"
#include "tenancy/threshold.h"

#include "base/banned.h"

static struct tent tent;
static struct ten_tenant *t;
static struct ten_tenant *other;

/* The control thread writes, the test reads after a pause. */
static struct ten_threshold_event events[16];
static _Atomic size_t event_count;

static void told(const struct ten_threshold_event *event)
{
    size_t n = atomic_load(&event_count);
    if (n < 16)
        events[n] = *event;
    atomic_store(&event_count, n + 1);
}

static void setup(void)
{
    tent_make(&tent);
    tent_open(&tent);
    ten_threshold_listen(tent.registry, told);
    t = tent_create(&tent, "altostrat");
    other = tent_create(&tent, "other");
    tent_table(&tent, t, "devices");
}

static void teardown(void)
{
    tent_close(&tent);
    tent_remove(&tent);
}

static void set_max(enum ten_used what, uint64_t max)
{
    struct ten_quota q;
    ten_quota_default(&q);
    if (what == TEN_USED_BYTES)
        GIVE(&q, stored_bytes, max);
    else if (what == TEN_USED_ROWS)
        GIVE(&q, rows, max);
    else if (what == TEN_USED_TABLES)
        GIVE_LIMIT(&q, STO_LIMIT_TABLES, max);
    else
        GIVE(&q, keys, max);
    ck_assert_int_eq(tent_set_quota(&tent, t, &q), ERR_OK);
}

/* Only this one of its quotas, and nothing of anybody else's. */
static void expect_levels(enum ten_used what, uint8_t percent)
{
    for (enum ten_used i = 0; i < TEN_USED_COUNT; i++) {
        ck_assert_uint_eq(ten_threshold_level(t, i), i == what ? percent : 0);
        ck_assert_uint_eq(ten_threshold_level(other, i), 0);
    }
}

static bool events_exceed(void *n)
{
    return atomic_load(&event_count) > *(const size_t *)n;
}

static void expect_event(size_t n, enum ten_used what, uint8_t from, uint8_t to, uint64_t used)
{
    process_await(events_exceed, &n, "an event");
    ck_assert_str_eq(events[n].field, ten_threshold_field(what));
    ck_assert_ptr_eq(events[n].tenant, t);
    ck_assert_uint_eq(events[n].from, from);
    ck_assert_uint_eq(events[n].to, to);
    ck_assert_uint_eq(events[n].used, used);
    expect_levels(what, to);
}

/* Nothing came behind the first n, and nothing comes. */
static void expect_no_more_than(size_t n)
{
    enum { TICKS = 20 }; /* each looks at one of the tenants at least, which are two */
    tent_await_ticks(&tent, TICKS);
    ck_assert_uint_eq(atomic_load(&event_count), n);
}

static void reopen(void)
{
    tent_reopen(&tent);
    t = tent_find(&tent, "altostrat");
    other = tent_find(&tent, "other");
    ten_threshold_listen(tent.registry, told);
}

static void put_rows(unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++) {
        char row[16];
        (void)snprintf(row, sizeof row, "r%02u", i);
        tent_write(&tent, t, "devices", row, "v");
    }
}

START_TEST(fields_are_called_as_in_quotas)
{
    static const char *const NAMES[TEN_USED_COUNT] = {
        "stored_bytes", "rows", "tables", "keys", "change_bytes", "schema_bytes"};
    for (enum ten_used i = 0; i < TEN_USED_COUNT; i++) {
        size_t n = 0;
        ck_assert_str_eq(ten_threshold_field(i), NAMES[i]);
        while (n < TEN_QUOTA_FIELDS && strcmp(ten_quota_field(n).name, NAMES[i]) != 0)
            n++;
        ck_assert_uint_lt(n, TEN_QUOTA_FIELDS);
    }
}
END_TEST

START_TEST(levels_of_rows_go_up_and_down_with_usage_and_quota)
{
    set_max(TEN_USED_ROWS, 10);
    put_rows(0, 8);
    expect_event(0, TEN_USED_ROWS, 0, 80, 8);
    put_rows(8, 9);
    expect_event(1, TEN_USED_ROWS, 80, 90, 9);
    put_rows(9, 10);
    expect_event(2, TEN_USED_ROWS, 90, 100, 10);
    set_max(TEN_USED_ROWS, 20); /* room was made */
    expect_event(3, TEN_USED_ROWS, 100, 0, 10);
    set_max(TEN_USED_ROWS, 11);
    expect_event(4, TEN_USED_ROWS, 0, 90, 10);
    reopen(); /* what was reached is not told again */
    expect_levels(TEN_USED_ROWS, 90);
    expect_no_more_than(5);
}
END_TEST

START_TEST(levels_of_bytes_go_up_and_down_with_the_quota)
{
    put_rows(0, 1);
    uint64_t used = tent_recount(&tent, t).bytes;
    set_max(TEN_USED_BYTES, used);
    expect_event(0, TEN_USED_BYTES, 0, 100, used);
    set_max(TEN_USED_BYTES, used * 2);
    expect_event(1, TEN_USED_BYTES, 100, 0, used);
}
END_TEST

/* --- tables ----------------------------------------------------------------------------------- */

static void make_tables(unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "t%02u", i);
        tent_table(&tent, t, name);
    }
}

START_TEST(levels_of_tables_go_up_and_down_with_tables_and_quota)
{
    set_max(TEN_USED_TABLES, 10);
    make_tables(1, 8); /* and the one of every test */
    expect_event(0, TEN_USED_TABLES, 0, 80, 8);
    make_tables(8, 9);
    expect_event(1, TEN_USED_TABLES, 80, 90, 9);
    make_tables(9, 10);
    expect_event(2, TEN_USED_TABLES, 90, 100, 10);
    ck_assert_int_eq(tent_delete_table(&tent, t, "t09", NULL), ERR_OK);
    expect_event(3, TEN_USED_TABLES, 100, 90, 9);
    set_max(TEN_USED_TABLES, 20);
    expect_event(4, TEN_USED_TABLES, 90, 0, 9);
    set_max(TEN_USED_TABLES, 11);
    expect_event(5, TEN_USED_TABLES, 0, 80, 9);
    reopen();
    expect_levels(TEN_USED_TABLES, 80);
    expect_no_more_than(6);
}
END_TEST

struct restoring {
    struct ten_table_restore *restore;
    enum err rc;
};

static void do_begin(struct tent *of, void *ctx)
{
    struct restoring *a = ctx;
    const struct ten_table_wish wish = {.table_id = SLICE_LIT("restored"),
                                        .like = ten_tenant_tables(t)->schemas[0]};
    a->rc = ten_table_restore_begin(of->registry, t, &wish, &a->restore, &of->eb);
}

static void do_publish(struct tent *of, void *ctx)
{
    struct restoring *a = ctx;
    a->rc = ten_table_restores_publish(&a->restore, 1, NULL, 0, &of->eb);
}

static void do_abandon(struct tent *of, void *ctx)
{
    struct restoring *a = ctx;
    (void)of;
    ten_table_restore_abandon(a->restore);
}

static bool is_begun(void *restoring)
{
    tent_control(&tent, do_begin, restoring);
    return ((const struct restoring *)restoring)->rc == ERR_OK;
}

START_TEST(tables_that_are_being_restored_count)
{
    struct restoring a;
    uint64_t schema_bytes = atomic_load(&t->schema_bytes);
    set_max(TEN_USED_TABLES, 2);
    tent_control(&tent, do_begin, &a);
    ck_assert_int_eq(a.rc, ERR_OK);
    ck_assert_uint_gt(atomic_load(&t->schema_bytes), schema_bytes);
    expect_event(0, TEN_USED_TABLES, 0, 100, 2);
    struct sto_family_spec f = {.name = SLICE_LIT("f")};
    ck_assert_int_eq(tent_try_table(&tent, t, "more", &f, 1, NULL), ERR_QUOTA);
    tent_control(&tent, do_abandon, &a);
    ck_assert_uint_eq(atomic_load(&t->schema_bytes), schema_bytes);
    expect_event(1, TEN_USED_TABLES, 100, 0, 1);
    process_await(is_begun, &a, "the name to be free again");
    expect_event(2, TEN_USED_TABLES, 0, 100, 2);
    schema_bytes = atomic_load(&t->schema_bytes);
    tent_control(&tent, do_publish, &a);
    ck_assert_int_eq(a.rc, ERR_OK);
    ck_assert_uint_eq(atomic_load(&t->schema_bytes), schema_bytes);
    expect_no_more_than(3); /* it counts once, as a table of everybody's */
}
END_TEST

/* --- keys ------------------------------------------------------------------------------------- */

static void do_set_keys(struct tent *of, void *ctx)
{
    ten_threshold_keys_set(of->registry, t, *(const size_t *)ctx);
}

static void set_keys(size_t keys)
{
    tent_control(&tent, do_set_keys, &keys);
}

static void do_load_keys(struct tent *of, void *ctx)
{
    ten_threshold_keys_load(of->registry, t, *(const size_t *)ctx);
}

START_TEST(levels_of_keys_go_up_and_down_with_keys_and_quota)
{
    size_t loaded = 9;
    set_max(TEN_USED_KEYS, 10);
    set_keys(8);
    expect_event(0, TEN_USED_KEYS, 0, 80, 8);
    set_keys(10);
    expect_event(1, TEN_USED_KEYS, 80, 100, 10);
    set_keys(9);
    expect_event(2, TEN_USED_KEYS, 100, 90, 9);
    set_max(TEN_USED_KEYS, 1000);
    expect_event(3, TEN_USED_KEYS, 90, 0, 9);
    set_max(TEN_USED_KEYS, 10);
    expect_event(4, TEN_USED_KEYS, 0, 90, 9);
    reopen();
    expect_no_more_than(5); /* it was looked at before anybody said how many keys there are */
    tent_control(&tent, do_load_keys, &loaded);
    expect_levels(TEN_USED_KEYS, 90);
    expect_no_more_than(5);
}
END_TEST

START_TEST(who_is_gone_is_at_no_threshold)
{
    char id[TEN_JOB_ID + 1];
    struct ten_job job;
    set_max(TEN_USED_KEYS, 1);
    set_keys(1);
    expect_event(0, TEN_USED_KEYS, 0, 100, 1);
    ck_assert_int_eq(tent_offboard(&tent, t, id), ERR_OK);
    tent_await_job(&tent, id, &job);
    ck_assert_int_eq(job.state, TEN_JOB_DONE);
    expect_event(1, TEN_USED_KEYS, 100, 0, 1); /* the key is there, and fills no quota */
    expect_no_more_than(2);
}
END_TEST

/* --- numbers ---------------------------------------------------------------------------------- */

START_TEST(thresholds_are_exact)
{
    ck_assert_uint_eq(ten_threshold_of(0, 0), 100);
    ck_assert_uint_eq(ten_threshold_of(UINT64_MAX, UINT64_MAX), 0);
    ck_assert_uint_eq(ten_threshold_of(79, 100), 0);
    ck_assert_uint_eq(ten_threshold_of(80, 100), 80);
    ck_assert_uint_eq(ten_threshold_of(89, 100), 80);
    ck_assert_uint_eq(ten_threshold_of(90, 100), 90);
    ck_assert_uint_eq(ten_threshold_of(99, 100), 90);
    ck_assert_uint_eq(ten_threshold_of(100, 100), 100);
    ck_assert_uint_eq(ten_threshold_of(500, 100), 100);
    ck_assert_uint_eq(ten_threshold_of(UINT64_MAX - 2, UINT64_MAX - 1), 90);
}
END_TEST

Suite *suite_tenancy_threshold(void);
Suite *suite_tenancy_threshold(void)
{
    Suite *s = suite_create("tenancy_threshold");
    TCase *c = tcase_create("levels");
    tcase_set_timeout(c, 120);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, levels_of_rows_go_up_and_down_with_usage_and_quota);
    tcase_add_test(c, levels_of_bytes_go_up_and_down_with_the_quota);
    tcase_add_test(c, levels_of_tables_go_up_and_down_with_tables_and_quota);
    tcase_add_test(c, tables_that_are_being_restored_count);
    tcase_add_test(c, levels_of_keys_go_up_and_down_with_keys_and_quota);
    tcase_add_test(c, who_is_gone_is_at_no_threshold);
    suite_add_tcase(s, c);
    c = tcase_create("numbers");
    tcase_add_test(c, fields_are_called_as_in_quotas);
    tcase_add_test(c, thresholds_are_exact);
    suite_add_tcase(s, c);
    return s;
}
