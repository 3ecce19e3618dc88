/*
 * tests/storage/test_recent.c - what is remembered of written cells: that it is true, and bounded.
 */
#include "fixture.h"

#include "storage/rocksdb/recent.h"
#include "tests/support/random.h"

#include "base/banned.h"

Suite *suite_storage_recent(void);

/* --- by itself -------------------------------------------------------------------------------- */

static struct rdb_size size_of(uint32_t len)
{
    return (struct rdb_size){.head = {.cells = len, .bytes = 2 * (uint64_t)len},
                             .value_len = len,
                             .family_name_len = (uint8_t)(len % 64)};
}

static bool holds(const struct rdb_recent *r, struct slice key, uint32_t len)
{
    struct rdb_size got, wanted = size_of(len);
    return sto_rdb_recent_find(r, key, &got) && got.head.cells == wanted.head.cells &&
           got.head.bytes == wanted.head.bytes && got.value_len == wanted.value_len &&
           got.family_name_len == wanted.family_name_len;
}

static void put(struct rdb_recent *r, struct slice key, uint32_t len)
{
    struct rdb_size size = size_of(len);
    sto_rdb_recent_put(r, key, &size);
}

START_TEST(the_last_size_of_a_key_is_found_until_it_is_forgotten)
{
    struct rdb_recent r;
    struct rdb_size size;
    struct slice a = SLICE_LIT("a"), ab = SLICE_LIT("ab");
    sto_rdb_recent_init(&r);
    ck_assert(!sto_rdb_recent_find(&r, a, &size));
    put(&r, a, 7);
    put(&r, ab, 9);
    put(&r, a, 8);
    ck_assert(holds(&r, a, 8));
    ck_assert(holds(&r, ab, 9));
    sto_rdb_recent_forget(&r, a);
    ck_assert(!sto_rdb_recent_find(&r, a, &size));
    ck_assert(holds(&r, ab, 9));
    put(&r, a, 6);
    sto_rdb_recent_clear(&r);
    ck_assert(!sto_rdb_recent_find(&r, a, &size));
    ck_assert(!sto_rdb_recent_find(&r, ab, &size));
    put(&r, a, 5);
    ck_assert(holds(&r, a, 5));
    ck_assert(!sto_rdb_recent_find(&r, ab, &size));
    sto_rdb_recent_fini(&r);
}
END_TEST

START_TEST(keys_up_to_the_limit_are_remembered)
{
    struct rdb_recent r;
    struct rdb_size size;
    uint8_t bytes[RDB_RECENT_KEY + 1] = {0};
    struct slice fits = base_slice(bytes, RDB_RECENT_KEY);
    struct slice longer = base_slice(bytes, RDB_RECENT_KEY + 1);
    sto_rdb_recent_init(&r);
    put(&r, fits, 1);
    put(&r, longer, 2);
    ck_assert(holds(&r, fits, 1));
    ck_assert(!sto_rdb_recent_find(&r, longer, &size));
    sto_rdb_recent_forget(&r, longer);
    ck_assert(holds(&r, fits, 1));
    sto_rdb_recent_fini(&r);
}
END_TEST

START_TEST(more_keys_than_places_push_others_out_and_are_never_mistaken)
{
    const uint32_t places = LIM_RECENT_SETS * RDB_RECENT_WAYS;
    struct rdb_recent r;
    struct rdb_size size;
    uint32_t found = 0;
    sto_rdb_recent_init(&r);
    for (uint32_t i = 0; i < 4 * places; i++) {
        put(&r, base_slice((const uint8_t *)&i, sizeof(i)), i);
        ck_assert(holds(&r, base_slice((const uint8_t *)&i, sizeof(i)), i));
    }
    for (uint32_t i = 0; i < 4 * places; i++) {
        struct slice key = base_slice((const uint8_t *)&i, sizeof(i));
        bool there = sto_rdb_recent_find(&r, key, &size);
        ck_assert(!there || holds(&r, key, i));
        found += there;
    }
    ck_assert_uint_le(found, places);
    ck_assert_uint_gt(found, places / 2);
    sto_rdb_recent_fini(&r);
}
END_TEST

/* --- in the engine ---------------------------------------------------------------------------- */

#define T (&fix.tables[0][0])

enum { ROWS = 5, FAMILIES = 3, COLUMNS = 2, VERSIONS = 3, STEPS = 1500, BATCH = 12, CHANGES = 3 };

/* The last one is longer than any key that is remembered. */
static struct slice row_key(size_t i)
{
    static const char *const KEYS[] = {"r", "ra", "rb", "s"};
    static uint8_t large[RDB_RECENT_KEY + 1];
    memset(large, 'x', sizeof(large));
    return i < ROWS - 1 ? base_slice_text(KEYS[i]) : base_slice(large, sizeof(large));
}

static struct slice column(size_t i)
{
    return i == 0 ? SLICE_LIT("a") : SLICE_LIT("b");
}

