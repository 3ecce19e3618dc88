/*
 * tests/isolation/method_walk.h - methods, asked with every kind of key, in every way to name a
 * neighbour.
 *
 * Does:     what suites of methods share: the neighbours, and the walk of a part of all callers
 *           over the methods of some services.
 * Owns:     the neighbours, from method_walk_set_up to method_walk_tear_down.
 * May use:  tests/isolation/, tests/support/, libcheck.
 * Knows no: which services there are.
 * Threads:  one.
 * Blocks:   for answers.
 * Fails by: ck_abort_msg.
 */
#ifndef TESTS_ISOLATION_METHOD_WALK_H
#define TESTS_ISOLATION_METHOD_WALK_H

#include "tests/isolation/rpc_walk.h"

typedef bool method_filter(const struct gw_method *m);

/* Callers of a part: every METHOD_PARTS-th. */
#define METHOD_PARTS 2

void method_walk_set_up(void);
void method_walk_tear_down(void);
void method_walk(size_t part, method_filter *takes);

#endif
