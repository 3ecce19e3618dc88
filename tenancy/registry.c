/*
 * tenancy/registry.c - the registry's threads, and finding tenants.
 *
 * Closing: `stopping` prevents new removals and further purge steps; the job worker is joined (it
 * stops between two steps); then the control worker waits until the engine has returned every drop
 * in flight, because its result goes to the control mailbox; then the rest stops.
 *
 * 1. The map and the sorted list hold the same tenants; none is ever removed.
 */
#include "tenancy/registry.h"

#include <errno.h>

#include "base/alloc.h"
#include "tenancy/audit_internal.h"
#include "tenancy/certificate_store.h"
#include "tenancy/erasure_lost.h"
#include "tenancy/expiry.h"
#include "tenancy/internal.h"
#include "tenancy/metering.h"
#include "tenancy/purge.h"

#include "base/banned.h"

#define TENANTS_FIRST 64

/* The registry whose control thread this is. */
static _Thread_local const struct ten_registry *control_of;

static struct ten_registry *check(struct ten_registry *r)
{
    INVARIANT(r != NULL && r->magic == TEN_REGISTRY_MAGIC);
    return r;
}

bool ten_control_is_here(const struct ten_registry *r)
{
    return control_of == r;
}

void ten_control_check(const struct ten_registry *r)
{
    INVARIANT(r != NULL && r->magic == TEN_REGISTRY_MAGIC);
    INVARIANT(ten_control_is_here(r));
}

struct sto_engine *ten_registry_engine(struct ten_registry *r)
{
    return check(r)->engine;
}

const struct base_memory *ten_registry_schema_memory(const struct ten_registry *r)
{
    INVARIANT(r != NULL && r->magic == TEN_REGISTRY_MAGIC);
    return &r->schemas;
}

struct ten_certificates *ten_registry_certificates(struct ten_registry *r)
{
    return check(r)->certificates;
}

void ten_control_post(struct ten_registry *r, struct base_msg *msg)
{
    ten_fair_worker_post(&check(r)->control, msg);
}

bool ten_control_submit(struct ten_registry *r, struct ten_work *work, struct ten_tenant *t,
                        enum ten_lane lane, uint64_t most)
{
    struct ten_fair_worker *w = &check(r)->control;
    if (t == NULL && lane == TEN_LANE_URGENT) {
        ten_fair_worker_submit_urgent(w, work);
        return true;
    }
    return ten_fair_worker_submit(w, work, t == NULL ? ten_fair_lane(w, lane) : &t->control, most);
}

struct control_work {
    struct base_msg msg; /* first */
    void (*work)(void *ctx);
    void *ctx;
    sem_t finished;
};

static void run_work(struct base_msg *msg)
{
    struct control_work *w = (struct control_work *)(void *)msg;
    w->work(w->ctx);
    (void)sem_post(&w->finished); /* cannot overflow: it is posted once */
}

void ten_control_run(struct ten_registry *r, void (*work)(void *ctx), void *ctx)
{
    struct control_work w = {.msg = {.run = run_work}, .work = work, .ctx = ctx};
    INVARIANT(!ten_control_is_here(r));
    int rc = sem_init(&w.finished, 0, 0);
    INVARIANT(rc == 0);
    ten_control_post(r, &w.msg);
    while (sem_wait(&w.finished) != 0) /* only a signal interrupts it */
        continue;
    (void)sem_destroy(&w.finished); /* no thread waits on it */
}

/* --- open and close --------------------------------------------------------------------------- */

static void run_claim(struct base_msg *msg)
{
    struct ten_registry *r =
        (struct ten_registry *)((char *)msg - offsetof(struct ten_registry, claim_msg));
    control_of = r;
}

static void run_resume(struct base_msg *msg)
{
    struct ten_registry *r =
        (struct ten_registry *)((char *)msg - offsetof(struct ten_registry, resume_msg));
    ten_removal_resume_all(r);
    if (!r->awaits_keys)
        ten_offboard_resume_all(r);
    enum err rc = ten_expiry_look(r, NULL);
    (void)rc; /* checked again when the next backup is deleted, and at the next start */
}

/* The thread is claimed before any other post: the sweeper posts as soon as it has started. */
static enum err start_control(struct ten_registry *r)
{
    enum err rc = ten_fair_worker_start(&r->control, "ten-control", true);
    if (rc != ERR_OK)
        return rc;
    r->claim_msg.run = run_claim;
    ten_fair_worker_post(&r->control, &r->claim_msg);
    return ERR_OK;
}

static enum err start_workers(struct ten_registry *r, const struct ten_sweeper_options *sweeper,
                              struct errbuf *eb)
{
    enum err rc = start_control(r);
    if (rc == ERR_OK)
        rc = base_worker_start(&r->jobs, "ten-jobs");
    if (rc == ERR_OK)
        rc = ten_sweeper_start(r, sweeper, &r->sweeper);
    if (rc != ERR_OK)
        return base_fail(eb, rc, "a registry thread cannot be started: %s", base_err_name(rc));
    r->resume_msg.run = run_resume;
    ten_fair_worker_post(&r->control, &r->resume_msg);
    return ERR_OK;
}

static void free_all(struct ten_registry *r)
{
    ten_removal_free_all(r);
    ten_audit_close(r);
    ten_metering_close(r);
    ten_certificates_close(r->certificates);
    base_hashmap_free(r->by_id);
    for (size_t i = 0; i < r->tenant_count; i++)
        ten_tenant_free(r->sorted[i]);
    base_free(r->sorted);
    base_free(r->grace.waiting);
    base_free(r->retries.entries);
    ten_purge_queue_fini(&r->purges, r->engine);
    ten_plans_free_all(r);
    (void)sem_destroy(&r->drained); /* fails only for an invalid semaphore */
    r->magic = 0;
    base_free(r);
}

