/*
 * gateway/room.c - selects the connection that gives way to a new one when all places are in use.
 *
 * A connection takes a place when its handshake is over. When all places are taken, another
 * connection ends. It is chosen from the holder with the most connections (gateway/holders.h):
 *   1. the one that has been idle longest, unless its last response is still on its way; if there
 *      is none,
 *   2. one with a request that has been in flight for LONG_NS; if there is none,
 *   3. the one that has been busy without a break for longest, at least LONG_NS; if there is none,
 *   4. an idle one whose last response has been on its way for LONG_NS; if there is none,
 * from the holder with the next most. The third rule is for clients that overlap short requests,
 * the fourth for clients that receive their responses slowly: without these rules, such clients
 * could hold all places for ever.
 *
 * An idle connection with input in its socket is spared once, because its next request may have
 * arrived. A new connection is refused if its address holds more connections than every holder that
 * could give way, and also if it holds as many and only requests of users could be aborted. "More"
 * and "most" compare levels, which are exact to a factor of two; among loops, one whose highest
 * level is one lower counts as equal. Operators' connections have no holder, and never give way.
 *
 * Handshakes take no place. When there are too many, one is aborted for the next one: the oldest of
 * the address that holds most.
 *
 * A connection that was asked to end is not in its holder's lists. It is asked politely if its peer
 * accepts output, and aborted otherwise, as is a connection that has not ended after GOODBYE_NS.
 */
#include <sys/ioctl.h>

#include "base/clock.h"
#include "gateway/loop_internal.h"

#include "base/banned.h"

#define LONG_NS    (2 * NS_PER_S)
#define GOODBYE_NS NS_PER_S
/* Maximum number of connections that are checked per level and rule. */
#define LOOKS_MAX 16
/* Additional connections in handshakes: 1/SPARE_PART of the maximum of connections, within these
 * bounds. */
#define SPARE_PART  32
#define SPARE_LEAST 4
#define SPARE_MOST  64

/* A search for a connection that could give way to a new one. */
struct search {
    struct gw_loop *loop;
    uint64_t now_ns;
    unsigned newcomer; /* level of the new connection's address, without that connection */
};

typedef bool may_end(const struct search *s, struct gw_conn *c);

static struct gw_conn *conn_of(struct base_link *link)
{
    return BASE_LIST_ITEM(link, struct gw_conn, held.link);
}

void gw_conn_mark(struct gw_conn *c, enum gw_held_kind kind)
{
    if (c->is_retired)
        return;
    c->mark_tick_ns = c->loop->next_tick_ns;
    c->is_spared = false;
    gw_held_mark(&c->loop->holders, &c->held, kind);
}

void gw_conn_retire(struct gw_conn *c)
{
    if (c->is_retired)
        return;
    gw_held_leave(&c->loop->holders, &c->held);
    c->is_retired = true;
    c->mark_tick_ns = c->loop->next_tick_ns;
    base_list_append(&c->loop->retired, &c->held.link);
    if (c->is_established)
        atomic_fetch_sub_explicit(&c->loop->all->established, 1, memory_order_relaxed);
}

void gw_conn_hold_for(struct gw_conn *c, const void *user)
{
    const struct gw_loop_options *o = &c->loop->all->options;
    struct gw_holders *holders = &c->loop->holders;
    bool was_of_operator = c->held.holder == NULL;
    if (c->is_retired || (user == o->strangers && !was_of_operator))
        return;
    if (user == o->operators)
        gw_held_leave(holders, &c->held);
    else if (user == o->strangers)
        gw_held_enter(holders, &c->held, gw_holders_of_address(holders, c->address));
    else
        gw_held_enter(holders, &c->held, gw_holders_of_user(holders, user));
}

size_t gw_loops_spare(size_t connections_max)
{
    size_t spare = connections_max / SPARE_PART;
    if (spare < SPARE_LEAST)
        return SPARE_LEAST;
    return spare < SPARE_MOST ? spare : SPARE_MOST;
}

static unsigned established_top(const struct gw_loop *loop)
{
    unsigned idle = gw_holders_top(&loop->holders, GW_HELD_IDLE);
    unsigned busy = gw_holders_top(&loop->holders, GW_HELD_BUSY);
    return idle > busy ? idle : busy;
}

static unsigned top_of(const struct gw_loop *loop, bool of_handshakes)
{
    return of_handshakes ? gw_holders_top(&loop->holders, GW_HELD_GREETING) : established_top(loop);
}

static bool has_about(const struct gw_loop *loop, bool for_handshake, unsigned top)
{
    unsigned level = top_of(loop, for_handshake);
    return level > 0 && level + 1 >= top;
}

struct gw_loop *gw_room_loop(struct gw_loop *self, bool for_handshake)
{
    struct gw_loops *all = self->all;
    struct gw_loop *best = self;
    unsigned top = 0;
    for (int i = 0; i < all->count; i++) {
        unsigned level = top_of(&all->loops[i], for_handshake);
        if (level > top) {
            top = level;
            best = &all->loops[i];
        }
    }
    return has_about(self, for_handshake, top) ? self : best;
}

/* --- connections that end ----------------------------------------------------------------------
 */

void gw_room_tick(struct gw_loop *loop, uint64_t now_ns)
{
    struct base_link *oldest;
    while ((oldest = loop->retired.first) != NULL &&
           now_ns >= conn_of(oldest)->mark_tick_ns + GOODBYE_NS) {
        base_list_remove(oldest);
        gw_conn_shut(conn_of(oldest));
    }
}

