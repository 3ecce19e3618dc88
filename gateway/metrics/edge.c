/*
 * gateway/metrics/edge.c - connections, and requests that were refused before they became a call or
 * because of their caller.
 */
#include <stdio.h>

#include "base/watchdog.h"
#include "gateway/label.h"
#include "gateway/metrics/exposition.h"
#include "gateway/metrics/groups.h"

#include "base/banned.h"

#define LABEL_BYTES 128

static void put_connections(struct buf *out, const struct gw_edge_counts_now *now)
{
    static const struct {
        enum gw_edge_count what;
        const char *labels;
    } REFUSED[] = {
        {GW_EDGE_CONNECTIONS, "reason=\"connections\""},
        {GW_EDGE_ADDRESS, "reason=\"address\""},
        {GW_EDGE_HANDSHAKES, "reason=\"handshakes\""},
        {GW_EDGE_ROOM, "reason=\"room\""},
        {GW_EDGE_ROOM_IDLE, "reason=\"room_idle\""},
        {GW_EDGE_ROOM_BUSY, "reason=\"room_busy\""},
        {GW_EDGE_PROXY, "reason=\"proxy_header\""},
        {GW_EDGE_DESCRIPTORS, "reason=\"descriptors\""},
        {GW_EDGE_TLS, "reason=\"tls\""},
        {GW_EDGE_TLS_SLOW, "reason=\"tls_timeout\""},
        {GW_EDGE_RESETS, "reason=\"resets\""},
        {GW_EDGE_PINGS, "reason=\"pings\""},
    };
    gw_metric_one(out, "bigtent_connections_accepted_total", GW_COUNTER,
                  "Connections that were made, refused ones included.",
                  now->each[GW_EDGE_ACCEPTED]);
    struct gw_metric m = gw_metric_begin(out, "bigtent_connections_refused_total", GW_COUNTER,
                                         "Connections closed by a limit or a failed handshake.");
    for (size_t i = 0; i < sizeof REFUSED / sizeof REFUSED[0]; i++)
        gw_metric_put(&m, REFUSED[i].labels, now->each[REFUSED[i].what]);
    gw_metric_one(out, "bigtent_streams_refused_total", GW_COUNTER,
                  "HTTP/2 streams refused because too many requests are under way.",
                  now->each[GW_EDGE_STREAMS]);
}

static void put_heads(struct buf *out, const struct gw_edge_counts_now *now)
{
    static const char *const BY[GW_EDGE_HEADS] = {"http1", "http2"};
    struct gw_metric m = gw_metric_begin(out, "bigtent_heads_refused_total", GW_COUNTER,
                                         "Requests refused before there was a call, by status.");
    for (size_t by = 0; by < GW_EDGE_HEADS; by++) {
        for (int problem = 1; problem < GW_PROBLEM_COUNT; problem++) {
            char labels[LABEL_BYTES];
            if (now->heads[by][problem] == 0)
                continue;
            (void)snprintf(labels, sizeof labels, "transport=\"%s\",status=\"%u\"", BY[by],
                           gw_problem_get(problem)->status);
            gw_metric_put(&m, labels, now->heads[by][problem]);
        }
    }
}

static void put_strangers(struct buf *out, const struct gw_observers *observers)
{
    static const char *const WHY[GW_STRANGERS] = {
        [GW_STRANGER_NO_KEY] = "no_key",       [GW_STRANGER_SEVERAL] = "several",
        [GW_STRANGER_MALFORMED] = "malformed", [GW_STRANGER_UNKNOWN] = "unknown",
        [GW_STRANGER_WRONG_SECRET] = "secret", [GW_STRANGER_SCOPE] = "scope",
        [GW_STRANGER_TENANT] = "tenant",
    };
    struct gw_metric m = gw_metric_begin(out, "bigtent_callers_refused_total", GW_COUNTER,
                                         "Requests without a good key, or with one that may not.");
    for (enum gw_protocol_id p = 0; p < GW_PROTOCOL_COUNT; p++) {
        for (enum gw_stranger why = 0; why < GW_STRANGERS; why++) {
            char labels[LABEL_BYTES];
            (void)snprintf(labels, sizeof labels, "protocol=\"%s\",reason=\"%s\"",
                           gw_protocol_name(p), WHY[why]);
            gw_metric_put(&m, labels, gw_observed_strangers(observers, p, why));
        }
    }
}

static void put_watchdog(struct buf *out)
{
    gw_metric_one(out, "bigtent_long_computations_total", GW_COUNTER,
                  "Times that a thread others wait for computed for 100 ms in one go.",
                  base_watchdog_reports());
}

static void put_memory(struct buf *out, const struct base_memory *memory)
{
    gw_metric_one(out, "bigtent_request_memory_bytes", GW_GAUGE,
                  "What requests and answers hold together.",
                  atomic_load_explicit(&memory->used, memory_order_relaxed));
    gw_metric_one(out, "bigtent_request_memory_limit_bytes", GW_GAUGE,
                  "What they may hold (--request-mb).", memory->limit);
    gw_metric_one(out, "bigtent_request_memory_refused_total", GW_COUNTER,
                  "Times that a caller was refused more of it.",
                  atomic_load_explicit(&memory->refused, memory_order_relaxed));
}

void gw_metrics_edge(struct buf *out, const struct gw_loops *loops, const struct gw_api *api)
{
    struct gw_edge_counts_now now;
    gw_loops_edge_counts(loops, &now);
    gw_metric_one(out, "bigtent_connections", GW_GAUGE, "Connections that are open.",
                  gw_loops_connections(loops));
    put_connections(out, &now);
    put_heads(out, &now);
    put_strangers(out, &api->observers);
    put_memory(out, api->memory);
    put_watchdog(out);
}
