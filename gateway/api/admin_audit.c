/*
 * gateway/api/admin_audit.c - the audit trail: a page as JSON, or as lines until its end; its head.
 *
 * Records are read on the helper, a portion at a time, each when the peer has taken enough of the
 * one before. Lines end at what was the newest record when the reading began: who reads while
 * others act comes to an end.
 *
 * What a tenant reads is its own chain: records are numbered and hashed within it. Number, before
 * and hash of the whole trail are left out: they count what others do.
 */
#include "gateway/api/admin.h"
#include "gateway/api/handlers.h"
#include "gateway/api/json_out.h"
#include "gateway/budget.h"
#include "tenancy/audit.h"

#include "base/banned.h"

#define PORTION_RECORDS 500

const char *const gw_audit_query[] = {"tenant", "from", "limit", NULL};
const char *const gw_own_audit_query[] = {"from", "limit", NULL};

struct audit {
    struct slice tenant; /* empty: all */
    bool is_own;         /* the tenant's view */
    bool as_lines;
    bool is_waiting; /* for the peer to take what it has */
    uint64_t next;
    uint64_t last; /* not behind this one */
    uint64_t left; /* records that may still be given */
    size_t given;  /* in this portion */
    struct gw_json json;
};

/* --- a record ----------------------------------------------------------------------------------
 */

static void put_text(struct gw_json *j, const char *name, struct slice text)
{
    gw_json_name(j, name);
    if (text.len == 0)
        gw_json_null(j);
    else
        gw_json_text(j, text);
}

static void put_hash(struct gw_json *j, const char *name, const struct base_audit_hash *h)
{
    char hex[BASE_AUDIT_HEX + 1];
    base_audit_hex(h, hex);
    gw_json_name_text(j, name, hex);
}

static void put_record(struct gw_json *j, const struct base_audit_record *r, bool is_own)
{
    gw_json_open(j, '{');
    if (!is_own)
        gw_json_name_u64(j, "number", r->number);
    put_text(j, "time", r->time);
    put_text(j, "action", r->action);
    put_text(j, "outcome", r->outcome);
    put_text(j, "tenant", r->tenant);
    put_text(j, "target", r->target);
    put_text(j, "detail", r->detail);
    put_text(j, "key", r->key);
    put_text(j, "kind", r->kind);
    put_text(j, "address", r->address);
    gw_json_name_u64(j, "tenant_number", r->tenant_number);
    put_hash(j, "tenant_before", &r->tenant_before);
    put_hash(j, "entry", &r->entry);
    if (!is_own) {
        put_hash(j, "before", &r->before);
        put_hash(j, "hash", &r->hash);
    }
    gw_json_close(j, '}');
}

/* --- reading -----------------------------------------------------------------------------------
 */

static enum err visit(void *ctx, const struct base_audit_record *r)
{
    struct gw_call *call = ctx;
    struct audit *a = call->state;
    uint64_t number = a->tenant.len > 0 ? r->tenant_number : r->number;
    if (number > a->last)
        return ERR_OK; /* a handful at most: they were written since */
    if (a->as_lines)
        a->json = gw_json_start(&call->out);
    put_record(&a->json, r, a->is_own);
    if (a->as_lines)
        (void)base_buf_append_byte(&call->out, '\n'); /* errors latch in out */
    a->next = number + 1;
    a->given++;
    a->left--;
    return call->out.error;
}

/* Helper. */
static enum err read_portion(struct gw_call *call, struct errbuf *eb)
{
    struct audit *a = call->state;
    uint64_t wanted = a->as_lines && a->left > PORTION_RECORDS ? PORTION_RECORDS : a->left;
    a->given = 0;
    return ten_audit_read(call->api->registry, a->tenant, a->next, (size_t)wanted, visit, call, eb);
}

static void portion_read(struct gw_call *call);

static void go_on(struct gw_call *call)
{
    gw_task_on_helper(call, read_portion, portion_read);
}

static void drained(struct gw_call *call)
{
    struct audit *a = call->state;
    if (!a->is_waiting)
        return;
    a->is_waiting = false;
    go_on(call);
}

static void portion_read(struct gw_call *call)
{
    struct audit *a = call->state;
    if (call->ex == NULL)
        return;
    if (call->task.result != ERR_OK) {
        gw_exchange_abort(call->ex); /* a trail that is cut must not look whole */
        return;
    }
    bool is_last = a->given == 0 || a->left == 0 || a->next > a->last;
    if (is_last)
        gw_budget_put_cost_trailer(call);
    gw_exchange_send_take(call->ex, &call->out, is_last);
    if (is_last || call->ex == NULL)
        return;
    a->is_waiting = gw_exchange_is_full(call->ex);
    if (!a->is_waiting)
        go_on(call);
}

