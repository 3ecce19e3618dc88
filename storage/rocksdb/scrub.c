/*
 * storage/rocksdb/scrub.c - plan, read, record; plan again.
 *
 *   plan     the live files, by when they were scrubbed, or written if they never were: the oldest
 *            first, so that new files, however many there are, never keep it from old ones
 *   read     scrub_file.h, past the page cache, in quanta
 *   record   in memory, appended to the file "scrub"
 *
 * 1. A damaged block is reported to damage.c, which reads the whole file: the scrub stops reading
 *    it.
 * 2. No search trusts a list that was found wrong (search_lists.c). A file without a list gets one
 *    in memory.
 * 3. A file that the disk does not return is a finding. Only a read that a request waits for ends
 *    the process: nothing needs these bytes now.
 * 4. Only the scrub's own thread writes the file; other threads see the records in memory, so it
 *    holds the lock only for changes of those.
 */
#include "storage/rocksdb/scrub.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/share.h"
#include "base/worker.h"
#include "storage/rocksdb/live_files.h"
#include "storage/rocksdb/rdb.h"
#include "storage/rocksdb/scrub_file.h"

#include "base/banned.h"

#define US_PER_S      1000000
#define MS_PER_S      1000
#define NS_PER_MS     1000000L
#define NS_PER_S      1000000000L
#define NAME_BYTES    40
#define RECORDS_SPARE 1024 /* spare records of removed files, before the file is rewritten */

static _Atomic bool test_by_hand;

/* --- waiting ---------------------------------------------------------------------------------- */

static void wait_for_test(struct rdb_scrub *s)
{
    s->is_resting = true;
    pthread_cond_broadcast(&s->changed);
    while (!s->stopping && s->granted == 0)
        (void)pthread_cond_wait(&s->changed, &s->lock);
    s->is_resting = false;
    if (s->granted > 0)
        s->granted--;
}

/* Waits. False: the thread has to end. */
static bool wait_ms(struct rdb_scrub *s, uint64_t ms)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until); /* cannot fail for this clock */
    until.tv_sec += (time_t)(ms / MS_PER_S);
    until.tv_nsec += (long)(ms % MS_PER_S) * NS_PER_MS;
    if (until.tv_nsec >= NS_PER_S) {
        until.tv_nsec -= NS_PER_S;
        until.tv_sec++;
    }
    int rc = 0;
    pthread_mutex_lock(&s->lock);
    if (s->by_hand)
        wait_for_test(s);
    while (!s->by_hand && !s->stopping && rc == 0)
        rc = pthread_cond_timedwait(&s->changed, &s->lock, &until);
    bool goes_on = !s->stopping;
    pthread_mutex_unlock(&s->lock);
    return goes_on;
}

/* Waits until there may be new files. */
static bool wait_idle(struct rdb_scrub *s)
{
    pthread_mutex_lock(&s->lock);
    s->granted = 0;
    pthread_mutex_unlock(&s->lock);
    return wait_ms(s, RDB_SCRUB_PLAN_S * MS_PER_S);
}

static bool is_stopping(struct rdb_scrub *s)
{
    pthread_mutex_lock(&s->lock);
    bool stopping = s->stopping;
    pthread_mutex_unlock(&s->lock);
    return stopping;
}

/* Charges the budget before bytes are read. */
static enum err pass_bytes(struct rdb_scrub *s, uint64_t bytes)
{
    while (s->budget_bytes <= 0) {
        if (!wait_ms(s, MS_PER_S / RDB_SCRUB_QUANTA))
            return ERR_CANCELLED;
        s->budget_bytes += (int64_t)(atomic_load(&s->bytes_per_s) / RDB_SCRUB_QUANTA);
        atomic_fetch_add(&s->quanta, 1);
    }
    s->budget_bytes -= (int64_t)bytes;
    atomic_fetch_add(&s->bytes, bytes);
    return is_stopping(s) ? ERR_CANCELLED : ERR_OK;
}

/* --- one file --------------------------------------------------------------------------------- */

struct planned {
    uint64_t number;
    uint64_t bytes;
    int64_t since_us; /* when it was scrubbed, or written */
    bool is_due;
};

static void finding_count(struct rdb_scrub *s, enum sto_scrub_kind kind, uint64_t number)
{
    atomic_store(&s->last_file[kind], number);
    atomic_fetch_add(&s->findings[kind], 1);
}

