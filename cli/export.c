/*
 * cli/export.c - see export.h.
 *
 * Each stream takes a range, reads it, and writes its rows into its own files, so a file holds rows
 * of one range in order. A stream that stops leaves its current file as a .part file, whose rows
 * the next run reads again. After each finished file the stream updates the manifest under the
 * lock.
 */
#include "cli/export.h"

#include <unistd.h>

#include "base/clock.h"
#include "cli/out.h"
#include "cli/progress.h"
#include "cli/text.h"
#include "cli/transfer_file.h"
#include "cli/transfer_scan.h"

#include "base/banned.h"

struct stream {
    struct cli_export *x;
    struct cli_transfer_scan scan;
    struct cli_manifest_table *table;
    struct cli_manifest_range *range;
    int table_fd;
    struct cli_out_file file;
    uint32_t number;
    bool is_open;
    struct buf block; /* records to be written to the file */
    struct buf first; /* keys of the file's rows */
    struct buf last;
    struct cli_tally tally;
};

/* --- files --------------------------------------------------------------------------------------
 */

static enum cli_exit flush(struct stream *s)
{
    if (s->block.error != ERR_OK)
        return cli_fail(CLI_REFUSED, "out of memory for a cell");
    enum cli_exit e = cli_out_file_write(&s->file, base_buf_slice(&s->block));
    base_buf_truncate(&s->block, 0);
    return e;
}

static enum cli_exit open_file(struct stream *s)
{
    char name[CLI_FILE_NAME];
    const struct cli_manifest *m = &s->x->manifest;
    pthread_mutex_lock(&s->x->crew.lock);
    s->number = s->table->next_number++;
    pthread_mutex_unlock(&s->x->crew.lock);
    if (s->number > CLI_MANIFEST_FILES)
        return cli_fail(CLI_REFUSED,
                        "%s would have more than %d files; --rows-per-file N makes fewer",
                        s->table->id, CLI_MANIFEST_FILES);
    cli_file_name(s->number, m->encoding, m->packed, name);
    memset(&s->tally.content, 0, sizeof s->tally.content);
    base_buf_truncate(&s->first, 0);
    enum cli_exit e = cli_out_file_open(&s->file, s->table_fd, s->table->id, name, m->packed);
    s->is_open = e == CLI_OK;
    base_buf_append(&s->block, cli_record_head(m->encoding));
    return e;
}

static enum cli_exit note_progress(struct stream *s, const struct cli_manifest_file *file,
                                   bool is_end)
{
    struct cli_export *x = s->x;
    pthread_mutex_lock(&x->crew.lock);
    if (file != NULL) {
        cli_manifest_add_file(s->table, file);
        cli_slice_free(&s->range->after);
        s->range->after = cli_slice_copy(file->last);
    }
    s->range->done = is_end;
    enum cli_exit e = cli_manifest_write(x->dir, &x->manifest);
    pthread_mutex_unlock(&x->crew.lock);
    return e;
}

static enum cli_exit finish_file(struct stream *s, bool is_end)
{
    struct cli_manifest_file file = {.number = s->number, .content = s->tally.content};
    enum cli_exit e = flush(s);
    if (e == CLI_OK)
        e = cli_out_file_finish(&s->file, file.sha256);
    if (e != CLI_OK)
        return e;
    s->is_open = false;
    file.stored_bytes = s->file.stored_bytes;
    file.first = cli_slice_copy(base_buf_slice(&s->first));
    file.last = cli_slice_copy(base_buf_slice(&s->last));
    return note_progress(s, &file, is_end);
}

/* --- rows ---------------------------------------------------------------------------------------
 */

static enum cli_exit take_cell(void *ctx, const struct cli_cell *cell)
{
    struct stream *s = ctx;
    enum cli_exit e = s->is_open ? CLI_OK : open_file(s);
    if (e != CLI_OK)
        return e;
    uint64_t before = s->tally.content.bytes;
    cli_tally_add(&s->tally, cell);
    cli_record_put(&s->block, s->x->manifest.encoding, cell);
    atomic_fetch_add(&s->x->bytes, s->tally.content.bytes - before);
    return s->block.len >= CLI_TRANSFER_BLOCK ? flush(s) : CLI_OK;
}

static enum cli_exit take_row(void *ctx, struct slice key)
{
    struct stream *s = ctx;
    s->tally.content.rows++;
    if (s->tally.content.rows == 1)
        base_buf_append(&s->first, key);
    base_buf_truncate(&s->last, 0);
    base_buf_append(&s->last, key);
    atomic_fetch_add(&s->x->rows, 1);
    bool is_full = s->tally.content.rows >= s->x->rows_per_file ||
                   s->file.raw_bytes >= CLI_TRANSFER_FILE_BYTES;
    return is_full ? finish_file(s, false) : CLI_OK;
}

