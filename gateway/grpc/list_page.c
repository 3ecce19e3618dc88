/*
 * gateway/grpc/list_page.c - pages of lists that are sorted by ID.
 */
#include "gateway/grpc/list_page.h"

#include "base/banned.h"

enum err gw_list_page_open(struct gw_call *call, const struct gw_page_context *context,
                           const char *token, struct slice *out_last, struct errbuf *eb)
{
    struct buf last;
    *out_last = SLICE_EMPTY;
    if (token[0] == '\0')
        return ERR_OK;
    base_buf_init(&last, LIM_ROW_KEY);
    enum err e =
        gw_page_token_open(&call->api->page_key, context, base_slice_text(token), &last, eb);
    if (e == ERR_OK)
        *out_last = base_arena_copy(&call->arena, base_buf_slice(&last));
    if (e == ERR_OK && out_last->ptr == NULL && last.len > 0)
        e = base_fail(eb, ERR_NO_MEMORY, "out of memory for the page token");
    base_buf_fini(&last);
    return e;
}

enum err gw_list_page_end(struct gw_call *call, const struct gw_page_context *context,
                          struct slice last, char **out_token, struct errbuf *eb)
{
    struct buf token;
    base_buf_init(&token, LIM_ROW_KEY);
    char *text = NULL;
    if (gw_page_token_make(&call->api->page_key, context, last, &token) == ERR_OK)
        text = base_arena_text(&call->arena, base_buf_slice(&token));
    base_buf_fini(&token);
    if (text == NULL)
        return base_fail(eb, ERR_NO_MEMORY, "out of memory for the page token");
    *out_token = text;
    return ERR_OK;
}
