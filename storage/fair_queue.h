/*
 * storage/fair_queue.h - whose turn it is, when more is asked for than can be done.
 *
 * Does:     keep what waits in one line for each tenant and priority; say which is next: a line
 *           with reserved operations left in this second, else the one that used least for its
 *           weight.
 * Owns:     two arrays of pointers to lines. A line is part of the tenant's account, a message the
 *           sender's until it is taken.
 * May use:  base/.
 * Knows no: what messages do, which tenants there are, threads, the clock.
 * Threads:  one at a time; queued and used of a line, and a share, are read by any.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   LIM_FAIR_RESERVED_RUN, LIM_FAIR_PASSED_OVER, LIM_BACKGROUND_WAIT_MS.
 * Promises: 1. What one line holds in one priority is taken in the order it was put.
 *           2. Over any time in which they always wait, lines are served by weight, but for what
 *              is reserved.
 *           3. Who was away begins where the others are: nothing is saved up, debts stay.
 *           4. Whoever waits is served: reservations leave every fourth turn to shares, a higher
 *              priority every 17th to a lower one of its line, and background work has a turn
 *              when it waited for LIM_BACKGROUND_WAIT_MS.
 *           5. A priority counts within its line only: it takes nothing from another tenant.
 *           6. Putting and taking cost O(log lines), and no memory for each message.
 *           7. What is put between a hold and its release comes behind what was there, and nothing
 *              of either is taken before.
 */
#ifndef STORAGE_FAIR_QUEUE_H
#define STORAGE_FAIR_QUEUE_H

#include <stdbool.h>

#include "base/limits.h"
#include "base/mailbox.h"

enum sto_priority {
    STO_PRIORITY_MEDIUM, /* unless somebody says otherwise */
    STO_PRIORITY_HIGH,
    STO_PRIORITY_LOW,
    STO_PRIORITY_BACKGROUND, /* behind everybody's requests: sweeps, removals, counting */
    STO_PRIORITY_COUNT
};

/* Of what a tenant may use when others wait; written by tenancy's control thread. */
struct sto_share {
    _Atomic uint64_t weight;         /* 1 and more */
    _Atomic uint64_t reserved_per_s; /* operations; 0: none */
};

struct sto_fair_fifo {
    struct base_msg *first;
    struct base_msg *last;
    uint32_t count;
    uint32_t holds; /* above 0: nothing of it is taken */
};

/* The two orders a line may stand in. */
enum sto_fair_order { STO_FAIR_BY_USE, STO_FAIR_BY_RESERVE, STO_FAIR_ORDERS };

struct sto_fair_line {
    const struct sto_share *share;
    struct sto_fair_fifo fifos[STO_PRIORITY_COUNT];
    uint32_t waiting;                        /* messages, those held and background ones apart */
    uint32_t position[STO_FAIR_ORDERS];      /* in the array, from 1; 0: not there */
    uint8_t passed[STO_PRIORITY_BACKGROUND]; /* turns of the line that went to a higher priority */
    bool in_background;
    struct sto_fair_line *next_background;
    uint64_t virtual_time; /* used / weight, so far */
    uint64_t turn;         /* of equal ones, the lower is next */
    uint64_t due_ns;       /* when the next reserved operation may go ahead */

    /* for whoever bounds what may wait; this file does not look at them */
    _Atomic uint64_t queued;
    _Atomic uint64_t queued_bytes;
    _Atomic uint64_t used; /* in the window named below */
    _Atomic uint64_t window;
};

struct sto_fair_queue {
    struct sto_fair_line **lines[STO_FAIR_ORDERS]; /* heaps */
    size_t count[STO_FAIR_ORDERS];
    size_t room;
    uint64_t virtual_time; /* of the line whose turn came last by use */
    uint64_t turns;
    unsigned reserved_run; /* turns that went to reservations, one after the other */
    uint64_t background_since_ns;
    struct sto_fair_line *first_background;
    struct sto_fair_line *last_background;
    size_t waiting; /* all messages, but for those held */
};

void sto_fair_queue_init(struct sto_fair_queue *q);
void sto_fair_queue_fini(struct sto_fair_queue *q);
/* share outlives the line. */
void sto_fair_line_init(struct sto_fair_line *line, const struct sto_share *share);

/* now_ns: monotonic, never falling. */
void sto_fair_put(struct sto_fair_queue *q, struct sto_fair_line *line, enum sto_priority priority,
                  struct base_msg *msg, uint64_t now_ns);
/* NULL when nothing waits. Charges its line one operation. */
struct base_msg *sto_fair_take(struct sto_fair_queue *q, uint64_t now_ns,
                               struct sto_fair_line **out_line);
/* So many operations more, for what turned out to be larger than one. */
void sto_fair_charge(struct sto_fair_queue *q, struct sto_fair_line *line, uint64_t operations,
                     uint64_t now_ns);
/* Nothing of the line's priority is taken until it was released as often as it was held. */
void sto_fair_hold(struct sto_fair_queue *q, struct sto_fair_line *line,
                   enum sto_priority priority);
void sto_fair_release(struct sto_fair_queue *q, struct sto_fair_line *line,
                      enum sto_priority priority, uint64_t now_ns);
/* Nothing but background work is or was put and not taken, and nothing is held. */
bool sto_fair_is_idle(const struct sto_fair_line *line);
/* How many lines have a request waiting, background work apart. */
static inline size_t sto_fair_lines(const struct sto_fair_queue *q)
{
    return q->count[STO_FAIR_BY_USE];
}

#endif
