/*
 * gateway/grpc/metadata.h - what a gRPC request says in its headers.
 *
 * Does:     read grpc-timeout, grpc-encoding and grpc-accept-encoding; check content-type; find the
 *           project in x-goog-request-params.
 * Owns:     nothing.
 * May use:  base/, gateway/exchange.h, gateway/grpc/frame.h.
 * Knows no: methods.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID, ERR_UNSUPPORTED (an encoding we do not have), naming the header.
 * Limits:   8 digits of timeout, as the specification says.
 * Promises: 1. A header that should come once and comes twice is refused; grpc-accept-encoding is
 *              a list and may come often.
 */
#ifndef GATEWAY_GRPC_METADATA_H
#define GATEWAY_GRPC_METADATA_H

#include "gateway/exchange.h"
#include "gateway/grpc/frame.h"

struct gw_metadata {
    uint64_t timeout_ns;       /* 0: none was given; at most INT64_MAX; 1 for those of 0 */
    enum gw_encoding encoding; /* of the request */
    enum gw_encoding reply;    /* gzip when the request was and the peer takes it */
};

/* True when content-type is application/grpc, with or without +proto. */
bool gw_metadata_is_grpc(const struct gw_exchange *ex);
enum err gw_metadata_read(const struct gw_exchange *ex, struct gw_metadata *out,
                          struct errbuf *eb) MUST_CHECK;
/* The project that the first parameter of x-goog-request-params with one names; clients copy names
 * from the message to the head. Empty: none, in a form that no client sends, or no tenant's ID. The
 * message decides. */
struct slice gw_metadata_project(const struct gw_exchange *ex);

#endif
