/*
 * gateway/api/time_unit.h - the unit of timestamps in a write.
 *
 * Does:     reads ?timestamps=us|ms; converts timestamps in that unit to microseconds.
 * Owns:     nothing.
 * May use:  base/, gateway/api/query.h.
 * Knows no: bodies.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID.
 * Limits:   none.
 * Promises: 1. Stored timestamps, and those in reads, are microseconds whatever the unit.
 */
#ifndef GATEWAY_API_TIME_UNIT_H
#define GATEWAY_API_TIME_UNIT_H

#include "gateway/api/query.h"

#define GW_TIME_UNIT_FIELD "timestamps"

/* Returns the microseconds of the unit: 1 or 1000. */
enum err gw_time_unit_read(const struct gw_query *q, int64_t *out_us, struct errbuf *eb) MUST_CHECK;
/* Converts a number of units to microseconds; text.ptr NULL: fallback, which has no unit. name: of
 * the field, for the error, whose numbers are in the unit. */
enum err gw_time_parse(struct slice text, const char *name, int64_t unit_us, int64_t fallback,
                       int64_t *out, struct errbuf *eb) MUST_CHECK;

#endif
