/*
 * tenancy/purge_queue.c - runs waiting purges as a group, up to a bound.
 *
 *   fence         each; then one flush, each counted, one search for all, each key destroyed
 *   delete_files  each
 *   delete_range  each
 *   flush         one
 *   compact       one
 *   audit         each    } a purge of which data remains returns to compact, together with all
 *   files         one     } others of which data remains, TEN_PURGE_TRIES times
 *   certificate   each
 *
 * The cost of a flush, a compaction, a search of all logs and a deep search of all files depends on
 * the files, not on the number of tenants: a group of tenants that are erased together costs little
 * more than one. The first purge of a group waits for the last one. A group may contain purges that
 * resume at different steps: each step runs for those that are at it.
 *
 * 1. A tenant waits once: purge_retry.c ensures that.
 * 2. Each post wakes the worker; a wake-up that finds an empty queue does nothing.
 */
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/text.h"
#include "tenancy/purge.h"
#include "tenancy/scope.h"

#include "base/banned.h"

#define NS_PER_MS 1000000ULL
#define NS_PER_S  1000000000ULL
#define PAUSE_MS  50L /* doubled with each retry */

struct wake {
    struct base_msg msg; /* first */
    struct ten_registry *registry;
};

/* The purges of a group that are at one step. */
struct members {
    size_t count;
    struct ten_purge *of[TEN_PURGES_AT_ONCE];
};

struct group {
    struct ten_registry *registry;
    size_t count;
    struct ten_purge *of[TEN_PURGES_AT_ONCE];
    struct members members; /* of the step in progress */
    struct sto_tenant_scope scopes[TEN_PURGES_AT_ONCE];
};

/* --- waiting ---------------------------------------------------------------------------------- */

void ten_purge_queue_init(struct ten_purge_queue *q, struct sto_engine *engine)
{
    int error = pthread_mutex_init(&q->lock, NULL);
    INVARIANT(error == 0);
    sto_progress_watch(engine, &q->progress);
}

/* A purge posted after the worker's last run is resumed at the next start. */
void ten_purge_queue_fini(struct ten_purge_queue *q, struct sto_engine *engine)
{
    sto_progress_watch(engine, NULL);
    while (q->first != NULL) {
        struct ten_purge *p = q->first;
        q->first = p->next;
        base_free(p);
    }
    (void)pthread_mutex_destroy(&q->lock); /* no thread holds it */
}

static void append(struct ten_purge_queue *q, struct ten_purge *p)
{
    *(q->first == NULL ? &q->first : &q->last->next) = p;
    q->last = p;
    q->waiting++;
}

static void take_group(struct group *g)
{
    struct ten_purge_queue *q = &g->registry->purges;
    g->count = 0;
    pthread_mutex_lock(&q->lock);
    while (q->first != NULL && g->count < TEN_PURGES_AT_ONCE) {
        struct ten_purge *p = q->first;
        q->first = p->next;
        p->next = NULL;
        q->waiting--;
        g->of[g->count++] = p;
    }
    pthread_mutex_unlock(&q->lock);
}

/* --- a group ---------------------------------------------------------------------------------- */

static void group_prepare(struct group *g)
{
    size_t kept = 0;
    for (size_t i = 0; i < g->count; i++) {
        struct ten_purge *p = g->of[i];
        bool closes = atomic_load(&g->registry->stopping); /* the next start resumes it */
        p->result = closes ? ERR_UNAVAILABLE : ten_purge_prepare(p);
        if (p->result == ERR_OK)
            g->of[kept++] = p;
        else
            ten_purge_leave(p, closes || p->result == ERR_EXISTS); /* ERR_EXISTS: it is done */
    }
    g->count = kept;
}

static struct members *members_at(struct group *g, uint32_t step)
{
    struct members *m = &g->members;
    m->count = 0;
    for (size_t i = 0; i < g->count; i++)
        if (g->of[i]->result == ERR_OK && g->of[i]->step == step)
            m->of[m->count++] = g->of[i];
    return m;
}

static void run_each(struct group *g, uint32_t step, enum ten_purge_part part)
{
    const struct members *m = members_at(g, step);
    for (size_t i = 0; i < m->count; i++) {
        ten_purge_tell(g->registry, &m->of[i], 1, step);
        ten_purge_run_part(m->of[i], part);
    }
}

/* Runs the engine's part of a step, once for all. One tenant's failure must not fail the others:
 * then each is tried alone. */
