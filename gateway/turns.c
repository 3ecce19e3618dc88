/*
 * gateway/turns.c - a ring of lines, and a list of waiting connections in each.
 *
 * Lines are found by a hash of the user's address, as in stochastic fair queueing: no table has to
 * grow, and no line has to be released when a user is gone.
 *
 * 1. A line is in the ring exactly while something waits in it.
 */
#include "gateway/turns.h"

#include "base/banned.h"

#define LINE_BITS 8
_Static_assert(1 << LINE_BITS == GW_TURN_LINES, "the hash has as many values as there are lines");

struct gw_line *gw_turns_line(struct gw_turns *t, const void *user)
{
    uint64_t hash = (uint64_t)(uintptr_t)user * 0x9e3779b97f4a7c15u;
    return &t->lines[hash >> (64 - LINE_BITS)];
}

void gw_turns_enter(struct gw_turns *t, struct gw_line *line, struct gw_turn *turn)
{
    if (gw_turn_waits(turn))
        return;
    base_list_append(&line->turns, &turn->link);
    if (line->link.list == NULL)
        base_list_append(&t->ring, &line->link);
    t->waiting++;
}

void gw_turns_leave(struct gw_turns *t, struct gw_turn *turn)
{
    if (!gw_turn_waits(turn))
        return;
    struct gw_line *line = BASE_LIST_ITEM(turn->link.list, struct gw_line, turns);
    base_list_remove(&turn->link);
    if (line->turns.first == NULL)
        base_list_remove(&line->link);
    t->waiting--;
}

struct gw_turn *gw_turns_take(struct gw_turns *t)
{
    if (t->ring.first == NULL)
        return NULL;
    struct gw_line *line = BASE_LIST_ITEM(t->ring.first, struct gw_line, link);
    struct gw_turn *turn = BASE_LIST_ITEM(line->turns.first, struct gw_turn, link);
    gw_turns_leave(t, turn);
    if (line->turns.first != NULL) {
        base_list_remove(&line->link);
        base_list_append(&t->ring, &line->link);
    }
    return turn;
}
