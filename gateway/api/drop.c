/*
 * gateway/api/drop.c - deletes all rows with a prefix, or all rows of a table; or counts them.
 */
#include "gateway/api/describe.h"
#include "gateway/api/handlers.h"
#include "gateway/drop_range.h"
#include "gateway/recorded_drop.h"

#include "base/banned.h"

static void answer(struct gw_call *call, const struct sto_drop_op *op)
{
    struct gw_json j = gw_json_start(&call->out);
    gw_json_open(&j, '{');
    gw_json_name(&j, op->dry_run ? "would_remove" : "removed");
    gw_describe_usage(&j, &op->removed);
    gw_json_close(&j, '}');
    gw_rest_send_json(call, 200);
}

static enum err get_range(struct gw_call *call, struct gw_drop *d, struct errbuf *eb)
{
    static const char *const names[] = {"prefix", "prefix_b64", "all", "dry_run", NULL};
    struct slice prefix;
    bool all = false;
    enum err e = gw_rest_parse(call, eb);
    if (e == ERR_OK)
        e = gw_json_only(gw_rest(call)->json, names, eb);
    if (e == ERR_OK)
        e = gw_json_get_bytes(gw_rest(call)->json, "prefix", &call->arena, &prefix, eb);
    if (e == ERR_OK)
        e = gw_json_get_bool(gw_rest(call)->json, "all", &all, eb);
    if (e == ERR_OK)
        e = gw_json_get_bool(gw_rest(call)->json, "dry_run", &d->op.dry_run, eb);
    if (e != ERR_OK)
        return e;
    if (all != (prefix.ptr == NULL))
        return base_fail(eb, ERR_INVALID,
                         "give \"prefix\" (or \"prefix_b64\"), or \"all\":true, and not both");
    d->prefix_bytes = prefix.len;
    return gw_drop_range(call->scope.schema, prefix, all, d->end_bytes, &d->op.range, eb);
}

void gw_drop(struct gw_call *call)
{
    struct gw_drop *d = gw_call_new_state(call, sizeof *d, NULL);
    struct errbuf eb;
    eb.text[0] = '\0';
    enum err e = get_range(call, d, &eb);
    if (e != ERR_OK) {
        gw_call_problem(call, (int)e, eb.text);
        return;
    }
    d->answer = answer;
    gw_drop_start(call, d);
}
