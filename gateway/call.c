/*
 * gateway/call.c - one request of any protocol, from its head until nothing refers to it.
 *
 * Invariants:
 *   1. A call is freed exactly when ex is NULL and holds is 0. Functions entered from outside (an
 *      event, a completion) hold it while they run, because sending may end the exchange.
 *   2. answered is set before the first byte of a response; nothing is sent when it is set or ex is
 *      NULL.
 *   3. The struct is recycled; everything it points to is released first.
 *   4. A timer holds a call that outlives its peer; another call's timer stops with its exchange.
 */
#include "gateway/call.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/clock.h"

#include "base/banned.h"

#define SPARES_MAX 256
#define YOUNG_NS   250000000           /* a read that takes longer is not small */
#define OUT_MAX    (2 * LIM_ROW_BYTES) /* a slice holds one cell more than LIM_SLICE_BYTES */
#define TIMER_NS   10000000            /* timers that are due within it become due together */

/* --- life --------------------------------------------------------------------------------------
 */

static void list_enter(struct gw_call *call, struct gw_api_thread *thread)
{
    call->next = thread->calls;
    if (call->next != NULL)
        call->next->link = &call->next;
    call->link = &thread->calls;
    thread->calls = call;
}

static void list_leave(struct gw_call *call)
{
    *call->link = call->next;
    if (call->next != NULL)
        call->next->link = call->link;
}

struct gw_call *gw_call_new(const struct gw_protocol *protocol, struct gw_api_thread *thread,
                            struct gw_exchange *ex)
{
    struct gw_spare_calls *spares = &thread->spares[protocol->id];
    struct gw_call *call = spares->first;
    if (call != NULL) {
        spares->first = call->next;
        spares->count--;
    } else {
        call = base_new(protocol->call_bytes);
    }
    thread->live++;
    list_enter(call, thread);
    call->magic = GW_CALL_MAGIC;
    call->holds = 1;
    call->ex = ex;
    call->protocol = protocol;
    call->thread = thread;
    call->api = thread->api;
    base_arena_init(&call->arena, protocol->arena_max);
    base_buf_init(&call->out, OUT_MAX);
    gw_call_charge(call, &thread->api->strangers);
    if (thread->access != NULL)
        gw_action_note_address(call);
    return call;
}

/* Resets everything that a recycled call could carry over from another tenant. */
static void reset(struct gw_call *call)
{
    call->protocol->reset(call);
    call->magic = 0;
    call->answered = false;
    call->has_scope = false;
    call->outlives_peer = false;
    call->who = (struct gw_principal){.kind = AUTH_TENANT};
    call->action.name = NULL;
    call->action.is_taken = false;
    call->action.is_elsewhere = false;
    call->action.has_address = false;
    call->action.address[0] = '\0';
    call->task.is_begun = false;
    atomic_store_explicit(&call->unwanted, false, memory_order_relaxed);
    call->tenant = NULL;
    call->handled_bytes = 0;
    call->seen = (struct gw_seen){.status = 0};
    call->priority = STO_PRIORITY_MEDIUM;
    call->state = NULL;
    call->cleanup = NULL;
    call->on_drained = NULL;
    call->on_gone = NULL;
    call->on_tick = NULL;
    call->on_time = NULL;
    call->refused_ns = 0;
}

static void free_call(struct gw_call *call)
{
    struct gw_api_thread *thread = call->thread;
    struct gw_spare_calls *spares = &thread->spares[call->protocol->id];
    if (call->cleanup != NULL)
        call->cleanup(call);
    gw_call_leave_table(call);
    gw_call_pay_handling(call);
    gw_observe(call);
    ten_visit_end(&call->visit);
    reset(call);
    base_buf_fini(&call->out);
    base_arena_fini(&call->arena);
    list_leave(call);
    INVARIANT(thread->live > 0);
    thread->live--;
    if (spares->count == SPARES_MAX) {
        base_free(call);
        return;
    }
    call->next = spares->first;
    spares->first = call;
    spares->count++;
}

void gw_call_hold(struct gw_call *call)
{
    INVARIANT(call->magic == GW_CALL_MAGIC);
    call->holds++;
}

void gw_call_drop(struct gw_call *call)
{
    INVARIANT(call->magic == GW_CALL_MAGIC && call->holds > 0);
    call->holds--;
    if (call->holds == 0 && call->ex == NULL)
        free_call(call);
}

void gw_call_free_spares(struct gw_api_thread *thread)
{
    for (size_t i = 0; i < GW_PROTOCOL_COUNT; i++) {
        struct gw_spare_calls *spares = &thread->spares[i];
        while (spares->first != NULL) {
            struct gw_call *call = spares->first;
            spares->first = call->next;
            base_free(call);
        }
        spares->count = 0;
    }
}

void *gw_call_new_state(struct gw_call *call, size_t bytes, void (*cleanup)(struct gw_call *))
{
    call->state = base_arena_zalloc_always(&call->arena, bytes);
    call->cleanup = cleanup;
    return call->state;
}

