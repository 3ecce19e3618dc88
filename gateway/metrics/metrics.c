/*
 * gateway/metrics/metrics.c - GET /metrics: all metrics, written on the control thread.
 */
#include "gateway/access_log.h"
#include "gateway/api/handlers.h"
#include "gateway/metrics/exposition.h"
#include "gateway/metrics/groups.h"

#include "base/banned.h"

static enum err work(struct gw_call *call, struct errbuf *eb)
{
    (void)eb; /* nothing here fails */
    struct buf *out = &call->out;
    struct gw_metric m =
        gw_metric_begin(out, "bigtent_build_info", GW_GAUGE, "1, with the version of the server.");
    gw_metric_put(&m, "version=\"" BIGTENT_VERSION "\"", 1);
    gw_metrics_edge(out, gw_loop_all(call->thread->loop), call->api);
    gw_metrics_requests(out, &call->api->observers);
    if (call->api->access_log != NULL)
        gw_metric_one(out, "bigtent_access_log_lost_total", GW_COUNTER,
                      "Lines of the access log that could not be written.",
                      gw_access_log_lost(call->api->access_log));
    gw_metrics_engine(out, call->api->engine);
    gw_metrics_backups(out, call->api->backups);
    gw_metrics_tenants(out, call->api->registry);
    return ERR_OK;
}

static void done(struct gw_call *call)
{
    if (call->task.result != ERR_OK)
        gw_call_problem(call, (int)call->task.result, call->task.detail.text);
    else
        gw_rest_send(call, 200, GW_METRICS_TYPE);
}

void gw_metrics(struct gw_call *call)
{
    gw_task_on_control(call, work, done);
}
