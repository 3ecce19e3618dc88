/*
 * gateway/api/rows.c - one row: put, patch, get, delete.
 *
 * A body that takes long to parse is parsed on the helper thread, so that it holds up no loop.
 */
#include "gateway/api/handlers.h"
#include "gateway/api/json_out.h"
#include "gateway/api/row_body.h"
#include "gateway/api/row_stream.h"

#include "base/banned.h"

#define PARSE_ON_LOOP_MAX LIM_SLICE_BYTES

struct row_write {
    struct sto_mutate_op op;
    struct gw_row_body body;
    enum gw_row_verb verb;
    struct sto_mutation delete_row;
};

/* --- get ---------------------------------------------------------------------------------------
 */

void gw_row_get(struct gw_call *call)
{
    struct errbuf eb;
    eb.text[0] = '\0';
    struct slice key = gw_call_param(call, 1);
    enum err e = sto_row_key_check(key, &eb);
    if (e != ERR_OK) {
        gw_call_problem(call, (int)e, eb.text);
        return;
    }
    struct gw_row_stream *s = gw_row_stream_new(call, GW_ROWS_SINGLE, "application/json");
    s->op.spec.single_row = true;
    s->op.spec.range.start = key;
    gw_row_stream_start(s, true);
}

/* --- writes ------------------------------------------------------------------------------------
 */

static void answer_timestamp(struct gw_call *call, const struct sto_mutate_op *op, bool created)
{
    struct gw_json j = gw_json_start(&call->out);
    gw_json_open(&j, '{');
    gw_json_name(&j, "timestamp");
    (void)base_buf_printf(&call->out, "\"%lld\"", (long long)op->commit_us); /* latches */
    gw_json_close(&j, '}');
    gw_call_send_json(call, created ? 201 : 200);
}

static void write_done(struct sto_mutate_op *op)
{
    struct gw_call *call = op->user;
    struct row_write *w = call->state;
    if (op->result != ERR_OK)
        gw_call_problem(call, (int)op->result, op->detail.text);
    else if (op->mutations == &w->delete_row)
        gw_call_no_content(call);
    else
        answer_timestamp(call, op, !op->row_existed && w->body.cells > 0);
    gw_call_drop(call);
}

static void submit(struct gw_call *call, struct sto_mutation *mutations, size_t count)
{
    struct row_write *w = call->state;
    struct errbuf eb;
    eb.text[0] = '\0';
    enum err e = sto_mutations_check(call->scope.schema, &call->tenant->account,
                                     gw_call_param(call, 1), mutations, count, &eb);
    if (e != ERR_OK) {
        gw_call_problem(call, (int)e, eb.text);
        return;
    }
    w->op.reply_to = call->thread->mailbox;
    w->op.done = write_done;
    w->op.user = call;
    w->op.scope = call->scope; /* the call keeps the ref until it is freed */
    w->op.row_key = gw_call_param(call, 1);
    w->op.mutations = mutations;
    w->op.mutation_count = count;
    gw_call_hold(call);
    sto_mutate_row(call->api->engine, &w->op);
}

void gw_row_delete(struct gw_call *call)
{
    struct row_write *w = gw_call_new_state(call, sizeof *w, NULL);
    w->delete_row.kind = STO_DELETE_FROM_ROW;
    submit(call, &w->delete_row, 1);
}

/* On the loop or the helper. */
static enum err build(struct gw_call *call, struct errbuf *eb)
{
    struct row_write *w = call->state;
    return gw_row_body_build(call->body, w->verb, call->scope.schema, &call->arena, &w->body, eb);
}

/* The schema may have changed while the helper worked: numbers of families stay, and the table must
 * still be there. */
static void built_on_helper(struct gw_call *call)
{
    struct row_write *w = call->state;
    enum err e = call->task.result;
    if (e == ERR_OK && call->ex != NULL)
        e = gw_call_enter_table(call, &call->task.detail);
    if (e != ERR_OK)
        gw_call_problem(call, (int)e, call->task.detail.text);
    else if (call->ex != NULL)
        submit(call, w->body.mutations, w->body.count);
}

static void put_or_patch(struct gw_call *call, enum gw_row_verb verb)
{
    struct row_write *w = gw_call_new_state(call, sizeof *w, NULL);
    struct errbuf eb;
    eb.text[0] = '\0';
    w->verb = verb;
    enum err e = gw_call_keep_body(call, &eb);
    if (e == ERR_OK && call->body.len > PARSE_ON_LOOP_MAX) {
        gw_task_on_helper(call, build, built_on_helper);
        return;
    }
    if (e == ERR_OK)
        e = build(call, &eb);
    if (e != ERR_OK)
        gw_call_problem(call, (int)e, eb.text);
    else
        submit(call, w->body.mutations, w->body.count);
}

void gw_row_put(struct gw_call *call)
{
    put_or_patch(call, GW_ROW_PUT);
}

void gw_row_patch(struct gw_call *call)
{
    put_or_patch(call, GW_ROW_PATCH);
}
