/*
 * gateway/api/routes.h - the one table of routes.
 *
 * Does:     lists for every route its method, pattern, required scope, the data it touches, the
 *           body and query it accepts, its handler, and one line of documentation.
 * Owns:     nothing; static data.
 * May use:  base/, auth/scopes.h, gateway/caller.h.
 * Knows no: arrival and matching of requests.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   body_max of each route.
 * Promises: 1. A route that is not in the table does not exist. 2. A route with scope 0 needs no
 *              credential and touches no tenant.
 */
#ifndef GATEWAY_API_ROUTES_H
#define GATEWAY_API_ROUTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gateway/caller.h"

enum gw_body {
    GW_BODY_NONE,     /* a body is refused */
    GW_BODY_JSON,     /* collected; the handler expects an object */
    GW_BODY_OPTIONAL, /* like JSON, and may be absent */
    GW_BODY_RAW,      /* collected; any bytes */
    GW_BODY_LINES,    /* streamed to the handler; one JSON object per line */
};

struct gw_route {
    const char *method;
    const char *pattern; /* segments, {parameters}, and perhaps a final :verb */
    uint64_t scope;      /* all of these bits */
    enum gw_access access;
    uint8_t cost;      /* operations charged when admitted; 0: the handler charges */
    const char *audit; /* the action it is recorded as; NULL: it changes at most rows */
    bool in_table;     /* the first parameter is a table of the acting tenant */
    bool by_row;       /* passed to gw_caller_check */
    enum gw_body body;
    size_t body_max;
    const char *const *query; /* accepted parameters; NULL: none */
    void (*handler)(struct gw_call *call);
    const char *doc;
};

/* Ends with an entry whose method is NULL. */
extern const struct gw_route gw_routes[];
extern const size_t gw_route_count;

#endif
