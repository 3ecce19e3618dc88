/*
 * tests/support/program_resume.c - the oracle after a kill.
 *
 * The oracle is updated from the records, without the engine. An operation that was sent and not
 * answered is whole or absent: the row, or the operation's token, tells which. Therefore, when
 * kills are planned, a burst uses each row and each token only once.
 */
#include "tests/storage/fixture.h"

#include "tests/support/program_state.h"

#include "base/banned.h"

static struct program_live live;

/* The table with all stored cells visible: a written cell may be garbage at once, and then no read
 * with the program's own schema shows whether it is stored. */
static struct program_table stored;

static void stored_open(const struct program_op *p)
{
    const struct program_table *t = program_table(p);
    struct sto_schema *schema =
        program_schema(t->scope.schema->table->id, t->scope.schema, UINT8_MAX, PROGRAM_NO_RULES);
    sto_table_scope_release(&stored.scope);
    stored.scope = sto_table_scope_make(&t->scope.tenant, schema);
    sto_schema_unref(schema);
}

static bool row_is(const struct program_op *p, const struct oracle_table *row, struct slice text)
{
    struct sto_read_spec spec = {.row_key = program_row_key(p->row)};
    struct fix_sink s;
    fix_sink_init(&s);
    (void)oracle_read(row, stored.scope.schema, &spec, NULL, base_wall_us(), &s.sink);
    bool same = base_slice_equal(text, base_buf_slice(&s.text));
    base_buf_fini(&s.text);
    return same;
}

/* Resends an operation with a token, whose result tells whether the operation was done. */
static void resolve_by_token(size_t index, struct program_live *q, struct slice text)
{
    const struct program_op *p = &run.ops[index];
    bool was_absent = row_is(p, &program_table(p)->oracle, text);
    bool was_known = run.tokens[p->tenant][p->token].known;
    program_send(q, index);
    if (q->op.result != ERR_OK || !q->op.repeated || was_known) {
        if (!was_absent)
            program_differ("after a kill a row changed, but the token of the write is not known");
        program_mutate_check(index, q);
        return;
    }
    struct program_outcome o = program_expect(p, q, q->op.commit_us);
    if (o.result != ERR_OK || !row_is(p, &run.scratch, text))
        program_differ("after a kill the token is known, but the row is another");
    program_commit(p, q, &o);
    run.records[index].repeated = false; /* a later replay counts it as done */
}

/* Returns whether the row equals the row after a commit at that time: then it was committed. */
static bool resolve_at(size_t index, const struct program_live *q, struct slice text,
                       int64_t commit_us)
{
    struct program_outcome o = program_expect(&run.ops[index], q, commit_us);
    if (o.result != ERR_OK || !row_is(&run.ops[index], &run.scratch, text))
        return false;
    program_commit(&run.ops[index], q, &o);
    run.records[index].result = ERR_OK;
    run.records[index].repeated = o.repeated;
    run.records[index].commit_us = commit_us;
    atomic_store(&run.records[index].fate, PROGRAM_ANSWERED);
    return true;
}

static void resolve(size_t index, struct program_live *q)
{
    const struct program_op *p = &run.ops[index];
    struct sto_read_spec spec = {.row_key = program_row_key(p->row)};
    struct fix_sink s;
    uint64_t rows;
    fix_sink_init(&s);
    stored_open(p);
    if (program_engine_read(&stored, &spec, 0, false, &s, &rows) != ERR_OK)
        program_differ("the row cannot be read after a kill");
    struct slice text = base_buf_slice(&s.text);
    if (p->token != 0) {
        resolve_by_token(index, q, text);
    } else if (row_is(p, &program_table(p)->oracle, text)) {
        atomic_store(&run.records[index].fate, PROGRAM_LOST);
    } else {
        /* Times in the row's text: "@<decimal>=". */
        bool found = false;
        for (size_t i = 0; !found && i + 1 < text.len; i++)
            if (text.ptr[i] == '@') {
                int64_t t = 0;
                for (size_t k = i + 1; k < text.len && text.ptr[k] >= '0' && text.ptr[k] <= '9';
                     k++)
                    t = t < INT64_MAX / 100 ? t * 10 + (text.ptr[k] - '0') : t;
                found = t >= run.verdict->base_us && resolve_at(index, q, text, t);
            }
        if (!found && !resolve_at(index, q, text, base_wall_us() / 1000 * 1000))
            program_differ(
                "after a kill the row is neither as before nor as after the write:\n%.900s",
                (const char *)text.ptr);
    }
    base_buf_fini(&s.text);
}

/* Replays an operation that was answered before the kill. */
static void replay(size_t index)
{
    const struct program_op *p = &run.ops[index];
    const struct program_record *r = &run.records[index];
    uint8_t end[LIM_ROW_KEY];
    if (atomic_load(&r->fate) == PROGRAM_ANSWERED &&
        (p->kind == PROGRAM_DROP || p->kind == PROGRAM_SWEEP))
        program_drop_expected(p, program_drop_range(p, end));
    if (p->kind != PROGRAM_MUTATE || atomic_load(&r->fate) != PROGRAM_ANSWERED ||
        r->result == ERR_OVERLOADED)
        return;
    program_live_make(p, &live);
    struct program_outcome o = program_expect(p, &live, r->commit_us);
    if (o.result != r->result || o.repeated != r->repeated)
        program_differ("operation %zu was answered with %s, wanted %s", index,
                       base_err_name(r->result), base_err_name(o.result));
    program_commit(p, &live, &o);
    program_live_fini(&live);
}

/* Resolves a drop, which is one commit in these small tables. */
static void resolve_drop(size_t index)
{
    const struct program_op *p = &run.ops[index];
    struct program_table *t = program_table(p);
    struct sto_usage u = sto_counters_read(&t->scope.schema->table->counters),
                     w = oracle_usage(&t->oracle);
    bool done = u.bytes != w.bytes || u.rows != w.rows || u.cells != w.cells;
    atomic_store(&run.records[index].fate, done ? PROGRAM_ANSWERED : PROGRAM_LOST);
}

/* Updates the oracle; returns the index at which to continue. */
size_t program_catch_up(size_t stopped_at)
{
    for (size_t i = 0; i < stopped_at; i++)
        replay(i);
    size_t n = run.ops[stopped_at].kind == PROGRAM_MUTATE ? program_burst_length(stopped_at) : 1;
    bool sent = false;
    for (size_t i = stopped_at; i < stopped_at + n; i++)
        sent = sent || atomic_load(&run.records[i].fate) != PROGRAM_NOT_YET;
    if (!sent) {
        n = 0;
    } else if (run.ops[stopped_at].kind != PROGRAM_MUTATE) {
        if (atomic_load(&run.records[stopped_at].fate) != PROGRAM_ANSWERED)
            resolve_drop(stopped_at); /* and then replayed, below */
    }
    for (size_t i = stopped_at; i < stopped_at + n; i++)
        replay(i);
    for (size_t i = stopped_at; i < stopped_at + n; i++) {
        if (atomic_load(&run.records[i].fate) == PROGRAM_NOT_YET)
            atomic_store(&run.records[i].fate, PROGRAM_LOST);
        if (run.ops[i].kind != PROGRAM_MUTATE || atomic_load(&run.records[i].fate) != PROGRAM_SENT)
            continue;
        program_live_make(&run.ops[i], &live);
        resolve(i, &live);
        program_live_fini(&live);
    }
    for (size_t i = 0; i < PROGRAM_TENANTS; i++)
        program_used_again(i);
    program_compare_all();
    return stopped_at + n;
}
