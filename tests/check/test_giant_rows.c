/*
 * tests/check/test_giant_rows.c - rows at the limits of the data model, over the storage API.
 *
 * Memory is measured, steps are counted; nothing is timed but what would hold up others: those
 * bounds are wide.
 */
#include "tests/storage/fixture.h"

#include <time.h>

#include "base/text.h"
#include "tests/support/memory.h"
#include "tests/support/process.h"

#include "base/banned.h"

Suite *suite_check_giant_rows(void);

#define T (&fix.tables[0][0])

/* Counts what comes and holds nothing of it. */
struct counter {
    struct sto_row_sink sink; /* first */
    struct memory_watch memory;
    uint64_t rows, cells, bytes;
    uint64_t before_row[2];
    size_t in_slice;
    uint64_t slices;
    uint8_t last; /* of the last cell's bytes */
};

static void counter_row_begin(struct sto_row_sink *sink, struct slice row_key)
{
    struct counter *c = (struct counter *)sink;
    (void)row_key;
    c->rows++;
    c->before_row[0] = c->cells;
    c->before_row[1] = c->bytes;
}

static void counter_cell(struct sto_row_sink *sink, const struct sto_cell *cell)
{
    struct counter *c = (struct counter *)sink;
    c->cells++;
    c->bytes += cell->value.len;
    c->in_slice += cell->value.len + cell->qualifier.len;
    c->last = cell->value.len > 0 ? cell->value.ptr[cell->value.len - 1] : 0;
    if (cell->value.len >= MIB)
        memory_watch_look(&c->memory);
}

static void counter_row_end(struct sto_row_sink *sink)
{
    (void)sink;
}

static void counter_row_undo(struct sto_row_sink *sink)
{
    struct counter *c = (struct counter *)sink;
    c->rows--;
    c->cells = c->before_row[0];
    c->bytes = c->before_row[1];
}

static bool counter_is_full(struct sto_row_sink *sink)
{
    return ((struct counter *)sink)->in_slice >= LIM_SLICE_BYTES;
}

/* Read all of it; op keeps what was counted by the engine. */
static void count_read(const struct sto_table_scope *scope, const struct sto_read_spec *spec,
                       struct counter *c, struct sto_read_op *op)
{
    *c = (struct counter){.sink = {.row_begin = counter_row_begin,
                                   .cell = counter_cell,
                                   .row_end = counter_row_end,
                                   .row_undo = counter_row_undo,
                                   .is_full = counter_is_full}};
    memory_watch_begin(&c->memory, 0);
    *op = (struct sto_read_op){.scope = *scope,
                               .spec = *spec,
                               .sink = &c->sink,
                               .reply_to = &fix.mailbox,
                               .done = fix_read_done};
    do {
        c->in_slice = 0;
        c->slices++;
        fix.outstanding++;
        if (sto_read_rows(fix.engine, op, false))
            fix.outstanding--;
        fix_wait();
        memory_watch_look(&c->memory);
    } while (op->state == STO_READ_MORE);
    ck_assert_msg(op->state == STO_READ_END, "%s", op->detail.text);
    sto_read_finish(fix.engine, op);
}

static struct sto_read_spec point(const char *row)
{
    return (struct sto_read_spec){.row_key = base_slice_text(row)};
}

/* --- 256 MiB
 * -------------------------------------------------------------------------------------- */

enum { CELL = 10 * 1024 * 1024, LEVEL_0_FILES = 4 };
/* Flushes and compactions, three at once (storage/rocksdb/db.c): each holds a cell as it was read,
 * as it is put into a block, and as that is compressed and written. None grows with the row. */
#define BACKGROUND (3UL * 4 * CELL)

static struct sto_usage used_by_tenant(void)
{
    return sto_counters_read(&fix.accounts[0].total);
}

static enum err put_cell(int number, size_t len)
{
    static uint8_t value[CELL];
    char qualifier[8];
    (void)snprintf(qualifier, sizeof qualifier, "%04d", number);
    for (size_t i = 0; i < len; i += 64) /* nothing that compresses away */
        value[i] = (uint8_t)(i >> 6 ^ (size_t)number * 41);
    value[len - 1] = (uint8_t)number;
    struct sto_mutation m = fix_set(1, qualifier, 1000, base_slice(value, len));
    return fix_mutate(T, "giant", &m, 1);
}

