/*
 * tests/support/copies.h - a filter that emits every cell many times.
 *
 * Does:     create an interleave of count filters that pass everything, so that a cell of a few
 *           megabytes becomes a row of hundreds of megabytes.
 * Owns:     what it points to; one at a time.
 * May use:  protobuf-c, libcheck.
 * Knows no: rows.
 * Threads:  one.
 * Blocks:   no.
 * Fails by: ck_abort_msg.
 * Limits:   COPIES_MAX.
 * Promises: none.
 */
#ifndef TESTS_SUPPORT_COPIES_H
#define TESTS_SUPPORT_COPIES_H

#include <google/bigtable/v2/data.pb-c.h>

#define COPIES_MAX 64

Bt__RowFilter *copies_filter(size_t count);

#endif
