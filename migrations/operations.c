/*
 * migrations/operations.c - operations of tenants wait in a queue, and are stored as documents.
 *
 *   ask       control thread: the document, then the queue
 *   begin     RUNNING, stored; a tenant that is being purged has no operations any more
 *   do        on the service's thread
 *   end       stored, with a record of the audit trail; a restored table in the same batch
 *
 * 1. Documents are changed by the control thread, which alone starts purges: none is stored after
 *    the purge that removes them all.
 * 2. When the server stops, a running operation stays as stored. The next start repeats backups and
 *    copies, continues a tenant's restore whose old tables are gone, and marks other restores as
 *    interrupted: their tables are removed then.
 * 3. The error that a tenant sees concerns only its own data; all other details are logged.
 * 4. A tenant's restore whose old tables are gone does not fail for temporary reasons (a
 *    suspension, a full disk, a quota): it waits, reports why, and is retried.
 */
#include "migrations/service_internal.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/worker.h"
#include "tenancy/audit.h"
#include "tenancy/doc_key.h"
#include "tenancy/lifecycle.h"
#include "tenancy/scope.h"
#include "tenancy/tables_replace.h"

#include "base/banned.h"

#define IMAGE_TRIES_MS 1000
#define IMAGE_TRIES    600 /* while another tenant is purged no image can be made */

/* --- documents -------------------------------------------------------------------------------- */

static struct slice tenant_of(const struct mig_operation *op)
{
    return base_slice_text(op->scope.tenant);
}

enum err mig_operation_change(const struct mig_operation *op, struct ten_doc_key *key,
                              struct buf *body, struct sto_doc_change *out)
{
    base_buf_init(body, MIG_OPERATION_DOC_MAX);
    *key = ten_doc_key_operation(tenant_of(op), base_slice_text(op->id));
    enum err rc = mig_operation_encode(op, body);
    *out = (struct sto_doc_change){
        .key = ten_doc_key_slice(key), .body = base_buf_slice(body), .expect = STO_DOC_ANY};
    return rc;
}

enum err mig_operation_store(struct mig_service *s, const struct mig_operation *op,
                             const struct ten_doc_key *forget, struct errbuf *eb)
{
    struct ten_doc_key key;
    struct buf body;
    struct sto_doc_change changes[2];
    enum err rc = mig_operation_change(op, &key, &body, &changes[0]);
    if (forget != NULL)
        changes[1] =
            (struct sto_doc_change){.key = ten_doc_key_slice(forget), .expect = STO_DOC_ANY};
    if (rc == ERR_OK)
        rc = ten_docs_commit(s->registry, changes, forget == NULL ? 1 : 2, eb);
    else
        rc = base_fail(eb, rc, "the operation cannot be stored");
    base_buf_fini(&body);
    return rc;
}

/* Returns the tenant if its operations may be stored, otherwise NULL. */
static struct ten_tenant *find_tenant(struct mig_service *s, const struct mig_operation *op)
{
    struct ten_tenant *t = ten_tenant_find(s->registry, tenant_of(op));
    bool is_there = t != NULL && !ten_state_is_final((enum ten_state)atomic_load(&t->state));
    return is_there ? t : NULL;
}

/* --- the queue -------------------------------------------------------------------------------- */

