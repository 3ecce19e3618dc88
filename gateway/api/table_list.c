/*
 * gateway/api/table_list.c - the list of a tenant's tables.
 *
 * A thousand tables with a hundred families each are 25 MB of text. Lists that are not small are
 * described on the helper, in portions. Between two portions tables may be created and deleted: the
 * list continues after the last ID.
 */
#include "gateway/api/describe.h"
#include "gateway/api/handlers.h"
#include "gateway/api/portions.h"

#include "base/banned.h"

#define SMALL_BYTES    (16 * KIB) /* on the loop: 0.3 ms */
#define PORTION_TABLES 64

struct table_list {
    struct gw_portions portions;
    struct gw_json json;
    char last[LIM_TABLE_ID]; /* the table before the next */
    size_t last_len;
    bool is_whole; /* no table follows the portion */
    size_t taken;
    size_t described;
    struct sto_schema *schemas[PORTION_TABLES]; /* the portion: a reference each */
};

static void portion_release(struct gw_call *call)
{
    struct table_list *l = call->state;
    for (size_t i = 0; i < l->taken; i++)
        sto_schema_unref(l->schemas[i]);
    l->taken = 0;
    l->described = 0;
}

/* Acquires the schemas of the tables after the last one. */
static void portion_take(struct gw_call *call)
{
    struct table_list *l = call->state;
    const struct ten_tables *tables = ten_tenant_tables(call->tenant);
    size_t at = ten_tables_behind(tables, base_slice(l->last, l->last_len));
    portion_release(call);
    for (; at < tables->count && l->taken < PORTION_TABLES; at++)
        if (!tables->schemas[at]->deleting)
            l->schemas[l->taken++] = sto_schema_ref(tables->schemas[at]);
    l->is_whole = at == tables->count;
}

/* Describes acquired schemas until there is that much text; on any thread. */
static void portion_describe(struct gw_call *call, size_t bytes)
{
    struct table_list *l = call->state;
    while (l->described < l->taken && call->out.len < bytes && call->out.error == ERR_OK)
        gw_describe_table(&l->json, l->schemas[l->described++]);
    if (l->described > 0) {
        struct slice id = sto_schema_table_id(l->schemas[l->described - 1]);
        memcpy(l->last, id.ptr, id.len);
        l->last_len = id.len;
    }
    l->portions.is_last = l->is_whole && l->described == l->taken;
    if (!l->portions.is_last)
        return;
    gw_json_close(&l->json, ']');
    gw_json_close(&l->json, '}');
}

/* Describes a portion; on the helper. */
static enum err portion_work(struct gw_call *call, struct errbuf *eb)
{
    (void)eb; /* fails only for lack of memory */
    portion_describe(call, GW_PORTION_BYTES);
    return ERR_OK;
}

void gw_table_list(struct gw_call *call)
{
    struct table_list *l = gw_call_new_state(call, sizeof *l, portion_release);
    l->portions = (struct gw_portions){
        .work = portion_work, .prepare = portion_take, .content_type = "application/json"};
    l->json = gw_json_start(&call->out);
    gw_json_open(&l->json, '{');
    gw_json_name(&l->json, "tables");
    gw_json_open(&l->json, '[');
    portion_take(call);
    portion_describe(call, SMALL_BYTES);
    if (l->portions.is_last)
        gw_rest_send_json(call, 200);
    else
        gw_portions_start(call);
}
