/*
 * gateway/api/admin_tenants.c - tenants: create, describe, change, suspend, resume, quota.
 *
 * Changes run on the control thread: the handler checks the input on the loop and posts a task
 * whose work does the change and writes the response.
 */
#include "gateway/api/admin.h"
#include "gateway/api/describe.h"
#include "gateway/api/handlers.h"
#include "gateway/api/quota_json.h"

#include "base/banned.h"

struct tenant_change {
    struct ten_tenant *tenant;
    struct slice id;
    struct slice text; /* reason */
    uint32_t closed;
    struct ten_tenant_wanted wanted;
    struct ten_quota quota;
    struct sto_fence_op fence;
};

struct ten_tenant *gw_admin_tenant(struct gw_call *call)
{
    struct ten_tenant *t = ten_tenant_find(call->api->registry, gw_rest_param(call, 0));
    if (t == NULL)
        gw_call_problem(call, ERR_NOT_FOUND, "there is no such tenant");
    return t;
}

bool gw_admin_parse(struct gw_call *call, const char *const *names)
{
    struct errbuf eb;
    eb.text[0] = '\0';
    enum err e = gw_rest_parse(call, &eb);
    if (e == ERR_OK)
        e = gw_json_only(gw_rest(call)->json, names, &eb);
    if (e != ERR_OK)
        gw_call_problem(call, (int)e, eb.text);
    return e == ERR_OK;
}

bool gw_admin_get_text(struct gw_call *call, const char *name, bool needed, struct slice *out)
{
    struct errbuf eb;
    eb.text[0] = '\0';
    enum err e = gw_json_get_text(gw_rest(call)->json, name, out, &eb);
    if (e == ERR_OK && needed && out->ptr == NULL)
        e = base_fail(&eb, ERR_INVALID, "\"%s\" is missing", name);
    if (e != ERR_OK)
        gw_call_problem(call, (int)e, eb.text);
    return e == ERR_OK;
}

void gw_admin_describe(struct gw_call *call, const struct ten_tenant *t)
{
    struct gw_json j = gw_json_start(&call->out);
    gw_describe_tenant(&j, t, ten_tenant_details(t));
}

/* --- create ------------------------------------------------------------------------------------
 */

/* Reads "display_name", "plan" and "quota" of the body. Null removes a plan, and is allowed nowhere
 * else. */
static bool get_wanted(struct gw_call *call, struct tenant_change *c)
{
    const json_t *body = gw_rest(call)->json;
    struct errbuf eb;
    bool has_quota = false;
    eb.text[0] = '\0';
    enum err e = gw_json_get_text(body, "display_name", &c->wanted.display_name, &eb);
    if (e == ERR_OK)
        e = gw_json_get_text(body, "plan", &c->wanted.plan, &eb);
    if (e == ERR_OK && c->wanted.plan.ptr != NULL && c->wanted.plan.len == 0)
        e = base_fail(&eb, ERR_INVALID, "\"plan\" must be a plan's ID, or null for none");
    if (e == ERR_OK)
        e = gw_quota_read_member(body, &c->quota, &has_quota, &eb);
    if (json_is_null(json_object_get(body, "plan")))
        c->wanted.plan = base_slice("", 0);
    if (has_quota)
        c->wanted.quota = &c->quota;
    if (e != ERR_OK)
        gw_call_problem(call, (int)e, eb.text);
    return e == ERR_OK;
}

static bool get_encrypted(struct gw_call *call, struct tenant_change *c)
{
    const json_t *encrypted = json_object_get(gw_rest(call)->json, "encrypted");
    if (encrypted != NULL && !json_is_boolean(encrypted)) {
        gw_call_problem(call, ERR_INVALID, "\"encrypted\" must be true or false");
        return false;
    }
    c->wanted.encrypted = json_is_true(encrypted);
    return true;
}

static enum err create_work(struct gw_call *call, struct errbuf *eb)
{
    const struct tenant_change *c = call->state;
    struct ten_tenant *t = NULL;
    enum err e = ten_tenant_create(call->api->registry, c->id, &c->wanted, &t, eb);
    if (e == ERR_OK)
        gw_admin_describe(call, t);
    return e;
}

void gw_tenant_create(struct gw_call *call)
{
    static const char *const names[] = {"id", "display_name", "plan", "quota", "encrypted", NULL};
    struct tenant_change *c = gw_call_new_state(call, sizeof *c, NULL);
    if (gw_admin_parse(call, names) && gw_admin_get_text(call, "id", true, &c->id) &&
        get_wanted(call, c) && get_encrypted(call, c))
        gw_rest_on_control(call, 201, create_work);
}

/* --- describe and change -----------------------------------------------------------------------
 */

void gw_tenant_get(struct gw_call *call)
{
    const struct ten_tenant *t = gw_admin_tenant(call);
    if (t == NULL)
        return;
    gw_admin_describe(call, t);
    gw_rest_send_json(call, 200);
}

/* Allocates the state of a change to the path's tenant; NULL when the call was answered. */
static struct tenant_change *begin_change(struct gw_call *call, const char *const *names)
{
    struct ten_tenant *t = gw_admin_tenant(call);
    if (t == NULL || !gw_admin_parse(call, names))
        return NULL;
    struct tenant_change *c = gw_call_new_state(call, sizeof *c, NULL);
    c->tenant = t;
    return c;
}

static enum err change_work(struct gw_call *call, struct errbuf *eb)
{
    const struct tenant_change *c = call->state;
    enum err e = ten_tenant_change(call->api->registry, c->tenant, &c->wanted, eb);
    if (e == ERR_OK)
        gw_admin_describe(call, c->tenant);
    return e;
}