static const struct rdb_recent *recent(void)
{
    return &sto_rdb_committer_of(sto_rdb_engine(fix.engine), &fix.accounts[0])->batch.recent;
}

static rocksdb_pinnableslice_t *stored(struct slice key, struct slice *out_value)
{
    const struct rdb_db *db = &sto_rdb_engine(fix.engine)->db;
    char *error = NULL;
    rocksdb_pinnableslice_t *pinned = rocksdb_get_pinned_cf(db->handle, db->point, db->cells,
                                                            (const char *)key.ptr, key.len, &error);
    ck_assert_ptr_null(error);
    if (pinned != NULL)
        out_value->ptr = (const uint8_t *)rocksdb_pinnableslice_value(pinned, &out_value->len);
    return pinned;
}

/* Nothing is remembered under the n bytes of key (a header's, or a column's prefix), or what the
 * database holds; true when something is. */
static bool is_true(uint8_t *key, size_t n, bool is_head)
{
    struct rdb_size size;
    struct slice value = SLICE_EMPTY;
    if (!sto_rdb_recent_find(recent(), base_slice(key, n), &size))
        return false;
    if (!is_head)
        n = sto_key_version(key, n, (int64_t)~size.version);
    rocksdb_pinnableslice_t *pinned = stored(base_slice(key, n), &value);
    ck_assert_ptr_nonnull(pinned);
    struct sto_row_head head;
    struct sto_stored_cell cell;
    if (is_head) {
        ck_assert_int_eq(sto_row_head_decode(value, &head), ERR_OK);
        ck_assert_uint_eq(size.head.cells, head.cells);
        ck_assert_uint_eq(size.head.bytes, head.bytes);
    } else {
        ck_assert_int_eq(sto_cell_decode(value, &cell), ERR_OK);
        ck_assert_uint_eq(size.value_len, cell.bytes.len);
        ck_assert_uint_eq(size.family_name_len, cell.family_name_len);
    }
    rocksdb_pinnableslice_destroy(pinned);
    return true;
}

/* How much is remembered of all that the test writes. */
static size_t assert_all_true(void)
{
    uint8_t key[STO_KEY_MAX];
    size_t known = 0;
    for (size_t r = 0; r < ROWS; r++) {
        size_t row_len = sto_key_row(T, row_key(r), key);
        known += is_true(key, sto_key_header(key, row_len), true);
        for (uint16_t f = 1; f <= FAMILIES; f++)
            for (size_t c = 0; c < COLUMNS; c++)
                known += is_true(key, sto_key_column(key, row_len, f, column(c)), false);
    }
    return known;
}

static struct sto_mutation drawn_change(struct random *dice)
{
    static const uint8_t VALUE[40];
    struct sto_mutation m = {.kind = STO_SET_CELL,
                             .family = (uint16_t)(1 + random_below(dice, 2)),
                             .qualifier = column(random_below(dice, COLUMNS)),
                             .timestamp_us = 1000 * (1 + random_below(dice, VERSIONS)),
                             .value = base_slice(VALUE, 8 * random_below(dice, 5))};
    switch (random_below(dice, 16)) {
    case 0:
        m.kind = STO_DELETE_FROM_ROW;
        break;
    case 1:
        m.kind = STO_DELETE_FROM_FAMILY;
        break;
    case 2:
    case 3:
        m.kind = STO_DELETE_FROM_COLUMN;
        m.start_us = random_below(dice, 3000);
        break;
    case 4:
        m.kind = STO_APPEND;
        break;
    case 5: /* refused where the cell has another length: what came before it is undone */
    case 6:
        m.kind = STO_INCREMENT;
        m.increment = 1;
        break;
    case 7:
    case 8:
        m.kind = STO_ADD_TO_CELL;
        m.family = 3;
        m.value = base_slice(VALUE, 8);
        break;
    case 9:
        m.timestamp_us = STO_TIMESTAMP_SERVER;
        break;
    default:
        break;
    }
    return m;
}

static size_t run_batch(struct random *dice)
{
    struct sto_mutate_op ops[BATCH];
    struct sto_mutation changes[BATCH][CHANGES];
    size_t refused = 0;
    for (size_t i = 0; i < BATCH; i++) {
        size_t count = 1 + random_below(dice, CHANGES);
        for (size_t k = 0; k < count; k++)
            changes[i][k] = drawn_change(dice);
        ops[i] = (struct sto_mutate_op){.scope = *T,
                                        .row_key = row_key(random_below(dice, ROWS)),
                                        .mutations = changes[i],
                                        .mutation_count = count,
                                        .must_not_exist = random_below(dice, 30) == 0};
        fix_submit(&ops[i]);
    }
    fix_wait();
    for (size_t i = 0; i < BATCH; i++) {
        ck_assert_int_ne(ops[i].result, ERR_CORRUPT);
        refused += ops[i].result != ERR_OK;
    }
    return refused;
}

