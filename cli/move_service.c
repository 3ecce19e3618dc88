/*
 * cli/move_service.c - imports the rows of a foreign table; see move_stream.h.
 *
 * The requested rows start with strip_prefix: chunks of other rows are refused (row_chunks.h,
 * promise 2), so none is written to another tenant's table.
 */
#include "cli/move_stream.h"
#include "cli/transfer_manifest.h"

#include "base/banned.h"

static enum cli_exit scan(struct cli_service_scan *scan, const struct cli_move_source *source,
                          struct slice after)
{
    struct slice end = cli_move_prefix_end(source->strip_prefix);
    enum cli_exit e =
        cli_service_scan_run(scan, source->from_table, source->strip_prefix, end, after);
    cli_slice_free(&end);
    return e;
}

/* --- moving -----------------------------------------------------------------------------------
 */

static enum cli_exit take_cell(void *ctx, const struct cli_cell *foreign)
{
    struct cli_move_stream *s = ctx;
    struct cli_move *v = s->move;
    struct cli_cell cell;
    v->longest_key = foreign->key.len > v->longest_key ? foreign->key.len : v->longest_key;
    v->largest_value =
        foreign->value.len > v->largest_value ? foreign->value.len : v->largest_value;
    s->number++;
    const char *why =
        cli_move_foreign_cell(v->source, &v->limits, v->families, foreign, &s->row, &cell);
    return why != NULL ? cli_move_stream_refuse(s, foreign->key, why)
                       : cli_move_stream_cell(s, &cell);
}

static enum cli_exit take_row(void *ctx, struct slice key)
{
    return cli_move_stream_key(ctx, key);
}

enum cli_exit cli_move_service(struct cli_move_stream *s)
{
    struct cli_move *v = s->move;
    struct slice after = cli_slice_copy(v->after); /* a copy, because v->after advances */
    pthread_mutex_lock(&s->m->crew.lock);
    v->is_begun = true;
    pthread_mutex_unlock(&s->m->crew.lock);
    cli_move_stream_begin(s);
    s->scan.chunks.on_cell = take_cell;
    s->scan.chunks.on_row = take_row;
    s->scan.chunks.ctx = s;
    enum cli_exit e = scan(&s->scan, v->source, after);
    cli_slice_free(&after);
    return e == CLI_OK ? cli_move_stream_end(s) : e;
}

/* --- comparing --------------------------------------------------------------------------------
 */

struct counting {
    struct cli_move_in *m;
    const struct cli_move *move;
    struct cli_tally tally;
    struct buf row;
    bool in_row; /* the row has a cell that fits */
};

static enum cli_exit count_cell(void *ctx, const struct cli_cell *foreign)
{
    struct counting *c = ctx;
    struct cli_cell cell;
    const struct cli_move *v = c->move;
    uint64_t before = c->tally.content.bytes;
    if (cli_move_foreign_cell(v->source, &v->limits, v->families, foreign, &c->row, &cell) != NULL)
        return CLI_OK; /* it was left out during the import */
    cli_tally_add(&c->tally, &cell);
    c->in_row = true;
    atomic_fetch_add(&c->m->bytes, c->tally.content.bytes - before);
    return CLI_OK;
}

static enum cli_exit count_row(void *ctx, struct slice key)
{
    struct counting *c = ctx;
    (void)key; /* the scan stores it */
    c->tally.content.rows += c->in_row;
    c->in_row = false;
    atomic_fetch_add(&c->m->rows, 1);
    return CLI_OK;
}

enum cli_exit cli_move_service_content(struct cli_service_scan *from, const struct cli_move *v,
                                       struct cli_move_in *m, struct cli_content *out)
{
    struct counting c = {.m = m, .move = v};
    cli_tally_init(&c.tally);
    base_buf_init(&c.row, LIM_ROW_KEY);
    from->chunks.on_cell = count_cell;
    from->chunks.on_row = count_row;
    from->chunks.ctx = &c;
    enum cli_exit e = scan(from, v->source, SLICE_EMPTY);
    *out = c.tally.content;
    base_buf_fini(&c.row);
    cli_tally_fini(&c.tally);
    return e;
}
