/*
 * tests/tenancy/test_quota_exact.c - bytes and rows never overshoot, whoever writes at once; what
 * is refused would have, and freed space is usable at once.
 */
#include "tests/tenancy/tent_rows.h"

#include <pthread.h>
#include <sched.h>

#include "tests/support/random.h"

#include "base/banned.h"

enum { THREADS = 4, OPERATIONS = 400, KEYS = 40, VALUE = 64 };
#define BYTES_MAX 1500
#define ROWS_MAX  30

static struct tent tent;
static struct ten_tenant *tenant;

static void setup(void)
{
    tent_make(&tent);
    tent_open(&tent);
    tenant = tent_create(&tent, "altostrat");
    tent_table(&tent, tenant, "one");
    tent_table(&tent, tenant, "two");
    struct ten_quota q;
    ten_quota_default(&q);
    GIVE(&q, stored_bytes, BYTES_MAX);
    GIVE(&q, rows, ROWS_MAX);
    ck_assert_int_eq(tent_set_quota(&tent, tenant, &q), ERR_OK);
}

static void teardown(void)
{
    tent_close(&tent);
    tent_remove(&tent);
}

static const char VALUES[VALUE + 1] =
    "0123456789012345678901234567890123456789012345678901234567890123";

static const uint8_t GROWN[BYTES_MAX]; /* as a value: more than there is room for */

struct writer {
    pthread_t thread;
    struct base_mailbox mail;
    struct sto_table_scope scopes[2];
    struct random dice;
    unsigned number;
    bool done;
    int passed;
    int refused;
    int odd; /* results that may not be */
};

static void written(struct sto_mutate_op *op)
{
    struct writer *w = op->user;
    w->done = true;
}

/* Replaces a row by one cell, or deletes it. */
static enum err replace_by(struct writer *w, unsigned table, unsigned key, struct slice value,
                           bool deletes)
{
    char row[8];
    int row_len = snprintf(row, sizeof row, "r%02u", key);
    struct sto_mutation m[2] = {{.kind = STO_DELETE_FROM_ROW},
                                {.kind = STO_SET_CELL,
                                 .family = w->scopes[table].schema->families[0].number,
                                 .qualifier = SLICE_LIT("q"),
                                 .timestamp_us = 1000,
                                 .value = value}};
    struct sto_mutate_op op = {.reply_to = &w->mail,
                               .done = written,
                               .user = w,
                               .scope = w->scopes[table],
                               .row_key = base_slice(row, (size_t)row_len),
                               .mutations = m,
                               .mutation_count = deletes ? 1 : 2};
    w->done = false;
    sto_mutate_row(tent.engine, &op);
    while (!w->done) {
        base_mailbox_wait(&w->mail, 1000);
        (void)base_mailbox_run(&w->mail);
    }
    return op.result;
}

static enum err replace(struct writer *w, unsigned table, unsigned key, size_t len, bool deletes)
{
    return replace_by(w, table, key, base_slice(VALUES, len), deletes);
}

static _Atomic int writing; /* threads */

static void *write_at_random(void *arg)
{
    struct writer *w = arg;
    for (int i = 0; i < OPERATIONS; i++) {
        bool deletes = random_below(&w->dice, 4) == 0;
        enum err rc = replace(w, random_below(&w->dice, 2), random_below(&w->dice, KEYS),
                              random_below(&w->dice, VALUE + 1), deletes);
        w->passed += rc == ERR_OK;
        w->refused += rc == ERR_QUOTA;
        w->odd += rc != ERR_OK && (rc != ERR_QUOTA || deletes);
    }
    atomic_fetch_sub(&writing, 1);
    return NULL;
}

/* Its own row grows byte by byte, until one more is refused. */
static void *grow(void *arg)
{
    struct writer *w = arg;
    for (size_t len = 0; w->refused == 0 && len <= sizeof GROWN; len++) {
        enum err rc = replace_by(w, 0, w->number, base_slice(GROWN, len), false);
        w->passed += rc == ERR_OK;
        w->refused += rc == ERR_QUOTA;
        w->odd += rc != ERR_OK && rc != ERR_QUOTA;
    }
    return NULL;
}

static void writer_open(struct writer *w, uint64_t seed)
{
    memset(w, 0, sizeof *w);
    w->dice.state = seed;
    ck_assert_int_eq(base_mailbox_init(&w->mail), ERR_OK);
    ck_assert_int_eq(ten_scope_table(tenant, SLICE_LIT("one"), &w->scopes[0], &tent.eb), ERR_OK);
    ck_assert_int_eq(ten_scope_table(tenant, SLICE_LIT("two"), &w->scopes[1], &tent.eb), ERR_OK);
}

