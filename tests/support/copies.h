/*
 * tests/support/copies.h - a filter that gives every cell many times.
 *
 * Does:     make an interleave of that many filters that pass everything, so that a cell of a few
 *           megabytes is a row of hundreds.
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
