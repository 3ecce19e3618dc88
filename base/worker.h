/*
 * base/worker.h - a named thread that runs the messages of a mailbox, one after the other; how
 *                 threads are made.
 *
 * Does:     start, run messages in order, stop after what was sent before the stop.
 * Owns:     its thread and mailbox.
 * May use:  base/.
 * Knows no: what the messages do; they may block, that is what the thread is for.
 * Threads:  post from any; start and stop from one.
 * Blocks:   base_worker_stop joins its thread.
 * Fails by: ERR_NO_MEMORY, ERR_IO when the thread cannot be made.
 * Limits:   stack of LIM_THREAD_STACK_BYTES.
 * Promises: 1. Everything posted before stop has run when stop returns.
 */
#ifndef BASE_WORKER_H
#define BASE_WORKER_H

#include <pthread.h>

#include "base/mailbox.h"

struct base_worker {
    struct base_mailbox mailbox;
    pthread_t thread;
    struct base_msg stop_msg;
    bool stopping;
};

/* name: at most 15 characters, shown by top -H. */
enum err base_worker_start(struct base_worker *w, const char *name) MUST_CHECK;
void base_worker_post(struct base_worker *w, struct base_msg *msg);
/* Nothing may be posted any more by others. Fine on a zeroed worker. */
void base_worker_stop(struct base_worker *w);

/* A plain thread with our stack size and name; every thread of the program is made here. Signals
 * sent to the process are blocked in it: they are the main thread's. */
enum err base_thread_start(pthread_t *out, const char *name, void *(*run)(void *),
                           void *arg) MUST_CHECK;

#endif
