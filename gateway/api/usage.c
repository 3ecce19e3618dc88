/*
 * gateway/api/usage.c - a tenant's stored data: its own view, the operator's, and a recount.
 */
#include "gateway/api/admin.h"
#include "gateway/api/describe.h"
#include "gateway/api/handlers.h"
#include "gateway/api/quota_json.h"

#include "base/banned.h"

const char *const gw_admin_usage_query[] = {"recount", NULL};

/* Writes the members that every response starts with; the object stays open. */
static void begin_usage(struct gw_json *j, const struct ten_tenant *t)
{
    struct sto_usage usage = sto_counters_read(&t->account.total);
    gw_json_open(j, '{');
    gw_json_name_text(j, "tenant", t->id);
    gw_describe_usage_members(j, &usage);
    gw_describe_growth_members(j, t);
    gw_json_name(j, "quota");
    struct ten_quota held;
    ten_tenant_quota(t, &held);
    gw_quota_put(j, &held);
}

static void send_usage(struct gw_call *call, const struct ten_tenant *t)
{
    struct gw_json j = gw_json_start(&call->out);
    begin_usage(&j, t);
    gw_json_close(&j, '}');
    gw_rest_send_json(call, 200);
}

void gw_usage_get(struct gw_call *call)
{
    send_usage(call, call->tenant);
}

/* --- recount -----------------------------------------------------------------------------------
 */

struct recount {
    struct sto_recount_op op;
    struct ten_tenant *tenant;
};

static void put_drift(struct gw_json *j, const char *name, uint64_t recorded, uint64_t counted)
{
    gw_json_name(j, name);
    gw_json_i64(j, (int64_t)(recorded - counted));
}

static void recount_done(struct sto_recount_op *op)
{
    struct gw_call *call = op->user;
    const struct recount *r = call->state;
    if (op->result != ERR_OK) {
        gw_call_problem(call, (int)op->result, op->detail.text);
    } else {
        struct gw_json j = gw_json_start(&call->out);
        begin_usage(&j, r->tenant);
        gw_json_name(&j, "recount");
        gw_json_open(&j, '{');
        gw_describe_usage_members(&j, &op->counted);
        gw_json_name_u64(&j, "change_bytes", op->counted_changes);
        gw_json_close(&j, '}');
        gw_json_name(&j, "drift");
        gw_json_open(&j, '{');
        put_drift(&j, "stored_bytes", op->recorded.bytes, op->counted.bytes);
        put_drift(&j, "rows", op->recorded.rows, op->counted.rows);
        put_drift(&j, "cells", op->recorded.cells, op->counted.cells);
        put_drift(&j, "change_bytes", op->recorded_changes, op->counted_changes);
        gw_json_close(&j, '}');
        gw_json_close(&j, '}');
        gw_rest_send_json(call, 200);
    }
    gw_call_drop(call);
}

void gw_admin_usage_get(struct gw_call *call)
{
    struct slice recount = gw_query_get(&gw_rest(call)->query, "recount");
    struct ten_tenant *t = gw_admin_tenant(call);
    if (t == NULL)
        return;
    if (recount.ptr != NULL && !base_slice_is(recount, "true") &&
        !base_slice_is(recount, "false")) {
        gw_call_problem(call, ERR_INVALID, "query parameter \"recount\" must be true or false");
        return;
    }
    if (!base_slice_is(recount, "true")) {
        send_usage(call, t);
        return;
    }
    struct recount *r = gw_call_new_state(call, sizeof *r, NULL);
    r->tenant = t;
    r->op.reply_to = call->thread->mailbox;
    r->op.done = recount_done;
    r->op.user = call;
    r->op.scope = ten_scope_tenant(t);
    gw_call_hold(call);
    sto_recount(call->api->engine, &r->op);
}