static enum cli_exit run_range(struct stream *s)
{
    enum cli_exit e = cli_table_dir(s->x->dir_fd, s->table->id, true, &s->table_fd);
    if (e != CLI_OK)
        return e;
    e = cli_transfer_scan_run(&s->scan, s->table->id, s->range->start, s->range->end,
                              s->range->after);
    if (e == CLI_OK)
        e = s->is_open ? finish_file(s, true) : note_progress(s, NULL, true);
    if (s->is_open)
        cli_out_file_abandon(&s->file);
    s->is_open = false;
    base_buf_truncate(&s->block, 0);
    (void)close(s->table_fd); /* its files were synced */
    return e;
}

/* Takes the next range that is not done; false: there is none. */
static bool take_range(struct stream *s)
{
    struct cli_export *x = s->x;
    bool found = false;
    pthread_mutex_lock(&x->crew.lock);
    while (!found && x->next_table < x->manifest.table_count) {
        s->table = &x->manifest.tables[x->next_table];
        if (x->next_range == s->table->range_count) {
            x->next_table++;
            x->next_range = 0;
            continue;
        }
        s->range = &s->table->ranges[x->next_range++];
        found = !s->range->done;
    }
    pthread_mutex_unlock(&x->crew.lock);
    return found;
}

static enum cli_exit work(void *member)
{
    struct stream *s = member;
    enum cli_exit e = CLI_OK;
    while (e == CLI_OK && !atomic_load(&s->x->crew.stop) && take_range(s))
        e = run_range(s);
    return e;
}

/* --- all of it ----------------------------------------------------------------------------------
 */

static void draw(void *ctx)
{
    struct cli_export *x = ctx;
    if (!cli_progress_due())
        return;
    struct buf text;
    double seconds = (double)(base_monotonic_ns() - x->started_ns) / 1e9;
    uint64_t bytes = atomic_load(&x->bytes);
    base_buf_init(&text, 1024);
    cli_text_put_count(&text, atomic_load(&x->rows));
    base_buf_append_text(&text, " rows  ");
    cli_text_put_bytes(&text, bytes);
    base_buf_append_text(&text, "  ");
    cli_text_put_bytes(&text, (uint64_t)((double)bytes / (seconds > 0.001 ? seconds : 0.001)));
    base_buf_append_text(&text, "/s");
    base_buf_append_byte(&text, '\0');
    cli_progress_draw(bytes, x->total_bytes, (const char *)text.ptr);
    base_buf_fini(&text);
}

static enum cli_exit init_stream(struct stream *s, struct cli_export *x)
{
    *s = (struct stream){.x = x, .table_fd = -1};
    base_buf_init(&s->block, CLI_TRANSFER_BLOCK + CLI_RECORD_BYTES);
    base_buf_init(&s->first, LIM_ROW_KEY);
    base_buf_init(&s->last, LIM_ROW_KEY);
    cli_tally_init(&s->tally);
    enum cli_exit e = cli_transfer_scan_init(&s->scan, &x->cli->config, &x->crew.stop);
    s->scan.on_cell = take_cell;
    s->scan.on_row = take_row;
    s->scan.ctx = s;
    return e;
}

static void fini_stream(struct stream *s)
{
    cli_transfer_scan_fini(&s->scan);
    cli_tally_fini(&s->tally);
    base_buf_fini(&s->block);
    base_buf_fini(&s->first);
    base_buf_fini(&s->last);
}

enum cli_exit cli_export_run(struct cli_export *x)
{
    struct stream streams[CLI_TRANSFER_STREAMS];
    void *members[CLI_TRANSFER_STREAMS];
    enum cli_exit e = CLI_OK;
    for (size_t i = 0; i < CLI_TRANSFER_STREAMS; i++) {
        enum cli_exit opened = init_stream(&streams[i], x);
        e = e == CLI_OK ? opened : e;
        members[i] = &streams[i];
    }
    if (e == CLI_OK)
        e = cli_crew_run(&x->crew, work, members, draw, x);
    for (size_t i = 0; i < CLI_TRANSFER_STREAMS; i++)
        fini_stream(&streams[i]);
    cli_progress_hide();
    if (e != CLI_OK)
        return e;
    x->manifest.complete = true;
    return cli_manifest_write(x->dir, &x->manifest);
}
