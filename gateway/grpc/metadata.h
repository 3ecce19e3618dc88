/*
 * gateway/grpc/metadata.h - parses the headers of a gRPC request.
 *
 * Does:     reads grpc-timeout, grpc-encoding and grpc-accept-encoding; checks content-type; finds
 *           the project in x-goog-request-params.
 * Owns:     nothing.
 * May use:  base/, gateway/exchange.h, gateway/grpc/frame.h.
 * Knows no: methods.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID, ERR_UNSUPPORTED (an encoding that we do not have), naming the header.
 * Limits:   8 digits of timeout, as the specification says.
 * Promises: 1. A header that must come once and comes twice is refused; grpc-accept-encoding is a
 *              list and may come often.
 */
#ifndef GATEWAY_GRPC_METADATA_H
#define GATEWAY_GRPC_METADATA_H

#include "gateway/exchange.h"
#include "gateway/grpc/frame.h"

struct gw_metadata {
    uint64_t timeout_ns;       /* 0: none; at most INT64_MAX; 1 for a timeout of 0 */
    enum gw_encoding encoding; /* of the request */
    enum gw_encoding reply;    /* gzip if the request is compressed so and the peer accepts it */
};

/* Returns whether content-type is application/grpc, with or without +proto. */
bool gw_metadata_is_grpc(const struct gw_exchange *ex);
enum err gw_metadata_read(const struct gw_exchange *ex, struct gw_metadata *out,
                          struct errbuf *eb) MUST_CHECK;
/* Returns the project that x-goog-request-params names, in the first of its parameters that names
 * one; clients copy names from the message to the head. Empty: none, in a form that no client
 * sends, or not a tenant's ID. The message decides. */
struct slice gw_metadata_project(const struct gw_exchange *ex);

#endif
