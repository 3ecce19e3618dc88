/*
 * gateway/grpc/dispatch.c - from a gRPC request's head to its handler, through every check.
 *
 * Each check either passes (true) or has ended the call (false). The caller is checked before a
 * byte of the message is kept, and for a tenant's key also whether it may call now: state, requests
 * in flight, rates. The message names the tenant: projects/TENANT/...; a tenant's key names its own
 * tenant or is refused. The head of a service key's call may already name the tenant
 * (x-goog-request-params), which is then checked against the key. Once the message has arrived, key
 * and state are checked again, unless the loop's turn number is still that of the first check: most
 * messages arrive in one piece with their head.
 *
 * Once its message is complete, a call of a method that outlives its peer may have no exchange any
 * more: then its key is found by its ID.
 * Over 500 lines because all checks of a call are here, in their order.
 */
#include "gateway/grpc/dispatch.h"

#include "base/clock.h"
#include "base/watchdog.h"
#include "gateway/grpc/emulator.h"
#include "tenancy/views.h"

#include "base/banned.h"

#define INFLATE_ON_LOOP_MAX (1 * KIB) /* inflates to a megabyte at most */
/* The charge of one sent byte covers the inflation to this many bytes: gzip shortens small cells to
 * a fourth. */
#define INFLATED_PAID 8

/* --- the head ----------------------------------------------------------------------------------
 */

static bool check_method(struct gw_rpc *rpc)
{
    struct gw_call *call = &rpc->call;
    struct errbuf eb;
    eb.text[0] = '\0';
    rpc->method = gw_method_find(call->ex->path);
    if (!base_slice_is(call->ex->method, "POST")) {
        gw_call_problem(call, ERR_INVALID, "a gRPC request is a POST");
        return false;
    }
    if (rpc->method == NULL) {
        gw_call_problem(call, ERR_UNSUPPORTED, "this server does not have that method");
        return false;
    }
    rpc->type = call->ex->is_plain && rpc->method->request == NULL ? rpc->method->plain_request
                                                                   : rpc->method->request;
    if (rpc->type == NULL) {
        gw_call_problem(
            call, rpc->method->refusal != ERR_OK ? (int)rpc->method->refusal : ERR_UNSUPPORTED,
            rpc->method->doc);
        return false;
    }
    call->action.name = rpc->method->audit;
    base_watchdog_say(rpc->method->name);
    enum err e = gw_metadata_read(call->ex, &rpc->metadata, &eb);
    if (e != ERR_OK) {
        gw_call_problem(call, (int)e, eb.text);
        return false;
    }
    if (rpc->metadata.timeout_ns != 0)
        rpc->deadline_ns = call->ex->received_ns + rpc->metadata.timeout_ns;
    return true;
}

/* Admits the call. Operations that were charged when its head arrived are not charged again. */
static bool admit(struct gw_rpc *rpc)
{
    const struct ten_load load = {rpc->is_paid ? 0 : rpc->method->cost, 0};
    rpc->is_paid = rpc->is_admitted = gw_caller_admit(&rpc->call, rpc->method->access, load);
    return rpc->is_admitted;
}

/* Checks the tenant that the head names. The message of a service key's call names the tenant; most
 * clients name it in the head as well. */
static bool check_address(struct gw_rpc *rpc, const struct auth_key *key)
{
    struct slice project = gw_metadata_project(rpc->call.ex);
    if (project.len == 0)
        return true;
    rpc->resource.project = project; /* for the record of a refusal */
    if (!gw_caller_may_act_for(&rpc->call, key, project, rpc->method->access))
        return false;
    rpc->resource.project = SLICE_EMPTY;
    return true;
}

static bool await_address(struct gw_rpc *rpc)
{
    struct gw_call *call = &rpc->call;
    struct gw_unaddressed *u = &call->thread->unaddressed;
    unsigned *of_key = &u->of[call->memory - call->api->services];
    if (*of_key >= GW_UNADDRESSED_MAX - u->all) {
        gw_call_refuse(call, ERR_OVERLOADED,
                       "%u calls of this key have sent no message, which says for whom they are; "
                       "send it with the call's head, or begin fewer at once",
                       *of_key);
        return false;
    }
    ++*of_key;
    u->all++;
    rpc->unaddressed = of_key;
    return true;
}

