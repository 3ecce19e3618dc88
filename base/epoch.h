/*
 * base/epoch.h - frees shared objects only when no reader can still see them (QSBR).
 *
 * Does:     lets readers follow pointers without a lock; frees unlinked objects later.
 * Owns:     retired objects until their free function ran.
 * May use:  base/.
 * Knows no: the contents of objects.
 * Threads:  each reading thread joins once and calls base_epoch_quiescent between pieces of work,
 *           when it holds no pointer that it has not ref-counted; retire from any thread. Free
 *           functions run on the thread that finds the object reclaimable, inside quiescent,
 *           leave or retire: they must not block and may retire.
 * Blocks:   join, leave and retire take a short mutex; quiescent never.
 * Fails by: does not fail.
 * Limits:   BASE_EPOCH_THREADS_MAX reading threads per domain; more is a broken invariant.
 * Promises: 1. An object retired at time t is freed after every joined thread was quiescent after
 *              t. 2. base_epoch_free frees all remaining objects.
 */
#ifndef BASE_EPOCH_H
#define BASE_EPOCH_H

#include "base/err.h"

#define BASE_EPOCH_THREADS_MAX 512

struct base_epoch;

struct base_epoch *base_epoch_new(void);
/* Frees e and all its objects. No thread may use e any more. */
void base_epoch_free(struct base_epoch *e);

/* Returns the thread's slot, to be passed to the two calls below. */
int base_epoch_join(struct base_epoch *e);
void base_epoch_leave(struct base_epoch *e, int slot);
void base_epoch_quiescent(struct base_epoch *e, int slot);

void base_epoch_retire(struct base_epoch *e, void *object, void (*free_object)(void *object));

#endif
