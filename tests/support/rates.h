/*
 * tests/support/rates.h - rates of a real server, seen from outside by a clock of any speed.
 *
 * Does:     hold what passed, and what is said to be left, against what a rate allows; repeat a
 *           request until the rate refuses it.
 * May use:  base/, libcheck.
 * Knows no: protocols, policies.
 * Threads:  one.
 * Blocks:   for answers.
 * Fails by: ck_abort_msg.
 * Promises: 1. No verdict depends on how fast requests follow each other: units that a rate earned
 *              since rate_watch are allowed for, and no more.
 *
 * A refusal is certain only where much is owed. Bytes can be owed: under a limit with RATE_DEBT a
 * request of twice the burst leaves a minute of debt. Operations cannot, so tests of those repeat a
 * request until it is refused.
 */
#ifndef TESTS_SUPPORT_RATES_H
#define TESTS_SUPPORT_RATES_H

#include <stdint.h>

/* Of a quota's or a key's limits: the burst is a minute of the rate. */
#define RATE_DEBT "'burst_ms':60000"

struct rate {
    int64_t per_second;
    int64_t burst;
    int64_t passed; /* units since then */
    uint64_t since_ns;
};

/* Call before the first request that the rate is charged for, while it is whole. */
void rate_watch(struct rate *r, int64_t per_second, int64_t burst);
/* One more unit has passed: the rate must have allowed for it. */
void rate_passed(struct rate *r);
/* What an answer says is left: the burst without what passed, and what was earned since. */
void rate_expect_left(const struct rate *r, int64_t left);

/* Sends one request of one unit and returns its status. */
typedef int rate_ask(void *arg);
/* Repeats it until the status is `refused`; the others must be `passes`. It is asked at least once.
 */
void rate_use_up(struct rate *r, rate_ask *ask, void *arg, int passes, int refused);

#endif
