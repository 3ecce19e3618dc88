/*
 * gateway/api/router.h - finds the route of a method and a raw path.
 *
 * Does:     compiles a route table; splits a raw path, matches it, percent-decodes its parameters.
 * Owns:     the compiled table.
 * May use:  base/, gateway/api/routes.h.
 * Knows no: handlers, tenants.
 * Threads:  match from any; make and free from one.
 * Blocks:   no.
 * Fails by: see enum gw_matched; ERR_INVALID and ERR_NO_MEMORY when decoding.
 * Limits:   GW_PATH_SEGMENTS, GW_PATH_PARAMS.
 * Promises: 1. The path is split before it is decoded: an encoded slash is part of its segment.
 *           2. Parameters may hold any byte, %00 and %2F included. 3. Only {qualifier} may be
 *              empty.
 *           4. HEAD finds the route of GET.
 *           5. A ':' separates a verb only where some route has that very verb; in {key} and
 *              {qualifier} it is an ordinary byte.
 */
#ifndef GATEWAY_API_ROUTER_H
#define GATEWAY_API_ROUTER_H

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"
#include "gateway/api/routes.h"

#define GW_PATH_SEGMENTS 8
#define GW_PATH_PARAMS   4
#define GW_ALLOW_TEXT    64

struct gw_router;

struct gw_router *gw_router_new(const struct gw_route *routes, size_t count);
void gw_router_free(struct gw_router *r);

enum gw_matched {
    GW_MATCHED,
    GW_MATCHED_NO_PATH,   /* 404 */
    GW_MATCHED_LONG_PATH, /* 404: more segments after a route's {key} or {qualifier} */
    GW_MATCHED_NO_METHOD, /* 405; allow is filled in */
    GW_MATCHED_BAD_PATH,  /* 400: an empty or dot segment where a name is required */
};

struct gw_match {
    const struct gw_route *route;
    struct slice params[GW_PATH_PARAMS]; /* raw until decoded */
    size_t param_count;
    char allow[GW_ALLOW_TEXT];
};

enum gw_matched gw_router_match(const struct gw_router *r, struct slice method, struct slice path,
                                struct gw_match *out);
/* Decodes the parameters into the arena. */
enum err gw_match_decode(struct gw_match *m, struct arena *arena, struct errbuf *eb) MUST_CHECK;

#endif
