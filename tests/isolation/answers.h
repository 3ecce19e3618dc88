/*
 * tests/isolation/answers.h - an answer as text that can be compared with another.
 *
 * Does:     write down status, headers and body without what differs from moment to moment.
 * Owns:     nothing.
 * May use:  tests/support/, libcheck.
 * Knows no: what was asked.
 * Threads:  one.
 * Blocks:   no.
 * Fails by: ck_abort_msg.
 * Limits:   ANSWER_MAX.
 * Promises: 1. Only these are left out: Date, what remains of a rate, numbers of 10 digits and more
 *              (times), and of an answer that moves with time its body and its length.
 */
#ifndef TESTS_ISOLATION_ANSWERS_H
#define TESTS_ISOLATION_ANSWERS_H

#include "tests/support/grpc_client.h"
#include "tests/support/http.h"

#define ANSWER_MAX (64 * MIB)

void answer_of_http(const struct http *h, bool moves, struct buf *out);
/* With what grpc-status-details-bin means, and the messages. */
void answer_of_grpc(const struct grpc_call *call, bool moves, struct buf *out);
/* The first difference, in static memory; NULL: there is none. */
const char *answer_difference(const struct buf *a, const struct buf *b);

#endif
