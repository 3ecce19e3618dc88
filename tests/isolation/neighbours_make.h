/*
 * tests/isolation/neighbours_make.h - how the tenants of neighbours.h are made.
 *
 * Does:     make acme-zebra; make views and take tokens of any tenant.
 * Owns:     nothing.
 * May use:  tests/isolation/, tests/support/, libcheck.
 * Knows no: routes, methods.
 * Threads:  one.
 * Blocks:   for answers.
 * Fails by: ck_abort_msg.
 * Limits:   none.
 * Promises: 1. THEIR_BYTES and THEIR_ROWS are exact.
 */
#ifndef TESTS_ISOLATION_NEIGHBOURS_MAKE_H
#define TESTS_ISOLATION_NEIGHBOURS_MAKE_H

#include "tests/isolation/neighbours.h"

/* The tenant, its plan, keys, tables and rows. */
void neighbours_make_theirs(struct neighbours *n);
/* Two views of the table that is named; then one of each token, into names. */
void neighbours_make_views(struct neighbours *n, const char *key, const struct names *names);
void neighbours_take_tokens(struct neighbours *n, struct http *h, const char *key,
                            struct names *names);

#endif
