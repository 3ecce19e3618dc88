/*
 * gateway/api/drop.c - delete all rows with a prefix, or all rows of a table; or say what would go.
 */
#include "gateway/api/describe.h"
#include "gateway/api/handlers.h"

#include "base/banned.h"

struct drop {
    struct sto_drop_op op;
    uint8_t end_bytes[LIM_ROW_KEY];
};

static void drop_done(struct sto_drop_op *op)
{
    struct gw_call *call = op->user;
    if (op->result != ERR_OK) {
        gw_call_problem(call, (int)op->result, op->detail.text);
    } else {
        struct gw_json j = gw_json_start(&call->out);
        gw_json_open(&j, '{');
        gw_json_name(&j, op->dry_run ? "would_remove" : "removed");
        gw_describe_usage(&j, &op->removed);
        gw_json_close(&j, '}');
        gw_call_send_json(call, 200);
    }
    gw_call_drop(call);
}

static enum err get_range(struct gw_call *call, struct drop *d, struct errbuf *eb)
{
    static const char *const names[] = {"prefix", "prefix_b64", "all", "dry_run", NULL};
    struct slice prefix;
    bool all = false;
    enum err e = gw_call_parse(call, eb);
    if (e == ERR_OK)
        e = gw_json_only(call->json, names, eb);
    if (e == ERR_OK)
        e = gw_json_get_bytes(call->json, "prefix", &call->arena, &prefix, eb);
    if (e == ERR_OK)
        e = gw_json_get_bool(call->json, "all", &all, eb);
    if (e == ERR_OK)
        e = gw_json_get_bool(call->json, "dry_run", &d->op.dry_run, eb);
    if (e != ERR_OK)
        return e;
    if (all != (prefix.ptr == NULL))
        return base_fail(eb, ERR_INVALID,
                         "give \"prefix\" (or \"prefix_b64\"), or \"all\":true, and not both");
    if (all && call->scope.schema->protected)
        return base_fail(eb, ERR_CONFLICT,
                         "deletion protection is on: not all rows can be removed at once");
    if (all)
        return ERR_OK;
    if (prefix.len == 0)
        return base_fail(eb, ERR_INVALID, "\"prefix\" is empty; \"all\":true removes every row");
    if (prefix.len > LIM_ROW_KEY)
        return base_fail(eb, ERR_TOO_BIG, "\"prefix\" is %zu bytes; the limit is %d", prefix.len,
                         LIM_ROW_KEY);
    d->op.range = sto_range_of_prefix(prefix, d->end_bytes);
    return ERR_OK;
}

void gw_drop(struct gw_call *call)
{
    struct drop *d = gw_call_new_state(call, sizeof *d, NULL);
    struct errbuf eb;
    eb.text[0] = '\0';
    enum err e = get_range(call, d, &eb);
    if (e != ERR_OK) {
        gw_call_problem(call, (int)e, eb.text);
        return;
    }
    d->op.reply_to = call->thread->mailbox;
    d->op.done = drop_done;
    d->op.user = call;
    d->op.scope = call->scope; /* the call keeps the ref until it is freed */
    gw_call_hold(call);
    sto_drop_rows(call->api->engine, &d->op);
}
