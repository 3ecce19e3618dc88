/*
 * cli/move_stream.c - see move_stream.h.
 *
 * After every CLI_MOVE_STEP bytes pending cells are written; then the source's recorded progress
 * advances under the lock: the key and the content up to it, together.
 */
#include "cli/move_stream.h"

#include <inttypes.h>

#include "base/clock.h"
#include "cli/out.h"
#include "cli/text.h"
#include "cli/transfer_manifest.h"

#include "base/banned.h"

#define NS_PER_MS UINT64_C(1000000)
#define KEY_SHOWN 80 /* bytes of a key in a message */

enum cli_exit cli_move_stream_init(struct cli_move_stream *s, struct cli_move_in *m)
{
    *s = (struct cli_move_stream){.m = m, .writer = cli_writer_new(&m->cli->config, &m->crew.stop)};
    cli_tally_init(&s->tally);
    base_buf_init(&s->row, LIM_ROW_KEY);
    base_buf_init(&s->last_row, LIM_ROW_KEY);
    base_buf_init(&s->last_key, CLI_MOVE_KEY_BYTES);
    enum cli_exit e = CLI_OK;
    s->has_scan = m->service.url != NULL;
    if (s->has_scan)
        e = cli_service_scan_init(&s->scan, &m->service, &m->crew.stop);
    return e == CLI_OK && m->writes ? cli_writer_open(s->writer) : e;
}

void cli_move_stream_fini(struct cli_move_stream *s)
{
    if (s->has_scan)
        cli_service_scan_fini(&s->scan);
    cli_writer_free(s->writer);
    cli_tally_fini(&s->tally);
    base_buf_fini(&s->row);
    base_buf_fini(&s->last_row);
    base_buf_fini(&s->last_key);
}

static void begin_table(struct cli_move_stream *s)
{
    const struct cli_move *v = s->move;
    const struct cli_writer_target target = {
        .tenant = v->source->tenant,
        .table = v->source->table,
        .families = v->families,
        .has_aggregates = v->has_aggregates,
        .line_cells = v->line_cells,
        .source = v->source->name,
        .unit = v->source->database != NULL ? "pair" : "cell",
    };
    cli_writer_begin(s->writer, &target);
}

void cli_move_stream_begin(struct cli_move_stream *s)
{
    struct cli_move *v = s->move;
    begin_table(s);
    s->tally.content = v->content;
    s->unfit = s->last_unfit = v->unfit;
    s->noted_bytes = v->content.bytes;
    s->number = 0;
    base_buf_truncate(&s->last_row, 0);
    base_buf_truncate(&s->last_key, 0);
    base_buf_append(&s->last_key, v->after);
}

/* Makes all cells up to the last key durable, and records the progress. */
static enum cli_exit note(struct cli_move_stream *s, bool is_end)
{
    struct cli_move_in *m = s->m;
    struct cli_move *v = s->move;
    enum cli_exit e = m->writes ? cli_writer_flush(s->writer) : CLI_OK;
    if (e != CLI_OK)
        return e;
    s->noted_bytes = s->tally.content.bytes;
    pthread_mutex_lock(&m->crew.lock);
    cli_slice_free(&v->after);
    v->after = cli_slice_copy(base_buf_slice(&s->last_key));
    v->content = s->tally.content;
    v->unfit = is_end ? s->unfit : s->last_unfit;
    v->is_done = is_end;
    if (m->writes && base_monotonic_ns() - m->noted_ns > CLI_MOVE_NOTE_MS * NS_PER_MS)
        e = cli_move_save_notes(m);
    pthread_mutex_unlock(&m->crew.lock);
    return e;
}

enum cli_exit cli_move_stream_refuse(struct cli_move_stream *s, struct slice key, const char *why)
{
    const struct cli_move_source *source = s->move->source;
    struct slice shown = base_slice(key.ptr, key.ptr == NULL       ? 0
                                             : key.len > KEY_SHOWN ? KEY_SHOWN
                                                                   : key.len);
    bool goes_on = source->skips || !s->m->writes;
    struct buf text;
    pthread_mutex_lock(&s->m->crew.lock);
    bool is_said = s->m->said++ < CLI_MOVE_SAID || !goes_on;
    pthread_mutex_unlock(&s->m->crew.lock);
    s->unfit++;
    base_buf_init(&text, 8UL * KEY_SHOWN);
    cli_text_escape(&text, shown, CLI_ESCAPE_BACKSLASH);
    if (is_said)
        cli_say("%s, %s %" PRIu64 ", key \"%.*s\"%s: %s", source->name,
                source->database != NULL ? "pair" : "cell", s->number, (int)text.len,
                text.len > 0 ? (const char *)text.ptr : "", shown.len < key.len ? "..." : "", why);
    base_buf_fini(&text);
    if (goes_on)
        return CLI_OK;
    return cli_fail(CLI_CHECK_FAILED, "what does not fit ends a move; \"unfit: skip\" in the "
                                      "mapping leaves it out");
}

static void count_row(struct cli_move_stream *s, struct slice row)
{
    if (s->tally.content.cells > 0 && base_slice_equal(row, base_buf_slice(&s->last_row)))
        return;
    base_buf_truncate(&s->last_row, 0);
    base_buf_append(&s->last_row, row);
    s->tally.content.rows++;
    atomic_fetch_add(&s->m->rows, 1);
}

enum cli_exit cli_move_stream_cell(struct cli_move_stream *s, const struct cli_cell *cell)
{
    uint64_t before = s->tally.content.bytes;
    count_row(s, cell->key);
    cli_tally_add(&s->tally, cell);
    atomic_fetch_add(&s->m->bytes, s->tally.content.bytes - before);
    return s->m->writes ? cli_writer_cell(s->writer, cell, s->number) : CLI_OK;
}

enum cli_exit cli_move_stream_key(struct cli_move_stream *s, struct slice key)
{
    base_buf_truncate(&s->last_key, 0);
    base_buf_append(&s->last_key, key);
    s->last_unfit = s->unfit;
    bool is_due = s->tally.content.bytes - s->noted_bytes >= CLI_MOVE_STEP;
    return is_due ? note(s, false) : CLI_OK;
}

enum cli_exit cli_move_stream_end(struct cli_move_stream *s)
{
    return note(s, true);
}
