/*
 * tests/support/program_run.c - a program against an engine and the oracle side by side.
 *
 * 1. Mutations that join are sent to the engine as one burst. The oracle applies them when all were
 *    answered, in the order of submission: the clock of a commit is known only then.
 * 2. After a kill the oracle is updated from run.records, without the engine. An operation that was
 *    sent and not answered is whole or absent: the row, or the operation's token, tells which.
 *    Therefore, when kills are planned, a burst uses each row and each token only once.
 * 3. The first difference ends the process, with a message in run.verdict.
 *
 * Over 500 lines because every file that includes the fixture has an engine of its own: all code
 * that calls the engine must be in one file.
 */
#include "tests/storage/fixture.h"

#include <semaphore.h>
#include <stdarg.h>

#include "tests/support/program_state.h"

#include "base/banned.h"

enum { BURST = PROGRAM_BURST, REFUSED_FREE = 64 };

static const char *const table_names[PROGRAM_TABLES] = {"p", "pp"};
struct program_state run;
static struct program_live burst[BURST];

/* --- opening and closing -------------------------------------------------------------------------
 */

static void table_publish(struct program_table *t, size_t tenant, struct sto_schema *schema,
                          uint64_t version)
{
    schema->version = version;
    atomic_store(&schema->table->published, version);
    struct sto_table_scope scope = sto_table_scope_make(&fix.tenants[tenant], schema);
    sto_schema_unref(schema);
    sto_table_scope_release(&t->scope);
    t->scope = scope;
}

/* Returns the schema as a restart would parse it from its document. */
static struct sto_schema *schema_again(const struct sto_schema *old)
{
    struct buf body;
    struct sto_schema *schema = NULL;
    base_buf_init(&body, MIB);
    if (sto_schema_encode(old, &body) != ERR_OK ||
        sto_schema_decode(sto_schema_table_id(old), base_buf_slice(&body), NULL, &schema) != ERR_OK)
        program_differ("the schema cannot be encoded and decoded");
    base_buf_fini(&body);
    return schema;
}

static void open_engine(void)
{
    fix_open();
    for (size_t i = 0; i < PROGRAM_TENANTS; i++) {
        sto_account_limit_set(&fix.accounts[i], STO_LIMIT_CELL, ORACLE_VALUE);
        for (size_t k = 0; k < PROGRAM_TABLES; k++) {
            struct program_table *t = &run.tables[i][k];
            struct sto_schema *old = t->scope.schema;
            table_publish(t, i,
                          old == NULL ? program_schema(table_names[k], NULL, 127, 1)
                                      : schema_again(old),
                          old == NULL ? 1 : old->version);
            if (sto_counters_load(fix.engine, &t->scope, NULL) != ERR_OK)
                program_differ("the counters cannot be loaded");
        }
    }
}

static void usage_check(size_t tenant)
{
    struct sto_usage u = sto_counters_read(&fix.accounts[tenant].total), w = run.used[tenant];
    if (u.bytes != w.bytes || u.rows != w.rows || u.cells != w.cells)
        program_differ("tenant %zu: usage %lu bytes, %lu rows, %lu cells; wanted %lu, %lu, %lu",
                       tenant, u.bytes, u.rows, u.cells, w.bytes, w.rows, w.cells);
}

/* --- reads --------------------------------------------------------------------------------- */

/* Reads from the engine; *out_rows: the number of rows. */
enum err program_engine_read(const struct program_table *t, const struct sto_read_spec *spec,
                             size_t slice, bool on_loop, struct fix_sink *sink, uint64_t *out_rows)
{
    struct sto_read_op op = {.scope = t->scope, .spec = *spec};
    sink->full_bytes = slice == 0 ? SIZE_MAX : slice;
    do {
        fix_slice(&op, sink, on_loop);
    } while (op.state == STO_READ_MORE);
    sto_read_finish(fix.engine, &op);
    *out_rows = op.rows_given;
    return op.state == STO_READ_END ? ERR_OK : op.result;
}

