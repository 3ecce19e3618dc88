/*
 * gateway/grpc/operation.h - google.longrunning.Operation for work that is finished when it is
 * answered.
 *
 * Does:     wraps the response of a method, and its metadata, into an operation that has ended.
 * Owns:     nothing; messages are in the call's arena.
 * May use:  gateway/grpc/.
 * Knows no: subject of the operation.
 * Threads:  the loop of the call.
 * Blocks:   no.
 * Fails by: ending the call with a status.
 * Limits:   none.
 * Promises: 1. The work of every operation returned here has happened, durably.
 */
#ifndef GATEWAY_GRPC_OPERATION_H
#define GATEWAY_GRPC_OPERATION_H

#include <google/protobuf/any.pb-c.h>

#include "gateway/grpc/rpc.h"

/* Answers the call with an operation. kind and the names in the resource form the operation's ID,
 * by which clients can request it again. */
void gw_operation_reply(struct gw_call *call, const char *kind, const ProtobufCMessage *metadata,
                        const ProtobufCMessage *response);

/* Wraps a message with its type, in the arena; NULL: no memory. */
Google__Protobuf__Any *gw_operation_wrap(struct arena *arena, const ProtobufCMessage *message);

#endif
