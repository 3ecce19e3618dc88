/*
 * gateway/grpc/field_mask.h - google.protobuf.FieldMask on messages of one type.
 *
 * Does:     set in one message what a mask names as it is in another.
 * Owns:     nothing; what is set points into the other message, what is made is in the arena.
 * May use:  base/, gateway/grpc/decode.h, protobuf-c.
 * Knows no: what the fields mean.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID naming the path, ERR_NO_MEMORY.
 * Limits:   none of its own: one step for each name in a path.
 * Promises: 1. Nothing but what the allowed paths name is changed; a list is replaced as a whole.
 */
#ifndef GATEWAY_GRPC_FIELD_MASK_H
#define GATEWAY_GRPC_FIELD_MASK_H

#include <google/protobuf/field_mask.pb-c.h>

#include "base/arena.h"
#include "base/err.h"

/* allowed: fields of the message that may be named, or what is in them; ends with NULL. A mask that
 * is not there or empty is ERR_INVALID. On failure *to is not to be used any more. */
enum err gw_mask_apply(const Google__Protobuf__FieldMask *mask, const char *const *allowed,
                       ProtobufCMessage *to, const ProtobufCMessage *from, struct arena *arena,
                       struct errbuf *eb) MUST_CHECK;
/* The same for a mask that names all that are allowed. */
enum err gw_mask_apply_all(const char *const *allowed, ProtobufCMessage *to,
                           const ProtobufCMessage *from, struct arena *arena,
                           struct errbuf *eb) MUST_CHECK;

#endif
