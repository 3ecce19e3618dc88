/*
 * gateway/proxy_protocol.h - the header in which a proxy names the client of a connection.
 *
 * Does:     reads PROXY protocol version 1 (a line) and 2 (binary); reads and matches the networks
 *           of trusted proxies.
 * Owns:     nothing.
 * May use:  base/.
 * Knows no: sockets, TLS.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: GW_PROXY_BAD; ERR_INVALID for networks.
 * Limits:   LIM_PROXY_HEADER_BYTES, LIM_PROXY_NETS.
 * Promises: 1. A header is complete, bad, or a prefix of a good one, at every length of input.
 *           2. No byte after the header is read.
 */
#ifndef GATEWAY_PROXY_PROTOCOL_H
#define GATEWAY_PROXY_PROTOCOL_H

#include <netinet/in.h>

#include "base/err.h"
#include "base/limits.h"
#include "base/slice.h"

enum gw_proxy_state { GW_PROXY_MORE, GW_PROXY_DONE, GW_PROXY_BAD };

struct gw_proxy_header {
    size_t bytes;             /* of the header */
    struct sockaddr_in6 peer; /* IPv4 is mapped; family 0: the connection is the proxy's own */
};

/* Parses a header; out is written for GW_PROXY_DONE only. */
enum gw_proxy_state gw_proxy_parse(struct slice in, struct gw_proxy_header *out);

struct gw_proxy_net {
    struct in6_addr address; /* IPv4 is mapped */
    unsigned bits;
};

struct gw_proxy_nets {
    size_t count;
    struct gw_proxy_net nets[LIM_PROXY_NETS];
};

/* Parses a list like "10.0.0.0/8,2001:db8::/32,192.0.2.1". */
enum err gw_proxy_nets_parse(const char *text, struct gw_proxy_nets *out,
                             struct errbuf *eb) MUST_CHECK;
/* Returns whether peer is in one of the networks; nets may be NULL: none. */
bool gw_proxy_nets_have(const struct gw_proxy_nets *nets, const struct sockaddr *peer);

#endif