static void engine_run(struct group *g, const struct members *m, enum sto_purge_step step)
{
    const struct sto_tenant_scope *scopes[TEN_PURGES_AT_ONCE];
    struct errbuf why = {{0}};
    enum err rc = ERR_TIMEOUT;
    for (size_t i = 0; i < m->count; i++) {
        g->scopes[i] = ten_scope_tenant(m->of[i]->tenant);
        scopes[i] = &g->scopes[i];
    }
    for (int i = 0; rc == ERR_TIMEOUT && i < TEN_PURGE_TRIES; i++)
        rc = atomic_load(&g->registry->stopping)
                 ? ERR_CANCELLED
                 : sto_purge_run_all(g->registry->engine, scopes, m->count, step, &why);
    for (size_t i = 0; i < m->count; i++) {
        m->of[i]->result = rc;
        m->of[i]->detail = why;
        if (rc != ERR_OK && rc != ERR_CANCELLED && rc != ERR_UNAVAILABLE && m->count > 1)
            m->of[i]->result =
                sto_purge_run(g->registry->engine, scopes[i], step, NULL, 0, &m->of[i]->detail);
    }
}

static void run_together(struct group *g, enum sto_purge_step step)
{
    const struct members *m = members_at(g, step);
    if (m->count == 0)
        return;
    ten_purge_tell(g->registry, m->of, m->count, step);
    engine_run(g, m, step);
    for (size_t i = 0; i < m->count; i++)
        if (m->of[i]->result == ERR_OK)
            ten_purge_run_part(m->of[i], TEN_PART_FINISH);
}

/* --- searches --------------------------------------------------------------------------------- */

/* Purges as targets of a search. */
struct searching {
    size_t count;
    struct ten_purge *purges[TEN_PURGES_AT_ONCE];
    struct sto_tenant_scope scopes[TEN_PURGES_AT_ONCE];
    struct sto_search_target targets[TEN_PURGES_AT_ONCE];
    struct sto_canary canaries[TEN_PURGES_AT_ONCE][STO_CANARIES];
};

static void add_target(struct searching *s, struct ten_purge *p)
{
    size_t at = s->count;
    p->result = ten_purge_canaries(p, s->canaries[at], &p->detail);
    if (p->result != ERR_OK)
        return;
    s->purges[at] = p;
    s->scopes[at] = ten_scope_tenant(p->tenant);
    s->targets[at] = (struct sto_search_target){
        .scope = &s->scopes[at], .canaries = s->canaries[at], .canary_count = p->canary_count};
    s->count++;
}

/* Searches once for `count` targets from `first` on. Results are in the targets, errors in the
 * purges. */
static enum err search_once(struct group *g, struct searching *s, size_t first, size_t count,
                            bool only_its_own)
{
    struct sto_search_spec spec = {.only_its_own = only_its_own, .stop = &g->registry->stopping};
    struct errbuf why = {{0}};
    for (size_t i = first; i < first + count; i++) /* deep if one target requests it */
        spec.deep = spec.deep || s->purges[i]->job.deep;
    enum err rc = sto_search_files(g->registry->engine, &s->targets[first], count, &spec, &why);
    for (size_t i = first; i < first + count; i++) {
        s->purges[i]->detail = why;
        s->purges[i]->result = rc;
    }
    return rc;
}

/* Searches for all targets together. A file that cannot be read must delay only purges that have
 * data in it, or want all files read: so after such an error each is searched for alone. */
static void search(struct group *g, struct searching *s, uint32_t step, bool only_its_own)
{
    if (s->count == 0)
        return;
    ten_purge_tell(g->registry, s->purges, s->count, step);
    enum err rc = search_once(g, s, 0, s->count, only_its_own);
    if (rc != ERR_CORRUPT && rc != ERR_IO)
        return;
    for (size_t i = 0; s->count > 1 && i < s->count; i++)
        (void)search_once(g, s, i, 1, only_its_own); /* the result is in the purge */
}

/* Searches only table files that may hold the tenants' data, where keys can be distinguished from
 * values. */
static void search_before(struct group *g)
{
    const struct members *m = members_at(g, STO_PURGE_FENCE);
    struct searching *s = base_new(sizeof *s);
    s->count = 0;
    for (size_t i = 0; i < m->count; i++)
        if (ten_purge_is_first(m->of[i]))
            add_target(s, m->of[i]);
    search(g, s, STO_PURGE_FENCE, true);
    for (size_t i = 0; i < s->count; i++)
        if (s->purges[i]->result == ERR_OK)
            s->purges[i]->job.search_before = s->targets[i].found;
    base_free(s);
}

