/*
 * gateway/api/row_write.c - one change to one row, from a request to its response.
 *
 * A body that takes long to parse is parsed on the helper thread, so that it holds up no loop. The
 * table may change, or be deleted, in the meantime: numbers of families stay, and everything is
 * checked against the current table when the operation is submitted.
 */
#include "gateway/api/row_write.h"

#include "gateway/api/idempotency.h"
#include "gateway/api/mutation_json.h"
#include "gateway/api/precondition.h"
#include "gateway/api/time_unit.h"
#include "gateway/budget.h"
#include "gateway/caller.h"

#include "base/banned.h"

#define PARSE_ON_LOOP_MAX LIM_SLICE_BYTES

/* --- answers ---------------------------------------------------------------------------------- */

void gw_row_write_put_timestamp(struct gw_call *call, struct gw_json *j)
{
    const struct gw_row_write *w = call->state;
    gw_json_name(j, "timestamp");
    (void)base_buf_printf(&call->out, "\"%lld\"", (long long)w->op.commit_us); /* latches */
    j->comma = true;
}

void gw_row_write_answer_timestamp(struct gw_call *call, bool created)
{
    struct gw_json j = gw_json_start(&call->out);
    gw_json_open(&j, '{');
    gw_row_write_put_timestamp(call, &j);
    gw_json_close(&j, '}');
    gw_rest_send_json(call, created ? 201 : 200);
}

static void apply(struct gw_call *call);

static void write_done(struct sto_mutate_op *op)
{
    struct gw_call *call = op->user;
    struct gw_row_write *w = call->state;
    ten_visit_waited(&call->visit);
    gw_caller_charge_write(call, op);
    if (gw_call_tries_again(call, op->result, op->retry_ns, apply)) {
        gw_call_drop(call);
        return;
    }
    bool is_told_why = op->result == ERR_CANCELLED && !gw_call_may_begin(call);
    if (op->result != ERR_OK && !is_told_why) {
        gw_call_problem_retry(call, (int)op->result, op->detail.text, op->retry_ns);
    } else if (op->result == ERR_OK) {
        if (op->repeated && call->ex != NULL && !call->answered)
            gw_exchange_add_header(call->ex, "idempotency-replayed", SLICE_LIT("true"));
        w->answer(call);
    }
    gw_call_drop(call);
}

/* --- the request ------------------------------------------------------------------------------ */

static void apply(struct gw_call *call)
{
    struct gw_row_write *w = call->state;
    gw_call_hold(call);
    ten_visit_waits(&call->visit);
    sto_mutate_row(call->api->engine, &w->op);
}

static enum err check_list(const struct gw_call *call, struct sto_mutation *list, size_t count,
                           const char *name, struct errbuf *eb)
{
    return gw_mutations_check(call->scope.schema, &call->tenant->account, gw_rest_param(call, 1),
                              list, count, name, eb);
}

static enum err check_all(const struct gw_call *call, const struct gw_row_write *w,
                          struct errbuf *eb)
{
    const struct sto_mutate_op *op = &w->op;
    const struct sto_check *check = op->check;
    enum err e = ERR_OK;
    if (check != NULL && check->otherwise_count > 0)
        e = check_list(call, check->otherwise, check->otherwise_count, "else", eb);
    if (e == ERR_OK && (check == NULL || op->mutation_count > 0))
        e = check_list(call, op->mutations, op->mutation_count, w->list, eb);
    return e;
}

static void submit(struct gw_call *call)
{
    struct gw_row_write *w = call->state;
    struct errbuf eb;
    eb.text[0] = '\0';
    enum err e = check_all(call, w, &eb);
    w->op.row_key = gw_rest_param(call, 1);
    if (e == ERR_OK)
        e = gw_caller_check_row(call, w->op.row_key, &eb);
    if (e != ERR_OK) {
        gw_caller_charge_predicate(call, &w->op);
        gw_call_problem(call, (int)e, eb.text);
        return;
    }
    if (!gw_caller_admit_write(call, &w->op))
        return;
    w->op.unwanted = &call->unwanted;
    w->op.priority = call->priority;
    w->op.reply_to = call->thread->mailbox;
    w->op.done = write_done;
    w->op.user = call;
    w->op.scope = call->scope; /* the call keeps the ref until it is freed */
    apply(call);
}

static void prepared_on_helper(struct gw_call *call)
{
    const struct gw_row_write *w = call->state;
    if (call->task.result != ERR_OK)
        gw_call_problem(call, (int)call->task.result, call->task.detail.text);
    else if (call->ex != NULL)
        submit(call);
    else
        gw_caller_charge_predicate(call, &w->op);
}

static void prepare(struct gw_call *call)
{
    struct gw_row_write *w = call->state;
    struct errbuf eb;
    eb.text[0] = '\0';
    if (w->prepare != NULL && w->prepares_long(call)) {
        gw_task_on_helper(call, w->prepare, prepared_on_helper);
        return;
    }
    enum err e = w->prepare == NULL ? ERR_OK : w->prepare(call, &eb);
    if (e != ERR_OK)
        gw_call_problem(call, (int)e, eb.text);
    else
        submit(call);
}

static void read_on_helper(struct gw_call *call)
{
    enum err e = call->task.result;
    if (e == ERR_OK && call->ex != NULL)
        e = gw_rest_enter_table(call, &call->task.detail);
    if (e != ERR_OK)
        gw_call_problem(call, (int)e, call->task.detail.text);
    else if (call->ex != NULL)
        prepare(call);
}

static enum err take_conditions(struct gw_call *call, struct sto_mutate_op *op, struct errbuf *eb)
{
    struct ten_expect expect;
    enum err e = gw_precondition_parse(call->ex, &expect, eb);
    if (e == ERR_OK && expect.revision != 0)
        e = base_fail(eb, ERR_INVALID, "rows have no ETag: \"if-match\" must be * here");
    op->must_exist = expect.present;
    op->must_not_exist = expect.absent;
    return e;
}

void gw_row_write_start(struct gw_call *call, struct gw_row_write *w)
{
    struct errbuf eb;
    eb.text[0] = '\0';
    w->unit_us = 1;
    enum err e = take_conditions(call, &w->op, &eb);
    if (e == ERR_OK && gw_rest(call)->route->query != NULL) /* else it has no timestamps */
        e = gw_time_unit_read(&gw_rest(call)->query, &w->unit_us, &eb);
    if (e == ERR_OK)
        e = gw_idempotency_of_request(call->ex, &call->arena, &w->op.idempotency, &eb);
    if (e == ERR_OK)
        e = gw_rest_keep_body(call, &eb);
    if (e == ERR_OK && gw_rest(call)->body.len > PARSE_ON_LOOP_MAX) {
        gw_task_on_helper(call, w->read, read_on_helper);
        return;
    }
    if (e == ERR_OK)
        e = w->read(call, &eb);
    if (e != ERR_OK)
        gw_call_problem(call, (int)e, eb.text);
    else
        prepare(call);
}
