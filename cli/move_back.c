/*
 * cli/move_back.c - reads imported cells back and compares them; see move_in.h.
 *
 * A database cannot have changed since its import (its sequence proves it), so the content counted
 * then is compared. A table of a service is read again.
 */
#include <inttypes.h>

#include "cli/move_stream.h"
#include "cli/out.h"
#include "cli/progress.h"
#include "cli/transfer_manifest.h"
#include "cli/transfer_scan.h"

#include "base/banned.h"

struct reader {
    struct cli_move_in *m;
    const struct cli_move *move;
    struct cli_transfer_scan scan;
    struct cli_service_scan from;
    struct cli_tally tally;
    bool in_row; /* the current row has a cell that is compared */
};

static enum cli_exit count_cell(void *ctx, const struct cli_cell *cell)
{
    struct reader *r = ctx;
    uint64_t before = r->tally.content.bytes;
    if (r->move->source->database != NULL && !base_slice_is(cell->family, r->move->source->family))
        return CLI_OK; /* of another source, or of none */
    cli_tally_add(&r->tally, cell);
    r->in_row = true;
    atomic_fetch_add(&r->m->bytes, r->tally.content.bytes - before);
    return CLI_OK;
}

static enum cli_exit end_row(void *ctx, struct slice key)
{
    struct reader *r = ctx;
    (void)key; /* the scan stores it */
    r->tally.content.rows += r->in_row;
    r->in_row = false;
    atomic_fetch_add(&r->m->rows, 1);
    return CLI_OK;
}

static enum cli_exit compare(const struct cli_move *v, const struct cli_content *wanted,
                             const struct cli_content *found)
{
    const struct cli_move_source *s = v->source;
    if (cli_content_equal(found, wanted))
        return CLI_OK;
    bool is_other = !cli_content_equal(&v->content, wanted);
    return cli_fail(CLI_CHECK_FAILED,
                    "%s: the table %s of the tenant %s differs: %" PRIu64 " rows and %" PRIu64
                    " cells, %" PRIu64 " and %" PRIu64 " in the %s%s%s",
                    s->name, s->table, s->tenant, found->rows, found->cells, wanted->rows,
                    wanted->cells, s->database != NULL ? "database" : "service",
                    found->cells == wanted->cells ? ", with other contents" : "",
                    is_other ? ", which is not as it was when it moved" : "");
}

static enum cli_exit read_one(struct reader *r)
{
    const struct cli_move_source *s = r->move->source;
    struct cli_content wanted = r->move->content;
    struct slice end = cli_move_prefix_end(s->row_prefix);
    enum cli_exit e = CLI_OK;
    memset(&r->tally.content, 0, sizeof r->tally.content);
    r->scan.config.tenant = s->tenant;
    if (s->from_table != NULL)
        e = cli_move_service_content(&r->from, r->move, r->m, &wanted);
    if (e == CLI_OK)
        e = cli_transfer_scan_run(&r->scan, s->table, s->row_prefix, end, SLICE_EMPTY);
    cli_slice_free(&end);
    return e == CLI_OK ? compare(r->move, &wanted, &r->tally.content) : e;
}

/* Compares all sources and reports each difference. */
static enum cli_exit read_back(void *member)
{
    struct reader *r = member;
    enum cli_exit worst = CLI_OK;
    while (!atomic_load(&r->m->crew.stop)) {
        r->move = cli_move_take_source(r->m, false);
        if (r->move == NULL)
            break;
        enum cli_exit e = read_one(r);
        if (e != CLI_OK && e != CLI_CHECK_FAILED)
            return e;
        worst = e == CLI_OK ? worst : e;
    }
    return worst;
}

static enum cli_exit init_reader(struct reader *r, struct cli_move_in *m)
{
    *r = (struct reader){.m = m};
    cli_tally_init(&r->tally);
    enum cli_exit e = cli_transfer_scan_init(&r->scan, &m->cli->config, &m->crew.stop);
    r->scan.on_cell = count_cell;
    r->scan.on_row = end_row;
    r->scan.ctx = r;
    if (e == CLI_OK && m->service.url != NULL)
        e = cli_service_scan_init(&r->from, &m->service, &m->crew.stop);
    return e;
}

static void fini_reader(struct reader *r)
{
    if (r->from.service != NULL)
        cli_service_scan_fini(&r->from);
    cli_transfer_scan_fini(&r->scan);
    cli_tally_fini(&r->tally);
}

enum cli_exit cli_move_in_verify(struct cli_move_in *m)
{
    struct reader readers[CLI_TRANSFER_STREAMS];
    void *members[CLI_TRANSFER_STREAMS];
    enum cli_exit e = CLI_OK;
    cli_move_begin_stage(m, "verifying");
    for (size_t i = 0; i < CLI_TRANSFER_STREAMS; i++) {
        enum cli_exit opened = init_reader(&readers[i], m);
        e = e == CLI_OK ? opened : e;
        members[i] = &readers[i];
    }
    if (e == CLI_OK)
        e = cli_crew_run(&m->crew, read_back, members, cli_move_draw, m);
    cli_progress_hide();
    for (size_t i = 0; i < CLI_TRANSFER_STREAMS; i++)
        fini_reader(&readers[i]);
    return e;
}