/* --- a page ------------------------------------------------------------------------------------
 */

/* Helper. */
static enum err read_page(struct gw_call *call, struct errbuf *eb)
{
    struct audit *a = call->state;
    a->json = gw_json_start(&call->out);
    gw_json_open(&a->json, '{');
    gw_json_name(&a->json, "records");
    gw_json_open(&a->json, '[');
    enum err e = read_portion(call, eb);
    gw_json_close(&a->json, ']');
    if (a->given > 0 && a->next <= a->last)
        gw_json_name_u64(&a->json, "next_from", a->next);
    gw_json_close(&a->json, '}');
    return e;
}

/* The newest there is. */
static enum err find_last(struct gw_call *call, struct errbuf *eb)
{
    struct audit *a = call->state;
    struct base_audit_head head;
    char time[BASE_TIME_TEXT];
    enum err e = ERR_OK;
    if (a->tenant.len > 0)
        e = ten_audit_head_of(call->api->registry, a->tenant, &head, eb);
    else
        ten_audit_head(call->api->registry, &head, time);
    if (e == ERR_OK)
        a->last = head.number;
    return e;
}

/* Helper. The first portion comes with the head, so that a failure has a status. */
static enum err read_first(struct gw_call *call, struct errbuf *eb)
{
    const struct audit *a = call->state;
    enum err e = find_last(call, eb);
    if (e != ERR_OK)
        return e;
    return a->as_lines ? read_portion(call, eb) : read_page(call, eb);
}

static void first_read(struct gw_call *call)
{
    const struct audit *a = call->state;
    if (call->task.result != ERR_OK) {
        gw_call_problem(call, (int)call->task.result, call->task.detail.text);
    } else if (!a->as_lines) {
        gw_rest_send_json(call, 200);
    } else {
        gw_rest_start_stream(call, 200, "application/x-ndjson");
        portion_read(call);
    }
}

static void start(struct gw_call *call, struct audit *a)
{
    const struct gw_query *query = &gw_rest(call)->query;
    struct errbuf eb;
    eb.text[0] = '\0';
    a->as_lines = gw_rest_accepts(call, "application/x-ndjson");
    uint64_t most = a->as_lines ? UINT64_MAX : LIM_PAGE_ROWS_DEFAULT;
    enum err e = gw_query_number(query, "from", 1, INT64_MAX, 1, &a->next, &eb);
    if (e == ERR_OK)
        e = gw_query_number(query, "limit", 1, most, most, &a->left, &eb);
    if (e != ERR_OK) {
        gw_call_problem(call, (int)e, eb.text);
        return;
    }
    call->on_drained = drained;
    gw_task_on_helper(call, read_first, first_read);
}

/* --- routes ------------------------------------------------------------------------------------
 */

void gw_audit_list(struct gw_call *call)
{
    struct audit *a = gw_call_new_state(call, sizeof *a, NULL);
    struct slice id = gw_query_get(&gw_rest(call)->query, "tenant");
    const struct ten_tenant *t = NULL;
    if (id.ptr != NULL && (t = ten_tenant_find(call->api->registry, id)) == NULL) {
        gw_call_problem(call, ERR_NOT_FOUND, "there is no such tenant");
        return;
    }
    a->tenant = t == NULL ? SLICE_EMPTY : ten_tenant_id(t);
    start(call, a);
}

void gw_own_audit_list(struct gw_call *call)
{
    struct audit *a = gw_call_new_state(call, sizeof *a, NULL);
    a->tenant = ten_tenant_id(call->tenant);
    a->is_own = true;
    start(call, a);
}

/* Helper: the head is locked while a record becomes durable. */
static enum err describe_head(struct gw_call *call, struct errbuf *eb)
{
    struct base_audit_head head;
    char time[BASE_TIME_TEXT];
    struct gw_json j = gw_json_start(&call->out);
    (void)eb; /* it is in memory */
    ten_audit_head(call->api->registry, &head, time);
    gw_json_open(&j, '{');
    gw_json_name_u64(&j, "number", head.number);
    put_hash(&j, "hash", &head.hash);
    gw_json_name_text(&j, "time", time);
    gw_json_close(&j, '}');
    return ERR_OK;
}

static void head_described(struct gw_call *call)
{
    gw_rest_send_json(call, 200);
}

void gw_audit_head(struct gw_call *call)
{
    gw_task_on_helper(call, describe_head, head_described);
}
