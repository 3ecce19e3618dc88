/*
 * tests/support/scrape.h - /metrics, as a test reads it.
 *
 * Does:     ask for it, find a series, wait until one has a value.
 * Owns:     the last scrape, in static memory.
 * May use:  tests/support/http.h, libcheck.
 * Knows no: which metrics there are.
 * Threads:  one.
 * Blocks:   for answers; scrape_expect for process_await_ms() at most.
 * Fails by: ck_abort_msg.
 * Limits:   pages of 8 MiB.
 * Promises: 1. A series is found by its whole name with all labels, never by a part of it.
 */
#ifndef TESTS_SUPPORT_SCRAPE_H
#define TESTS_SUPPORT_SCRAPE_H

#include <stdint.h>

#include "tests/support/http.h"

/* With an operator's client. */
void scrape(struct http *op);
/* False when no answer came, as from a server that may end at any moment. */
bool scrape_try(struct http *op);
/* The last one, as text. */
const char *scrape_page(void);
/* Of a series of the last one; "" when it is not there. In static memory until the next call. */
const char *scrape_value(const char *series);
/* Of the last one; 0 when it is not there. */
uint64_t scrape_seen(const char *series);
/* Of a new one. */
uint64_t scrape_number(struct http *op, const char *series);
/* What counts may come a moment behind an answer: waited for, and then there exactly. */
void scrape_expect(struct http *op, const char *series, uint64_t wanted);

#endif
