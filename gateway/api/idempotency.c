/*
 * gateway/api/idempotency.c - requests that may be resent without being executed again.
 */
#include "gateway/api/idempotency.h"

#include "base/clock.h"
#include "gateway/api/time_unit.h"

#include "base/banned.h"

enum err gw_idempotency_make(struct slice token, struct slice start, const char *name,
                             struct sto_idempotency *out, struct errbuf *eb)
{
    *out = (struct sto_idempotency){.token = SLICE_EMPTY};
    if (token.ptr == NULL && start.ptr == NULL)
        return ERR_OK;
    if (token.ptr == NULL)
        return base_fail(eb, ERR_INVALID, "the start of a first attempt needs \"%s\" beside it",
                         name);
    if (token.len < LIM_IDEMPOTENCY_TOKEN_MIN || token.len > LIM_IDEMPOTENCY_TOKEN)
        return base_fail(eb, ERR_INVALID, "\"%s\" has %zu bytes; it needs %d to %d", name,
                         token.len, LIM_IDEMPOTENCY_TOKEN_MIN, LIM_IDEMPOTENCY_TOKEN);
    out->token = token;
    return gw_time_parse(start, "idempotency start", 1, base_wall_us(), &out->start_us, eb);
}

/* Removes quotes. The draft of the header defines it as a string of structured fields; most clients
 * leave the quotes out. */
static struct slice unquoted(struct slice s)
{
    if (s.len < 2 || s.ptr[0] != '"' || s.ptr[s.len - 1] != '"')
        return s;
    return base_slice(s.ptr + 1, s.len - 2);
}

enum err gw_idempotency_of_request(const struct gw_exchange *ex, struct arena *arena,
                                   struct sto_idempotency *out, struct errbuf *eb)
{
    size_t tokens = 0, starts = 0;
    struct slice token = unquoted(gw_exchange_header(ex, "idempotency-key", &tokens));
    struct slice start = gw_exchange_header(ex, "idempotency-start", &starts);
    if (tokens > 1 || starts > 1)
        return base_fail(eb, ERR_INVALID,
                         "give \"idempotency-key\" and \"idempotency-start\" once each");
    /* A header without a value is still present. */
    token.ptr = tokens == 1 && token.ptr == NULL ? (const uint8_t *)"" : token.ptr;
    start.ptr = starts == 1 && start.ptr == NULL ? (const uint8_t *)"" : start.ptr;
    enum err e = gw_idempotency_make(token, start, "idempotency-key", out, eb);
    if (e != ERR_OK || out->token.len == 0)
        return e;
    out->token = base_arena_copy(arena, out->token);
    return out->token.ptr != NULL ? ERR_OK
                                  : base_fail(eb, ERR_NO_MEMORY, "out of memory for the request");
}