static bool check_caller(struct gw_rpc *rpc)
{
    struct gw_call *call = &rpc->call;
    const struct gw_method *method = rpc->method;
    rpc->is_plain = call->ex->is_plain;
    if (method->access == GW_ACCESS_NONE || rpc->is_plain)
        return true;
    const struct auth_key *key = gw_caller_check(call, method->scope, method->by_row);
    if (key == NULL)
        return false;
    rpc->key = key;
    rpc->key_turn = gw_loop_turn(call->thread->loop);
    if (key->kind == AUTH_SERVICE)
        return check_address(rpc, key) && await_address(rpc);
    if (!gw_caller_act_for(call, key, SLICE_EMPTY))
        return false;
    return method->client_streaming || admit(rpc);
}

/* --- the message -------------------------------------------------------------------------------
 */

/* Returns a text field of the message, or of a message in it: "table.name". "" when it is
 * absent. */
static const char *text_field(const ProtobufCMessage *message, const char *name)
{
    const char *dot = strchr(name, '.');
    if (dot != NULL) {
        char outer[32];
        size_t len = (size_t)(dot - name);
        INVARIANT(len < sizeof outer);
        memcpy(outer, name, len);
        outer[len] = '\0';
        const ProtobufCFieldDescriptor *inner =
            protobuf_c_message_descriptor_get_field_by_name(message->descriptor, outer);
        INVARIANT(inner != NULL && inner->type == PROTOBUF_C_TYPE_MESSAGE);
        message = *(ProtobufCMessage *const *)((const char *)message + inner->offset);
        if (message == NULL)
            return "";
        name = dot + 1;
    }
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field_by_name(message->descriptor, name);
    INVARIANT(field != NULL && field->type == PROTOBUF_C_TYPE_STRING);
    return *(char *const *)((const char *)message + field->offset);
}

static bool refused(struct gw_call *call, enum err code, const struct errbuf *eb)
{
    if (code == ERR_OK)
        return false;
    gw_call_problem(call, (int)code, eb->text);
    return true;
}

static bool check_resource(struct gw_rpc *rpc)
{
    const struct gw_method *method = rpc->method;
    const char *missing = method->missing_field;
    if (missing != NULL && text_field(rpc->request, missing)[0] != '\0') {
        gw_call_refuse(&rpc->call, ERR_UNSUPPORTED,
                       "%s: this server has no materialized views; name a table in %s", missing,
                       method->name_field);
        return false;
    }
    enum gw_resource_kind kind = method->resource;
    struct errbuf eb;
    eb.text[0] = '\0';
    const char *name = text_field(rpc->request, method->name_field);
    if (method->view_field != NULL && text_field(rpc->request, method->view_field)[0] != '\0') {
        if (name[0] != '\0') {
            gw_call_refuse(&rpc->call, ERR_INVALID, "give %s or %s, not both", method->name_field,
                           method->view_field);
            return false;
        }
        name = text_field(rpc->request, method->view_field);
        kind = GW_RESOURCE_VIEW;
    }
    enum err e = gw_resource_parse(base_slice_text(name), kind, &rpc->resource, &eb);
    if (e == ERR_OK && method->check != NULL)
        e = method->check(rpc->request, &eb);
    if (e == ERR_OK && method->id_field != NULL) {
        rpc->resource.kind = GW_RESOURCE_INSTANCE;
        rpc->resource.instance = base_slice_text(text_field(rpc->request, method->id_field));
    }
    return !refused(&rpc->call, e, &eb);
}

static void go_on(struct gw_rpc *rpc);

/* Checks the caller's key again. Returns NULL if it is no longer valid; the call is answered. */
static const struct auth_key *key_again(struct gw_rpc *rpc)
{
    struct gw_call *call = &rpc->call;
    if (call->ex == NULL)
        return auth_key_find(call->thread->verifier, call->who.key_id);
    return gw_caller_check(call, rpc->method->scope, rpc->method->by_row);
}

