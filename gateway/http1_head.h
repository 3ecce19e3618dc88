/*
 * gateway/http1_head.h - the head of an HTTP/1 request, taken apart before its body is there.
 *
 * Does:     give method, target, authority and header fields, as h2o would give them.
 * Owns:     nothing: everything points into the bytes it was given, names made lower case there.
 * May use:  base/, gateway/exchange.h, gateway/http1_gate.h.
 * Knows no: sockets, h2o.
 * Threads:  one at a time.
 * Blocks:   no.
 * Fails by: does not fail: the gate has let the head through.
 * Limits:   LIM_HEADERS.
 * Promises: 1. Fields that say how the body comes (Content-Length, Transfer-Encoding, Expect) and
 *              Host are not among the headers.
 */
#ifndef GATEWAY_HTTP1_HEAD_H
#define GATEWAY_HTTP1_HEAD_H

#include "gateway/exchange.h"

struct gw_http1_head {
    struct slice method;
    struct slice target;
    struct slice authority;
    int64_t content_length; /* -1: the body comes in chunks */
    size_t header_count;
};

/* bytes: a whole head that the gate has let through, with the empty line at its end. */
void gw_http1_head_split(uint8_t *bytes, size_t len, struct gw_http1_head *out,
                         struct gw_header headers[LIM_HEADERS]);

#endif