static enum err read_pass(void *ctx, uint64_t bytes)
{
    return pass_bytes(ctx, bytes);
}

static void record_add(struct rdb_scrub *s, const struct rdb_scrubbed *made)
{
    pthread_mutex_lock(&s->lock);
    sto_rdb_scrub_log_set(&s->log, made);
    pthread_mutex_unlock(&s->lock);
    struct errbuf eb;
    if (sto_rdb_scrub_log_append(&s->log, made, &eb) == ERR_IO) /* disk full: it stays in memory */
        sto_rdb_fail_text(s->engine, eb.text);
}

/* Scrubs the copy of a sound file. False: it was not read to its end, for the same reasons as a
 * file. */
static bool copy_scrub(struct rdb_scrub *s, uint64_t number)
{
    enum err rc = sto_rdb_meta_copies_scrub(s->engine, number, read_pass, s);
    if (rc == ERR_CORRUPT)
        finding_count(s, STO_SCRUB_COPY, number);
    return rc == ERR_OK || rc == ERR_CORRUPT;
}

static void file_scrub(struct rdb_scrub *s, const struct planned *file)
{
    struct rdb_scrub_file read = {
        .engine = s->engine, .number = file->number, .pass = read_pass, .ctx = s};
    struct rdb_scrubbed made = {
        .number = file->number, .bytes = file->bytes, .at_us = base_wall_us()};
    enum err rc = sto_rdb_scrub_file(&read);
    if (rc == ERR_CANCELLED || rc == ERR_NOT_FOUND || rc == ERR_NO_MEMORY)
        return; /* closing; replaced; planned again */
    if (rc == ERR_CORRUPT) {
        finding_count(s, STO_SCRUB_BLOCK, file->number);
        sto_rdb_damage_found(s->engine, &read.block);
    } else if (rc != ERR_OK) {
        finding_count(s, STO_SCRUB_UNREADABLE, file->number);
    }
    if (read.is_list_wrong)
        finding_count(s, STO_SCRUB_LIST, file->number);
    if (rc == ERR_OK && !copy_scrub(s, file->number))
        return;
    made.result = rc != ERR_OK         ? RDB_SCRUB_DAMAGED
                  : read.is_list_wrong ? RDB_SCRUB_LIST_WRONG
                                       : RDB_SCRUB_SOUND;
    record_add(s, &made);
    atomic_fetch_add(&s->files, 1);
}

/* --- all files -------------------------------------------------------------------------------- */

struct plan {
    size_t count;
    struct planned *of;
    uint64_t *numbers;
};

static int compare_age(const void *a, const void *b)
{
    const struct planned *left = a;
    const struct planned *right = b;
    if (left->since_us != right->since_us)
        return left->since_us < right->since_us ? -1 : 1;
    return left->number < right->number ? -1 : left->number > right->number;
}

static int compare_numbers(const void *a, const void *b)
{
    const uint64_t *left = a;
    const uint64_t *right = b;
    return *left < *right ? -1 : *left > *right;
}

static int64_t written_at(const struct rdb_scrub *s, const char *name)
{
    char path[BASE_PATH_BYTES];
    char inside[NAME_BYTES];
    struct stat st;
    (void)snprintf(inside, sizeof inside, "db/%s", name);
    if (base_path_join(path, s->engine->dir, inside, NULL) != ERR_OK || stat(path, &st) != 0)
        return 0; /* gone, which the scrub finds, or unreadable, which it reports */
    return (int64_t)st.st_mtim.tv_sec * US_PER_S + st.st_mtim.tv_nsec / MS_PER_S;
}

/* Returns whether the time is over. A time in the future means that the clock was set back. */
static bool is_over(int64_t since_us, int64_t now_us, int64_t after_s)
{
    return since_us > now_us || now_us - since_us >= after_s * US_PER_S;
}

static void file_plan(struct rdb_scrub *s, struct planned *p, const char *name, int64_t now_us)
{
    struct rdb_scrubbed known;
    if (!sto_rdb_scrub_find(s, p->number, p->bytes, &known)) {
        p->since_us = written_at(s, name);
        p->is_due = s->by_hand || is_over(p->since_us, now_us, RDB_SCRUB_YOUNG_S);
        return;
    }
    p->since_us = known.at_us;
    p->is_due = is_over(p->since_us, now_us, RDB_SCRUB_REST_S) ||
                (known.result == RDB_SCRUB_DAMAGED && known.at_us < s->opened_us);
}

