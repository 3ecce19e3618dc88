/*
 * gateway/grpc/rpc.h - a gRPC call: its method, its one request message, its answers.
 *
 * Does:     hold what was read of the call's head and body beside the call; answer with a message,
 *           a stream of messages, or a status.
 * Owns:     the message being received; a ref on the view that the request names.
 * May use:  base/, storage/, auth/scopes.h, gateway/, protobuf-c.
 * Knows no: what methods do.
 * Threads:  as gateway/call.h.
 * Blocks:   no.
 * Fails by: gw_call_problem before the first message, gw_rpc_fail at any time.
 * Limits:   GW_RPC_MESSAGE_MAX a request message, less of most methods (gw_method_request_max).
 * Promises: 1. Answering a call whose peer is gone, or that has ended, does nothing.
 *           2. The request lives until the call is freed; of a method with many, until its handler
 *              returns.
 *           3. A call whose deadline has passed ends within a second or so, whatever it waits for.
 *           4. A complete request of a method with outlives_peer is finished even if its peer
 *              disconnects, unless it is refused, its deadline passes, its key is revoked, or its
 *              tenant may not be written any more.
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

/* A cell of LIM_CELL_BYTES_HARD, and what is around it. */
#define GW_RPC_MESSAGE_MAX (LIM_CELL_BYTES_HARD + 1 * MIB)
/* A response message is ended behind the cell that passes it; a cell's own bytes are divided. */
#define GW_RPC_REPLY_BYTES (1 * MIB)
/* Of a stream of requests: what came and is not looked at yet; the window of a stream is less. */
#define GW_RPC_WAITING_BYTES (512 * KIB)

struct gw_rpc {
    struct gw_call call; /* first */
    const struct gw_method *method;
    struct gw_metadata metadata;
    uint64_t deadline_ns;       /* monotonic; 0: none */
    const struct auth_key *key; /* the caller's, good while the loop's turn is key_turn */
    uint64_t key_turn;
    bool is_plain;         /* as its exchange, which may be gone */
    bool is_paid;          /* admitted by its head: operations are charged */
    bool is_admitted;      /* and is under way since */
    unsigned *unaddressed; /* where it is counted, of its thread's; NULL: nowhere */
    struct gw_frame_reader in;
    bool has_message;
    bool is_begun;     /* with a message */
    bool is_unpacking; /* the helper has the message */
    bool body_ended;
    bool ended;
    struct buf waiting;   /* of a stream of requests: for the message under way, or for its answer
                           * to leave */
    struct arena message; /* of a stream of requests: the one that is looked at */
    const ProtobufCMessageDescriptor *type; /* of requests */
    const ProtobufCMessage *request;
    void (*reply_to_task)(struct gw_call *call);
    void (*then)(struct gw_rpc *rpc);  /* of gateway/grpc/emulator.c */
    struct gw_resource resource;       /* what the request names; the project is call.tenant, at the
                                        * emulator's listener with its instance */
    char tenant_id[LIM_TENANT_ID + 1]; /* of the one that is being made there; "": none is */
    struct sto_view *view;             /* the one that is named, one ref; NULL: it is a table */
    const struct gw_status_info *info; /* for the status of a failure; lives as long as the call */
};

extern const struct gw_protocol gw_rpc_protocol;

/* The call is not among the unaddressed any more, if it was. */
void gw_rpc_is_addressed(struct gw_rpc *rpc);

static inline struct gw_rpc *gw_rpc(const struct gw_call *call)
{
    INVARIANT(call->protocol == &gw_rpc_protocol);
    return (struct gw_rpc *)(uintptr_t)call;
}

/* Nobody waits for an answer any more. */
static inline bool gw_rpc_is_over(const struct gw_call *call)
{
    return call->ex == NULL || gw_rpc(call)->ended;
}

/* Returns whether the call has not ended and may go on. */
static inline bool gw_rpc_goes_on(const struct gw_call *call)
{
    return !gw_rpc(call)->ended && gw_call_is_wanted(call);
}

/* What takes time for each byte of the request is not for the loop. */
static inline bool gw_rpc_is_large(const struct gw_call *call)
{
    return gw_frame_message(&gw_rpc(call)->in).len > LIM_SLICE_BYTES;
}

/* Send what follows as it is, though the peer takes gzip. Before the first message. Deflating what
 * a scan gives would take a core for a few dozen megabytes a second. */
static inline void gw_rpc_send_plain(struct gw_call *call)
{
    gw_rpc(call)->metadata.reply = GW_ENCODING_IDENTITY;
}

/* For gw_call_tick: end the call when its deadline has passed. */
void gw_rpc_tick(struct gw_call *call, uint64_t now_ns);

/* --- answers -----------------------------------------------------------------------------------
 */

/* One message and OK. Packed before this returns. */
void gw_rpc_reply(struct gw_call *call, const ProtobufCMessage *reply);
/* One more message of a stream. */
void gw_rpc_send(struct gw_call *call, const ProtobufCMessage *message);
/* The message in call->out that was begun there (gw_frame_begin) is complete: deflated, if the peer
 * takes that. */
void gw_rpc_end_message(struct gw_call *call, size_t begin);
/* The framed messages in call->out, as part of a stream. */
void gw_rpc_send_out(struct gw_call *call);
/* End a stream with OK; what is in call->out goes out before. */
void gw_rpc_end(struct gw_call *call);
/* End the call with a failure, whether its stream has begun or not. */
void gw_rpc_fail(struct gw_call *call, enum err code, const char *detail);
/* retry_ns: what an operation said; 0: nothing. */
void gw_rpc_fail_retry(struct gw_call *call, enum err code, const char *detail, uint64_t retry_ns);

/* A task on the control thread whose work fills in what `reply` then answers with. */
void gw_rpc_on_control(struct gw_call *call,
                       enum err (*work)(struct gw_call *call, struct errbuf *eb),
                       void (*reply)(struct gw_call *call));

#endif
