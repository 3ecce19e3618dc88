/*
 * tests/support/scrape.h - reads /metrics in tests.
 *
 * Does:     request it, find a series, wait until a series has a value.
 * Owns:     the last scrape, in static memory.
 * May use:  tests/support/http.h, libcheck.
 * Knows no: the existing metrics.
 * Threads:  one.
 * Blocks:   for answers; scrape_expect for at most process_await_ms().
 * Fails by: ck_abort_msg.
 * Limits:   pages of 8 MiB.
 * Promises: 1. A series is found by its full name with all labels, never by a part of it.
 */
#ifndef TESTS_SUPPORT_SCRAPE_H
#define TESTS_SUPPORT_SCRAPE_H

#include <stdint.h>

#include "tests/support/http.h"

/* Scrapes with an operator's client. */
void scrape(struct http *op);
/* Scrapes a server that may end at any moment; returns false when no answer arrived. */
bool scrape_try(struct http *op);
/* Returns the last scrape as text. */
const char *scrape_page(void);
/* Returns a series' value in the last scrape, "" when it is missing;
 * in static memory until the next call. */
const char *scrape_value(const char *series);
/* Returns a series' number in the last scrape; 0 when it is missing. */
uint64_t scrape_seen(const char *series);
/* Returns a series' number in a new scrape. */
uint64_t scrape_number(struct http *op, const char *series);
/* Waits until the series has exactly the wanted value, because counters may lag behind answers. */
void scrape_expect(struct http *op, const char *series, uint64_t wanted);

#endif
