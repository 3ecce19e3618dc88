/*
 * gateway/grpc/drop_row_range.c - BigtableTableAdmin.DropRowRange: rows by prefix, or all rows.
 *
 * Any number of drops may run at once, in parallel with any reads and writes, and none needs a long
 * deadline.
 */
#include <google/bigtable/admin/v2/bigtable_table_admin.pb-c.h>

#include "gateway/drop_range.h"
#include "gateway/grpc/handlers.h"
#include "gateway/recorded_drop.h"

#include "base/banned.h"

static void answer(struct gw_call *call, const struct sto_drop_op *op)
{
    Google__Protobuf__Empty nothing = GOOGLE__PROTOBUF__EMPTY__INIT;
    (void)op; /* the response has no count */
    gw_rpc_reply(call, &nothing.base);
}

static enum err read_target(struct gw_call *call, struct gw_drop *d, struct errbuf *eb)
{
    const Bta__DropRowRangeRequest *request = (const void *)gw_rpc(call)->request;
    struct slice prefix = SLICE_EMPTY;
    bool all = false;
    switch (request->target_case) {
    case BTA__DROP_ROW_RANGE_REQUEST__TARGET_ROW_KEY_PREFIX:
        prefix = gw_proto_bytes(request->row_key_prefix);
        break;
    case BTA__DROP_ROW_RANGE_REQUEST__TARGET_DELETE_ALL_DATA_FROM_TABLE:
        all = request->delete_all_data_from_table;
        break;
    case BTA__DROP_ROW_RANGE_REQUEST__TARGET__NOT_SET:
    default:
        return base_fail(eb, ERR_INVALID, "give row_key_prefix or delete_all_data_from_table");
    }
    d->prefix_bytes = prefix.len;
    return gw_drop_range(call->scope.schema, prefix, all, d->end_bytes, &d->op.range, eb);
}

void gw_admin_drop_row_range(struct gw_call *call)
{
    struct gw_drop *d = gw_call_new_state(call, sizeof *d, NULL);
    struct errbuf eb;
    eb.text[0] = '\0';
    enum err e = read_target(call, d, &eb);
    if (e != ERR_OK) {
        gw_call_problem(call, (int)e, eb.text);
        return;
    }
    d->op.deadline_ns = gw_rpc(call)->deadline_ns;
    d->answer = answer;
    gw_drop_start(call, d);
}
