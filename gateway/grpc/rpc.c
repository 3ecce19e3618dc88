/*
 * gateway/grpc/rpc.c - a gRPC call: its method, its one request message, its responses.
 *
 * A refusal before anything was sent is one HEADERS frame that ends the stream (trailers-only);
 * later it is the trailers.
 */
#define _GNU_SOURCE
#include "gateway/grpc/rpc.h"

#include "auth/scopes.h"
#include "base/log.h"
#include "gateway/budget.h"

#include "base/banned.h"

#define PYTHON "gl-python/"

/* Bytes that are charged for each deflated byte: 16 ns, of the 2 to 21 that it takes. */
#define DEFLATED_PRICE 4

static const char *method_name(const struct gw_rpc *rpc)
{
    return rpc->method == NULL ? "-" : rpc->method->name;
}

static void log_failure(const struct gw_rpc *rpc, int problem, const char *detail)
{
    if (gw_problem_get(problem)->status == 500)
        base_log(BASE_LOG_ERROR, "request_failed", "code=%s method=%s detail=\"%s\"",
                 gw_problem_get(problem)->code, method_name(rpc), detail == NULL ? "" : detail);
}

static void add_own_headers(const struct gw_rpc *rpc)
{
    struct gw_exchange *ex = rpc->call.ex;
    gw_exchange_add_header(ex, "content-type", SLICE_LIT("application/grpc"));
    gw_exchange_add_header(ex, "grpc-accept-encoding", SLICE_LIT("identity,gzip"));
}

static void end_exchange(struct gw_rpc *rpc)
{
    struct buf nothing;
    rpc->ended = true;
    base_buf_init(&nothing, 0);
    gw_exchange_send_take(rpc->call.ex, &nothing, true);
}

/* Returns whether the client accepts details: the classic Python client raises a TypeError of its
 * own over details of these methods. */
static bool takes_details(const struct gw_rpc *rpc)
{
    if (rpc->method == NULL || !rpc->method->bare_for_python)
        return true;
    struct slice client = gw_exchange_header(rpc->call.ex, "x-goog-api-client", NULL);
    return client.len == 0 || memmem(client.ptr, client.len, PYTHON, sizeof PYTHON - 1) == NULL;
}

static void put_status(const struct gw_rpc *rpc, enum gw_status_place place, int problem,
                       const char *detail, const struct gw_problem_extra *extra)
{
    /* When a deadline passes, a client's own clock may overwrite the status, but not its details,
     * and Python's client raises a ValueError if the two texts differ. */
    if (problem != ERR_TIMEOUT && takes_details(rpc))
        gw_status_put(rpc->call.ex, place, problem, detail, extra, rpc->info);
    else
        gw_status_put_bare(rpc->call.ex, place, problem, detail);
}

/* --- the protocol ------------------------------------------------------------------------------
 */

static void refuse(struct gw_call *call, int problem, const char *detail,
                   const struct gw_problem_extra *extra)
{
    struct gw_rpc *rpc = gw_rpc(call);
    log_failure(rpc, problem, detail);
    add_own_headers(rpc);
    put_status(rpc, GW_STATUS_IN_HEAD, problem, detail, extra);
    gw_budget_put_limits(call, false);
    gw_budget_put_cost(call);
    gw_exchange_start(call->ex, 200, -1);
    if (call->ex != NULL)
        end_exchange(rpc);
}

static void charge(struct gw_call *call)
{
    struct gw_rpc *rpc = gw_rpc(call);
    gw_frame_reader_charge(&rpc->in, call->memory);
    base_buf_charge(&rpc->waiting, call->memory);
    base_arena_charge(&rpc->message, call->memory);
}

void gw_rpc_is_addressed(struct gw_rpc *rpc)
{
    if (rpc->unaddressed == NULL)
        return;
    --*rpc->unaddressed;
    rpc->call.thread->unaddressed.all--;
    rpc->unaddressed = NULL;
}

static void reset(struct gw_call *call)
{
    struct gw_rpc *rpc = gw_rpc(call);
    gw_rpc_is_addressed(rpc);
    gw_frame_reader_fini(&rpc->in);
    base_buf_fini(&rpc->waiting);
    base_arena_fini(&rpc->message);
    sto_view_unref(rpc->view);
    memset((char *)rpc + sizeof rpc->call, 0, sizeof *rpc - sizeof rpc->call);
}

static void name_action(struct gw_call *call, struct slice *out_tenant)
{
    const struct gw_rpc *rpc = gw_rpc(call);
    const struct gw_resource *resource = &rpc->resource;
    *out_tenant = rpc->tenant_id[0] != '\0' ? base_slice_text(rpc->tenant_id) : resource->project;
    if (resource->kind == GW_RESOURCE_CLUSTER && rpc->method->plain_request != NULL)
        gw_action_target(&call->action, resource->cluster);
    if (resource->table.len > 0)
        gw_action_target(&call->action, resource->table);
    if (resource->leaf.len > 0)
        gw_action_target(&call->action, resource->leaf);
}

static void label(const struct gw_call *call, struct gw_label *out)
{
    const struct gw_method *method = gw_rpc(call)->method;
    int problem = call->seen.problem;
    out->what = method == NULL ? gw_method_count : (size_t)(method - gw_methods);
    out->code = (uint8_t)(problem == 0 ? GW_STATUS_OK : gw_status_code_of(problem));
    out->is_data = method != NULL && method->in_table &&
                   (method->scope & (AUTH_DATA_READ | AUTH_DATA_WRITE)) != 0;
}

