/*
 * base/share.c - nice values that follow lag.
 *
 * 1. The nice of a class is set under the lock, for all its threads at once: a thread that joins
 *    gets it.
 * 2. A thread's own entry is in its own memory; the thread removes it from the list when it ends.
 * 3. Nice is absolute: RocksDB creates threads from any thread that calls it first, and they
 *    inherit its nice. The main thread is in no class and keeps the nice that the program was
 *    started with.
 */
#define _GNU_SOURCE

#include "base/share.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/worker.h"

#include "base/banned.h"

#define NS_PER_S      1000000000ULL
#define NICE_FIRST    (-20)
#define NICE_LAST     19
#define RISE_MOST     10        /* for all classes */
#define SHORT_TURN_NS 500000    /* the system's own: 0.7 ms or more */
#define SMALL_TURN_NS 100000    /* the minimum that the system accepts */
#define IOPRIO_THREAD 1         /* ioprio_set(2); linux/ioprio.h is not everywhere */
#define IOPRIO_NONE   0         /* by nice */
#define IOPRIO_IDLE   (3 << 13) /* only while no other thread wants the disk */

/* Nice values; a step of 5 is a factor of three. */
struct share {
    const char *name;
    int least;        /* without lag */
    int most;         /* with full lag */
    int fixed;        /* where priorities cannot be raised */
    uint64_t turn_ns; /* time slice; 0: the system's */
    bool disk_last;   /* without lag: idle class of the disk */
};

static const struct share SHARES[BASE_CLASSES] = {
    [BASE_SERVE] = {"serve", -5, -5, 0, SHORT_TURN_NS, false},
    [BASE_COMMIT] = {"commit", -5, -5, 0, SMALL_TURN_NS, false},
    [BASE_FLUSH] = {"flush", 0, -10, 0, 0, false},
    [BASE_SCAN] = {"scan", 5, 5, 5, 0, false},
    [BASE_COMPACT] = {"compact", 10, -10, 5, 0, false},
    [BASE_ERASE] = {"erase", 10, -10, 5, SMALL_TURN_NS, true},
    [BASE_BACKUP] = {"backup", 10, 0, 10, SMALL_TURN_NS, true},
    [BASE_SCRUB] = {"scrub", 10, 10, 10, SMALL_TURN_NS, true},
};

