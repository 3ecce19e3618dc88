/*
 * base/worker.h - a named thread that runs the messages of a mailbox, one after the other; how
 *                 threads are made, and who of them goes ahead of others.
 *
 * Does:     start, run messages in order, stop after what was sent before the stop.
 * Owns:     its thread and mailbox.
 * May use:  base/.
 * Knows no: what the messages do; they may block, that is what the thread is for.
 * Threads:  post from any; start and stop from one.
 * Blocks:   base_worker_stop and base_run_apart join their thread.
 * Fails by: ERR_NO_MEMORY, ERR_IO when the thread cannot be made.
 * Limits:   stack of LIM_THREAD_STACK_BYTES.
 * Promises: 1. Everything posted before stop has run when stop returns.
 */
#ifndef BASE_WORKER_H
#define BASE_WORKER_H

#include <pthread.h>
#include <stdint.h>

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

/* For a thread that answers, by itself: it goes ahead of the others to the processor, as far as the
 * system lets it (RLIMIT_NICE, CAP_SYS_NICE). Its turns are shorter than the system's, so that when
 * it is woken it goes ahead of who has a long one (Linux 6.12; before, nothing changes). */
void base_thread_ahead_of_others(void);

/* For a thread whose work is long and waited for, by itself: who answers goes ahead of it to the
 * processor, and has nine times as much where all are busy (three without the right to go ahead).
 * It cannot take that back. */
void base_thread_long_work(void);

/* For a thread that nobody waits for, by itself: the others go ahead of it, to the processor and to
 * the disk, as far as the system lets it. It cannot take that back. */
void base_thread_behind_others(void);

/* Of work behind the others, which may do a tenth of a millisecond of it between two of `every`
 * calls: whoever is ready goes ahead now, for whom the system would look at its next tick only.
 * What is left of a turn is lost: a thread with long ones would starve where others are busy. */
void base_yield_every(uint32_t *inout_calls, uint32_t every);

/* For work of a thread that has to keep its own standing: fn(ctx) on a thread that began with one
 * of the above, and returns when it has; on this one, as it is, if there can be no other.
 * name: as above. Threads that fn makes have the priority of that one. */
void base_run_apart(const char *name, void (*standing)(void), void (*fn)(void *ctx), void *ctx);

#endif
