/*
 * gateway/addresses.c - two slots for each address; its count is at most the smaller one.
 */
#include "gateway/addresses.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "base/hashmap.h"

#include "base/banned.h"

#define BURST_MS      10000
#define NETWORK_BYTES 8 /* of an IPv6 address */
#define MAPPED_AT     12

void gw_addresses_init(struct gw_addresses *a, uint64_t handshakes_per_s, uint64_t failures_per_s)
{
    memset(a, 0, sizeof *a);
    for (size_t row = 0; row < 2; row++) {
        for (size_t i = 0; i < GW_ADDRESS_SLOTS; i++) {
            ten_rate_set(&a->slots[row][i].handshakes, handshakes_per_s, BURST_MS);
            ten_rate_set(&a->slots[row][i].failures, failures_per_s, BURST_MS);
        }
    }
}

/* Returns the bytes that identify an address: all of an IPv4 address, also if it is written as
 * IPv6. */
static struct slice known_by(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const void *)address;
        return base_slice(&v4->sin_addr, sizeof v4->sin_addr);
    }
    if (address->sa_family != AF_INET6)
        return SLICE_EMPTY;
    const struct sockaddr_in6 *v6 = (const void *)address;
    if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
        return base_slice(v6->sin6_addr.s6_addr + MAPPED_AT, 4);
    return base_slice(v6->sin6_addr.s6_addr, NETWORK_BYTES);
}

struct gw_address_slots gw_address_slots_of(const struct sockaddr *address)
{
    uint64_t hash = base_hash(known_by(address));
    return (struct gw_address_slots){
        {hash % GW_ADDRESS_SLOTS, hash / GW_ADDRESS_SLOTS % GW_ADDRESS_SLOTS}};
}

bool gw_address_is_loopback(const struct sockaddr *address)
{
    struct slice known = known_by(address);
    if (known.len == 4)
        return known.ptr[0] == IN_LOOPBACKNET;
    return address->sa_family == AF_INET6 &&
           IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
}

bool gw_address_parse(const char *text, struct sockaddr_storage *out)
{
    struct sockaddr_in *v4 = (void *)out;
    struct sockaddr_in6 *v6 = (void *)out;
    if (inet_pton(AF_INET, text, &v4->sin_addr) == 1)
        out->ss_family = AF_INET;
    else if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1)
        out->ss_family = AF_INET6;
    else
        return false;
    return true;
}

void gw_address_enter(struct gw_addresses *a, struct gw_address_slots where)
{
    for (size_t i = 0; i < 2; i++)
        atomic_fetch_add_explicit(&a->slots[i][where.at[i]].connections, 1, memory_order_relaxed);
}

void gw_address_leave(struct gw_addresses *a, struct gw_address_slots where)
{
    for (size_t i = 0; i < 2; i++)
        atomic_fetch_sub_explicit(&a->slots[i][where.at[i]].connections, 1, memory_order_relaxed);
}

uint32_t gw_address_connections(const struct gw_addresses *a, struct gw_address_slots where)
{
    uint32_t n[2];
    for (size_t i = 0; i < 2; i++)
        n[i] = atomic_load_explicit(&a->slots[i][where.at[i]].connections, memory_order_relaxed);
    return n[0] < n[1] ? n[0] : n[1];
}

/* Charges both slots: if two addresses share one slot, their other slots tell them apart. */
bool gw_address_may_shake_hands(struct gw_addresses *a, struct gw_address_slots where,
                                uint64_t now_ns)
{
    uint64_t wait_ns;
    bool first = ten_rate_take(&a->slots[0][where.at[0]].handshakes, 1, now_ns, &wait_ns);
    bool second = ten_rate_take(&a->slots[1][where.at[1]].handshakes, 1, now_ns, &wait_ns);
    return first || second;
}

void gw_address_failed(struct gw_addresses *a, struct gw_address_slots where, uint64_t now_ns)
{
    for (size_t i = 0; i < 2; i++)
        (void)ten_rate_charge(&a->slots[i][where.at[i]].failures, 1, now_ns); /* debt is bounded */
}

bool gw_address_fails_often(const struct gw_addresses *a, struct gw_address_slots where,
                            uint64_t now_ns)
{
    return ten_rate_wait_ns(&a->slots[0][where.at[0]].failures, now_ns) > 0 &&
           ten_rate_wait_ns(&a->slots[1][where.at[1]].failures, now_ns) > 0;
}
