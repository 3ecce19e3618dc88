/*
 * gateway/grpc/mutate_row.c - one change to one row: MutateRow, CheckAndMutateRow,
 * ReadModifyWriteRow.
 *
 * The memory that a response needs is allocated before the row is changed: afterwards the call
 * cannot be refused, and clients never retry the last two.
 */
#include "gateway/budget.h"
#include "gateway/caller.h"
#include "gateway/grpc/filter_proto.h"
#include "gateway/grpc/handlers.h"
#include "gateway/grpc/mutation_proto.h"

#include "base/banned.h"

/* The first member of each handler's state. */
struct row_change {
    struct sto_mutate_op op;
    /* Builds the operation of the request; on the loop or the helper. */
    enum err (*read)(struct gw_call *call, struct errbuf *eb);
    /* Answers a change that was done. */
    void (*answer)(struct gw_call *call);
};

/* --- submit and complete ---------------------------------------------------------------------- */

static void apply(struct gw_call *call);

static void change_done(struct sto_mutate_op *op)
{
    struct gw_call *call = op->user;
    const struct row_change *change = call->state;
    ten_visit_waited(&call->visit);
    gw_caller_charge_write(call, op);
    if (gw_call_tries_again(call, op->result, op->retry_ns, apply)) {
        gw_call_drop(call);
        return;
    }
    bool is_told_why = op->result == ERR_CANCELLED && !gw_call_may_begin(call);
    if (op->result != ERR_OK && !is_told_why)
        gw_rpc_fail_retry(call, op->result, op->detail.text, op->retry_ns);
    else if (op->result == ERR_OK)
        change->answer(call);
    gw_call_drop(call);
}

static void apply(struct gw_call *call)
{
    struct row_change *change = call->state;
    gw_call_hold(call);
    ten_visit_waits(&call->visit);
    sto_mutate_row(call->api->engine, &change->op);
}

static enum err check_list(const struct gw_call *call, const struct sto_mutation *list,
                           size_t count, struct errbuf *eb)
{
    const struct row_change *change = call->state;
    const struct sto_schema *schema = call->scope.schema;
    const struct sto_view *view = gw_rpc(call)->view;
    struct slice row_key = change->op.row_key;
    enum err e = sto_mutations_check(schema, &call->tenant->account, row_key, list, count, eb);
    if (e == ERR_OK && view != NULL)
        e = sto_view_mutations_check(view, schema, row_key, list, count, eb);
    return e;
}

/* Checks the lists; one list of a conditional change may be empty. */
static enum err check_lists(const struct gw_call *call, const struct sto_mutate_op *op,
                            struct errbuf *eb)
{
    const struct sto_check *check = op->check;
    enum err e = ERR_OK;
    if (check != NULL && check->otherwise_count > 0)
        e = check_list(call, check->otherwise, check->otherwise_count, eb);
    if (e == ERR_OK && (check == NULL || op->mutation_count > 0))
        e = check_list(call, op->mutations, op->mutation_count, eb);
    return e;
}

static void submit(struct gw_call *call)
{
    struct row_change *change = call->state;
    struct sto_mutate_op *op = &change->op;
    if (!gw_caller_admit_write(call, op))
        return;
    op->reply_to = call->thread->mailbox;
    op->done = change_done;
    op->user = call;
    op->unwanted = &call->unwanted;
    op->deadline_ns = gw_rpc(call)->deadline_ns;
    op->priority = call->priority;
    op->scope = call->scope; /* the call keeps the ref until it is freed */
    apply(call);
}

/* Builds the operation. The call, and with it the tenant and the table's schema, is held in the
 * meantime. */
static enum err prepare(struct gw_call *call, struct errbuf *eb)
{
    struct row_change *change = call->state;
    enum err e = change->read(call, eb);
    if (e == ERR_OK)
        e = gw_caller_check_row(call, change->op.row_key, eb);
    return e == ERR_OK ? check_lists(call, &change->op, eb) : e;
}

static void prepared(struct gw_call *call)
{
    const struct row_change *change = call->state;
    if (call->task.result == ERR_OK && !gw_rpc_is_over(call)) {
        submit(call);
        return;
    }
    gw_caller_charge_predicate(call, &change->op);
    if (call->task.result != ERR_OK)
        gw_rpc_fail(call, call->task.result, call->task.detail.text);
}