static void search_after(struct group *g)
{
    const struct members *m = members_at(g, TEN_STEP_FILES);
    struct searching *s = base_new(sizeof *s);
    s->count = 0;
    for (size_t i = 0; i < m->count; i++)
        add_target(s, m->of[i]);
    search(g, s, TEN_STEP_FILES, false);
    for (size_t i = 0; i < s->count; i++)
        if (s->purges[i]->result == ERR_OK)
            ten_purge_take_search(s->purges[i], &s->targets[i].found);
    base_free(s);
}

/* --- steps ------------------------------------------------------------------------------------ */

/* Flushes first, because only data in files is counted. */
static void run_fence(struct group *g)
{
    run_each(g, STO_PURGE_FENCE, TEN_PART_FENCE);
    struct members *m = members_at(g, STO_PURGE_FENCE);
    size_t first = 0;
    for (size_t i = 0; i < m->count; i++)
        if (ten_purge_is_first(m->of[i]))
            m->of[first++] = m->of[i];
    m->count = first;
    if (first > 0)
        engine_run(g, m, STO_PURGE_FLUSH);
    for (size_t i = 0; i < first; i++)
        if (m->of[i]->result == ERR_OK)
            ten_purge_run_part(m->of[i], TEN_PART_COUNT);
    search_before(g);
    m = members_at(g, STO_PURGE_FENCE);
    for (size_t i = 0; i < m->count; i++) /* the search's progress stays reported */
        ten_purge_run_part(m->of[i], TEN_PART_KEYS);
}

/* Sends purges of which data remains back to compact. Returns true if there are any. */
static bool step_back(struct group *g)
{
    bool is_any = false;
    for (size_t i = 0; i < g->count; i++) {
        struct ten_purge *p = g->of[i];
        if (p->result != ERR_TIMEOUT || (p->step != TEN_STEP_AUDIT && p->step != TEN_STEP_FILES))
            continue;
        p->step = STO_PURGE_COMPACT;
        p->result = ERR_OK;
        is_any = true;
    }
    return is_any;
}

/* The search may have found a file that RocksDB is about to unlink: after a pause it is gone. */
static void pause_before(int tries)
{
    const struct timespec pause = {.tv_sec = 0, .tv_nsec = (PAUSE_MS << tries) * 1000000L};
    (void)nanosleep(&pause, NULL); /* a signal only shortens the pause */
}

static void run_removal(struct group *g)
{
    for (int tries = 0; tries < TEN_PURGE_TRIES && (tries == 0 || step_back(g)); tries++) {
        if (tries > 0)
            pause_before(tries);
        run_together(g, STO_PURGE_COMPACT);
        run_each(g, TEN_STEP_AUDIT, TEN_PART_AUDIT);
        search_after(g);
    }
}

/* Purges wait in the order of their requests, so the first has waited longest. */
static void group_begins(const struct group *g)
{
    struct ten_purge_queue *q = &g->registry->purges;
    uint64_t since_ns = g->of[0]->asked_ns;
    pthread_mutex_lock(&q->lock);
    q->began_ns = base_monotonic_ns();
    pthread_mutex_unlock(&q->lock);
    sto_erasing_since(g->registry->engine, since_ns);
}

static void group_ends(const struct group *g)
{
    struct ten_purge_queue *q = &g->registry->purges;
    pthread_mutex_lock(&q->lock);
    q->group_ns = base_monotonic_ns() - q->began_ns;
    q->began_ns = 0;
    pthread_mutex_unlock(&q->lock);
    sto_erasing_since(g->registry->engine, 0);
}

static void run_group(struct group *g)
{
    group_begins(g);
    group_prepare(g);
    run_fence(g);
    run_each(g, STO_PURGE_DELETE_FILES, TEN_PART_DELETE_FILES);
    run_each(g, STO_PURGE_DELETE_RANGE, TEN_PART_DELETE_RANGE);
    run_together(g, STO_PURGE_FLUSH);
    run_removal(g);
    for (size_t i = 0; i < g->count; i++)
        ten_purge_end(g->of[i]);
    ten_purge_tell(g->registry, NULL, 0, 0);
    group_ends(g);
}

static void run_waiting(struct base_msg *msg)
{
    struct wake *wake = (struct wake *)(void *)msg;
    struct group *g = base_new(sizeof *g);
    g->registry = wake->registry;
    base_free(wake);
    take_group(g);
    if (g->count > 0)
        run_group(g);
    base_free(g);
}

/* --- posting ---------------------------------------------------------------------------------- */

