/*
 * gateway/grpc/field_mask.h - google.protobuf.FieldMask on messages of one type.
 *
 * Does:     copies the fields that a mask names from one message to another.
 * Owns:     nothing; copied fields point into the other message, new structures are in the arena.
 * May use:  base/, gateway/grpc/decode.h, protobuf-c.
 * Knows no: meaning of the fields.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID naming the path, ERR_NO_MEMORY.
 * Limits:   none of its own: one step for each name in a path.
 * Promises: 1. Only fields that the allowed paths name are changed; a list is replaced as a whole.
 */
#ifndef GATEWAY_GRPC_FIELD_MASK_H
#define GATEWAY_GRPC_FIELD_MASK_H

#include <google/protobuf/field_mask.pb-c.h>

#include "base/arena.h"
#include "base/err.h"

/* Applies a mask. allowed: fields of the message that the mask may name, or fields inside them;
 * ends with NULL. An absent or empty mask is ERR_INVALID. After a failure *to must not be used. */
enum err gw_mask_apply(const Google__Protobuf__FieldMask *mask, const char *const *allowed,
                       ProtobufCMessage *to, const ProtobufCMessage *from, struct arena *arena,
                       struct errbuf *eb) MUST_CHECK;
/* Applies a mask that names all allowed fields. */
enum err gw_mask_apply_all(const char *const *allowed, ProtobufCMessage *to,
                           const ProtobufCMessage *from, struct arena *arena,
                           struct errbuf *eb) MUST_CHECK;

#endif
