/*
 * gateway/api/health.c - does the process answer, can the service work.
 *
 * A full disk is ready: reads and deletes pass, and taking the server away would help nobody.
 */
#include "gateway/api/handlers.h"
#include "gateway/api/json_out.h"

#include "base/banned.h"

void gw_healthz(struct gw_call *call)
{
    (void)base_buf_append(&call->out, SLICE_LIT("{\"status\":\"ok\"}")); /* latches */
    gw_rest_send_json(call, 200);
}

static void not_ready(struct gw_call *call, const char *reason)
{
    struct gw_json j = gw_json_start(&call->out);
    gw_json_open(&j, '{');
    gw_json_name_text(&j, "status", "not_ready");
    gw_json_name_text(&j, "reason", reason);
    gw_json_close(&j, '}');
    if (call->ex != NULL)
        gw_exchange_add_header(call->ex, "retry-after", SLICE_LIT("2"));
    gw_rest_send_json(call, 503);
}

void gw_readyz(struct gw_call *call)
{
    struct sto_health health;
    sto_health_get(call->api->engine, &health);
    if (health.failed) {
        not_ready(call, health.reason);
        return;
    }
    if (atomic_load_explicit(&call->api->draining, memory_order_relaxed)) {
        not_ready(call, "stopping");
        return;
    }
    (void)base_buf_append(&call->out, SLICE_LIT("{\"status\":\"ready\"}")); /* latches */
    gw_rest_send_json(call, 200);
}
