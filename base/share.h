/*
 * base/share.h - classes of work, and the share of the processors that each has where all are busy.
 *
 * Does:     put the calling thread into a class; give a class more the
 *           further it lags; say what each has.
 * Owns:     the list of the threads that are in a class.
 * May use:  base/.
 * Knows no: what the work is, and what its lag is measured by.
 * Threads:  any.
 * Blocks:   base_run_apart until fn has returned; the others for as long as it takes to set the
 *           priorities of a class's threads.
 * Fails by: does not fail: what the system refuses stays as it was.
 * Limits:   none.
 * Promises: 1. Shares are relative to the priority that the program was started with.
 *           2. Without the right to raise a priority (CAP_SYS_NICE, RLIMIT_NICE) each class has one
 *              share for good.
 *           3. A thread leaves its class when it ends.
 */
#ifndef BASE_SHARE_H
#define BASE_SHARE_H

#include <stdint.h>

/* docs/decisions/0062 has the table of their shares, and why. */
enum base_class {
    BASE_SERVE,   /* loops, reads of a row, the control thread */
    BASE_COMMIT,  /* writes of rows */
    BASE_FLUSH,   /* of memtables, for which writers wait */
    BASE_SCAN,    /* long reads */
    BASE_COMPACT, /* of files */
    BASE_ERASE,   /* deletion of a tenant's files, audit, search */
    BASE_BACKUP,
    BASE_SCRUB, /* reading files again to see that they are sound */
    BASE_CLASSES
};

#define BASE_LAG_FULL 1000

/* The calling thread, until it ends or joins another one. Cheap if it is in that class already. */
void base_class_join(enum base_class c);

/* lag: from 0, the class keeps up, to BASE_LAG_FULL: it has its largest share. */
void base_class_lag(enum base_class c, uint32_t lag);

struct base_class_now {
    const char *name;
    uint32_t lag;
    int nice;        /* of its threads */
    uint32_t weight; /* thousandths of the share that the program's priority gives a thread */
    unsigned threads;
    uint64_t cpu_ns; /* of all its threads, also those that ended */
};

void base_class_get(enum base_class c, struct base_class_now *out);

/* Whoever is ready goes ahead now, for whom the system would look at its next tick only. What is
 * left of a turn is lost: for threads of a class with small ones, after a turn's work or more. */
void base_yield(void);

/* The same at each of `every` calls. */
void base_yield_every(uint32_t *inout_calls, uint32_t every);

/* For work of a thread that has to keep its own share: fn(ctx) on a thread of that class, and
 * returns when it has; on this one, as it is, if there can be no other. name: as of
 * base_thread_start. */
void base_run_apart(const char *name, enum base_class c, void (*fn)(void *ctx), void *ctx);

#endif