static void read_compare(const struct program_table *t, const struct program_op *p,
                         const struct sto_read_spec *spec, const struct sto_filter *filter)
{
    struct fix_sink got, wanted;
    fix_sink_init(&got);
    fix_sink_init(&wanted);
    uint64_t rows = 0;
    bool shut = (atomic_load(&t->scope.tenant.account->gate) & STO_GATE_NO_READS) != 0;
    enum err rc = program_engine_read(t, spec, p->slice * 8UL, p->on_loop != 0, &got, &rows);
    if (rc != (shut ? ERR_SUSPENDED : ERR_OK))
        program_differ("the read ends with %s", base_err_name(rc));
    uint64_t rows_wanted =
        shut ? 0
             : oracle_read(&t->oracle, t->scope.schema, spec, filter, base_wall_us(), &wanted.sink);
    if (!base_slice_equal(base_buf_slice(&got.text), base_buf_slice(&wanted.text)))
        program_differ("the read gives\n%.600s\nwanted\n%.600s", (const char *)got.text.ptr,
                       (const char *)wanted.text.ptr);
    if (rows != rows_wanted)
        program_differ("the read says %lu rows, wanted %lu", rows, rows_wanted);
    base_buf_fini(&got.text);
    base_buf_fini(&wanted.text);
}

static void run_read(const struct program_op *p)
{
    const struct program_table *t = program_table(p);
    struct sto_row_range ranges[PROGRAM_RANGES];
    struct sto_filter nodes[PROGRAM_FILTER_NODES];
    struct sto_read_spec spec;
    const struct sto_filter *filter = NULL;
    program_read(p, t->scope.schema, run.verdict->base_us, ranges, &spec);
    if (p->filter != 0) {
        filter = program_filter(p->filter, run.verdict->base_us, nodes);
        enum err rc = sto_filter_compile(filter, t->scope.schema, &spec.filter, NULL);
        if (rc == ERR_NOT_FOUND) /* a column range of a family that was removed */
            return;
        if (rc != ERR_OK)
            program_differ("the filter is refused: %s", base_err_name(rc));
    }
    read_compare(t, p, &spec, filter);
    sto_filter_unref(spec.filter);
}

/* --- mutations in the engine --------------------------------------------------------------- */

void program_live_make(const struct program_op *p, struct program_live *q)
{
    const struct sto_schema *schema = program_table(p)->scope.schema;
    struct sto_filter nodes[PROGRAM_FILTER_NODES];
    memset(q, 0, sizeof *q);
    for (size_t i = 0; i < p->count; i++)
        q->lists[0][i] = program_mutation(&p->list[i], schema, run.verdict->base_us);
    for (size_t i = 0; i < p->otherwise_count; i++)
        q->lists[1][i] = program_mutation(&p->otherwise[i], schema, run.verdict->base_us);
    q->op = (struct sto_mutate_op){.scope = program_table(p)->scope,
                                   .row_key = program_row_key(p->row),
                                   .mutations = q->lists[0],
                                   .mutation_count = p->count,
                                   .must_exist = p->expects == 1,
                                   .must_not_exist = p->expects == 2};
    bool modifies = p->list[0].kind == STO_APPEND || p->list[0].kind == STO_INCREMENT;
    base_arena_init(&q->arena, 64 * KIB);
    q->modified.arena = &q->arena;
    q->op.modified = modifies ? &q->modified : NULL;
    q->check = (struct sto_check){.otherwise = q->lists[1], .otherwise_count = p->otherwise_count};
    q->op.check = p->checks ? &q->check : NULL;
    enum err rc = ERR_OK;
    if (p->checks && p->filter != 0)
        rc = sto_filter_compile(program_filter(p->filter, run.verdict->base_us, nodes), schema,
                                &q->check.predicate, NULL);
    for (size_t w = 0; rc == ERR_OK && w < 2; w++)
        if (w == 0 || p->otherwise_count > 0)
            rc = sto_mutations_check(schema, &fix.accounts[p->tenant], q->op.row_key, q->lists[w],
                                     w == 0 ? p->count : p->otherwise_count, NULL);
    run.verdict->invalid = rc != ERR_OK && rc != ERR_NOT_FOUND;
    if (run.verdict->invalid)
        program_differ("the operation is refused: %s", base_err_name(rc));
    q->refused = rc != ERR_OK;
    (void)snprintf(q->token, sizeof q->token, "token-%02u", p->token);
    if (p->token != 0)
        q->op.idempotency = (struct sto_idempotency){.token = base_slice_text(q->token),
                                                     .start_us = run.verdict->base_us};
}

