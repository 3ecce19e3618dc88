/*
 * migrations/backup_service.c - a thread that executes requested work, and checks the clock.
 *
 *   wanted     the next work, at most one of each kind; a request while work is wanted or in
 *              progress is refused
 *   sweeping   something was deleted: files wait to be swept
 *
 * The end of a work is in the audit trail before it is reported.
 */
#define _GNU_SOURCE
#include "migrations/backup_service.h"

#include <stdio.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/share.h"
#include "base/text.h"
#include "base/worker.h"
#include "migrations/service_internal.h"
#include "tenancy/audit.h"
#include "tenancy/job_doc.h"
#include "tenancy/lifecycle.h"

#include "base/banned.h"

#define MIG_LOOK_S  5 /* between scans for backups of offboarded tenants */
#define WAIT_MIN_NS 10000000ULL
#define US_PER_S    1000000LL
#define NS_PER_S    1000000000ULL

static const char *const FINISHED[MIG_WORK_KINDS] = {"backup.finish", "backup.verified"};

/* --- reading ---------------------------------------------------------------------------------- */

struct mig_backups *mig_service_backups(struct mig_service *s)
{
    return s->backups;
}

bool mig_service_is_stopping(struct mig_service *s)
{
    pthread_mutex_lock(&s->lock);
    bool stopping = s->stopping;
    pthread_mutex_unlock(&s->lock);
    return stopping;
}

/* Called by the work in progress at intervals; true: it must stop. */
static bool is_over(void *ctx)
{
    struct mig_service *s = ctx;
    mig_schedule_lag(s);
    pthread_mutex_lock(&s->lock);
    bool over = s->stopping || s->queue.is_cancelled;
    pthread_mutex_unlock(&s->lock);
    return over;
}

void mig_service_work(struct mig_service *s, enum mig_work_kind kind, struct mig_work *out)
{
    pthread_mutex_lock(&s->lock);
    *out = s->works[kind];
    pthread_mutex_unlock(&s->lock);
    if (out->state != MIG_WORK_RUNNING)
        return;
    out->done_bytes = atomic_load(&s->watch.done_bytes);
    out->all_bytes = atomic_load(&s->watch.all_bytes);
}

void mig_service_figures(struct mig_service *s, struct mig_service_figures *out)
{
    struct mig_backup_entry *entries = base_new_array(LIM_BACKUPS, sizeof entries[0]);
    size_t count = mig_backups_list_of(s->backups, SLICE_EMPTY, entries, LIM_BACKUPS);
    *out = (struct mig_service_figures){.backups = count};
    for (size_t i = 0; i < count; i++) {
        if (entries[i].is_damaged)
            continue;
        out->bytes = entries[i].backup.bytes;
        out->newest_us = entries[i].backup.created_us;
    }
    base_free(entries);
    pthread_mutex_lock(&s->lock);
    out->made = s->made;
    out->failed = s->failed;
    out->verify_failed = s->verify_failed;
    pthread_mutex_unlock(&s->lock);
}

/* --- requesting ------------------------------------------------------------------------------- */

void mig_service_make_id(struct mig_service *s, int64_t now_us, char out[MIG_BACKUP_ID + 1])
{
    char last[MIG_BACKUP_ID + 1];
    uint64_t ms = (uint64_t)now_us / 1000, last_ms = 0;
    mig_backups_last_id(s->backups, last);
    if (ten_job_id_parse(base_slice_text(last), &last_ms) == ERR_OK && ms <= last_ms)
        ms = last_ms + 1;
    ten_job_id_make(ms, out);
}

/* Called with the lock held. */
static enum err begin(struct mig_service *s, const struct mig_work *work, struct errbuf *eb)
{
    if (s->stopping)
        return base_fail(eb, ERR_UNAVAILABLE, "the server is stopping");
    if (s->wanted != NULL)
        return base_fail(eb, ERR_CONFLICT, "the backup %s is being %s; one at a time",
                         s->wanted->id, s->wanted->kind == MIG_WORK_CREATE ? "made" : "verified");
    s->works[work->kind] = *work;
    s->wanted = &s->works[work->kind];
    atomic_store(&s->watch.done_bytes, 0);
    atomic_store(&s->watch.all_bytes, 0);
    pthread_cond_signal(&s->changed);
    return ERR_OK;
}

static enum err ask(struct mig_service *s, const struct mig_work *work, struct errbuf *eb)
{
    pthread_mutex_lock(&s->lock);
    enum err rc = begin(s, work, eb);
    pthread_mutex_unlock(&s->lock);
    return rc;
}

