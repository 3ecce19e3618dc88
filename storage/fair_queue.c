/*
 * storage/fair_queue.c - start-time fair queueing over two heaps and a ring.
 *
 * A line's virtual time is its use divided by its weight. The line with the least virtual time is
 * next, and the queue's own virtual time is that line's: a line that joins starts there at the
 * earliest. In addition, a line with a reservation has a time at which its next reserved operation
 * is due: one reserved_per_s-th of a second after the last operation, whichever kind of turn that
 * had. A reserved operation that is due precedes the shares.
 *
 *   turn of                          when
 *   background                       nothing else waits, or its oldest waited too long
 *   reserved line that is due first  less than LIM_FAIR_RESERVED_RUN such turns in a row
 *   line that used least             otherwise
 *
 * 1. A line is in BY_USE exactly while waiting is not 0, and in BY_RESERVE only then.
 * 2. Numbers that grow for ever are compared by their difference.
 * 3. A heap's parent never sorts after its child; position is the index plus 1.
 */
#include "storage/fair_queue.h"

#include <string.h>

#include "base/alloc.h"

#include "base/banned.h"

#define NS_PER_S   1000000000ULL
#define NS_PER_MS  1000000ULL
#define USE_UNIT   (1ULL << 20) /* virtual time of one operation at weight 1 */
#define FIRST_ROOM 16

/* Highest first. */
static const enum sto_priority RANKS[] = {STO_PRIORITY_HIGH, STO_PRIORITY_MEDIUM, STO_PRIORITY_LOW};
#define RANK_COUNT (sizeof(RANKS) / sizeof(RANKS[0]))

/* --- heaps ------------------------------------------------------------------------------------ */

static bool is_before(const struct sto_fair_line *a, const struct sto_fair_line *b,
                      enum sto_fair_order order)
{
    int64_t distance = order == STO_FAIR_BY_USE ? (int64_t)(a->virtual_time - b->virtual_time)
                                                : (int64_t)(a->due_ns - b->due_ns);
    return distance != 0 ? distance < 0 : (int64_t)(a->turn - b->turn) < 0;
}

static void place(struct sto_fair_queue *q, enum sto_fair_order order, size_t at,
                  struct sto_fair_line *line)
{
    q->lines[order][at] = line;
    line->position[order] = (uint32_t)at + 1;
}

