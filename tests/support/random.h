/*
 * tests/support/random.h - repeatable random numbers for tests.
 *
 * Does:     splitmix64 from a seed; numbers below a bound.
 * Owns:     nothing.
 * May use:  nothing.
 * Knows no: the use of the numbers.
 * Threads:  one per struct.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   not for secrets.
 * Promises: 1. Equal seeds return equal numbers.
 */
#ifndef TESTS_SUPPORT_RANDOM_H
#define TESTS_SUPPORT_RANDOM_H

#include <stdint.h>

struct random {
    uint64_t state;
};

static inline uint64_t random_next(struct random *r)
{
    uint64_t z = (r->state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Returns a number from 0 to bound - 1; bound must not be 0. */
static inline uint32_t random_below(struct random *r, uint32_t bound)
{
    return (uint32_t)((random_next(r) >> 32) * bound >> 32);
}

#endif
