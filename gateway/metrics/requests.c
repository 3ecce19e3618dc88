/*
 * gateway/metrics/requests.c - requests, their durations, bytes and failures.
 *
 * A route or method that was never requested has no samples.
 */
#include <stdio.h>

#include "gateway/label.h"
#include "gateway/metrics/exposition.h"
#include "gateway/metrics/groups.h"

#include "base/banned.h"

#define LABEL_BYTES 256

static const char *const CODES[GW_CODES - 1] = {
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
};

static void label_of(enum gw_protocol_id protocol, size_t what, char out[LABEL_BYTES])
{
    char name[GW_LABEL_TEXT];
    gw_label_text(protocol, what, name);
    (void)snprintf(out, LABEL_BYTES, "protocol=\"%s\",route=\"%s\"", gw_protocol_name(protocol),
                   name);
}

typedef void put_samples(const struct gw_metric *m, enum gw_protocol_id protocol,
                         const char *labels, const struct gw_observed_now *now);

/* Calls put for each route and method that was requested. */
static void each(const struct gw_metric *m, const struct gw_observers *observers, put_samples *put)
{
    for (size_t p = 0; p < GW_PROTOCOL_COUNT; p++) {
        for (size_t what = 0; what < observers->counts[p]; what++) {
            char labels[LABEL_BYTES];
            struct gw_observed_now now;
            uint64_t requests = 0;
            gw_observed_sum(observers, (enum gw_protocol_id)p, what, &now);
            for (size_t code = 0; code < GW_CODES; code++)
                requests += now.requests[code];
            if (requests == 0)
                continue;
            label_of((enum gw_protocol_id)p, what, labels);
            put(m, (enum gw_protocol_id)p, labels, &now);
        }
    }
}

static void put_requests(const struct gw_metric *m, enum gw_protocol_id protocol,
                         const char *labels, const struct gw_observed_now *now)
{
    for (unsigned code = 0; code < GW_CODES; code++) {
        char text[LABEL_BYTES + 32];
        if (now->requests[code] == 0)
            continue;
        if (code == GW_CODE_GONE)
            (void)snprintf(text, sizeof text, "%s,code=\"gone\"", labels);
        else if (protocol == GW_PROTOCOL_JSON)
            (void)snprintf(text, sizeof text, "%s,code=\"%uxx\"", labels, code);
        else
            (void)snprintf(text, sizeof text, "%s,code=\"%s\"", labels, CODES[code]);
        gw_metric_put(m, text, now->requests[code]);
    }
}

static void put_took(const struct gw_metric *m, enum gw_protocol_id protocol, const char *labels,
                     const struct gw_observed_now *now)
{
    (void)protocol; /* the labels have it */
    gw_metric_put_histogram(m, labels, &now->took);
}

static void put_bytes_in(const struct gw_metric *m, enum gw_protocol_id protocol,
                         const char *labels, const struct gw_observed_now *now)
{
    (void)protocol; /* the labels have it */
    gw_metric_put(m, labels, now->bytes_in);
}

static void put_bytes_out(const struct gw_metric *m, enum gw_protocol_id protocol,
                          const char *labels, const struct gw_observed_now *now)
{
    (void)protocol; /* the labels have it */
    gw_metric_put(m, labels, now->bytes_out);
}

/* Returns whether no earlier problem has the same code: several may share one. */
static bool is_first_of_code(int problem)
{
    for (int before = 1; before < problem; before++)
        if (strcmp(gw_problem_get(before)->code, gw_problem_get(problem)->code) == 0)
            return false;
    return true;
}

static void put_errors(struct buf *out, const struct gw_observers *observers)
{
    struct gw_metric m = gw_metric_begin(
        out, "bigtent_errors_total", GW_COUNTER,
        "Requests, and rows of bulk writes, that were refused or failed, by reason.");
    for (size_t p = 0; p < GW_PROTOCOL_COUNT; p++) {
        for (int problem = 1; problem < GW_PROBLEM_COUNT; problem++) {
            char labels[LABEL_BYTES];
            uint64_t sum = 0;
            if (!is_first_of_code(problem))
                continue;
            const char *code = gw_problem_get(problem)->code;
            for (int other = problem; other < GW_PROBLEM_COUNT; other++)
                if (strcmp(gw_problem_get(other)->code, code) == 0)
                    sum += gw_observed_problems(observers, (enum gw_protocol_id)p, other);
            (void)snprintf(labels, sizeof labels, "protocol=\"%s\",reason=\"%s\"",
                           gw_protocol_name(p), code);
            if (sum > 0)
                gw_metric_put(&m, labels, sum);
        }
    }
}

void gw_metrics_requests(struct buf *out, const struct gw_observers *observers)
{
    struct gw_metric m = gw_metric_begin(out, "bigtent_requests_total", GW_COUNTER,
                                         "Requests that have ended, by route and status.");
    each(&m, observers, put_requests);
    m = gw_metric_begin(out, "bigtent_request_duration_seconds", GW_HISTOGRAM,
                        "From a request's head to the last byte of its answer.");
    each(&m, observers, put_took);
    m = gw_metric_begin(out, "bigtent_request_bytes_total", GW_COUNTER, "Bytes of request bodies.");
    each(&m, observers, put_bytes_in);
    m = gw_metric_begin(out, "bigtent_response_bytes_total", GW_COUNTER,
                        "Bytes of response bodies that were handed over.");
    each(&m, observers, put_bytes_out);
    put_errors(out, observers);
}
