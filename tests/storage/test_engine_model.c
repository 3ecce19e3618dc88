/*
 * tests/storage/test_engine_model.c - random operations against a table small enough to keep whole.
 *
 * The model is an array with one place per possible cell. Operations are submitted many at a time,
 * so that they meet inside batches; answers, counters and contents must be the model's.
 */
#include "fixture.h"

#include "base/banned.h"

Suite *suite_storage_engine_model(void);

enum { ROWS = 10, FAMILIES = 2, QUALIFIERS = 3, TIMES = 4, BURST = 48, MUTATIONS = 5 };

struct place {
    bool there;
    uint8_t fill;
    uint16_t len;
};

struct model_row {
    struct place cells[FAMILIES][QUALIFIERS][TIMES];
};

static struct model_row model[FIX_TENANTS][FIX_TABLES][ROWS];
static const char *const row_keys[ROWS] = {"a", "ab", "b",   "ba",   "c#",
                                           "#", "zz", "a#b", "\x01", "~"};
static const char *const qualifiers[QUALIFIERS] = {"", "q", "qq"};
static const size_t family_name_len[FAMILIES] = {1, 2};
static uint8_t fills[256][400];

static uint64_t seed;

static size_t rng(size_t below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (size_t)(seed % below);
}

static struct sto_usage row_usage(const struct model_row *row, size_t row_index)
{
    struct sto_usage u = {0};
    for (size_t f = 0; f < FAMILIES; f++)
        for (size_t q = 0; q < QUALIFIERS; q++)
            for (size_t t = 0; t < TIMES; t++)
                if (row->cells[f][q][t].there) {
                    u.cells++;
                    u.bytes += strlen(row_keys[row_index]) + family_name_len[f] +
                               strlen(qualifiers[q]) + row->cells[f][q][t].len + 8;
                }
    u.rows = u.cells > 0;
    return u;
}

static struct sto_usage tenant_usage(size_t tenant)
{
    struct sto_usage sum = {0};
    for (size_t k = 0; k < FIX_TABLES; k++)
        for (size_t r = 0; r < ROWS; r++) {
            struct sto_usage u = row_usage(&model[tenant][k][r], r);
            sum.bytes += u.bytes;
            sum.rows += u.rows;
            sum.cells += u.cells;
        }
    return sum;
}

struct burst_op {
    struct sto_mutate_op op;
    struct sto_mutation mutations[MUTATIONS];
    enum err wanted;
    bool existed;
};

static struct sto_mutation random_mutation(void)
{
    struct sto_mutation m = {.family = (uint16_t)(1 + rng(FAMILIES)),
                             .qualifier = base_slice_text(qualifiers[rng(QUALIFIERS)])};
    switch (rng(10)) {
    case 0:
        m.kind = STO_DELETE_FROM_ROW;
        break;
    case 1:
        m.kind = STO_DELETE_FROM_FAMILY;
        break;
    case 2:
    case 3:
        m.kind = STO_DELETE_FROM_COLUMN;
        if (rng(2) == 0) {
            m.start_us = (int64_t)rng(TIMES) * 1000 + (int64_t)rng(2) * 500;
            m.end_us = rng(2) == 0 ? 0 : m.start_us + 1 + (int64_t)rng(3000);
        }
        break;
    default:
        m.kind = STO_SET_CELL;
        m.timestamp_us = (int64_t)rng(TIMES) * 1000;
        m.value = base_slice(fills[1 + rng(255)], rng(400));
    }
    return m;
}

static size_t qualifier_index(struct slice q)
{
    for (size_t i = 0; i < QUALIFIERS; i++)
        if (base_slice_is(q, qualifiers[i]))
            return i;
    ck_abort();
}

static void model_mutate(struct model_row *row, const struct sto_mutation *m)
{
    for (size_t f = 0; f < FAMILIES; f++)
        for (size_t q = 0; q < QUALIFIERS; q++)
            for (size_t t = 0; t < TIMES; t++) {
                struct place *p = &row->cells[f][q][t];
                bool family = f + 1 == m->family;
                bool column = family && q == qualifier_index(m->qualifier);
                int64_t time = (int64_t)t * 1000;
                if (m->kind == STO_SET_CELL && column && time == m->timestamp_us)
                    *p = (struct place){.there = true,
                                        .fill = m->value.len > 0 ? m->value.ptr[0] : 0,
                                        .len = (uint16_t)m->value.len};
                if (m->kind == STO_DELETE_FROM_ROW || (m->kind == STO_DELETE_FROM_FAMILY && family))
                    p->there = false;
                if (m->kind == STO_DELETE_FROM_COLUMN && column && time >= m->start_us &&
                    (m->end_us == 0 || time < m->end_us))
                    p->there = false;
            }
}

