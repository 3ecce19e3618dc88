/*
 * tests/fuzz/fuzz_query.c - targets of requests (gateway/api/query.h, router.h).
 *
 * The input is a line: method, space, path, and perhaps '?' and a query, which is read with the
 * names of the route that matched (of the first one that takes any, when none did).
 *   - A path that matches, its parameters decoded and encoded again in the route's pattern, matches
 *     the same route with the same parameters; HEAD finds what GET finds.
 *   - A query that is taken, its values encoded again, is taken again with the same values.
 *   - Percent codes: what is decoded, encoded and decoded again is the same.
 */
#include "base/limits.h"
#include "base/text.h"
#include "gateway/api/query.h"
#include "gateway/api/router.h"
#include "tests/fuzz/fuzz.h"

#include "base/banned.h"

static struct gw_router *router;

static void append(struct buf *b, struct slice bytes)
{
    INVARIANT(base_buf_append(b, bytes) == ERR_OK);
}

/* "." and ".." need not be encoded, but a segment that is one of them means something else. */
static void append_segment(struct buf *b, struct slice bytes)
{
    bool is_dots = base_slice_is(bytes, ".") || base_slice_is(bytes, "..");
    for (size_t i = 0; is_dots && i < bytes.len; i++)
        append(b, SLICE_LIT("%2E"));
    if (!is_dots)
        INVARIANT(base_percent_encode(bytes, b) == ERR_OK);
}

/* --- paths --------------------------------------------------------------------------------- */

static void append_path(struct buf *b, const char *pattern, const struct slice *params)
{
    size_t param = 0;
    const char *at = pattern;
    while (*at != '\0') {
        size_t literal = strcspn(at, "{");
        append(b, base_slice(at, literal));
        at += literal;
        if (*at == '\0')
            break;
        append_segment(b, params[param++]);
        at += strcspn(at, "}") + 1;
    }
}

static void expect_found_again(struct slice method, const struct gw_match *m)
{
    struct gw_match again;
    struct arena arena;
    struct buf path;
    base_arena_init(&arena, MIB);
    base_buf_init(&path, MIB);
    append_path(&path, m->route->pattern, m->params);
    INVARIANT(gw_router_match(router, method, base_buf_slice(&path), &again) == GW_MATCHED);
    INVARIANT(again.route == m->route && again.param_count == m->param_count);
    INVARIANT(gw_match_decode(&again, &arena, NULL) == ERR_OK);
    for (size_t i = 0; i < m->param_count; i++)
        INVARIANT(base_slice_equal(again.params[i], m->params[i]));
    base_buf_fini(&path);
    base_arena_fini(&arena);
}

/* The route, NULL when none was found. */
static const struct gw_route *try_path(struct slice method, struct slice path)
{
    struct gw_match m;
    struct arena arena;
    struct errbuf eb = {{0}};
    enum gw_matched matched = gw_router_match(router, method, path, &m);
    INVARIANT((matched == GW_MATCHED) == (m.route != NULL));
    INVARIANT(matched != GW_MATCHED_NO_METHOD || m.allow[0] != '\0');
    if (matched != GW_MATCHED)
        return NULL;
    struct slice wanted = base_slice_is(method, "HEAD") ? SLICE_LIT("GET") : method;
    INVARIANT(base_slice_is(wanted, m.route->method) && m.param_count <= GW_PATH_PARAMS);
    base_arena_init(&arena, MIB);
    enum err e = gw_match_decode(&m, &arena, &eb);
    fuzz_expect_told(e, &eb);
    if (e == ERR_OK)
        expect_found_again(method, &m);
    base_arena_fini(&arena);
    return m.route;
}

/* --- queries ------------------------------------------------------------------------------- */

static void expect_taken_again(const struct gw_query *q, struct arena *arena)
{
    struct gw_query again;
    struct buf text;
    base_buf_init(&text, MIB);
    for (size_t i = 0; q->names[i] != NULL; i++) {
        if (q->values[i].ptr == NULL)
            continue;
        append(&text, text.len > 0 ? SLICE_LIT("&") : SLICE_EMPTY);
        append(&text, base_slice_text(q->names[i]));
        append(&text, SLICE_LIT("="));
        INVARIANT(base_percent_encode(q->values[i], &text) == ERR_OK);
    }
    INVARIANT(gw_query_parse(base_buf_slice(&text), q->names, arena, &again, NULL) == ERR_OK);
    for (size_t i = 0; q->names[i] != NULL; i++) {
        INVARIANT((again.values[i].ptr == NULL) == (q->values[i].ptr == NULL));
        INVARIANT(base_slice_equal(again.values[i], q->values[i]));
    }
    base_buf_fini(&text);
}

static void try_query(const char *const *names, struct slice raw)
{
    struct gw_query q;
    struct arena arena;
    struct errbuf eb = {{0}};
    base_arena_init(&arena, MIB);
    enum err e = gw_query_parse(raw, names, &arena, &q, &eb);
    fuzz_expect_told(e, &eb);
    if (e == ERR_OK)
        expect_taken_again(&q, &arena);
    for (size_t i = 0; e == ERR_OK && names[i] != NULL; i++) {
        uint64_t number = 0;
        struct errbuf of_number = {{0}};
        enum err n = gw_query_number(&q, names[i], 5, 5000, 7, &number, &of_number);
        fuzz_expect_told(n, &of_number);
        INVARIANT(n != ERR_OK || (number >= 5 && number <= 5000));
    }
    base_arena_fini(&arena);
}

static void try_percent(struct slice text)
{
    struct buf bytes, again, encoded;
    base_buf_init(&bytes, MIB);
    base_buf_init(&again, MIB);
    base_buf_init(&encoded, MIB);
    if (base_percent_decode(text, &bytes) == ERR_OK) {
        INVARIANT(base_percent_encode(base_buf_slice(&bytes), &encoded) == ERR_OK);
        INVARIANT(base_percent_decode(base_buf_slice(&encoded), &again) == ERR_OK);
        INVARIANT(base_slice_equal(base_buf_slice(&bytes), base_buf_slice(&again)));
    } else {
        INVARIANT(bytes.len == 0);
    }
    base_buf_fini(&bytes);
    base_buf_fini(&again);
    base_buf_fini(&encoded);
}

/* What stands in front of the separator; *rest becomes what follows it. */
static struct slice cut(struct slice *rest, uint8_t separator)
{
    const uint8_t *at = rest->len == 0 ? NULL : memchr(rest->ptr, separator, rest->len);
    size_t len = at == NULL ? rest->len : (size_t)(at - rest->ptr);
    struct slice front = base_slice(rest->ptr, len);
    *rest = base_slice_skip(*rest, at == NULL ? len : len + 1);
    return front;
}

static const char *const *names_of(const struct gw_route *route)
{
    static const char *const none[] = {NULL};
    size_t i = 0;
    if (route != NULL)
        return route->query == NULL ? none : route->query;
    while (gw_routes[i].query == NULL)
        i++;
    return gw_routes[i].query;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (router == NULL)
        router = gw_router_new(gw_routes, gw_route_count);
    struct slice rest = base_slice(data, size);
    struct slice method = cut(&rest, ' ');
    struct slice path = cut(&rest, '?');
    const struct gw_route *route = try_path(method, path);
    try_percent(path);
    try_query(names_of(route), rest);
    return 0;
}
