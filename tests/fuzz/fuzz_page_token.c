/*
 * tests/fuzz/fuzz_page_token.c - page tokens (gateway/page_token.h).
 *
 * The input is two contexts, a last key, a change, and the rest as a token a stranger made up.
 *   - A made-up token never opens.
 *   - A token opens for its own context and gives back the key; for another context, or with any of
 *     its bytes changed, cut off or added, it is ERR_INVALID and gives nothing.
 */
#include "base/limits.h"
#include "gateway/page_token.h"
#include "tests/fuzz/fuzz.h"

#include "base/banned.h"

static struct gw_page_key page_key;

static struct gw_page_context context_from(struct fuzz_input *in)
{
    struct gw_page_context c = {.count = fuzz_below(in, GW_PAGE_PARTS + 1)};
    for (size_t i = 0; i < c.count; i++)
        c.parts[i] = fuzz_bytes(in, 24);
    return c;
}

static bool contexts_equal(const struct gw_page_context *a, const struct gw_page_context *b)
{
    bool equal = a->count == b->count;
    for (size_t i = 0; equal && i < a->count; i++)
        equal = base_slice_equal(a->parts[i], b->parts[i]);
    return equal;
}

static void expect_refused(const struct gw_page_context *c, struct slice token)
{
    struct buf last;
    struct errbuf eb = {{0}};
    base_buf_init(&last, LIM_ROW_KEY);
    INVARIANT(gw_page_token_open(&page_key, c, token, &last, &eb) == ERR_INVALID);
    INVARIANT(last.len == 0);
    fuzz_expect_told(ERR_INVALID, &eb);
    base_buf_fini(&last);
}

static void expect_opened(const struct gw_page_context *c, struct slice token, struct slice key)
{
    struct buf last;
    struct errbuf eb = {{0}};
    base_buf_init(&last, LIM_ROW_KEY);
    INVARIANT(gw_page_token_open(&page_key, c, token, &last, &eb) == ERR_OK);
    INVARIANT(base_slice_equal(base_buf_slice(&last), key));
    base_buf_fini(&last);
}

static void expect_changed_refused(const struct gw_page_context *c, struct buf *token,
                                   uint64_t change)
{
    size_t at = (size_t)(change >> 8) % token->len;
    uint8_t bits = (uint8_t)(change & 0xff);
    struct slice whole = base_buf_slice(token);
    expect_refused(c, base_slice(whole.ptr, at));
    expect_refused(c, base_slice_skip(whole, at + 1));
    token->ptr[at] ^= bits != 0 ? bits : 1;
    expect_refused(c, whole);
    token->ptr[at] ^= bits != 0 ? bits : 1;
    INVARIANT(base_buf_append_byte(token, 'A' + bits % 26) == ERR_OK);
    expect_refused(c, base_buf_slice(token));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool ready;
    if (!ready)
        INVARIANT(gw_page_key_derive(SLICE_LIT("a secret"), &page_key) == ERR_OK);
    ready = true;
    struct fuzz_input in = {base_slice(data, size)};
    struct gw_page_context mine = context_from(&in), other = context_from(&in);
    uint64_t change = fuzz_number(&in, 4);
    struct slice key = fuzz_take(&in, (size_t)fuzz_number(&in, 2) % (LIM_ROW_KEY + 1));
    struct buf token;
    base_buf_init(&token, 4 * LIM_ROW_KEY);
    INVARIANT(gw_page_token_make(&page_key, &mine, key, &token) == ERR_OK);
    expect_opened(&mine, base_buf_slice(&token), key);
    if (!contexts_equal(&mine, &other))
        expect_refused(&other, base_buf_slice(&token));
    expect_changed_refused(&mine, &token, change);
    base_buf_fini(&token);
    expect_refused(&mine, in.rest);
    return 0;
}
