/*
 * gateway/grpc/change_token.c - a page token whose last key is two times.
 */
#include "gateway/grpc/change_token.h"

#include "storage/keycodec.h"

#include "base/banned.h"

#define BODY_BYTES 16

static struct gw_page_context context_of(const struct gw_change_stream_id *id,
                                         uint8_t out_bounds[2])
{
    const struct sto_row_range *p = &id->partition;
    out_bounds[0] = p->start_exclusive;
    out_bounds[1] = p->end_inclusive;
    return (struct gw_page_context){.parts = {SLICE_LIT("ReadChangeStream"), id->tenant, id->table,
                                              p->start, p->end, base_slice(out_bounds, 2)},
                                    .count = 6};
}

enum err gw_change_token_make(const struct gw_change_stream_id *id,
                              const struct gw_change_place *place, struct buf *out)
{
    uint8_t bounds[2], body[BODY_BYTES];
    struct gw_page_context context = context_of(id, bounds);
    sto_put_be64(body, (uint64_t)place->since_us);
    sto_put_be64(body + 8, (uint64_t)place->passed_us);
    return gw_page_token_make(id->key, &context, base_slice(body, sizeof body), out);
}

enum err gw_change_token_open(const struct gw_change_stream_id *id, struct slice token,
                              struct gw_change_place *out, struct errbuf *eb)
{
    uint8_t bounds[2];
    struct gw_page_context context = context_of(id, bounds);
    struct buf body;
    base_buf_init(&body, LIM_ROW_KEY);
    enum err e = gw_page_token_open(id->key, &context, token, &body, NULL);
    if (e == ERR_OK && body.len == BODY_BYTES)
        *out = (struct gw_change_place){(int64_t)sto_get_be64(body.ptr),
                                        (int64_t)sto_get_be64(body.ptr + 8)};
    else if (e != ERR_NO_MEMORY)
        e = base_fail(eb, ERR_INVALID, "the continuation token is not of this table and partition");
    else
        e = base_fail(eb, e, "out of memory while checking the continuation token");
    base_buf_fini(&body);
    return e;
}
