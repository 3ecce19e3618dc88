/*
 * tests/fuzz/fuzz_stream.c - what servers send the command line over gRPC (cli/call.h,
 * cli/row_chunks.h, cli/change_feed.h, cli/service.h).
 *
 * The first byte says which of them the rest is; the second, into which pieces it is cut.
 *   - ReadRows: rows come in rising order, inside of what was asked for, each behind its cells; in
 *     pieces as in one.
 *   - Changes: a key that is told has a length a key can have, a token ends.
 *   - A table: families with names that can be, or a reason.
 */
#include "cli/change_feed.h"
#include "cli/json_text.h"
#include "cli/out.h"
#include "cli/service.h"
#include "tests/fuzz/fuzz.h"

#include "base/banned.h"

#define MESSAGE_BYTES (1 * MIB)

struct rows {
    struct cli_row_chunks chunks;
    struct buf last;
    uint64_t sum; /* of what was told */
    uint64_t cells;
};

static void add(struct rows *r, struct slice bytes)
{
    for (size_t i = 0; i < bytes.len; i++)
        r->sum = r->sum * 1099511628211U + bytes.ptr[i] + 1;
    r->sum = r->sum * 1099511628211U + bytes.len;
}

static enum cli_exit on_cell(void *ctx, const struct cli_cell *cell)
{
    struct rows *r = ctx;
    INVARIANT(cell->key.len > 0 && cell->key.len <= LIM_ROW_KEY);
    add(r, cell->family);
    add(r, cell->qualifier);
    add(r, cell->value);
    r->cells++;
    return CLI_OK;
}

static enum cli_exit on_row(void *ctx, struct slice key)
{
    struct rows *r = ctx;
    INVARIANT(r->cells > 0);
    INVARIANT(base_slice_compare(key, base_buf_slice(&r->last)) > 0);
    INVARIANT(base_slice_compare(key, r->chunks.start) >= 0);
    INVARIANT(base_slice_compare(key, r->chunks.end) < 0);
    base_buf_truncate(&r->last, 0);
    base_buf_append(&r->last, key);
    add(r, key);
    r->cells = 0;
    return CLI_OK;
}

static enum cli_exit on_message(void *ctx, struct slice message)
{
    struct rows *r = ctx;
    return cli_row_chunks_take(&r->chunks, message);
}

static uint64_t read_rows(struct slice bytes, size_t piece)
{
    struct rows r = {.sum = 0};
    struct cli_call call;
    enum cli_exit e = CLI_OK;
    cli_row_chunks_init(&r.chunks);
    base_buf_init(&r.last, LIM_ROW_KEY);
    r.chunks.on_cell = on_cell;
    r.chunks.on_row = on_row;
    r.chunks.ctx = &r;
    r.chunks.start = SLICE_LIT("!");
    r.chunks.end = SLICE_LIT("\xf0");
    cli_call_init(&call, MESSAGE_BYTES);
    call.what = "rows";
    call.on_message = on_message;
    call.message_ctx = &r;
    while (bytes.len > 0 && e == CLI_OK) {
        size_t len = piece < bytes.len ? piece : bytes.len;
        e = cli_call_take(&call, base_slice(bytes.ptr, len));
        bytes = base_slice_skip(bytes, len);
    }
    uint64_t sum = r.sum * 2 + (e == CLI_OK);
    cli_call_fini(&call);
    base_buf_fini(&r.last);
    cli_row_chunks_fini(&r.chunks);
    return sum;
}

static enum cli_exit on_key(void *ctx, struct slice key)
{
    (void)ctx;
    INVARIANT(key.len > 0 && key.len <= LIM_ROW_KEY);
    return CLI_OK;
}

static void read_change(struct slice message)
{
    struct cli_feed feed = {.on_key = on_key, .changes_max = 1};
    enum cli_exit e = cli_feed_take(&feed, message);
    INVARIANT(memchr(feed.token, '\0', sizeof feed.token) != NULL);
    INVARIANT(e != CLI_BROKEN_PIPE || feed.is_enough);
    INVARIANT(feed.changes <= feed.seen);
}

static void read_table(struct slice message)
{
    struct errbuf why = {0};
    json_t *families = cli_service_families(message, &why);
    fuzz_expect_told(families != NULL ? ERR_OK : ERR_INVALID, &why);
    const char *name;
    json_t *family;
    json_object_foreach(families, name, family)
    {
        INVARIANT(name[0] != '\0' && json_is_object(family));
    }
    json_decref(families);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {base_slice(data, size)};
    struct buf said;
    unsigned kind = fuzz_below(&in, 3);
    size_t piece = 1U + fuzz_byte(&in);
    cli_json_init();
    base_buf_init(&said, MESSAGE_BYTES);
    cli_say_hold(&said);
    if (kind == 0)
        INVARIANT(read_rows(in.rest, piece) == read_rows(in.rest, in.rest.len + 1));
    else if (kind == 1)
        read_change(in.rest);
    else
        read_table(in.rest);
    cli_say_hold(NULL);
    base_buf_fini(&said);
    return 0;
}
