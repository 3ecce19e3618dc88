/*
 * tests/isolation/callers.h - every kind of credential that is not acme-zebra's.
 *
 * Does:     make a caller's key on the server, and say what it may expect.
 * Owns:     nothing.
 * May use:  tests/isolation/, tests/support/, libcheck.
 * Knows no: routes, methods.
 * Threads:  one.
 * Blocks:   for answers.
 * Fails by: ck_abort_msg.
 * Limits:   CALLERS_MAX.
 * Promises: 1. No caller may see anything of acme-zebra, or administer anything.
 */
#ifndef TESTS_ISOLATION_CALLERS_H
#define TESTS_ISOLATION_CALLERS_H

#include "tests/isolation/neighbours.h"

struct caller {
    const char *what;
    bool is_known;    /* else every route that needs a key is 401 */
    bool may_all;     /* with acme's things */
    bool names_home;  /* it must say whom it acts for */
    const char *home; /* acme, or a tenant in a state of its own */
    char key[WORLD_KEY];
    bool has_key;
};

#define CALLERS_MAX 16
extern const size_t caller_count;
void caller_make(struct neighbours *n, size_t which, struct caller *out);

#endif
