/*
 * gateway/drop_range.h - the rows that a request to drop many means.
 *
 * Does:     check a prefix, or the wish for all rows, against the table; make the range.
 * Owns:     nothing.
 * May use:  base/, storage/.
 * Knows no: protocols.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID (empty prefix), ERR_TOO_BIG, ERR_CONFLICT (deletion protection).
 * Limits:   LIM_ROW_KEY.
 * Promises: 1. All rows are never meant by an empty prefix.
 */
#ifndef GATEWAY_DROP_RANGE_H
#define GATEWAY_DROP_RANGE_H

#include "base/err.h"
#include "storage/read.h"
#include "storage/schema.h"

/* all: every row, and prefix does not matter. end_bytes: LIM_ROW_KEY, kept by the caller. */
enum err gw_drop_range(const struct sto_schema *schema, struct slice prefix, bool all,
                       uint8_t *end_bytes, struct sto_row_range *out, struct errbuf *eb) MUST_CHECK;

#endif
