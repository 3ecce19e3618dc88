/*
 * gateway/grpc/operation.h - google.longrunning.Operation of what is done when it is answered.
 *
 * Does:     wrap what a method answers, and its metadata, into an operation that has ended.
 * Owns:     nothing; messages live in the call's arena.
 * May use:  gateway/grpc/.
 * Knows no: what was done.
 * Threads:  the loop of the call.
 * Blocks:   no.
 * Fails by: ending the call with a status.
 * Limits:   none.
 * Promises: 1. Whatever is answered here has happened, durably.
 */
#ifndef GATEWAY_GRPC_OPERATION_H
#define GATEWAY_GRPC_OPERATION_H

#include <google/protobuf/any.pb-c.h>

#include "gateway/grpc/rpc.h"

/* kind and the names in the resource make the operation's ID, by which it can be asked for again.
 */
void gw_operation_reply(struct gw_call *call, const char *kind, const ProtobufCMessage *metadata,
                        const ProtobufCMessage *response);

/* A message with its type, in the arena; NULL: no memory. */
Google__Protobuf__Any *gw_operation_wrap(struct arena *arena, const ProtobufCMessage *message);

#endif
