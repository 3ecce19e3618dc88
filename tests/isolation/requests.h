/*
 * tests/isolation/requests.h - requests for every route, made of the route table.
 *
 * Does:     make a route's requests: its pattern with names in it, its query parameters, and bodies
 *           from one table.
 * Owns:     nothing.
 * May use:  base/, gateway/api/routes.h, tests/isolation/names.h, libcheck.
 * Knows no: servers.
 * Threads:  one.
 * Blocks:   no.
 * Fails by: ck_abort_msg for a route, a parameter or a query parameter it has no request for.
 * Limits:   REQUESTS_MAX of a route.
 * Promises: 1. A route that is not in requests.c, and needs to be, ends the suite.
 */
#ifndef TESTS_ISOLATION_REQUESTS_H
#define TESTS_ISOLATION_REQUESTS_H

#include "gateway/api/routes.h"
#include "tests/isolation/names.h"

#define REQUESTS_MAX 192

/* Where a neighbour is named; what is not set is the caller's own. */
enum way {
    WAY_PLACE = 1,   /* the tenant, table, plan or job of the path */
    WAY_ITEM = 2,    /* the row, family, qualifier or key of the path */
    WAY_HEADER = 4,  /* Bigtent-Tenant */
    WAY_ODD = 8,     /* headers that mean a tenant elsewhere */
    WAY_BODY = 16,   /* whatever the body names */
    WAY_QUERY = 32,  /* the value of the one query parameter there is */
    WAY_TOKEN = 64,  /* Idempotency-Key */
    WAY_STREAM = 128 /* Accept: application/x-ndjson */
};

struct request {
    const struct gw_route *route;
    unsigned ways;
    const char *query; /* "prefix={key}"; NULL: none */
    const char *body;  /* NULL: none */
};

/* Begins with the one that names nobody else. */
size_t requests_of(const struct gw_route *route, struct request out[REQUESTS_MAX]);
/* The target and the body. */
void request_target(const struct request *r, const struct names *own, const struct names *foreign,
                    struct buf *out);
void request_body(const struct request *r, const struct names *own, const struct names *foreign,
                  struct buf *out);
/* "GET /v1/usage, header": for messages. In static memory. */
const char *request_name(const struct request *r);

#endif