uint64_t sto_rdb_scrub_rate(uint64_t option, uint64_t all_bytes)
{
    uint64_t weekly = all_bytes / RDB_SCRUB_PERIOD_S;
    if (option != STO_SCRUB_AUTO)
        return option;
    return weekly < RDB_SCRUB_LEAST_BYTES_PER_S ? RDB_SCRUB_LEAST_BYTES_PER_S : weekly;
}

/* Removes records of removed files; once after the start, and when the file has many. */
static void log_tidy(struct rdb_scrub *s, const struct plan *plan)
{
    struct buf bytes;
    struct errbuf eb = {{0}};
    pthread_mutex_lock(&s->lock);
    sto_rdb_scrub_log_keep(&s->log, plan->numbers, plan->count);
    bool is_long = s->log.stored > 2 * s->log.count + RECORDS_SPARE;
    enum err rc = s->is_loaded && !is_long ? ERR_OK : sto_rdb_scrub_log_encode(&s->log, &bytes);
    pthread_mutex_unlock(&s->lock);
    if (s->is_loaded && !is_long)
        return;
    if (rc == ERR_OK)
        rc = sto_rdb_scrub_log_rewrite(&s->log, base_buf_slice(&bytes), &eb);
    s->is_loaded = rc == ERR_OK; /* disk full: retried with the next plan */
    base_buf_fini(&bytes);
    if (rc == ERR_IO)
        sto_rdb_fail_text(s->engine, eb.text);
}

static struct plan plan_make(struct rdb_scrub *s)
{
    struct rdb_live_files live;
    int64_t now_us = base_wall_us();
    uint64_t all_bytes = 0;
    sto_rdb_live_files_open(s->engine->db.handle, &live);
    sto_rdb_file_lists_keep(&s->engine->file_lists, &live);
    struct plan plan = {.count = live.count,
                        .of = base_new_array(live.count + 1, sizeof plan.of[0]),
                        .numbers = base_new_array(live.count + 1, sizeof plan.numbers[0])};
    for (size_t i = 0; i < live.count; i++) {
        struct planned *p = &plan.of[i];
        struct rdb_live_file f;
        sto_rdb_live_files_get(&live, live.names[i].index, &f);
        p->number = f.number;
        p->bytes = f.bytes;
        file_plan(s, p, f.name, now_us);
        plan.numbers[i] = p->number;
        all_bytes += p->bytes;
    }
    sto_rdb_live_files_close(&live);
    qsort(plan.of, plan.count, sizeof plan.of[0], compare_age);
    qsort(plan.numbers, plan.count, sizeof plan.numbers[0], compare_numbers);
    atomic_store(&s->bytes_per_s,
                 sto_rdb_scrub_rate(s->engine->options.scrub_bytes_per_s, all_bytes));
    log_tidy(s, &plan);
    return plan;
}

static void plan_free(struct plan *plan)
{
    base_free(plan->of);
    base_free(plan->numbers);
}

/* Scrubs the plan. Files that are not due keep their age; of those that are due, the next one is
 * the oldest. */
static void plan_run(struct rdb_scrub *s, const struct plan *plan)
{
    int64_t resting_us = base_wall_us();
    for (size_t i = plan->count; i-- > 0;)
        if (!plan->of[i].is_due && plan->of[i].since_us < resting_us)
            resting_us = plan->of[i].since_us;
    for (size_t i = 0; i < plan->count && !is_stopping(s); i++) {
        const struct planned *p = &plan->of[i];
        if (!p->is_due)
            continue;
        atomic_store(&s->oldest_us, p->since_us < resting_us ? p->since_us : resting_us);
        file_scrub(s, p);
    }
    if (!is_stopping(s))
        atomic_store(&s->oldest_us, resting_us);
}

static void *thread_main(void *arg)
{
    struct rdb_scrub *s = arg;
    sto_rdb_uncounted();
    base_class_join(BASE_SCRUB);
    bool goes_on = wait_ms(s, MS_PER_S / RDB_SCRUB_QUANTA);
    while (goes_on) {
        struct plan plan = plan_make(s);
        plan_run(s, &plan);
        plan_free(&plan);
        goes_on = wait_idle(s);
    }
    return NULL;
}

