/*
 * gateway/holders.c - a list of connections for each kind in each holder, and lists of holders by
 * level.
 *
 * A holder's level is the number of bits of its count. So a connection that opens or closes moves
 * its holder to a neighbouring level at most, and one instruction finds the highest level in use.
 *
 * 1. A holder is in the list of its level, for a kind, exactly while it has a connection of that
 *    kind.
 */
#include "gateway/holders.h"

#include "base/err.h"

#include "base/banned.h"

#define HOLDER_BITS 10
_Static_assert(1 << HOLDER_BITS == GW_HOLDERS, "the hash has as many values as there are holders");

struct gw_holder *gw_holders_of_address(struct gw_holders *t, struct gw_address_slots address)
{
    return &t->addresses[address.at[0] % GW_HOLDERS];
}

struct gw_holder *gw_holders_of_user(struct gw_holders *t, const void *user)
{
    uint64_t hash = (uint64_t)(uintptr_t)user * 0x9e3779b97f4a7c15u;
    return &t->users[hash >> (64 - HOLDER_BITS)];
}

bool gw_holder_is_user(const struct gw_holders *t, const struct gw_holder *holder)
{
    return holder >= t->users && holder < t->users + GW_HOLDERS;
}

unsigned gw_holder_level(uint32_t count)
{
    return count == 0 ? 0 : 32U - (unsigned)__builtin_clz(count);
}

/* --- levels ------------------------------------------------------------------------------------
 */

/* Marks a level as used. Only the loop writes. */
static void used_set(struct gw_holders *t, enum gw_held_kind kind, unsigned level)
{
    uint32_t bit = 1U << (level - 1);
    uint32_t used = atomic_load_explicit(&t->used[kind], memory_order_relaxed);
    used = t->levels[kind][level].first == NULL ? used & ~bit : used | bit;
    atomic_store_explicit(&t->used[kind], used, memory_order_relaxed);
}

static void level_leave(struct gw_holders *t, struct gw_holder *holder, enum gw_held_kind kind)
{
    unsigned level = holder->level[kind];
    if (level == 0)
        return;
    base_list_remove(&holder->links[kind]);
    holder->level[kind] = 0;
    used_set(t, kind, level);
}

static void level_enter(struct gw_holders *t, struct gw_holder *holder, enum gw_held_kind kind,
                        unsigned level)
{
    base_list_append(&t->levels[kind][level], &holder->links[kind]);
    holder->level[kind] = level;
    used_set(t, kind, level);
}

/* Moves a holder to its levels after its count or its lists changed. */
static void levels_update(struct gw_holders *t, struct gw_holder *holder)
{
    for (enum gw_held_kind kind = 0; kind < GW_HELD_KINDS; kind++) {
        unsigned level = holder->lists[kind].first == NULL ? 0 : gw_holder_level(holder->count);
        if (level == holder->level[kind])
            continue;
        level_leave(t, holder, kind);
        if (level > 0)
            level_enter(t, holder, kind, level);
    }
}

unsigned gw_holders_top(const struct gw_holders *t, enum gw_held_kind kind)
{
    uint32_t used = atomic_load_explicit(&t->used[kind], memory_order_relaxed);
    return used == 0 ? 0 : 32U - (unsigned)__builtin_clz(used);
}

static struct gw_holder *holder_of(struct base_link *link, enum gw_held_kind kind)
{
    return link == NULL ? NULL : BASE_LIST_ITEM(link - kind, struct gw_holder, links);
}

struct gw_holder *gw_holders_at(const struct gw_holders *t, enum gw_held_kind kind, unsigned level)
{
    return holder_of(t->levels[kind][level].first, kind);
}

struct gw_holder *gw_holder_next(const struct gw_holder *holder, enum gw_held_kind kind)
{
    return holder_of(holder->links[kind].next, kind);
}

/* --- connections -------------------------------------------------------------------------------
 */

void gw_held_leave(struct gw_holders *t, struct gw_held *held)
{
    struct gw_holder *holder = held->holder;
    if (holder == NULL)
        return;
    base_list_remove(&held->link);
    held->holder = NULL;
    holder->count--;
    levels_update(t, holder);
}

void gw_held_enter(struct gw_holders *t, struct gw_held *held, struct gw_holder *holder)
{
    if (held->holder == holder)
        return;
    gw_held_leave(t, held);
    INVARIANT(held->link.list == NULL);
    held->holder = holder;
    holder->count++;
    base_list_append(&holder->lists[held->kind], &held->link);
    levels_update(t, holder);
}

void gw_held_mark(struct gw_holders *t, struct gw_held *held, enum gw_held_kind kind)
{
    struct gw_holder *holder = held->holder;
    held->kind = kind;
    if (holder == NULL)
        return;
    base_list_remove(&held->link);
    /* A holder that has only this connection becomes the last of its level. */
    levels_update(t, holder);
    base_list_append(&holder->lists[kind], &held->link);
    levels_update(t, holder);
}
