/*
 * gateway/api/health.c - whether the process answers, and whether the service works.
 *
 *   storage     status             served
 *   ok          200 ready          everything
 *   full        200 ready          reads and deletes: taking the server away would not help
 *   full        503 not_ready      nothing: a write met the end of the disk; the server ends
 *   read_only   503 not_ready      nothing; the server ends
 *   failed      503 not_ready      nothing; the server ends
 *
 * Callers need no key: the reason names the problem, but not its place. The log does.
 */
#include "gateway/api/handlers.h"
#include "gateway/api/json_out.h"

#include "base/banned.h"

void gw_healthz(struct gw_call *call)
{
    (void)base_buf_append(&call->out, SLICE_LIT("{\"status\":\"ok\"}")); /* latches */
    gw_rest_send_json(call, 200);
}

static const char *const REASONS[STO_DISK_STATES] = {
    [STO_DISK_FULL] = "a write met a full disk; the server ends, and starts when there is space",
    [STO_DISK_READ_ONLY] = "the disk is read-only; the server ends",
    [STO_DISK_FAILED] = "the storage engine failed; the server ends",
};

/* Writes the response. reason: NULL: the server is ready. */
static void answer(struct gw_call *call, enum sto_disk disk, const char *reason)
{
    struct gw_json j = gw_json_start(&call->out);
    gw_json_open(&j, '{');
    gw_json_name_text(&j, "status", reason == NULL ? "ready" : "not_ready");
    gw_json_name_text(&j, "storage", sto_disk_name(disk));
    if (reason != NULL)
        gw_json_name_text(&j, "reason", reason);
    gw_json_close(&j, '}');
    if (reason == NULL) {
        gw_rest_send_json(call, 200);
        return;
    }
    if (call->ex != NULL)
        gw_exchange_add_header(call->ex, "retry-after", SLICE_LIT("2"));
    gw_rest_send_json(call, 503);
}

void gw_readyz(struct gw_call *call)
{
    struct sto_health health;
    sto_health_get(call->api->engine, &health);
    bool draining = atomic_load_explicit(&call->api->draining, memory_order_relaxed);
    if (health.failed)
        answer(call, health.disk, REASONS[health.disk]);
    else
        answer(call, health.disk, draining ? "stopping" : NULL);
}
