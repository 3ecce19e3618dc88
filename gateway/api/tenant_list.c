/*
 * gateway/api/tenant_list.c - the list of tenants: filters, orders, pages.
 *
 * A page token holds the position after which the next page starts: the value that the list is
 * sorted by, 8 bytes, and the ID of the last tenant shown. It is bound to the filters and the order
 * it was made with.
 *
 * The tenants of a page are found in one step, and described in portions.
 */
#include "tenancy/tenant_list.h"
#include "gateway/api/describe.h"
#include "gateway/api/handlers.h"
#include "gateway/api/portions.h"
#include "storage/keycodec.h"

#include "base/banned.h"

const char *const gw_tenant_list_query[] = {"limit", "page_token", "prefix", "state",
                                            "plan",  "order",      NULL};

#define VALUE_BYTES 8

struct list {
    struct gw_portions portions;
    struct buf place; /* of the token */
    uint64_t limit;
    struct slice plan; /* ptr NULL: any */
    struct slice order;
    struct slice state;
    struct ten_list_wanted wanted;
    struct ten_listed *found; /* limit and one more */
    bool is_begun;            /* the fields after it are set */
    bool has_more;            /* after the page */
    size_t count;             /* on it */
    size_t shown;
    struct gw_json json;
};

static void cleanup(struct gw_call *call)
{
    struct list *l = call->state;
    base_buf_fini(&l->place);
}

/* Returns the context of the token. An absent filter and an empty one are two different filters. */
static struct gw_page_context context_of(const struct list *l)
{
    return (struct gw_page_context){
        .parts = {SLICE_LIT("tenants"), l->order, l->wanted.prefix, l->state,
                  l->plan.ptr == NULL ? SLICE_LIT("any") : SLICE_LIT("plan"), l->plan},
        .count = 6,
    };
}

/* --- the request ------------------------------------------------------------------------------ */

static enum err parse_order(struct slice text, struct ten_list_wanted *w, struct errbuf *eb)
{
    static const char *const NAMES[] = {
        [TEN_BY_ID] = "id",
        [TEN_BY_BYTES] = "bytes",
        [TEN_BY_ROWS] = "rows",
        [TEN_BY_CREATED] = "created",
    };
    w->descending = base_slice_starts_with(text, SLICE_LIT("-"));
    struct slice name = w->descending ? base_slice_skip(text, 1) : text;
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        if (!base_slice_is(name, NAMES[i]))
            continue;
        w->order = (enum ten_order)i;
        return ERR_OK;
    }
    return base_fail(eb, ERR_INVALID,
                     "query parameter \"order\" must be id, bytes, rows or created; with \"-\" in "
                     "front of it the other way round");
}

static enum err parse_state(struct slice text, struct ten_list_wanted *w, struct errbuf *eb)
{
    for (enum ten_state s = TEN_ACTIVE; s < TEN_STATES; s++) {
        if (!base_slice_is(text, ten_state_name(s)))
            continue;
        w->state = s;
        return ERR_OK;
    }
    return base_fail(eb, ERR_INVALID,
                     "query parameter \"state\" must be active, suspended, delete_requested, "
                     "purging, purged or expired");
}

static enum err open_token(struct gw_call *call, struct list *l, struct slice token,
                           struct errbuf *eb)
{
    struct gw_page_context context = context_of(l);
    enum err e = gw_page_token_open(&call->api->page_key, &context, token, &l->place, eb);
    if (e != ERR_OK)
        return e;
    INVARIANT(l->place.len > VALUE_BYTES); /* the token was made here */
    l->wanted.has_after = true;
    l->wanted.after_value = sto_get_be64(l->place.ptr);
    l->wanted.after_id = base_slice_skip(base_buf_slice(&l->place), VALUE_BYTES);
    return ERR_OK;
}

