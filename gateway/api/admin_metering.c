/*
 * gateway/api/admin_metering.c - bills by tenant and hour, as NDJSON or CSV.
 *
 * Bills are read on the helper, a portion at a time, each when the peer has consumed enough of the
 * previous one.
 */
#include <stdio.h>

#include "base/clock.h"
#include "base/text.h"
#include "gateway/api/admin.h"
#include "gateway/api/handlers.h"
#include "gateway/api/json_out.h"
#include "gateway/budget.h"
#include "tenancy/metering.h"

#include "base/banned.h"

#define PORTION_STEPS 500
#define HOURS_DEFAULT 24
#define NS_PER_MS     1000000u
#define HOUR_TEXT     21 /* 2026-11-20T10:00:00Z */

const char *const gw_metering_query[] = {"tenant", "from", "until", "format", NULL};
const char *const gw_own_metering_query[] = {"from", "until", "format", NULL};

struct metering {
    struct ten_bills *bills;
    bool as_csv;
    bool is_begun;   /* the line of names was written */
    bool is_waiting; /* until the peer accepts the output */
    bool is_last;
};

static void free_state(struct gw_call *call)
{
    const struct metering *m = call->state;
    ten_bills_close(m->bills);
}

/* --- a bill ------------------------------------------------------------------------------------
 */

static void hour_text(uint64_t hour, char out[HOUR_TEXT])
{
    char time[BASE_TIME_TEXT];
    base_time_format((int64_t)hour * TEN_HOUR_US, time);
    memcpy(out, time, HOUR_TEXT - 2);
    memcpy(out + HOUR_TEXT - 2, "Z", 2);
}

/* Appends text; errors latch in out. */
static void put_text(struct buf *out, const char *text)
{
    (void)base_buf_append(out, base_slice_text(text));
}

static void put_number(struct buf *out, uint64_t number)
{
    uint8_t digits[20];
    (void)base_buf_append(out, base_slice(digits, gw_json_digits(digits, number)));
}

/* Appends seconds with three decimals. */
static void put_seconds(struct buf *out, uint64_t ns)
{
    char text[4];
    uint64_t ms = ns / NS_PER_MS;
    (void)snprintf(text, sizeof text, "%03u", (unsigned)(ms % 1000));
    put_number(out, ms / 1000);
    put_text(out, ".");
    put_text(out, text);
}

static bool is_billed(size_t counter)
{
    return counter != TEN_METER_LATENCY_NS;
}

static void put_csv_names(struct buf *out)
{
    put_text(out, "hour,tenant,stored_bytes,stored_byte_seconds");
    for (size_t i = 0; i < TEN_METER_COUNT; i++) {
        if (!is_billed(i))
            continue;
        put_text(out, ",");
        put_text(out, ten_metered_name((enum ten_metered)i));
    }
    for (size_t i = 0; i < TEN_POLICY_COUNT; i++) {
        const char *name = ten_policy_name((enum ten_policy)i);
        put_text(out, ",throttled_");
        put_text(out, name);
        put_text(out, ",throttled_");
        put_text(out, name);
        put_text(out, "_seconds");
    }
    put_text(out, "\r\n");
}

/* Appends a bill as CSV. No field needs quotes: an ID consists of letters, digits and hyphens. */
static void put_csv(struct buf *out, const struct ten_bill *bill)
{
    const struct ten_metering_doc *d = &bill->doc;
    char hour[HOUR_TEXT];
    hour_text(bill->hour, hour);
    put_text(out, hour);
    put_text(out, ",");
    (void)base_buf_append(out, bill->tenant); /* errors latch in out */
    put_text(out, ",");
    put_number(out, d->bytes);
    put_text(out, ",");
    put_number(out, d->byte_s);
    for (size_t i = 0; i < TEN_METER_COUNT; i++) {
        if (!is_billed(i))
            continue;
        put_text(out, ",");
        put_number(out, d->each[i]);
    }
    for (size_t i = 0; i < TEN_POLICY_COUNT; i++) {
        put_text(out, ",");
        put_number(out, d->throttled[i]);
        put_text(out, ",");
        put_seconds(out, d->throttled_ns[i]);
    }
    put_text(out, "\r\n");
}

static void put_policy(struct gw_json *j, const struct ten_metering_doc *d, size_t policy)
{
    gw_json_name(j, ten_policy_name((enum ten_policy)policy));
    gw_json_open(j, '{');
    gw_json_name_u64(j, "count", d->throttled[policy]);
    gw_json_name(j, "seconds");
    put_seconds(j->out, d->throttled_ns[policy]);
    j->comma = true;
    gw_json_close(j, '}');
}

static void put_json(struct buf *out, const struct ten_bill *bill)
{
    const struct ten_metering_doc *d = &bill->doc;
    struct gw_json j = gw_json_start(out);
    char hour[HOUR_TEXT];
    hour_text(bill->hour, hour);
    gw_json_open(&j, '{');
    gw_json_name_text(&j, "hour", hour);
    gw_json_name(&j, "tenant");
    gw_json_text(&j, bill->tenant);
    gw_json_name_u64(&j, "stored_bytes", d->bytes);
    gw_json_name_u64(&j, "stored_byte_seconds", d->byte_s);
    for (size_t i = 0; i < TEN_METER_COUNT; i++)
        if (is_billed(i))
            gw_json_name_u64(&j, ten_metered_name((enum ten_metered)i), d->each[i]);
    gw_json_name(&j, "throttled");
    gw_json_open(&j, '{');
    for (size_t i = 0; i < TEN_POLICY_COUNT; i++)
        put_policy(&j, d, i);
    gw_json_close(&j, '}');
    gw_json_close(&j, '}');
    put_text(out, "\n");
}

