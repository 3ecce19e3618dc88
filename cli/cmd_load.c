/*
 * cli/cmd_load.c - many rows from NDJSON: POST /v1/tables/{table}:write, a chunk per request.
 *
 * Chunks are sent one after the other; the next starts when the last has no pending line (bulk.h).
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "cli/bounds.h"
#include "cli/bulk.h"
#include "cli/chunk.h"
#include "cli/fields.h"
#include "cli/handlers.h"
#include "cli/json_text.h"
#include "cli/millis.h"
#include "cli/out.h"
#include "cli/progress.h"
#include "cli/text.h"

#include "base/banned.h"

struct load {
    struct cli *cli;
    struct cli_input input;
    struct cli_chunk chunk;
    struct cli_bulk bulk;
    uint64_t ok_lines;
    uint64_t failed_lines;
    uint64_t done_bytes;
    uint64_t started_ns;
    bool has_warned;
};

/* --- progress ---------------------------------------------------------------------------------
 */

static double seconds_since(uint64_t started_ns)
{
    double s = (double)(base_monotonic_ns() - started_ns) / 1e9;
    return s > 0.001 ? s : 0.001;
}

static void draw(const struct load *l)
{
    if (!cli_progress_due())
        return;
    struct buf text;
    base_buf_init(&text, 1024);
    uint64_t rows = l->ok_lines + l->failed_lines;
    double seconds = seconds_since(l->started_ns);
    cli_text_put_count(&text, rows);
    base_buf_append_text(&text, " rows  ");
    cli_text_put_count(&text, (uint64_t)((double)rows / seconds));
    base_buf_append_text(&text, " rows/s  ");
    cli_text_put_bytes(&text, l->done_bytes);
    if (l->bulk.slow) {
        base_buf_append_text(&text, "  rate limited");
    } else {
        base_buf_append_text(&text, "  ");
        cli_text_put_bytes(&text, (uint64_t)((double)l->done_bytes / seconds));
        base_buf_append_text(&text, "/s");
    }
    base_buf_append_byte(&text, '\0');
    cli_progress_draw(l->done_bytes, l->input.total_bytes, (const char *)text.ptr);
    base_buf_fini(&text);
}

/* --- verdicts ---------------------------------------------------------------------------------
 */

static void report(const struct cli_line *line, const json_t *verdict)
{
    json_int_t status = json_integer_value(json_object_get(verdict, "status"));
    const char *code = json_string_value(json_object_get(verdict, "code"));
    const char *detail = json_string_value(json_object_get(verdict, "detail"));
    cli_say("line %llu: %s: %s (status %lld)", (unsigned long long)line->number,
            code != NULL ? code : "failed", detail != NULL ? detail : "no detail given",
            (long long)status);
}

static void take_state(void *ctx, const struct cli_line *line, enum cli_line_state state,
                       const json_t *verdict)
{
    struct load *l = ctx;
    if (state == CLI_LINE_PENDING) {
        l->done_bytes -= line->len + 1;
        l->ok_lines--;
        return;
    }
    l->done_bytes += line->len + 1;
    if (state == CLI_LINE_OK) {
        l->ok_lines++;
    } else {
        l->failed_lines++;
        if (l->failed_lines <= CLI_LOAD_SAID)
            report(line, verdict);
    }
    draw(l);
}

/* --- the command ------------------------------------------------------------------------------
 */

/* Reports the line at which an unfinished load can continue. */
static void say_where(const struct load *l, enum cli_exit why)
{
    const struct cli_line *pending = NULL;
    for (size_t i = 0; i < l->chunk.count && pending == NULL; i++) {
        if (l->chunk.lines[i].state == CLI_LINE_PENDING)
            pending = &l->chunk.lines[i];
    }
    uint64_t next = pending != NULL ? pending->number : l->input.line_number + 1;
    uint64_t done = l->ok_lines + l->failed_lines;
    if (why == CLI_UNREACHABLE || why == CLI_INTERRUPTED || done > 0)
        cli_say("stopped: the lines before line %llu are settled (%llu written, %llu failed); to "
                "go on: tail -n +%llu FILE | bigtent row load %s -",
                (unsigned long long)next, (unsigned long long)l->ok_lines,
                (unsigned long long)l->failed_lines, (unsigned long long)next,
                l->cli->args.words[0]);
}

