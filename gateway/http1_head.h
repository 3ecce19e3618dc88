/*
 * gateway/http1_head.h - parses the head of an HTTP/1 request before its body has arrived.
 *
 * Does:     returns method, target, authority and header fields, as h2o would.
 * Owns:     nothing: all results point into the bytes passed in, where names are made lower case.
 * May use:  base/, gateway/exchange.h, gateway/http1_gate.h.
 * Knows no: sockets, h2o.
 * Threads:  one at a time.
 * Blocks:   no.
 * Fails by: does not fail: the gate has accepted the head.
 * Limits:   LIM_HEADERS.
 * Promises: 1. Host and the fields that describe the transfer of the body (Content-Length,
 *              Transfer-Encoding, Expect) are not among the headers.
 */
#ifndef GATEWAY_HTTP1_HEAD_H
#define GATEWAY_HTTP1_HEAD_H

#include "gateway/exchange.h"

struct gw_http1_head {
    struct slice method;
    struct slice target;
    struct slice authority;
    int64_t content_length; /* -1: the body arrives in chunks */
    size_t header_count;
};

/* Parses a head. bytes: a whole head that the gate has accepted, with the empty line at its end. */
void gw_http1_head_split(uint8_t *bytes, size_t len, struct gw_http1_head *out,
                         struct gw_header headers[LIM_HEADERS]);

#endif
