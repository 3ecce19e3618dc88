/*
 * tenancy/purge_queue.c - who waits is taken together, up to a bound.
 *
 *   each of the group, alone      fence .. audit: the engine knows one purge between two steps
 *   all that came so far          one search of the files; again for those whose files were held
 *   each of the group, alone      certificate, last batch
 *
 * A search reads the whole database, whoever is looked for: as many tenants that leave at once cost
 * what one of them costs. The first one of a group waits for the last one's compaction.
 *
 * 1. A tenant waits once: purge_retry.c sees to that.
 * 2. Each post wakes the worker; a wake that finds nobody does nothing.
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/text.h"
#include "tenancy/purge.h"
#include "tenancy/scope.h"

#include "base/banned.h"

#define NS_PER_MS 1000000ULL

struct wake {
    struct base_msg msg; /* first */
    struct ten_registry *registry;
};

struct group {
    struct ten_registry *registry;
    size_t count;
    struct ten_purge *of[TEN_PURGES_AT_ONCE];
};

/* --- waiting ---------------------------------------------------------------------------------- */

void ten_purge_queue_init(struct ten_purge_queue *q, struct sto_engine *engine)
{
    int error = pthread_mutex_init(&q->lock, NULL);
    INVARIANT(error == 0);
    sto_progress_watch(engine, &q->progress);
}

/* Who came behind the worker's last look is resumed at the next start. */
void ten_purge_queue_fini(struct ten_purge_queue *q, struct sto_engine *engine)
{
    sto_progress_watch(engine, NULL);
    while (q->first != NULL) {
        struct ten_purge *p = q->first;
        q->first = p->next;
        base_free(p);
    }
    (void)pthread_mutex_destroy(&q->lock); /* nobody holds it */
}

static void append(struct ten_purge_queue *q, struct ten_purge *p)
{
    struct ten_purge **end = &q->first;
    while (*end != NULL)
        end = &(*end)->next;
    *end = p;
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

static void run_to_search(struct group *g)
{
    size_t kept = 0;
    for (size_t i = 0; i < g->count; i++) {
        struct ten_purge *p = g->of[i];
        p->result = atomic_load(&g->registry->stopping) ? ERR_UNAVAILABLE : ten_purge_prepare(p);
        if (p->result != ERR_OK) {
            ten_purge_leave(p, true); /* done already, or the engine failed: see the next start */
            continue;
        }
        g->of[kept++] = p;
        if (ten_purge_run_to(p, TEN_STEP_FILES) == ERR_OK)
            continue;
        ten_purge_end(p);
        kept--;
    }
    g->count = kept;
}

/* Those that are still to be searched for, as targets. */
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

/* Once; results are the purges'. ERR_TIMEOUT of some: again. */
static void search_once(struct group *g, struct searching *s)
{
    const struct sto_search_spec spec = {.stop = &g->registry->stopping};
    s->count = 0;
    for (size_t i = 0; i < g->count; i++)
        if (g->of[i]->step == TEN_STEP_FILES && g->of[i]->result == ERR_TIMEOUT)
            add_target(s, g->of[i]);
    if (s->count == 0)
        return;
    ten_purge_tell(g->registry, s->purges, s->count, TEN_STEP_FILES);
    struct errbuf why = {{0}};
    enum err rc = sto_search_files(g->registry->engine, s->targets, s->count, &spec, &why);
    for (size_t i = 0; i < s->count; i++) {
        struct ten_purge *p = s->purges[i];
        p->detail = why;
        p->result = rc == ERR_OK ? ten_purge_take_search(p, &s->targets[i].found, &p->detail) : rc;
    }
}

static void search_together(struct group *g)
{
    struct searching *s = base_new(sizeof *s);
    for (size_t i = 0; i < g->count; i++)
        if (g->of[i]->step == TEN_STEP_FILES)
            g->of[i]->result = ERR_TIMEOUT; /* not found yet */
    for (int tries = 0; tries < TEN_PURGE_TRIES && !atomic_load(&g->registry->stopping); tries++)
        search_once(g, s);
    for (size_t i = 0; i < g->count; i++)
        if (g->of[i]->result == ERR_TIMEOUT && atomic_load(&g->registry->stopping))
            g->of[i]->result = ERR_CANCELLED;
    base_free(s);
}

static void run_waiting(struct base_msg *msg)
{
    struct wake *wake = (struct wake *)(void *)msg;
    struct group *g = base_new(sizeof *g);
    g->registry = wake->registry;
    base_free(wake);
    take_group(g);
    run_to_search(g);
    search_together(g);
    for (size_t i = 0; i < g->count; i++)
        ten_purge_end(g->of[i]);
    ten_purge_tell(g->registry, NULL, 0, 0);
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

/* --- telling ---------------------------------------------------------------------------------- */

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
    uint64_t now_ns = base_monotonic_ns();
    bool is_told = false;
    pthread_mutex_lock(&q->lock);
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
