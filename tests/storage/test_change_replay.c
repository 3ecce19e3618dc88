/*
 * tests/storage/test_change_replay.c - the changes of a table make the table.
 *
 * Random mutations, drops, sweeps and restarts of one table; a reader that follows in random
 * slices, now and then begun anew from where it was, applies every change to a plain list of cells.
 * At its end the list is what the table stores.
 */
#include "changes.h"
#include "tests/support/random.h"

#include "base/banned.h"

Suite *suite_storage_change_replay(void);

#define T         (&fix.tables[1][0])
#define CELLS_MAX 20000
#define ROWS      6
#define VERSIONS  9

/* --- the list ----------------------------------------------------------------------------------
 */

struct cell {
    char row[8];
    char family[8];
    char qualifier[8];
    int64_t timestamp_us;
    struct buf value;
};

static struct cell cells[CELLS_MAX];
static size_t cell_count;

static bool text_is(const char *text, struct slice s)
{
    return base_slice_equal(base_slice_text(text), s);
}

static void copy_text(char out[8], struct slice s)
{
    ck_assert_uint_lt(s.len, 8);
    memcpy(out, s.ptr, s.len);
    out[s.len] = '\0';
}

static struct cell *cell_at(struct slice row, const struct sto_change_mutation *m)
{
    for (size_t i = 0; i < cell_count; i++)
        if (text_is(cells[i].row, row) && text_is(cells[i].family, m->family) &&
            text_is(cells[i].qualifier, m->qualifier) && cells[i].timestamp_us == m->timestamp_us)
            return &cells[i];
    ck_assert_uint_lt(cell_count, CELLS_MAX);
    struct cell *c = &cells[cell_count++];
    copy_text(c->row, row);
    copy_text(c->family, m->family);
    copy_text(c->qualifier, m->qualifier);
    c->timestamp_us = m->timestamp_us;
    base_buf_init(&c->value, 16 * MIB);
    return c;
}

static void remove_cells(struct slice row, const struct sto_change_mutation *m)
{
    bool whole = m->kind == STO_DELETE_FROM_FAMILY;
    for (size_t i = 0; i < cell_count;) {
        struct cell *c = &cells[i];
        bool goes =
            text_is(c->row, row) && text_is(c->family, m->family) &&
            (whole || (text_is(c->qualifier, m->qualifier) && c->timestamp_us >= m->start_us &&
                       (m->end_us == 0 || c->timestamp_us < m->end_us)));
        if (!goes) {
            i++;
            continue;
        }
        base_buf_fini(&c->value);
        *c = cells[--cell_count];
    }
}

static void add_to(struct cell *c, const struct sto_change_mutation *m)
{
    struct buf state;
    base_buf_init(&state, STO_AGGREGATE_STATE_MAX);
    ck_assert_int_eq(
        sto_aggregate_add(STO_AGGREGATE_SUM, base_buf_slice(&c->value), m->value, &state, NULL),
        ERR_OK);
    base_buf_fini(&c->value);
    base_buf_take(&c->value, &state);
}

static void apply(struct change_reader *r, struct slice row, const struct sto_change_mutation *m)
{
    (void)r;
    if (m->kind == STO_DELETE_FROM_COLUMN || m->kind == STO_DELETE_FROM_FAMILY) {
        remove_cells(row, m);
        return;
    }
    struct cell *c = cell_at(row, m);
    if (m->kind == STO_ADD_TO_CELL) {
        add_to(c, m);
        return;
    }
    ck_assert_int_eq(m->kind, STO_SET_CELL);
    if (m->value_offset == 0)
        base_buf_truncate(&c->value, 0);
    ck_assert_uint_eq(c->value.len, m->value_offset);
    ck_assert_int_eq(base_buf_append(&c->value, m->value), ERR_OK);
}

static int family_rank(const char *name)
{
    return strcmp(name, "f") == 0 ? 1 : strcmp(name, "gg") == 0 ? 2 : 3;
}

static int compare(const void *a, const void *b)
{
    const struct cell *x = a, *y = b;
    int c = strcmp(x->row, y->row);
    if (c == 0)
        c = family_rank(x->family) - family_rank(y->family);
    if (c == 0)
        c = strcmp(x->qualifier, y->qualifier);
    if (c != 0)
        return c;
    return x->timestamp_us > y->timestamp_us ? -1 : 1;
}

/* As fix_sink writes rows. */
static void list_print(struct buf *out)
{
    qsort(cells, cell_count, sizeof(cells[0]), compare);
    for (size_t i = 0; i < cell_count; i++) {
        const struct cell *c = &cells[i];
        if (i == 0 || strcmp(c->row, cells[i - 1].row) != 0)
            (void)base_buf_printf(out, "%s%s{", i == 0 ? "" : "}", c->row);
        (void)base_buf_printf(out, "%s:%s@%lld=", c->family, c->qualifier,
                              (long long)c->timestamp_us);
        (void)base_buf_append(out, base_buf_slice(&c->value));
        (void)base_buf_append_text(out, ",");
    }
    if (cell_count > 0)
        (void)base_buf_append_text(out, "}");
    ck_assert_int_eq(base_buf_append_byte(out, 0), ERR_OK);
}

/* --- programs -----------------------------------------------------------------------------------
 */

static struct random dice;
static uint8_t big[LIM_CHANGE_PART + LIM_CHANGE_PART / 2];
static char texts[8][16];
static struct sto_mutation list[8];

