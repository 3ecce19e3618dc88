/*
 * The reaper walks a loop's connections twice a second by the monotonic clock and lets each
 * protocol judge its own connections: idle, slow and stalled mean different things in each. While
 * draining it walks more often.
 *
 * Draining: protocols finish requests in flight (drain); after LIM_DRAIN_TIMEOUT_MS the sockets are
 * shut and the handlers detached (kill). After that only h2o's own closing remains.
 */
#include "gateway/loop_internal.h"

#include "base/banned.h"

void gw_reaper_tick(struct gw_loop *loop, uint64_t now_ns)
{
    struct gw_conn *next;
    for (struct gw_conn *c = loop->conns; c != NULL; c = next) {
        next = c->next;
        if (!c->is_closing)
            c->ops->tick(c, now_ns);
        else if (gw_conn_is_stalled(c, now_ns))
            gw_conn_shut(c);
    }
    gw_room_tick(loop, now_ns);
}

bool gw_reaper_drain(struct gw_loop *loop, uint64_t now_ns)
{
    bool time_is_up = now_ns - loop->drain_began_ns > loop->all->drain_ns;
    struct gw_conn *next;
    for (struct gw_conn *c = loop->conns; c != NULL; c = next) {
        next = c->next;
        if (time_is_up) {
            gw_conn_shut(c);
            if (!c->is_closing)
                c->ops->kill(c);
        } else if (!c->is_closing) {
            c->ops->drain(c, now_ns);
        }
    }
    return loop->conns == NULL;
}
