/*
 * gateway/api/time_unit.h - the unit of timestamps that a write brings.
 *
 * Does:     read ?timestamps=us|ms; read timestamps in that unit as microseconds.
 * Owns:     nothing.
 * May use:  base/, gateway/api/query.h.
 * Knows no: bodies.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID.
 * Limits:   none.
 * Promises: 1. What is stored, and what reads show, is microseconds whatever the unit.
 */
#ifndef GATEWAY_API_TIME_UNIT_H
#define GATEWAY_API_TIME_UNIT_H

#include "gateway/api/query.h"

#define GW_TIME_UNIT_FIELD "timestamps"

/* The microseconds of the unit: 1 or 1000. */
enum err gw_time_unit_read(const struct gw_query *q, int64_t *out_us, struct errbuf *eb) MUST_CHECK;
/* Reads a number of units as microseconds; text.ptr NULL: fallback, which has no unit. name: of the
 * field, for the error, which speaks in the unit. */
enum err gw_time_parse(struct slice text, const char *name, int64_t unit_us, int64_t fallback,
                       int64_t *out, struct errbuf *eb) MUST_CHECK;

#endif