const struct gw_protocol gw_rpc_protocol = {
    .id = GW_PROTOCOL_GRPC,
    .call_bytes = sizeof(struct gw_rpc),
    .arena_max = 2 * GW_RPC_MESSAGE_MAX,
    .refuse = refuse,
    .charge = charge,
    .cut = gw_rpc_fail,
    .reset = reset,
    .name_action = name_action,
    .label = label,
};

/* --- answers -----------------------------------------------------------------------------------
 */

/* Sends the head, once; false when nothing can be sent any more. */
static bool begin(struct gw_rpc *rpc)
{
    struct gw_call *call = &rpc->call;
    if (gw_rpc_is_over(call))
        return false;
    if (!gw_call_begin_answer(call))
        return true;
    add_own_headers(rpc);
    if (rpc->metadata.reply == GW_ENCODING_GZIP)
        gw_exchange_add_header(call->ex, "grpc-encoding", SLICE_LIT("gzip"));
    gw_budget_put_limits(call, false);
    gw_exchange_start(call->ex, 200, -1);
    return call->ex != NULL;
}

void gw_rpc_end_message(struct gw_call *call, size_t begin)
{
    struct buf *out = &call->out;
    gw_frame_end(out, begin);
    if (gw_rpc(call)->metadata.reply != GW_ENCODING_GZIP || out->error != ERR_OK)
        return;
    size_t bytes = out->len - begin - GW_FRAME_HEAD;
    if (bytes > LIM_SLICE_BYTES) /* deflating it would hold up the loop: sent uncompressed */
        return;
    out->error = gw_frame_deflate(out, begin);
    if (bytes > GW_FRAME_SMALL_BYTES)
        gw_call_handled(call, bytes * DEFLATED_PRICE);
}

static void pack(struct gw_rpc *rpc, const ProtobufCMessage *message)
{
    struct buf *out = &rpc->call.out;
    size_t at = gw_frame_begin(out);
    size_t bytes = protobuf_c_message_get_packed_size(message);
    if (base_buf_reserve(out, bytes) == ERR_OK)
        out->len += protobuf_c_message_pack(message, base_buf_end(out));
    gw_rpc_end_message(&rpc->call, at);
}

void gw_rpc_send_out(struct gw_call *call)
{
    if (call->out.error != ERR_OK)
        gw_rpc_fail(call, call->out.error, "the answer does not fit into memory");
    else if (call->out.len > 0 && begin(gw_rpc(call)))
        gw_exchange_send_take(call->ex, &call->out, false);
    else
        base_buf_truncate(&call->out, 0);
}

void gw_rpc_send(struct gw_call *call, const ProtobufCMessage *message)
{
    if (gw_rpc_is_over(call))
        return;
    pack(gw_rpc(call), message);
    gw_rpc_send_out(call);
}

void gw_rpc_end(struct gw_call *call)
{
    struct gw_rpc *rpc = gw_rpc(call);
    if (call->out.error != ERR_OK) {
        gw_rpc_fail(call, call->out.error, "the answer does not fit into memory");
        return;
    }
    if (!begin(rpc))
        return;
    gw_status_put_ok(call->ex);
    gw_budget_put_cost_trailer(call);
    rpc->ended = true;
    gw_exchange_send_take(call->ex, &call->out, true);
}

void gw_rpc_reply(struct gw_call *call, const ProtobufCMessage *reply)
{
    if (gw_rpc_is_over(call))
        return;
    pack(gw_rpc(call), reply);
    gw_rpc_end(call);
}

void gw_rpc_fail_retry(struct gw_call *call, enum err code, const char *detail, uint64_t retry_ns)
{
    struct gw_rpc *rpc = gw_rpc(call);
    if (!call->answered) {
        gw_call_problem_retry(call, (int)code, detail, retry_ns);
        return;
    }
    if (gw_rpc_is_over(call))
        return;
    log_failure(rpc, (int)code, detail);
    gw_observe_problem(call, (int)code, retry_ns);
    const struct gw_problem_extra extra = {.retry_ns = retry_ns};
    put_status(rpc, GW_STATUS_IN_TRAILERS, (int)code, detail, &extra);
    gw_budget_put_cost_trailer(call);
    end_exchange(rpc);
}

void gw_rpc_fail(struct gw_call *call, enum err code, const char *detail)
{
    gw_rpc_fail_retry(call, code, detail, 0);
}

/* --- deadlines ---------------------------------------------------------------------------------
 */

/* Ends the call when its deadline has passed. The status waits behind output that the peer has not
 * accepted yet. */
void gw_rpc_tick(struct gw_call *call, uint64_t now_ns)
{
    const struct gw_rpc *rpc = gw_rpc(call);
    if (rpc->deadline_ns == 0 || now_ns < rpc->deadline_ns)
        return;
    if (call->ex == NULL)
        gw_call_give_up(call);
    else if (!rpc->ended)
        gw_rpc_fail(call, ERR_TIMEOUT, "the deadline passed before everything was done");
}

/* --- tasks -------------------------------------------------------------------------------------
 */

static void answer_task(struct gw_call *call)
{
    if (call->task.result != ERR_OK)
        gw_call_problem(call, (int)call->task.result, call->task.detail.text);
    else
        gw_rpc(call)->reply_to_task(call);
}

void gw_rpc_on_control(struct gw_call *call,
                       enum err (*work)(struct gw_call *call, struct errbuf *eb),
                       void (*reply)(struct gw_call *call))
{
    gw_rpc(call)->reply_to_task = reply;
    gw_task_on_control(call, work, answer_task);
}
