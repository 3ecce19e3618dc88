/*
 * gateway/api/columns.h - the common parameters of a read of a row: family, column, versions, time.
 *
 * Does:     turns ?family=&column=&versions=&since=&until= into a projection of the read.
 * Owns:     nothing; bytes are in the call's arena.
 * May use:  base/, storage/read.h, gateway/api/rest.h.
 * Knows no: rows, filters in JSON.
 * Threads:  the loop of the call.
 * Blocks:   no.
 * Fails by: ERR_INVALID, ERR_NOT_FOUND (family), ERR_TOO_BIG, naming the parameter.
 * Limits:   LIM_QUALIFIER.
 * Promises: 1. Absent parameters exclude nothing.
 */
#ifndef GATEWAY_API_COLUMNS_H
#define GATEWAY_API_COLUMNS_H

#include "gateway/api/rest.h"

/* Names of the parameters, for a route's list. */
#define GW_COLUMNS_QUERY "family", "column", "versions", "since", "until"

enum err gw_columns_from_query(const struct gw_call *call, struct sto_read_spec *spec,
                               struct errbuf *eb) MUST_CHECK;

#endif
