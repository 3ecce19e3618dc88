/*
 * tests/storage/test_sample.c - samples against what is really in front of them: small tables
 * exactly, large ones within a factor, in files of several levels, beside neighbours.
 * Over 500 lines because all of them ask the same operation of the same tables.
 */
#include "tests/storage/fixture.h"

#include "base/memory.h"
#include "tests/support/random.h"

#include "base/banned.h"

#define T (&fix.tables[0][0]) /* ab/t; beside it ab/t2 and abc/t */

#define FOUND_MAX 4096  /* of storage/rocksdb/sample.c */
#define ROWS      60000 /* more than are walked through */
#define AT_ONCE   1000
#define VALUE_MAX 400

static struct arena arena;
static struct sto_sample_op op; /* the last one */
static bool is_sampled;         /* it is answered */
static _Atomic bool is_unwanted;

static void set_up(void)
{
    base_arena_init(&arena, 64 * MIB);
    fix_setup_in_memory();
}

static void tear_down(void)
{
    base_arena_fini(&arena);
    fix_teardown();
}

/* --- tables with splits ----------------------------------------------------------------------- */

/* The scope's table becomes one that was made with these; its rows stay what is stored. */
static void split(struct sto_table_scope *scope, const struct slice *splits, size_t count)
{
    struct sto_family_spec families[2] = {{.name = SLICE_LIT("f")}, {.name = SLICE_LIT("gg")}};
    struct sto_table_spec spec = {
        .families = families, .family_count = 2, .splits = splits, .split_count = count};
    struct sto_tenant_scope tenant = scope->tenant;
    struct sto_schema *schema = NULL;
    ck_assert_int_eq(
        sto_schema_make(sto_schema_table_id(scope->schema), NULL, &spec, &schema, NULL), ERR_OK);
    struct sto_usage total = sto_counters_read(&tenant.account->total);
    sto_table_scope_release(scope);
    *scope = sto_table_scope_make(&tenant, schema);
    sto_schema_unref(schema);
    ck_assert_int_eq(sto_counters_load(fix.engine, scope, NULL), ERR_OK);
    ck_assert_uint_ge(sto_counters_read(&tenant.account->total).bytes, total.bytes);
}

/* --- asking ----------------------------------------------------------------------------------- */

static void sampled(struct sto_sample_op *done)
{
    (void)done;
    is_sampled = true;
    fix.outstanding--;
}

static void submit(const struct sto_table_scope *scope, uint64_t bytes_between)
{
    op = (struct sto_sample_op){.scope = *scope,
                                .bytes_between = bytes_between,
                                .arena = &arena,
                                .unwanted = &is_unwanted,
                                .reply_to = &fix.mailbox,
                                .done = sampled};
    is_sampled = false;
    fix.outstanding++;
    sto_sample_row_keys(fix.engine, &op);
}

static enum err ask(const struct sto_table_scope *scope, uint64_t bytes_between)
{
    submit(scope, bytes_between);
    fix_wait();
    ck_assert_ptr_null(op.engine_state);
    ck_assert_uint_eq(atomic_load(&scope->tenant.account->reads_open), 0);
    return op.result;
}

/* What is promised of every answer. */
static void sample(const struct sto_table_scope *scope, uint64_t bytes_between)
{
    ck_assert_msg(ask(scope, bytes_between) == ERR_OK, "%s", op.detail.text);
    ck_assert_uint_ge(op.count, 1);
    ck_assert_uint_le(op.count, FOUND_MAX + scope->schema->split_count + 1);
    size_t splits_seen = 0;
    for (size_t i = 0; i + 1 < op.count; i++) {
        const struct sto_sample *s = &op.samples[i];
        ck_assert_uint_gt(s->row_key.len, 0);
        if (i > 0)
            ck_assert_int_gt(base_slice_compare(s->row_key, s[-1].row_key), 0);
        ck_assert_uint_ge(s[1].offset_bytes, s->offset_bytes);
        splits_seen += splits_seen < scope->schema->split_count &&
                       base_slice_equal(s->row_key, scope->schema->splits[splits_seen]);
    }
    ck_assert_uint_eq(splits_seen, scope->schema->split_count);
    ck_assert_uint_eq(op.samples[op.count - 1].row_key.len, 0);
    ck_assert_uint_eq(op.samples[op.count - 1].offset_bytes,
                      sto_counters_read(&scope->schema->table->counters).bytes);
}