/* Operators have places of their own, which tenants cannot fill. */
static enum err queue_check(struct mig_service *s, const struct mig_operation *op,
                            struct errbuf *eb)
{
    size_t own = 0, alike = 0;
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->queue.count; i++) {
        const struct mig_operation *other = &s->queue.items[i];
        if (other->by_operator != op->by_operator)
            continue;
        alike++;
        own += base_slice_is(tenant_of(op), other->scope.tenant);
    }
    bool is_stopping = s->stopping;
    pthread_mutex_unlock(&s->lock);
    if (is_stopping)
        return base_fail(eb, ERR_OVERLOADED, "the server is stopping; try again later");
    if (!op->by_operator && own >= LIM_OPERATIONS_OF_TENANT)
        return base_fail(eb, ERR_OVERLOADED,
                         "%zu operations on backups of this tenant wait or run; %d may", own,
                         LIM_OPERATIONS_OF_TENANT);
    size_t most = op->by_operator ? LIM_OPERATIONS_OF_OPERATORS : LIM_OPERATIONS_OF_TENANTS;
    if (alike >= most)
        return base_fail(eb, ERR_OVERLOADED,
                         "%zu operations on backups wait or run that %s requested, the most that "
                         "may; try again later",
                         most, op->by_operator ? "operators" : "tenants");
    return ERR_OK;
}

