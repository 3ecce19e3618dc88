/*
 * tests/fuzz/fuzz_text.c - codecs between bytes and text (base/text.h, gateway/api/json_out.h).
 *
 * The whole input goes through each of them.
 *   - A decoder refuses and adds nothing, or encoding what it gave is the same text again.
 *   - Whatever is encoded is decoded to the same.
 *   - UTF-8 is what jansson takes for UTF-8.
 *   - Any bytes come back from a JSON document they were put into.
 */
#include <inttypes.h>

#include "base/text.h"
#include "gateway/api/json_in.h"
#include "gateway/api/json_out.h"
#include "tests/fuzz/fuzz.h"

#include "base/banned.h"

#define OUT_MAX (8 * MIB)

static struct buf a, b;

static void clear(void)
{
    base_buf_truncate(&a, 0);
    base_buf_truncate(&b, 0);
}

struct codec {
    enum err (*encode)(struct slice in, struct buf *out);
    enum err (*decode)(struct slice in, struct buf *out);
};

static void try_codec(const struct codec *c, struct slice in)
{
    clear();
    if (c->decode(in, &a) == ERR_OK) {
        INVARIANT(c->encode(base_buf_slice(&a), &b) == ERR_OK);
        INVARIANT(base_slice_equal(base_buf_slice(&b), in));
    } else {
        INVARIANT(a.len == 0);
    }
    clear();
    INVARIANT(c->encode(in, &a) == ERR_OK);
    INVARIANT(c->decode(base_buf_slice(&a), &b) == ERR_OK);
    INVARIANT(base_slice_equal(base_buf_slice(&b), in));
}

static void try_numbers(struct slice in)
{
    uint64_t u = 0;
    int64_t i = 0;
    clear();
    if (base_parse_u64(in, &u) == ERR_OK) {
        INVARIANT(base_buf_append_u64(&a, u) == ERR_OK);
        INVARIANT(base_slice_equal(base_buf_slice(&a), in));
    }
    if (base_parse_i64(in, &i) == ERR_OK) {
        INVARIANT(base_buf_append_i64(&b, i) == ERR_OK);
        INVARIANT(base_slice_equal(base_buf_slice(&b), in));
    }
}

static void try_utf8(struct slice in)
{
    json_t *string = json_stringn((const char *)in.ptr, in.len);
    INVARIANT((string != NULL) == base_utf8_is_valid(in));
    json_decref(string);
}

static void try_document(struct slice in)
{
    struct arena arena;
    struct slice back = SLICE_EMPTY;
    json_t *tree = NULL;
    clear();
    base_arena_init(&arena, OUT_MAX);
    struct gw_json j = gw_json_start(&a);
    gw_json_open(&j, '{');
    gw_json_name(&j, "text");
    gw_json_text(&j, in);
    INVARIANT(base_buf_append_byte(&a, ',') == ERR_OK);
    gw_json_put_bytes(&a, "bytes", in);
    gw_json_close(&j, '}');
    INVARIANT(a.error == ERR_OK && gw_json_parse(base_buf_slice(&a), NULL, &tree, NULL) == ERR_OK);
    INVARIANT(gw_json_get_bytes(tree, "bytes", &arena, &back, NULL) == ERR_OK);
    INVARIANT(base_slice_equal(back, in));
    json_decref(tree);
    base_arena_fini(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct codec base64 = {base_base64_encode, base_base64_decode};
    static const struct codec base64url = {base_base64url_encode, base_base64url_decode};
    struct slice in = base_slice(data, size);
    base_buf_init(&a, OUT_MAX);
    base_buf_init(&b, OUT_MAX);
    try_codec(&base64, in);
    try_codec(&base64url, in);
    try_numbers(in);
    try_utf8(in);
    try_document(in);
    base_buf_fini(&a);
    base_buf_fini(&b);
    return 0;
}
