/*
 * migrations/operation_queue.c - serves operations in rounds of one operation for each tenant and
 * one for the operators.
 *
 * An operation that is appended belongs to the round after that of its tenant's last one in the
 * queue, and at least to the current round, which is that of the operation that started last. Lower
 * rounds run first; within a round the operators' operation, then tenants' in the order requested.
 * So however many operations a tenant requests, others run between them, and the operators' next
 * one waits for the running one and for the rest of a round.
 *
 * 1. The running operation is the first. A postponed one is appended, and skipped until its time.
 * 2. The current round never decreases.
 * 3. A round has at most one operation of operators, also when they request one after the other: so
 *    they cannot starve tenants.
 *
 * This is not storage/fair_queue.h: operations are looked up by ID, removed from the middle when
 * they are cancelled, and wait for a time when they are postponed; they are few.
 */
#include "base/clock.h"
#include "migrations/service_internal.h"

#include "base/banned.h"

#define DELAY_S     5 /* at first; then doubled each time */
#define DELAY_MAX_S 60
#define NS_PER_S    1000000000ULL

size_t mig_queue_find(const struct mig_queue *q, struct slice tenant, struct slice id)
{
    size_t at = 0;
    while (at < q->count && !(base_slice_is(id, q->items[at].id) &&
                              base_slice_is(tenant, q->items[at].scope.tenant)))
        at++;
    return at;
}

void mig_queue_remove(struct mig_queue *q, size_t at)
{
    q->count--;
    memmove(q->items + at, q->items + at + 1, (q->count - at) * sizeof q->items[0]);
}

void mig_queue_count_end(struct mig_service *s, const struct mig_operation *op)
{
    pthread_mutex_lock(&s->lock);
    s->queue.ended[op->kind][op->state]++;
    pthread_mutex_unlock(&s->lock);
}

void mig_queue_leave(struct mig_service *s)
{
    pthread_mutex_lock(&s->lock);
    if (s->queue.is_running)
        mig_queue_remove(&s->queue, 0);
    s->queue.is_running = false;
    s->queue.is_cancelled = false;
    pthread_mutex_unlock(&s->lock);
}

bool mig_queue_begin_switch(struct mig_service *s)
{
    pthread_mutex_lock(&s->lock);
    bool may = !s->queue.is_cancelled;
    if (may)
        s->queue.items[0].is_switching = true;
    pthread_mutex_unlock(&s->lock);
    return may;
}

/* --- order ------------------------------------------------------------------------------------ */

/* Returns the first round in which the tenant has no operation of its own. */
static uint64_t tenant_round(const struct mig_queue *q, struct slice tenant)
{
    uint64_t round = q->round;
    for (size_t i = 0; i < q->count; i++) {
        const struct mig_operation *op = &q->items[i];
        if (!op->by_operator && op->round >= round && base_slice_is(tenant, op->scope.tenant))
            round = op->round + 1;
    }
    return round;
}

void mig_queue_append(struct mig_queue *q, const struct mig_operation *op)
{
    INVARIANT(q->count < LIM_OPERATIONS_WAITING); /* only the control thread appends */
    uint64_t round = tenant_round(q, base_slice_text(op->scope.tenant));
    if (op->by_operator) {
        round = q->operators_round > q->round ? q->operators_round : q->round;
        q->operators_round = round + 1;
    }
    struct mig_operation *last = &q->items[q->count++];
    *last = *op;
    last->round = round;
}

static bool is_before(const struct mig_operation *a, const struct mig_operation *b)
{
    return a->round != b->round ? a->round < b->round : a->by_operator && !b->by_operator;
}

/* Called with the lock held. Returns the index of the next operation that is due, or count. */
static size_t find_ready(const struct mig_queue *q)
{
    size_t found = q->count;
    uint64_t now_ns = base_monotonic_ns();
    for (size_t i = 0; i < q->count; i++) {
        const struct mig_operation *op = &q->items[i];
        if (op->not_before_ns <= now_ns && (found == q->count || is_before(op, &q->items[found])))
            found = i;
    }
    return found;
}

bool mig_queue_is_ready(const struct mig_service *s)
{
    return find_ready(&s->queue) < s->queue.count;
}

bool mig_queue_take(struct mig_service *s, struct mig_operation *out)
{
    struct mig_queue *q = &s->queue;
    pthread_mutex_lock(&s->lock);
    size_t at = find_ready(q);
    bool is_there = at < q->count && !s->stopping;
    if (is_there) {
        *out = q->items[at];
        memmove(q->items + 1, q->items, at * sizeof q->items[0]);
        q->items[0] = *out;
        q->round = out->round > q->round ? out->round : q->round;
        q->is_running = true;
        q->running_since = base_monotonic_ns();
        atomic_store(&s->watch.done_bytes, 0);
        atomic_store(&s->watch.all_bytes, 0);
    }
    pthread_mutex_unlock(&s->lock);
    return is_there;
}

void mig_queue_put_off(struct mig_service *s, const struct mig_operation *op)
{
    struct mig_queue *q = &s->queue;
    pthread_mutex_lock(&s->lock);
    INVARIANT(q->is_running);
    mig_queue_remove(q, 0);
    mig_queue_append(q, op);
    struct mig_operation *last = &q->items[q->count - 1];
    last->delay_s = op->delay_s == 0                ? DELAY_S
                    : op->delay_s < DELAY_MAX_S / 2 ? 2 * op->delay_s
                                                    : DELAY_MAX_S;
    last->not_before_ns = base_monotonic_ns() + last->delay_s * NS_PER_S / mig_service_hurry();
    q->is_running = false;
    q->is_cancelled = false;
    pthread_mutex_unlock(&s->lock);
}
