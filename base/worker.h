/*
 * base/worker.h - a named thread that runs the messages of a mailbox in order; creation of threads.
 *
 * Does:     starts, runs messages in order, stops after all messages sent before the stop.
 * Owns:     its thread and mailbox.
 * May use:  base/.
 * Knows no: the work of the messages; they may block, which is the purpose of the thread.
 * Threads:  post from any; start and stop from one.
 * Blocks:   base_worker_stop joins its thread.
 * Fails by: ERR_NO_MEMORY, ERR_IO if the thread cannot be created.
 * Limits:   stack of LIM_THREAD_STACK_BYTES.
 * Promises: 1. Every message posted before stop has run when stop returns.
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

/* Starts the thread. name: at most 15 characters, shown by top -H. */
enum err base_worker_start(struct base_worker *w, const char *name) MUST_CHECK;
void base_worker_post(struct base_worker *w, struct base_msg *msg);
/* Stops the thread. No other thread may post any more. Accepts a zeroed worker. */
void base_worker_stop(struct base_worker *w);

/* Starts a plain thread with our stack size and name; every thread of the program is created here.
 * Signals sent to the process are blocked in it: only the main thread receives them. */
enum err base_thread_start(pthread_t *out, const char *name, void *(*run)(void *),
                           void *arg) MUST_CHECK;

#endif
