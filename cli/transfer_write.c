/*
 * cli/transfer_write.c - see transfer_write.h.
 *
 * Adjacent cells with the same key become one line:
 *
 *     {"key":..,"cells":{"$binary":[{"family":..,"qualifier":..,"value":..,"timestamp":..},..]}}
 *
 * which accepts any bytes in any order. If a cell is an aggregate, the line is a list of mutations
 * instead, which remove the cell before they merge its state: a repeated merge would count twice.
 * Cells too large for a line are sent alone, as raw bytes, or over gRPC. Lines are collected in a
 * chunk; a chunk whose connection breaks is sent again.
 */
#include "cli/transfer_write.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "cli/bulk.h"
#include "cli/families.h"
#include "cli/json_pull.h"
#include "cli/json_text.h"
#include "cli/large_cell.h"
#include "cli/millis.h"
#include "cli/out.h"
#include "cli/target.h"
#include "cli/transfer_scan.h"

#include "base/banned.h"

#define TIMESTAMP_STEP 1000
#define REFUSALS_SAID  10

struct cli_writer {
    const atomic_bool *stop;
    struct cli_config config;
    const char *tenant; /* of the configuration */
    struct cli_http *http;
    struct cli_writer_target target;
    struct cli_bulk bulk;
    struct cli_chunk chunk;
    struct buf key; /* of the row that is being written */
    /* The open line in both forms; its end decides which form is sent. */
    struct buf cells;
    struct buf mutations;
    uint64_t line_number; /* of its first cell */
    size_t line_cells;
    bool line_aggregates;
    bool has_deletes; /* the chunk has removals of rows */
    struct cli_large_cell large;
    uint64_t failed_lines;
    bool has_warned; /* warned of timestamps that look like milliseconds */
    bool is_full;    /* a line was refused for a quota or a full disk */
};

/* --- connection and verdicts --------------------------------------------------------------------
 */

static bool goes_on(void *ctx)
{
    const struct cli_writer *w = ctx;
    return !atomic_load(w->stop);
}

static bool is_for_want_of_room(const json_t *problem)
{
    const char *code = json_string_value(json_object_get(problem, "code"));
    return code != NULL && (strcmp(code, "quota") == 0 || strcmp(code, "storage_full") == 0);
}

static void take_state(void *ctx, const struct cli_line *line, enum cli_line_state state,
                       const json_t *verdict)
{
    struct cli_writer *w = ctx;
    if (state != CLI_LINE_FAILED)
        return;
    const char *code = json_string_value(json_object_get(verdict, "code"));
    const char *detail = json_string_value(json_object_get(verdict, "detail"));
    json_int_t status = json_integer_value(json_object_get(verdict, "status"));
    w->is_full = w->is_full || is_for_want_of_room(verdict);
    if (w->failed_lines++ < REFUSALS_SAID)
        cli_say("%s, %s %" PRIu64 ": %s: %s (status %lld)", w->target.source, w->target.unit,
                line->number, code != NULL ? code : "refused",
                detail != NULL ? detail : "no detail given", (long long)status);
}

struct cli_writer *cli_writer_new(const struct cli_config *config, const atomic_bool *stop)
{
    struct cli_writer *w = base_new(sizeof *w);
    w->config = cli_transfer_config(config);
    w->tenant = config->tenant;
    w->stop = stop;
    base_buf_init(&w->key, LIM_ROW_KEY);
    base_buf_init(&w->cells, LIM_BULK_LINE_BYTES);
    base_buf_init(&w->mutations, LIM_BULK_LINE_BYTES);
    cli_chunk_init(&w->chunk);
    cli_bulk_init(&w->bulk);
    w->bulk.on_state = take_state;
    w->bulk.goes_on = goes_on;
    w->bulk.ctx = w;
    w->bulk.retries = w->config.retries;
    return w;
}

void cli_writer_free(struct cli_writer *w)
{
    cli_large_cell_fini(&w->large);
    cli_http_close(w->http);
    cli_bulk_fini(&w->bulk);
    cli_chunk_fini(&w->chunk);
    base_buf_fini(&w->mutations);
    base_buf_fini(&w->cells);
    base_buf_fini(&w->key);
    base_free(w);
}

enum cli_exit cli_writer_open(struct cli_writer *w)
{
    enum cli_exit e = cli_http_open(&w->config, &w->http);
    w->bulk.http = w->http;
    cli_large_cell_init(&w->large, w->http, goes_on, w);
    return e;
}

void cli_writer_begin(struct cli_writer *w, const struct cli_writer_target *target)
{
    w->target = *target;
    w->config.tenant = target->tenant != NULL ? target->tenant : w->tenant;
    w->bulk.table = target->table;
    w->failed_lines = 0;
    w->is_full = false;
    base_buf_truncate(&w->key, 0);
}

