/*
 * base/worker.c - threads, and the one that runs a mailbox.
 *
 * Mechanism: stop is a message like any other, so the mailbox's order makes promise 1: what was
 * posted before it runs before it. `stopping` is written and read by the worker's thread alone.
 */
#define _GNU_SOURCE

#include "base/worker.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/limits.h"

#include "base/banned.h"

#define NAME_MAX_CHARS 15     /* the kernel's 16 with its NUL */
#define SHORT_TURN_NS  500000 /* the system: 0.7 ms or more */
#define SMALL_TURN_NS  100000 /* the least that the system takes */
#define NICE_AHEAD     5
#define NICE_LONG_WORK 5
#define NICE_BEHIND    10
#define IOPRIO_THREAD  1         /* ioprio_set(2); linux/ioprio.h is not everywhere */
#define IOPRIO_IDLE    (3 << 13) /* when nobody else wants the disk */

/* Signals are the main thread's; what a thread does to itself (SIGSEGV) still kills. */
static void fill_blocked_signals(sigset_t *set)
{
    static const int SELF_MADE[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
    (void)sigfillset(set); /* fails only for a bad address */
    for (size_t i = 0; i < sizeof SELF_MADE / sizeof SELF_MADE[0]; i++)
        (void)sigdelset(set, SELF_MADE[i]); /* fails only for a bad number */
}

static int create_thread(pthread_t *out, const pthread_attr_t *attr, void *(*run)(void *),
                         void *arg)
{
    sigset_t blocked, before;
    fill_blocked_signals(&blocked);
    int error = pthread_sigmask(SIG_SETMASK, &blocked, &before);
    INVARIANT(error == 0);
    int result = pthread_create(out, attr, run, arg); /* inherits the mask */
    error = pthread_sigmask(SIG_SETMASK, &before, NULL);
    INVARIANT(error == 0);
    return result;
}

enum err base_thread_start(pthread_t *out, const char *name, void *(*run)(void *), void *arg)
{
    INVARIANT(strlen(name) <= NAME_MAX_CHARS);
    pthread_attr_t attr;
    if (pthread_attr_init(&attr) != 0)
        return ERR_NO_MEMORY;
    pthread_t thread;
    int error = pthread_attr_setstacksize(&attr, LIM_THREAD_STACK_BYTES);
    if (error == 0)
        error = create_thread(&thread, &attr, run, arg);
    (void)pthread_attr_destroy(&attr); /* cannot fail on Linux */
    if (error != 0)
        return error == EAGAIN || error == ENOMEM ? ERR_NO_MEMORY : ERR_IO;
    (void)pthread_setname_np(thread, name); /* a label; it may have ended already */
    *out = thread;
    return ERR_OK;
}

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
        return; /* as it was: whoever started the program chose otherwise */
    attr.size = sizeof attr;
    attr.runtime = ns;
    (void)syscall(SYS_sched_setattr, 0, &attr, 0); /* refused: as it was */
}

/* Of what the thread has, which the program was started with: a server at nice 10 has the same
 * order among its threads. Refused: as it was. */
static void change_nice(int by)
{
    id_t self = (id_t)gettid();
    (void)setpriority(PRIO_PROCESS, self, getpriority(PRIO_PROCESS, self) + by);
}

void base_thread_ahead_of_others(void)
{
    change_nice(-NICE_AHEAD);
    set_turns(SHORT_TURN_NS);
}

void base_thread_long_work(void)
{
    change_nice(NICE_LONG_WORK);
}

void base_thread_behind_others(void)
{
    change_nice(NICE_BEHIND);
    (void)syscall(SYS_ioprio_set, IOPRIO_THREAD, 0, IOPRIO_IDLE);
    set_turns(SMALL_TURN_NS); /* what is left of a turn is lost when it is given away */
}

void base_yield_every(uint32_t *inout_calls, uint32_t every)
{
    if (++*inout_calls < every)
        return;
    *inout_calls = 0;
    (void)sched_yield(); /* cannot fail on Linux */
}

struct apart {
    void (*standing)(void);
    void (*fn)(void *ctx);
    void *ctx;
};

static void *run_apart(void *arg)
{
    const struct apart *a = arg;
    a->standing();
    a->fn(a->ctx);
    return NULL;
}

void base_run_apart(const char *name, void (*standing)(void), void (*fn)(void *ctx), void *ctx)
{
    struct apart a = {.standing = standing, .fn = fn, .ctx = ctx};
    pthread_t thread;
    if (base_thread_start(&thread, name, run_apart, &a) != ERR_OK) {
        fn(ctx);
        return;
    }
    int error = pthread_join(thread, NULL);
    INVARIANT(error == 0);
}

static void run_stop(struct base_msg *msg)
{
    struct base_worker *w =
        (struct base_worker *)((char *)msg - offsetof(struct base_worker, stop_msg));
    w->stopping = true;
}

static void *run_worker(void *arg)
{
    struct base_worker *w = arg;
    while (!w->stopping) {
        base_mailbox_wait(&w->mailbox, -1);
        (void)base_mailbox_run(&w->mailbox); /* the count is of no interest here */
    }
    return NULL;
}

enum err base_worker_start(struct base_worker *w, const char *name)
{
    memset(w, 0, sizeof *w);
    enum err e = base_mailbox_init(&w->mailbox);
    if (e != ERR_OK)
        return e;
    w->stop_msg.run = run_stop;
    e = base_thread_start(&w->thread, name, run_worker, w);
    if (e != ERR_OK)
        base_mailbox_fini(&w->mailbox);
    return e;
}

void base_worker_post(struct base_worker *w, struct base_msg *msg)
{
    base_mailbox_push(&w->mailbox, msg);
}

void base_worker_stop(struct base_worker *w)
{
    if (w == NULL || w->mailbox.wake_fd <= 0)
        return;
    base_mailbox_push(&w->mailbox, &w->stop_msg);
    int error = pthread_join(w->thread, NULL);
    INVARIANT(error == 0);
    base_mailbox_fini(&w->mailbox);
}