/* Finds the tenant whose data the request touches; false: refused, or a new tenant is being created
 * first. */
static bool find_tenant(struct gw_rpc *rpc)
{
    struct gw_call *call = &rpc->call;
    if (rpc->is_plain)
        return gw_emulator_act_for(rpc, go_on);
    bool is_same_turn = rpc->key_turn == gw_loop_turn(call->thread->loop);
    const struct auth_key *key = is_same_turn ? rpc->key : key_again(rpc);
    if (key == NULL)
        return false;
    if ((is_same_turn || call->ex == NULL) && rpc->is_admitted)
        return gw_caller_check_tenant(call, key, rpc->resource.project);
    struct ten_load charged = call->visit.charged;
    if (!gw_caller_act_for(call, key, rpc->resource.project))
        return false;
    call->visit.charged = charged; /* when its head arrived */
    rpc->is_admitted = false;
    return true;
}

static bool check_instance(struct gw_rpc *rpc)
{
    struct slice own = ten_tenant_instance(rpc->call.tenant);
    struct slice named = rpc->resource.instance;
    if (rpc->resource.is_exact) /* the tenant is that of this instance */
        return true;
    if (named.len == 0 || gw_resource_is_own_instance(named, own))
        return true;
    gw_call_refuse(&rpc->call, ERR_NOT_FOUND, "there is no such instance; the tenant's is \"%.*s\"",
                   SLICE_ARGS(own));
    return false;
}

/* Checks the table, and the view of it that the request names. */
static bool check_table(struct gw_rpc *rpc)
{
    struct gw_call *call = &rpc->call;
    struct errbuf eb;
    eb.text[0] = '\0';
    if (!rpc->method->in_table)
        return true;
    enum err e = gw_call_enter_table(call, rpc->resource.table, &eb);
    if (e == ERR_OK && rpc->resource.kind == GW_RESOURCE_VIEW)
        e = ten_view_find(call->scope.schema, rpc->resource.leaf, &rpc->view, &eb);
    return !refused(call, e, &eb);
}

static bool check_deadline(struct gw_rpc *rpc)
{
    if (rpc->deadline_ns == 0 || base_monotonic_ns() < rpc->deadline_ns)
        return true;
    gw_rpc_fail(&rpc->call, ERR_TIMEOUT, "the deadline passed before the request was complete");
    return false;
}

static void call_handler(struct gw_rpc *rpc)
{
    if (check_table(rpc))
        rpc->method->handler(&rpc->call);
}

static void turn_came(struct gw_call *call)
{
    if (gw_rpc_goes_on(call) && gw_call_may_begin(call))
        call_handler(gw_rpc(call));
}

/* Continues from the tenant to the handler. Messages of a stream are not kept: such a call does not
 * wait. */
static void go_on(struct gw_rpc *rpc)
{
    bool is_stream = rpc->method->client_streaming;
    if (!check_instance(rpc) || ((is_stream || !rpc->is_admitted) && !admit(rpc)))
        return;
    if (rpc->method->access == GW_ACCESS_READ) /* a read has no bytes that pay for it */
        gw_call_pay_handling(&rpc->call);
    if (is_stream || !gw_call_waits_turn(&rpc->call, turn_came))
        call_handler(rpc);
}

static void run_handler(struct gw_rpc *rpc)
{
    gw_rpc_is_addressed(rpc);
    if (!check_deadline(rpc))
        return;
    if (rpc->method->access == GW_ACCESS_NONE)
        rpc->method->handler(&rpc->call);
    else if (check_resource(rpc) && find_tenant(rpc))
        go_on(rpc);
}

/* --- from bytes to a message -------------------------------------------------------------------
 */

/* Fails the call; for ERR_NO_MEMORY the text says how much memory the caller may use. */
static void fail(struct gw_rpc *rpc, enum err e, const char *detail)
{
    struct errbuf eb;
    if (e == ERR_NO_MEMORY) {
        e = gw_call_no_memory(&rpc->call, &eb);
        detail = eb.text;
    }
    gw_rpc_fail(&rpc->call, e, detail);
}