/* "key@offset ..." */
static void expect(const struct sto_table_scope *scope, uint64_t bytes_between, const char *wanted)
{
    struct buf text;
    base_buf_init(&text, MIB);
    sample(scope, bytes_between);
    for (size_t i = 0; i < op.count; i++) {
        ck_assert_int_eq(base_buf_append(&text, op.samples[i].row_key), ERR_OK);
        ck_assert_int_eq(
            base_buf_printf(&text, "@%llu ", (unsigned long long)op.samples[i].offset_bytes),
            ERR_OK);
    }
    ck_assert_int_eq(base_buf_append_byte(&text, 0), ERR_OK);
    ck_assert_str_eq((const char *)text.ptr, wanted);
    base_buf_fini(&text);
}

/* --- small tables ----------------------------------------------------------------------------- */

START_TEST(an_empty_table_is_its_splits_and_its_end)
{
    expect(T, 0, "@0 ");
    expect(T, 1, "@0 ");
    split(T, (struct slice[]){SLICE_LIT("p"), SLICE_LIT("g")}, 2);
    expect(T, 0, "g@0 p@0 @0 ");
    expect(T, 1, "g@0 p@0 @0 ");
    ck_assert_int_eq(fix_put(&fix.tables[1][0], "h", "of a neighbour"), ERR_OK);
    ck_assert_int_eq(fix_put(&fix.tables[0][1], "h", "of another table"), ERR_OK);
    expect(T, 0, "g@0 p@0 @0 ");
}
END_TEST

START_TEST(offsets_of_small_tables_are_exact)
{
    static const char *const ROW[] = {"b", "d", "f"}; /* of 20 bytes each */
    for (size_t i = 0; i < 3; i++)
        ck_assert_int_eq(fix_put(T, ROW[i], "012345678"), ERR_OK);
    expect(T, 0, "@60 ");
    expect(T, 1, "d@20 f@40 @60 ");
    expect(T, 20, "d@20 f@40 @60 ");
    expect(T, 21, "f@40 @60 ");
    expect(T, 41, "@60 ");
    expect(T, INT64_MAX, "@60 ");
    ck_assert_int_eq(fix_delete_row(T, "d"), ERR_OK);
    expect(T, 1, "f@20 @40 ");
}
END_TEST

START_TEST(splits_are_among_the_rows_whatever_is_asked_for)
{
    static const char *const ROW[] = {"b", "d", "f"};
    for (size_t i = 0; i < 3; i++)
        ck_assert_int_eq(fix_put(T, ROW[i], "012345678"), ERR_OK);
    split(T,
          (struct slice[]){SLICE_LIT("a"), SLICE_LIT("c"), SLICE_LIT("d"), SLICE_LIT("d\0\x01"),
                           SLICE_LIT("x"), SLICE_LIT("y")},
          6);
    sample(T, 0);
    static const uint64_t OFFSETS[] = {0, 20, 20, 40, 60, 60, 60};
    ck_assert_uint_eq(op.count, 7);
    for (size_t i = 0; i < 7; i++)
        ck_assert_uint_eq(op.samples[i].offset_bytes, OFFSETS[i]);
    ck_assert(base_slice_equal(op.samples[3].row_key, SLICE_LIT("d\0\x01")));
    split(T, (struct slice[]){SLICE_LIT("c")}, 1);
    expect(T, INT64_MAX, "c@20 @60 ");
    expect(T, 1, "c@20 f@40 @60 "); /* d is where c is: nothing between them */
}
END_TEST

