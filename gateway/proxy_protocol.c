/*
 * Strict: version 1 has single spaces, canonical ports and at most 107 bytes; version 2 has command
 * LOCAL or PROXY over TCP, or over an unspecified protocol. TLVs of version 2 are skipped unread.
 * Addresses of UDP and of Unix sockets are refused: no connection here is one of those.
 */
#include "gateway/proxy_protocol.h"

#include <arpa/inet.h>

#include "base/text.h"

#include "base/banned.h"

#define V1_BYTES_MAX  107
#define V2_HEAD_BYTES 16
#define V2_LOCAL      0x20
#define V2_PROXY      0x21
#define V2_TCP4       0x11
#define V2_TCP6       0x21
#define V2_UNSPEC     0x00
#define V4_BITS       32U
#define V6_BITS       128U
#define MAPPED_BITS   96U /* of an IPv6 address before the IPv4 address in it */
#define NET_TEXT      64

static const char V1_START[] = "PROXY ";
static const char V2_START[] = "\r\n\r\n\0\r\nQUIT\n";

static void address_map(struct in6_addr *out, const void *v4)
{
    memset(out, 0, sizeof *out);
    out->s6_addr[10] = out->s6_addr[11] = 0xff;
    memcpy(out->s6_addr + 12, v4, 4);
}

static bool address_parse(struct slice text, bool is_v6, struct in6_addr *out)
{
    char copy[INET6_ADDRSTRLEN];
    struct in_addr v4;
    if (text.len >= sizeof copy || memchr(text.ptr, '\0', text.len) != NULL)
        return false;
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    if (is_v6)
        return inet_pton(AF_INET6, copy, out) == 1;
    if (inet_pton(AF_INET, copy, &v4) != 1)
        return false;
    address_map(out, &v4);
    return true;
}

static void peer_set(struct gw_proxy_header *h, const struct in6_addr *address, uint64_t port)
{
    h->peer.sin6_family = AF_INET6;
    h->peer.sin6_addr = *address;
    h->peer.sin6_port = htons((uint16_t)port);
}

/* --- version 1 ---------------------------------------------------------------------------------
 */

/* Returns the next field, up to a space or the end, and removes it from the line. */
static struct slice field_take(struct slice *line)
{
    const uint8_t *space = line->len == 0 ? NULL : memchr(line->ptr, ' ', line->len);
    size_t len = space == NULL ? line->len : (size_t)(space - line->ptr);
    struct slice field = base_slice(line->ptr, len);
    *line = base_slice_skip(*line, space == NULL ? len : len + 1);
    return field;
}

static bool port_parse(struct slice text, uint64_t *out)
{
    if (text.len == 0 || text.len > 5 || (text.len > 1 && text.ptr[0] == '0'))
        return false;
    return base_parse_u64(text, out) == ERR_OK && *out <= UINT16_MAX;
}

static enum gw_proxy_state v1_line(struct slice line, struct gw_proxy_header *h)
{
    struct in6_addr from, to;
    uint64_t from_port, to_port;
    struct slice protocol = field_take(&line);
    bool is_v6 = base_slice_is(protocol, "TCP6");
    if (base_slice_is(protocol, "UNKNOWN"))
        return GW_PROXY_DONE;
    if (!is_v6 && !base_slice_is(protocol, "TCP4"))
        return GW_PROXY_BAD;
    bool is_good = address_parse(field_take(&line), is_v6, &from) &&
                   address_parse(field_take(&line), is_v6, &to) &&
                   port_parse(field_take(&line), &from_port);
    if (!is_good || !port_parse(line, &to_port))
        return GW_PROXY_BAD;
    peer_set(h, &from, from_port);
    return GW_PROXY_DONE;
}

static enum gw_proxy_state v1_parse(struct slice in, struct gw_proxy_header *h)
{
    size_t start = sizeof V1_START - 1;
    size_t seen = in.len < V1_BYTES_MAX ? in.len : V1_BYTES_MAX;
    const uint8_t *end = memchr(in.ptr, '\n', seen);
    if (end == NULL)
        return seen < V1_BYTES_MAX ? GW_PROXY_MORE : GW_PROXY_BAD;
    size_t len = (size_t)(end - in.ptr);
    if (in.ptr[len - 1] != '\r' || len - 1 < start)
        return GW_PROXY_BAD;
    h->bytes = len + 1;
    return v1_line(base_slice(in.ptr + start, len - 1 - start), h);
}

/* --- version 2 ---------------------------------------------------------------------------------
 */