static void writer_close(struct writer *w)
{
    sto_table_scope_release(&w->scopes[0]);
    sto_table_scope_release(&w->scopes[1]);
    base_mailbox_fini(&w->mail);
}

static void expect_inside(void)
{
    struct sto_usage used = sto_counters_read(&tenant->account.total);
    ck_assert_uint_le(used.bytes, BYTES_MAX);
    ck_assert_uint_le(used.rows, ROWS_MAX);
}

START_TEST(many_writers_near_the_ceiling_never_overshoot)
{
    static struct writer writers[THREADS];
    int refused = 0;
    atomic_store(&writing, THREADS);
    for (int i = 0; i < THREADS; i++) {
        writer_open(&writers[i], (uint64_t)i + 1);
        ck_assert_int_eq(pthread_create(&writers[i].thread, NULL, write_at_random, &writers[i]), 0);
    }
    do {
        expect_inside();
        (void)sched_yield();
    } while (atomic_load(&writing) > 0);
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_join(writers[i].thread, NULL), 0);
        ck_assert_int_eq(writers[i].odd, 0);
        ck_assert_int_gt(writers[i].passed, 0);
        refused += writers[i].refused;
        writer_close(&writers[i]);
    }
    expect_inside();
    ck_assert_int_gt(refused, 0); /* it was near */
    struct sto_usage live = sto_counters_read(&tenant->account.total);
    struct sto_usage there = tent_recount(&tent, tenant);
    ck_assert_int_eq(memcmp(&live, &there, sizeof live), 0);
}
END_TEST

START_TEST(writers_together_fill_the_quota_to_its_last_byte)
{
    static struct writer writers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        writer_open(&writers[i], 1);
        writers[i].number = (unsigned)i;
        ck_assert_int_eq(pthread_create(&writers[i].thread, NULL, grow, &writers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_join(writers[i].thread, NULL), 0);
        ck_assert_int_eq(writers[i].odd, 0);
        ck_assert_int_eq(writers[i].refused, 1); /* who was refused a byte had none left */
        writer_close(&writers[i]);
    }
    struct sto_usage live = sto_counters_read(&tenant->account.total);
    struct sto_usage there = tent_recount(&tent, tenant);
    ck_assert_uint_eq(live.bytes, BYTES_MAX);
    ck_assert_int_eq(memcmp(&live, &there, sizeof live), 0);
}
END_TEST

/* One writer and a model: a write is refused when, and only when, it would go over. */
START_TEST(what_is_refused_would_overshoot_and_freed_space_is_usable_at_once)
{
    static struct writer w;
    size_t sizes[2][KEYS] = {{0}}; /* stored bytes of a row; 0: it is not there */
    uint64_t bytes = 0, rows = 0;
    int refused_bytes = 0, refused_rows = 0;
    writer_open(&w, 7);
    for (int i = 0; i < OPERATIONS; i++) {
        unsigned table = random_below(&w.dice, 2), key = random_below(&w.dice, KEYS);
        size_t len = random_below(&w.dice, i < OPERATIONS / 2 ? VALUE + 1 : 8);
        bool deletes = random_below(&w.dice, 4) == 0;
        size_t old = sizes[table][key];
        size_t size = deletes ? 0 : 3 + 1 + 1 + len + 8;
        bool over_bytes = size > old && bytes + size - old > BYTES_MAX;
        bool over_rows = size > 0 && old == 0 && rows + 1 > ROWS_MAX;
        enum err rc = replace(&w, table, key, len, deletes);
        ck_assert_int_eq(rc, over_bytes || over_rows ? ERR_QUOTA : ERR_OK);
        refused_bytes += over_bytes;
        refused_rows += over_rows && !over_bytes;
        if (rc != ERR_OK)
            continue;
        bytes += size - old;
        rows += (size > 0) - (uint64_t)(old > 0);
        sizes[table][key] = size;
    }
    ck_assert_int_gt(refused_bytes, 0);
    ck_assert_int_gt(refused_rows, 0);
    struct sto_usage there = tent_recount(&tent, tenant);
    ck_assert_uint_eq(there.bytes, bytes);
    ck_assert_uint_eq(there.rows, rows);
    writer_close(&w);
}
END_TEST

Suite *suite_tenancy_quota_exact(void);
Suite *suite_tenancy_quota_exact(void)
{
    Suite *s = suite_create("tenancy_quota_exact");
    TCase *c = tcase_create("exact");
    tcase_set_timeout(c, 120);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, many_writers_near_the_ceiling_never_overshoot);
    tcase_add_test(c, writers_together_fill_the_quota_to_its_last_byte);
    tcase_add_test(c, what_is_refused_would_overshoot_and_freed_space_is_usable_at_once);
    suite_add_tcase(s, c);
    return s;
}
