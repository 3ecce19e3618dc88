/*
 * tests/support/program_expect.c - the expected outcome of an operation, by the oracle.
 */
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/support/program_state.h"

#include "base/banned.h"

_Noreturn void program_differ(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(run.verdict->message, sizeof run.verdict->message, format, args);
    va_end(args);
    _exit(1);
}

struct program_table *program_table(const struct program_op *p)
{
    return &run.tables[p->tenant][p->table];
}

static const struct sto_account *account_of(const struct program_op *p)
{
    return program_table(p)->scope.tenant.account;
}

void program_used_again(size_t tenant)
{
    run.used[tenant] = (struct sto_usage){0};
    for (size_t k = 0; k < PROGRAM_TABLES; k++) {
        struct sto_usage u = oracle_usage(&run.tables[tenant][k].oracle);
        run.used[tenant].bytes += u.bytes;
        run.used[tenant].rows += u.rows;
        run.used[tenant].cells += u.cells;
    }
}

/* --- mutations in the oracle ---------------------------------------------------------------------
 */

static bool same_mutation(const struct sto_mutation *a, const struct sto_mutation *b)
{
    return a->kind == b->kind && a->family == b->family && a->timestamp_us == b->timestamp_us &&
           a->start_us == b->start_us && a->end_us == b->end_us && a->increment == b->increment &&
           base_slice_equal(a->qualifier, b->qualifier) && base_slice_equal(a->value, b->value);
}

static bool same_request(const struct program_taken *taken, const struct program_op *p,
                         const struct program_live *q)
{
    const struct program_op *o = &taken->op;
    bool same = o->table == p->table && o->row == p->row && o->expects == p->expects &&
                o->checks == p->checks && o->count == p->count &&
                o->otherwise_count == p->otherwise_count;
    for (size_t i = 0; same && i < p->count; i++)
        same = same_mutation(&taken->lists[0][i], &q->lists[0][i]);
    for (size_t i = 0; same && i < p->otherwise_count; i++)
        same = same_mutation(&taken->lists[1][i], &q->lists[1][i]);
    return same;
}

static bool predicate_matches(const struct program_op *p, const struct program_table *t,
                              int64_t now_us)
{
    static struct oracle_row row;
    struct sto_filter nodes[PROGRAM_FILTER_NODES];
    if (p->filter == 0)
        return run.scratch.count > 0;
    oracle_row_visible(&t->oracle, t->scope.schema, program_row_key(p->row), now_us, &row);
    struct oracle_list list =
        oracle_evaluate(program_filter(p->filter, run.verdict->base_us, nodes), &row, false);
    bool any = list.count > 0;
    oracle_list_free(&list);
    return any;
}

static enum err ceilings_check(const struct program_op *p, struct sto_usage before,
                               struct sto_usage after)
{
    const struct sto_account *a = account_of(p);
    uint64_t bytes = run.used[p->tenant].bytes;
    uint64_t bytes_max = atomic_load(&a->bytes_max), rows_max = atomic_load(&a->rows_max);
    if (after.bytes > before.bytes &&
        (bytes > bytes_max || after.bytes - before.bytes > bytes_max - bytes))
        return ERR_QUOTA;
    return after.rows > before.rows && run.used[p->tenant].rows >= rows_max ? ERR_QUOTA : ERR_OK;
}

static enum err lists_run(const struct program_op *p, const struct program_live *q, int64_t now_us,
                          bool matched)
{
    const struct program_table *t = program_table(p);
    size_t list = p->checks && !matched ? 1 : 0;
    size_t count = list == 0 ? p->count : p->otherwise_count;
    struct sto_usage before = oracle_usage(&run.scratch);
    for (size_t i = 0; i < count; i++) {
        enum err rc = oracle_mutate(&run.scratch, t->scope.schema, program_row_key(p->row),
                                    &q->lists[list][i], now_us);
        if (rc != ERR_OK)
            return rc;
    }
    return ceilings_check(p, before, oracle_usage(&run.scratch));
}

/* Returns the operation's expected outcome; stores the expected row in run.scratch. */
struct program_outcome program_expect(const struct program_op *p, const struct program_live *q,
                                      int64_t now_us)
{
    const struct program_table *t = program_table(p);
    const struct program_taken *taken = p->token != 0 ? &run.tokens[p->tenant][p->token] : NULL;
    struct program_outcome o = {.commit_us = now_us};
    oracle_row_copy(&t->oracle, program_row_key(p->row), &run.scratch);
    o.existed = run.scratch.count > 0;
    if ((atomic_load(&account_of(p)->gate) & STO_GATE_NO_WRITES) != 0) {
        o.result = ERR_SUSPENDED;
    } else if (taken != NULL && taken->known) {
        o.repeated = same_request(taken, p, q);
        o.result = o.repeated ? ERR_OK : ERR_CONFLICT;
        o.existed = taken->existed;
        o.matched = taken->matched;
        o.commit_us = taken->commit_us;
    } else if (p->expects == 1 && !o.existed) {
        o.result = ERR_PRECONDITION;
    } else if (p->expects == 2 && o.existed) {
        o.result = ERR_PRECONDITION;
    } else {
        o.matched = p->checks && predicate_matches(p, t, now_us);
        o.result = lists_run(p, q, now_us, o.matched);
    }
    return o;
}

void program_commit(const struct program_op *p, const struct program_live *q,
                    const struct program_outcome *o)
{
    struct program_table *t = program_table(p);
    static struct oracle_table before;
    if (o->result != ERR_OK || o->repeated)
        return;
    oracle_row_copy(&t->oracle, program_row_key(p->row), &before);
    struct sto_usage was = oracle_usage(&before), is = oracle_usage(&run.scratch);
    oracle_row_replace(&t->oracle, program_row_key(p->row), &run.scratch);
    run.used[p->tenant].bytes += is.bytes - was.bytes;
    run.used[p->tenant].rows += is.rows - was.rows;
    run.used[p->tenant].cells += is.cells - was.cells;
    if (p->token == 0)
        return;
    struct program_taken *taken = &run.tokens[p->tenant][p->token];
    *taken = (struct program_taken){.known = true,
                                    .op = *p,
                                    .existed = o->existed,
                                    .matched = o->matched,
                                    .commit_us = o->commit_us};
    memcpy(taken->lists, q->lists, sizeof taken->lists);
}

/* --- drops and sweeps
 * ----------------------------------------------------------------------------- */

void program_drop_expected(const struct program_op *p, struct sto_row_range range)
{
    struct program_table *t = program_table(p);
    if (p->kind == PROGRAM_SWEEP)
        oracle_sweep(&t->oracle, t->scope.schema, base_wall_us());
    else
        oracle_drop(&t->oracle, range, 0);
}

struct sto_row_range program_drop_range(const struct program_op *p, uint8_t end[LIM_ROW_KEY])
{
    struct slice prefix = base_slice(program_row_key(p->row).ptr, 1);
    return p->kind == PROGRAM_DROP && p->argument != 1 ? sto_range_of_prefix(prefix, end)
                                                       : (struct sto_row_range){0};
}
