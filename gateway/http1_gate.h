/*
 * gateway/http1_gate.h - the strict reader of HTTP/1 requests in front of h2o's lenient one.
 *
 * Does:     follows a byte stream request by request; reports how many bytes belong to the current
 *           request and whether they are exactly what RFC 9112 allows, or refuses with a status.
 * Owns:     nothing; a gate is a plain structure, init is enough.
 * May use:  base/.
 * Knows no: sockets, h2o, meaning of requests.
 * Threads:  one at a time.
 * Blocks:   no.
 * Fails by: GW_GATE_REFUSED with status 400, 413, 414 or 431 and a sentence; latched.
 * Limits:   LIM_HEAD_BYTES, LIM_HEADERS, LIM_TARGET_BYTES, LIM_BODY_BYTES.
 * Promises: 1. The verdict does not depend on how the bytes were cut into pieces.
 *           2. No byte after a refused one is ever accepted.
 *           3. A complete request has one unambiguous length: CRLF line ends, no folding, at most
 *              one Content-Length, never both it and Transfer-Encoding, chunk sizes of plain hex.
 *           4. HTTP/1.1 requests have exactly one Host and no upgrade.
 */
#ifndef GATEWAY_HTTP1_GATE_H
#define GATEWAY_HTTP1_GATE_H

#include "base/slice.h"

enum gw_gate_verdict {
    GW_GATE_MORE,     /* all bytes accepted, the request continues */
    GW_GATE_COMPLETE, /* the request ended at the last byte accepted */
    GW_GATE_REFUSED   /* see status and detail */
};

#define GW_GATE_VALUE_BYTES 24

struct gw_http1_gate {
    uint8_t state;
    uint8_t minor_version;
    uint8_t special;   /* the header that the current value belongs to */
    uint8_t name_len;  /* saturates: longer names are not special */
    uint8_t value_len; /* saturates likewise */
    uint8_t matched;   /* characters of "HTTP/1." seen, digits of a chunk size */
    uint8_t hosts;     /* counters stop at 2 */
    uint8_t authorizations;
    bool has_length;
    bool has_chunked;
    bool head_done;
    char name[GW_GATE_VALUE_BYTES];
    char value[GW_GATE_VALUE_BYTES];
    uint32_t header_count;
    uint32_t method_bytes;
    uint32_t target_bytes;
    uint32_t head_bytes;
    uint64_t body_left;  /* of the body or of the current chunk */
    uint64_t body_bytes; /* content seen or announced so far */
    int status;
    const char *detail;
};

/* Prepares the gate for the first byte of a request; also between requests. */
void gw_http1_gate_init(struct gw_http1_gate *g);

/* Reads the next bytes; *out_taken of them belong to the current request. The real parser may see
 * bytes once head_done is set. After COMPLETE call init before feeding the rest. */
enum gw_gate_verdict gw_http1_gate_feed(struct gw_http1_gate *g, struct slice in,
                                        size_t *out_taken);

/* Checks text by the rules for a Host header; HTTP/2 uses it for the authority: a name or an
 * address with an optional port and nothing else. */
bool gw_http1_is_authority(struct slice text);

#endif