/* Inflates and decodes the message; on the loop or the helper. */
static enum err unpack(struct gw_call *call, struct errbuf *eb)
{
    struct gw_rpc *rpc = gw_rpc(call);
    struct arena *arena = rpc->method->client_streaming ? &rpc->message : &call->arena;
    ProtobufCMessage *message = NULL;
    enum err e = gw_frame_unpack(&rpc->in, eb);
    if (e == ERR_OK)
        e = gw_proto_decode(rpc->type, gw_frame_message(&rpc->in), arena, &message, eb);
    rpc->request = message;
    return e;
}

/* Counts the part of inflating and decoding that the charge of the sent bytes does not cover,
 * whatever the result. */
static void count_inflated(struct gw_rpc *rpc)
{
    size_t paid = gw_frame_sent_bytes(&rpc->in) * INFLATED_PAID;
    size_t bytes = gw_frame_inflated_bytes(&rpc->in);
    if (bytes > GW_FRAME_SMALL_BYTES && bytes > paid)
        gw_call_handled(&rpc->call, bytes - paid);
}

/* Continues with an unpacked message. The message stays in place for as long as the call lives,
 * because the request points into it; in a stream of messages, until its handler returns. */
static void unpacked(struct gw_rpc *rpc, enum err result, const char *detail)
{
    count_inflated(rpc);
    if (!gw_rpc_goes_on(&rpc->call))
        return;
    if (result != ERR_OK)
        fail(rpc, result, detail);
    else
        run_handler(rpc);
    if (rpc->method->client_streaming) {
        gw_frame_next(&rpc->in);
        base_arena_fini(&rpc->message);
        base_arena_init(&rpc->message, GW_RPC_MESSAGE_MAX);
        base_arena_charge(&rpc->message, rpc->call.memory);
        rpc->has_message = false;
    }
}

static void resume(struct gw_rpc *rpc);

static void unpacked_on_helper(struct gw_call *call)
{
    struct gw_rpc *rpc = gw_rpc(call);
    rpc->is_unpacking = false;
    unpacked(rpc, call->task.result, call->task.detail.text);
    resume(rpc);
}

/* Returns whether the loop may unpack the message. A few compressed bytes may inflate to a thousand
 * times as many. */
static bool is_small(const struct gw_rpc *rpc)
{
    size_t max = gw_frame_is_compressed(&rpc->in) ? INFLATE_ON_LOOP_MAX : LIM_SLICE_BYTES;
    return rpc->in.bytes.len <= max;
}

static void on_message(struct gw_rpc *rpc)
{
    struct errbuf eb;
    eb.text[0] = '\0';
    rpc->is_begun = true;
    rpc->call.outlives_peer = rpc->method->outlives_peer;
    if (!check_deadline(rpc))
        return;
    if (is_small(rpc)) {
        enum err e = unpack(&rpc->call, &eb);
        unpacked(rpc, e, eb.text);
    } else {
        rpc->is_unpacking = true;
        gw_task_on_helper(&rpc->call, unpack, unpacked_on_helper);
    }
}

/* --- events ------------------------------------------------------------------------------------
 */

/* Returns whether reading must wait: a stream of requests is read only as fast as its responses are
 * sent. */
static bool must_wait(const struct gw_rpc *rpc)
{
    return rpc->is_unpacking ||
           (rpc->method->client_streaming && gw_exchange_is_full(rpc->call.ex));
}

/* Ends the input. A single message is handled only after its client has ended its side. If it were
 * answered earlier, a client that ends its side with a separate frame might reset the stream and
 * then send that frame (grpc-java does), which HTTP/2 treats as an error of the whole
 * connection. */
static void on_end(struct gw_rpc *rpc)
{
    if (rpc->method->client_streaming && gw_frame_is_between(&rpc->in))
        gw_rpc_end(&rpc->call);
    else if (!rpc->has_message)
        gw_rpc_fail(&rpc->call, ERR_INVALID, "the request ended before its message was complete");
    else if (!rpc->is_begun)
        on_message(rpc);
}

