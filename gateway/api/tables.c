/*
 * gateway/api/tables.c - tables: create and change, describe, delete.
 *
 * A table's version is in its document and, as ETag, in the head of every response that shows it.
 */
#include "gateway/api/describe.h"
#include "gateway/api/handlers.h"
#include "gateway/api/precondition.h"
#include "gateway/api/table_body.h"

#include "base/banned.h"

/* --- describe ----------------------------------------------------------------------------------
 */

static void describe_scope(struct gw_call *call)
{
    struct gw_json j = gw_json_start(&call->out);
    gw_describe_table(&j, call->scope.schema);
}

static void send_table(struct gw_call *call, int status)
{
    if (call->ex != NULL && !call->answered)
        gw_etag_add(call->ex, call->scope.schema->revision);
    gw_rest_send_json(call, status);
}

void gw_table_get(struct gw_call *call)
{
    describe_scope(call);
    send_table(call, 200);
}

/* --- create and change -------------------------------------------------------------------------
 */

/* Describes the table as it is now; on the control thread. */
static enum err describe_changed(struct gw_call *call, struct errbuf *eb)
{
    enum err e = gw_rest_enter_table(call, eb);
    if (e == ERR_OK)
        describe_scope(call);
    return e;
}

static void answer_changed(struct gw_call *call)
{
    if (call->task.result != ERR_OK)
        gw_rest_answer_task(call);
    else
        send_table(call, gw_rest(call)->status);
}

/* Creates or changes the table; on the control thread. */
static enum err put_table(struct gw_call *call, struct errbuf *eb)
{
    bool created = false;
    enum err e = ten_table_put(call->api->registry, call->tenant, gw_rest_param(call, 0),
                               call->state, &created, eb);
    gw_rest(call)->status = created ? 201 : 200;
    return e == ERR_OK ? describe_changed(call, eb) : e;
}

void gw_table_put(struct gw_call *call)
{
    struct ten_table_wanted *wanted = gw_call_new_state(call, sizeof *wanted, NULL);
    struct errbuf eb;
    eb.text[0] = '\0';
    enum err e = sto_table_id_check(gw_rest_param(call, 0), &eb);
    if (e == ERR_OK)
        e = gw_rest_parse(call, &eb);
    if (e == ERR_OK)
        e = gw_table_body_parse(gw_rest(call)->json, &call->arena, wanted, &eb);
    if (e == ERR_OK)
        e = gw_precondition_parse(call->ex, &wanted->expect, &eb);
    if (e != ERR_OK)
        gw_call_problem(call, (int)e, eb.text);
    else
        gw_task_on_control(call, put_table, answer_changed);
}

/* Changes the families; on the control thread. */
static enum err change_families(struct gw_call *call, struct errbuf *eb)
{
    enum err e = ten_table_change_families(call->api->registry, call->tenant,
                                           gw_rest_param(call, 0), call->state, eb);
    gw_rest(call)->status = 200;
    return e == ERR_OK ? describe_changed(call, eb) : e;
}

void gw_table_families(struct gw_call *call)
{
    struct ten_families_change *change = gw_call_new_state(call, sizeof *change, NULL);
    struct errbuf eb;
    eb.text[0] = '\0';
    enum err e = gw_rest_parse(call, &eb);
    if (e == ERR_OK)
        e = gw_families_body_parse(gw_rest(call)->json, &call->arena, change, &eb);
    if (e == ERR_OK)
        e = gw_precondition_parse(call->ex, &change->expect, &eb);
    if (e != ERR_OK)
        gw_call_problem(call, (int)e, eb.text);
    else
        gw_task_on_control(call, change_families, answer_changed);
}

/* --- delete ------------------------------------------------------------------------------------
 */

static void delete_done(struct ten_table_delete_op *op)
{
    struct gw_call *call = op->user;
    if (op->result != ERR_OK)
        gw_call_problem(call, (int)op->result, op->detail.text);
    else
        gw_rest_no_content(call);
    gw_call_drop(call);
}

void gw_table_delete(struct gw_call *call)
{
    struct ten_table_delete_op *op = gw_call_new_state(call, sizeof *op, NULL);
    struct slice id = gw_rest_param(call, 0);
    struct errbuf eb;
    eb.text[0] = '\0';
    enum err e = sto_table_id_check(id, &eb);
    if (e == ERR_OK)
        e = gw_precondition_parse(call->ex, &op->expect, &eb);
    if (e != ERR_OK) {
        gw_call_problem(call, (int)e, eb.text);
        return;
    }
    op->reply_to = call->thread->mailbox;
    op->done = delete_done;
    op->user = call;
    op->tenant = call->tenant;
    op->action = gw_action_take(call);
    memcpy(op->table_id, id.ptr, id.len);
    gw_call_hold(call);
    ten_table_delete(call->api->registry, op);
}
