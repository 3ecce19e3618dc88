/*
 * gateway/observe.c - counts every call once, when it has ended.
 *
 * Observers form a list that only grows: a loop adds its own when it starts, and readers walk along
 * the list without a lock.
 */
#include "gateway/observe.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "gateway/access_log.h"
#include "gateway/call.h"

#include "base/banned.h"

/* --- observers ---------------------------------------------------------------------------------
 */

struct gw_observer *gw_observer_new(struct gw_observers *all)
{
    struct gw_observer *o = base_new(sizeof *o);
    for (size_t p = 0; p < GW_PROTOCOL_COUNT; p++)
        o->of[p] = base_new(all->counts[p] * sizeof o->of[p][0]);
    o->next = atomic_load_explicit(&all->first, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&all->first, &o->next, o, memory_order_release,
                                                  memory_order_relaxed))
        continue;
    return o;
}

void gw_observers_free(struct gw_observers *all)
{
    struct gw_observer *o = atomic_load(&all->first);
    while (o != NULL) {
        struct gw_observer *next = o->next;
        for (size_t p = 0; p < GW_PROTOCOL_COUNT; p++)
            base_free(o->of[p]);
        base_free(o);
        o = next;
    }
    atomic_store(&all->first, NULL);
}

/* --- one call ----------------------------------------------------------------------------------
 */

void gw_observe_gone(struct gw_call *call, const struct gw_exchange *ex)
{
    struct gw_seen *seen = &call->seen;
    seen->took_ns = base_monotonic_ns() - ex->received_ns;
    seen->bytes_in = ex->received_bytes;
    seen->bytes_out = ex->body_is_silent ? 0 : ex->queued_bytes - ex->out_bytes;
    seen->status = ex->ended && ex->out_bytes == 0 ? ex->status : 0;
}

void gw_observe_problem(struct gw_call *call, int problem, uint64_t retry_ns)
{
    call->seen.problem = problem;
    call->seen.retry_ns = retry_ns;
}

/* Returns whether a failure is attributed to the server or to the caller. A memory share that is
 * used up is the caller's fault. */
static enum ten_metered blame_of(int problem)
{
    bool of_caller = gw_problem_get(problem)->status < 500 || problem == ERR_OVERLOADED ||
                     problem == ERR_UNSUPPORTED;
    return of_caller ? TEN_METER_REFUSALS : TEN_METER_ERRORS;
}

static void meter_problem(struct ten_tenant *t, int problem, uint64_t retry_ns, bool is_throttled)
{
    if (problem == 0)
        return;
    ten_meter_add(t, blame_of(problem), 1);
    if (problem == ERR_OVERLOADED && !is_throttled)
        ten_meter_throttled(t, TEN_POLICY_SERVICE, retry_ns);
    if (problem == ERR_QUOTA)
        ten_meter_throttled(t, TEN_POLICY_QUOTA, 0);
}

static void meter_data(struct ten_tenant *t, const struct ten_visit *visit)
{
    uint64_t visited =
        visit->bytes_visited + visit->rows_visited * TEN_ROW_VISITED_BYTES + visit->bytes_worked;
    INVARIANT(visit->charged.bytes >= visited);
    bool is_read = visit->access == TEN_READ;
    ten_meter_add(t, is_read ? TEN_METER_READ_OPS : TEN_METER_WRITE_OPS, visit->charged.ops);
    ten_meter_add(t, TEN_METER_WRITE_BYTES, visit->charged.bytes - visited);
    ten_meter_add(t, TEN_METER_READ_ROWS, visit->rows_visited);
    ten_meter_add(t, TEN_METER_READ_BYTES, visit->bytes_visited);
}

static void meter(struct ten_tenant *t, const struct gw_call *call, bool is_data)
{
    const struct gw_seen *seen = &call->seen;
    ten_meter_add(t, TEN_METER_BYTES_IN, seen->bytes_in);
    ten_meter_add(t, TEN_METER_BYTES_OUT, seen->bytes_out);
    meter_problem(t, seen->problem, seen->retry_ns, seen->is_throttled);
    if (!call->visit.under_way) /* the call was not admitted */
        return;
    if (!is_data) {
        ten_meter_add(t, TEN_METER_OTHER_OPS, 1);
        return;
    }
    meter_data(t, &call->visit);
    ten_meter_latency(t, seen->took_ns);
}

static void count_problem(const struct gw_call *call, int problem)
{
    if (problem > 0 && problem < GW_PROBLEM_COUNT)
        base_count_up(&call->thread->observer->problems[call->protocol->id][problem], 1);
}

void gw_observe_entry(const struct gw_call *call, int problem, uint64_t retry_ns, bool is_throttled)
{
    count_problem(call, problem);
    if (call->tenant != NULL)
        meter_problem(call->tenant, problem, retry_ns, is_throttled);
}

void gw_observe_stranger(const struct gw_call *call, enum gw_stranger why)
{
    base_count_up(&call->thread->observer->strangers[call->protocol->id][why], 1);
}

void gw_observe(const struct gw_call *call)
{
    const struct gw_seen *seen = &call->seen;
    struct gw_observer *observer = call->thread->observer;
    enum gw_protocol_id protocol = call->protocol->id;
    struct gw_label label = {0};
    call->protocol->label(call, &label);
    uint8_t code = seen->status == 0 ? GW_CODE_GONE : label.code;
    INVARIANT(label.what < call->api->observers.counts[protocol] && code < GW_CODES);
    struct gw_observed *of = &observer->of[protocol][label.what];
    base_count_up(&of->requests[code], 1);
    base_count_up(&of->bytes_in, seen->bytes_in);
    base_count_up(&of->bytes_out, seen->bytes_out);
    base_histogram_add(&of->took, seen->took_ns);
    count_problem(call, seen->problem);
    if (call->tenant != NULL)
        meter(call->tenant, call, label.is_data);
    if (call->thread->access != NULL)
        gw_access_line(call->thread->access, call, &label);
}

/* --- sums --------------------------------------------------------------------------------------
 */

static const struct gw_observer *first_of(const struct gw_observers *all)
{
    return atomic_load_explicit(&all->first, memory_order_acquire);
}

void gw_observed_sum(const struct gw_observers *all, enum gw_protocol_id protocol, size_t what,
                     struct gw_observed_now *out)
{
    INVARIANT(what < all->counts[protocol]);
    *out = (struct gw_observed_now){{0}, 0, 0, {{0}, 0}};
    for (const struct gw_observer *o = first_of(all); o != NULL; o = o->next) {
        const struct gw_observed *of = &o->of[protocol][what];
        for (size_t code = 0; code < GW_CODES; code++)
            out->requests[code] += base_count_read(&of->requests[code]);
        out->bytes_in += base_count_read(&of->bytes_in);
        out->bytes_out += base_count_read(&of->bytes_out);
        base_histogram_sum(&out->took, &of->took);
    }
}

uint64_t gw_observed_problems(const struct gw_observers *all, enum gw_protocol_id protocol,
                              int problem)
{
    INVARIANT(problem >= 0 && problem < GW_PROBLEM_COUNT);
    uint64_t sum = 0;
    for (const struct gw_observer *o = first_of(all); o != NULL; o = o->next)
        sum += base_count_read(&o->problems[protocol][problem]);
    return sum;
}

uint64_t gw_observed_strangers(const struct gw_observers *all, enum gw_protocol_id protocol,
                               enum gw_stranger why)
{
    uint64_t sum = 0;
    for (const struct gw_observer *o = first_of(all); o != NULL; o = o->next)
        sum += base_count_read(&o->strangers[protocol][why]);
    return sum;
}
