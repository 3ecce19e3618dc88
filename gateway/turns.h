/*
 * gateway/turns.h - whose turn it is on a loop: lines of connections, served one after the other.
 *
 * Does:     keep connections that wait in the line of whoever they act for; return the next, from
 *           each line in turn; remember which line used much of the loop's time.
 * Owns:     a line for each of GW_TURN_LINES users; a connection that acts for nobody yet brings
 *           its own.
 * May use:  base/.
 * Knows no: connections, tenants: a user is an address that is compared with nothing.
 * Threads:  the loop's.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   two users have the same line by chance, one in GW_TURN_LINES.
 * Promises: 1. A line is served once before any other line that waits is served twice, however many
 *              connections wait in it.
 *           2. Within a line, the one that waits longest is next.
 *           3. No call allocates, or takes longer for more lines or connections.
 */
#ifndef GATEWAY_TURNS_H
#define GATEWAY_TURNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

#define GW_TURN_LINES 256

/* All of them zeroed at first. */
struct gw_turn {
    struct base_link link; /* in turns of the line in which it waits */
};

struct gw_line {
    struct base_list turns;
    struct base_link link;  /* of the lines in which something waits */
    uint64_t busy_until_ns; /* it had more of the loop's time than one of many should */
};

struct gw_turns {
    struct base_list ring; /* lines in which something waits */
    size_t waiting;        /* in all lines */
    struct gw_line lines[GW_TURN_LINES];
};

/* The line of a user. */
struct gw_line *gw_turns_line(struct gw_turns *t, const void *user);
/* At the end of the line; one that waits already stays where it is. */
void gw_turns_enter(struct gw_turns *t, struct gw_line *line, struct gw_turn *turn);
/* Nothing when it does not wait. */
void gw_turns_leave(struct gw_turns *t, struct gw_turn *turn);
/* The next, which does not wait any more; NULL: nothing waits. */
struct gw_turn *gw_turns_take(struct gw_turns *t);

static inline bool gw_turn_waits(const struct gw_turn *turn)
{
    return turn->link.list != NULL;
}

#endif
