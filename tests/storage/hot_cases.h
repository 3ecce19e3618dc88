/*
 * tests/storage/hot_cases.h - rows that change often, case by case: after any number of changes,
 * reads and further changes need as much work as after a few.
 *
 * Does:     make the changes of a case; count the work of a read and of one more change
 *           immediately, in files, after a sweep and after a restart.
 * Owns:     nothing.
 * May use:  tests/storage/.
 * Knows no: the number of changes.
 * Threads:  one.
 * Blocks:   as the fixture.
 * Fails by: ck_assert.
 * Limits:   none.
 * Promises: none.
 */
#ifndef TESTS_STORAGE_HOT_CASES_H
#define TESTS_STORAGE_HOT_CASES_H

#include "committer_counts.h"
#include "hot.h"

struct hot_case {
    const char *name;
    struct sto_gc_node rule;   /* of family f */
    void (*change)(int64_t i); /* i: from 1 */
    struct sto_read_spec spec;
    size_t cells; /* number of cells that a read returns */
    bool walks;   /* a read has no known target: constant work only after a rewrite of files */
};

static void hot_mutate(const char *row, struct sto_mutation *m, size_t count)
{
    ck_assert_int_eq(fix_mutate(T, row, m, count), ERR_OK);
}

static void hot_set(int64_t i)
{
    struct sto_mutation m = fix_set(1, "q", i * 1000, SLICE_LIT("v"));
    hot_mutate("hot", &m, 1);
}

/* Writes a cell that is too old, and keeps one valid cell in another family. */
static void hot_set_old(int64_t i)
{
    struct sto_mutation m[2] = {fix_set(1, "q", i * 1000, SLICE_LIT("v")),
                                fix_set(2, "q", 1000, SLICE_LIT("v"))};
    hot_mutate("hot", m, 2);
}

static void hot_increment(int64_t i)
{
    (void)i;
    struct sto_mutation m = fix_increment(1, "q", 1);
    hot_mutate("hot", &m, 1);
}

/* Appends to the value, and empties it every 16 changes, so that it does not grow with them. */
static void hot_append(int64_t i)
{
    struct sto_mutation m[2] = {remove_column("q", 0), fix_append(1, "q", SLICE_LIT("v"))};
    hot_mutate("hot", i % 16 == 0 ? m : m + 1, i % 16 == 0 ? 2 : 1);
}

static void hot_aggregate(int64_t i)
{
    (void)i;
    struct sto_mutation m = {.kind = STO_ADD_TO_CELL,
                             .family = 3,
                             .qualifier = SLICE_LIT("q"),
                             .timestamp_us = 1000,
                             .value = SLICE_LIT("\0\0\0\0\0\0\0\1")};
    hot_mutate("hot", &m, 1);
}

static void hot_replace(int64_t i)
{
    struct sto_mutation m[4] = {{.kind = STO_DELETE_FROM_ROW},
                                fix_set(1, "a", i * 1000, SLICE_LIT("1")),
                                fix_set(1, "b", i * 1000, SLICE_LIT("2")),
                                fix_set(2, "c", i * 1000, SLICE_LIT("3"))};
    hot_mutate("hot", m, 4);
}

static void hot_delete_and_put(int64_t i)
{
    ck_assert_int_eq(fix_delete_row(T, "hot"), ERR_OK);
    hot_set(i);
}

static void hot_delete_column_and_put(int64_t i)
{
    struct sto_mutation m[2] = {remove_column("q", 0), fix_set(2, "q", 1000, SLICE_LIT("v"))};
    hot_mutate("hot", m, 2);
    hot_set(i);
}

static const char *hot_row(int64_t number)
{
    static char row[16];
    (void)snprintf(row, sizeof row, "%09lld", (long long)number);
    return row;
}

enum { HOT_QUEUE = 8, HOT_PREFIX_ROWS = 100, HOT_LAST = 999999999 };

static void hot_queue(int64_t i)
{
    ck_assert_int_eq(fix_put(T, hot_row(i), "v"), ERR_OK);
    if (i > HOT_QUEUE)
        ck_assert_int_eq(fix_delete_row(T, hot_row(i - HOT_QUEUE)), ERR_OK);
}

static void hot_queue_reversed(int64_t i)
{
    ck_assert_int_eq(fix_put(T, hot_row(HOT_LAST - i), "v"), ERR_OK);
    if (i > HOT_QUEUE)
        ck_assert_int_eq(fix_delete_row(T, hot_row(HOT_LAST - i + HOT_QUEUE)), ERR_OK);
}

/* Writes rows of a prefix and drops them; a row after them remains. */
static void hot_drop_and_refill(int64_t i)
{
    if (i == 1)
        ck_assert_int_eq(fix_put(T, "z", "v"), ERR_OK);
    ck_assert_int_eq(fix_put(T, hot_row(i), "v"), ERR_OK);
    uint8_t end[LIM_ROW_KEY];
    if (i % HOT_PREFIX_ROWS == 0)
        ck_assert_int_eq(fix_drop(T, sto_range_of_prefix(SLICE_LIT("0"), end), 0, NULL), ERR_OK);
}

