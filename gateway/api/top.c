/*
 * gateway/api/top.c - the most active tenants at this moment.
 *
 * If no request came for a while there are no earlier counts to compare with: then the response
 * follows a second later.
 */
#include "tenancy/top.h"
#include "base/clock.h"
#include "gateway/api/handlers.h"
#include "gateway/api/json_out.h"

#include "base/banned.h"

#define NS_PER_MS     1000000u
#define NS_PER_S      1000000000u
#define SHOWN_DEFAULT 20
#define TRIES         5 /* other requests may come in between */

const char *const gw_top_query[] = {"order", "limit", NULL};

struct top {
    enum ten_top_order order;
    uint64_t limit;
    struct ten_top *found;
    bool is_there;
    unsigned tries;
};

static enum err parse_order(struct slice text, enum ten_top_order *out, struct errbuf *eb)
{
    static const char *const NAMES[] = {
        [TEN_TOP_OPS] = "ops",
        [TEN_TOP_BYTES] = "bytes",
        [TEN_TOP_THROTTLED] = "throttled",
        [TEN_TOP_LATENCY] = "latency",
    };
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        if (!base_slice_is(text, NAMES[i]))
            continue;
        *out = (enum ten_top_order)i;
        return ERR_OK;
    }
    return base_fail(eb, ERR_INVALID,
                     "query parameter \"order\" must be ops, bytes, throttled or latency");
}

static void put_server(struct gw_json *j, const struct gw_api *api)
{
    gw_json_name(j, "server");
    gw_json_open(j, '{');
    gw_json_name_text(j, "version", BIGTENT_VERSION);
    gw_json_name_u64(j, "uptime_s", (base_monotonic_ns() - api->opened_ns) / NS_PER_S);
    gw_json_close(j, '}');
}

static void put_sum(struct gw_json *j, const struct ten_top_sum *sum)
{
    gw_json_name_u64(j, "interval_ms", sum->over_ns / NS_PER_MS);
    gw_json_name_u64(j, "active", sum->active);
    gw_json_name(j, "total");
    gw_json_open(j, '{');
    gw_json_name_u64(j, "read_ops", sum->read_ops);
    gw_json_name_u64(j, "write_ops", sum->write_ops);
    gw_json_name_u64(j, "bytes_in", sum->bytes_in);
    gw_json_name_u64(j, "bytes_out", sum->bytes_out);
    gw_json_name_u64(j, "throttled", sum->throttled);
    gw_json_close(j, '}');
}

static void put(struct gw_json *j, const struct ten_top *t)
{
    struct sto_usage usage = sto_counters_read(&t->tenant->account.total);
    gw_json_open(j, '{');
    gw_json_name_text(j, "id", t->tenant->id);
    gw_json_name_u64(j, "read_ops", t->read_ops);
    gw_json_name_u64(j, "write_ops", t->write_ops);
    gw_json_name_u64(j, "bytes_in", t->bytes_in);
    gw_json_name_u64(j, "bytes_out", t->bytes_out);
    gw_json_name_u64(j, "throttled", t->throttled);
    gw_json_name_u64(j, "latency_p50_us", t->p50_us);
    gw_json_name_u64(j, "latency_p99_us", t->p99_us);
    gw_json_name_u64(j, "bytes", usage.bytes);
    gw_json_name_u64(j, "rows", usage.rows);
    gw_json_close(j, '}');
}

static enum err work(struct gw_call *call, struct errbuf *eb)
{
    struct top *t = call->state;
    size_t count = 0;
    struct ten_top_sum sum;
    (void)eb; /* cannot fail */
    t->is_there = ten_top_look(call->api->registry, base_monotonic_ns(), t->order, t->found,
                               (size_t)t->limit, &count, &sum);
    if (!t->is_there)
        return ERR_OK;
    struct gw_json j = gw_json_start(&call->out);
    gw_json_open(&j, '{');
    put_server(&j, call->api);
    put_sum(&j, &sum);
    gw_json_name(&j, "tenants");
    gw_json_open(&j, '[');
    for (size_t i = 0; i < count; i++)
        put(&j, &t->found[i]);
    gw_json_close(&j, ']');
    gw_json_close(&j, '}');
    return ERR_OK;
}

static void done(struct gw_call *call);

static void look_again(struct gw_call *call)
{
    gw_task_on_control(call, work, done);
}

static void done(struct gw_call *call)
{
    struct top *t = call->state;
    if (t->is_there) {
        gw_rest_send_json(call, 200);
    } else if (call->ex == NULL) {
        return; /* the peer is gone */
    } else if (++t->tries == TRIES) {
        gw_call_problem(call, ERR_OVERLOADED, "there was nothing to compare with");
    } else {
        gw_call_later(call, TEN_TOP_NS, look_again);
    }
}

void gw_top(struct gw_call *call)
{
    const struct gw_query *q = &gw_rest(call)->query;
    struct slice order = gw_query_get(q, "order");
    struct top *t = gw_call_new_state(call, sizeof *t, NULL);
    struct errbuf eb;
    eb.text[0] = '\0';
    enum err e = gw_query_number(q, "limit", 1, LIM_TOP_TENANTS, SHOWN_DEFAULT, &t->limit, &eb);
    if (e == ERR_OK && order.ptr != NULL)
        e = parse_order(order, &t->order, &eb);
    if (e == ERR_OK) {
        t->found = base_arena_alloc(&call->arena, (size_t)t->limit * sizeof t->found[0]);
        if (t->found == NULL)
            e = base_fail(&eb, ERR_NO_MEMORY, "out of memory for the list");
    }
    if (e != ERR_OK)
        gw_call_problem(call, (int)e, eb.text);
    else
        gw_task_on_control(call, work, done);
}