static void run(struct gw_call *call, bool is_small)
{
    struct errbuf eb = {{0}};
    if (!is_small || gw_rpc_is_large(call)) {
        gw_task_on_helper(call, prepare, prepared);
        return;
    }
    enum err e = prepare(call, &eb);
    if (e == ERR_OK) /* the compile time of a small predicate is too short to be charged */
        submit(call);
    else
        gw_rpc_fail(call, e, eb.text);
}

/* --- MutateRow -------------------------------------------------------------------------------- */

static void answer_mutated(struct gw_call *call)
{
    const Bt__MutateRowResponse reply = BT__MUTATE_ROW_RESPONSE__INIT;
    gw_rpc_reply(call, &reply.base);
}

static enum err read_mutations(struct gw_call *call, struct errbuf *eb)
{
    const Bt__MutateRowRequest *request = (const Bt__MutateRowRequest *)gw_rpc(call)->request;
    struct row_change *change = call->state;
    struct sto_mutate_op *op = &change->op;
    op->row_key = gw_proto_bytes(request->row_key);
    op->mutation_count = request->n_mutations;
    enum err e = gw_mutations_from_proto(call->scope.schema, request->mutations,
                                         request->n_mutations, &call->arena, &op->mutations, eb);
    return e == ERR_OK ? gw_idempotency_from_proto(request->idempotency, &op->idempotency, eb) : e;
}

void gw_mutate_row(struct gw_call *call)
{
    struct row_change *change = gw_call_new_state(call, sizeof *change, NULL);
    change->read = read_mutations;
    change->answer = answer_mutated;
    run(call, true);
}

/* --- CheckAndMutateRow ------------------------------------------------------------------------ */

struct row_check {
    struct row_change change; /* first */
    struct sto_check check;
};

static void forget_predicate(struct gw_call *call)
{
    struct row_check *c = call->state;
    sto_filter_unref(c->check.predicate);
}

static void answer_checked(struct gw_call *call)
{
    const struct row_check *c = call->state;
    Bt__CheckAndMutateRowResponse reply = BT__CHECK_AND_MUTATE_ROW_RESPONSE__INIT;
    reply.predicate_matched = c->check.matched;
    gw_rpc_reply(call, &reply.base);
}

static enum err read_predicate(struct gw_call *call, const Bt__RowFilter *message,
                               struct sto_filter_program **out, struct errbuf *eb)
{
    struct sto_filter filter;
    if (message == NULL)
        return ERR_OK;
    enum err e = gw_filter_from_proto(message, &call->arena, &filter, eb);
    return e == ERR_OK ? gw_call_compile(call, &filter, out, eb) : e;
}

static enum err read_check(struct gw_call *call, struct errbuf *eb)
{
    const Bt__CheckAndMutateRowRequest *request =
        (const Bt__CheckAndMutateRowRequest *)gw_rpc(call)->request;
    struct row_check *c = call->state;
    const struct sto_schema *schema = call->scope.schema;
    struct sto_mutate_op *op = &c->change.op;
    op->row_key = gw_proto_bytes(request->row_key);
    op->mutation_count = request->n_true_mutations;
    c->check.otherwise_count = request->n_false_mutations;
    op->check = &c->check;
    c->check.view = gw_rpc(call)->view;
    if (op->mutation_count == 0 && c->check.otherwise_count == 0)
        return base_fail(eb, ERR_INVALID, "No mutations provided");
    enum err e = read_predicate(call, request->predicate_filter, &c->check.predicate, eb);
    if (e == ERR_OK)
        e = gw_mutations_from_proto(schema, request->true_mutations, request->n_true_mutations,
                                    &call->arena, &op->mutations, eb);
    if (e == ERR_OK)
        e = gw_mutations_from_proto(schema, request->false_mutations, request->n_false_mutations,
                                    &call->arena, &c->check.otherwise, eb);
    return e;
}

void gw_check_and_mutate_row(struct gw_call *call)
{
    const Bt__CheckAndMutateRowRequest *request =
        (const Bt__CheckAndMutateRowRequest *)gw_rpc(call)->request;
    struct row_check *c = gw_call_new_state(call, sizeof *c, forget_predicate);
    c->change.read = read_check;
    c->change.answer = answer_checked;
    run(call, gw_filter_is_small(request->predicate_filter, &call->arena));
}