static void setup(void)
{
    fix_prepare();
    fix.aggregates = true;
    fix.gc[0] = (struct sto_gc_node){.kind = STO_GC_MAX_VERSIONS, .max_versions = 1};
    fix_open();
}

START_TEST(what_is_remembered_is_stored_whatever_changes_it)
{
    struct random dice = {.state = 20261120};
    uint8_t end[LIM_ROW_KEY];
    size_t known = 0, refused = 0, swept = 0;
    for (int i = 0; i < STEPS; i++) {
        refused += run_batch(&dice);
        known += assert_all_true();
        uint32_t other = random_below(&dice, 60);
        if (other == 0)
            ck_assert_int_eq(fix_drop(T, sto_range_of_prefix(SLICE_LIT("r"), end), 0, NULL),
                             ERR_OK);
        else if (other == 1)
            ck_assert_int_eq(fix_drop(T, (struct sto_row_range){.start = SLICE_EMPTY}, 2, NULL),
                             ERR_OK);
        else if (other == 2)
            swept += fix_sweep(T).cells;
        else if (other == 3)
            fix_flush();
        (void)assert_all_true();
        fix_assert_no_drift(0);
    }
    ck_assert_uint_gt(known, STEPS);
    ck_assert_uint_gt(refused, STEPS / 2);
    ck_assert_uint_gt(swept, STEPS / 60);
}
END_TEST

START_TEST(sizes_are_taken_from_memory_and_not_from_the_database)
{
    uint8_t key[STO_KEY_MAX];
    struct rdb_size size;
    size_t n = sto_key_row(T, SLICE_LIT("r"), key);
    ck_assert_int_eq(fix_put(T, "r", "four"), ERR_OK);
    n = sto_key_column(key, n, 1, SLICE_LIT("q"));
    ck_assert(sto_rdb_recent_find(recent(), base_slice(key, n), &size));
    ck_assert_uint_eq(size.value_len, 4);
    ck_assert_uint_eq(size.version, ~(uint64_t)1000);
    struct rdb_committer *c = sto_rdb_committer_of(sto_rdb_engine(fix.engine), &fix.accounts[0]);
    size.value_len = 3; /* a lie, to see that it is asked */
    sto_rdb_recent_put(&c->batch.recent, base_slice(key, n), &size);
    uint64_t bytes = sto_counters_read(&fix.accounts[0].total).bytes;
    ck_assert_int_eq(fix_put(T, "r", "five"), ERR_OK);
    ck_assert_uint_eq(sto_counters_read(&fix.accounts[0].total).bytes, bytes + 1);
}
END_TEST

START_TEST(nothing_is_remembered_of_a_write_that_failed)
{
    ck_assert_int_eq(fix_put(T, "r", "four"), ERR_OK);
    ck_assert(recent()->used);
    sto_rocksdb_test_fail_commit(fix.engine, 1);
    ck_assert_int_eq(fix_put(T, "r", "longer"), ERR_OUTCOME_UNKNOWN);
    ck_assert(!recent()->used);
}
END_TEST

START_TEST(a_purge_leaves_nothing_to_remember)
{
    const enum sto_purge_step steps[] = {STO_PURGE_FENCE, STO_PURGE_DELETE_RANGE};
    for (size_t i = 0; i < 2; i++) {
        atomic_store(&fix.accounts[0].gate, 0);
        ck_assert_int_eq(fix_put(T, "r", "four"), ERR_OK);
        ck_assert(recent()->used);
        atomic_store(&fix.accounts[0].gate, STO_GATE_GONE);
        ck_assert_int_eq(sto_purge_run(fix.engine, &fix.tenants[0], steps[i], NULL, 0, NULL),
                         ERR_OK);
        ck_assert(!recent()->used);
    }
}
END_TEST

Suite *suite_storage_recent(void)
{
    Suite *s = suite_create("storage_recent");
    TCase *alone = tcase_create("alone");
    tcase_add_test(alone, the_last_size_of_a_key_is_found_until_it_is_forgotten);
    tcase_add_test(alone, keys_up_to_the_limit_are_remembered);
    tcase_add_test(alone, more_keys_than_places_push_others_out_and_are_never_mistaken);
    suite_add_tcase(s, alone);
    TCase *engine = tcase_create("engine");
    tcase_add_checked_fixture(engine, setup, fix_teardown);
    tcase_set_timeout(engine, 120);
    tcase_add_test(engine, what_is_remembered_is_stored_whatever_changes_it);
    tcase_add_test(engine, sizes_are_taken_from_memory_and_not_from_the_database);
    tcase_add_test(engine, nothing_is_remembered_of_a_write_that_failed);
    tcase_add_test(engine, a_purge_leaves_nothing_to_remember);
    suite_add_tcase(s, engine);
    return s;
}
