/*
 * gateway/api/precondition.h - If-Match and If-None-Match: changes that depend on the current
 * version.
 *
 * Does:     reads the two headers of a request that changes a table; writes the ETag of a table.
 * Owns:     nothing.
 * May use:  base/, tenancy/, gateway/exchange.h.
 * Knows no: routes; the comparison itself is tenancy's.
 * Threads:  the loop of the exchange.
 * Blocks:   no.
 * Fails by: ERR_INVALID naming the header.
 * Limits:   none.
 * Promises: 1. Accepted are If-Match: "<version>" or *, If-None-Match: *, and not both.
 *           2. A well-formed tag that is no version matches nothing (RFC 9110, 13.1.1).
 */
#ifndef GATEWAY_API_PRECONDITION_H
#define GATEWAY_API_PRECONDITION_H

#include "gateway/exchange.h"
#include "tenancy/registry.h"

enum err gw_precondition_parse(const struct gw_exchange *ex, struct ten_expect *out,
                               struct errbuf *eb) MUST_CHECK;
/* Adds the ETag; only before the response has started. */
void gw_etag_add(struct gw_exchange *ex, uint64_t version);

#endif
