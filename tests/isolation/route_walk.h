/*
 * tests/isolation/route_walk.h - routes, asked with every kind of key, in every way to name a
 * neighbour.
 *
 * Does:     what suites of routes share: the neighbours, and the walk of a part of all callers over
 *           some of the routes.
 * Owns:     the neighbours, from route_walk_set_up to route_walk_tear_down.
 * May use:  tests/isolation/, tests/support/, libcheck.
 * Knows no: which routes there are.
 * Threads:  one.
 * Blocks:   for answers.
 * Fails by: ck_abort_msg.
 */
#ifndef TESTS_ISOLATION_ROUTE_WALK_H
#define TESTS_ISOLATION_ROUTE_WALK_H

#include "tests/isolation/requests.h"

typedef bool route_filter(const struct gw_route *r);

/* Callers of a part: every ROUTE_PARTS-th. */
#define ROUTE_PARTS 2

void route_walk_set_up(void);
void route_walk_tear_down(void);
void route_walk(size_t part, route_filter *takes);

#endif
