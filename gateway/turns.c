/*
 * gateway/turns.c - a ring of lines, and a list of turns in each.
 *
 * Lines are found by a hash of the user's address, as in stochastic fair queueing: no table has to
 * grow, and no line has to be given back when a user is gone.
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

static void ring_append(struct gw_turns *t, struct gw_line *line)
{
    line->next = NULL;
    line->previous = t->last;
    if (t->last == NULL)
        t->first = line;
    else
        t->last->next = line;
    t->last = line;
}

static void ring_remove(struct gw_turns *t, struct gw_line *line)
{
    if (line->previous == NULL)
        t->first = line->next;
    else
        line->previous->next = line->next;
    if (line->next == NULL)
        t->last = line->previous;
    else
        line->next->previous = line->previous;
}

void gw_turns_enter(struct gw_turns *t, struct gw_line *line, struct gw_turn *turn)
{
    if (gw_turn_waits(turn))
        return;
    turn->line = line;
    turn->next = NULL;
    turn->previous = line->last;
    if (line->last == NULL) {
        line->first = turn;
        ring_append(t, line);
    } else {
        line->last->next = turn;
    }
    line->last = turn;
    t->waiting++;
}

void gw_turns_leave(struct gw_turns *t, struct gw_turn *turn)
{
    struct gw_line *line = turn->line;
    if (line == NULL)
        return;
    if (turn->previous == NULL)
        line->first = turn->next;
    else
        turn->previous->next = turn->next;
    if (turn->next == NULL)
        line->last = turn->previous;
    else
        turn->next->previous = turn->previous;
    if (line->first == NULL)
        ring_remove(t, line);
    turn->line = NULL;
    t->waiting--;
}

struct gw_turn *gw_turns_take(struct gw_turns *t)
{
    struct gw_line *line = t->first;
    if (line == NULL)
        return NULL;
    struct gw_turn *turn = line->first;
    gw_turns_leave(t, turn);
    if (line->first != NULL) {
        ring_remove(t, line);
        ring_append(t, line);
    }
    return turn;
}