void gw_call_handled(struct gw_call *call, uint64_t bytes)
{
    call->handled_bytes += bytes;
}

void gw_call_pay_handling(struct gw_call *call)
{
    if (!call->visit.under_way || call->handled_bytes == 0)
        return;
    ten_charge_handling(&call->visit, call->handled_bytes);
    call->handled_bytes = 0;
}

/* --- memory ------------------------------------------------------------------------------------
 */

void gw_call_charge(struct gw_call *call, struct base_memory_share *share)
{
    call->memory = share;
    base_arena_charge(&call->arena, share);
    base_buf_charge(&call->out, share);
    if (call->ex != NULL)
        gw_exchange_charge(call->ex, share);
    call->protocol->charge(call);
}

enum err gw_call_no_memory(const struct gw_call *call, struct errbuf *eb)
{
    return base_fail(eb, ERR_NO_MEMORY,
                     "requests and answers of one caller may hold %zu bytes together at this "
                     "moment; send fewer or smaller ones at a time, or retry later",
                     base_memory_most(call->memory));
}

enum err gw_call_compile(const struct gw_call *call, const struct sto_filter *filter,
                         struct sto_filter_program **out, struct errbuf *eb)
{
    struct sto_filter_program *program = NULL;
    enum err e = sto_filter_compile(filter, call->scope.schema, &program, eb);
    if (e != ERR_OK)
        return e;
    if (!sto_filter_charge(program, call->memory)) {
        sto_filter_unref(program);
        return gw_call_no_memory(call, eb);
    }
    *out = program;
    return ERR_OK;
}

/* --- time --------------------------------------------------------------------------------------
 */

void gw_call_tick(struct gw_call *call, void (*on_tick)(struct gw_call *call, uint64_t now_ns))
{
    call->on_tick = on_tick;
}

static void time_came(struct gw_timer *timer)
{
    struct gw_call *call =
        (struct gw_call *)(void *)((char *)timer - offsetof(struct gw_call, timer));
    if (!call->outlives_peer) /* otherwise the timer held it */
        gw_call_hold(call);
    call->on_time(call);
    gw_call_drop(call);
}

void gw_call_later(struct gw_call *call, uint64_t ns, void (*go_on)(struct gw_call *call))
{
    INVARIANT(call->ex != NULL || call->outlives_peer);
    if (!gw_call_is_wanted(call))
        return;
    if (call->outlives_peer)
        gw_call_hold(call);
    call->on_time = go_on;
    call->timer.run = time_came;
    call->timer.due_ns = (base_monotonic_ns() + ns) / TIMER_NS * TIMER_NS + TIMER_NS;
    gw_timer_start(call->thread->loop, &call->timer);
}

void gw_call_give_up(struct gw_call *call)
{
    atomic_store_explicit(&call->unwanted, true, memory_order_relaxed);
    if (call->timer.link == NULL)
        return;
    gw_timer_stop(&call->timer);
    if (call->outlives_peer)
        gw_call_drop(call);
}

bool gw_call_waits_turn(struct gw_call *call, void (*go_on)(struct gw_call *call))
{
    uint64_t ns = call->visit.tenant == NULL ? 0 : ten_visit_turn_ns(&call->visit);
    if (ns > 0)
        gw_call_later(call, ns, go_on);
    return ns > 0;
}

/* Returns whether the tick has to check the call; a call that is answered at once ends by
 * itself. */
static bool lives_long(const struct gw_call *call, uint64_t now_ns)
{
    if (call->ex == NULL)
        return gw_call_is_wanted(call);
    if (call->ex->ended)
        return false;
    return call->answered ||
           (call->visit.tenant != NULL && now_ns - call->ex->received_ns > YOUNG_NS);
}

/* Returns whether key and tenant still allow the call to continue. Searches for the key only if a
 * key was revoked recently. */
static enum err standing_check(const struct gw_call *call, bool looks_at_keys, struct errbuf *eb)
{
    bool has_key = call->who.key_id[0] != '\0';
    if (has_key && looks_at_keys && auth_key_find(call->thread->verifier, call->who.key_id) == NULL)
        return base_fail(eb, ERR_UNAUTHENTICATED, "the API key was revoked");
    return call->visit.tenant == NULL
               ? ERR_OK
               : ten_access_check(call->visit.tenant, call->visit.access, eb);
}

bool gw_call_may_begin(struct gw_call *call)
{
    struct errbuf eb;
    eb.text[0] = '\0';
    enum err e = standing_check(call, true, &eb);
    if (e != ERR_OK)
        gw_call_problem(call, (int)e, eb.text);
    return e == ERR_OK;
}

/* Retries the operation. A response that has started is cut at the next tick if its key or tenant
 * has become invalid. */
static void try_again(struct gw_call *call)
{
    if (!call->ex->ended && (call->answered || gw_call_may_begin(call)))
        call->again(call);
}

