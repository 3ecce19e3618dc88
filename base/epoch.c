/*
 * base/epoch.c - quiescent-state-based reclamation.
 *
 * Mechanism: `now` counts retirements. A retired object carries the value of `now` that its
 * retirement set; a quiescent reader stores the `now` it sees in its slot. An object may be freed
 * when every joined slot has stored its value or a later one. A thread that sleeps between two
 * quiescent points delays frees and nothing else.
 *
 * Invariants:
 *   1. The list of retired objects is in the order of their values, so the free ones are a prefix.
 *   2. A slot's `seen` is 0 (unused) or a value that `now` had. It changes from 0 (join) and back
 *      to 0 (leave) under the mutex, which every scan holds too: a thread that joins after a scan
 *      has, through the mutex, seen every unlinking that happened before that scan's objects were
 *      retired.
 *   3. Free functions run without the mutex: they may retire further objects.
 *
 * Orders: retire increments `now` with release after the object was unlinked; quiescent reads it
 * with acquire, so the reader's later accesses cannot meet the object. quiescent stores `seen` with
 * release, the scan reads it with acquire, so the reader's earlier accesses happened before the
 * free.
 */
#include "base/epoch.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/alloc.h"

#include "base/banned.h"

#define MAGIC            0x65706f63u
#define CACHE_LINE_BYTES 64

struct slot {
    _Atomic(uint64_t) seen;
    char padding[CACHE_LINE_BYTES - sizeof(_Atomic(uint64_t))];
};

struct retired {
    struct retired *next;
    void *object;
    void (*free_object)(void *object);
    uint64_t at;
};

struct base_epoch {
    _Atomic(uint64_t) now; /* read by all, written by retire */
    uint32_t magic;
    char padding[CACHE_LINE_BYTES];

    atomic_bool is_wanted; /* a thread became quiescent: scan again for objects to free */
    pthread_mutex_t lock;
    struct retired *oldest; /* lock */
    struct retired *newest; /* lock; valid when oldest is not NULL */
    int slots_used;         /* lock; no slot at or after it was ever joined */
    struct slot slots[BASE_EPOCH_THREADS_MAX];
};

static void check(const struct base_epoch *e)
{
    INVARIANT(e != NULL && e->magic == MAGIC);
}

static void lock(struct base_epoch *e)
{
    int error = pthread_mutex_lock(&e->lock);
    INVARIANT(error == 0);
}

static void unlock(struct base_epoch *e)
{
    int error = pthread_mutex_unlock(&e->lock);
    INVARIANT(error == 0);
}

struct base_epoch *base_epoch_new(void)
{
    struct base_epoch *e = base_new(sizeof *e);
    atomic_init(&e->now, 1);
    atomic_init(&e->is_wanted, false);
    int error = pthread_mutex_init(&e->lock, NULL);
    INVARIANT(error == 0);
    e->magic = MAGIC;
    return e;
}

static void free_list(struct retired *list)
{
    while (list != NULL) {
        struct retired *next = list->next;
        list->free_object(list->object);
        base_free(list);
        list = next;
    }
}

void base_epoch_free(struct base_epoch *e)
{
    if (e == NULL)
        return;
    check(e);
    while (e->oldest != NULL) { /* a free function may retire more */
        struct retired *list = e->oldest;
        e->oldest = NULL;
        free_list(list);
    }
    int error = pthread_mutex_destroy(&e->lock);
    INVARIANT(error == 0);
    e->magic = 0;
    base_free(e);
}

/* Returns the value that every joined thread has reached; under the lock. */
static uint64_t seen_by_all(struct base_epoch *e)
{
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < e->slots_used; i++) {
        uint64_t seen = atomic_load_explicit(&e->slots[i].seen, memory_order_acquire);
        if (seen != 0 && seen < least)
            least = seen;
    }
    return least;
}

/* Unlinks the prefix of objects to free from the list; under the lock. */
static struct retired *take_ripe(struct base_epoch *e)
{
    if (e->oldest == NULL)
        return NULL;
    uint64_t limit = seen_by_all(e);
    struct retired *ripe = e->oldest;
    struct retired *last = NULL;
    while (e->oldest != NULL && e->oldest->at <= limit) {
        last = e->oldest;
        e->oldest = last->next;
    }
    if (last == NULL)
        return NULL;
    last->next = NULL;
    return ripe;
}

/* Never waits. Every holder of the lock calls this after releasing it and checks is_wanted, so a
 * request that finds the lock held is served by its holder. */
static void reclaim(struct base_epoch *e)
{
    atomic_store(&e->is_wanted, true);
    while (atomic_load(&e->is_wanted) && pthread_mutex_trylock(&e->lock) == 0) {
        atomic_store(&e->is_wanted, false);
        struct retired *ripe = take_ripe(e);
        unlock(e);
        free_list(ripe);
    }
}

static struct slot *slot_at(struct base_epoch *e, int slot)
{
    INVARIANT(slot >= 0 && slot < BASE_EPOCH_THREADS_MAX);
    return &e->slots[slot];
}

int base_epoch_join(struct base_epoch *e)
{
    check(e);
    lock(e);
    int slot = 0;
    while (slot < e->slots_used &&
           atomic_load_explicit(&e->slots[slot].seen, memory_order_relaxed) != 0)
        slot++;
    if (slot == e->slots_used) {
        INVARIANT(e->slots_used < BASE_EPOCH_THREADS_MAX);
        e->slots_used++;
    }
    uint64_t now = atomic_load_explicit(&e->now, memory_order_acquire);
    atomic_store_explicit(&e->slots[slot].seen, now, memory_order_release);
    unlock(e);
    reclaim(e); /* for requests made while the lock was held here */
    return slot;
}

void base_epoch_leave(struct base_epoch *e, int slot)
{
    check(e);
    struct slot *s = slot_at(e, slot);
    lock(e);
    uint64_t before = atomic_exchange_explicit(&s->seen, 0, memory_order_acq_rel);
    unlock(e);
    INVARIANT(before != 0);
    reclaim(e);
}

void base_epoch_quiescent(struct base_epoch *e, int slot)
{
    check(e);
    struct slot *s = slot_at(e, slot);
    uint64_t seen = atomic_load_explicit(&s->seen, memory_order_relaxed);
    uint64_t now = atomic_load_explicit(&e->now, memory_order_acquire);
    INVARIANT(seen != 0);
    if (seen == now)
        return;
    atomic_store_explicit(&s->seen, now, memory_order_release);
    reclaim(e);
}

void base_epoch_retire(struct base_epoch *e, void *object, void (*free_object)(void *object))
{
    check(e);
    struct retired *r = base_new(sizeof *r);
    r->object = object;
    r->free_object = free_object;
    lock(e);
    r->at = atomic_fetch_add_explicit(&e->now, 1, memory_order_acq_rel) + 1;
    if (e->oldest == NULL)
        e->oldest = r;
    else
        e->newest->next = r;
    e->newest = r;
    unlock(e);
    reclaim(e);
}