enum err ten_registry_open(const struct ten_registry_options *options, struct ten_registry **out,
                           struct errbuf *eb)
{
    struct ten_registry *r = base_new(sizeof *r);
    r->magic = TEN_REGISTRY_MAGIC;
    r->engine = options->engine;
    r->epoch = options->epoch;
    r->memory = options->memory;
    r->schemas.limit = options->memory == NULL ? 0 : options->memory->limit;
    r->keystore = options->keystore;
    r->awaits_keys = options->awaits_keys;
    r->purge_failed = options->purge_failed;
    r->by_id = base_hashmap_new(r->epoch);
    ten_purge_queue_init(&r->purges, r->engine);
    int error = sem_init(&r->drained, 0, 0);
    INVARIANT(error == 0);

    size_t reissued = 0;
    enum err rc = ten_certificates_open(options->certificates, &r->certificates, eb);
    if (rc == ERR_OK)
        rc = ten_audit_open(r, eb);
    if (rc == ERR_OK)
        rc = ten_registry_load(r, eb);
    if (rc == ERR_OK)
        rc = ten_erasures_compare(r, options->reissue_erasures, &reissued, eb);
    if (rc == ERR_OK && options->out_reissued != NULL)
        *options->out_reissued = reissued;
    if (rc == ERR_OK)
        rc = ten_offboard_load(r, eb);
    if (rc == ERR_OK)
        rc = ten_metering_open(r, eb);
    if (rc == ERR_OK)
        rc = start_workers(r, &options->sweeper, eb);
    if (rc != ERR_OK) {
        base_worker_stop(&r->jobs);
        ten_fair_worker_stop(&r->control);
        free_all(r);
        return rc;
    }
    *out = r;
    return ERR_OK;
}

static void run_drain(struct base_msg *msg)
{
    struct ten_registry *r =
        (struct ten_registry *)((char *)msg - offsetof(struct ten_registry, drain_msg));
    r->draining = true;
    ten_refusals_flush(&r->audit->refusals);
    ten_metering_drain(r);
    if (r->removals_running == 0) {
        int error = sem_post(&r->drained);
        INVARIANT(error == 0);
    }
}

void ten_registry_close(struct ten_registry *r)
{
    if (r == NULL)
        return;
    check(r);
    atomic_store(&r->stopping, true);
    ten_sweeper_stop(r->sweeper);
    base_worker_stop(&r->jobs);
    r->drain_msg.run = run_drain;
    ten_fair_worker_post(&r->control, &r->drain_msg);
    while (sem_wait(&r->drained) != 0)
        INVARIANT(errno == EINTR);
    ten_fair_worker_stop(&r->control);
    free_all(r);
}

/* --- the keys' holder ------------------------------------------------------------------------- */

struct attaching {
    struct ten_registry *registry;
    struct ten_key_holder holder;
};

static void holder_set(void *ctx)
{
    const struct attaching *a = ctx;
    struct ten_registry *r = a->registry;
    r->keys = a->holder;
    if (!r->awaits_keys)
        return;
    r->awaits_keys = false;
    ten_offboard_resume_all(r);
}

void ten_registry_keys_attach(struct ten_registry *r, const struct ten_key_holder *holder)
{
    struct attaching a = {.registry = check(r), .holder = *holder};
    ten_control_run(r, holder_set, &a);
}

static enum err strip_no_more(void *ctx, const struct ten_tenant *t, struct errbuf *eb)
{
    (void)ctx;
    (void)t;
    return base_fail(eb, ERR_CANCELLED, "the keys are closed");
}

void ten_registry_keys_detach(struct ten_registry *r)
{
    ten_registry_keys_attach(r, &(struct ten_key_holder){.strip = strip_no_more});
}

/* --- the tenants ------------------------------------------------------------------------------ */

struct ten_tenant *ten_tenant_find(struct ten_registry *r, struct slice id)
{
    return base_hashmap_find(check(r)->by_id, id);
}

size_t ten_registry_bound(const struct ten_registry *r, struct slice id, bool after)
{
    size_t low = 0;
    size_t high = r->tenant_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = base_slice_compare(ten_tenant_id(r->sorted[middle]), id);
        if (order < 0 || (after && order == 0))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

enum err ten_registry_add(struct ten_registry *r, struct ten_tenant *t)
{
    enum err rc = base_hashmap_insert(r->by_id, ten_tenant_id(t), t);
    if (rc != ERR_OK)
        return rc;
    t->overload = &r->overload;
    t->memory.budget = r->memory;
    t->account.memory = &t->memory;
    if (r->tenant_count == r->tenant_capacity) {
        size_t capacity = r->tenant_capacity == 0 ? TENANTS_FIRST : r->tenant_capacity * 2;
        struct ten_tenant **larger = base_new_array(capacity, sizeof larger[0]);
        if (r->tenant_count > 0)
            memcpy(larger, r->sorted, r->tenant_count * sizeof larger[0]);
        base_free(r->sorted);
        r->sorted = larger;
        r->tenant_capacity = capacity;
    }
    size_t at = ten_registry_bound(r, ten_tenant_id(t), false);
    memmove(r->sorted + at + 1, r->sorted + at, (r->tenant_count - at) * sizeof r->sorted[0]);
    r->sorted[at] = t;
    r->tenant_count++;
    return ERR_OK;
}

size_t ten_tenant_list(struct ten_registry *r, struct slice after, struct ten_tenant **out,
                       size_t limit)
{
    ten_control_check(r);
    size_t count = 0;
    for (size_t i = ten_registry_bound(r, after, true); i < r->tenant_count && count < limit; i++)
        out[count++] = r->sorted[i];
    return count;
}