#define HOT_ROW                                                                                    \
    {                                                                                              \
        .row_key = SLICE_LIT("hot")                                                                \
    }
#define HOT_NEWEST                                                                                 \
    {                                                                                              \
        .row_key = SLICE_LIT("hot"), .versions = 1                                                 \
    }
#define HOT_VERSIONS(n)                                                                            \
    {                                                                                              \
        .kind = STO_GC_MAX_VERSIONS, .max_versions = (n)                                           \
    }

static const struct hot_case hot_cases[] = {
    {"overwritten, all versions", {0}, hot_set, HOT_NEWEST, 1, false},
    {"overwritten, one version", HOT_VERSIONS(1), hot_set, HOT_ROW, 1, false},
    {"overwritten, three versions", HOT_VERSIONS(3), hot_set, HOT_ROW, 3, false},
    {"overwritten, by age",
     {.kind = STO_GC_MAX_AGE, .max_age_us = 1000000},
     hot_set_old,
     HOT_ROW,
     1,
     false},
    {"incremented", HOT_VERSIONS(1), hot_increment, HOT_ROW, 1, false},
    {"appended to", HOT_VERSIONS(1), hot_append, HOT_ROW, 1, false},
    {"added to", {0}, hot_aggregate, HOT_ROW, 1, false},
    {"replaced", {0}, hot_replace, HOT_ROW, 3, false},
    {"deleted and made again", {0}, hot_delete_and_put, HOT_ROW, 1, false},
    {"a column deleted and made again", {0}, hot_delete_column_and_put, HOT_ROW, 2, false},
    {"a queue", {0}, hot_queue, {.row_limit = 1}, 1, true},
    {"a queue reversed", {0}, hot_queue_reversed, {.row_limit = 1, .reversed = true}, 1, true},
    {"a prefix dropped and filled again", {0}, hot_drop_and_refill, {.row_limit = 1}, 1, true},
};
enum { HOT_CASES = sizeof hot_cases / sizeof hot_cases[0] };

static void hot_read(const struct hot_case *c, struct fix_sink *out)
{
    fix_sink_init(out);
    ck_assert_int_eq(fix_read(T, &c->spec, out, false), ERR_OK);
    size_t cells = 0;
    for (const char *at = (const char *)out->text.ptr; (at = strchr(at, '=')) != NULL; at++)
        cells++;
    ck_assert_msg(cells == c->cells, "%s: got %.300s", c->name, (const char *)out->text.ptr);
}

struct hot_state {
    const struct hot_case *of;
    uint64_t work;
};

/* Measures the work of a read; returns false when a compaction removed the file
 * that was in memory. */
static bool hot_look(void *arg)
{
    struct hot_state *state = arg;
    struct fix_sink s;
    bool is_inline;
    hot_read(state->of, &s);
    state->work = work_and_place(&state->of->spec, (const char *)s.text.ptr, &is_inline);
    base_buf_fini(&s.text);
    return is_inline;
}

/* Returns whether the work is constant, after the removed keys that a read
 * passed were rewritten. */
static bool hot_is_flat(void *arg)
{
    struct hot_state *state = arg;
    return hot_look(state) && state->work <= WORK_MAX;
}

static void hot_assert_flat(const struct hot_case *c, const char *when)
{
    struct hot_state state = {.of = c};
    process_await(hot_look, &state, "a read in memory");
    ck_assert_msg(state.work <= WORK_MAX, "%s: %llu moves and removed keys %s", c->name,
                  (unsigned long long)state.work, when);
}

static void hot_await_flat(const struct hot_case *c)
{
    struct hot_state state = {.of = c};
    process_await(hot_is_flat, &state, c->name);
}

/* Asserts that one more change passes few removed keys on its committer. */
static void hot_assert_change_is_flat(const struct hot_case *c, int64_t i)
{
    struct passed passed;
    on_committer(count_begin, NULL);
    c->change(i);
    on_committer(count_end, &passed);
    ck_assert_msg(passed.tombstones + passed.hidden <= 3 * WORK_MAX,
                  "%s: a change passes %llu removed keys", c->name,
                  (unsigned long long)(passed.tombstones + passed.hidden));
}

UNUSED_FN static void hot_case_run(const struct hot_case *c, int64_t changes)
{
    fix_prepare_alone(); /* passed keys are counted, and reads use memory */
    fix.options.memtable_bytes = 4 * MIB;
    fix.options.cache_bytes = 16 * MIB;
    fix.gc[0] = c->rule;
    fix.aggregates = true;
    fix_open();
    fix_wait_for_memory();
    for (int64_t i = 1; i <= changes; i++)
        c->change(i);
    if (c->walks) {
        hot_await_flat(c);
    } else {
        hot_assert_flat(c, "at once");
        hot_assert_change_is_flat(c, changes + 1);
        flush();
        hot_assert_flat(c, "in files");
        hot_assert_change_is_flat(c, changes + 2);
    }
    (void)fix_sweep(T);
    hot_await_flat(c); /* removed keys may precede the row's remaining ones */
    fix_reopen();
    fix_wait_for_memory();
    hot_assert_flat(c, "after a restart");
    fix_assert_no_drift(0);
    fix_teardown();
}

#endif