enum err mig_service_expiry(const struct mig_service *s, uint64_t keep_s, int64_t *out_us,
                            struct errbuf *eb)
{
    if (keep_s == UINT64_MAX)
        keep_s = s->keep_s;
    if (keep_s > LIM_BACKUP_KEEP_S)
        return base_fail(eb, ERR_INVALID, "a backup is kept for at most %lu seconds, or for ever",
                         LIM_BACKUP_KEEP_S);
    *out_us = keep_s == 0 ? 0 : base_wall_us() + (int64_t)keep_s * US_PER_S;
    return ERR_OK;
}

enum err mig_service_ask(struct mig_service *s, struct slice note, uint64_t keep_s,
                         char out_id[MIG_BACKUP_ID + 1], struct errbuf *eb)
{
    struct mig_work work = {
        .kind = MIG_WORK_CREATE, .state = MIG_WORK_RUNNING, .started_us = base_wall_us()};
    enum err rc = base_text_check(note, LIM_BACKUP_NOTE, "the note", eb);
    if (rc != ERR_OK)
        return rc;
    rc = mig_service_expiry(s, keep_s, &work.expires_us, eb);
    if (rc != ERR_OK)
        return rc;
    if (note.len > 0)
        memcpy(work.note, note.ptr, note.len);
    mig_service_make_id(s, work.started_us, work.id);
    ten_audit_set_target(base_slice_text(work.id));
    rc = ask(s, &work, eb);
    if (rc == ERR_OK)
        memcpy(out_id, work.id, sizeof work.id);
    return rc;
}

/* Refuses a backup that is shown but not listed: it is being made, or could not be made. */
static enum err check_is_made(struct mig_service *s, struct slice id, struct errbuf *eb)
{
    struct mig_work create;
    mig_service_work(s, MIG_WORK_CREATE, &create);
    if (!base_slice_is(id, create.id) || create.state == MIG_WORK_DONE)
        return ERR_OK;
    return create.state == MIG_WORK_RUNNING
               ? base_fail(eb, ERR_CONFLICT, "the backup is still being made")
               : base_fail(eb, ERR_CONFLICT, "the backup failed, and nothing of it is kept");
}

enum err mig_service_ask_verify(struct mig_service *s, struct slice id, struct errbuf *eb)
{
    struct mig_backup_entry entry;
    struct mig_work work = {
        .kind = MIG_WORK_VERIFY, .state = MIG_WORK_RUNNING, .started_us = base_wall_us()};
    enum err rc = check_is_made(s, id, eb);
    if (rc == ERR_OK)
        rc = mig_backups_get(s->backups, id, &entry, eb);
    if (rc != ERR_OK)
        return rc;
    memcpy(work.id, entry.backup.id, sizeof work.id);
    return ask(s, &work, eb);
}

/* Returns whether an operation that waits or runs reads the backup. */
static bool is_awaited(struct mig_service *s, struct slice id)
{
    bool found = false;
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->queue.count; i++)
        found = found || base_slice_is(id, s->queue.items[i].backup);
    pthread_mutex_unlock(&s->lock);
    return found;
}

enum err mig_service_usable_for(struct mig_service *s, const struct ten_tenant *t, struct slice id,
                                struct mig_backup_entry *out, struct errbuf *eb)
{
    enum err rc = check_is_made(s, id, eb);
    if (rc == ERR_OK)
        rc = mig_backups_get(s->backups, id, out, eb);
    if (rc != ERR_OK)
        return rc;
    const struct mig_backup *backup = &out->backup;
    if (mig_backup_is_scoped(backup) && !base_slice_is(ten_tenant_id(t), backup->scope.tenant))
        return base_fail(eb, ERR_NOT_FOUND, "there is no such backup of this tenant");
    return out->is_damaged ? base_fail(eb, ERR_CONFLICT, "the backup's list of files is damaged")
                           : ERR_OK;
}

enum err mig_service_remove(struct mig_service *s, struct slice id, struct errbuf *eb)
{
    enum err rc = check_is_made(s, id, eb);
    if (rc == ERR_OK && is_awaited(s, id))
        rc = base_fail(eb, ERR_CONFLICT,
                       "the backup is about to be copied, or restored from; try again behind it");
    if (rc == ERR_OK)
        rc = mig_backups_delete(s->backups, id, eb);
    if (rc != ERR_OK)
        return rc;
    pthread_mutex_lock(&s->lock);
    s->sweeping = true;
    pthread_cond_signal(&s->changed);
    pthread_mutex_unlock(&s->lock);
    return ERR_OK;
}

/* --- working ---------------------------------------------------------------------------------- */