START_TEST(small_tables_are_never_cut_into_too_many)
{
    char row[16];
    struct sto_mutation m = fix_set(1, "q", 1000, SLICE_EMPTY);
    for (int i = 0; i < 2 * FOUND_MAX; i++) {
        (void)snprintf(row, sizeof row, "r%05d", i);
        ck_assert_int_eq(fix_mutate(T, row, &m, 1), ERR_OK);
    }
    sample(T, 1);
    uint64_t total = op.samples[op.count - 1].offset_bytes;
    ck_assert_uint_gt(op.count, FOUND_MAX / 2);
    uint64_t before = 0;
    for (size_t i = 0; i < op.count; i++) {
        ck_assert_uint_le(op.samples[i].offset_bytes - before, 3 * total / FOUND_MAX);
        before = op.samples[i].offset_bytes;
    }
}
END_TEST

/* --- large tables ----------------------------------------------------------------------------- */

/* Rows 0..ROWS-1: the first half is small, the second large. */
static size_t value_len(size_t row)
{
    return row < ROWS / 2 ? 100 : VALUE_MAX;
}

#define KEY_LEN 9 /* "row-%05zu" */

static uint64_t bytes_before(size_t row)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < row; i++)
        bytes += KEY_LEN + 1 + 1 + 8 + value_len(i);
    return bytes;
}

/* Many in one commit, out of order, so that files of all levels overlap. */
static void fill(const struct sto_table_scope *scope, size_t rows, const char *prefix)
{
    static char row_keys[AT_ONCE][64];
    static uint8_t values[AT_ONCE][VALUE_MAX];
    static struct sto_mutation mutations[AT_ONCE];
    static struct sto_mutate_op ops[AT_ONCE];
    struct random r = {7};
    for (size_t done = 0; done < rows; done += AT_ONCE) {
        for (size_t i = 0; i < AT_ONCE; i++) {
            size_t row = (done + i) * 7919 % rows;
            (void)snprintf(row_keys[i], sizeof row_keys[i], "%s%05zu", prefix, row);
            for (size_t k = 0; k < VALUE_MAX; k++) /* nothing that can be compressed */
                values[i][k] = (uint8_t)random_next(&r);
            mutations[i] = fix_set(1, "q", 1000, base_slice(values[i], value_len(row)));
            ops[i] = (struct sto_mutate_op){.scope = *scope,
                                            .row_key = base_slice_text(row_keys[i]),
                                            .mutations = &mutations[i],
                                            .mutation_count = 1};
            fix_submit(&ops[i]);
        }
        for (size_t i = 0; i < AT_ONCE; i++) {
            fix_until_taken(&ops[i]);
            ck_assert_int_eq(ops[i].result, ERR_OK);
        }
    }
}

/* The row a sample stands at or in front of. */
static size_t row_of(struct slice key)
{
    size_t row = 0;
    ck_assert_uint_eq(key.len, KEY_LEN);
    ck_assert_mem_eq(key.ptr, "row-", 4);
    for (size_t i = 4; i < KEY_LEN; i++)
        row = row * 10 + (size_t)(key.ptr[i] - '0');
    return row;
}

static void expect_near(uint64_t offset, uint64_t truth, uint64_t off_by_max)
{
    uint64_t off_by = offset > truth ? offset - truth : truth - offset;
    ck_assert_msg(off_by <= off_by_max, "a sample at %llu, not %llu", (unsigned long long)offset,
                  (unsigned long long)truth);
}

/* Offsets are what is really there, but for a part of the table; parts are at most so large. */
static void expect_true_offsets(uint64_t part_max)
{
    uint64_t total = bytes_before(ROWS), before = 0;
    for (size_t i = 0; i < op.count; i++) {
        const struct sto_sample *s = &op.samples[i];
        uint64_t now = s->row_key.len == 0 ? total : bytes_before(row_of(s->row_key));
        expect_near(s->offset_bytes, now, total / 20);
        ck_assert_uint_le(now - before, part_max);
        before = now;
    }
}