static void queue_put(struct mig_service *s, const struct mig_operation *op)
{
    pthread_mutex_lock(&s->lock);
    mig_queue_append(&s->queue, op);
    pthread_cond_signal(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

/* --- requesting ------------------------------------------------------------------------------- */

struct keeping {
    size_t count;
    struct ten_doc_key oldest; /* len 0: none that ended */
};

static enum err look_at_kept(void *ctx, struct slice key, uint64_t version, struct slice body)
{
    struct keeping *k = ctx;
    struct mig_operation op;
    (void)version;
    k->count++;
    struct slice id = base_slice_skip(key, key.len - MIG_BACKUP_ID);
    enum err rc = mig_operation_decode(SLICE_LIT("any"), id, body, &op);
    if (rc != ERR_OK)
        return rc;
    if (k->oldest.len > 0 || op.state == MIG_OP_WAITING || op.state == MIG_OP_RUNNING)
        return ERR_OK;
    k->oldest.len = key.len;
    memcpy(k->oldest.bytes, key.ptr, key.len);
    return ERR_OK;
}

enum err mig_operation_ask(struct mig_service *s, const struct mig_operation *op, struct errbuf *eb)
{
    struct keeping kept = {.count = 0};
    struct ten_doc_key prefix = ten_doc_key_operation(tenant_of(op), SLICE_EMPTY);
    enum err rc = queue_check(s, op, eb);
    if (rc == ERR_OK)
        rc = sto_docs_scan(ten_registry_engine(s->registry), ten_doc_key_slice(&prefix),
                           look_at_kept, &kept, eb);
    bool is_full = kept.count >= LIM_OPERATIONS_KEPT && kept.oldest.len > 0;
    if (rc == ERR_OK)
        rc = mig_operation_store(s, op, is_full ? &kept.oldest : NULL, eb);
    if (rc == ERR_OK)
        queue_put(s, op);
    return rc;
}

/* --- loading ---------------------------------------------------------------------------------- */

struct loading {
    struct mig_service *service;
    struct mig_operation *items;
    size_t count;
    size_t capacity;
    enum err result;
    struct errbuf *eb;
};

static bool is_later(const struct mig_operation *a, const struct mig_operation *b)
{
    return a->requested_us != b->requested_us ? a->requested_us > b->requested_us
                                              : strcmp(a->id, b->id) > 0;
}

static enum err load_one(void *ctx, struct slice key, uint64_t version, struct slice body)
{
    struct loading *l = ctx;
    struct mig_operation op;
    struct slice tenant, id;
    (void)version;
    enum err rc = ten_doc_key_table_parts(key, &tenant, &id);
    if (rc == ERR_OK)
        rc = mig_operation_decode(tenant, id, body, &op);
    if (rc != ERR_OK || (op.state != MIG_OP_WAITING && op.state != MIG_OP_RUNNING))
        return rc;
    if (l->count == l->capacity) {
        l->capacity = l->capacity == 0 ? LIM_OPERATIONS_OF_TENANT : 2 * l->capacity;
        struct mig_operation *larger = base_new_array(l->capacity, sizeof larger[0]);
        if (l->count > 0)
            memcpy(larger, l->items, l->count * sizeof larger[0]);
        base_free(l->items);
        l->items = larger;
    }
    size_t at = l->count++;
    for (; at > 0 && is_later(&l->items[at - 1], &op); at--)
        l->items[at] = l->items[at - 1]; /* in the order requested */
    l->items[at] = op;
    return ERR_OK;
}

/* Decides the state of an operation after a restart; WAITING: it is repeated. */
static void judge(struct mig_service *s, struct mig_operation *op)
{
    struct mig_backup_entry entry;
    bool is_making = op->kind == MIG_OP_BACKUP || op->kind == MIG_OP_COPY;
    if (is_making && mig_backups_get(s->backups, base_slice_text(op->id), &entry, NULL) == ERR_OK) {
        op->state = MIG_OP_DONE;
    } else if (is_making || op->is_switching || op->state == MIG_OP_WAITING) {
        op->state = MIG_OP_WAITING;
        return;
    } else {
        op->state = MIG_OP_FAILED;
        op->result = ERR_CANCELLED;
        (void)snprintf(op->error, sizeof op->error,
                       "the server stopped while it ran; ask for it again"); /* fits */
    }
    op->finished_us = base_wall_us();
}

/* Control thread. */
static void settle_loaded(void *ctx)
{
    struct loading *l = ctx;
    struct mig_service *s = l->service;
    for (size_t i = 0; l->result == ERR_OK && i < l->count; i++) {
        struct mig_operation *op = &l->items[i];
        struct ten_tenant *t = find_tenant(s, op);
        if (t == NULL)
            continue; /* its purge removes the operation */
        judge(s, op);
        bool fits = s->queue.count < LIM_OPERATIONS_WAITING;
        if (op->is_switching && fits)
            ten_tables_replace_resume(t);
        if (op->state == MIG_OP_WAITING && fits)
            queue_put(s, op);
        else
            l->result = mig_operation_store(s, op, NULL, l->eb);
    }
}

enum err mig_operations_load(struct mig_service *s, struct errbuf *eb)
{
    struct loading l = {.service = s, .eb = eb};
    s->queue.items = base_new_array(LIM_OPERATIONS_WAITING, sizeof s->queue.items[0]);
    l.result = sto_docs_scan(ten_registry_engine(s->registry), sto_doc_prefix(STO_DOC_OPERATION),
                             load_one, &l, eb);
    if (l.result == ERR_CORRUPT)
        l.result = base_fail(eb, ERR_CORRUPT, "the documents of operations cannot be read");
    if (l.result == ERR_OK)
        ten_control_run(s->registry, settle_loaded, &l);
    base_free(l.items);
    return l.result;
}

/* --- executing -------------------------------------------------------------------------------- */

struct step {
    struct mig_service *service;
    struct mig_operation *op;
    struct ten_tenant *tenant; /* NULL: it is being purged */
    struct sto_tenant_scope scope;
    enum err result;
    struct errbuf eb;
};

/* Control thread. */
static void begin(void *ctx)
{
    struct step *step = ctx;
    struct mig_operation *op = step->op;
    step->tenant = find_tenant(step->service, op);
    if (step->tenant == NULL)
        return;
    step->scope = ten_scope_tenant(step->tenant);
    op->state = MIG_OP_RUNNING;
    op->started_us = base_wall_us();
    op->error[0] = '\0'; /* of a previous try */
    step->result = mig_operation_store(step->service, op, NULL, &step->eb);
}

static void pause_ms(struct mig_service *s, long ms)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until); /* cannot fail for this clock */
    until.tv_sec += ms / 1000;
    pthread_mutex_lock(&s->lock);
    if (!s->stopping)
        (void)pthread_cond_timedwait(&s->changed, &s->lock, &until); /* may wake up early */
    pthread_mutex_unlock(&s->lock);
}