/* --- ReadModifyWriteRow ----------------------------------------------------------------------- */

/* A modified cell, and the messages of which it may be the first cell. */
struct answered_cell {
    Bt__Cell cell;
    Bt__Column column;
    Bt__Family family;
    Bt__Cell *cells[1];
};

struct row_modify {
    struct row_change change; /* first */
    struct sto_modified modified;
    struct answered_cell *cells; /* one per rule: no rule creates two cells */
    Bt__Column **columns;
    Bt__Family **families;
};

/* Describes a cell as a column of its own: each column was modified once. */
static void fill_column(struct answered_cell *to, const struct sto_cell *from)
{
    bt__cell__init(&to->cell);
    bt__column__init(&to->column);
    to->cell.timestamp_micros = from->timestamp_us;
    to->cell.value = gw_proto_data(from->value);
    to->cells[0] = &to->cell;
    to->column.qualifier = gw_proto_data(from->qualifier);
    to->column.cells = to->cells;
    to->column.n_cells = 1;
}

/* Describes the families; returns their number. Cells are in the order of the row, so those of a
 * family are adjacent. */
static size_t fill_families(const struct row_modify *m)
{
    size_t families = 0;
    INVARIANT(m->modified.count <= m->change.op.mutation_count);
    for (size_t i = 0; i < m->modified.count; i++) {
        const struct sto_cell *cell = &m->modified.cells[i];
        fill_column(&m->cells[i], cell);
        m->columns[i] = &m->cells[i].column;
        if (i == 0 || cell->family->number != m->modified.cells[i - 1].family->number) {
            Bt__Family *family = &m->cells[i].family;
            bt__family__init(family);
            family->name = (char *)(uintptr_t)cell->family->name; /* as in gw_proto_data */
            family->columns = &m->columns[i];
            m->families[families++] = family;
        }
        m->families[families - 1]->n_columns++;
    }
    return families;
}

static void answer_modified(struct gw_call *call)
{
    const struct row_modify *m = call->state;
    Bt__ReadModifyWriteRowResponse reply = BT__READ_MODIFY_WRITE_ROW_RESPONSE__INIT;
    Bt__Row row = BT__ROW__INIT;
    row.key = gw_proto_data(m->change.op.row_key);
    row.families = m->families;
    row.n_families = fill_families(m);
    reply.row = &row;
    gw_rpc_reply(call, &reply.base);
}

static enum err make_room(struct gw_call *call, struct row_modify *m, size_t count,
                          struct errbuf *eb)
{
    m->cells = base_arena_alloc(&call->arena, count * sizeof *m->cells);
    m->columns = base_arena_alloc(&call->arena, count * sizeof *m->columns);
    m->families = base_arena_alloc(&call->arena, count * sizeof *m->families);
    if (m->cells == NULL || m->columns == NULL || m->families == NULL)
        return base_fail(eb, ERR_NO_MEMORY, "out of memory for %zu rules", count);
    return ERR_OK;
}

static enum err read_rules(struct gw_call *call, struct errbuf *eb)
{
    const Bt__ReadModifyWriteRowRequest *request =
        (const Bt__ReadModifyWriteRowRequest *)gw_rpc(call)->request;
    struct row_modify *m = call->state;
    struct sto_mutate_op *op = &m->change.op;
    size_t count = request->n_rules;
    op->row_key = gw_proto_bytes(request->row_key);
    op->mutation_count = count;
    op->modified = &m->modified;
    m->modified.arena = &call->arena;
    if (count == 0)
        return base_fail(eb, ERR_INVALID, "No rules provided");
    enum err e = gw_rules_from_proto(call->scope.schema, request->rules, count, &call->arena,
                                     &op->mutations, eb);
    return e == ERR_OK ? make_room(call, m, count, eb) : e;
}

void gw_read_modify_write_row(struct gw_call *call)
{
    struct row_modify *m = gw_call_new_state(call, sizeof *m, NULL);
    m->change.read = read_rules;
    m->change.answer = answer_modified;
    run(call, true);
}