bool gw_call_tries_again(struct gw_call *call, enum err result, uint64_t retry_ns,
                         void (*again)(struct gw_call *call))
{
    if (result != ERR_OVERLOADED || call->ex == NULL || call->ex->ended) {
        call->refused_ns = 0;
        return false;
    }
    uint64_t now_ns = base_monotonic_ns();
    if (call->refused_ns == 0)
        call->refused_ns = now_ns;
    if (!ten_visit_waits_again(&call->visit, now_ns - call->refused_ns, retry_ns))
        return false;
    call->again = again;
    gw_call_later(call, retry_ns, try_again);
    return true;
}

static void cut_if_fallen(struct gw_call *call, bool looks_at_keys)
{
    struct errbuf eb;
    eb.text[0] = '\0';
    enum err e = standing_check(call, looks_at_keys, &eb);
    if (e == ERR_OK)
        return;
    if (call->ex == NULL)
        gw_call_give_up(call);
    else if (call->answered || call->visit.access == TEN_READ)
        call->protocol->cut(call, e, eb.text);
    else /* a change in progress, whose outcome is unknown: its operation reports it */
        atomic_store_explicit(&call->unwanted, true, memory_order_relaxed);
}

/* A tick of one call may end other calls, never the call itself: it is held until the next call is
 * known. A key that is counted as revoked is already gone; calls that were young at one tick are no
 * longer young at the next. */
void gw_calls_tick(struct gw_api_thread *thread, uint64_t now_ns)
{
    uint64_t revoked = auth_revocations(thread->verifier);
    bool is_revoked = revoked != thread->revoked;
    bool looks_at_keys = is_revoked || thread->was_revoked;
    struct gw_call *next;
    thread->revoked = revoked;
    thread->was_revoked = is_revoked;
    for (struct gw_call *call = thread->calls; call != NULL; call = next) {
        gw_call_hold(call);
        if (lives_long(call, now_ns))
            cut_if_fallen(call, looks_at_keys);
        if (gw_call_is_wanted(call) && call->on_tick != NULL)
            call->on_tick(call, now_ns);
        next = call->next;
        gw_call_drop(call);
    }
}

void gw_calls_give_up(struct gw_api_thread *thread)
{
    struct gw_call *next;
    for (struct gw_call *call = thread->calls; call != NULL; call = next) {
        gw_call_hold(call);
        gw_call_give_up(call);
        next = call->next;
        gw_call_drop(call);
    }
}

/* --- events ------------------------------------------------------------------------------------
 */

void gw_call_drained(struct gw_exchange *ex, void *user)
{
    (void)ex; /* the call knows it */
    struct gw_call *call = user;
    gw_call_hold(call);
    if (call->on_drained != NULL)
        call->on_drained(call);
    gw_call_drop(call);
}

void gw_call_gone(struct gw_exchange *ex, void *user)
{
    struct gw_call *call = user;
    INVARIANT(call->magic == GW_CALL_MAGIC && call->ex == ex);
    gw_call_hold(call);
    gw_observe_gone(call, ex);
    call->ex = NULL;
    if (!call->outlives_peer || ex->ended)
        gw_call_give_up(call);
    if (call->on_gone != NULL)
        call->on_gone(call);
    gw_call_drop(call);
}

/* --- the table ---------------------------------------------------------------------------------
 */

enum err gw_call_enter_table(struct gw_call *call, struct slice table_id, struct errbuf *eb)
{
    gw_call_leave_table(call);
    enum err e = ten_scope_table(call->tenant, table_id, &call->scope, eb);
    call->has_scope = e == ERR_OK;
    return e;
}

void gw_call_leave_table(struct gw_call *call)
{
    if (call->has_scope)
        sto_table_scope_release(&call->scope);
    call->has_scope = false;
}

/* --- answers -----------------------------------------------------------------------------------
 */

bool gw_call_begin_answer(struct gw_call *call)
{
    if (call->ex == NULL || call->answered)
        return false;
    call->answered = true;
    return true;
}

void gw_call_problem_with(struct gw_call *call, int problem, const char *detail,
                          const struct gw_problem_extra *extra)
{
    if (!gw_call_begin_answer(call))
        return;
    gw_action_refused(call, problem);
    gw_observe_problem(call, problem, extra == NULL ? 0 : extra->retry_ns);
    call->protocol->refuse(call, problem, detail, extra);
}

void gw_call_problem(struct gw_call *call, int problem, const char *detail)
{
    gw_call_problem_with(call, problem, detail, NULL);
}

void gw_call_problem_retry(struct gw_call *call, int problem, const char *detail, uint64_t retry_ns)
{
    const struct gw_problem_extra extra = {.retry_ns = retry_ns};
    gw_call_problem_with(call, problem, detail, &extra);
}

void gw_call_refuse(struct gw_call *call, enum err code, const char *format, ...)
{
    char text[ERRBUF_BYTES];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args); /* a truncated text is good enough */
    va_end(args);
    gw_call_problem(call, (int)code, text);
}