static enum err make(struct step *step)
{
    struct mig_service *s = step->service;
    const struct mig_operation *op = step->op;
    struct mig_backup_wanted wanted = {.now_us = base_wall_us(),
                                       .expires_us = op->expires_us,
                                       .note = op->note,
                                       .scope = op->scope,
                                       .tenant = &step->scope};
    memcpy(wanted.id, op->id, sizeof wanted.id);
    enum err rc = ERR_CONFLICT;
    for (int tries = 0; rc == ERR_CONFLICT && tries < IMAGE_TRIES; tries++) {
        if (tries > 0)
            pause_ms(s, IMAGE_TRIES_MS);
        if (s->watch.stop(s->watch.ctx))
            return base_fail(&step->eb, ERR_CANCELLED, "stopped before it began");
        rc = mig_backups_make(s->backups, &wanted, &s->watch, &step->eb);
    }
    if (s->gone != NULL)
        s->gone(s->registry); /* the image held all tenants */
    return rc;
}

static enum err copy(struct step *step)
{
    const struct mig_operation *op = step->op;
    struct mig_backup_wanted wanted = {.now_us = base_wall_us(),
                                       .expires_us = op->expires_us,
                                       .note = op->note,
                                       .scope = op->scope,
                                       .tenant = &step->scope};
    memcpy(wanted.id, op->id, sizeof wanted.id);
    return mig_backups_copy(step->service->backups, base_slice_text(op->backup), &wanted,
                            &step->eb);
}

static enum err do_it(struct step *step)
{
    switch (step->op->kind) {
    case MIG_OP_BACKUP:
        return make(step);
    case MIG_OP_COPY:
        return copy(step);
    case MIG_OP_RESTORE_TABLE:
    case MIG_OP_RESTORE_TENANT:
        return mig_operation_restore(step->service, step->tenant, step->op, &step->eb);
    }
    return base_fail(&step->eb, ERR_UNSUPPORTED, "an operation of a newer bigtentd");
}

/* --- ending ----------------------------------------------------------------------------------- */

/* Returns whether the failure concerns the tenant's own data, names and limits. */
static bool is_own(const struct mig_operation *op, enum err rc)
{
    bool is_restore = op->kind == MIG_OP_RESTORE_TABLE || op->kind == MIG_OP_RESTORE_TENANT;
    return rc == ERR_NOT_FOUND || rc == ERR_EXISTS || rc == ERR_GONE || rc == ERR_SUSPENDED ||
           rc == ERR_QUOTA || rc == ERR_CANCELLED ||
           (is_restore && (rc == ERR_TOO_BIG || rc == ERR_INVALID || rc == ERR_CONFLICT));
}

void mig_operation_put_end(struct mig_operation *op, enum err rc, const char *why)
{
    op->result = rc;
    op->finished_us = base_wall_us();
    op->state = rc == ERR_OK ? MIG_OP_DONE : rc == ERR_CANCELLED ? MIG_OP_CANCELLED : MIG_OP_FAILED;
    if (rc == ERR_OK)
        return;
    if (is_own(op, rc) && why[0] != '\0')
        (void)snprintf(op->error, sizeof op->error, "%s", why); /* may be truncated */
    else
        (void)snprintf(op->error, sizeof op->error, "the server could not do it: %s",
                       base_err_name(rc));
}

/* Returns whether a tenant's restore that has deleted its tables is postponed, because the obstacle
 * may be temporary. GONE: the tenant may be undeleted; otherwise put_off drops the operation. */
static bool is_put_off(const struct mig_operation *op, enum err rc)
{
    return op->is_switching &&
           (rc == ERR_SUSPENDED || rc == ERR_GONE || rc == ERR_QUOTA || rc == ERR_STORAGE_FULL ||
            rc == ERR_OVERLOADED || rc == ERR_UNAVAILABLE || rc == ERR_TIMEOUT);
}

