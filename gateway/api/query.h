/*
 * gateway/api/query.h - the query part of a target, strictly.
 *
 * Does:     splits name=value pairs, percent-decodes values, refuses parameters that a route does
 *           not know.
 * Owns:     nothing; values are in the arena.
 * May use:  base/.
 * Knows no: meaning of the parameters.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID naming the parameter; ERR_NO_MEMORY.
 * Limits:   GW_QUERY_PARAMS names a route may accept; LIM_TARGET_BYTES bounds the text.
 * Promises: 1. Unknown and repeated parameters are refused. 2. "+" is a plus sign.
 */
#ifndef GATEWAY_API_QUERY_H
#define GATEWAY_API_QUERY_H

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"

#define GW_QUERY_PARAMS 16

struct gw_query {
    const char *const *names;             /* NULL-terminated */
    struct slice values[GW_QUERY_PARAMS]; /* ptr NULL: absent */
};

enum err gw_query_parse(struct slice raw, const char *const *names, struct arena *arena,
                        struct gw_query *out, struct errbuf *eb) MUST_CHECK;
/* Returns the value of a name in the list; ptr NULL when it is absent. */
struct slice gw_query_get(const struct gw_query *q, const char *name);
/* Reads a number within [min, max]; fallback when it is absent. */
enum err gw_query_number(const struct gw_query *q, const char *name, uint64_t min, uint64_t max,
                         uint64_t fallback, uint64_t *out, struct errbuf *eb) MUST_CHECK;

#endif