START_TEST(large_tables_are_divided_by_what_files_hold)
{
    fill(&fix.tables[1][0], 20000, "row-"); /* neighbours on both sides */
    fill(T, ROWS, "row-");
    fill(&fix.tables[0][1], 20000, "row-");
    fix_flush();
    uint64_t total = bytes_before(ROWS);
    sample(T, 0);
    ck_assert_uint_eq(op.samples[op.count - 1].offset_bytes, total);
    ck_assert_uint_ge(op.count, total / (8 * MIB));
    expect_true_offsets(8 * MIB);
    sample(T, total / 50);
    ck_assert_uint_ge(op.count, 25);
    ck_assert_uint_le(op.count, 400);
    expect_true_offsets(total / 20);
    sample(T, 1); /* as fine as it gets, and all of the table */
    ck_assert_uint_ge(op.count, 1000);
    expect_true_offsets(total / 20);
    sample(T, INT64_MAX);
    ck_assert_uint_eq(op.count, 1);

    split(T,
          (struct slice[]){SLICE_LIT("row-0"), SLICE_LIT("row-20000"), SLICE_LIT("row-20001"),
                           SLICE_LIT("row-45"), SLICE_LIT("row-99")},
          5);
    sample(T, INT64_MAX);
    ck_assert_uint_eq(op.count, 6);
    ck_assert_uint_eq(op.samples[0].offset_bytes, 0);
    expect_near(op.samples[4].offset_bytes, total, total / 1000); /* by the sizes of files */
    sample(T, total / 50);
    ck_assert_uint_ge(op.count, 25);
}
END_TEST

START_TEST(a_thousand_splits_of_a_large_table_are_all_shown)
{
    static char names[LIM_SPLITS][KEY_LEN + 1];
    struct slice splits[LIM_SPLITS];
    fill(T, ROWS, "row-");
    fix_flush();
    for (size_t i = 0; i < LIM_SPLITS; i++) {
        (void)snprintf(names[i], sizeof names[i], "row-%05zu", i * (ROWS / LIM_SPLITS));
        splits[i] = base_slice_text(names[i]);
    }
    split(T, splits, LIM_SPLITS);
    sample(T, 0);
    ck_assert_uint_eq(op.count, LIM_SPLITS + 1);
    expect_true_offsets(bytes_before(ROWS) / 100);
    sample(T, 1);
    ck_assert_uint_gt(op.count, LIM_SPLITS + 1);
    expect_true_offsets(bytes_before(ROWS) / 100);
}
END_TEST

START_TEST(keys_that_share_nearly_everything_are_told_apart)
{
    fill(T, ROWS, "row-a-long-prefix-that-every-row-has-");
    ck_assert_int_eq(fix_put(T, "a", "far away"), ERR_OK);
    ck_assert_int_eq(fix_put(T, "z", "far away"), ERR_OK);
    fix_flush();
    uint64_t total = sto_counters_read(&T->schema->table->counters).bytes;
    sample(T, total / 20);
    ck_assert_uint_ge(op.count, 10);
    uint64_t before = 0;
    for (size_t i = 0; i < op.count; i++) {
        ck_assert_uint_le(op.samples[i].offset_bytes - before, total / 5);
        before = op.samples[i].offset_bytes;
    }
}
END_TEST

START_TEST(large_tables_in_memory_are_walked_through)
{
    fix_close();
    fix.options.memtable_bytes = 256 * MIB;
    fix_open();
    fill(T, ROWS, "row-");
    uint64_t total = bytes_before(ROWS);
    split(T, (struct slice[]){SLICE_LIT("row-30000")}, 1);
    sample(T, total / 10);
    ck_assert_uint_ge(op.count, 10);
    for (size_t i = 0; i + 1 < op.count; i++) /* no file knows better */
        ck_assert_uint_eq(op.samples[i].offset_bytes, bytes_before(row_of(op.samples[i].row_key)));
}
END_TEST