uint64_t cli_writer_line_cells(json_int_t mutations)
{
    /* A cell of an aggregate is two mutations. */
    if (mutations <= 0 || (uint64_t)mutations / 2 >= CLI_TRANSFER_LINE_CELLS)
        return CLI_TRANSFER_LINE_CELLS;
    return mutations > 1 ? (uint64_t)mutations / 2 : 1;
}

/* --- sending ------------------------------------------------------------------------------------
 */

/* Retries while the connection fails. */
static enum cli_exit insist(struct cli_writer *w,
                            enum cli_exit (*send)(struct cli_writer *w, const void *what),
                            const void *what)
{
    for (unsigned tries = 1;; tries++) {
        enum cli_exit e = send(w, what);
        if (e != CLI_UNREACHABLE || tries >= CLI_TRANSFER_TRIES)
            return e;
        if (!cli_transfer_wait(w->stop, tries))
            return CLI_INTERRUPTED;
    }
}

static enum cli_exit send_chunk(struct cli_writer *w, const void *what)
{
    (void)what; /* there is one */
    return cli_bulk_send(&w->bulk, &w->chunk);
}

static enum cli_exit refuse(const struct cli_writer *w)
{
    if (w->is_full)
        return cli_fail(CLI_REFUSED,
                        "a quota or the disk is full: make room, then go on with --resume");
    return cli_fail(CLI_CHECK_FAILED, "%s: %" PRIu64 " lines were refused", w->target.source,
                    w->failed_lines);
}

