/*
 * gateway/addresses.h - counts per address: connections, and handshakes and failures per second.
 *
 * Does:     counts connections, handshakes and failures of each IPv4 address and each IPv6 network
 *           of 64 bits, in a table of fixed size.
 * Owns:     nothing; embedded in the loops.
 * May use:  base/, tenancy/rate.h.
 * Knows no: the life of sockets, keys, measures against addresses that exceed their limits.
 * Threads:  any, lock-free.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   GW_ADDRESS_SLOTS.
 * Promises: 1. The counts of an address are never lower than the truth. They are higher when other
 *              addresses share both of its slots: one in millions, by a key of this process.
 *           2. Every gw_address_enter must be matched by one gw_address_leave.
 */
#ifndef GATEWAY_ADDRESSES_H
#define GATEWAY_ADDRESSES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "tenancy/rate.h"

#define GW_ADDRESS_SLOTS 4096 /* a power of two */

/* Slots that count an address; the same for all addresses of an IPv6 network of 64 bits. */
struct gw_address_slots {
    uint16_t at[2];
};

struct gw_address_slot {
    _Atomic uint32_t connections;
    struct ten_rate handshakes;
    struct ten_rate failures; /* of authentication */
};

struct gw_addresses {
    struct gw_address_slot slots[2][GW_ADDRESS_SLOTS];
};

/* Sets the limits of each address; 0: no limit. The bursts are ten seconds' worth. */
void gw_addresses_init(struct gw_addresses *a, uint64_t handshakes_per_s, uint64_t failures_per_s);
struct gw_address_slots gw_address_slots_of(const struct sockaddr *address);
bool gw_address_is_loopback(const struct sockaddr *address);
/* Parses a numeric address without port. False: text is not one. */
bool gw_address_parse(const char *text, struct sockaddr_storage *out);

void gw_address_enter(struct gw_addresses *a, struct gw_address_slots where);
void gw_address_leave(struct gw_addresses *a, struct gw_address_slots where);
uint32_t gw_address_connections(const struct gw_addresses *a, struct gw_address_slots where);

/* Returns whether the address may start one more handshake now, and charges the handshake. */
bool gw_address_may_shake_hands(struct gw_addresses *a, struct gw_address_slots where,
                                uint64_t now_ns);
/* Counts a request of the address whose key was wrong or missing. */
void gw_address_failed(struct gw_addresses *a, struct gw_address_slots where, uint64_t now_ns);
/* Returns whether the address had too many of these failures recently. */
bool gw_address_fails_often(const struct gw_addresses *a, struct gw_address_slots where,
                            uint64_t now_ns);

#endif