/* Moves the line up or down to its place in the heap; slot `at` is free. */
static void settle(struct sto_fair_queue *q, enum sto_fair_order order, size_t at,
                   struct sto_fair_line *line)
{
    struct sto_fair_line **heap = q->lines[order];
    while (at > 0 && is_before(line, heap[(at - 1) / 2], order)) {
        place(q, order, at, heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    for (size_t child; (child = 2 * at + 1) < q->count[order]; at = child) {
        if (child + 1 < q->count[order] && is_before(heap[child + 1], heap[child], order))
            child++;
        if (!is_before(heap[child], line, order))
            break;
        place(q, order, at, heap[child]);
    }
    place(q, order, at, line);
}

static void heaps_grow(struct sto_fair_queue *q)
{
    size_t room = q->room == 0 ? FIRST_ROOM : 2 * q->room;
    for (enum sto_fair_order o = 0; o < STO_FAIR_ORDERS; o++) {
        struct sto_fair_line **larger = base_new_array(room, sizeof(struct sto_fair_line *));
        if (q->count[o] > 0)
            memcpy(larger, q->lines[o], q->count[o] * sizeof(struct sto_fair_line *));
        base_free(q->lines[o]);
        q->lines[o] = larger;
    }
    q->room = room;
}

static void heap_add(struct sto_fair_queue *q, enum sto_fair_order order,
                     struct sto_fair_line *line)
{
    if (q->count[order] == q->room)
        heaps_grow(q);
    size_t at = q->count[order]++;
    place(q, order, at, line);
    settle(q, order, at, line);
}

static void heap_remove(struct sto_fair_queue *q, enum sto_fair_order order,
                        struct sto_fair_line *line)
{
    if (line->position[order] == 0)
        return;
    size_t at = line->position[order] - 1;
    struct sto_fair_line *last = q->lines[order][--q->count[order]];
    line->position[order] = 0;
    if (last != line)
        settle(q, order, at, last);
}

static void heap_move(struct sto_fair_queue *q, enum sto_fair_order order,
                      struct sto_fair_line *line)
{
    if (line->position[order] != 0)
        settle(q, order, line->position[order] - 1, line);
}

/* --- lines ------------------------------------------------------------------------------------ */

static uint64_t reserved_of(const struct sto_fair_line *line)
{
    return atomic_load_explicit(&line->share->reserved_per_s, memory_order_relaxed);
}

static void fifo_put(struct sto_fair_fifo *f, struct base_msg *msg)
{
    msg->next = NULL;
    if (f->first == NULL)
        f->first = msg;
    else
        f->last->next = msg;
    f->last = msg;
    f->count++;
}

/* Returns whether a message of it may be taken. */
static bool fifo_is_open(const struct sto_fair_fifo *f)
{
    return f->first != NULL && f->holds == 0;
}

static struct base_msg *fifo_take(struct sto_fair_fifo *f)
{
    struct base_msg *msg = f->first;
    f->first = msg->next;
    f->count--;
    return msg;
}

/* Selects the highest priority that waits, or a lower one that was passed over too often. */
static enum sto_priority priority_next(struct sto_fair_line *line)
{
    enum sto_priority next = STO_PRIORITY_COUNT;
    for (size_t i = 0; i < RANK_COUNT; i++) {
        enum sto_priority p = RANKS[i];
        if (!fifo_is_open(&line->fifos[p]))
            continue;
        if (next == STO_PRIORITY_COUNT || line->passed[p] >= LIM_FAIR_PASSED_OVER)
            next = p;
        if (line->passed[p] >= LIM_FAIR_PASSED_OVER)
            break;
    }
    INVARIANT(next != STO_PRIORITY_COUNT);
    for (size_t i = 0; i < RANK_COUNT; i++) {
        enum sto_priority p = RANKS[i];
        if (p == next || !fifo_is_open(&line->fifos[p]))
            line->passed[p] = 0;
        else if (line->passed[p] < LIM_FAIR_PASSED_OVER)
            line->passed[p]++;
    }
    return next;
}

/* Charges the line's use; the caller restores its place in the heaps. */
static void charge(struct sto_fair_line *line, uint64_t operations, uint64_t now_ns)
{
    uint64_t weight = atomic_load_explicit(&line->share->weight, memory_order_relaxed);
    uint64_t reserved = reserved_of(line);
    line->virtual_time += operations * USE_UNIT / (weight == 0 ? 1 : weight);
    if (reserved == 0)
        return;
    if (line->due_ns < now_ns)
        line->due_ns = now_ns;
    uint64_t full = now_ns + NS_PER_S; /* a line is at most one second ahead of its reservation */
    uint64_t step = operations > reserved ? NS_PER_S : operations * NS_PER_S / reserved;
    line->due_ns = line->due_ns + step < full ? line->due_ns + step : full;
}

static void line_join(struct sto_fair_queue *q, struct sto_fair_line *line)
{
    if ((int64_t)(q->virtual_time - line->virtual_time) > 0)
        line->virtual_time = q->virtual_time;
    line->turn = q->turns++;
    heap_add(q, STO_FAIR_BY_USE, line);
    if (reserved_of(line) != 0)
        heap_add(q, STO_FAIR_BY_RESERVE, line);
}

/* Restores the line's place in the heaps after its turn. */
static void line_settle(struct sto_fair_queue *q, struct sto_fair_line *line)
{
    line->turn = q->turns++;
    if (line->waiting == 0) {
        heap_remove(q, STO_FAIR_BY_USE, line);
        heap_remove(q, STO_FAIR_BY_RESERVE, line);
        return;
    }
    heap_move(q, STO_FAIR_BY_USE, line);
    if (reserved_of(line) == 0)
        heap_remove(q, STO_FAIR_BY_RESERVE, line);
    else if (line->position[STO_FAIR_BY_RESERVE] == 0)
        heap_add(q, STO_FAIR_BY_RESERVE, line);
    else
        heap_move(q, STO_FAIR_BY_RESERVE, line);
}

/* --- the ring of background work -------------------------------------------------------------- */

static void background_append(struct sto_fair_queue *q, struct sto_fair_line *line)
{
    line->in_background = true;
    line->next_background = NULL;
    if (q->first_background == NULL)
        q->first_background = line;
    else
        q->last_background->next_background = line;
    q->last_background = line;
}

static struct base_msg *background_take(struct sto_fair_queue *q, uint64_t now_ns,
                                        struct sto_fair_line **out_line)
{
    struct sto_fair_line *line = q->first_background;
    struct sto_fair_fifo *fifo = &line->fifos[STO_PRIORITY_BACKGROUND];
    struct base_msg *msg = fifo_take(fifo);
    q->first_background = line->next_background;
    line->in_background = false;
    if (fifo_is_open(fifo))
        background_append(q, line);
    q->background_since_ns = now_ns;
    *out_line = line;
    return msg;
}

static bool is_background_next(const struct sto_fair_queue *q, uint64_t now_ns)
{
    return q->first_background != NULL &&
           (q->count[STO_FAIR_BY_USE] == 0 ||
            now_ns >= q->background_since_ns + LIM_BACKGROUND_WAIT_MS * NS_PER_MS);
}

/* --- the queue -------------------------------------------------------------------------------- */

void sto_fair_queue_init(struct sto_fair_queue *q)
{
    memset(q, 0, sizeof(*q));
}

void sto_fair_queue_fini(struct sto_fair_queue *q)
{
    for (enum sto_fair_order o = 0; o < STO_FAIR_ORDERS; o++)
        base_free(q->lines[o]);
    memset(q, 0, sizeof(*q));
}

void sto_fair_line_init(struct sto_fair_line *line, const struct sto_share *share)
{
    memset(line, 0, sizeof(*line));
    line->share = share;
}

/* Counts `count` more messages of the line that may be taken. */
static void messages_enter(struct sto_fair_queue *q, struct sto_fair_line *line,
                           enum sto_priority priority, uint32_t count, uint64_t now_ns)
{
    if (count == 0)
        return;
    q->waiting += count;
    if (priority != STO_PRIORITY_BACKGROUND) {
        line->waiting += count;
        if (line->waiting == count)
            line_join(q, line);
    } else if (!line->in_background) {
        if (q->first_background == NULL)
            q->background_since_ns = now_ns;
        background_append(q, line);
    }
}

void sto_fair_put(struct sto_fair_queue *q, struct sto_fair_line *line, enum sto_priority priority,
                  struct base_msg *msg, uint64_t now_ns)
{
    INVARIANT((unsigned)priority < STO_PRIORITY_COUNT);
    struct sto_fair_fifo *fifo = &line->fifos[priority];
    fifo_put(fifo, msg);
    if (fifo->holds == 0)
        messages_enter(q, line, priority, 1, now_ns);
}

static void background_remove(struct sto_fair_queue *q, struct sto_fair_line *line)
{
    struct sto_fair_line *before = NULL;
    for (struct sto_fair_line *l = q->first_background; l != line; l = l->next_background)
        before = l;
    if (before == NULL)
        q->first_background = line->next_background;
    else
        before->next_background = line->next_background;
    if (q->last_background == line)
        q->last_background = before;
    line->in_background = false;
}

void sto_fair_hold(struct sto_fair_queue *q, struct sto_fair_line *line, enum sto_priority priority)
{
    struct sto_fair_fifo *fifo = &line->fifos[priority];
    if (fifo->holds++ > 0 || fifo->count == 0)
        return;
    q->waiting -= fifo->count;
    if (priority == STO_PRIORITY_BACKGROUND) {
        background_remove(q, line);
        return;
    }
    line->waiting -= fifo->count;
    if (line->waiting == 0) {
        heap_remove(q, STO_FAIR_BY_USE, line);
        heap_remove(q, STO_FAIR_BY_RESERVE, line);
    }
}

void sto_fair_release(struct sto_fair_queue *q, struct sto_fair_line *line,
                      enum sto_priority priority, uint64_t now_ns)
{
    struct sto_fair_fifo *fifo = &line->fifos[priority];
    INVARIANT(fifo->holds > 0);
    if (--fifo->holds == 0)
        messages_enter(q, line, priority, fifo->count, now_ns);
}

bool sto_fair_is_idle(const struct sto_fair_line *line)
{
    bool is_idle = true;
    for (enum sto_priority p = 0; p < STO_PRIORITY_BACKGROUND; p++)
        is_idle = is_idle && line->fifos[p].count == 0 && line->fifos[p].holds == 0;
    return is_idle;
}

/* Selects the next line. by_use: it is not served by its reservation. */
static struct sto_fair_line *line_next(struct sto_fair_queue *q, uint64_t now_ns, bool *out_by_use)
{
    struct sto_fair_line *due =
        q->count[STO_FAIR_BY_RESERVE] > 0 ? q->lines[STO_FAIR_BY_RESERVE][0] : NULL;
    *out_by_use = due == NULL || due->due_ns > now_ns || q->reserved_run >= LIM_FAIR_RESERVED_RUN;
    q->reserved_run = *out_by_use ? 0 : q->reserved_run + 1;
    return *out_by_use ? q->lines[STO_FAIR_BY_USE][0] : due;
}

struct base_msg *sto_fair_take(struct sto_fair_queue *q, uint64_t now_ns,
                               struct sto_fair_line **out_line)
{
    if (q->waiting == 0)
        return NULL;
    q->waiting--;
    if (is_background_next(q, now_ns))
        return background_take(q, now_ns, out_line);
    bool by_use = false;
    struct sto_fair_line *line = line_next(q, now_ns, &by_use);
    if (by_use)
        q->virtual_time = line->virtual_time;
    struct base_msg *msg = fifo_take(&line->fifos[priority_next(line)]);
    line->waiting--;
    charge(line, 1, now_ns);
    line_settle(q, line);
    *out_line = line;
    return msg;
}

void sto_fair_charge(struct sto_fair_queue *q, struct sto_fair_line *line, uint64_t operations,
                     uint64_t now_ns)
{
    charge(line, operations, now_ns);
    heap_move(q, STO_FAIR_BY_USE, line);
    heap_move(q, STO_FAIR_BY_RESERVE, line);
}
