/*
 * cli/transfer_row.c - see transfer_row.h.
 *
 * The document has four levels, and one function reads each: members of the row, families, columns,
 * cells. Labels and the readings of aggregates are skipped, because a copy does not need them.
 */
#include "cli/transfer_row.h"

#include "base/text.h"
#include "cli/json_pull.h"
#include "cli/out.h"

#include "base/banned.h"

#define BINARY "$binary"

struct reader {
    struct cli_pull pull;
    struct buf *holder;
    struct cli_cell cell;
    enum cli_exit (*take)(void *ctx, const struct cli_cell *cell);
    void *ctx;
    enum cli_exit stop; /* the result of take */
};

static bool take_timestamp(struct reader *r)
{
    struct slice text;
    return cli_pull_text(&r->pull, r->holder, &text) &&
           base_parse_i64(text, &r->cell.timestamp_us) == ERR_OK;
}

static bool take_member(struct reader *r, struct slice name, bool *out_has_value)
{
    struct slice ignored;
    *out_has_value = *out_has_value || base_slice_starts_with(name, SLICE_LIT("value"));
    if (base_slice_is(name, "value"))
        return cli_pull_text(&r->pull, r->holder, &r->cell.value);
    if (base_slice_is(name, "value_b64"))
        return cli_pull_base64(&r->pull, r->holder, &r->cell.value);
    if (base_slice_is(name, "timestamp"))
        return take_timestamp(r);
    if (base_slice_is(name, "number") || base_slice_is(name, "estimate"))
        return cli_pull_number(&r->pull);
    if (base_slice_is(name, "family"))
        return cli_pull_text(&r->pull, r->holder, &r->cell.family);
    if (base_slice_is(name, "qualifier"))
        return cli_pull_text(&r->pull, r->holder, &r->cell.qualifier);
    if (base_slice_is(name, "qualifier_b64"))
        return cli_pull_base64(&r->pull, r->holder, &r->cell.qualifier);
    return base_slice_is(name, "label") && cli_pull_text(&r->pull, r->holder, &ignored);
}

/* Reads a cell, and truncates the holder after it, which holds names and one value. */
static bool take_cell(struct reader *r)
{
    size_t held = r->holder->len;
    bool has_value = false;
    bool more = cli_pull_take(&r->pull, '{');
    while (more) {
        struct slice name;
        if (!cli_pull_name(&r->pull, r->holder, &name) || !take_member(r, name, &has_value) ||
            !cli_pull_next(&r->pull, '}', &more))
            return false;
    }
    if (!has_value)
        return false;
    r->stop = r->take(r->ctx, &r->cell);
    base_buf_truncate(r->holder, held);
    return r->stop == CLI_OK;
}

static bool take_cells(struct reader *r)
{
    bool more = true;
    if (!cli_pull_take(&r->pull, '['))
        return false;
    while (more) {
        if (!take_cell(r) || !cli_pull_next(&r->pull, ']', &more))
            return false;
    }
    return true;
}

static bool take_columns(struct reader *r)
{
    bool more = true;
    if (!cli_pull_take(&r->pull, '{'))
        return false;
    while (more) {
        size_t held = r->holder->len;
        if (!cli_pull_name(&r->pull, r->holder, &r->cell.qualifier) || !take_cells(r) ||
            !cli_pull_next(&r->pull, '}', &more))
            return false;
        base_buf_truncate(r->holder, held);
    }
    return true;
}

static bool take_families(struct reader *r)
{
    bool more = true;
    if (!cli_pull_take(&r->pull, '{'))
        return false;
    while (more) {
        if (!cli_pull_name(&r->pull, r->holder, &r->cell.family))
            return false;
        bool is_binary = base_slice_is(r->cell.family, BINARY);
        if (!(is_binary ? take_cells(r) : take_columns(r)) || !cli_pull_next(&r->pull, '}', &more))
            return false;
    }
    return true;
}

/* Reads a row. The server sends the key first; cells before the key are refused. */
static bool take_row(struct reader *r)
{
    struct slice name;
    bool more = false;
    if (!cli_pull_take(&r->pull, '{') || !cli_pull_name(&r->pull, r->holder, &name))
        return false;
    bool has_key =
        base_slice_is(name, "key")
            ? cli_pull_text(&r->pull, r->holder, &r->cell.key)
            : base_slice_is(name, "key_b64") && cli_pull_base64(&r->pull, r->holder, &r->cell.key);
    return has_key && r->cell.key.len > 0 && cli_pull_next(&r->pull, '}', &more) && more &&
           cli_pull_name(&r->pull, r->holder, &name) && base_slice_is(name, "cells") &&
           take_families(r) && cli_pull_take(&r->pull, '}') && cli_pull_ended(&r->pull);
}

enum cli_exit cli_row_cells(struct slice line, struct buf *holder, struct buf *key,
                            enum cli_exit (*take)(void *ctx, const struct cli_cell *cell),
                            void *ctx)
{
    struct reader r = {.holder = holder, .take = take, .ctx = ctx};
    if (!cli_pull_start(&r.pull, line, holder))
        return cli_fail(CLI_REFUSED, "out of memory for a row of %zu bytes", line.len);
    if (!take_row(&r))
        return r.stop != CLI_OK ? r.stop
                                : cli_fail(CLI_REFUSED, "the server sent something that is no row");
    if (key != NULL) {
        base_buf_truncate(key, 0);
        base_buf_append(key, r.cell.key);
    }
    return CLI_OK;
}
