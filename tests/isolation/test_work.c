/*
 * tests/isolation/test_work.c - what neighbours keep does not change the work of a tenant's reads.
 *
 * Time is what cannot be compared exactly on a machine that others use. So a read's own counters
 * are: seeks and steps of the engine's iterator, and what it has seen. The tenant "abc" stands
 * between "ab" and "b-0", which have nothing, or many rows, or many rows that were dropped.
 */
#include "tests/storage/fixture.h"

#include "base/banned.h"

#define ROWS       12
#define NEIGHBOURS 500

enum { BEFORE, OWN, BEHIND };

/* What one read looked at. */
struct work {
    uint64_t steps;
    uint64_t seeks;
    uint64_t rows_seen;
    uint64_t cells_seen;
    uint64_t bytes_seen;
};

/* Old rows of its own are work until a compaction removes them, and what a cache has no room for
 * comes from files at each read. */
static void setup(void)
{
    fix_prepare_beside();
    fix.options.cache_bytes = 16 * MIB;
    fix_open();
}

static void fill(size_t tenant, int rows)
{
    for (int i = 0; i < rows; i++) {
        char key[32];
        (void)snprintf(key, sizeof key, "row-%05d", i);
        ck_assert_int_eq(fix_put(&fix.tables[tenant][0], key, "value"), ERR_OK);
    }
}

static void empty(size_t tenant)
{
    struct sto_row_range all = {.start = SLICE_EMPTY};
    ck_assert_int_eq(fix_drop(&fix.tables[tenant][0], all, 0, NULL), ERR_OK);
}

static struct work read_once(const struct sto_read_spec *spec, const char *wanted)
{
    struct fix_sink s;
    struct sto_read_op op = {.scope = fix.tables[OWN][0], .spec = *spec};
    fix_sink_init(&s);
    fix_slice(&op, &s, true);
    ck_assert_int_eq(op.state, STO_READ_END);
    ck_assert_msg(wanted == NULL || base_slice_is(base_buf_slice(&s.text), wanted), "%.*s",
                  SLICE_ARGS(base_buf_slice(&s.text)));
    sto_read_finish(fix.engine, &op);
    base_buf_fini(&s.text);
    return (struct work){op.steps, op.seeks, op.rows_seen, op.cells_seen, op.bytes_seen};
}

/* Again until nothing of it has to come from a file, which would be a seek again. */
static struct work read_slice(const struct sto_read_spec *spec, const char *wanted)
{
    struct work last = {0};
    struct work now = read_once(spec, wanted);
    while (memcmp(&last, &now, sizeof now) != 0) {
        last = now;
        now = read_once(spec, wanted);
    }
    return now;
}

static void expect_same(const struct work *a, const struct work *b, const char *what)
{
    ck_assert_msg(a->steps == b->steps && a->seeks == b->seeks,
                  "%s: %lu steps, %lu seeks, not %lu, %lu", what, b->steps, b->seeks, a->steps,
                  a->seeks);
    ck_assert_msg(memcmp(a, b, sizeof *a) == 0, "%s: %lu bytes seen, not %lu", what, b->bytes_seen,
                  a->bytes_seen);
}

/* --- reads that end where the tenant does ------------------------------------------------------
 */

enum { SCANS = 5 };

static void read_all(struct work out[SCANS])
{
    struct sto_read_spec spec = {.rows = FIX_RANGE(.start = SLICE_EMPTY)};
    out[0] = read_slice(&spec, NULL);
    spec.reversed = true;
    out[1] = read_slice(&spec, NULL);
    spec = (struct sto_read_spec){.rows = FIX_RANGE(.start = SLICE_LIT("row-9"))};
    out[2] = read_slice(&spec, ""); /* behind the last row */
    spec.reversed = true;
    out[3] = read_slice(&spec, "");
    spec =
        (struct sto_read_spec){.rows = FIX_RANGE(.start = SLICE_LIT("a"), .end = SLICE_LIT("b"))};
    out[4] = read_slice(&spec, ""); /* in front of the first one */
}

static void expect_all_same(const struct work before[SCANS], const char *what)
{
    struct work after[SCANS];
    read_all(after);
    for (size_t i = 0; i < SCANS; i++)
        expect_same(&before[i], &after[i], what);
}

START_TEST(scans_do_no_more_work_for_what_neighbours_have_or_had)
{
    struct work alone[SCANS];
    fill(OWN, ROWS);
    if (_i == 1)
        fix_flush();
    read_all(alone);
    ck_assert_uint_ge(alone[0].steps, ROWS); /* it does count */
    fill(BEFORE, NEIGHBOURS);
    fill(BEHIND, NEIGHBOURS);
    expect_all_same(alone, "with many rows of neighbours");
    empty(BEFORE);
    empty(BEHIND);
    expect_all_same(alone, "with rows of neighbours that were dropped");
}
END_TEST

/* --- rows that a neighbour has -----------------------------------------------------------------
 */

START_TEST(a_row_that_a_neighbour_has_is_looked_for_like_one_that_nobody_has)
{
    fill(OWN, ROWS);
    fill(BEFORE, NEIGHBOURS);
    fill(BEHIND, NEIGHBOURS);
    for (int i = 100; i < 200; i++) {
        char theirs[32], nobodys[32];
        (void)snprintf(theirs, sizeof theirs, "row-%05d", i);
        (void)snprintf(nobodys, sizeof nobodys, "row-%05d", NEIGHBOURS + i);
        struct sto_read_spec spec = {.row_key = base_slice_text(theirs)};
        struct work first = read_slice(&spec, "");
        spec.row_key = base_slice_text(nobodys);
        struct work second = read_slice(&spec, "");
        expect_same(&first, &second, theirs);
    }
}
END_TEST

Suite *suite_isolation_work(void);
Suite *suite_isolation_work(void)
{
    Suite *s = suite_create("isolation_work");
    TCase *tc = tcase_create("work");
    tcase_set_timeout(tc, 240);
    tcase_add_checked_fixture(tc, setup, fix_teardown);
    tcase_add_loop_test(tc, scans_do_no_more_work_for_what_neighbours_have_or_had, 0, 2);
    tcase_add_test(tc, a_row_that_a_neighbour_has_is_looked_for_like_one_that_nobody_has);
    suite_add_tcase(s, tc);
    return s;
}
