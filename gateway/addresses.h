/*
 * gateway/addresses.h - what one address has: connections, and handshakes and failures in a second.
 *
 * Does:     count, for each IPv4 address and each IPv6 network of 64 bits, in a table of fixed
 *           size.
 * Owns:     nothing; embedded in the loops.
 * May use:  base/, tenancy/rate.h.
 * Knows no: sockets' lives, keys, what is done about those that have too much.
 * Threads:  any, lock-free.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   GW_ADDRESS_SLOTS.
 * Promises: 1. An address never looks as if it had less than it has. It looks as if it had more
 *              when others share both of its slots: one in millions, by a key of this process.
 *           2. What was entered must leave once.
 */
#ifndef GATEWAY_ADDRESSES_H
#define GATEWAY_ADDRESSES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "tenancy/rate.h"

#define GW_ADDRESS_SLOTS 4096 /* a power of two */

/* Where an address is counted; the same for all of an IPv6 network of 64 bits. */
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

/* Of each address; 0: no limit. The bursts are of ten seconds. */
void gw_addresses_init(struct gw_addresses *a, uint64_t handshakes_per_s, uint64_t failures_per_s);
struct gw_address_slots gw_address_slots_of(const struct sockaddr *address);
bool gw_address_is_loopback(const struct sockaddr *address);
/* Of its numeric text, without port. False: it is none. */
bool gw_address_parse(const char *text, struct sockaddr_storage *out);

void gw_address_enter(struct gw_addresses *a, struct gw_address_slots where);
void gw_address_leave(struct gw_addresses *a, struct gw_address_slots where);
uint32_t gw_address_connections(const struct gw_addresses *a, struct gw_address_slots where);

/* Whether it may make one more handshake now; that is charged. */
bool gw_address_may_shake_hands(struct gw_addresses *a, struct gw_address_slots where,
                                uint64_t now_ns);
/* A key from there was wrong, or missing. */
void gw_address_failed(struct gw_addresses *a, struct gw_address_slots where, uint64_t now_ns);
/* Whether there were too many of those lately. */
bool gw_address_fails_often(const struct gw_addresses *a, struct gw_address_slots where,
                            uint64_t now_ns);

#endif