void program_live_fini(struct program_live *q)
{
    sto_filter_unref(q->check.predicate);
    base_arena_fini(&q->arena);
}

static void answered(struct sto_mutate_op *op)
{
    struct program_record *r = op->user;
    r->result = op->result;
    r->repeated = op->repeated;
    r->commit_us = op->commit_us;
    atomic_store(&r->fate, PROGRAM_ANSWERED);
    fix.outstanding--;
}

static void submit(struct program_live *q, size_t index)
{
    q->op.user = &run.records[index];
    q->op.reply_to = &fix.mailbox;
    q->op.done = answered;
    fix.outstanding++;
    atomic_store(&run.records[index].fate, PROGRAM_SENT);
    sto_mutate_row(fix.engine, &q->op);
}

void program_send(struct program_live *q, size_t index)
{
    submit(q, index);
    fix_wait();
}

/* Checks the newest cells of the columns that the rules name, in the order of the row. */
static void modified_check(const struct program_op *p, const struct program_live *q)
{
    const struct program_table *t = program_table(p);
    size_t n = 0;
    for (size_t i = 0; i < t->oracle.count; i++) {
        const struct oracle_cell *c = &t->oracle.cells[i];
        bool named = false;
        for (size_t k = 0; k < p->count; k++)
            named = named || (q->lists[0][k].family == c->family &&
                              base_slice_equal(q->lists[0][k].qualifier, oracle_qualifier(c)));
        if (!named || !base_slice_equal(oracle_key(c), q->op.row_key) ||
            oracle_newest(&t->oracle, t->scope.schema, q->op.row_key, c->family,
                          oracle_qualifier(c), base_wall_us()) != c)
            continue;
        const struct sto_cell *given = &q->modified.cells[n];
        if (n++ >= q->modified.count || given->family->number != c->family ||
            !base_slice_equal(given->qualifier, oracle_qualifier(c)) ||
            given->timestamp_us != c->timestamp_us ||
            !base_slice_equal(given->value, oracle_value(c)))
            program_differ("modified cell %zu is not the newest of its column", n);
    }
    if (n != q->modified.count)
        program_differ("%zu modified cells given, wanted %zu", q->modified.count, n);
}

/* Compares the engine's answer with the oracle's. */
void program_mutate_check(size_t index, const struct program_live *q)
{
    const struct program_op *p = &run.ops[index];
    if (!run.kills_come)
        run.verdict->at = index;
    if (q->op.result == ERR_OVERLOADED) { /* a slow disk: nothing was done */
        if (++run.verdict->refused > REFUSED_FREE + index / 2)
            program_differ("more than every second operation is refused: %s", q->op.detail.text);
        if (q->op.detail.text[0] == '\0' || q->op.retry_ns == 0)
            program_differ("overloaded, without a reason or a time to come again");
        return;
    }
    struct program_outcome o = program_expect(p, q, q->op.commit_us);
    if (q->op.result != o.result)
        program_differ("%s (%s), wanted %s", base_err_name(q->op.result), q->op.detail.text,
                       base_err_name(o.result));
    if ((o.result == ERR_OK) != (q->op.detail.text[0] == '\0'))
        program_differ("%s with the detail '%s'", base_err_name(o.result), q->op.detail.text);
    program_commit(p, q, &o);
    if (o.result != ERR_OK)
        return;
    if (q->op.row_existed != o.existed || q->op.repeated != o.repeated ||
        (p->checks && q->check.matched != o.matched) || q->op.commit_us != o.commit_us)
        program_differ("existed %d, repeated %d, matched %d; wanted %d, %d, %d", q->op.row_existed,
                       q->op.repeated, q->check.matched, o.existed, o.repeated, o.matched);
    if (q->op.modified != NULL && (!p->checks || o.matched))
        modified_check(p, q);
}

/* --- bursts -------------------------------------------------------------------------------- */

struct hold {
    struct base_msg msg;
    sem_t go, gone;
};
static struct hold holds[PROGRAM_TENANTS];

