/*
 * gateway/api/admin_tenants.c - tenants: create, list, describe, suspend, resume, offboard, quota.
 *
 * Changes run on the control thread: the handler checks the input on the loop and posts a task
 * whose work does the change and writes the answer.
 */
#include "gateway/api/admin.h"
#include "gateway/api/describe.h"
#include "gateway/api/handlers.h"
#include "tenancy/offboard.h"

#include "base/banned.h"

const char *const gw_tenant_list_query[] = {"limit", "page_token", NULL};

struct tenant_change {
    struct ten_tenant *tenant;
    struct slice id;
    struct slice text; /* display name or reason */
    struct ten_quota quota;
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

/* A text field of the parsed body; false when the call was answered. */
static bool get_text(struct gw_call *call, const char *name, bool needed, struct slice *out)
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

static void describe(struct gw_call *call, const struct ten_tenant *t)
{
    struct gw_json j = gw_json_start(&call->out);
    gw_describe_tenant(&j, t, ten_tenant_details(t));
}

/* --- create ------------------------------------------------------------------------------------
 */

static enum err create_work(struct gw_call *call, struct errbuf *eb)
{
    const struct tenant_change *c = call->state;
    struct ten_tenant *t = NULL;
    enum err e = ten_tenant_create(call->api->registry, c->id, c->text, &t, eb);
    if (e == ERR_OK)
        describe(call, t);
    return e;
}

void gw_tenant_create(struct gw_call *call)
{
    static const char *const names[] = {"id", "display_name", NULL};
    struct tenant_change *c = gw_call_new_state(call, sizeof *c, NULL);
    if (gw_admin_parse(call, names) && get_text(call, "id", true, &c->id) &&
        get_text(call, "display_name", false, &c->text))
        gw_rest_on_control(call, 201, create_work);
}

/* --- list and describe -------------------------------------------------------------------------
 */

struct tenant_list {
    struct buf after;
    uint64_t limit;
    struct ten_tenant **found;
};

static void list_cleanup(struct gw_call *call)
{
    struct tenant_list *l = call->state;
    base_buf_fini(&l->after);
}

static struct gw_page_context list_context(void)
{
    return (struct gw_page_context){.parts = {SLICE_LIT("tenants")}, .count = 1};
}

static enum err list_work(struct gw_call *call, struct errbuf *eb)
{
    const struct tenant_list *l = call->state;
    size_t count = ten_tenant_list(call->api->registry, base_buf_slice(&l->after), l->found,
                                   (size_t)l->limit + 1);
    size_t shown = count > l->limit ? (size_t)l->limit : count;
    struct gw_json j = gw_json_start(&call->out);
    gw_json_open(&j, '{');
    gw_json_name(&j, "tenants");
    gw_json_open(&j, '[');
    for (size_t i = 0; i < shown; i++)
        gw_describe_tenant(&j, l->found[i], ten_tenant_details(l->found[i]));
    gw_json_close(&j, ']');
    enum err e = ERR_OK;
    if (count > shown) {
        struct gw_page_context context = list_context();
        (void)base_buf_append(&call->out, SLICE_LIT(",\"next_page_token\":\"")); /* latches */
        e = gw_page_token_make(&call->api->page_key, &context, ten_tenant_id(l->found[shown - 1]),
                               &call->out);
        (void)base_buf_append_byte(&call->out, '"'); /* latches */
    }
    gw_json_close(&j, '}');
    return e == ERR_OK ? ERR_OK : base_fail(eb, e, "out of memory for the page token");
}

static enum err get_list(struct gw_call *call, struct tenant_list *l, struct errbuf *eb)
{
    struct slice token = gw_query_get(&gw_rest(call)->query, "page_token");
    struct gw_page_context context = list_context();
    enum err e = gw_query_number(&gw_rest(call)->query, "limit", 1, LIM_PAGE_ROWS,
                                 LIM_PAGE_ROWS_DEFAULT, &l->limit, eb);
    if (e == ERR_OK && token.ptr != NULL)
        e = gw_page_token_open(&call->api->page_key, &context, token, &l->after, eb);
    if (e != ERR_OK)
        return e;
    l->found = base_arena_alloc(&call->arena, ((size_t)l->limit + 1) * sizeof l->found[0]);
    return l->found == NULL ? base_fail(eb, ERR_NO_MEMORY, "out of memory for the list") : ERR_OK;
}

void gw_tenant_list(struct gw_call *call)
{
    struct tenant_list *l = gw_call_new_state(call, sizeof *l, list_cleanup);
    struct errbuf eb;
    eb.text[0] = '\0';
    base_buf_init(&l->after, LIM_TENANT_ID);
    enum err e = get_list(call, l, &eb);
    if (e != ERR_OK)
        gw_call_problem(call, (int)e, eb.text);
    else
        gw_rest_on_control(call, 200, list_work);
}

void gw_tenant_get(struct gw_call *call)
{
    const struct ten_tenant *t = gw_admin_tenant(call);
    if (t == NULL)
        return;
    describe(call, t);
    gw_rest_send_json(call, 200);
}

/* --- suspend, resume, offboard -----------------------------------------------------------------
 */

/* State of a change to the path's tenant; NULL when the call was answered. */
static struct tenant_change *begin_change(struct gw_call *call, const char *const *names)
{
    struct ten_tenant *t = gw_admin_tenant(call);
    if (t == NULL || !gw_admin_parse(call, names))
        return NULL;
    struct tenant_change *c = gw_call_new_state(call, sizeof *c, NULL);
    c->tenant = t;
    return c;
}

static enum err suspend_work(struct gw_call *call, struct errbuf *eb)
{
    const struct tenant_change *c = call->state;
    enum err e = ten_tenant_suspend(call->api->registry, c->tenant, c->text, eb);
    if (e == ERR_OK)
        describe(call, c->tenant);
    return e;
}

void gw_tenant_suspend(struct gw_call *call)
{
    static const char *const names[] = {"reason", NULL};
    struct tenant_change *c = begin_change(call, names);
    if (c != NULL && get_text(call, "reason", false, &c->text))
        gw_rest_on_control(call, 200, suspend_work);
}

static enum err resume_work(struct gw_call *call, struct errbuf *eb)
{
    const struct tenant_change *c = call->state;
    enum err e = ten_tenant_resume(call->api->registry, c->tenant, eb);
    if (e == ERR_OK)
        describe(call, c->tenant);
    return e;
}

void gw_tenant_resume(struct gw_call *call)
{
    static const char *const names[] = {NULL};
    if (begin_change(call, names) != NULL)
        gw_rest_on_control(call, 200, resume_work);
}

static enum err offboard_work(struct gw_call *call, struct errbuf *eb)
{
    const struct tenant_change *c = call->state;
    char job[TEN_JOB_ID + 1];
    enum err e = ten_offboard_start(call->api->registry, c->tenant,
                                    base_slice_text(call->who.key_id), job, eb);
    if (e != ERR_OK)
        return e;
    struct gw_json j = gw_json_start(&call->out);
    gw_json_open(&j, '{');
    gw_json_name_text(&j, "job", job);
    gw_json_name_text(&j, "tenant", c->tenant->id);
    gw_json_close(&j, '}');
    return ERR_OK;
}

void gw_tenant_offboard(struct gw_call *call)
{
    static const char *const names[] = {"confirm", NULL};
    struct tenant_change *c = begin_change(call, names);
    if (c == NULL || !get_text(call, "confirm", true, &c->text))
        return;
    if (!base_slice_equal(c->text, ten_tenant_id(c->tenant)))
        gw_call_problem(call, ERR_INVALID,
                        "\"confirm\" must repeat the tenant's ID: its data is deleted for good");
    else
        gw_rest_on_control(call, 202, offboard_work);
}

/* --- quota -------------------------------------------------------------------------------------
 */

void gw_tenant_quota_get(struct gw_call *call)
{
    const struct ten_tenant *t = gw_admin_tenant(call);
    if (t == NULL)
        return;
    struct gw_json j = gw_json_start(&call->out);
    gw_describe_quota(&j, &ten_tenant_details(t)->quota);
    gw_rest_send_json(call, 200);
}

static enum err parse_quota(const json_t *body, struct ten_quota *q, struct errbuf *eb)
{
    enum err e = ERR_OK;
    for (size_t i = 0; e == ERR_OK && i < TEN_QUOTA_FIELDS; i++)
        e = gw_json_get_u64(body, ten_quota_field(i).name, &q->each[i], eb);
    return e;
}

static enum err quota_work(struct gw_call *call, struct errbuf *eb)
{
    const struct tenant_change *c = call->state;
    enum err e = ten_tenant_set_quota(call->api->registry, c->tenant, &c->quota, eb);
    if (e != ERR_OK)
        return e;
    struct gw_json j = gw_json_start(&call->out);
    gw_describe_quota(&j, &ten_tenant_details(c->tenant)->quota);
    return ERR_OK;
}

void gw_tenant_quota_put(struct gw_call *call)
{
    const char *names[TEN_QUOTA_FIELDS + 1] = {NULL};
    for (size_t i = 0; i < TEN_QUOTA_FIELDS; i++)
        names[i] = ten_quota_field(i).name;
    struct tenant_change *c = begin_change(call, names);
    if (c == NULL)
        return;
    struct errbuf eb;
    eb.text[0] = '\0';
    enum err e = parse_quota(gw_rest(call)->json, &c->quota, &eb);
    if (e != ERR_OK)
        gw_call_problem(call, (int)e, eb.text);
    else
        gw_rest_on_control(call, 200, quota_work);
}
