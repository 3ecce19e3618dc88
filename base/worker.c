/*
 * base/worker.c - threads, and the thread that runs a mailbox.
 *
 * Mechanism: stop is a message like any other, so the mailbox's order implies promise 1: messages
 * posted before it run before it. `stopping` is written and read by the worker's thread only.
 */
#define _GNU_SOURCE

#include "base/worker.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>

#include "base/limits.h"

#include "base/banned.h"

#define NAME_MAX_CHARS 15 /* the kernel's 16 with the NUL */

/* Blocks all signals except those that a thread raises itself (SIGSEGV), which still kill. All
 * others go to the main thread. */
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
    (void)pthread_setname_np(thread, name); /* a label; the thread may have ended already */
    *out = thread;
    return ERR_OK;
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
        (void)base_mailbox_run(&w->mailbox); /* the count is not needed here */
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
