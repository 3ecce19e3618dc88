/*
 * gateway/drop_range.h - the range of rows that a bulk drop request names.
 *
 * Does:     checks a prefix, or the request for all rows, against the table; computes the range.
 * Owns:     nothing.
 * May use:  base/, storage/.
 * Knows no: protocols.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID (empty prefix), ERR_TOO_BIG, ERR_CONFLICT (deletion protection).
 * Limits:   LIM_ROW_KEY.
 * Promises: 1. An empty prefix never means all rows.
 */
#ifndef GATEWAY_DROP_RANGE_H
#define GATEWAY_DROP_RANGE_H

#include "base/err.h"
#include "storage/read.h"
#include "storage/schema.h"

/* Computes the range to drop. all: every row, prefix is ignored. end_bytes: LIM_ROW_KEY bytes, kept
 * by the caller. */
enum err gw_drop_range(const struct sto_schema *schema, struct slice prefix, bool all,
                       uint8_t *end_bytes, struct sto_row_range *out, struct errbuf *eb) MUST_CHECK;

#endif
