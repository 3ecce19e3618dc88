/*
 * tests/hostile/guard.h - assertions of tests/support/, in a program that is no test.
 *
 * Does:     what libcheck does when an assertion fails: leaves the guarded function.
 * Owns:     nothing.
 * May use:  libcheck's header; the library is not linked.
 * Threads:  any; a guard is of its thread.
 * Blocks:   no.
 * Fails by: exit code 2 when nothing guards the thread.
 * Limits:   guards do not nest.
 * Promises: 1. What failed is in guard_text until the next guard of the thread.
 */
#ifndef TESTS_HOSTILE_GUARD_H
#define TESTS_HOSTILE_GUARD_H

#include <stdbool.h>

/* True when it returned, false when an assertion failed in it. */
bool guard_run(void (*run)(void *user), void *user);
const char *guard_text(void);

#endif