/* --- charging, and ends ----------------------------------------------------------------------- */

/* What the readers' fair order was charged for it. */
static uint64_t charged_for(uint64_t bytes_between)
{
    const struct sto_fair_line *scans = &T->tenant.account->scans;
    uint64_t before = scans->virtual_time;
    sample(T, bytes_between);
    return scans->virtual_time - before;
}

START_TEST(rows_that_are_walked_over_are_counted_and_charged)
{
    uint64_t of_none = charged_for(0);
    ck_assert_uint_eq(op.rows_seen, 1); /* that there is none */
    ck_assert_uint_eq(op.bytes_seen, 0);
    fill(T, 2 * AT_ONCE, "row-");
    uint64_t of_many = charged_for(0);
    ck_assert_uint_eq(op.rows_seen, 2 * AT_ONCE + 1);
    ck_assert_uint_ge(op.bytes_seen, (uint64_t)2 * AT_ONCE * KEY_LEN);
    ck_assert_uint_le(op.bytes_seen, (uint64_t)2 * AT_ONCE * (KEY_LEN + 40)); /* and a header */
    ck_assert_uint_ge(of_many, 100 * of_none); /* 125 operations more, of 64 steps */
    ck_assert_uint_le(of_many, 200 * of_none);
}
END_TEST

START_TEST(what_divides_a_large_table_is_counted)
{
    fill(T, ROWS, "row-");
    fix_flush();
    sample(T, bytes_before(ROWS) / 50);
    ck_assert_uint_ge(op.rows_seen, op.count - 1); /* a seek for each cut at least */
    ck_assert_uint_lt(op.rows_seen, ROWS / 10);
}
END_TEST

/* What comes while a reader walks, after its first ROWS_OF_A_LOOK rows. */
static void cancel(void)
{
    atomic_store(&is_unwanted, true);
}

static void run_late(void)
{
    op.deadline_ns = 1;
}

static void suspend(void)
{
    atomic_store(&fix.accounts[0].gate, STO_GATE_NO_READS);
}

static void delete_table(void)
{
    atomic_store(&T->schema->table->forgotten, true);
}

static const struct end {
    void (*come)(void);
    enum err result;
} ENDS[] = {{cancel, ERR_CANCELLED},
            {run_late, ERR_TIMEOUT},
            {suspend, ERR_SUSPENDED},
            {delete_table, ERR_NOT_FOUND}};

START_TEST(a_walk_ends_when_it_may_not_go_on)
{
    fill(T, AT_ONCE, "row-");
    sto_rocksdb_test_hold_at(fix.engine, STO_DIE_LOOKING);
    submit(T, 0);
    fix_await_held();
    ENDS[_i].come();
    sto_rocksdb_test_hold_at(fix.engine, STO_DIE_NEVER);
    fix_wait();
    ck_assert_int_eq(op.result, ENDS[_i].result);
    ck_assert_uint_eq(op.rows_seen, 16);
    atomic_store(&fix.accounts[0].gate, 0);
    atomic_store(&T->schema->table->forgotten, false);
}
END_TEST

/* As if all rows had been written while it walked. */
START_TEST(a_walk_ends_though_rows_come)
{
    fill(T, ROWS, "row-");
    struct sto_counters *counters = &T->schema->table->counters;
    atomic_store(&counters->rows, 0);
    ck_assert_int_eq(ask(T, 0), ERR_OK);
    ck_assert_uint_eq(op.rows_seen, 50000); /* WALK_ROWS_MAX of storage/rocksdb/sample.c */
    atomic_store(&counters->rows, ROWS);
}
END_TEST

static bool is_read_first;

static void read_done(struct sto_read_op *read)
{
    (void)read;
    is_read_first = !is_sampled;
    fix.outstanding--;
}