/* --- creation -------------------------------------------------------------------------------- */

void sto_rdb_scrub_init(struct rdb_scrub *s, struct rdb_engine *e)
{
    pthread_condattr_t attr;
    s->engine = e;
    (void)pthread_condattr_init(&attr); /* these four cannot fail on Linux */
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&s->changed, &attr);
    (void)pthread_condattr_destroy(&attr);
    (void)pthread_mutex_init(&s->lock, NULL); /* default attributes: cannot fail */
}

void sto_rdb_scrub_fini(struct rdb_scrub *s)
{
    sto_rdb_scrub_log_close(&s->log);
    (void)pthread_cond_destroy(&s->changed); /* no thread waits */
    (void)pthread_mutex_destroy(&s->lock);
}

enum err sto_rdb_scrub_load(struct rdb_scrub *s, bool is_new, struct errbuf *eb)
{
    const char *dir = s->engine->dir;
    enum err rc = is_new ? sto_rdb_scrub_log_remove(dir, eb) : ERR_OK;
    return rc == ERR_OK ? sto_rdb_scrub_log_open(&s->log, dir, eb) : rc;
}

enum err sto_rdb_scrub_start(struct rdb_scrub *s)
{
    if (s->engine->options.scrub_bytes_per_s == 0)
        return ERR_OK;
    s->by_hand = atomic_load(&test_by_hand);
    s->opened_us = base_wall_us();
    enum err rc = base_thread_start(&s->thread, "scrub", thread_main, s);
    s->started = rc == ERR_OK;
    return rc;
}

void sto_rdb_scrub_stop(struct rdb_scrub *s)
{
    if (!s->started)
        return;
    pthread_mutex_lock(&s->lock);
    s->stopping = true;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    INVARIANT(pthread_join(s->thread, NULL) == 0);
    s->started = false;
}

/* --- records --------------------------------------------------------------------------------- */

bool sto_rdb_scrub_find(struct rdb_scrub *s, uint64_t number, uint64_t bytes,
                        struct rdb_scrubbed *out)
{
    pthread_mutex_lock(&s->lock);
    const struct rdb_scrubbed *found = sto_rdb_scrub_log_find(&s->log, number, bytes);
    if (found != NULL)
        *out = *found;
    pthread_mutex_unlock(&s->lock);
    return found != NULL;
}

void sto_rdb_scrub_get(struct rdb_scrub *s, struct sto_scrub *out)
{
    *out = (struct sto_scrub){.bytes_per_s = atomic_load(&s->bytes_per_s),
                              .bytes = atomic_load(&s->bytes),
                              .files = atomic_load(&s->files),
                              .oldest_us = atomic_load(&s->oldest_us)};
    for (size_t i = 0; i < STO_SCRUB_KINDS; i++) {
        out->findings[i] = atomic_load(&s->findings[i]);
        out->last_file[i] = atomic_load(&s->last_file[i]);
    }
}

void sto_rdb_scrub_doubt(struct rdb_scrub *s, uint64_t number, uint64_t bytes)
{
    const struct rdb_scrubbed made = {
        .number = number, .bytes = bytes, .at_us = base_wall_us(), .result = RDB_SCRUB_LIST_WRONG};
    pthread_mutex_lock(&s->lock);
    sto_rdb_scrub_log_set(&s->log, &made); /* in memory: every search reports it again */
    pthread_mutex_unlock(&s->lock);
    finding_count(s, STO_SCRUB_LIST, number);
}

/* --- test tools ------------------------------------------------------------------------------- */

void sto_rdb_test_scrub_by_hand(bool by_hand)
{
    atomic_store(&test_by_hand, by_hand);
}

void sto_rdb_test_scrub(struct rdb_engine *e, uint64_t quanta)
{
    struct rdb_scrub *s = &e->scrub;
    pthread_mutex_lock(&s->lock);
    s->granted = quanta;
    pthread_cond_broadcast(&s->changed);
    do
        (void)pthread_cond_wait(&s->changed, &s->lock);
    while (!s->is_resting || s->granted > 0);
    pthread_mutex_unlock(&s->lock);
}
