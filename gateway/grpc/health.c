/*
 * gateway/grpc/health.c - grpc.health.v1: whether the server can work, checked once or watched.
 *
 * All services share one engine, so the server's status is that of each service. A watch checks the
 * status at the tick of its loop, and ends when it has reported that the server stops: its client
 * then watches another server, and nothing delays the end.
 *
 * No credential is needed, and so watches are counted: they stay open, and each takes the place of
 * a request.
 */
#include <grpc/health/v1/health.pb-c.h>

#include "gateway/grpc/handlers.h"

#include "base/banned.h"

#define WATCHES_MAX 256 /* of a loop */

struct watch {
    Health__HealthCheckResponse__ServingStatus told;
    bool is_known;
    bool is_counted;
};

static bool is_draining(const struct gw_call *call)
{
    return atomic_load_explicit(&call->api->draining, memory_order_relaxed);
}

static Health__HealthCheckResponse__ServingStatus status_now(const struct gw_call *call)
{
    struct sto_health health;
    sto_health_get(call->api->engine, &health);
    return health.failed || is_draining(call)
               ? HEALTH__HEALTH_CHECK_RESPONSE__SERVING_STATUS__NOT_SERVING
               : HEALTH__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVING;
}

/* Returns whether the service exists. "" is the server as a whole. */
static bool is_known(const struct gw_call *call)
{
    const Health__HealthCheckRequest *request =
        (const Health__HealthCheckRequest *)gw_rpc(call)->request;
    return request->service[0] == '\0' ||
           gw_method_service_is_known(base_slice_text(request->service));
}

/* --- Check -------------------------------------------------------------------------------------
 */

void gw_health_check(struct gw_call *call)
{
    Health__HealthCheckResponse reply = HEALTH__HEALTH_CHECK_RESPONSE__INIT;
    if (!is_known(call)) {
        gw_rpc_fail(call, ERR_NOT_FOUND, "this server does not have that service");
        return;
    }
    reply.status = status_now(call);
    gw_rpc_reply(call, &reply.base);
}

/* --- Watch -------------------------------------------------------------------------------------
 */

static void tell(struct gw_call *call, Health__HealthCheckResponse__ServingStatus status)
{
    struct watch *w = call->state;
    Health__HealthCheckResponse reply = HEALTH__HEALTH_CHECK_RESPONSE__INIT;
    w->told = status;
    reply.status = status;
    gw_rpc_send(call, &reply.base);
}

static void look(struct gw_call *call)
{
    const struct watch *w = call->state;
    Health__HealthCheckResponse__ServingStatus now = status_now(call);
    if (w->is_known && now != w->told)
        tell(call, now);
    if (is_draining(call))
        gw_rpc_fail(call, ERR_UNAVAILABLE, "the server is stopping");
}

static void on_tick(struct gw_call *call, uint64_t now_ns)
{
    gw_rpc_tick(call, now_ns);
    look(call);
}

static void cleanup(struct gw_call *call)
{
    const struct watch *w = call->state;
    call->thread->health_watches -= w->is_counted;
}

void gw_health_watch(struct gw_call *call)
{
    struct watch *w = gw_call_new_state(call, sizeof *w, cleanup);
    if (call->thread->health_watches == WATCHES_MAX) {
        gw_rpc_fail(call, ERR_OVERLOADED, "too many watch already: ask with Check");
        return;
    }
    call->thread->health_watches++;
    w->is_counted = true;
    w->is_known = is_known(call);
    gw_call_tick(call, on_tick);
    tell(call, w->is_known ? status_now(call)
                           : HEALTH__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVICE_UNKNOWN);
}
