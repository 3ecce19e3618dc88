/*
 * gateway/turns.h - round-robin scheduling on a loop: lines of connections, served one after the
 * other.
 *
 * Does:     keeps waiting connections in the line of the user that they act for; returns the next
 *           connection, from the lines in rotation; records which line used much of the loop's
 *           time.
 * Owns:     a line for each of GW_TURN_LINES users; a connection that acts for no user yet has a
 *           line of its own.
 * May use:  base/.
 * Knows no: connections, tenants: a user is an opaque pointer.
 * Threads:  the loop's.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   two users have the same line by chance, one in GW_TURN_LINES.
 * Promises: 1. A line is served once before any other waiting line is served twice, however many
 *              connections wait in it.
 *           2. Within a line, the connection that has waited longest is next.
 *           3. No call allocates, or takes longer for more lines or connections.
 */
#ifndef GATEWAY_TURNS_H
#define GATEWAY_TURNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

#define GW_TURN_LINES 256

/* A connection's entry in a line. This structure and the next two are zeroed at first. */
struct gw_turn {
    struct base_link link; /* in `turns` of the line in which it waits */
};

struct gw_line {
    struct base_list turns;
    struct base_link link;  /* in `ring`, while something waits in the line */
    uint64_t busy_until_ns; /* until then it counts as busy: it had more of the loop's time than one
                               of many should */
};

struct gw_turns {
    struct base_list ring; /* lines in which something waits */
    size_t waiting;        /* in all lines */
    struct gw_line lines[GW_TURN_LINES];
};

/* Returns the line of a user. */
struct gw_line *gw_turns_line(struct gw_turns *t, const void *user);
/* Appends a connection to the line; one that waits already keeps its place. */
void gw_turns_enter(struct gw_turns *t, struct gw_line *line, struct gw_turn *turn);
/* Removes a connection from its line; does nothing if it does not wait. */
void gw_turns_leave(struct gw_turns *t, struct gw_turn *turn);
/* Removes and returns the next connection; NULL: nothing waits. */
struct gw_turn *gw_turns_take(struct gw_turns *t);

static inline bool gw_turn_waits(const struct gw_turn *turn)
{
    return turn->link.list != NULL;
}

#endif
