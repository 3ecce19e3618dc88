/*
 * An iteration of a loop: h2o's event loop once (sockets, then its timers), waiting connections for
 * at most LIM_TURN_US, work deferred by connections, an epoch mark, and twice a second the reaper.
 * h2o's own timers follow the wall clock, so nothing of ours uses them; our times come from the
 * monotonic clock between iterations.
 *
 *   STARTING -> RUNNING -> (stop message) draining -> ENDED
 *   STARTING -> FAILED when thread_begin refuses
 *
 * Invariants: 1. No socket callback is pending in h2o when it starts to wait.
 *             2. A loop ends only when it has no connection.
 *             3. Messages still in the mailbox of an ended loop are run by gw_loops_stop.
 */
#include "gateway/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/share.h"
#include "base/watchdog.h"
#include "base/worker.h"
#include "gateway/http1_seam.h"
#include "gateway/loop_internal.h"

#include "base/banned.h"

#define TICK_NS_MAX   (NS_PER_S / 2)
#define DRAIN_WAIT_MS 20

struct base_mailbox *gw_loop_mailbox(struct gw_loop *loop)
{
    return &loop->mailbox;
}

void *gw_loop_thread_state(struct gw_loop *loop)
{
    return loop->thread_state;
}

uint64_t gw_loop_turn(const struct gw_loop *loop)
{
    return loop->turn;
}

const struct gw_loops *gw_loop_all(const struct gw_loop *loop)
{
    return loop->all;
}

uint16_t gw_loops_port(const struct gw_loops *all, enum gw_endpoint_id endpoint)
{
    return all->ports[endpoint];
}

size_t gw_loops_connections(const struct gw_loops *all)
{
    return atomic_load_explicit(&all->connections, memory_order_relaxed);
}

bool gw_loop_stranger_fails(struct gw_loop *loop, const char *peer)
{
    struct gw_loops *all = loop->all;
    struct sockaddr_storage address = {0};
    if (all->options.per_address.failures_per_s == 0 || !gw_address_parse(peer, &address) ||
        !gw_address_is_limited(&all->options.per_address, (const struct sockaddr *)&address))
        return false;
    struct gw_address_slots where = gw_address_slots_of((const struct sockaddr *)&address);
    uint64_t now_ns = base_monotonic_ns();
    bool is_often = gw_address_fails_often(&all->addresses, where, now_ns);
    gw_address_failed(&all->addresses, where, now_ns);
    return is_often;
}

void gw_loops_edge_counts(const struct gw_loops *all, struct gw_edge_counts_now *out)
{
    *out = (struct gw_edge_counts_now){{0}, {{0}}};
    for (int i = 0; i < all->count; i++)
        gw_edge_counts_add(out, &all->loops[i].counts);
}

