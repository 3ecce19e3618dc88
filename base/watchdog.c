/*
 * base/watchdog.c - detects a thread that computes for long without starting its next piece of
 * work.
 *
 * Mechanism: four times in BASE_WATCHDOG_MS each thread's rounds and its processor clock are read.
 * The clock's advance while the rounds did not change is the compute time of the round.
 *
 * Memory orders: a round seen late only delays a report by one scan; relaxed is enough. Rounds
 * start at 1, so that overdue never matches one by chance.
 */
#define _GNU_SOURCE
#include "base/watchdog.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "base/worker.h"

#include "base/banned.h"

#define NS_PER_MS  1000000ULL
#define NS_PER_S   1000000000ULL
#define LOOK_MS    (BASE_WATCHDOG_MS / 4)
#define NAME_BYTES 16

struct place {
    struct base_watched watched;
    bool is_taken;
    char name[NAME_BYTES];
    clockid_t clock;
    /* used by the watchdog only */
    uint64_t seen_rounds;
    uint64_t clock_ns;   /* at the last scan */
    uint64_t compute_ns; /* of the current round */
};

_Thread_local struct base_watched *base_watched_here;
_Atomic bool base_watchdog_test_hurry;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct place places[BASE_WATCHDOG_THREADS]; /* under the mutex, except for `watched` */
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key; /* its destructor releases a place when the thread ends */
static pthread_t watcher;
static bool is_started;
static _Atomic bool is_stopping;
static _Atomic uint64_t reports;
static void (*report_to)(const char *name, const char *what, uint64_t ms);

static uint64_t clock_ns(const struct place *p)
{
    struct timespec now;
    if (clock_gettime(p->clock, &now) != 0)
        return p->clock_ns; /* the thread has ended: no further time */
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* Scans a thread. Between two scans it may have started a new round: that interval is not
 * counted. */
static void look(struct place *p)
{
    uint64_t rounds = atomic_load_explicit(&p->watched.rounds, memory_order_relaxed);
    uint64_t now_ns = clock_ns(p);
    uint64_t used_ns = now_ns - p->clock_ns;
    p->clock_ns = now_ns;
    if (rounds != p->seen_rounds) {
        p->seen_rounds = rounds;
        p->compute_ns = 0;
        return;
    }
    bool was_over = p->compute_ns >= BASE_WATCHDOG_MS * NS_PER_MS;
    p->compute_ns += used_ns;
    if (was_over || p->compute_ns < BASE_WATCHDOG_MS * NS_PER_MS)
        return;
    const char *what = atomic_load_explicit(&p->watched.what, memory_order_relaxed);
    atomic_store_explicit(&p->watched.overdue, rounds, memory_order_relaxed);
    atomic_fetch_add_explicit(&reports, 1, memory_order_relaxed);
    report_to(p->name, what == NULL ? "-" : what, p->compute_ns / NS_PER_MS);
}

static void *run(void *unused)
{
    const struct timespec pause = {.tv_nsec = LOOK_MS * (long)NS_PER_MS};
    (void)unused;
    while (!atomic_load_explicit(&is_stopping, memory_order_relaxed)) {
        (void)nanosleep(&pause, NULL); /* if woken early: scans early */
        pthread_mutex_lock(&mutex);
        for (size_t i = 0; i < BASE_WATCHDOG_THREADS; i++)
            if (places[i].is_taken)
                look(&places[i]);
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

enum err base_watchdog_start(void (*report)(const char *name, const char *what, uint64_t ms))
{
    INVARIANT(!is_started);
    report_to = report;
    atomic_store(&is_stopping, false);
    enum err e = base_thread_start(&watcher, "watchdog", run, NULL);
    is_started = e == ERR_OK;
    return e;
}

void base_watchdog_stop(void)
{
    if (!is_started)
        return;
    atomic_store(&is_stopping, true);
    int error = pthread_join(watcher, NULL);
    INVARIANT(error == 0);
    is_started = false;
}

uint64_t base_watchdog_reports(void)
{
    return atomic_load_explicit(&reports, memory_order_relaxed);
}

static void leave(void *place)
{
    struct place *p = place;
    pthread_mutex_lock(&mutex);
    p->is_taken = false;
    pthread_mutex_unlock(&mutex);
}

static void key_make(void)
{
    int error = pthread_key_create(&key, leave);
    INVARIANT(error == 0);
}

void base_watchdog_join(const char *name)
{
    size_t len = strnlen(name, NAME_BYTES - 1);
    INVARIANT(base_watched_here == NULL);
    (void)pthread_once(&key_once, key_make); /* cannot fail on Linux */
    pthread_mutex_lock(&mutex);
    for (size_t i = 0; i < BASE_WATCHDOG_THREADS && base_watched_here == NULL; i++) {
        struct place *p = &places[i];
        if (p->is_taken)
            continue;
        memset(p, 0, sizeof *p);
        memcpy(p->name, name, len);
        p->is_taken = pthread_getcpuclockid(pthread_self(), &p->clock) == 0;
        p->clock_ns = clock_ns(p);
        atomic_store_explicit(&p->watched.rounds, 1, memory_order_relaxed);
        if (p->is_taken && pthread_setspecific(key, p) == 0)
            base_watched_here = &p->watched;
        p->is_taken = base_watched_here != NULL;
    }
    pthread_mutex_unlock(&mutex);
}