/* Make one operation and say what must become of it. */
static void burst_op_make(struct burst_op *b, struct sto_usage used[FIX_TENANTS])
{
    size_t tenant = rng(FIX_TENANTS), table = rng(FIX_TABLES), r = rng(ROWS);
    *b = (struct burst_op){0};
    b->op.scope = fix.tables[tenant][table];
    b->op.row_key = base_slice_text(row_keys[r]);
    b->op.mutations = b->mutations;
    b->op.mutation_count = 1 + rng(MUTATIONS);
    b->op.must_exist = rng(8) == 0;
    struct model_row row = model[tenant][table][r];
    struct sto_usage before = row_usage(&row, r);
    for (size_t i = 0; i < b->op.mutation_count; i++) {
        b->mutations[i] = random_mutation();
        model_mutate(&row, &b->mutations[i]);
    }
    ck_assert_int_eq(sto_mutations_check(b->op.scope.schema, &fix.accounts[tenant], b->op.row_key,
                                         b->mutations, b->op.mutation_count, NULL),
                     ERR_OK);
    struct sto_usage after = row_usage(&row, r);
    b->existed = before.rows > 0;
    if (b->op.must_exist && before.rows == 0)
        b->wanted = ERR_NOT_FOUND;
    else if (after.bytes > before.bytes &&
             used[tenant].bytes + after.bytes - before.bytes > fix.accounts[tenant].bytes_max)
        b->wanted = ERR_QUOTA;
    else if (after.rows > before.rows && used[tenant].rows + 1 > fix.accounts[tenant].rows_max)
        b->wanted = ERR_QUOTA;
    if (b->wanted != ERR_OK)
        return;
    model[tenant][table][r] = row;
    used[tenant].bytes += after.bytes - before.bytes;
    used[tenant].rows += after.rows - before.rows;
    used[tenant].cells += after.cells - before.cells;
}

static void check_counters(void)
{
    for (size_t i = 0; i < FIX_TENANTS; i++) {
        struct sto_usage wanted = tenant_usage(i);
        fix_assert_usage(i, wanted.bytes, wanted.rows, wanted.cells);
    }
}

static int compare_rows(const void *a, const void *b)
{
    return strcmp(row_keys[*(const size_t *)a], row_keys[*(const size_t *)b]);
}

static void check_contents(size_t tenant, size_t table)
{
    struct buf wanted;
    base_buf_init(&wanted, MIB);
    size_t order[ROWS];
    for (size_t r = 0; r < ROWS; r++)
        order[r] = r;
    qsort(order, ROWS, sizeof(order[0]), compare_rows);
    for (size_t n = 0; n < ROWS; n++) {
        const struct model_row *row = &model[tenant][table][order[n]];
        if (row_usage(row, order[n]).rows == 0)
            continue;
        (void)base_buf_printf(&wanted, "%s{", row_keys[order[n]]);
        for (size_t f = 0; f < FAMILIES; f++)
            for (size_t q = 0; q < QUALIFIERS; q++)
                for (size_t t = TIMES; t > 0; t--) {
                    const struct place *p = &row->cells[f][q][t - 1];
                    if (!p->there)
                        continue;
                    (void)base_buf_printf(&wanted, "%s:%s@%zu=", f == 0 ? "f" : "gg", qualifiers[q],
                                          (t - 1) * 1000);
                    (void)base_buf_append(&wanted, base_slice(fills[p->fill], p->len));
                    (void)base_buf_append_text(&wanted, ",");
                }
        (void)base_buf_append_text(&wanted, "}");
    }
    (void)base_buf_append_byte(&wanted, 0);
    ck_assert_int_eq(wanted.error, ERR_OK);
    fix_assert_rows(&fix.tables[tenant][table], &(struct sto_read_spec){0},
                    (const char *)wanted.ptr);
    base_buf_fini(&wanted);
}

static void check_all(void)
{
    check_counters();
    for (size_t i = 0; i < FIX_TENANTS; i++) {
        for (size_t k = 0; k < FIX_TABLES; k++)
            check_contents(i, k);
        fix_assert_no_drift(i);
    }
}

static void run_bursts(size_t bursts)
{
    static struct burst_op ops[BURST];
    for (size_t n = 0; n < bursts; n++) {
        struct sto_usage used[FIX_TENANTS];
        for (size_t i = 0; i < FIX_TENANTS; i++) {
            used[i] = tenant_usage(i);
            atomic_store(&fix.accounts[i].bytes_max,
                         rng(2) ? STO_NO_CEILING : used[i].bytes + rng(2000));
            atomic_store(&fix.accounts[i].rows_max,
                         rng(2) ? STO_NO_CEILING : used[i].rows + rng(3));
        }
        size_t count = 1 + rng(BURST);
        for (size_t i = 0; i < count; i++)
            burst_op_make(&ops[i], used);
        for (size_t i = 0; i < count; i++)
            fix_submit(&ops[i].op);
        fix_wait();
        for (size_t i = 0; i < count; i++) {
            ck_assert_msg(ops[i].op.result == ops[i].wanted, "%s: %s, wanted %s",
                          base_err_name(ops[i].op.result), ops[i].op.detail.text,
                          base_err_name(ops[i].wanted));
            ck_assert_int_eq(ops[i].op.row_existed, ops[i].existed);
        }
        check_counters();
    }
}

START_TEST(random_operations_leave_what_the_model_has)
{
    static const uint64_t seeds[] = {1, 20261120, 77};
    seed = seeds[_i] * 0x9e3779b97f4a7c15u;
    memset(model, 0, sizeof(model));
    for (size_t i = 0; i < 256; i++)
        memset(fills[i], 32 + (int)(i % 90), sizeof(fills[i]));
    for (size_t i = 0; i < 256; i++) /* a value's first byte is its index */
        fills[i][0] = (uint8_t)i;
    for (int round = 0; round < 4; round++) {
        run_bursts(40);
        check_all();
        fix_reopen();
        check_all();
    }
}
END_TEST

Suite *suite_storage_engine_model(void)
{
    Suite *s = suite_create("storage_engine_model");
    TCase *t = tcase_create("model");
    tcase_add_checked_fixture(t, fix_setup, fix_teardown);
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, random_operations_leave_what_the_model_has, 0, 3);
    suite_add_tcase(s, t);
    return s;
}
