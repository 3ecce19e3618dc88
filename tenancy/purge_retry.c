/*
 * tenancy/purge_retry.c - retries failed purges automatically.
 *
 *   due_ns    state
 *   a time    the purge failed, and waits
 *   0         it was posted, and has not ended since
 *
 * A step fails because of the disk: it is full, a file cannot be written, or a table file cannot be
 * read or rewritten. A failure of the engine itself ends the process; the next start retries all
 * purges at once. Each failure writes two records to the audit trail, so the pauses double.
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
    uint64_t due_ns;
    unsigned failures;
    bool is_asked_for; /* requested again while it was in progress */
};

static struct ten_purge_retry *find(struct ten_registry *r, const struct ten_tenant *t)
{
    struct ten_purge_retries *all = &r->retries;
    for (size_t i = 0; i < all->count; i++)
        if (all->entries[i].tenant == t)
            return &all->entries[i];
    return NULL;
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
    *added = (struct ten_purge_retry){.tenant = t};
    return added;
}

static void run(struct ten_registry *r, struct ten_purge_retry *entry)
{
    entry->due_ns = 0;
    entry->is_asked_for = false;
    if (!atomic_load(&r->stopping)) /* otherwise the next start resumes it */
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

/* If the job's document could not be read or written, the job holds no error. */
static const char *error_of(const struct ten_purge *p)
{
    if (p->job.error[0] != '\0')
        return p->job.error;
    return p->detail.text[0] != '\0' ? p->detail.text : base_err_name(p->result);
}

static void purge_failed(const struct ten_purge *p)
{
    struct ten_registry *r = p->registry;
    struct ten_purge_retry *entry = find(r, p->tenant);
    unsigned doubled = entry->failures < DOUBLED_MAX ? entry->failures : DOUBLED_MAX;
    uint64_t pause_s = entry->is_asked_for ? 0 : (uint64_t)FIRST_S << doubled;
    const struct ten_purge_failure failure = {.tenant = p->tenant,
                                              .job = p->job.id,
                                              .error = error_of(p),
                                              .failures = ++entry->failures,
                                              .again_s = pause_s};
    if (r->purge_failed != NULL)
        r->purge_failed(&failure);
    if (pause_s == 0)
        run(r, entry);
    else
        entry->due_ns = base_monotonic_ns() + pause_s * NS_PER_S;
}

void ten_purge_ended(struct ten_registry *r, struct ten_tenant *t)
{
    ten_control_check(r);
    struct ten_purge_retry *entry = find(r, t);
    if (entry->is_asked_for && ten_tenant_state(t) == TEN_PURGING)
        run(r, entry);
    else
        *entry = r->retries.entries[--r->retries.count];
}

static void run_left(struct base_msg *msg)
{
    struct ten_purge *p = (struct ten_purge *)((char *)msg - offsetof(struct ten_purge, msg));
    ten_control_check(p->registry);
    if (p->is_hopeless)
        ten_purge_ended(p->registry, p->tenant);
    else
        purge_failed(p);
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