void gw_tenant_patch(struct gw_call *call)
{
    static const char *const names[] = {"display_name", "plan", NULL};
    struct tenant_change *c = begin_change(call, names);
    if (c != NULL && get_wanted(call, c))
        gw_rest_on_control(call, 200, change_work);
}

/* --- suspend, resume ---------------------------------------------------------------------------
 */

static enum err suspend_work(struct gw_call *call, struct errbuf *eb)
{
    const struct tenant_change *c = call->state;
    enum err e = ten_tenant_suspend(call->api->registry, c->tenant, c->closed, c->text, eb);
    if (e == ERR_OK)
        gw_admin_describe(call, c->tenant);
    return e;
}

static void fence_done(struct sto_fence_op *op)
{
    struct gw_call *call = op->user;
    gw_rest_answer_task(call);
    gw_call_drop(call);
}

/* Answers a suspension. A write admitted earlier may still be in flight; a caller that receives the
 * response can rely on no write following it. */
static void answer_suspended(struct gw_call *call)
{
    struct tenant_change *c = call->state;
    if (call->task.result != ERR_OK || (c->closed & STO_GATE_NO_WRITES) == 0) {
        gw_rest_answer_task(call);
        return;
    }
    c->fence = (struct sto_fence_op){.reply_to = call->thread->mailbox,
                                     .done = fence_done,
                                     .user = call,
                                     .scope = ten_scope_tenant(c->tenant)};
    gw_call_hold(call);
    sto_fence(call->api->engine, &c->fence);
}

/* Reads "access": what is refused; false when the call was answered. */
static bool get_closed(struct gw_call *call, uint32_t *out)
{
    struct slice access;
    if (!gw_admin_get_text(call, "access", false, &access))
        return false;
    *out = access.ptr == NULL || base_slice_is(access, "all")
               ? STO_GATE_NO_READS | STO_GATE_NO_WRITES
           : base_slice_is(access, "reads")  ? STO_GATE_NO_READS
           : base_slice_is(access, "writes") ? STO_GATE_NO_WRITES
                                             : 0;
    if (*out == 0)
        gw_call_problem(call, ERR_INVALID, "\"access\" must be \"reads\", \"writes\" or \"all\"");
    return *out != 0;
}

void gw_tenant_suspend(struct gw_call *call)
{
    static const char *const names[] = {"reason", "access", NULL};
    struct tenant_change *c = begin_change(call, names);
    if (c == NULL || !gw_admin_get_text(call, "reason", false, &c->text) ||
        !get_closed(call, &c->closed))
        return;
    gw_rest(call)->status = 200;
    gw_task_on_control(call, suspend_work, answer_suspended);
}

static enum err resume_work(struct gw_call *call, struct errbuf *eb)
{
    const struct tenant_change *c = call->state;
    enum err e = ten_tenant_resume(call->api->registry, c->tenant, eb);
    if (e == ERR_OK)
        gw_admin_describe(call, c->tenant);
    return e;
}

void gw_tenant_resume(struct gw_call *call)
{
    static const char *const names[] = {NULL};
    if (begin_change(call, names) != NULL)
        gw_rest_on_control(call, 200, resume_work);
}

static enum err rotate_key_work(struct gw_call *call, struct errbuf *eb)
{
    const struct tenant_change *c = call->state;
    enum err e = ten_tenant_rotate_key(call->api->registry, c->tenant, eb);
    if (e == ERR_OK)
        gw_admin_describe(call, c->tenant);
    return e;
}

void gw_tenant_rotate_key(struct gw_call *call)
{
    static const char *const names[] = {NULL};
    if (begin_change(call, names) != NULL)
        gw_rest_on_control(call, 200, rotate_key_work);
}

/* --- quota -------------------------------------------------------------------------------------
 */

/* Writes {all fields, "plan", "own"}. */
static void describe_quota(struct gw_call *call, const struct ten_tenant *t)
{
    const struct ten_details *d = ten_tenant_details(t);
    struct gw_json j = gw_json_start(&call->out);
    struct ten_quota held;
    ten_tenant_quota(t, &held);
    gw_json_open(&j, '{');
    gw_quota_put_members(&j, &held);
    gw_json_name_text(&j, "plan", d->plan == NULL ? NULL : d->plan->id);
    gw_json_name(&j, "own");
    gw_quota_put_given(&j, &d->quota);
    gw_json_close(&j, '}');
}

void gw_tenant_quota_get(struct gw_call *call)
{
    const struct ten_tenant *t = gw_admin_tenant(call);
    if (t == NULL)
        return;
    describe_quota(call, t);
    gw_rest_send_json(call, 200);
}

static enum err quota_work(struct gw_call *call, struct errbuf *eb)
{
    const struct tenant_change *c = call->state;
    enum err e = ten_tenant_change(call->api->registry, c->tenant, &c->wanted, eb);
    if (e == ERR_OK)
        describe_quota(call, c->tenant);
    return e;
}

void gw_tenant_quota_put(struct gw_call *call)
{
    struct ten_tenant *t = gw_admin_tenant(call);
    struct errbuf eb;
    eb.text[0] = '\0';
    if (t == NULL)
        return;
    struct tenant_change *c = gw_call_new_state(call, sizeof *c, NULL);
    c->tenant = t;
    c->wanted.quota = &c->quota;
    enum err e = gw_rest_parse(call, &eb);
    if (e == ERR_OK)
        e = gw_quota_read(gw_rest(call)->json, &c->quota, &eb);
    if (e != ERR_OK)
        gw_call_problem(call, (int)e, eb.text);
    else
        gw_rest_on_control(call, 200, quota_work);
}
