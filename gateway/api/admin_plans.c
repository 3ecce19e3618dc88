/*
 * gateway/api/admin_plans.c - plans: create or replace, list, describe, delete.
 *
 * All of it runs on the control thread, which owns the plans.
 */
#include "gateway/api/admin.h"
#include "gateway/api/handlers.h"
#include "gateway/api/quota_json.h"

#include "base/banned.h"

struct plan_change {
    struct slice id;
    struct slice display_name;
    struct ten_quota quota;
};

static void describe(struct gw_json *j, const struct ten_plan *plan)
{
    const struct ten_plan_terms *terms = ten_plan_terms(plan);
    gw_json_open(j, '{');
    gw_json_name_text(j, "id", plan->id);
    gw_json_name(j, "display_name");
    gw_json_text(j, base_slice_text(terms->display_name));
    gw_json_name(j, "quota");
    gw_quota_put_given(j, &terms->quota);
    gw_json_name_u64(j, "tenants", plan->tenants);
    gw_json_name_time(j, "created", terms->created_us);
    gw_json_name_time(j, "changed", terms->changed_us);
    gw_json_close(j, '}');
}

static struct plan_change *begin(struct gw_call *call)
{
    struct plan_change *c = gw_call_new_state(call, sizeof *c, NULL);
    c->id = gw_rest_param(call, 0);
    return c;
}

/* --- create or replace ------------------------------------------------------------------------ */

static enum err put_work(struct gw_call *call, struct errbuf *eb)
{
    const struct plan_change *c = call->state;
    struct ten_plan *plan = NULL;
    bool created = ten_plan_find(call->api->registry, c->id) == NULL;
    enum err e = ten_plan_put(call->api->registry, c->id, c->display_name, &c->quota, &plan, eb);
    if (e != ERR_OK)
        return e;
    struct gw_json j = gw_json_start(&call->out);
    describe(&j, plan);
    gw_rest(call)->status = created ? 201 : 200;
    return ERR_OK;
}

void gw_plan_put(struct gw_call *call)
{
    static const char *const names[] = {"display_name", "quota", NULL};
    if (!gw_admin_parse(call, names))
        return;
    struct plan_change *c = begin(call);
    struct errbuf eb;
    bool given = false;
    eb.text[0] = '\0';
    enum err e = gw_json_get_text(gw_rest(call)->json, "display_name", &c->display_name, &eb);
    if (e == ERR_OK)
        e = gw_quota_read_member(gw_rest(call)->json, &c->quota, &given, &eb);
    if (e == ERR_OK && !given)
        e = base_fail(&eb, ERR_INVALID, "\"quota\" is missing; {} says nothing of its tenants");
    if (e != ERR_OK)
        gw_call_problem(call, (int)e, eb.text);
    else
        gw_rest_on_control(call, 200, put_work);
}

/* --- list and describe ------------------------------------------------------------------------ */

static enum err list_work(struct gw_call *call, struct errbuf *eb)
{
    struct ten_plan **plans = base_arena_alloc(&call->arena, LIM_PLANS * sizeof plans[0]);
    if (plans == NULL)
        return base_fail(eb, ERR_NO_MEMORY, "out of memory for the list");
    size_t count = ten_plan_list(call->api->registry, plans, LIM_PLANS);
    struct gw_json j = gw_json_start(&call->out);
    gw_json_open(&j, '{');
    gw_json_name(&j, "plans");
    gw_json_open(&j, '[');
    for (size_t i = 0; i < count; i++)
        describe(&j, plans[i]);
    gw_json_close(&j, ']');
    gw_json_close(&j, '}');
    return ERR_OK;
}

void gw_plan_list(struct gw_call *call)
{
    gw_rest_on_control(call, 200, list_work);
}

static enum err get_work(struct gw_call *call, struct errbuf *eb)
{
    const struct plan_change *c = call->state;
    const struct ten_plan *plan = ten_plan_find(call->api->registry, c->id);
    if (plan == NULL)
        return base_fail(eb, ERR_NOT_FOUND, "there is no such plan");
    struct gw_json j = gw_json_start(&call->out);
    describe(&j, plan);
    return ERR_OK;
}

void gw_plan_get(struct gw_call *call)
{
    (void)begin(call);
    gw_rest_on_control(call, 200, get_work);
}

/* --- delete ----------------------------------------------------------------------------------- */

static enum err delete_work(struct gw_call *call, struct errbuf *eb)
{
    const struct plan_change *c = call->state;
    return ten_plan_delete(call->api->registry, c->id, eb);
}

void gw_plan_delete(struct gw_call *call)
{
    (void)begin(call);
    gw_rest_on_control(call, 204, delete_work);
}
