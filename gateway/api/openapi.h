/*
 * gateway/api/openapi.h - the API's own description: OpenAPI 3.1, from the route table.
 *
 * Does:     combines the files of gateway/api/openapi/ (one per subject, each a fragment of an
 *           OpenAPI document) and completes every operation from the route table: summary,
 *           credential and scope, parameters, limits, refusals.
 * Owns:     the text.
 * May use:  base/, auth/scopes.h, gateway/api/routes.h, gateway/api/json_in.h, jansson.
 * Knows no: requests, tenants.
 * Threads:  built by one; read by any.
 * Blocks:   no.
 * Fails by: ERR_INVALID naming the route, or the file, and what is missing or does not match;
 *           ERR_NO_MEMORY.
 * Limits:   GW_OPENAPI_BYTES.
 * Promises: 1. Every route has an operation, and every operation a route.
 *           2. Parameters and media types of an operation are those of its route.
 *           3. The same program always produces the same text.
 */
#ifndef GATEWAY_API_OPENAPI_H
#define GATEWAY_API_OPENAPI_H

#include "base/buf.h"
#include "base/err.h"
#include "base/limits.h"
#include "gateway/api/routes.h"

#define GW_OPENAPI_BYTES (1 * MIB)
#define GW_OPENAPI_ETAG  18

struct gw_openapi {
    struct buf text;
    char etag[GW_OPENAPI_ETAG + 1]; /* with its quotes */
};

enum err gw_openapi_build(const struct gw_route *routes, size_t count, struct gw_openapi *out,
                          struct errbuf *eb) MUST_CHECK;
void gw_openapi_fini(struct gw_openapi *doc);

/* The files, converted to text by openapi/embed.awk; ends with an entry whose name is NULL. */
struct gw_openapi_part {
    const char *name;
    const char *text;
};
extern const struct gw_openapi_part gw_openapi_parts[];

#endif
