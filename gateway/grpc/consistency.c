/*
 * gateway/grpc/consistency.c - tokens for the check that writes are replicated everywhere.
 *
 * There is one copy, so every acknowledged write has arrived. A token is still a statement of this
 * server about this table, so it is signed, and valid for ninety days.
 */
#include <google/bigtable/admin/v2/bigtable_table_admin.pb-c.h>

#include "base/clock.h"
#include "gateway/grpc/handlers.h"

#include "base/banned.h"

#define TOKEN_BYTES  128
#define TOKEN_DAYS   90
#define US_PER_DAY   (86400LL * 1000000)
#define ISSUED_BYTES sizeof(int64_t)

static struct gw_page_context context_of(const struct gw_call *call)
{
    return (struct gw_page_context){.parts = {SLICE_LIT("consistency"), ten_tenant_id(call->tenant),
                                              gw_rpc(call)->resource.table},
                                    .count = 3};
}

void gw_admin_generate_token(struct gw_call *call)
{
    Bta__GenerateConsistencyTokenResponse reply = BTA__GENERATE_CONSISTENCY_TOKEN_RESPONSE__INIT;
    struct gw_page_context context = context_of(call);
    int64_t issued_us = base_wall_us();
    struct buf token;
    base_buf_init(&token, TOKEN_BYTES);
    enum err e = gw_page_token_make(&call->api->page_key, &context,
                                    base_slice(&issued_us, ISSUED_BYTES), &token);
    if (e == ERR_OK)
        reply.consistency_token = base_arena_text(&call->arena, base_buf_slice(&token));
    base_buf_fini(&token);
    if (e != ERR_OK || reply.consistency_token == NULL)
        gw_call_problem(call, ERR_NO_MEMORY, "out of memory for the token");
    else
        gw_rpc_reply(call, &reply.base);
}

static enum err check_token(struct gw_call *call, const char *token, struct errbuf *eb)
{
    struct gw_page_context context = context_of(call);
    int64_t issued_us = 0;
    struct buf issued;
    base_buf_init(&issued, TOKEN_BYTES);
    enum err e =
        gw_page_token_open(&call->api->page_key, &context, base_slice_text(token), &issued, eb);
    if (e == ERR_OK && issued.len == ISSUED_BYTES)
        memcpy(&issued_us, issued.ptr, ISSUED_BYTES);
    base_buf_fini(&issued);
    if (e != ERR_OK)
        return base_fail(eb, ERR_INVALID, "consistency_token is not one of this table");
    if (base_wall_us() - issued_us > TOKEN_DAYS * US_PER_DAY)
        return base_fail(eb, ERR_INVALID, "consistency_token is older than %d days", TOKEN_DAYS);
    return ERR_OK;
}

void gw_admin_check_consistency(struct gw_call *call)
{
    const Bta__CheckConsistencyRequest *request = (const void *)gw_rpc(call)->request;
    Bta__CheckConsistencyResponse reply = BTA__CHECK_CONSISTENCY_RESPONSE__INIT;
    struct errbuf eb;
    eb.text[0] = '\0';
    enum err e = check_token(call, request->consistency_token, &eb);
    reply.consistent = true;
    if (e != ERR_OK)
        gw_call_problem(call, (int)e, eb.text);
    else
        gw_rpc_reply(call, &reply.base);
}
