/*
 * cli/import_rows.c - records of a file into lines of a bulk write; see import.h.
 *
 * Cells that stand together and have one key become one line:
 *
 *     {"key":..,"cells":{"$binary":[{"family":..,"qualifier":..,"value":..,"timestamp":..},..]}}
 *
 * which takes any bytes in any order. Where one is an aggregate the line is a list of mutations
 * instead, that remove the cell before they merge its state: a merge done twice would count twice.
 * Cells too large for a line are sent alone, as raw bytes. Lines wait in a chunk; a chunk that
 * fails with the connection is sent again.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/text.h"
#include "cli/bulk.h"
#include "cli/import.h"
#include "cli/json_pull.h"
#include "cli/json_text.h"
#include "cli/out.h"
#include "cli/target.h"
#include "cli/transfer_file.h"
#include "cli/transfer_scan.h"

#include "base/banned.h"

#define TIMESTAMP_STEP 1000
#define REFUSALS_SAID  10

struct cli_import_stream {
    struct cli_import *m;
    struct cli_config config;
    struct cli_http *http; /* NULL: a rehearsal */
    const struct cli_import_table *table;
    struct cli_in_file in;
    struct buf holder;
    struct cli_tally tally;
    struct cli_bulk bulk;
    struct cli_chunk chunk;
    struct buf key; /* of the row that is being read */
    /* The open line, both ways; which one goes is known at its end. */
    struct buf cells;
    struct buf mutations;
    uint64_t line_number; /* of its first record */
    size_t line_cells;
    bool line_aggregates;
    uint64_t failed_lines;
    bool is_full; /* one was refused for a quota */
};

/* --- connection and verdicts --------------------------------------------------------------------
 */

static bool goes_on(void *ctx)
{
    const struct cli_import_stream *s = ctx;
    return !atomic_load(&s->m->crew.stop);
}

static void take_state(void *ctx, const struct cli_line *line, enum cli_line_state state,
                       const json_t *verdict)
{
    struct cli_import_stream *s = ctx;
    if (state != CLI_LINE_FAILED)
        return;
    const char *code = json_string_value(json_object_get(verdict, "code"));
    const char *detail = json_string_value(json_object_get(verdict, "detail"));
    json_int_t status = json_integer_value(json_object_get(verdict, "status"));
    s->is_full = s->is_full || status == 507;
    if (s->failed_lines++ < REFUSALS_SAID)
        cli_say("%s, line %" PRIu64 ": %s: %s (status %lld)", s->in.path, line->number,
                code != NULL ? code : "refused", detail != NULL ? detail : "no detail given",
                (long long)status);
}

struct cli_import_stream *cli_import_stream_new(struct cli_import *m)
{
    struct cli_import_stream *s = base_new(sizeof *s);
    s->m = m;
    s->config = cli_transfer_config(&m->cli->config);
    s->in.fd = -1;
    base_buf_init(&s->holder, CLI_HOLDER_BYTES);
    base_buf_init(&s->key, LIM_ROW_KEY);
    base_buf_init(&s->cells, LIM_BULK_LINE_BYTES);
    base_buf_init(&s->mutations, LIM_BULK_LINE_BYTES);
    cli_tally_init(&s->tally);
    cli_chunk_init(&s->chunk);
    cli_bulk_init(&s->bulk);
    s->bulk.on_state = take_state;
    s->bulk.goes_on = goes_on;
    s->bulk.ctx = s;
    s->bulk.retries = s->config.retries;
    return s;
}

void cli_import_stream_free(struct cli_import_stream *s)
{
    cli_http_close(s->http);
    cli_bulk_fini(&s->bulk);
    cli_chunk_fini(&s->chunk);
    cli_tally_fini(&s->tally);
    base_buf_fini(&s->mutations);
    base_buf_fini(&s->cells);
    base_buf_fini(&s->key);
    base_buf_fini(&s->holder);
    base_free(s);
}

enum cli_exit cli_import_stream_open(struct cli_import_stream *s)
{
    enum cli_exit e = cli_http_open(&s->config, &s->http);
    s->bulk.http = s->http;
    return e;
}

/* --- sending ------------------------------------------------------------------------------------
 */

/* Try again while the connection is what fails. */
static enum cli_exit insist(struct cli_import_stream *s,
                            enum cli_exit (*send)(struct cli_import_stream *s, void *what),
                            void *what)
{
    for (unsigned tries = 1;; tries++) {
        enum cli_exit e = send(s, what);
        if (e != CLI_UNREACHABLE || tries >= CLI_TRANSFER_TRIES)
            return e;
        if (!cli_transfer_wait(&s->m->crew.stop, tries))
            return CLI_INTERRUPTED;
    }
}