static enum err visit(void *ctx, const struct ten_bill *bill)
{
    struct gw_call *call = ctx;
    const struct metering *m = call->state;
    if (m->as_csv)
        put_csv(&call->out, bill);
    else
        put_json(&call->out, bill);
    return call->out.error;
}

/* --- reading -----------------------------------------------------------------------------------
 */

/* Reads a portion; on the helper. */
static enum err read_portion(struct gw_call *call, struct errbuf *eb)
{
    struct metering *m = call->state;
    if (m->as_csv && !m->is_begun)
        put_csv_names(&call->out);
    m->is_begun = true;
    return ten_bills_read(m->bills, PORTION_STEPS, visit, call, &m->is_last, eb);
}

static void portion_read(struct gw_call *call);

static void go_on(struct gw_call *call)
{
    gw_task_on_helper(call, read_portion, portion_read);
}

static void drained(struct gw_call *call)
{
    struct metering *m = call->state;
    if (!m->is_waiting)
        return;
    m->is_waiting = false;
    go_on(call);
}

static void portion_read(struct gw_call *call)
{
    struct metering *m = call->state;
    if (call->ex == NULL)
        return;
    if (call->task.result != ERR_OK) {
        gw_exchange_abort(call->ex); /* truncated bills must not look complete */
        return;
    }
    bool is_last = m->is_last; /* nothing of m may be read after the last byte is sent */
    if (is_last)
        gw_budget_put_cost_trailer(call);
    if (is_last || call->out.len > 0)
        gw_exchange_send_take(call->ex, &call->out, is_last);
    if (is_last || call->ex == NULL)
        return;
    m->is_waiting = gw_exchange_is_full(call->ex);
    if (!m->is_waiting)
        go_on(call);
}

static void first_read(struct gw_call *call)
{
    const struct metering *m = call->state;
    if (call->task.result != ERR_OK) {
        gw_call_problem(call, (int)call->task.result, call->task.detail.text);
        return;
    }
    gw_rest_start_stream(
        call, 200, m->as_csv ? "text/csv; charset=utf-8; header=present" : "application/x-ndjson");
    portion_read(call);
}

/* --- parameters --------------------------------------------------------------------------------
 */

static enum err get_hour(const struct gw_query *query, const char *name, uint64_t fallback,
                         uint64_t *out, struct errbuf *eb)
{
    struct slice text = gw_query_get(query, name);
    int64_t us = 0;
    *out = fallback;
    if (text.ptr == NULL)
        return ERR_OK;
    if (base_parse_time(text, &us) != ERR_OK || us % TEN_HOUR_US != 0)
        return base_fail(eb, ERR_INVALID,
                         "%s is the beginning of an hour in UTC, such as 2026-11-20T10:00:00Z",
                         name);
    *out = (uint64_t)(us / TEN_HOUR_US);
    return ERR_OK;
}

static enum err get_format(const struct gw_query *query, bool *out_csv, struct errbuf *eb)
{
    struct slice format = gw_query_get(query, "format");
    *out_csv = base_slice_is(format, "csv");
    if (format.ptr == NULL || *out_csv || base_slice_is(format, "ndjson"))
        return ERR_OK;
    return base_fail(eb, ERR_INVALID, "format is ndjson or csv");
}

static void start(struct gw_call *call, struct ten_tenant *tenant)
{
    struct metering *m = gw_call_new_state(call, sizeof *m, free_state);
    const struct gw_query *query = &gw_rest(call)->query;
    int64_t now_us = base_wall_us();
    uint64_t from = 0;
    uint64_t until = 0;
    struct errbuf eb;
    eb.text[0] = '\0';
    enum err e = get_hour(query, "until", (uint64_t)(now_us / TEN_HOUR_US) + 1, &until, &eb);
    if (e == ERR_OK)
        e = get_hour(query, "from", until > HOURS_DEFAULT ? until - HOURS_DEFAULT : 0, &from, &eb);
    if (e == ERR_OK && from >= until)
        e = base_fail(&eb, ERR_INVALID, "from is before until");
    if (e == ERR_OK)
        e = get_format(query, &m->as_csv, &eb);
    if (e != ERR_OK) {
        gw_call_problem(call, (int)e, eb.text);
        return;
    }
    m->bills = ten_bills_open(call->api->registry, tenant, from, until, now_us);
    call->on_drained = drained;
    gw_task_on_helper(call, read_portion, first_read);
}

/* --- routes ------------------------------------------------------------------------------------
 */

void gw_metering_list(struct gw_call *call)
{
    struct slice id = gw_query_get(&gw_rest(call)->query, "tenant");
    struct ten_tenant *t = NULL;
    if (id.ptr != NULL && (t = ten_tenant_find(call->api->registry, id)) == NULL) {
        gw_call_problem(call, ERR_NOT_FOUND, "there is no such tenant");
        return;
    }
    start(call, t);
}

void gw_own_metering_list(struct gw_call *call)
{
    start(call, call->tenant);
}