static enum err record(struct mig_service *s, const char *name, const char *id, enum err result,
                       const char *detail)
{
    const struct ten_action action = {
        .actor = TEN_ACTOR_SERVER, .name = name, .target = base_slice_text(id), .detail = detail};
    ten_audit_begin(s->registry, &action);
    return ten_audit_end(s->registry, result, NULL);
}

static void finish(struct mig_service *s, struct mig_work *work, enum err result,
                   const struct errbuf *eb)
{
    enum err recorded = record(s, FINISHED[work->kind], work->id, result, "");
    bool is_good = result == ERR_OK && recorded == ERR_OK;
    pthread_mutex_lock(&s->lock);
    work->done_bytes = atomic_load(&s->watch.done_bytes);
    work->all_bytes = atomic_load(&s->watch.all_bytes);
    work->finished_us = base_wall_us();
    work->result = result == ERR_OK ? recorded : result;
    work->state = is_good ? MIG_WORK_DONE : MIG_WORK_FAILED;
    (void)snprintf(work->error, sizeof work->error, "%s",
                   is_good               ? ""
                   : eb->text[0] != '\0' ? eb->text
                                         : base_err_name(work->result)); /* may be truncated */
    s->made += is_good && work->kind == MIG_WORK_CREATE;
    s->failed += !is_good && work->kind == MIG_WORK_CREATE;
    s->verify_failed += !is_good && work->kind == MIG_WORK_VERIFY;
    s->wanted = NULL;
    struct mig_work copy = *work;
    pthread_mutex_unlock(&s->lock);
    if (s->told != NULL)
        s->told(&copy);
}

/* Stores the result. Interrupted work has none. */
static enum err remember(struct mig_service *s, const char *id, enum err found, struct errbuf *eb)
{
    struct mig_verified verified = {.finished_us = base_wall_us(), .result = found};
    if (found == ERR_CANCELLED)
        return found;
    if (found != ERR_OK)
        (void)snprintf(verified.error, sizeof verified.error, "%s", eb->text); /* fits */
    enum err rc = mig_backups_set_verified(s->backups, base_slice_text(id), &verified,
                                           found == ERR_OK ? eb : NULL);
    return found == ERR_OK ? rc : found;
}

static void run(struct mig_service *s, struct mig_work *work)
{
    struct errbuf eb = {{0}};
    enum err rc;
    if (work->kind == MIG_WORK_VERIFY) {
        rc = mig_backups_verify(s->backups, base_slice_text(work->id), &s->watch, &eb);
        finish(s, work, remember(s, work->id, rc, &eb), &eb);
        return;
    }
    struct mig_backup_wanted wanted = {
        .now_us = work->started_us, .expires_us = work->expires_us, .note = work->note};
    memcpy(wanted.id, work->id, sizeof wanted.id);
    rc = mig_backups_make(s->backups, &wanted, &s->watch, &eb);
    if (rc == ERR_OK)
        mig_schedule_made(s);
    else
        mig_schedule_next(s, false);
    finish(s, work, rc, &eb);
    if (rc != ERR_OK && s->gone != NULL)
        s->gone(s->registry);
}

static void sweep(struct mig_service *s)
{
    pthread_mutex_lock(&s->lock);
    bool is_due = s->sweeping;
    s->sweeping = false;
    pthread_mutex_unlock(&s->lock);
    if (!is_due || mig_backups_sweep(s->backups, NULL) != ERR_OK)
        return; /* remaining files are swept with the next one, or at the next start */
    if (s->gone != NULL)
        s->gone(s->registry);
}

static void expire(struct mig_service *s)
{
    char id[MIG_BACKUP_ID + 1];
    while (mig_backups_expired(s->backups, base_wall_us(), id) &&
           !is_awaited(s, base_slice_text(id))) {
        const struct ten_action action = {.actor = TEN_ACTOR_SERVER,
                                          .name = "backup.delete",
                                          .target = base_slice_text(id),
                                          .detail = "expired"};
        ten_audit_begin(s->registry, &action);
        enum err rc = mig_service_remove(s, base_slice_text(id), NULL);
        if (ten_audit_end(s->registry, rc, NULL) != ERR_OK)
            return; /* the disk or the engine failed; retried in a second */
    }
}

struct leaving {
    struct mig_service *service;
    char id[MIG_BACKUP_ID + 1];
    bool found;
};

static bool is_left(void *ctx, const char *tenant)
{
    struct leaving *l = ctx;
    const struct ten_tenant *t = ten_tenant_find(l->service->registry, base_slice_text(tenant));
    return t != NULL && ten_state_is_final((enum ten_state)atomic_load(&t->state));
}

