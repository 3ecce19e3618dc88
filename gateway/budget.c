/*
 * gateway/budget.c - reports a caller's limits and the cost of a request.
 *
 * The text of the policies is the same in every response, so HTTP/2 sends it as a single byte;
 * gateway/http2_response.c keeps headers that always change out of that table.
 */
#include "gateway/budget.h"

#include "gateway/api/json_out.h"

#include "base/banned.h"

#define NS_PER_S 1000000000ULL

#define DIGITS 20
/* Names, parameters and four numbers of a policy; all of TEN_STANDINGS fit into a head. */
#define STANDING_BYTES 140

struct text {
    size_t len;
    char bytes[TEN_STANDINGS * STANDING_BYTES];
};

static void put(struct text *t, const char *literal)
{
    size_t len = strlen(literal);
    INVARIANT(len <= sizeof t->bytes - t->len); /* only literals of ours are passed */
    memcpy(t->bytes + t->len, literal, len);
    t->len += len;
}

static void put_number(struct text *t, const char *before, uint64_t number)
{
    put(t, before);
    INVARIANT(DIGITS <= sizeof t->bytes - t->len);
    t->len += gw_json_digits((uint8_t *)t->bytes + t->len, number);
}

static void put_name(struct text *t, const char *name)
{
    put(t, t->len == 0 ? "\"" : ", \"");
    put(t, name);
    put(t, "\"");
}

static void put_policy(struct text *t, const struct ten_standing *s)
{
    put_name(t, s->name);
    put_number(t, ";q=", s->limit);
    if (s->unit != NULL) {
        put(t, ";qu=\"");
        put(t, s->unit);
        put(t, "\"");
    }
    if (s->is_rate)
        put(t, ";w=1");
    if (s->burst != s->limit)
        put_number(t, ";bigtent-burst=", s->burst);
}

static uint64_t seconds_of(uint64_t ns)
{
    return ns / NS_PER_S + (ns % NS_PER_S != 0);
}

static void add(struct gw_exchange *ex, const char *name, const struct text *t)
{
    if (strlen(name) + t->len + GW_TRAILERS_BYTES <=
        GW_RESPONSE_HEADER_BYTES - ex->response_header_used)
        gw_exchange_add_header(ex, name, base_slice(t->bytes, t->len));
}

static void add_retry_after(struct gw_exchange *ex, uint64_t seconds)
{
    struct text t = {.len = 0};
    put_number(&t, "", seconds);
    add(ex, "retry-after", &t);
}

void gw_budget_put_limits(struct gw_call *call, bool has_retry_after)
{
    struct ten_standing all[TEN_STANDINGS];
    struct text t;
    size_t count = ten_visit_standings(&call->visit, all);
    uint64_t retry_s = 0;
    if (count == 0)
        return;
    t.len = 0;
    for (size_t i = 0; i < count; i++)
        put_policy(&t, &all[i]);
    add(call->ex, "ratelimit-policy", &t);
    t.len = 0;
    for (size_t i = 0; i < count; i++) {
        if (!all[i].is_used)
            continue;
        uint64_t seconds = seconds_of(all[i].reset_ns);
        put_name(&t, all[i].name);
        put_number(&t, ";r=", all[i].left);
        put_number(&t, ";t=", seconds);
        if (all[i].left == 0 && seconds > retry_s)
            retry_s = seconds;
    }
    if (t.len > 0)
        add(call->ex, GW_HEADER_RATE_LIMIT, &t);
    if (retry_s > 0 && !has_retry_after)
        add_retry_after(call->ex, retry_s);
}

static bool cost_of(const struct gw_call *call, struct text *out)
{
    uint64_t cost = ten_visit_cost(&call->visit);
    if (cost == 0 || call->ex == NULL)
        return false;
    out->len = 0;
    put_number(out, "", cost);
    return strlen(GW_HEADER_COST) + out->len <=
           GW_RESPONSE_HEADER_BYTES - call->ex->response_header_used;
}

void gw_budget_put_cost(struct gw_call *call)
{
    struct text t;
    gw_call_pay_handling(call);
    if (cost_of(call, &t))
        gw_exchange_add_header(call->ex, GW_HEADER_COST, base_slice(t.bytes, t.len));
}

void gw_budget_put_cost_trailer(struct gw_call *call)
{
    struct text t;
    gw_call_pay_handling(call);
    if (cost_of(call, &t) && !call->ex->body_is_silent)
        gw_exchange_add_trailer(call->ex, GW_HEADER_COST, base_slice(t.bytes, t.len));
}

static uint64_t bytes_of(const struct sto_mutation *list, size_t count)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += list[i].qualifier.len + list[i].value.len;
    return bytes;
}

uint64_t gw_budget_bytes_of(const struct sto_mutate_op *op)
{
    uint64_t bytes = bytes_of(op->mutations, op->mutation_count);
    uint64_t other =
        op->check == NULL ? 0 : bytes_of(op->check->otherwise, op->check->otherwise_count);
    return op->row_key.len + (other > bytes ? other : bytes);
}