static uint64_t files_at_level_0(void)
{
    struct rdb_db *db = &sto_rdb_engine(fix.engine)->db;
    char *text = rocksdb_property_value_cf(db->handle, db->cells, "rocksdb.num-files-at-level0");
    uint64_t count = 0;
    ck_assert_int_eq(base_parse_u64(base_slice_text(text), &count), ERR_OK);
    rocksdb_free(text);
    return count;
}

static bool stays_settled(void *times)
{
    int *settled = times;
    *settled = fix_is_settled(NULL) ? *settled + 1 : 0;
    return *settled == 40;
}

/* A compaction holds a cell of each file it joins, too. */
static void wait_for_compactions(void)
{
    process_await(stays_settled, &(int){0}, "the end of all compactions");
}

START_TEST(a_row_of_256_mib_is_read_in_flat_memory_and_not_one_byte_larger)
{
    int number = 0;
    struct memory_watch writing;
    struct counter c;
    struct sto_read_op op;
    const size_t overhead = 5 + 1 + 4 + 8; /* row key, family name, qualifier, timestamp */
    memory_watch_begin(&writing, 0);
    for (uint64_t room; (room = LIM_ROW_BYTES - used_by_tenant().bytes) > 0; number++) {
        size_t len = room - overhead > CELL ? CELL : room - overhead;
        ck_assert_msg(put_cell(number, len) == ERR_OK, "%s", fix_detail.text);
        memory_watch_look(&writing);
        if (files_at_level_0() > LEVEL_0_FILES) /* the machine is slow */
            wait_for_compactions();
    }
    fix_assert_usage(0, LIM_ROW_BYTES, 1, (uint64_t)number);
    (void)printf("giant rows: a row of 256 MiB was written with %zu MiB\n",
                 (size_t)(memory_watch_growth(&writing) / MIB));
    /* a memtable holds a cell beyond its size */
    ck_assert_uint_lt(memory_watch_growth(&writing), BACKGROUND + fix.options.cache_bytes +
                                                         4 * (fix.options.memtable_bytes + CELL));

    ck_assert_int_eq(put_cell(number, 1), ERR_TOO_BIG);
    ck_assert_msg(strstr(fix_detail.text, "268435456") != NULL &&
                      strstr(fix_detail.text, "268435475") != NULL,
                  "%s", fix_detail.text);
    ck_assert_int_eq(put_cell(0, 1), ERR_OK); /* smaller is possible */
    ck_assert_int_eq(put_cell(0, CELL), ERR_OK);
    fix_assert_usage(0, LIM_ROW_BYTES, 1, (uint64_t)number);

    fix_reopen();
    wait_for_compactions();
    for (int again = 0; again < 2; again++) {
        struct sto_read_spec one = point("giant"), all = {0};
        count_read(T, again == 0 ? &one : &all, &c, &op);
        ck_assert_uint_eq(c.cells, number);
        ck_assert_uint_eq(c.bytes, LIM_ROW_BYTES - (uint64_t)number * overhead);
        ck_assert_uint_eq(c.last, number - 1);
        ck_assert_uint_ge(c.slices, number); /* a cell larger than a slice ends it */
        (void)printf("giant rows: reading it took %lu MiB\n", memory_watch_growth(&c.memory) / MIB);
        (void)fflush(stdout);
        ck_assert_uint_lt(memory_watch_growth(&c.memory), 64 * MIB + fix.options.cache_bytes);
    }
    ck_assert_int_eq(fix_delete_row(T, "giant"), ERR_OK);
    fix_assert_usage(0, 0, 0, 0);
    fix_assert_no_drift(0);
}
END_TEST

/* --- a million cells
 * ------------------------------------------------------------------------------- */

enum { PORTION = LIM_MUTATIONS_PER_ROW, PORTIONS = 10, MILLION = PORTION * PORTIONS };