void ten_purge_run(struct ten_registry *r, struct ten_tenant *t)
{
    struct ten_purge_queue *q = &r->purges;
    pthread_mutex_lock(&q->lock);
    append(q, ten_purge_new(r, t));
    pthread_mutex_unlock(&q->lock);
    struct wake *wake = base_new(sizeof *wake);
    *wake = (struct wake){.msg = {.run = run_waiting}, .registry = r};
    base_worker_post(&r->jobs, &wake->msg);
}

/* --- progress --------------------------------------------------------------------------------- */

void ten_purge_tell(struct ten_registry *r, struct ten_purge *const *purges, size_t count,
                    uint32_t step)
{
    struct ten_purge_queue *q = &r->purges;
    INVARIANT(count <= TEN_PURGES_AT_ONCE);
    pthread_mutex_lock(&q->lock);
    atomic_store(&q->progress.unit, STO_PROGRESS_NONE);
    q->told_step = step;
    q->told_count = count;
    for (size_t i = 0; i < count; i++)
        memcpy(q->told[i], purges[i]->job.id, sizeof q->told[i]);
    q->told_ns = base_monotonic_ns();
    pthread_mutex_unlock(&q->lock);
}

static void take_amounts(const struct sto_progress *from, uint64_t now_ns,
                         struct ten_job_progress *out)
{
    out->unit = (enum sto_progress_unit)atomic_load(&from->unit);
    if (out->unit == STO_PROGRESS_NONE)
        return;
    uint64_t since_ns = atomic_load(&from->since_ns);
    out->done = atomic_load(&from->done);
    out->all = atomic_load(&from->all);
    uint64_t ms = now_ns > since_ns ? (now_ns - since_ns) / NS_PER_MS : 0;
    if (ms == 0 || out->done == 0)
        return;
    double per_ms = (double)out->done / (double)ms;
    out->per_second = (uint64_t)(per_ms * 1000);
    out->has_estimate = out->all > 0;
    if (out->all > out->done)
        out->seconds_left = (uint64_t)((double)(out->all - out->done) / per_ms / 1000) + 1;
}

bool ten_job_progress_get(struct ten_registry *r, const char *job, struct ten_job_progress *out)
{
    struct ten_purge_queue *q = &r->purges;
    struct ten_job_progress progress = {0};
    bool is_told = false;
    pthread_mutex_lock(&q->lock);
    uint64_t now_ns = base_monotonic_ns();
    for (size_t i = 0; i < q->told_count && !is_told; i++)
        is_told = strcmp(q->told[i], job) == 0;
    progress.step = q->told_step;
    progress.together = q->told_count;
    progress.waiting = q->waiting;
    progress.elapsed_ms = is_told ? (now_ns - q->told_ns) / NS_PER_MS : 0;
    if (is_told)
        take_amounts(&q->progress, now_ns, &progress);
    pthread_mutex_unlock(&q->lock);
    *out = progress;
    return is_told;
}

bool ten_job_place_get(struct ten_registry *r, const char *job, struct ten_job_place *out)
{
    struct ten_purge_queue *q = &r->purges;
    struct ten_job_place place = {.place = 1};
    pthread_mutex_lock(&q->lock);
    const struct ten_purge *p = q->first;
    for (; p != NULL && strcmp(p->job.id, job) != 0; p = p->next)
        place.place++;
    place.waiting = q->waiting;
    if (q->group_ns != 0) {
        uint64_t done_ns = q->began_ns == 0 ? q->group_ns : base_monotonic_ns() - q->began_ns;
        uint64_t groups = (place.place - 1) / TEN_PURGES_AT_ONCE + 1; /* its own group included */
        uint64_t left_ns = done_ns < q->group_ns ? q->group_ns - done_ns : 0;
        place.seconds_left = (left_ns + groups * q->group_ns + NS_PER_S - 1) / NS_PER_S;
        place.has_estimate = true;
    }
    pthread_mutex_unlock(&q->lock);
    *out = place;
    return p != NULL;
}

void ten_purges_get(struct ten_registry *r, struct ten_job_progress *out)
{
    struct ten_purge_queue *q = &r->purges;
    struct ten_job_progress progress = {0};
    pthread_mutex_lock(&q->lock);
    progress.step = q->told_step;
    progress.together = q->told_count;
    progress.waiting = q->waiting;
    if (q->told_count > 0)
        take_amounts(&q->progress, base_monotonic_ns(), &progress);
    pthread_mutex_unlock(&q->lock);
    *out = progress;
}
