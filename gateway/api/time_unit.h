/*
 * gateway/api/time_unit.h - the unit of timestamps that a write brings.
 *
 * Does:     read ?timestamps=us|ms, turn the timestamps of mutations into microseconds.
 * Owns:     nothing.
 * May use:  base/, storage/, gateway/api/query.h.
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
#include "storage/mutation.h"

#define GW_TIME_UNIT_FIELD "timestamps"

/* The microseconds of the unit: 1 or 1000. */
enum err gw_time_unit_read(const struct gw_query *q, int64_t *out_us, struct errbuf *eb) MUST_CHECK;
/* Its timestamps and range are in units of unit_us, and in microseconds then. */
enum err gw_time_unit_apply(int64_t unit_us, struct sto_mutation *m, struct errbuf *eb) MUST_CHECK;

#endif