/* Control thread. */
static void find_left(void *ctx)
{
    struct leaving *l = ctx;
    l->found = mig_backups_find_left(l->service->backups, is_left, l, l->id);
}

/* Removes backups of tenants whose purge has started. A certificate issued earlier names them, and
 * the second one follows when they are gone. */
static void remove_left(struct mig_service *s)
{
    struct leaving l = {.service = s, .found = true};
    if (base_monotonic_ns() < s->look_ns)
        return;
    s->look_ns = base_monotonic_ns() + MIG_LOOK_S * NS_PER_S / mig_service_hurry();
    while (l.found) {
        ten_control_run(s->registry, find_left, &l);
        if (!l.found || is_awaited(s, base_slice_text(l.id)))
            return;
        const struct ten_action action = {.actor = TEN_ACTOR_SERVER,
                                          .name = "backup.delete",
                                          .target = base_slice_text(l.id),
                                          .detail = "its tenant left"};
        ten_audit_begin(s->registry, &action);
        enum err rc = mig_service_remove(s, base_slice_text(l.id), NULL);
        if (ten_audit_end(s->registry, rc, NULL) != ERR_OK)
            return; /* the disk or the engine failed; retried with the next scan */
    }
}

/* Returns the next work, after at most a second; NULL: check the clock. */
static struct mig_work *wait_for_work(struct mig_service *s)
{
    uint64_t wait_ns = NS_PER_S / mig_service_hurry();
    uint64_t until_ns = base_monotonic_ns() + (wait_ns > WAIT_MIN_NS ? wait_ns : WAIT_MIN_NS);
    const struct timespec until = {.tv_sec = (time_t)(until_ns / NS_PER_S),
                                   .tv_nsec = (long)(until_ns % NS_PER_S)};
    pthread_mutex_lock(&s->lock);
    int rc = 0;
    while (!s->stopping && s->wanted == NULL && !s->sweeping && !mig_queue_is_ready(s) && rc == 0)
        rc = pthread_cond_timedwait(&s->changed, &s->lock, &until);
    struct mig_work *work = s->stopping ? NULL : s->wanted;
    pthread_mutex_unlock(&s->lock);
    return work;
}

static void *thread_main(void *arg)
{
    struct mig_service *s = arg;
    base_class_join(BASE_BACKUP);
    while (!mig_service_is_stopping(s)) {
        struct mig_work *work = wait_for_work(s);
        if (work != NULL)
            run(s, work);
        else
            (void)mig_operation_run_next(s); /* it does not matter whether there was one */
        if (mig_service_is_stopping(s))
            break;
        expire(s);
        remove_left(s);
        sweep(s);
        mig_schedule_look(s);
    }
    return NULL;
}

/* --- life ------------------------------------------------------------------------------------- */

static void service_free(struct mig_service *s)
{
    (void)pthread_cond_destroy(&s->changed); /* no thread waits */
    (void)pthread_mutex_destroy(&s->lock);
    base_free(s->queue.items);
    base_free(s);
}

enum err mig_service_open(const struct mig_service_options *options, struct mig_service **out,
                          struct errbuf *eb)
{
    struct mig_service *s = base_new(sizeof *s);
    pthread_condattr_t attr;
    s->backups = options->backups;
    s->registry = options->registry;
    s->every_s = options->every_s;
    s->keep_s = options->keep_s;
    s->told = options->told;
    s->gone = options->gone;
    s->ended = options->ended;
    s->watch.stop = is_over;
    s->watch.ctx = s;
    (void)pthread_condattr_init(&attr); /* these cannot fail on Linux */
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&s->changed, &attr);
    (void)pthread_condattr_destroy(&attr);
    (void)pthread_mutex_init(&s->lock, NULL);
    mig_schedule_first(s);
    enum err rc = mig_operations_load(s, eb);
    if (rc == ERR_OK) {
        rc = base_thread_start(&s->thread, "backups", thread_main, s);
        if (rc != ERR_OK)
            (void)base_fail(eb, rc, "the thread of backups cannot be started");
    }
    if (rc != ERR_OK) {
        service_free(s);
        return rc;
    }
    *out = s;
    return ERR_OK;
}

void mig_service_close(struct mig_service *s)
{
    if (s == NULL)
        return;
    pthread_mutex_lock(&s->lock);
    s->stopping = true;
    pthread_cond_signal(&s->changed);
    pthread_mutex_unlock(&s->lock);
    INVARIANT(pthread_join(s->thread, NULL) == 0);
    service_free(s);
}
