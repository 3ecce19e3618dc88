/*
 * tenancy/purge_retry.c - purges that failed, tried again without anybody asking.
 *
 *   due_ns    what is known
 *   a time    it failed, and waits
 *   0         it was posted, and has not ended since
 *
 * What fails a step is the disk: full, or a file that cannot be written. A failure of the engine
 * itself ends the process, and the next start goes on. Each failure is two records of the audit
 * trail, so the waiting doubles.
 */
#include <stddef.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "tenancy/purge.h"

#include "base/banned.h"

#define NS_PER_S    1000000000ULL
#define FIRST_S     5
#define DOUBLED_MAX 7 /* about ten minutes */

struct ten_purge_retry {
    struct ten_tenant *tenant;
    uint64_t since_ns; /* when it was first asked for, in this process */
    uint64_t due_ns;
    unsigned failures;
    bool is_asked_for; /* again, while it was under way */
};

static struct ten_purge_retry *find(struct ten_registry *r, const struct ten_tenant *t)
{
    struct ten_purge_retries *all = &r->retries;
    for (size_t i = 0; i < all->count; i++)
        if (all->entries[i].tenant == t)
            return &all->entries[i];
    return NULL;
}

/* Entries came or went: since when the oldest of them is not done. */
static void oldest_set(struct ten_registry *r)
{
    struct ten_purge_queue *q = &r->purges;
    uint64_t oldest_ns = 0;
    for (size_t i = 0; i < r->retries.count; i++)
        if (oldest_ns == 0 || r->retries.entries[i].since_ns < oldest_ns)
            oldest_ns = r->retries.entries[i].since_ns;
    pthread_mutex_lock(&q->lock);
    q->oldest_ns = oldest_ns;
    pthread_mutex_unlock(&q->lock);
}

static struct ten_purge_retry *add(struct ten_registry *r, struct ten_tenant *t)
{
    struct ten_purge_retries *all = &r->retries;
    if (all->count == all->capacity) {
        size_t capacity = all->capacity == 0 ? 4 : all->capacity * 2;
        struct ten_purge_retry *larger = base_new_array(capacity, sizeof larger[0]);
        if (all->count > 0)
            memcpy(larger, all->entries, all->count * sizeof larger[0]);
        base_free(all->entries);
        all->entries = larger;
        all->capacity = capacity;
    }
    struct ten_purge_retry *added = &all->entries[all->count++];
    *added = (struct ten_purge_retry){.tenant = t, .since_ns = base_monotonic_ns()};
    oldest_set(r);
    return added;
}

static void run(struct ten_registry *r, struct ten_purge_retry *entry)
{
    entry->due_ns = 0;
    entry->is_asked_for = false;
    if (!atomic_load(&r->stopping)) /* else the next start goes on */
        ten_purge_run(r, entry->tenant);
}

void ten_purge_post(struct ten_registry *r, struct ten_tenant *t)
{
    ten_control_check(r);
    struct ten_purge_retry *entry = find(r, t);
    if (entry == NULL)
        run(r, add(r, t));
    else if (entry->due_ns != 0)
        run(r, entry);
    else
        entry->is_asked_for = true;
}

void ten_purge_failed(struct ten_registry *r, struct ten_tenant *t)
{
    ten_control_check(r);
    struct ten_purge_retry *entry = find(r, t);
    unsigned doubled = entry->failures < DOUBLED_MAX ? entry->failures : DOUBLED_MAX;
    entry->failures++;
    if (entry->is_asked_for)
        run(r, entry);
    else
        entry->due_ns = base_monotonic_ns() + ((uint64_t)FIRST_S << doubled) * NS_PER_S;
}

void ten_purge_ended(struct ten_registry *r, struct ten_tenant *t)
{
    ten_control_check(r);
    struct ten_purge_retry *entry = find(r, t);
    if (entry->is_asked_for && ten_tenant_state(t) == TEN_PURGING) {
        run(r, entry);
    } else {
        *entry = r->retries.entries[--r->retries.count];
        oldest_set(r);
    }
}

static void run_left(struct base_msg *msg)
{
    struct ten_purge *p = (struct ten_purge *)((char *)msg - offsetof(struct ten_purge, msg));
    ten_control_check(p->registry);
    if (p->is_hopeless)
        ten_purge_ended(p->registry, p->tenant);
    else
        ten_purge_failed(p->registry, p->tenant);
    base_free(p);
}

void ten_purge_leave(struct ten_purge *p, bool is_hopeless)
{
    p->is_hopeless = is_hopeless;
    p->msg.run = run_left;
    ten_control_post(p->registry, &p->msg);
}

void ten_purge_tick(struct ten_registry *r)
{
    ten_control_check(r);
    uint64_t now_ns = base_monotonic_ns();
    for (size_t i = 0; i < r->retries.count; i++) {
        struct ten_purge_retry *entry = &r->retries.entries[i];
        if (entry->due_ns != 0 && entry->due_ns <= now_ns)
            run(r, entry);
    }
}