static enum cli_exit send_chunk(struct cli_import_stream *s, void *what)
{
    return cli_bulk_send(&s->bulk, what);
}

static enum cli_exit refuse(const struct cli_import_stream *s)
{
    if (s->is_full)
        return cli_fail(CLI_REFUSED,
                        "a quota or the disk is full: make room, then go on with --resume");
    return cli_fail(CLI_CHECK_FAILED, "%s: %" PRIu64 " lines were refused", s->in.path,
                    s->failed_lines);
}

static enum cli_exit flush_chunk(struct cli_import_stream *s)
{
    if (s->chunk.count == 0)
        return CLI_OK;
    enum cli_exit e = insist(s, send_chunk, &s->chunk);
    base_buf_truncate(&s->chunk.bytes, 0);
    s->chunk.count = 0;
    return e == CLI_OK && s->failed_lines > 0 ? refuse(s) : e;
}

static void put_bytes(struct buf *out, const char *name, struct slice bytes)
{
    if (base_utf8_is_valid(bytes)) {
        base_buf_printf(out, "\"%s\":", name);
        cli_json_put_text(out, bytes);
    } else {
        base_buf_printf(out, "\"%s_b64\":\"", name);
        base_base64_encode(bytes, out);
        base_buf_append_byte(out, '"');
    }
}

static enum cli_exit end_line(struct cli_import_stream *s)
{
    if (s->line_cells == 0)
        return CLI_OK;
    struct buf *out = &s->chunk.bytes;
    const struct buf *body = s->line_aggregates ? &s->mutations : &s->cells;
    struct cli_line line = {.begin = out->len, .number = s->line_number};
    base_buf_append_byte(out, '{');
    put_bytes(out, "key", base_buf_slice(&s->key));
    base_buf_append_text(out,
                         s->line_aggregates ? ",\"mutations\":[" : ",\"cells\":{\"$binary\":[");
    base_buf_append(out, base_buf_slice(body));
    base_buf_append_text(out, s->line_aggregates ? "]}" : "]}}");
    line.len = out->len - line.begin;
    base_buf_append_byte(out, '\n');
    bool fits = out->error == ERR_OK && s->cells.error == ERR_OK && s->mutations.error == ERR_OK;
    base_buf_truncate(&s->cells, 0);
    base_buf_truncate(&s->mutations, 0);
    s->line_cells = 0;
    s->line_aggregates = false;
    if (!fits)
        return cli_fail(CLI_CHECK_FAILED, "%s, line %" PRIu64 ": the row does not fit into memory",
                        s->in.path, line.number);
    s->chunk.lines[s->chunk.count++] = line;
    bool is_full = s->chunk.count == CLI_CHUNK_LINES || out->len >= CLI_CHUNK_BYTES;
    return is_full ? flush_chunk(s) : CLI_OK;
}

/* --- cells --------------------------------------------------------------------------------------
 */

static bool is_aggregate(const struct cli_import_stream *s, struct slice family)
{
    const json_t *f = json_object_getn(s->table->families, (const char *)family.ptr, family.len);
    return json_is_string(json_object_get(f, "type"));
}

static void put_place(struct buf *out, const struct cli_cell *cell)
{
    put_bytes(out, "family", cell->family);
    base_buf_append_byte(out, ',');
    put_bytes(out, "qualifier", cell->qualifier);
}

static void put_cell(struct buf *out, const struct cli_cell *cell, const char *value)
{
    put_place(out, cell);
    base_buf_append_byte(out, ',');
    put_bytes(out, value, cell->value);
    base_buf_printf(out, ",\"timestamp\":\"%" PRId64 "\"}", cell->timestamp_us);
}

static void put_mutations(struct buf *out, const struct cli_cell *cell, bool aggregate)
{
    if (!aggregate) {
        base_buf_append_text(out, "{\"set_cell\":{");
        put_cell(out, cell, "value");
        base_buf_append_byte(out, '}');
        return;
    }
    base_buf_append_text(out, "{\"delete_from_column\":{");
    put_place(out, cell);
    base_buf_printf(out, ",\"start\":\"%" PRId64 "\",\"end\":\"%" PRId64 "\"}},",
                    cell->timestamp_us, cell->timestamp_us + TIMESTAMP_STEP);
    base_buf_append_text(out, "{\"merge_to_cell\":{");
    put_cell(out, cell, "state");
    base_buf_append_byte(out, '}');
}