static void print_summary(const struct load *l)
{
    static const struct cli_field fields[] = {
        {"lines", "lines", CLI_FIELD_COUNT, NULL},   {"ok", "ok", CLI_FIELD_COUNT, NULL},
        {"failed", "failed", CLI_FIELD_COUNT, NULL}, {"bytes", "bytes", CLI_FIELD_BYTES, NULL},
        {"rate", "rate", CLI_FIELD_TEXT, NULL},      {NULL, NULL, CLI_FIELD_TEXT, NULL},
    };
    json_t *summary =
        json_pack("{s:I, s:I, s:I, s:I}", "lines", (json_int_t)(l->ok_lines + l->failed_lines),
                  "ok", (json_int_t)l->ok_lines, "failed", (json_int_t)l->failed_lines, "bytes",
                  (json_int_t)l->done_bytes);
    if (cli_out_is_terminal() && !l->cli->config.json) {
        double seconds = seconds_since(l->started_ns);
        struct buf rate;
        base_buf_init(&rate, 256);
        cli_text_put_count(&rate, (uint64_t)((double)l->ok_lines / seconds));
        base_buf_printf(&rate, " rows/s over %.1f s", seconds);
        (void)json_object_set_new(summary, "rate", /* left out when memory is short */
                                  json_stringn((const char *)rate.ptr, rate.len));
        base_buf_fini(&rate);
    }
    cli_fields_show(l->cli, fields, summary);
}

static void warn_of_millis(struct load *l)
{
    int64_t micros = 0;
    for (size_t i = 0; i < l->chunk.count && !l->has_warned; i++) {
        char where[32];
        if (!cli_millis_find(cli_chunk_line(&l->chunk, i), &micros))
            continue;
        (void)snprintf(where, sizeof where, "line %llu",
                       (unsigned long long)l->chunk.lines[i].number);
        cli_millis_warn(where, micros);
        l->has_warned = true;
    }
}

static enum cli_exit load_all(struct load *l)
{
    enum cli_exit e = CLI_OK;
    do {
        e = cli_chunk_fill(&l->chunk, &l->input);
        warn_of_millis(l);
        if (e == CLI_OK)
            e = cli_bulk_send(&l->bulk, &l->chunk);
    } while (e == CLI_OK && l->chunk.count > 0);
    return e;
}

enum cli_exit cli_row_load(struct cli *cli)
{
    struct load l = {.cli = cli, .started_ns = base_monotonic_ns()};
    const char *path = cli->args.word_count > 1 ? cli->args.words[1] : "-";
    const char *unit = cli_args_value(&cli->args, "timestamps");
    if (unit != NULL && strcmp(unit, "us") != 0 && strcmp(unit, "ms") != 0)
        return cli_fail(CLI_USAGE, "--timestamps must be us or ms, not \"%s\"", unit);
    enum cli_exit e = cli_input_open(&l.input, path);
    if (e != CLI_OK)
        return e;
    cli_bulk_init(&l.bulk);
    l.bulk.http = cli->http;
    l.bulk.table = cli->args.words[0];
    l.bulk.retries = cli->config.retries;
    l.bulk.timestamps = unit;
    l.has_warned = unit != NULL; /* an explicit unit is not ambiguous */
    l.bulk.on_state = take_state;
    l.bulk.ctx = &l;
    cli_chunk_init(&l.chunk);
    e = load_all(&l);
    cli_progress_hide();
    if (l.failed_lines > CLI_LOAD_SAID)
        cli_say("%llu more lines failed; only the first %d are shown",
                (unsigned long long)(l.failed_lines - CLI_LOAD_SAID), CLI_LOAD_SAID);
    if (e != CLI_OK)
        say_where(&l, e);
    if (e == CLI_OK || l.ok_lines + l.failed_lines > 0)
        print_summary(&l);
    if (e == CLI_OK)
        e = l.input.failed;
    if (e == CLI_OK && l.failed_lines > 0)
        e = cli_fail(CLI_CHECK_FAILED, "%llu of %llu lines failed",
                     (unsigned long long)l.failed_lines,
                     (unsigned long long)(l.ok_lines + l.failed_lines));
    cli_chunk_fini(&l.chunk);
    cli_bulk_fini(&l.bulk);
    cli_input_close(&l.input);
    return e;
}
