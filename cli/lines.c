/* cli/lines.c - see lines.h. Lines that lie whole in a piece are handed on without a copy. */
#include "cli/lines.h"

#include "cli/out.h"

#include "base/banned.h"

void cli_lines_init(struct cli_lines *l, size_t max,
                    enum cli_exit (*take)(void *ctx, struct slice line), void *ctx)
{
    base_buf_init(&l->pending, max);
    l->take = take;
    l->ctx = ctx;
}

void cli_lines_fini(struct cli_lines *l)
{
    base_buf_fini(&l->pending);
}

static enum cli_exit hold(struct cli_lines *l, struct slice bytes)
{
    if (base_buf_append(&l->pending, bytes) == ERR_OK)
        return CLI_OK;
    return cli_fail(CLI_REFUSED, "the server sent a line of more than %zu bytes", l->pending.max);
}

enum cli_exit cli_lines_feed(struct cli_lines *l, struct slice bytes)
{
    while (bytes.len > 0) {
        const uint8_t *end = memchr(bytes.ptr, '\n', bytes.len);
        if (end == NULL)
            return hold(l, bytes);
        struct slice line = base_slice(bytes.ptr, (size_t)(end - bytes.ptr));
        bytes = base_slice_skip(bytes, line.len + 1);
        enum cli_exit e = CLI_OK;
        if (l->pending.len > 0) {
            e = hold(l, line);
            line = base_buf_slice(&l->pending);
        }
        if (e == CLI_OK)
            e = l->take(l->ctx, line);
        base_buf_truncate(&l->pending, 0);
        if (e != CLI_OK)
            return e;
    }
    return CLI_OK;
}