static enum err parse(struct gw_call *call, struct list *l, struct errbuf *eb)
{
    const struct gw_query *q = &gw_rest(call)->query;
    struct slice token = gw_query_get(q, "page_token");
    l->wanted.prefix = gw_query_get(q, "prefix");
    l->plan = gw_query_get(q, "plan");
    l->order = gw_query_get(q, "order");
    l->state = gw_query_get(q, "state");
    enum err e =
        gw_query_number(q, "limit", 1, LIM_PAGE_ROWS, LIM_PAGE_ROWS_DEFAULT, &l->limit, eb);
    if (e == ERR_OK && l->wanted.prefix.len > LIM_TENANT_ID)
        e = base_fail(eb, ERR_INVALID, "prefix has %zu bytes; IDs have at most %d",
                      l->wanted.prefix.len, LIM_TENANT_ID);
    if (e == ERR_OK && l->order.ptr != NULL)
        e = parse_order(l->order, &l->wanted, eb);
    if (e == ERR_OK && l->state.ptr != NULL)
        e = parse_state(l->state, &l->wanted, eb);
    if (e == ERR_OK && token.ptr != NULL)
        e = open_token(call, l, token, eb);
    if (e != ERR_OK)
        return e;
    l->found = base_arena_alloc(&call->arena, ((size_t)l->limit + 1) * sizeof l->found[0]);
    return l->found == NULL ? base_fail(eb, ERR_NO_MEMORY, "out of memory for the list") : ERR_OK;
}

/* --- the response ----------------------------------------------------------------------------- */

static enum err put_token(struct gw_call *call, const struct list *l, const struct ten_listed *last)
{
    uint8_t place[VALUE_BYTES + LIM_TENANT_ID];
    struct slice id = ten_tenant_id(last->tenant);
    struct gw_page_context context = context_of(l);
    sto_put_be64(place, last->value);
    memcpy(place + VALUE_BYTES, id.ptr, id.len);
    (void)base_buf_append(&call->out, SLICE_LIT(",\"next_page_token\":\"")); /* latches */
    enum err e = gw_page_token_make(&call->api->page_key, &context,
                                    base_slice(place, VALUE_BYTES + id.len), &call->out);
    (void)base_buf_append_byte(&call->out, '"'); /* latches */
    return e;
}

/* Finds the tenants of the page. */
static enum err find(struct gw_call *call, struct list *l, struct errbuf *eb)
{
    if (l->plan.ptr != NULL) {
        l->wanted.has_plan = true;
        l->wanted.plan = l->plan.len == 0 ? NULL : ten_plan_find(call->api->registry, l->plan);
        if (l->plan.len > 0 && l->wanted.plan == NULL)
            return base_fail(eb, ERR_NOT_FOUND, "there is no such plan");
    }
    size_t count =
        ten_tenant_list_page(call->api->registry, &l->wanted, l->found, (size_t)l->limit + 1);
    l->count = count > l->limit ? (size_t)l->limit : count;
    l->has_more = count > l->count;
    l->json = gw_json_start(&call->out);
    gw_json_open(&l->json, '{');
    gw_json_name(&l->json, "tenants");
    gw_json_open(&l->json, '[');
    l->is_begun = true;
    return ERR_OK;
}

/* Finds the page once, then describes a portion; on the control thread. */
static enum err work(struct gw_call *call, struct errbuf *eb)
{
    struct list *l = call->state;
    enum err e = l->is_begun ? ERR_OK : find(call, l, eb);
    if (e != ERR_OK)
        return e;
    for (; l->shown < l->count && call->out.len < GW_PORTION_BYTES; l->shown++) {
        const struct ten_tenant *t = l->found[l->shown].tenant;
        gw_describe_tenant(&l->json, t, ten_tenant_details(t));
    }
    l->portions.is_last = l->shown == l->count;
    if (!l->portions.is_last)
        return ERR_OK;
    gw_json_close(&l->json, ']');
    e = l->has_more ? put_token(call, l, &l->found[l->count - 1]) : ERR_OK;
    gw_json_close(&l->json, '}');
    return e == ERR_OK ? ERR_OK : base_fail(eb, e, "out of memory for the page token");
}

void gw_tenant_list(struct gw_call *call)
{
    struct list *l = gw_call_new_state(call, sizeof *l, cleanup);
    struct errbuf eb;
    eb.text[0] = '\0';
    l->portions =
        (struct gw_portions){.work = work, .content_type = "application/json", .on_control = true};
    base_buf_init(&l->place, VALUE_BYTES + LIM_TENANT_ID);
    enum err e = parse(call, l, &eb);
    if (e != ERR_OK)
        gw_call_problem(call, (int)e, eb.text);
    else
        gw_portions_start(call);
}