static void hold_run(struct base_msg *msg)
{
    struct hold *h = (struct hold *)msg;
    while (sem_wait(&h->go) != 0)
        ;
    (void)sem_post(&h->gone);
}

static void hold_committers(void)
{
    struct rdb_engine *e = sto_rdb_engine(fix.engine);
    for (size_t i = 0; i < PROGRAM_TENANTS; i++) {
        holds[i].msg.run = hold_run;
        sto_rdb_committer_post(sto_rdb_committer_of(e, &fix.accounts[i]), &holds[i].msg);
    }
}

static void release_committers(void)
{
    for (size_t i = 0; i < PROGRAM_TENANTS; i++)
        (void)sem_post(&holds[i].go);
    for (size_t i = 0; i < PROGRAM_TENANTS; i++)
        while (sem_wait(&holds[i].gone) != 0)
            ;
}

static bool clashes(size_t first, size_t index)
{
    const struct program_op *p = &run.ops[index];
    for (size_t i = first; i < index; i++)
        if ((run.ops[i].tenant == p->tenant && run.ops[i].table == p->table &&
             run.ops[i].row == p->row) ||
            (run.ops[i].token != 0 && run.ops[i].token == p->token))
            return true;
    return false;
}

/* Returns the number of mutations from here on that are submitted together. */
size_t program_burst_length(size_t first)
{
    size_t n = 1;
    while (first + n < run.op_count && n < BURST && run.ops[first + n].kind == PROGRAM_MUTATE &&
           run.ops[first + n].joins && !(run.kills_come && clashes(first, first + n)))
        n++;
    return n;
}

static void run_burst(size_t first, size_t count)
{
    for (size_t i = 0; i < count; i++)
        program_live_make(&run.ops[first + i], &burst[i]);
    if (run.ops[first].held)
        hold_committers();
    for (size_t i = 0; i < count; i++)
        if (!burst[i].refused)
            submit(&burst[i], first + i);
    if (run.ops[first].held)
        release_committers();
    fix_wait();
    run.verdict->batches_shared += count > 1;
    for (size_t i = 0; i < count; i++)
        if (!burst[i].refused)
            program_mutate_check(first + i, &burst[i]);
    for (size_t i = 0; i < PROGRAM_TENANTS; i++)
        usage_check(i);
    for (size_t i = 0; i < count; i++)
        program_live_fini(&burst[i]);
}

/* --- drops, sweeps, schemas ---------------------------------------------------------------- */

static struct sto_usage minus(struct sto_usage a, struct sto_usage b)
{
    return (struct sto_usage){a.bytes - b.bytes, a.rows - b.rows, a.cells - b.cells};
}

/* Checks a drop that the engine has done; the oracle's table has the expected state already. */
static void removed_check(const struct program_op *p, struct sto_usage before,
                          const struct sto_drop_op *op, bool gated)
{
    struct sto_usage want = minus(before, oracle_usage(&program_table(p)->oracle));
    bool shut = gated && (atomic_load(&fix.accounts[p->tenant].gate) & STO_GATE_NO_WRITES) != 0;
    if (op->result != (shut ? ERR_SUSPENDED : ERR_OK))
        program_differ("the drop ends with %s (%s)", base_err_name(op->result), op->detail.text);
    if (op->removed.bytes != want.bytes || op->removed.rows != want.rows ||
        op->removed.cells != want.cells)
        program_differ("removed %lu bytes, %lu rows, %lu cells; wanted %lu, %lu, %lu",
                       op->removed.bytes, op->removed.rows, op->removed.cells, want.bytes,
                       want.rows, want.cells);
    program_used_again(p->tenant);
    usage_check(p->tenant);
}

/* Sets whether the next drop of whole rows is one range, or points. */
static void drop_as_range(bool yes)
{
    sto_rdb_engine(fix.engine)->options.drop_range_cells = yes ? 0 : LIM_DROP_RANGE_CELLS;
}

static void engine_drop(struct sto_drop_op *op)
{
    op->reply_to = &fix.mailbox;
    op->done = fix_drop_done;
    fix.outstanding++;
    sto_drop_rows(fix.engine, op);
    fix_wait();
}

static bool writes_are_shut(const struct program_op *p)
{
    return (atomic_load(&fix.accounts[p->tenant].gate) & STO_GATE_NO_WRITES) != 0;
}