static void put_portion(int portion)
{
    char(*names)[8] = base_new_array(PORTION, sizeof names[0]);
    struct sto_mutation *m = base_new_array(PORTION, sizeof m[0]);
    for (int i = 0; i < PORTION; i++) {
        (void)snprintf(names[i], sizeof names[i], "%06d", i * PORTIONS + portion);
        m[i] = fix_set(1, names[i], 1000, base_slice_text(names[i]));
    }
    ck_assert_msg(fix_mutate(T, "giant", m, PORTION) == ERR_OK, "%s", fix_detail.text);
    base_free(m);
    base_free(names);
}

/* Of the processor, all threads: what a committer is held for at most. */
static double seconds(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

START_TEST(a_row_of_a_million_cells_is_written_found_and_removed)
{
    struct counter c;
    struct sto_read_op op;
    struct memory_watch memory;
    memory_watch_begin(&memory, 0);
    for (int i = 0; i < PORTIONS; i++) {
        double begin = seconds();
        put_portion(i);
        memory_watch_look(&memory);
        (void)printf("giant rows: 100000 cells written with %.2f s of the processor\n",
                     seconds() - begin);
    }
    (void)printf("giant rows: writing took %lu MiB\n", memory_watch_growth(&memory) / MIB);
    ck_assert_uint_lt(memory_watch_growth(&memory), 128 * MIB);
    fix_assert_usage(0, MILLION * (5 + 1 + 6 + 6 + 8UL), 1, MILLION);

    struct sto_read_spec spec = point("giant");
    count_read(T, &spec, &c, &op);
    ck_assert_uint_eq(c.cells, MILLION);
    ck_assert_uint_lt(memory_watch_growth(&c.memory), 64 * MIB + fix.options.cache_bytes);

    spec.narrowed = true;
    spec.projection = fix_column(1, SLICE_LIT("777777"));
    count_read(T, &spec, &c, &op);
    ck_assert_uint_eq(c.cells, 1);
    ck_assert_uint_le(op.cells_seen, 2);
    ck_assert_uint_le(op.seeks, 2);

    static const struct sto_filter column = {.kind = STO_FILTER_COLUMN_RANGE,
                                             .bytes = SLICE_LIT("f"),
                                             .range = {.start = SLICE_LIT("777777"),
                                                       .has_end = true,
                                                       .end = SLICE_LIT("777777"),
                                                       .end_inclusive = true}};
    struct sto_read_spec filtered = {0}; /* a scan */
    ck_assert_int_eq(sto_filter_compile(&column, T->schema, &filtered.filter, NULL), ERR_OK);
    count_read(T, &filtered, &c, &op);
    sto_filter_unref(filtered.filter);
    ck_assert_uint_eq(c.cells, 1);
    ck_assert_uint_le(op.cells_seen, 16);
    ck_assert_uint_le(op.seeks, 4);

    double begin = seconds();
    memory_watch_begin(&memory, 0);
    ck_assert_msg(fix_delete_row(T, "giant") == ERR_OK, "%s", fix_detail.text);
    memory_watch_look(&memory);
    (void)printf("giant rows: deleted with %.2f s of the processor and %lu MiB\n",
                 seconds() - begin, memory_watch_growth(&memory) / MIB);
    ck_assert_uint_lt(memory_watch_growth(&memory), 128 * MIB); /* nothing is kept */
    fix_assert_usage(0, 0, 0, 0);
    fix_assert_no_drift(0);
}
END_TEST

static void others_done(struct sto_mutate_op *op)
{
    op->user = NULL;
    fix.outstanding--;
}

START_TEST(a_drop_of_a_million_cells_lets_others_write_meanwhile)
{
    for (int i = 0; i < PORTIONS; i++)
        put_portion(i);
    struct sto_drop_op drop = {.scope = *T, .reply_to = &fix.mailbox, .done = fix_drop_done};
    fix.outstanding++;
    sto_drop_rows(fix.engine, &drop);
    size_t written = 0;
    while (fix.outstanding > 0) { /* the drop is under way */
        struct sto_mutation m = fix_set(1, "q", 1000, SLICE_LIT("v"));
        struct sto_mutate_op op = {.scope = fix.tables[0][1],
                                   .row_key = SLICE_LIT("other"),
                                   .mutations = &m,
                                   .mutation_count = 1,
                                   .user = &op};
        op.reply_to = &fix.mailbox;
        op.done = others_done;
        fix.outstanding++;
        sto_mutate_row(fix.engine, &op);
        while (op.user != NULL) {
            base_mailbox_wait(&fix.mailbox, 1000);
            (void)base_mailbox_run(&fix.mailbox);
        }
        ck_assert_int_eq(op.result, ERR_OK);
        written++;
    }
    ck_assert_int_eq(drop.result, ERR_OK);
    ck_assert_uint_eq(drop.removed.cells, MILLION);
    ck_assert_uint_gt(written, 20); /* of 245 commits */
    fix_assert_usage(0, 5 + 1 + 1 + 1 + 8, 1, 1);
    fix_assert_no_drift(0);
}
END_TEST

/* --- ten thousand versions
 * --------------------------------------------------------------------------- */

enum { VERSIONS = 10000 };

START_TEST(ten_thousand_versions_cost_a_reader_of_the_newest_little)
{
    struct sto_mutation *m = base_new_array(VERSIONS, sizeof m[0]);
    struct counter c;
    struct sto_read_op op;
    for (int i = 0; i < VERSIONS; i++) /* family gg keeps one version, f all */
        m[i] = fix_set(1, "q", i * 1000, SLICE_LIT("v"));
    ck_assert_int_eq(fix_mutate(T, "row", m, VERSIONS), ERR_OK);
    for (int i = 0; i < VERSIONS; i++)
        m[i].family = 2;
    ck_assert_int_eq(fix_mutate(T, "row", m, VERSIONS), ERR_OK);
    m[0] = fix_set(1, "r", 1000, SLICE_LIT("v")); /* behind the versions */
    ck_assert_int_eq(fix_mutate(T, "row", m, 1), ERR_OK);
    base_free(m);

    struct sto_read_spec spec = point("row");
    count_read(T, &spec, &c, &op);
    ck_assert_uint_eq(c.cells, VERSIONS + 2);
    ck_assert_uint_lt(op.cells_seen, VERSIONS + 16); /* of gg's 10000, a few */
    spec.versions = 1;
    count_read(T, &spec, &c, &op);
    ck_assert_uint_eq(c.cells, 3);
    ck_assert_uint_le(op.cells_seen, 8);
    ck_assert_uint_le(op.seeks, 4);

    struct sto_usage used = used_by_tenant(), removed = fix_sweep(T);
    ck_assert_uint_eq(removed.cells, 0); /* gg's went with the mutations that replaced them */
    fix_assert_usage(0, used.bytes, 1, VERSIONS + 2);
    spec.versions = 0;
    count_read(T, &spec, &c, &op);
    ck_assert_uint_eq(c.cells, VERSIONS + 2);
    removed = fix_sweep(T);
    ck_assert_uint_eq(removed.cells, 0);
    fix_assert_no_drift(0);
}
END_TEST

static void setup(void)
{
    fix.gc[1] = (struct sto_gc_node){.kind = STO_GC_MAX_VERSIONS, .max_versions = 1};
    fix_setup_alone(); /* memory is measured */
}

Suite *suite_check_giant_rows(void)
{
    Suite *s = suite_create("check_giant_rows");
    TCase *t = tcase_create("giant");
    tcase_add_checked_fixture(t, setup, fix_teardown);
    tcase_set_timeout(t, 180);
    tcase_add_test(t, a_row_of_256_mib_is_read_in_flat_memory_and_not_one_byte_larger);
    tcase_add_test(t, a_row_of_a_million_cells_is_written_found_and_removed);
    tcase_add_test(t, a_drop_of_a_million_cells_lets_others_write_meanwhile);
    tcase_add_test(t, ten_thousand_versions_cost_a_reader_of_the_newest_little);
    suite_add_tcase(s, t);
    return s;
}