static enum gw_proxy_state v2_parse(struct slice in, struct gw_proxy_header *h)
{
    struct in6_addr from;
    if (in.len < V2_HEAD_BYTES)
        return GW_PROXY_MORE;
    uint8_t command = in.ptr[12];
    uint8_t family = in.ptr[13];
    size_t len = (size_t)in.ptr[14] << 8 | in.ptr[15];
    bool has_address = command == V2_PROXY && family != V2_UNSPEC;
    size_t least = !has_address ? 0 : family == V2_TCP4 ? 12 : 36;
    if ((command != V2_LOCAL && command != V2_PROXY) ||
        (has_address && family != V2_TCP4 && family != V2_TCP6) || len < least ||
        len > LIM_PROXY_HEADER_BYTES - V2_HEAD_BYTES)
        return GW_PROXY_BAD;
    if (in.len < V2_HEAD_BYTES + len)
        return GW_PROXY_MORE;
    h->bytes = V2_HEAD_BYTES + len;
    if (!has_address)
        return GW_PROXY_DONE;
    const uint8_t *body = in.ptr + V2_HEAD_BYTES;
    const uint8_t *port = body + (family == V2_TCP4 ? 8 : 32);
    if (family == V2_TCP4)
        address_map(&from, body);
    else
        memcpy(&from, body, sizeof from);
    peer_set(h, &from, (uint64_t)port[0] << 8 | port[1]);
    return GW_PROXY_DONE;
}

static bool begins_as(struct slice in, const char *start, size_t len)
{
    return memcmp(in.ptr, start, in.len < len ? in.len : len) == 0;
}

enum gw_proxy_state gw_proxy_parse(struct slice in, struct gw_proxy_header *out)
{
    struct gw_proxy_header h = {.bytes = 0};
    enum gw_proxy_state state = GW_PROXY_BAD;
    if (in.len == 0)
        return GW_PROXY_MORE;
    if (begins_as(in, V1_START, sizeof V1_START - 1))
        state = v1_parse(in, &h);
    else if (begins_as(in, V2_START, sizeof V2_START - 1))
        state = v2_parse(in, &h);
    if (state == GW_PROXY_DONE)
        *out = h;
    return state;
}

/* --- networks ----------------------------------------------------------------------------------
 */

static bool is_within(const struct in6_addr *address, const struct gw_proxy_net *net)
{
    for (unsigned bit = 0; bit < net->bits; bit++) {
        unsigned mask = 0x80U >> bit % 8;
        if (((address->s6_addr[bit / 8] ^ net->address.s6_addr[bit / 8]) & mask) != 0)
            return false;
    }
    return true;
}

static bool net_parse(struct slice text, struct gw_proxy_net *out)
{
    const uint8_t *slash = text.len == 0 ? NULL : memchr(text.ptr, '/', text.len);
    struct slice address = text;
    if (text.len == 0)
        return false;
    bool is_v6 = memchr(text.ptr, ':', text.len) != NULL;
    uint64_t bits = is_v6 ? V6_BITS : V4_BITS;
    if (slash != NULL) {
        uint64_t most = bits;
        address.len = (size_t)(slash - text.ptr);
        if (base_parse_u64(base_slice_skip(text, address.len + 1), &bits) != ERR_OK || bits > most)
            return false;
    }
    out->bits = (unsigned)bits + (is_v6 ? 0 : MAPPED_BITS);
    return address_parse(address, is_v6, &out->address);
}

enum err gw_proxy_nets_parse(const char *text, struct gw_proxy_nets *out, struct errbuf *eb)
{
    struct gw_proxy_nets nets = {.count = 0};
    for (const char *at = text; at != NULL; nets.count++) {
        const char *comma = strchr(at, ',');
        size_t len = comma == NULL ? strlen(at) : (size_t)(comma - at);
        if (nets.count == LIM_PROXY_NETS)
            return base_fail(eb, ERR_INVALID, "more than %d networks", LIM_PROXY_NETS);
        if (!net_parse(base_slice(at, len), &nets.nets[nets.count]))
            return base_fail(eb, ERR_INVALID,
                             "\"%.*s\" is no network, such as 10.0.0.0/8 or 2001:db8::/32",
                             len > NET_TEXT ? NET_TEXT : (int)len, at);
        at = comma == NULL ? NULL : comma + 1;
    }
    *out = nets;
    return ERR_OK;
}

bool gw_proxy_nets_have(const struct gw_proxy_nets *nets, const struct sockaddr *peer)
{
    struct in6_addr address;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    if (nets == NULL || nets->count == 0)
        return false;
    if (peer->sa_family == AF_INET) {
        memcpy(&v4, peer, sizeof v4);
        address_map(&address, &v4.sin_addr);
    } else if (peer->sa_family == AF_INET6) {
        memcpy(&v6, peer, sizeof v6);
        address = v6.sin6_addr;
    } else {
        return false;
    }
    for (size_t i = 0; i < nets->count; i++)
        if (is_within(&address, &nets->nets[i]))
            return true;
    return false;
}