static void run_drop(size_t index)
{
    const struct program_op *p = &run.ops[index];
    struct program_table *t = program_table(p);
    uint8_t end[LIM_ROW_KEY];
    struct sto_row_range range = program_drop_range(p, end);
    struct sto_usage before = oracle_usage(&t->oracle);
    struct sto_drop_op op = {
        .scope = t->scope, .range = range, .expired_only = p->kind == PROGRAM_SWEEP};
    drop_as_range(p->argument % 4 < 2);
    atomic_store(&run.records[index].fate, PROGRAM_SENT);
    engine_drop(&op);
    atomic_store(&run.records[index].fate, PROGRAM_ANSWERED);
    if (!writes_are_shut(p))
        program_drop_expected(p, range);
    removed_check(p, before, &op, true);
}

static void drop_family(const struct program_op *p, uint16_t number)
{
    struct program_table *t = program_table(p);
    struct sto_usage before = oracle_usage(&t->oracle);
    struct sto_drop_op op = {.scope = t->scope, .family = number, .ignore_gate = true};
    oracle_drop(&t->oracle, (struct sto_row_range){0}, number);
    engine_drop(&op);
    removed_check(p, before, &op, false);
}

static void run_drop_family(const struct program_op *p)
{
    struct program_table *t = program_table(p);
    const struct sto_family *family =
        sto_schema_family(t->scope.schema, program_family_name(p->argument));
    if (family != NULL)
        drop_family(p, family->number);
    while (t->scope.schema->dropped_count > 0) {
        uint16_t number = t->scope.schema->dropped[0];
        drop_family(p, number);
        table_publish(t, p->tenant, sto_schema_make_swept(t->scope.schema, number),
                      t->scope.schema->version + 1);
    }
}

static void run_schema(const struct program_op *p)
{
    struct program_table *t = program_table(p);
    const struct sto_schema *old = t->scope.schema;
    struct sto_schema *schema =
        program_schema(table_names[p->table], old, p->families, p->argument);
    for (size_t i = 0; i < old->family_count; i++)
        if (sto_schema_family_by_number(schema, old->families[i].number) == NULL)
            sto_table_close_family(schema->table, old->families[i].number);
    table_publish(t, p->tenant, schema, old->version + 1);
}

static void run_remake(const struct program_op *p)
{
    struct program_table *t = program_table(p);
    struct sto_usage before = oracle_usage(&t->oracle);
    struct sto_drop_op op = {.scope = t->scope, .ignore_gate = true, .table_ends = true};
    atomic_store(&t->scope.schema->table->forgotten, true);
    drop_as_range(p->argument % 2 == 0);
    oracle_drop(&t->oracle, (struct sto_row_range){0}, 0);
    engine_drop(&op);
    removed_check(p, before, &op, false);
    char key[64];
    (void)snprintf(key, sizeof key, "s/%s/%s", fix_tenant_names[p->tenant], table_names[p->table]);
    struct sto_doc_change doc = {.key = base_slice_text(key), .expect = STO_DOC_ABSENT};
    if (sto_table_forget(fix.engine, &t->scope, &doc, 1, NULL) != ERR_OK)
        program_differ("the empty table cannot be forgotten");
    table_publish(t, p->tenant, program_schema(table_names[p->table], NULL, 127, p->argument), 1);
    if (sto_counters_load(fix.engine, &t->scope, NULL) != ERR_OK)
        program_differ("the counters of the new table cannot be loaded");
}

static void run_ceilings(const struct program_op *p)
{
    struct sto_account *a = &fix.accounts[p->tenant];
    bool none = p->argument == 0;
    atomic_store(&a->bytes_max,
                 none ? STO_NO_CEILING : run.used[p->tenant].bytes + p->argument * 97UL);
    atomic_store(&a->rows_max,
                 none ? STO_NO_CEILING : run.used[p->tenant].rows + p->argument - 1UL);
}

/* --- everything ---------------------------------------------------------------------------- */