struct slice gw_loop_date(struct gw_loop *loop)
{
    time_t now = (time_t)(base_wall_us() / 1000000);
    if (now != loop->date_second) {
        struct tm utc;
        static const char days[7][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
        static const char months[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                           "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
        char text[64];
        gmtime_r(&now, &utc);
        (void)snprintf(text, sizeof text, "%s, %02d %s %04d %02d:%02d:%02d GMT", days[utc.tm_wday],
                       utc.tm_mday, months[utc.tm_mon], utc.tm_year + 1900, utc.tm_hour, utc.tm_min,
                       utc.tm_sec); /* 29 bytes until the year 10000 */
        memcpy(loop->date, text, sizeof loop->date - 1);
        loop->date_second = now;
    }
    return base_slice(loop->date, sizeof loop->date - 1);
}

/* --- the thread --------------------------------------------------------------------------------
 */

static void on_mail(h2o_socket_t *sock, const char *err)
{
    struct gw_loop *loop = sock->data;
    (void)err; /* DONT_READ sockets report none */
    base_mailbox_run(&loop->mailbox);
    gw_conn_run_deferred(loop);
}

static void on_stop(struct base_msg *msg)
{
    struct gw_loop *loop = ((struct gw_stop_msg *)msg)->loop;
    loop->is_draining = true;
    loop->h2o.shutdown_requested = 1;
    loop->drain_began_ns = base_monotonic_ns();
    gw_listeners_close(loop);
}

static void loop_init(struct gw_loop *loop)
{
    loop->evloop = h2o_evloop_create();
    h2o_context_init(&loop->h2o, loop->evloop, &loop->all->config);
    int fd = fcntl(loop->mailbox.wake_fd, F_DUPFD_CLOEXEC, 0);
    INVARIANT(fd >= 0);
    loop->mail_sock = h2o_evloop_socket_create(loop->evloop, fd, H2O_SOCKET_FLAG_DONT_READ);
    loop->mail_sock->data = loop;
    h2o_socket_read_start(loop->mail_sock, on_mail);
    loop->out = base_new(GW_OUT_BYTES);
    loop->turn = 1;
    loop->next_tick_ns = base_monotonic_ns() + loop->all->tick_ns;
}

static void loop_fini(struct gw_loop *loop)
{
    gw_listeners_close(loop);
    h2o_socket_close(loop->mail_sock);
    gw_conn_run_deferred(loop);
    h2o_context_dispose(&loop->h2o);
    h2o_evloop_destroy(loop->evloop);
    gw_http2_free_spares(loop);
    base_free(loop->out);
}

static int32_t wait_ms(const struct gw_loop *loop, uint64_t now_ns)
{
    if (loop->deferred != NULL || loop->turns.waiting > 0)
        return 0;
    if (loop->is_draining)
        return DRAIN_WAIT_MS;
    uint64_t until_ns = loop->next_tick_ns;
    if (loop->accept_again_ns != 0 && loop->accept_again_ns < until_ns)
        until_ns = loop->accept_again_ns;
    if (loop->timers.first != NULL && loop->timers.soonest_ns < until_ns)
        until_ns = loop->timers.soonest_ns;
    return until_ns <= now_ns ? 0 : (int32_t)((until_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS);
}

static void loop_run(struct gw_loop *loop)
{
    struct base_epoch *epoch = loop->all->options.epoch;
    uint64_t now_ns = base_monotonic_ns();
    for (;;) {
        gw_conn_end_writes(loop);
        gw_conn_run_events(loop, wait_ms(loop, now_ns));
        gw_conn_run_again(loop);
        gw_conn_run_deferred(loop);
        base_epoch_quiescent(epoch, loop->epoch_slot);
        base_watchdog_round(NULL);
        loop->turn++;
        now_ns = base_monotonic_ns();
        gw_timers_run(&loop->timers, now_ns);
        gw_conn_run_deferred(loop);
        if (loop->accept_again_ns != 0)
            gw_listeners_tick(loop, now_ns);
        if (now_ns >= loop->next_tick_ns) {
            loop->next_tick_ns = now_ns + loop->all->tick_ns;
            gw_reaper_tick(loop, now_ns);
            if (loop->all->options.on_tick != NULL)
                loop->all->options.on_tick(loop->thread_state, now_ns);
            gw_conn_run_deferred(loop);
        }
        if (loop->is_draining && gw_reaper_drain(loop, now_ns) && loop->deferred == NULL)
            return;
    }
}

static void tell_phase(struct gw_loop *loop, enum gw_loop_phase phase, enum err e)
{
    struct gw_loops *all = loop->all;
    pthread_mutex_lock(&all->mutex);
    all->phase[loop - all->loops] = phase;
    all->begin_error[loop - all->loops] = e;
    pthread_cond_broadcast(&all->changed);
    pthread_mutex_unlock(&all->mutex);
}

static void *loop_main(void *arg)
{
    struct gw_loop *loop = arg;
    const struct gw_loop_options *o = &loop->all->options;
    base_class_join(BASE_SERVE);
    base_watchdog_join("loop");
    loop->epoch_slot = base_epoch_join(o->epoch);
    loop_init(loop);
    enum err e =
        o->thread_begin == NULL ? ERR_OK : o->thread_begin(loop, o->user, &loop->thread_state);
    if (e == ERR_OK) {
        gw_listeners_open(loop);
        tell_phase(loop, GW_LOOP_RUNNING, ERR_OK);
        loop_run(loop);
        if (o->thread_end != NULL)
            o->thread_end(loop, loop->thread_state);
    } else {
        tell_phase(loop, GW_LOOP_FAILED, e);
    }
    loop_fini(loop);
    base_epoch_leave(o->epoch, loop->epoch_slot);
    return NULL;
}

/* --- start and stop ----------------------------------------------------------------------------
 */

static uint64_t timeout_ns(uint32_t given_ms, uint64_t limit_ms)
{
    return (given_ms != 0 ? given_ms : limit_ms) * NS_PER_MS;
}

static void configure(struct gw_loops *all)
{
    const struct gw_timeouts *given = &all->options.timeouts;
    all->head_ns = timeout_ns(given->head_ms, LIM_HEAD_TIMEOUT_MS);
    all->idle_ns = timeout_ns(given->idle_ms, LIM_IDLE_TIMEOUT_MS);
    all->stall_ns = timeout_ns(given->stall_ms, LIM_STALL_TIMEOUT_MS);
    all->drain_ns = timeout_ns(given->drain_ms, LIM_DRAIN_TIMEOUT_MS);
    all->tick_ns = all->head_ns < all->idle_ns ? all->head_ns : all->idle_ns;
    all->tick_ns = (all->tick_ns < all->stall_ns ? all->tick_ns : all->stall_ns) / 4;
    if (all->tick_ns > TICK_NS_MAX)
        all->tick_ns = TICK_NS_MAX;
    h2o_socket_buffer_mmap_settings.threshold = SIZE_MAX; /* no tenant data in /tmp */
    h2o_config_init(&all->config);
    gw_http1_configure(&all->config);
}

static void loops_free(struct gw_loops *all)
{
    for (int i = 0; i < all->count; i++) {
        struct gw_loop *loop = &all->loops[i];
        base_mailbox_run(&loop->mailbox); /* descriptors that were being handed over */
        base_mailbox_fini(&loop->mailbox);
        for (int k = 0; k < GW_ENDPOINT_COUNT; k++)
            if (loop->listeners[k].fd >= 0)
                (void)close(loop->listeners[k].fd); /* nothing was written to it */
    }
    h2o_config_dispose(&all->config);
    pthread_cond_destroy(&all->changed);
    pthread_mutex_destroy(&all->mutex);
    base_free(all->begin_error);
    base_free(all->phase);
    base_free(all->loops);
    base_free(all);
}

static enum err loops_new(const struct gw_loop_options *options, struct gw_loops **out,
                          struct errbuf *eb)
{
    struct gw_loops *all = base_new(sizeof *all);
    all->options = *options;
    if (options->connections_max == 0 || options->connections_max > LIM_CONNECTIONS)
        all->options.connections_max = LIM_CONNECTIONS;
    all->count = options->count > 0 ? options->count : base_machine_processors();
    all->loops = base_new_array((size_t)all->count, sizeof *all->loops);
    all->phase = base_new_array((size_t)all->count, sizeof *all->phase);
    all->begin_error = base_new_array((size_t)all->count, sizeof *all->begin_error);
    pthread_mutex_init(&all->mutex, NULL);
    pthread_cond_init(&all->changed, NULL);
    configure(all);
    gw_addresses_init(&all->addresses, options->per_address.handshakes_per_s,
                      options->per_address.failures_per_s);
    enum err e = ERR_OK;
    for (int i = 0; i < all->count; i++) {
        struct gw_loop *loop = &all->loops[i];
        loop->all = all;
        for (int k = 0; k < GW_ENDPOINT_COUNT; k++)
            loop->listeners[k] =
                (struct gw_listener){.loop = loop, .endpoint = (enum gw_endpoint_id)k, .fd = -1};
        loop->spare_fd = -1;
        loop->stop = (struct gw_stop_msg){.msg.run = on_stop, .loop = loop};
        if (e == ERR_OK)
            e = base_mailbox_init(&loop->mailbox);
    }
    if (e != ERR_OK) {
        loops_free(all);
        return base_fail(eb, e, "cannot make a mailbox: %m");
    }
    *out = all;
    return ERR_OK;
}

/* Stops and joins the first `started` threads; those that failed to start have ended already. */
static void stop_threads(struct gw_loops *all, int started)
{
    for (int i = 0; i < started; i++)
        if (all->phase[i] == GW_LOOP_RUNNING)
            base_mailbox_push(&all->loops[i].mailbox, &all->loops[i].stop.msg);
    for (int i = 0; i < started; i++)
        pthread_join(all->loops[i].thread, NULL);
}

static enum err start_threads(struct gw_loops *all, struct errbuf *eb)
{
    int started = 0;
    enum err e = ERR_OK;
    for (; started < all->count && e == ERR_OK; started++) {
        char name[16];
        (void)snprintf(name, sizeof name, "loop-%d", started % 1000); /* fits */
        e = base_thread_start(&all->loops[started].thread, name, loop_main, &all->loops[started]);
        if (e != ERR_OK) {
            (void)base_fail(eb, e, "cannot start a loop thread"); /* returns e */
            break;
        }
    }
    pthread_mutex_lock(&all->mutex);
    for (int i = 0; i < started; i++) {
        while (all->phase[i] == GW_LOOP_STARTING)
            pthread_cond_wait(&all->changed, &all->mutex);
        if (all->phase[i] == GW_LOOP_FAILED && e == ERR_OK)
            e = base_fail(eb, all->begin_error[i], "a loop thread could not begin");
    }
    pthread_mutex_unlock(&all->mutex);
    if (e != ERR_OK)
        stop_threads(all, started);
    return e;
}

enum err gw_loops_start(const struct gw_loop_options *options, struct gw_loops **out,
                        struct errbuf *eb)
{
    struct gw_loops *all = NULL;
    INVARIANT(options->tls != NULL && options->epoch != NULL && options->on_request != NULL);
    (void)signal(SIGPIPE, SIG_IGN); /* a peer that is gone is an error code, not a signal */
    enum err e = loops_new(options, &all, eb);
    if (e != ERR_OK)
        return e;
    e = gw_http1_seam_check(&all->config, eb);
    if (e == ERR_OK)
        e = gw_listeners_bind(all, eb);
    if (e == ERR_OK)
        e = start_threads(all, eb);
    if (e != ERR_OK) {
        loops_free(all);
        return e;
    }
    *out = all;
    return ERR_OK;
}

void gw_loops_stop(struct gw_loops *all)
{
    if (all == NULL)
        return;
    stop_threads(all, all->count);
    loops_free(all);
}