static void tell_delay(struct step *step, enum err rc)
{
    struct mig_operation *op = step->op;
    struct errbuf text = {{0}};
    const char *why = is_own(op, rc) ? step->eb.text : base_err_name(rc);
    (void)base_fail(&text, rc, "waits, and the tenant has no tables until it is done: %s", why);
    _Static_assert(sizeof op->error == sizeof text.text, "it fits");
    memcpy(op->error, text.text, sizeof op->error);
}

static void tell_loss(struct step *step, enum err rc)
{
    struct errbuf why = step->eb;
    (void)base_fail(&step->eb, rc,
                    "the tenant has no tables now; the backup is still there, ask again: %s",
                    why.text); /* rc is known */
}

/* Control thread. Makes it wait after the others for a retry; is_replacing stays set. */
static void put_off(void *ctx)
{
    struct step *step = ctx;
    struct mig_operation *op = step->op;
    op->state = MIG_OP_WAITING;
    if (find_tenant(step->service, op) == NULL)
        return; /* its purge removes the operation */
    step->result = mig_operation_store(step->service, op, NULL, NULL);
    mig_queue_put_off(step->service, op); /* not stored: the stored state continues too */
}

static const char *const ENDED[] = {[MIG_OP_BACKUP] = "backup.finish",
                                    [MIG_OP_COPY] = "backup.copied",
                                    [MIG_OP_RESTORE_TABLE] = "backup.restored",
                                    [MIG_OP_RESTORE_TENANT] = "tenant.restored"};

/* Control thread. */
static void end(void *ctx)
{
    struct step *step = ctx;
    const struct mig_operation *op = step->op;
    if (find_tenant(step->service, op) == NULL)
        return;
    const struct ten_action action = {.actor = TEN_ACTOR_SERVER,
                                      .name = ENDED[op->kind],
                                      .tenant = tenant_of(op),
                                      .target = base_slice_text(op->id)};
    ten_audit_begin(step->service->registry, &action);
    if (op->result != ERR_OK)
        ten_audit_set_outcome(op->result);
    step->result = mig_operation_store(step->service, op, NULL, &step->eb);
    step->result = ten_audit_end(step->service->registry, step->result, &step->eb);
    if (op->is_switching)
        ten_tables_replace_end(step->tenant);
    mig_queue_leave(step->service);
}

bool mig_operation_run_next(struct mig_service *s)
{
    struct mig_operation op;
    struct step step = {.service = s, .op = &op};
    if (!mig_queue_take(s, &op))
        return false;
    char before[sizeof op.error]; /* the reason of the last postponement, already reported */
    memcpy(before, op.error, sizeof before);
    ten_control_run(s->registry, begin, &step);
    enum err rc = step.result;
    if (rc == ERR_OK && step.tenant != NULL)
        rc = do_it(&step);
    bool is_left = rc == ERR_CANCELLED && mig_service_is_stopping(s); /* for the next start */
    if (step.tenant != NULL && is_put_off(&op, rc)) {
        tell_delay(&step, rc);
        ten_control_run(s->registry, put_off, &step);
        if (s->ended != NULL && strcmp(before, op.error) != 0)
            s->ended(&op);
    } else if (step.tenant != NULL && !is_left && op.state != MIG_OP_DONE) {
        if (op.is_switching)
            tell_loss(&step, rc);
        struct mig_operation told = op;
        mig_operation_put_end(&op, rc, step.eb.text);
        mig_queue_count_end(s, &op);
        ten_control_run(s->registry, end, &step);
        (void)snprintf(told.error, sizeof told.error, "%s", step.eb.text); /* untruncated */
        told.state = op.state;
        told.finished_us = op.finished_us;
        told.result = op.result;
        if (s->ended != NULL)
            s->ended(&told);
    } else if (step.tenant != NULL && !is_left && s->ended != NULL) {
        s->ended(&op);
    }
    mig_queue_leave(s); /* if it is still there */
    return true;
}
