/*
 * cli/import_rows.c - imports the records of a file into a table; see import.h.
 */
#include "base/alloc.h"
#include "cli/import.h"
#include "cli/out.h"
#include "cli/transfer_file.h"
#include "cli/transfer_write.h"

#include "base/banned.h"

struct cli_import_stream {
    struct cli_import *m;
    struct cli_writer *writer;
    bool is_open; /* false: a dry run */
    struct cli_in_file in;
    struct buf holder;
    struct cli_tally tally;
    struct buf key; /* of the row that is being read */
};

struct cli_import_stream *cli_import_stream_new(struct cli_import *m)
{
    struct cli_import_stream *s = base_new(sizeof *s);
    s->m = m;
    s->writer = cli_writer_new(&m->cli->config, &m->crew.stop);
    s->in.fd = -1;
    base_buf_init(&s->holder, CLI_HOLDER_BYTES);
    base_buf_init(&s->key, LIM_ROW_KEY);
    cli_tally_init(&s->tally);
    return s;
}

void cli_import_stream_free(struct cli_import_stream *s)
{
    cli_writer_free(s->writer);
    cli_tally_fini(&s->tally);
    base_buf_fini(&s->key);
    base_buf_fini(&s->holder);
    base_free(s);
}

enum cli_exit cli_import_stream_open(struct cli_import_stream *s)
{
    enum cli_exit e = cli_writer_open(s->writer);
    s->is_open = e == CLI_OK;
    return e;
}

static void begin_row(struct cli_import_stream *s, struct slice key)
{
    base_buf_truncate(&s->key, 0);
    base_buf_append(&s->key, key);
    s->tally.content.rows++;
    atomic_fetch_add(&s->m->rows, 1);
}

static enum cli_exit read_all(struct cli_import_stream *s)
{
    for (;;) {
        struct cli_cell cell;
        uint64_t line = 0;
        uint64_t before = s->tally.content.bytes;
        enum cli_exit e = cli_in_file_next(&s->in, &s->holder, &cell, &line);
        if (e != CLI_OK || line == 0)
            return e;
        if (atomic_load(&s->m->crew.stop))
            return CLI_INTERRUPTED;
        if (!base_slice_equal(cell.key, base_buf_slice(&s->key)))
            begin_row(s, cell.key);
        cli_tally_add(&s->tally, &cell);
        atomic_fetch_add(&s->m->bytes, s->tally.content.bytes - before);
        if (s->is_open)
            e = cli_writer_cell(s->writer, &cell, line);
        if (e != CLI_OK)
            return e;
    }
}

static void begin_table(struct cli_import_stream *s, const struct cli_import_table *t)
{
    const struct cli_writer_target target = {
        .table = t->into,
        .families = t->families,
        .has_aggregates = t->has_aggregates,
        .line_cells = s->m->line_cells,
        .source = s->in.path,
        .unit = "line",
    };
    cli_writer_begin(s->writer, &target);
}

enum cli_exit cli_import_file(struct cli_import_stream *s, const struct cli_import_table *t,
                              const struct cli_manifest_file *file)
{
    const struct cli_manifest *manifest = &s->m->manifest;
    char name[CLI_FILE_NAME];
    cli_file_name(file->number, manifest->encoding, manifest->packed, name);
    memset(&s->tally.content, 0, sizeof s->tally.content);
    base_buf_truncate(&s->key, 0);
    begin_table(s, t);
    enum cli_exit e = cli_in_file_open(&s->in, s->m->dir_fd, t->source->id, name,
                                       manifest->encoding, manifest->packed);
    if (e != CLI_OK)
        return e;
    e = read_all(s);
    if (e == CLI_OK && s->is_open)
        e = cli_writer_flush(s->writer);
    if (e == CLI_OK && !cli_content_equal(&s->tally.content, &file->content))
        e = cli_fail(CLI_CHECK_FAILED, "%s: rows, cells or content differ from the manifest's",
                     s->in.path);
    cli_in_file_close(&s->in);
    return e;
}
