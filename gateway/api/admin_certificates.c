/*
 * gateway/api/admin_certificates.c - certificates of erasure, as signed or as a page; the key.
 *
 * They are read on the helper: they are in a file, and no tenant is changed.
 */
#include "gateway/api/admin.h"
#include "gateway/api/handlers.h"
#include "tenancy/certificate_store.h"

#include "base/banned.h"

#define JSON_TYPE "application/json"
#define PAGE_TYPE "text/html; charset=utf-8"
#define PEM_TYPE  "application/x-pem-file"

const char *const gw_certificate_query[] = {"event", NULL};

struct certificate {
    bool is_expired; /* the second one */
    bool as_page;
};

static enum err read_certificate(struct gw_call *call, struct errbuf *eb)
{
    const struct certificate *c = call->state;
    struct ten_certificates *all = ten_registry_certificates(call->api->registry);
    struct slice tenant = gw_rest_param(call, 0);
    return c->as_page ? ten_certificates_page(all, tenant, c->is_expired, &call->out, eb)
                      : ten_certificates_find(all, tenant, c->is_expired, &call->out, eb);
}

static void certificate_read(struct gw_call *call)
{
    const struct certificate *c = call->state;
    if (call->task.result != ERR_OK)
        gw_call_problem(call, (int)call->task.result, call->task.detail.text);
    else
        gw_rest_send(call, 200, c->as_page ? PAGE_TYPE : JSON_TYPE);
}

void gw_certificate_get(struct gw_call *call)
{
    struct certificate *c = gw_call_new_state(call, sizeof *c, NULL);
    struct slice event = gw_query_get(&gw_rest(call)->query, "event");
    c->is_expired = base_slice_is(event, "expired");
    c->as_page = gw_rest_accepts(call, "text/html");
    if (event.ptr != NULL && !c->is_expired && !base_slice_is(event, "purged")) {
        gw_call_problem(call, ERR_INVALID, "event is purged or expired");
        return;
    }
    gw_task_on_helper(call, read_certificate, certificate_read);
}

static enum err write_key(struct gw_call *call, struct errbuf *eb)
{
    return ten_certificates_public_key(ten_registry_certificates(call->api->registry), &call->out,
                                       eb);
}

static void key_written(struct gw_call *call)
{
    if (call->task.result != ERR_OK)
        gw_call_problem(call, (int)call->task.result, call->task.detail.text);
    else
        gw_rest_send(call, 200, PEM_TYPE);
}

void gw_certificate_key_get(struct gw_call *call)
{
    gw_task_on_helper(call, write_key, key_written);
}