/* Handles messages, until one must be waited for; returns the bytes after them. */
static struct slice take(struct gw_rpc *rpc, struct slice bytes)
{
    struct errbuf eb;
    eb.text[0] = '\0';
    while (bytes.len > 0 && !gw_rpc_is_over(&rpc->call)) {
        size_t used = 0;
        bool is_complete = false;
        if (rpc->has_message && !rpc->method->client_streaming) {
            gw_rpc_fail(&rpc->call, ERR_INVALID, "this method takes one message");
            break;
        }
        if (must_wait(rpc))
            return bytes;
        enum err e = gw_frame_feed(&rpc->in, bytes, &used, &is_complete, &eb);
        if (e != ERR_OK) {
            fail(rpc, e, eb.text);
            break;
        }
        bytes = base_slice_skip(bytes, used);
        rpc->has_message = rpc->has_message || is_complete;
        if (is_complete && rpc->method->client_streaming)
            on_message(rpc);
    }
    return SLICE_EMPTY;
}

static void look_for_end(struct gw_rpc *rpc)
{
    bool is_read = rpc->body_ended && rpc->waiting.len == 0 && !rpc->is_unpacking;
    if (is_read && !gw_rpc_is_over(&rpc->call))
        on_end(rpc);
}

static void put_by(struct gw_rpc *rpc, struct slice bytes)
{
    if (bytes.len > 0 && base_buf_append(&rpc->waiting, bytes) != ERR_OK)
        gw_rpc_fail(&rpc->call, rpc->waiting.error, "too many requests wait");
}

/* Continues with the bytes in rpc->waiting. */
static void resume(struct gw_rpc *rpc)
{
    struct buf before = {.ptr = NULL};
    base_buf_take(&before, &rpc->waiting);
    struct slice rest = take(rpc, base_buf_slice(&before));
    put_by(rpc, rest);
    if (rpc->call.ex != NULL)
        gw_exchange_consumed(rpc->call.ex, before.len - rest.len);
    base_buf_fini(&before);
    look_for_end(rpc);
}

static void on_drained(struct gw_call *call)
{
    resume(gw_rpc(call));
}

static void on_body(struct gw_exchange *ex, void *user, struct slice bytes, bool end)
{
    struct gw_call *call = user;
    struct gw_rpc *rpc = gw_rpc(call);
    gw_call_hold(call);
    rpc->body_ended = end;
    struct slice rest = rpc->waiting.len > 0 ? bytes : take(rpc, bytes);
    put_by(rpc, rest);
    if (call->ex != NULL)
        gw_exchange_consumed(ex, bytes.len - rest.len);
    look_for_end(rpc);
    gw_call_drop(call);
}

static const struct gw_events EVENTS = {on_body, gw_call_drained, gw_call_gone};

static void begin(struct gw_rpc *rpc)
{
    struct gw_call *call = &rpc->call;
    gw_frame_reader_init(&rpc->in, gw_method_request_max(rpc->method), rpc->metadata.encoding);
    if (rpc->method->client_streaming) {
        base_buf_init(&rpc->waiting, GW_RPC_WAITING_BYTES);
        base_arena_init(&rpc->message, GW_RPC_MESSAGE_MAX);
        call->on_drained = on_drained;
    }
    gw_rpc_protocol.charge(call);
    if (rpc->deadline_ns != 0)
        gw_call_tick(call, gw_rpc_tick);
    if (!call->ex->has_body)
        on_end(rpc);
}

void gw_rpc_dispatch(struct gw_api_thread *thread, struct gw_exchange *ex)
{
    struct gw_call *call = gw_call_new(&gw_rpc_protocol, thread, ex);
    struct gw_rpc *rpc = gw_rpc(call);
    gw_exchange_listen(ex, &EVENTS, call);
    if (check_method(rpc) && check_caller(rpc))
        begin(rpc);
    gw_call_drop(call);
}