static void recount(void)
{
    for (size_t i = 0; i < PROGRAM_TENANTS; i++) {
        struct sto_usage sum = run.used[i];
        program_used_again(i);
        if (sum.bytes != run.used[i].bytes || sum.rows != run.used[i].rows ||
            sum.cells != run.used[i].cells)
            program_differ("the oracle's own sums are wrong");
        usage_check(i);
        struct sto_recount_op op = fix_recount(i);
        if (op.result != ERR_OK || op.counted.bytes != op.recorded.bytes ||
            op.counted.rows != op.recorded.rows || op.counted.cells != op.recorded.cells ||
            op.counted.bytes != run.used[i].bytes)
            program_differ("tenant %zu: a recount gives %lu bytes, recorded are %lu", i,
                           op.counted.bytes, op.recorded.bytes);
        for (size_t k = 0; k < PROGRAM_TABLES; k++) {
            struct sto_usage u = sto_counters_read(&run.tables[i][k].scope.schema->table->counters),
                             w = oracle_usage(&run.tables[i][k].oracle);
            if (u.bytes != w.bytes || u.rows != w.rows || u.cells != w.cells)
                program_differ("tenant %zu table %zu: the counters of the table are wrong", i, k);
        }
    }
}

void program_compare_all(void)
{
    static const struct program_op plain = {.kind = PROGRAM_READ};
    static const struct sto_read_spec everything;
    for (size_t i = 0; i < PROGRAM_TENANTS; i++)
        for (size_t k = 0; k < PROGRAM_TABLES; k++)
            read_compare(&run.tables[i][k], &plain, &everything, NULL);
    recount();
}

static void reopen(void)
{
    fix_close();
    open_engine();
    program_compare_all();
}

static void step(size_t index)
{
    const struct program_op *p = &run.ops[index];
    switch ((enum program_kind)p->kind) {
    case PROGRAM_READ:
        run_read(p);
        break;
    case PROGRAM_DROP:
    case PROGRAM_SWEEP:
        run_drop(index);
        break;
    case PROGRAM_DROP_FAMILY:
        run_drop_family(p);
        break;
    case PROGRAM_SCHEMA:
        run_schema(p);
        break;
    case PROGRAM_REMAKE:
        run_remake(p);
        break;
    case PROGRAM_CEILINGS:
        run_ceilings(p);
        break;
    case PROGRAM_GATE:
        atomic_store(&fix.accounts[p->tenant].gate, p->argument);
        break;
    case PROGRAM_RECOUNT:
        recount();
        break;
    case PROGRAM_REOPEN:
        reopen();
        break;
    case PROGRAM_MUTATE:
    case PROGRAM_KINDS:
        break;
    }
}

void program_seal(bool sealed)
{
    fix.sealed = sealed;
}

static bool has_database(const char *dir)
{
    char path[PROCESS_PATH];
    (void)snprintf(path, sizeof path, "%s/db", dir);
    return access(path, F_OK) == 0;
}

_Noreturn void program_run(const char *dir, const struct program_op *program, size_t count,
                           struct program_record *shared, struct program_verdict *out)
{
    run.ops = program;
    run.op_count = count;
    run.kills_come = shared != NULL;
    run.records = shared != NULL ? shared : base_new_array(count + 1, sizeof run.records[0]);
    run.verdict = out;
    if (!has_database(dir))
        bed_lay(dir, BED_OLD_ROWS);
    fix_prepare_in(dir);
    fix.options.memtable_bytes = 512 * KIB; /* so that a slow disk refuses no writes */
    for (size_t i = 0; i < PROGRAM_TENANTS; i++)
        if (sem_init(&holds[i].go, 0, 0) != 0 || sem_init(&holds[i].gone, 0, 0) != 0)
            program_differ("no semaphore");
    size_t at = run.verdict->at;
    open_engine();
    if (run.kills_come && at < count)
        at = program_catch_up(at);
    atomic_store(&run.verdict->running, true);
    while (at < count) {
        run.verdict->at = at;
        size_t n = 1;
        if (run.ops[at].kind == PROGRAM_MUTATE)
            run_burst(at, n = program_burst_length(at));
        else
            step(at);
        at += n;
        run.verdict->at = at;
    }
    for (size_t i = 0; i < PROGRAM_TENANTS; i++)
        atomic_store(&fix.accounts[i].gate, 0);
    program_compare_all();
    reopen();
    run.verdict->ok = true;
    fix_close();
    _exit(0);
}