static void add_cell(struct cli_import_stream *s, const struct cli_cell *cell)
{
    bool aggregate = s->table->has_aggregates && is_aggregate(s, cell->family);
    if (s->line_cells > 0) {
        base_buf_append_byte(&s->cells, ',');
        base_buf_append_byte(&s->mutations, ',');
    }
    base_buf_append_byte(&s->cells, '{');
    put_cell(&s->cells, cell, "value");
    if (s->table->has_aggregates)
        put_mutations(&s->mutations, cell, aggregate);
    s->line_cells++;
    s->line_aggregates = s->line_aggregates || aggregate;
}

static void put_segment(struct buf *target, struct slice bytes)
{
    base_buf_append_byte(target, '/');
    /* Path segments of dots alone mean something else to clients and proxies. */
    if (base_slice_is(bytes, ".") || base_slice_is(bytes, ".."))
        base_buf_append_text(target, bytes.len == 1 ? "%2E" : "%2E%2E");
    else
        base_percent_encode(bytes, target);
}

static enum cli_exit send_large(struct cli_import_stream *s, void *what)
{
    const struct cli_cell *cell = what;
    struct buf target;
    struct cli_answer answer;
    cli_target1(&target, "/v1/tables/{}/cells", s->table->into);
    put_segment(&target, cell->key);
    put_segment(&target, cell->family);
    put_segment(&target, cell->qualifier);
    base_buf_printf(&target, "?timestamp=%" PRId64, cell->timestamp_us);
    struct cli_request request = {
        .method = "PUT",
        .target = &target,
        .body = cell->value,
        .content_type = "application/octet-stream",
        .repeatable = true,
        .goes_on = goes_on,
        .ctx = s,
    };
    enum cli_exit e = cli_http_run(s->http, &request, &answer);
    if (e != CLI_OK && e != CLI_INTERRUPTED && answer.status >= 400)
        cli_say("that was %s, line %" PRIu64, s->in.path, s->line_number);
    s->is_full = e != CLI_OK && answer.status == 507;
    if (s->is_full)
        e = refuse(s);
    base_buf_fini(&answer.body);
    base_buf_fini(&target);
    return e;
}

/* A cell that does not fit into the open line ends it. */
static enum cli_exit take_cell(struct cli_import_stream *s, struct cli_cell *cell, uint64_t number)
{
    bool is_large = cell->value.len > CLI_TRANSFER_VALUE;
    enum cli_exit e = CLI_OK;
    if (cell->timestamp_us < 0 || cell->timestamp_us > INT64_MAX - TIMESTAMP_STEP)
        return cli_fail(CLI_CHECK_FAILED, "%s, line %" PRIu64 ": the timestamp cannot be",
                        s->in.path, number);
    if (is_large || s->line_cells >= s->m->line_cells || s->cells.len >= CLI_CHUNK_BYTES)
        e = end_line(s);
    if (e == CLI_OK && s->line_cells == 0)
        s->line_number = number;
    if (e == CLI_OK && is_large)
        return insist(s, send_large, cell);
    if (e == CLI_OK)
        add_cell(s, cell);
    return e;
}

/* --- a file -------------------------------------------------------------------------------------
 */

static enum cli_exit begin_row(struct cli_import_stream *s, struct slice key)
{
    enum cli_exit e = end_line(s);
    base_buf_truncate(&s->key, 0);
    base_buf_append(&s->key, key);
    s->tally.content.rows++;
    atomic_fetch_add(&s->m->rows, 1);
    return e;
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
            e = begin_row(s, cell.key);
        cli_tally_add(&s->tally, &cell);
        atomic_fetch_add(&s->m->bytes, s->tally.content.bytes - before);
        if (e == CLI_OK && s->http != NULL)
            e = take_cell(s, &cell, line);
        if (e != CLI_OK)
            return e;
    }
}

enum cli_exit cli_import_file(struct cli_import_stream *s, const struct cli_import_table *t,
                              const struct cli_manifest_file *file)
{
    const struct cli_manifest *manifest = &s->m->manifest;
    char name[CLI_FILE_NAME];
    cli_file_name(file->number, manifest->encoding, manifest->packed, name);
    s->table = t;
    s->bulk.table = t->into;
    s->failed_lines = 0;
    memset(&s->tally.content, 0, sizeof s->tally.content);
    base_buf_truncate(&s->key, 0);
    enum cli_exit e = cli_in_file_open(&s->in, s->m->dir_fd, t->source->id, name,
                                       manifest->encoding, manifest->packed);
    if (e != CLI_OK)
        return e;
    e = read_all(s);
    if (e == CLI_OK)
        e = end_line(s);
    if (e == CLI_OK)
        e = flush_chunk(s);
    if (e == CLI_OK && !cli_content_equal(&s->tally.content, &file->content))
        e = cli_fail(CLI_CHECK_FAILED, "%s: rows, cells or content differ from the manifest's",
                     s->in.path);
    cli_in_file_close(&s->in);
    return e;
}