/* --- handshakes --------------------------------------------------------------------------------
 */

/* If there is no handshake on this loop, the excess handshakes are already ending. */
bool gw_room_greet(struct gw_loop *loop, const struct gw_accepted *coming)
{
    struct gw_holders *holders = &loop->holders;
    unsigned level = gw_holders_top(holders, GW_HELD_GREETING);
    if (level == 0)
        return true;
    if (level < gw_holder_level(gw_holders_of_address(holders, coming->address)->count))
        return false;
    struct gw_holder *holder = gw_holders_at(holders, GW_HELD_GREETING, level);
    struct gw_conn *c = conn_of(holder->lists[GW_HELD_GREETING].first);
    gw_edge_count(&loop->counts, GW_EDGE_ROOM);
    gw_conn_retire(c);
    c->is_too_slow = true;
    gw_conn_shut(c);
    return true;
}

/* --- places ------------------------------------------------------------------------------------
 */

/* Returns whether the connection has been idle, or busy, for LONG_NS; exact to a tick. */
static bool is_marked_long(const struct gw_conn *c)
{
    return c->loop->next_tick_ns >= c->mark_tick_ns + LONG_NS + c->loop->all->tick_ns;
}

/* Returns whether the connection has input. Input that is not read, because the peer accepts no
 * responses, does not count. */
static bool has_input(const struct gw_conn *c)
{
    int bytes = 0; /* stays 0 when the connection is broken */
    if (h2o_socket_is_reading(c->sock))
        (void)ioctl(h2o_socket_get_fd(c->sock), FIONREAD, &bytes);
    return bytes > 0 || c->sock->input->size > 0 || gw_turn_waits(&c->turn);
}

/* Returns whether the peer has accepted nothing for LONG_NS, although there is output for it. */
static bool is_deaf(const struct search *s, const struct gw_conn *c)
{
    return gw_conn_is_sending(c) && s->now_ns - c->progress_ns > LONG_NS;
}

static bool idle_may_end(const struct search *s, struct gw_conn *c)
{
    (void)s;
    if (gw_conn_is_sending(c))
        return false;
    if (c->is_spared || !has_input(c))
        return true;
    c->is_spared = true;
    return false;
}

static bool is_users(const struct search *s, const struct gw_conn *c)
{
    return gw_holder_is_user(&s->loop->holders, c->held.holder);
}

/* Returns whether the connection may end although a request or response of it is aborted. */
static bool long_may_end(const struct search *s, struct gw_conn *c)
{
    unsigned own = gw_holder_level(c->held.holder->count);
    return is_marked_long(c) && (own > s->newcomer || !is_users(s, c));
}

static bool waiting_may_end(const struct search *s, struct gw_conn *c)
{
    return long_may_end(s, c) && c->ops->oldest_ns(c) + LONG_NS < s->now_ns;
}

static bool sending_may_end(const struct search *s, struct gw_conn *c)
{
    return gw_conn_is_sending(c) && long_may_end(s, c);
}

static struct gw_conn *level_find(const struct search *s, unsigned level, enum gw_held_kind kind,
                                  may_end *may)
{
    int looks = 0;
    struct gw_holder *holder = gw_holders_at(&s->loop->holders, kind, level);
    for (; holder != NULL; holder = gw_holder_next(holder, kind)) {
        struct base_link *link = holder->lists[kind].first;
        for (; link != NULL; link = link->next) {
            if (looks++ == LOOKS_MAX)
                return NULL;
            if (may(s, conn_of(link)))
                return conn_of(link);
        }
    }
    return NULL;
}

static struct gw_conn *find(const struct search *s)
{
    static const struct {
        enum gw_held_kind kind;
        may_end *may;
    } ranks[] = {{GW_HELD_IDLE, idle_may_end},
                 {GW_HELD_BUSY, waiting_may_end},
                 {GW_HELD_BUSY, long_may_end},
                 {GW_HELD_IDLE, sending_may_end}};
    struct gw_conn *found = NULL;
    for (unsigned level = established_top(s->loop); level > 0 && level >= s->newcomer; level--)
        for (size_t i = 0; i < sizeof ranks / sizeof ranks[0]; i++)
            if ((found = level_find(s, level, ranks[i].kind, ranks[i].may)) != NULL)
                return found;
    return NULL;
}

static bool place_make(const struct search *s)
{
    struct gw_conn *c = find(s);
    if (c == NULL)
        return false;
    gw_edge_count(&s->loop->counts,
                  c->held.kind == GW_HELD_IDLE ? GW_EDGE_ROOM_IDLE : GW_EDGE_ROOM_BUSY);
    gw_conn_retire(c);
    if (is_deaf(s, c)) {
        gw_conn_shut(c);
        c->ops->kill(c);
    } else {
        c->ops->end(c);
    }
    return true;
}

bool gw_room_enter(struct gw_conn *c)
{
    struct gw_loop *loop = c->loop;
    struct gw_loops *all = loop->all;
    size_t before = atomic_fetch_add_explicit(&all->established, 1, memory_order_relaxed);
    c->is_established = true;
    if (before >= all->options.connections_max) {
        const struct search s = {.loop = loop,
                                 .now_ns = base_monotonic_ns(),
                                 .newcomer = gw_holder_level(c->held.holder->count - 1)};
        if (!place_make(&s)) {
            gw_edge_count(&loop->counts, GW_EDGE_CONNECTIONS);
            return false;
        }
    }
    gw_conn_mark(c, GW_HELD_IDLE);
    return true;
}