static enum cli_exit flush_chunk(struct cli_writer *w)
{
    if (w->chunk.count == 0)
        return CLI_OK;
    enum cli_exit e = insist(w, send_chunk, NULL);
    base_buf_truncate(&w->chunk.bytes, 0);
    w->chunk.count = 0;
    w->has_deletes = false;
    return e == CLI_OK && w->failed_lines > 0 ? refuse(w) : e;
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

/* Ends the line that was appended to the chunk from line->begin on. */
static enum cli_exit add_line(struct cli_writer *w, struct cli_line *line)
{
    struct buf *out = &w->chunk.bytes;
    line->len = out->len - line->begin;
    base_buf_append_byte(out, '\n');
    if (out->error != ERR_OK)
        return cli_fail(CLI_CHECK_FAILED, "%s, %s %" PRIu64 ": the row does not fit into memory",
                        w->target.source, w->target.unit, line->number);
    w->chunk.lines[w->chunk.count++] = *line;
    bool is_full = w->chunk.count == CLI_CHUNK_LINES || out->len >= CLI_CHUNK_BYTES;
    return is_full ? flush_chunk(w) : CLI_OK;
}

static enum cli_exit end_line(struct cli_writer *w)
{
    if (w->line_cells == 0)
        return CLI_OK;
    struct buf *out = &w->chunk.bytes;
    const struct buf *body = w->line_aggregates ? &w->mutations : &w->cells;
    struct cli_line line = {.begin = out->len, .number = w->line_number};
    base_buf_append_byte(out, '{');
    put_bytes(out, "key", base_buf_slice(&w->key));
    base_buf_append_text(out,
                         w->line_aggregates ? ",\"mutations\":[" : ",\"cells\":{\"$binary\":[");
    base_buf_append(out, base_buf_slice(body));
    base_buf_append_text(out, w->line_aggregates ? "]}" : "]}}");
    if (body->error != ERR_OK)
        out->error = body->error; /* add_line reports it */
    base_buf_truncate(&w->cells, 0);
    base_buf_truncate(&w->mutations, 0);
    w->line_cells = 0;
    w->line_aggregates = false;
    return add_line(w, &line);
}

/* --- cells --------------------------------------------------------------------------------------
 */

static bool is_aggregate(const struct cli_writer *w, struct slice family)
{
    const json_t *f = json_object_getn(w->target.families, (const char *)family.ptr, family.len);
    return cli_family_aggregate(f) != NULL;
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

static void add_cell(struct cli_writer *w, const struct cli_cell *cell)
{
    bool aggregate = w->target.has_aggregates && is_aggregate(w, cell->family);
    if (w->line_cells > 0) {
        base_buf_append_byte(&w->cells, ',');
        base_buf_append_byte(&w->mutations, ',');
    }
    base_buf_append_byte(&w->cells, '{');
    put_cell(&w->cells, cell, "value");
    if (w->target.has_aggregates)
        put_mutations(&w->mutations, cell, aggregate);
    w->line_cells++;
    w->line_aggregates = w->line_aggregates || aggregate;
}

static void put_segment(struct buf *target, struct slice bytes)
{
    base_buf_append_byte(target, '/');
    /* Clients and proxies resolve path segments of dots only. */
    if (base_slice_is(bytes, ".") || base_slice_is(bytes, ".."))
        base_buf_append_text(target, bytes.len == 1 ? "%2E" : "%2E%2E");
    else
        base_percent_encode(bytes, target);
}

static enum cli_exit send_larger(struct cli_writer *w, const void *what)
{
    return cli_large_cell_write(&w->large, w->config.tenant, w->target.table, what);
}

static enum cli_exit send_large(struct cli_writer *w, const void *what)
{
    const struct cli_cell *cell = what;
    struct buf target;
    struct cli_answer answer;
    cli_target1(&target, "/v1/tables/{}/cells", w->target.table);
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
        .ctx = w,
    };
    enum cli_exit e = cli_http_run(w->http, &request, &answer);
    if (e != CLI_OK && e != CLI_INTERRUPTED && answer.status >= 400)
        cli_say("that was %s, %s %" PRIu64, w->target.source, w->target.unit, w->line_number);
    json_t *problem = answer.status >= 400 ? cli_json_parse(base_buf_slice(&answer.body)) : NULL;
    w->is_full = e != CLI_OK && is_for_want_of_room(problem);
    json_decref(problem);
    if (w->is_full)
        e = refuse(w);
    base_buf_fini(&answer.body);
    base_buf_fini(&target);
    return e;
}

/* --- cells, one by one --------------------------------------------------------------------------
 */

static enum cli_exit begin_row(struct cli_writer *w, struct slice key)
{
    enum cli_exit e = end_line(w);
    base_buf_truncate(&w->key, 0);
    base_buf_append(&w->key, key);
    return e;
}

/* Appends a cell; first ends the open line if the cell does not fit into it. */
static enum cli_exit take_cell(struct cli_writer *w, const struct cli_cell *cell, uint64_t number)
{
    bool is_large = cell->value.len > CLI_TRANSFER_VALUE;
    enum cli_exit e = CLI_OK;
    if (is_large || w->line_cells >= w->target.line_cells || w->cells.len >= CLI_CHUNK_BYTES)
        e = end_line(w);
    if (e == CLI_OK && w->line_cells == 0)
        w->line_number = number;
    if (e != CLI_OK)
        return e;
    if (!is_large) {
        add_cell(w, cell);
        return CLI_OK;
    }
    e = w->has_deletes ? flush_chunk(w) : CLI_OK; /* removals may be of this row */
    bool is_larger = cell->value.len >= CLI_LARGE_CELL_BYTES && w->config.tenant != NULL;
    return e == CLI_OK ? insist(w, is_larger ? send_larger : send_large, cell) : e;
}

enum cli_exit cli_writer_cell(struct cli_writer *w, const struct cli_cell *cell, uint64_t number)
{
    if (cell->timestamp_us < 0 || cell->timestamp_us > INT64_MAX - TIMESTAMP_STEP)
        return cli_fail(CLI_CHECK_FAILED, "%s, %s %" PRIu64 ": the timestamp cannot be",
                        w->target.source, w->target.unit, number);
    if (!w->has_warned && cli_millis_suspected(cell->timestamp_us)) {
        char where[512];
        (void)snprintf(where, sizeof where, "%s, %s %" PRIu64, w->target.source, w->target.unit,
                       number);
        cli_millis_warn(where, cell->timestamp_us);
        w->has_warned = true;
    }
    enum cli_exit e = CLI_OK;
    if (!base_slice_equal(cell->key, base_buf_slice(&w->key)))
        e = begin_row(w, cell->key);
    return e == CLI_OK ? take_cell(w, cell, number) : e;
}

enum cli_exit cli_writer_delete_row(struct cli_writer *w, struct slice key, uint64_t number)
{
    enum cli_exit e = end_line(w);
    if (e != CLI_OK)
        return e;
    struct cli_line line = {.begin = w->chunk.bytes.len, .number = number};
    base_buf_append_byte(&w->chunk.bytes, '{');
    put_bytes(&w->chunk.bytes, "key", key);
    base_buf_append_text(&w->chunk.bytes, ",\"mutations\":[{\"delete_from_row\":{}}]");
    base_buf_append_byte(&w->chunk.bytes, '}');
    w->has_deletes = true;
    return add_line(w, &line);
}

enum cli_exit cli_writer_flush(struct cli_writer *w)
{
    enum cli_exit e = end_line(w);
    return e == CLI_OK ? flush_chunk(w) : e;
}
