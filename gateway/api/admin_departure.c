/*
 * gateway/api/admin_departure.c - offboarding of tenants: offboard, undelete, hold, release.
 */
#include "base/alloc.h"
#include "gateway/api/admin.h"
#include "gateway/api/describe.h"
#include "gateway/api/handlers.h"
#include "gateway/api/json_in.h"
#include "tenancy/audit.h"
#include "tenancy/certificate_store.h"
#include "tenancy/hold.h"
#include "tenancy/lifecycle.h"
#include "tenancy/offboard.h"

#include "base/banned.h"

struct departure {
    struct ten_tenant *tenant;
    struct slice reason;
    struct slice confirm;
    uint64_t grace_us;
    bool dry_run;
    bool deep; /* every table is searched */
};

/* Allocates the state of a call about the path's tenant; NULL when it was answered. */
static struct departure *begin(struct gw_call *call, const char *const *names)
{
    struct ten_tenant *t = gw_admin_tenant(call);
    if (t == NULL || !gw_admin_parse(call, names))
        return NULL;
    struct departure *d = gw_call_new_state(call, sizeof *d, NULL);
    d->tenant = t;
    return d;
}

/* --- offboard ----------------------------------------------------------------------------------
 */

static enum err offboard_work(struct gw_call *call, struct errbuf *eb)
{
    const struct departure *d = call->state;
    const struct ten_offboard_wanted wanted = {.requested_by = base_slice_text(call->who.key_id),
                                               .reason = d->reason,
                                               .grace_us = d->grace_us,
                                               .deep = d->deep};
    char job[TEN_JOB_ID + 1];
    enum err e = ten_offboard_start(call->api->registry, d->tenant, &wanted, job, eb);
    if (e != ERR_OK)
        return e;
    enum ten_state state = (enum ten_state)atomic_load(&d->tenant->state);
    if (state == TEN_PURGED || state == TEN_EXPIRED)
        gw_rest(call)->status = 200; /* it was requested before */
    struct gw_json j = gw_json_start(&call->out);
    gw_json_open(&j, '{');
    gw_json_name_text(&j, "job", job);
    gw_json_name_text(&j, "tenant", d->tenant->id);
    gw_json_name_text(&j, "state", ten_state_name(state));
    gw_json_name_time(&j, "delete_at", ten_tenant_details(d->tenant)->delete_at_us);
    gw_json_close(&j, '}');
    return ERR_OK;
}

static size_t count_keys(struct gw_call *call, const struct ten_tenant *t)
{
    const struct auth_key **keys = base_new_array(LIM_KEYS_PER_TENANT, sizeof keys[0]);
    size_t count = auth_key_list(call->api->keyring, t, keys, LIM_KEYS_PER_TENANT);
    base_free(keys);
    return count;
}

/* Reports what would be deleted, what prevents it, and what would stay. */
static enum err look_work(struct gw_call *call, struct errbuf *eb)
{
    const struct departure *d = call->state;
    const struct ten_tenant *t = d->tenant;
    const struct ten_details *details = ten_tenant_details(t);
    struct ten_copies copies;
    ten_audit_set_detail("dry run");
    enum err e = ten_certificates_copies(ten_registry_certificates(call->api->registry),
                                         ten_tenant_id(t), &copies, eb);
    if (e != ERR_OK)
        return e;
    struct sto_usage usage = sto_counters_read(&t->account.total);
    struct gw_json j = gw_json_start(&call->out);
    gw_json_open(&j, '{');
    gw_json_name(&j, "dry_run");
    gw_json_bool(&j, true);
    gw_json_name_text(&j, "tenant", t->id);
    gw_json_name_text(&j, "state", ten_state_name((enum ten_state)atomic_load(&t->state)));
    gw_describe_usage_members(&j, &usage);
    gw_json_name_u64(&j, "tables", ten_tenant_tables(t)->count);
    gw_json_name_u64(&j, "keys", count_keys(call, t));
    gw_describe_departure(&j, details);
    gw_describe_copies(&j, &copies);
    gw_json_close(&j, '}');
    return ERR_OK;
}

/* Reads "grace"; false when the call was answered. */
static bool get_grace(struct gw_call *call, uint64_t *out_us)
{
    struct slice text;
    if (!gw_admin_get_text(call, "grace", false, &text))
        return false;
    if (text.ptr == NULL || gw_json_parse_duration(text, out_us) == ERR_OK)
        return true;
    gw_call_problem(call, ERR_INVALID,
                    "\"grace\" must be seconds with a final \"s\", like \"604800s\"");
    return false;
}

static bool get_bool(struct gw_call *call, const char *name, bool *out)
{
    struct errbuf eb;
    eb.text[0] = '\0';
    enum err e = gw_json_get_bool(gw_rest(call)->json, name, out, &eb);
    if (e != ERR_OK)
        gw_call_problem(call, (int)e, eb.text);
    return e == ERR_OK;
}

void gw_tenant_offboard(struct gw_call *call)
{
    static const char *const names[] = {"confirm", "grace", "reason", "dry_run", "deep", NULL};
    struct departure *d = begin(call, names);
    if (d == NULL || !get_bool(call, "dry_run", &d->dry_run) || !get_bool(call, "deep", &d->deep) ||
        !get_grace(call, &d->grace_us) || !gw_admin_get_text(call, "reason", false, &d->reason) ||
        !gw_admin_get_text(call, "confirm", !d->dry_run, &d->confirm))
        return;
    if (d->confirm.ptr != NULL && !base_slice_equal(d->confirm, ten_tenant_id(d->tenant)))
        gw_call_problem(call, ERR_INVALID,
                        "\"confirm\" must repeat the tenant's ID: its data is deleted for good");
    else if (d->dry_run)
        gw_rest_on_control(call, 200, look_work);
    else
        gw_rest_on_control(call, 202, offboard_work);
}

/* --- undelete, hold, release -------------------------------------------------------------------
 */

static enum err undelete_work(struct gw_call *call, struct errbuf *eb)
{
    const struct departure *d = call->state;
    enum err e = ten_offboard_undelete(call->api->registry, d->tenant, eb);
    if (e == ERR_OK)
        gw_admin_describe(call, d->tenant);
    return e;
}

void gw_tenant_undelete(struct gw_call *call)
{
    static const char *const names[] = {NULL};
    if (begin(call, names) != NULL)
        gw_rest_on_control(call, 200, undelete_work);
}

static enum err hold_work(struct gw_call *call, struct errbuf *eb)
{
    const struct departure *d = call->state;
    enum err e = ten_hold_set(call->api->registry, d->tenant, base_slice_text(call->who.key_id),
                              d->reason, eb);
    if (e == ERR_OK)
        gw_admin_describe(call, d->tenant);
    return e;
}

void gw_tenant_hold(struct gw_call *call)
{
    static const char *const names[] = {"reason", NULL};
    struct departure *d = begin(call, names);
    if (d != NULL && gw_admin_get_text(call, "reason", true, &d->reason))
        gw_rest_on_control(call, 200, hold_work);
}

static enum err release_work(struct gw_call *call, struct errbuf *eb)
{
    const struct departure *d = call->state;
    enum err e = ten_hold_release(call->api->registry, d->tenant, eb);
    if (e == ERR_OK)
        gw_admin_describe(call, d->tenant);
    return e;
}

void gw_tenant_release(struct gw_call *call)
{
    static const char *const names[] = {NULL};
    if (begin(call, names) != NULL)
        gw_rest_on_control(call, 200, release_work);
}