/* A thread in a class. */
struct member {
    struct member *next, **link; /* link: the pointer to it; NULL: in no class */
    enum base_class class;
    pthread_t thread;
    id_t tid;
    uint64_t before_ns; /* processor time when it joined */
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t at_end;
static int own;   /* nice that the program was started with */
static int first; /* the lowest that the system permits; own: it cannot raise priorities */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects the following */
static struct class {
    struct member *first;
    uint32_t lag;
    uint64_t ended_ns; /* processor time of threads that left */
} classes[BASE_CLASSES];

static _Thread_local struct member self;

/* --- one thread ------------------------------------------------------------------------------- */

/* sched_setattr(2); glibc 2.36 does not declare it, and the kernel's header clashes with its own.
 */
struct attributes {
    uint32_t size;
    uint32_t policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime;
    uint64_t deadline;
    uint64_t period;
};

static void set_turns(uint64_t ns)
{
    struct attributes attr = {.size = sizeof attr};
    if (syscall(SYS_sched_getattr, 0, &attr, sizeof attr, 0) != 0 || attr.policy != SCHED_OTHER)
        return; /* unchanged: the program was started with another policy */
    attr.size = sizeof attr;
    attr.runtime = ns;
    (void)syscall(SYS_sched_setattr, 0, &attr, 0); /* if refused: unchanged */
}

static int nice_at(const struct share *s, uint32_t lag)
{
    int by = s->least + (s->most - s->least) * (int)lag / BASE_LAG_FULL;
    int nice = own + (first < own ? by : s->fixed);
    return nice < first ? first : nice > NICE_LAST ? NICE_LAST : nice;
}

static void place(const struct member *m)
{
    const struct share *s = &SHARES[m->class];
    uint32_t lag = classes[m->class].lag;
    (void)setpriority(PRIO_PROCESS, m->tid, nice_at(s, lag)); /* if refused: unchanged */
    if (s->disk_last)
        (void)syscall(SYS_ioprio_set, IOPRIO_THREAD, m->tid, lag == 0 ? IOPRIO_IDLE : IOPRIO_NONE);
}

/* Returns the processor time since the thread joined. */
static uint64_t cpu_ns_of(const struct member *m)
{
    clockid_t clock;
    struct timespec t;
    if (pthread_getcpuclockid(m->thread, &clock) != 0 || clock_gettime(clock, &t) != 0)
        return 0;
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec - m->before_ns;
}

/* --- all threads ------------------------------------------------------------------------------ */

static void leave(void *member)
{
    struct member *m = member;
    pthread_mutex_lock(&lock);
    classes[m->class].ended_ns += cpu_ns_of(m);
    *m->link = m->next;
    if (m->next != NULL)
        m->next->link = m->link;
    m->link = NULL;
    pthread_mutex_unlock(&lock);
}

static void *try_to_rise(void *arg)
{
    (void)arg;
    first = own - RISE_MOST < NICE_FIRST ? NICE_FIRST : own - RISE_MOST;
    while (first < own && setpriority(PRIO_PROCESS, (id_t)gettid(), first) != 0)
        first++;
    return NULL;
}

static void look_once(void)
{
    int error = pthread_key_create(&at_end, leave);
    INVARIANT(error == 0);
    own = getpriority(PRIO_PROCESS, (id_t)getpid()); /* Linux: of the main thread */
    first = own;
    pthread_t thread;
    if (base_thread_start(&thread, "look-at-nice", try_to_rise, NULL) != ERR_OK)
        return;
    error = pthread_join(thread, NULL);
    INVARIANT(error == 0);
}

void base_class_join(enum base_class c)
{
    INVARIANT((unsigned)c < BASE_CLASSES);
    struct member *m = &self;
    if (m->link != NULL && m->class == c)
        return;
    (void)pthread_once(&once, look_once);
    if (m->link != NULL)
        leave(m);
    int error = pthread_setspecific(at_end, m);
    INVARIANT(error == 0);
    m->class = c;
    m->thread = pthread_self();
    m->tid = (id_t)gettid();
    m->before_ns = 0;
    m->before_ns = cpu_ns_of(m);
    if (SHARES[c].turn_ns > 0)
        set_turns(SHARES[c].turn_ns);
    pthread_mutex_lock(&lock);
    m->next = classes[c].first;
    m->link = &classes[c].first;
    if (m->next != NULL)
        m->next->link = &m->next;
    classes[c].first = m;
    place(m);
    pthread_mutex_unlock(&lock);
}

void base_class_lag(enum base_class c, uint32_t lag)
{
    const struct share *s = &SHARES[c];
    (void)pthread_once(&once, look_once);
    pthread_mutex_lock(&lock);
    uint32_t before = classes[c].lag;
    classes[c].lag = lag < BASE_LAG_FULL ? lag : BASE_LAG_FULL;
    if (nice_at(s, before) != nice_at(s, classes[c].lag) || (before == 0) != (lag == 0))
        for (const struct member *m = classes[c].first; m != NULL; m = m->next)
            place(m);
    pthread_mutex_unlock(&lock);
}

/* Returns the weight of a nice: a step is a factor of 1.25, as in the kernel's own table. */
static uint32_t weight_of(int by)
{
    double weight = 1000;
    for (; by < 0; by++)
        weight *= 1.25;
    for (; by > 0; by--)
        weight /= 1.25;
    return (uint32_t)(weight + 0.5);
}

void base_class_get(enum base_class c, struct base_class_now *out)
{
    (void)pthread_once(&once, look_once);
    pthread_mutex_lock(&lock);
    *out = (struct base_class_now){
        .name = SHARES[c].name,
        .lag = classes[c].lag,
        .nice = nice_at(&SHARES[c], classes[c].lag),
        .cpu_ns = classes[c].ended_ns,
    };
    out->weight = weight_of(out->nice - own);
    for (const struct member *m = classes[c].first; m != NULL; m = m->next) {
        out->cpu_ns += cpu_ns_of(m);
        out->threads++;
    }
    pthread_mutex_unlock(&lock);
}

/* --- work on a thread of its own -------------------------------------------------------------- */

void base_yield(void)
{
    (void)sched_yield(); /* cannot fail on Linux */
}

void base_yield_every(uint32_t *inout_calls, uint32_t every)
{
    if (++*inout_calls < every)
        return;
    *inout_calls = 0;
    base_yield();
}

struct apart {
    enum base_class class;
    void (*fn)(void *ctx);
    void *ctx;
};

static void *run_apart(void *arg)
{
    const struct apart *a = arg;
    base_class_join(a->class);
    a->fn(a->ctx);
    return NULL;
}

void base_run_apart(const char *name, enum base_class c, void (*fn)(void *ctx), void *ctx)
{
    struct apart a = {.class = c, .fn = fn, .ctx = ctx};
    pthread_t thread;
    if (base_thread_start(&thread, name, run_apart, &a) != ERR_OK) {
        fn(ctx);
        return;
    }
    int error = pthread_join(thread, NULL);
    INVARIANT(error == 0);
}