static struct sto_mutation draw_mutation(size_t i)
{
    static const char *const qualifiers[] = {"a", "b", "c"};
    const char *q = qualifiers[random_below(&dice, 3)];
    uint16_t family = (uint16_t)(1 + random_below(&dice, 2));
    int64_t ts = 1000 * (int64_t)random_below(&dice, VERSIONS);
    (void)snprintf(texts[i], sizeof(texts[i]), "%u", random_below(&dice, 100000));
    uint32_t kind = random_below(&dice, 20);
    if (kind < 10)
        return fix_set(family, q, ts, base_slice_text(texts[i]));
    if (kind == 10)
        return fix_set(family, q, ts, base_slice(big, random_below(&dice, sizeof(big))));
    if (kind == 11)
        return (struct sto_mutation){.kind = STO_DELETE_FROM_FAMILY, .family = family};
    if (kind == 12)
        return (struct sto_mutation){.kind = STO_DELETE_FROM_ROW};
    if (kind < 16)
        return (struct sto_mutation){.kind = STO_DELETE_FROM_COLUMN,
                                     .family = family,
                                     .qualifier = base_slice_text(q),
                                     .start_us = ts,
                                     .end_us = random_below(&dice, 2) == 0 ? 0 : ts + 3000};
    struct sto_mutation m = fix_set(3, q, ts, SLICE_LIT("\0\0\0\0\0\0\0\7"));
    m.kind = STO_ADD_TO_CELL;
    return m;
}

static void write_row(void)
{
    char row[8];
    size_t count = 1 + random_below(&dice, 5);
    (void)snprintf(row, sizeof(row), "r%u", random_below(&dice, ROWS));
    if (random_below(&dice, 8) == 0) {
        struct sto_mutation m = fix_append(1, "a", SLICE_LIT("+"));
        ck_assert_int_eq(fix_mutate(T, row, &m, 1), ERR_OK);
        return;
    }
    for (size_t i = 0; i < count; i++)
        list[i] = draw_mutation(i);
    enum err rc = fix_mutate(T, row, list, count);
    ck_assert_msg(rc == ERR_OK, "%s", fix_detail.text);
}

/* Several in flight at once, among them a drop of everything in slices. */
static void drop_between_writes(void)
{
    enum { OPS = 12 };
    static struct sto_mutate_op ops[OPS];
    static struct sto_mutation m[OPS];
    struct sto_drop_op drop = {.scope = *T, .reply_to = &fix.mailbox, .done = fix_drop_done};
    drop.expired_only = random_below(&dice, 2) == 0;
    fix.outstanding++;
    sto_drop_rows(fix.engine, &drop);
    for (int i = 0; i < OPS; i++) {
        m[i] = fix_set(1, "long", 1000 * (int64_t)random_below(&dice, 9000), SLICE_LIT("x"));
        ops[i] = (struct sto_mutate_op){
            .scope = *T, .row_key = SLICE_LIT("r0"), .mutations = &m[i], .mutation_count = 1};
        fix_submit(&ops[i]);
    }
    fix_wait();
    ck_assert_int_eq(drop.result, ERR_OK);
}

/* More cells than a slice of a drop removes. */
static void write_long_row(void)
{
    size_t count = LIM_DROP_SLICE_CELLS + 200;
    struct sto_mutation *m = base_new_array(count, sizeof(*m));
    for (size_t i = 0; i < count; i++)
        m[i] = fix_set(1, "long", (int64_t)i * 1000, SLICE_LIT("y"));
    ck_assert_int_eq(fix_mutate(T, "r0", m, count), ERR_OK);
    base_free(m);
}

static void restart(struct change_reader *r)
{
    fix_reopen();
    changes_load(T);
    change_resume(r, T);
}

static void step(struct change_reader *r)
{
    uint32_t kind = random_below(&dice, 100);
    if (kind < 80)
        write_row();
    else if (kind < 84)
        drop_between_writes();
    else if (kind == 84)
        write_long_row();
    else if (kind == 85)
        restart(r);
    else if (change_slice(r) == STO_READ_FAILED)
        ck_abort_msg("%s", r->op.detail.text);
    r->parts_max = 1 + random_below(&dice, 5);
}

START_TEST(the_changes_of_a_table_make_the_table)
{
    struct change_reader r;
    struct fix_sink stored;
    struct buf expected;
    dice.state = 77 + (uint64_t)_i;
    memset(big, 'z', sizeof(big));
    fix.aggregates = true;
    fix.sealed = _i % 2 == 1;
    fix.gc[1] = (struct sto_gc_node){.kind = STO_GC_MAX_VERSIONS, .max_versions = 2};
    fix_reopen();
    changes_set(T, RETENTION_S);
    change_open(&r, T);
    r.mutation = apply;
    for (int i = 0; i < 400; i++)
        step(&r);
    (void)fix_sweep(T);
    change_read(&r);
    fix_sink_init(&stored);
    base_buf_init(&expected, 512 * MIB);
    ck_assert_int_eq(fix_read(T, &(struct sto_read_spec){0}, &stored, false), ERR_OK);
    list_print(&expected);
    ck_assert_uint_gt(r.changes, 200);
    ck_assert_msg(base_slice_equal(base_buf_slice(&stored.text), base_buf_slice(&expected)),
                  "stored %.3000s\nmade %.3000s", (const char *)stored.text.ptr,
                  (const char *)expected.ptr);
    for (size_t i = 0; i < cell_count; i++)
        base_buf_fini(&cells[i].value);
    fix_assert_no_drift(1);
    base_buf_fini(&expected);
    base_buf_fini(&stored.text);
    change_close(&r);
}
END_TEST

Suite *suite_storage_change_replay(void)
{
    Suite *s = suite_create("storage_change_replay");
    TCase *tc = tcase_create("replay");
    tcase_add_checked_fixture(tc, fix_setup, fix_teardown);
    tcase_add_loop_test(tc, the_changes_of_a_table_make_the_table, 0, 12);
    tcase_set_timeout(tc, 240);
    suite_add_tcase(s, tc);
    return s;
}
