/*
 * gateway/grpc/rpc.h - a gRPC call: its method, its one request message, its responses.
 *
 * Does:     holds the parsed parts of the call's head and body beside the call; answers with a
 *           message, a stream of messages, or a status.
 * Owns:     the message being received; a ref on the view that the request names.
 * May use:  base/, storage/, auth/scopes.h, gateway/, protobuf-c.
 * Knows no: effect of methods.
 * Threads:  as gateway/call.h.
 * Blocks:   no.
 * Fails by: gw_call_problem before the first message, gw_rpc_fail at any time.
 * Limits:   GW_RPC_MESSAGE_MAX per request message, less for most methods (gw_method_request_max).
 * Promises: 1. Answering a call whose peer is gone, or that has ended, does nothing.
 *           2. The request lives until the call is freed; of a method with many requests, until its
 *              handler returns.
 *           3. A call whose deadline has passed ends within a second or so, whatever it waits for.
 *           4. A complete request of a method with outlives_peer is finished even if its peer
 *              disconnects, unless it is refused, its deadline passes, its key is revoked, or its
 *              tenant may no longer be written.
 */
#ifndef GATEWAY_GRPC_RPC_H
#define GATEWAY_GRPC_RPC_H

#include <protobuf-c/protobuf-c.h>

#include "gateway/call.h"
#include "gateway/grpc/decode.h"
#include "gateway/grpc/frame.h"
#include "gateway/grpc/metadata.h"
#include "gateway/grpc/method.h"
#include "gateway/grpc/resource.h"
#include "gateway/grpc/status.h"
#include "storage/view.h"

/* A cell of LIM_CELL_BYTES_HARD, and its envelope. */
#define GW_RPC_MESSAGE_MAX (LIM_CELL_BYTES_HARD + 1 * MIB)
/* A response message is ended after the cell that exceeds this size; larger cells are divided. */
#define GW_RPC_REPLY_BYTES (1 * MIB)
/* Of a stream of requests: bytes that arrived and are not parsed yet; the window of a stream is
 * less. */
#define GW_RPC_WAITING_BYTES (512 * KIB)

struct gw_rpc {
    struct gw_call call; /* first */
    const struct gw_method *method;
    struct gw_metadata metadata;
    uint64_t deadline_ns;       /* monotonic; 0: none */
    const struct auth_key *key; /* the caller's, valid while the loop's turn number is key_turn */
    uint64_t key_turn;
    bool is_plain;         /* copied from its exchange, which may be gone */
    bool is_paid;          /* admitted by its head: its operations are charged */
    bool is_admitted;      /* admitted, and in flight since then */
    unsigned *unaddressed; /* the counter of its thread that counts it; NULL: not counted */
    struct gw_frame_reader in;
    bool has_message;
    bool is_begun;     /* handling of a message has started */
    bool is_unpacking; /* the helper has the message */
    bool body_ended;
    bool ended;
    struct buf waiting;   /* of a stream of requests: bytes that wait until the message in progress
                             is handled and its response sent */
    struct arena message; /* of a stream of requests: memory of the message in progress */
    const ProtobufCMessageDescriptor *type; /* of requests */
    const ProtobufCMessage *request;
    void (*reply_to_task)(struct gw_call *call);
    void (*then)(struct gw_rpc *rpc);  /* of gateway/grpc/emulator.c */
    struct gw_resource resource;       /* the resource that the request names; the project is
                                          call.tenant, at the emulator's listener together with the
                                          instance */
    char tenant_id[LIM_TENANT_ID + 1]; /* of the tenant that is being created there; "": none */
    struct sto_view *view;             /* the named view, one ref; NULL: a table is named */
    const struct gw_status_info *info; /* for the status of a failure; lives as long as the call */
};

extern const struct gw_protocol gw_rpc_protocol;

/* Removes the call from the count of unaddressed calls, if it is in it. */
void gw_rpc_is_addressed(struct gw_rpc *rpc);

static inline struct gw_rpc *gw_rpc(const struct gw_call *call)
{
    INVARIANT(call->protocol == &gw_rpc_protocol);
    return (struct gw_rpc *)(uintptr_t)call;
}

/* Returns whether nothing waits for a response: the peer is gone or the call has ended. */
static inline bool gw_rpc_is_over(const struct gw_call *call)
{
    return call->ex == NULL || gw_rpc(call)->ended;
}

/* Returns whether the call has not ended and may continue. */
static inline bool gw_rpc_goes_on(const struct gw_call *call)
{
    return !gw_rpc(call)->ended && gw_call_is_wanted(call);
}

/* Returns whether the request is so large that work per byte does not belong on the loop. */
static inline bool gw_rpc_is_large(const struct gw_call *call)
{
    return gw_frame_message(&gw_rpc(call)->in).len > LIM_SLICE_BYTES;
}

/* Sends the following messages uncompressed, even if the peer accepts gzip. Call before the first
 * message. Deflating the output of a scan would use a core for a few dozen megabytes per second. */
static inline void gw_rpc_send_plain(struct gw_call *call)
{
    gw_rpc(call)->metadata.reply = GW_ENCODING_IDENTITY;
}

/* For gw_call_tick: ends the call when its deadline has passed. */
void gw_rpc_tick(struct gw_call *call, uint64_t now_ns);

/* --- answers -----------------------------------------------------------------------------------
 */

/* Sends one message and OK. Packs the message before it returns. */
void gw_rpc_reply(struct gw_call *call, const ProtobufCMessage *reply);
/* Sends one more message of a stream. */
void gw_rpc_send(struct gw_call *call, const ProtobufCMessage *message);
/* Finishes the message in call->out that was started at `begin` (gw_frame_begin); deflates it, if
 * the peer accepts that. */
void gw_rpc_end_message(struct gw_call *call, size_t begin);
/* Sends the framed messages in call->out, as part of a stream. */
void gw_rpc_send_out(struct gw_call *call);
/* Ends a stream with OK; sends call->out before. */
void gw_rpc_end(struct gw_call *call);
/* Ends the call with a failure, whether its stream has started or not. */
void gw_rpc_fail(struct gw_call *call, enum err code, const char *detail);
/* retry_ns: the retry time that an operation returned; 0: none. */
void gw_rpc_fail_retry(struct gw_call *call, enum err code, const char *detail, uint64_t retry_ns);

/* Runs work on the control thread; work fills in the data that `reply` answers with. */
void gw_rpc_on_control(struct gw_call *call,
                       enum err (*work)(struct gw_call *call, struct errbuf *eb),
                       void (*reply)(struct gw_call *call));

#endif
