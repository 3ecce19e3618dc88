/*
 * storage/fair_queue.h - a fair queue: selects the next operation when demand exceeds capacity.
 *
 * Does:     keeps waiting messages in one line for each tenant, by priority, and selects the next
 *           line: a line with reserved operations left in this second, else the line that used
 *           least for its weight.
 * Owns:     two arrays of pointers to lines. A line is part of the tenant's account; a message
 *           belongs to its sender until it is taken.
 * May use:  base/.
 * Knows no: the meaning of messages, the set of tenants, threads, the clock.
 * Threads:  one at a time; a line's queued and used, and a share, are read by any.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   LIM_FAIR_RESERVED_RUN, LIM_FAIR_PASSED_OVER, LIM_BACKGROUND_WAIT_MS.
 * Promises: 1. Messages of one line and priority are taken in the order they were put.
 *           2. Over any time in which they always wait, lines are served by weight, except for
 *              reserved operations.
 *           3. Idle lines accumulate no credit: a line that returns starts at the queue's virtual
 *              time, and keeps its debt.
 *           4. No waiting message starves: reservations leave every fourth turn to shares, a higher
 *              priority leaves every 17th to a lower one of its line, and background work gets a
 *              turn after it waited for LIM_BACKGROUND_WAIT_MS.
 *           5. A priority counts within its line only: it takes nothing from another tenant.
 *           6. Putting and taking cost O(log lines), and no memory for each message.
 *           7. Messages put between a hold and its release follow those that were there before, and
 *              none of either is taken until the release.
 */
#ifndef STORAGE_FAIR_QUEUE_H
#define STORAGE_FAIR_QUEUE_H

#include <stdbool.h>

#include "base/limits.h"
#include "base/mailbox.h"

enum sto_priority {
    STO_PRIORITY_MEDIUM, /* the default */
    STO_PRIORITY_HIGH,
    STO_PRIORITY_LOW,
    STO_PRIORITY_BACKGROUND, /* after all requests: sweeps, removals, recounts */
    STO_PRIORITY_COUNT
};

/* A tenant's share of a contended resource; written by tenancy's control thread. */
struct sto_share {
    _Atomic uint64_t weight;         /* 1 or more */
    _Atomic uint64_t reserved_per_s; /* operations; 0: none */
};

struct sto_fair_fifo {
    struct base_msg *first;
    struct base_msg *last;
    uint32_t count;
    uint32_t holds; /* above 0: no message of it is taken */
};

/* The two heaps that a line may be in. */
enum sto_fair_order { STO_FAIR_BY_USE, STO_FAIR_BY_RESERVE, STO_FAIR_ORDERS };

struct sto_fair_line {
    const struct sto_share *share;
    struct sto_fair_fifo fifos[STO_PRIORITY_COUNT];
    uint32_t waiting;                        /* messages, except those held and background ones */
    uint32_t position[STO_FAIR_ORDERS];      /* index in the heap, plus 1; 0: not in it */
    uint8_t passed[STO_PRIORITY_BACKGROUND]; /* turns of the line given to a higher priority */
    bool in_background;
    struct sto_fair_line *next_background;
    uint64_t virtual_time; /* used / weight, since the start */
    uint64_t turn;         /* breaks ties: the lower is next */
    uint64_t due_ns;       /* monotonic time from which the next reserved operation is due */

    /* for the code that bounds the queue; this file does not use them */
    _Atomic uint64_t queued;
    _Atomic uint64_t queued_bytes;
    _Atomic uint64_t used; /* in the window below */
    _Atomic uint64_t window;
};

struct sto_fair_queue {
    struct sto_fair_line **lines[STO_FAIR_ORDERS]; /* heaps */
    size_t count[STO_FAIR_ORDERS];
    size_t room;
    uint64_t virtual_time; /* of the line last served by use */
    uint64_t turns;
    unsigned reserved_run; /* consecutive turns given to reservations */
    uint64_t background_since_ns;
    struct sto_fair_line *first_background;
    struct sto_fair_line *last_background;
    size_t waiting; /* all messages, except those held */
};

void sto_fair_queue_init(struct sto_fair_queue *q);
void sto_fair_queue_fini(struct sto_fair_queue *q);
/* Initializes a line. share must outlive it. */
void sto_fair_line_init(struct sto_fair_line *line, const struct sto_share *share);

/* Appends a message. now_ns: monotonic, never decreasing. */
void sto_fair_put(struct sto_fair_queue *q, struct sto_fair_line *line, enum sto_priority priority,
                  struct base_msg *msg, uint64_t now_ns);
/* Takes the next message and charges its line one operation; NULL if none waits. */
struct base_msg *sto_fair_take(struct sto_fair_queue *q, uint64_t now_ns,
                               struct sto_fair_line **out_line);
/* Charges more operations, for a message that turned out to cost more than one. */
void sto_fair_charge(struct sto_fair_queue *q, struct sto_fair_line *line, uint64_t operations,
                     uint64_t now_ns);
/* Holds the line's messages of a priority: none is taken until it was released as often as it was
 * held. */
void sto_fair_hold(struct sto_fair_queue *q, struct sto_fair_line *line,
                   enum sto_priority priority);
void sto_fair_release(struct sto_fair_queue *q, struct sto_fair_line *line,
                      enum sto_priority priority, uint64_t now_ns);
/* Returns whether the line has no message, except background work, and no hold. */
bool sto_fair_is_idle(const struct sto_fair_line *line);
/* Returns how many lines have a request waiting, background work not counted. */
static inline size_t sto_fair_lines(const struct sto_fair_queue *q)
{
    return q->count[STO_FAIR_BY_USE];
}

#endif