/* Walked through, or divided: either takes more steps than a slice that others wait for. */
START_TEST(a_sampling_lets_others_go_ahead)
{
    bool divides = _i == 1;
    struct fix_sink sink;
    fix_sink_init(&sink);
    uint64_t between = divides ? 1 : 1000;
    fill(T, divides ? ROWS : 12 * AT_ONCE, "row-");
    if (divides)
        fix_flush();
    process_await(fix_is_settled, NULL, "the end of compactions"); /* which sizes follow */
    split(T, (struct slice[]){SLICE_LIT("row-03000"), SLICE_LIT("row-07000")}, 2);
    sample(T, between); /* while nobody waits, in one slice */
    const struct sto_sample_op alone = op;
    sto_rocksdb_test_hold_at(fix.engine, STO_DIE_LOOKING);
    submit(T, between);
    fix_await_held();
    struct sto_read_op read = {
        .scope = fix.tables[1][0], .sink = &sink.sink, .reply_to = &fix.mailbox, .done = read_done};
    fix.outstanding++;
    ck_assert(!sto_read_rows(fix.engine, &read, false));
    sto_rocksdb_test_hold_at(fix.engine, STO_DIE_NEVER);
    fix_wait();
    ck_assert_int_eq(read.state, STO_READ_END);
    ck_assert_int_eq(op.result, ERR_OK);
    ck_assert(is_sampled && is_read_first);
    ck_assert_uint_gt(op.count, 1000);
    ck_assert_uint_eq(op.count, alone.count);
    for (size_t i = 0; i < op.count; i++) {
        ck_assert_uint_eq(op.samples[i].offset_bytes, alone.samples[i].offset_bytes);
        ck_assert(base_slice_equal(op.samples[i].row_key, alone.samples[i].row_key));
    }
    sto_read_finish(fix.engine, &read);
    base_buf_fini(&sink.text);
}
END_TEST

/* --- refusals --------------------------------------------------------------------------------- */

START_TEST(suspended_and_leaving_tenants_are_refused)
{
    atomic_store(&fix.accounts[0].gate, STO_GATE_NO_READS);
    ck_assert_int_eq(ask(T, 0), ERR_SUSPENDED);
    atomic_store(&fix.accounts[0].gate, STO_GATE_GONE);
    ck_assert_int_eq(ask(T, 0), ERR_GONE);
    atomic_store(&fix.accounts[0].gate, 0);
    expect(T, 0, "@0 ");
}
END_TEST

START_TEST(memory_of_the_caller_is_a_limit)
{
    uint8_t key[LIM_ROW_KEY];
    memset(key, 'k', sizeof key);
    base_arena_fini(&arena);
    base_arena_init(&arena, 1000);
    ck_assert_int_eq(ask(T, 0), ERR_NO_MEMORY);
    split(T, (struct slice[]){base_slice(key, sizeof key)}, 1);
    base_arena_fini(&arena);
    base_arena_init(&arena, (FOUND_MAX + 2) * sizeof(struct sto_sample) + LIM_ROW_KEY / 2);
    ck_assert_int_eq(ask(T, 0), ERR_NO_MEMORY); /* the samples fit, the key does not */
    ck_assert_str_eq(op.detail.text, "no memory for the samples");
    base_arena_fini(&arena);
    base_arena_init(&arena, MIB);
    sample(T, 0);
    ck_assert_uint_eq(op.count, 2);
}
END_TEST

