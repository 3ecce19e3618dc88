/*
 * base/share.h - classes of work, and the share of each class of the processors when all are busy.
 *
 * Does:     assigns the calling thread to a class; raises the share of a class the more it lags;
 *           reports the state of each.
 * Owns:     the list of the threads that are in a class.
 * May use:  base/.
 * Knows no: the kind of work, and how its lag is measured.
 * Threads:  any.
 * Blocks:   base_run_apart until fn has returned; the others for as long as it takes to set the
 *           priorities of a class's threads.
 * Fails by: does not fail: a priority that the system refuses to change stays as it was.
 * Limits:   none.
 * Promises: 1. Shares are relative to the priority that the program was started with.
 *           2. Without the right to raise a priority (CAP_SYS_NICE, RLIMIT_NICE) the share of each
 *              class is constant.
 *           3. A thread leaves its class when it ends.
 */
#ifndef BASE_SHARE_H
#define BASE_SHARE_H

#include <stdint.h>

/* docs/decisions/0062 has the table of shares and the reasons. */
enum base_class {
    BASE_SERVE,   /* loops, reads of a row, the control thread */
    BASE_COMMIT,  /* writes of rows */
    BASE_FLUSH,   /* of memtables; writers wait for it */
    BASE_SCAN,    /* long reads */
    BASE_COMPACT, /* of files */
    BASE_ERASE,   /* deletion of a tenant's files, audit, search */
    BASE_BACKUP,
    BASE_SCRUB, /* rereading files to check that they are intact */
    BASE_CLASSES
};

#define BASE_LAG_FULL 1000

/* Assigns the calling thread to a class until it ends or joins another one. Cheap if it is in that
 * class already. */
void base_class_join(enum base_class c);

/* Sets the lag of a class: from 0, the class keeps up, to BASE_LAG_FULL, its largest share. */
void base_class_lag(enum base_class c, uint32_t lag);

struct base_class_now {
    const char *name;
    uint32_t lag;
    int nice;        /* of its threads */
    uint32_t weight; /* thousandths of a thread's share at the program's own priority */
    unsigned threads;
    uint64_t cpu_ns; /* of all its threads, ended ones included */
};

void base_class_get(enum base_class c, struct base_class_now *out);

/* Yields the processor to a ready thread, which the scheduler would otherwise run only at its next
 * tick. The rest of the caller's time slice is lost: for threads of a class with short time slices,
 * after a slice's work or more. */
void base_yield(void);

/* Yields at every `every`-th call. */
void base_yield_every(uint32_t *inout_calls, uint32_t every);

/* Runs fn(ctx) on a new thread of that class and returns when fn has returned: for work of a thread
 * that must keep its own share. Runs fn on the calling thread, in its own class, if no thread can
 * be created. name: as in base_thread_start. */
void base_run_apart(const char *name, enum base_class c, void (*fn)(void *ctx), void *ctx);

#endif
