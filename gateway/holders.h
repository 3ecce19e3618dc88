/*
 * gateway/holders.h - counts of a loop's connections by holder, and each holder's least used one.
 *
 * Does:     counts connections by holder: an address until it has shown a good key, then the user
 *           that the connection acts for. Lists holders by the number of connections that they
 *           hold, and of each holder its connections of a kind, the first marked first.
 * Owns:     a table of GW_HOLDERS addresses and as many users; embedded in a loop.
 * May use:  base/, gateway/addresses.h.
 * Knows no: connections, tenants: a user is an opaque pointer.
 * Threads:  the loop's; gw_holders_top from any.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   two addresses, or two users, share a holder by chance, one in GW_HOLDERS.
 * Promises: 1. gw_holders_at(kind, gw_holders_top(kind)) is a holder whose level is the highest
 *              among those that have one of that kind: no other such holder holds twice as many. Of
 *              several, the one that has been in its level longest.
 *           2. Of one holder, the connection that was marked with that kind first is the first.
 *           3. No call allocates, or takes longer for more holders or connections.
 */
#ifndef GATEWAY_HOLDERS_H
#define GATEWAY_HOLDERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "gateway/addresses.h"

#define GW_HOLDERS       1024 /* a power of two */
#define GW_HOLDER_LEVELS 33

/* In its handshake; after the handshake without a request in flight, or with one. */
enum gw_held_kind { GW_HELD_GREETING, GW_HELD_IDLE, GW_HELD_BUSY, GW_HELD_KINDS };

/* Entry of a connection; zeroed at first: in its handshake, without a holder. */
struct gw_held {
    struct base_link link;    /* in its holder's list of its kind, while it has a holder */
    struct gw_holder *holder; /* NULL: none */
    enum gw_held_kind kind;
};

struct gw_holder {
    uint32_t count; /* connections of all kinds */
    struct base_list lists[GW_HELD_KINDS];
    unsigned level[GW_HELD_KINDS];         /* 0: the holder has none of that kind */
    struct base_link links[GW_HELD_KINDS]; /* in that level's list */
};

struct gw_holders {
    struct gw_holder addresses[GW_HOLDERS];
    struct gw_holder users[GW_HOLDERS];
    struct base_list levels[GW_HELD_KINDS][GW_HOLDER_LEVELS]; /* level 0 is not used */
    _Atomic uint32_t used[GW_HELD_KINDS]; /* bit n: levels[kind][n + 1] is in use */
};

struct gw_holder *gw_holders_of_address(struct gw_holders *t, struct gw_address_slots address);
struct gw_holder *gw_holders_of_user(struct gw_holders *t, const void *user);
bool gw_holder_is_user(const struct gw_holders *t, const struct gw_holder *holder);
/* Returns the number of bits of a count: of two holders of one level, neither holds twice as many
 * as the other. */
unsigned gw_holder_level(uint32_t count);

/* Moves the connection to that holder, from the one it had. It must be in no other list. */
void gw_held_enter(struct gw_holders *t, struct gw_held *held, struct gw_holder *holder);
/* Removes the connection from its holder; does nothing if it has none. */
void gw_held_leave(struct gw_holders *t, struct gw_held *held);
/* Makes the connection the last of its holder's connections of that kind. */
void gw_held_mark(struct gw_holders *t, struct gw_held *held, enum gw_held_kind kind);

/* Returns the highest level of a holder that has a connection of that kind; 0: there is none. */
unsigned gw_holders_top(const struct gw_holders *t, enum gw_held_kind kind);
/* Returns the first holder of that level that has a connection of that kind, and the next one.
 * NULL: there is none. */
struct gw_holder *gw_holders_at(const struct gw_holders *t, enum gw_held_kind kind, unsigned level);
struct gw_holder *gw_holder_next(const struct gw_holder *holder, enum gw_held_kind kind);

#endif