/* What a sampling holds itself: its splits as they are stored, here. */
START_TEST(memory_of_the_tenant_is_a_limit)
{
    enum { SPLITS = 15 };
    static uint8_t keys[SPLITS][LIM_ROW_KEY];
    struct slice splits[SPLITS];
    struct base_memory budget = {.limit = 2 * sizeof keys};
    struct base_memory_share share = {.budget = &budget};
    for (size_t i = 0; i < SPLITS; i++) {
        memset(keys[i], 'a' + (int)i, sizeof keys[i]);
        splits[i] = base_slice(keys[i], sizeof keys[i]);
    }
    fill(T, AT_ONCE, "row-");
    split(T, splits, SPLITS);
    fix.accounts[0].memory = &share;
    ck_assert_int_eq(ask(T, 0), ERR_NO_MEMORY);
    ck_assert_msg(strstr(op.detail.text, " bytes together at this moment; send fewer"), "%s",
                  op.detail.text);
    ck_assert_uint_eq(atomic_load(&share.used), 0);
    budget.limit = 8 * sizeof keys;
    sto_rocksdb_test_hold_at(fix.engine, STO_DIE_LOOKING);
    submit(T, 0);
    fix_await_held();
    ck_assert_uint_ge(atomic_load(&share.used), sizeof keys);
    sto_rocksdb_test_hold_at(fix.engine, STO_DIE_NEVER);
    fix_wait();
    ck_assert_int_eq(op.result, ERR_OK);
    ck_assert_uint_eq(op.count, SPLITS + 1);
    ck_assert_uint_eq(atomic_load(&share.used), 0);
    fix.accounts[0].memory = NULL;
}
END_TEST

START_TEST(a_damaged_row_is_reported)
{
    static const char *const WRONG[] = {"ab#t#x", "ab#t#x\0\x02", "ab#t#x\0\x01\0\0"};
    static const size_t LEN[] = {6, 8, 10};
    struct rdb_db *db = &sto_rdb_engine(fix.engine)->db;
    for (size_t i = 0; i < 3; i++) {
        char *error = NULL;
        rocksdb_put_cf(db->handle, db->synced, db->cells, WRONG[i], LEN[i], "?", 1, &error);
        ck_assert_ptr_null(error);
        ck_assert_int_eq(ask(T, 0), ERR_CORRUPT);
        ck_assert_str_eq(op.detail.text, "a stored row is damaged");
        rocksdb_delete_cf(db->handle, db->synced, db->cells, WRONG[i], LEN[i], &error);
        ck_assert_ptr_null(error);
    }
    expect(T, 0, "@0 ");
}
END_TEST

static TCase *add_case(Suite *s, const char *name, int timeout)
{
    TCase *tc = tcase_create(name);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_set_timeout(tc, timeout);
    suite_add_tcase(s, tc);
    return tc;
}

Suite *suite_storage_sample(void);
Suite *suite_storage_sample(void)
{
    Suite *s = suite_create("storage_sample");
    TCase *tc = add_case(s, "small", 60);
    tcase_add_test(tc, an_empty_table_is_its_splits_and_its_end);
    tcase_add_test(tc, offsets_of_small_tables_are_exact);
    tcase_add_test(tc, splits_are_among_the_rows_whatever_is_asked_for);
    tcase_add_test(tc, small_tables_are_never_cut_into_too_many);
    tc = add_case(s, "large", 120);
    tcase_add_test(tc, large_tables_are_divided_by_what_files_hold);
    tcase_add_test(tc, a_thousand_splits_of_a_large_table_are_all_shown);
    tcase_add_test(tc, keys_that_share_nearly_everything_are_told_apart);
    tcase_add_test(tc, large_tables_in_memory_are_walked_through);
    tc = add_case(s, "charging and ends", 120);
    tcase_add_test(tc, rows_that_are_walked_over_are_counted_and_charged);
    tcase_add_test(tc, what_divides_a_large_table_is_counted);
    tcase_add_loop_test(tc, a_walk_ends_when_it_may_not_go_on, 0,
                        (int)(sizeof ENDS / sizeof ENDS[0]));
    tcase_add_test(tc, a_walk_ends_though_rows_come);
    tcase_add_loop_test(tc, a_sampling_lets_others_go_ahead, 0, 2);
    tc = add_case(s, "refusals", 30);
    tcase_add_test(tc, suspended_and_leaving_tenants_are_refused);
    tcase_add_test(tc, memory_of_the_caller_is_a_limit);
    tcase_add_test(tc, memory_of_the_tenant_is_a_limit);
    tcase_add_test(tc, a_damaged_row_is_reported);
    return s;
}
