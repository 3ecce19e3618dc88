/*
 * tests/support/rates.h - rates of a real server, checked from outside at any request speed.
 *
 * Does:     compare admitted units, and the reported rest, with the units that a rate allows;
 *           repeat a request until the rate refuses it.
 * May use:  base/, libcheck.
 * Knows no: protocols, policies.
 * Threads:  one.
 * Blocks:   for answers.
 * Fails by: ck_abort_msg.
 * Promises: 1. No result depends on the time between requests: exactly the units that the rate
 *              earned since rate_watch are allowed for.
 *
 * A refusal is certain only after a large debt. Bytes can go into debt: under a limit with
 * RATE_DEBT a request of twice the burst leaves a minute of debt. Operations cannot, so their tests
 * repeat a request until it is refused.
 */
#ifndef TESTS_SUPPORT_RATES_H
#define TESTS_SUPPORT_RATES_H

#include <stdint.h>

/* Member of a quota's or a key's limits: the burst is a minute of the rate. */
#define RATE_DEBT "'burst_ms':60000"

struct rate {
    int64_t per_second;
    int64_t burst;
    int64_t passed; /* units since since_ns */
    uint64_t since_ns;
};

/* Starts the check; call it before the first charged request, while the burst is full. */
void rate_watch(struct rate *r, int64_t per_second, int64_t burst);
/* Counts one more admitted unit, which the rate must have allowed. */
void rate_passed(struct rate *r);
/* Checks the rest that an answer reports: the burst minus the admitted units,
 * plus the units earned since. */
void rate_expect_left(const struct rate *r, int64_t left);

/* Sends one request of one unit and returns its status. */
typedef int rate_ask(void *arg);
/* Repeats the request until its status is `refused`; other statuses must be `passes`.
 * Sends at least one request. */
void rate_use_up(struct rate *r, rate_ask *ask, void *arg, int passes, int refused);

#endif
