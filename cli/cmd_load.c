/*
 * cli/cmd_load.c - many rows from NDJSON: POST /v1/tables/{table}:write, a chunk per request.
 *
 * A chunk's lines are kept until each has its verdict. Lines the server was too busy for (429,
 * 503) stay pending and are sent again after the pause the server asked for, so a rate limit
 * slows a load down but loses nothing:
 *
 *   1. Chunks are sent one after the other; the next begins when the last has no pending line.
 *   2. Pending lines are sent in the order of the file. When a line was throttled and a later one
 *      about the same row passed, that one is pending again: the row ends as the file says.
 *   3. How many lines are sent at once (the window) is halved after a round with refusals, but
 *      not below what passed in it, and doubles while nothing is refused. The pause is never under
 *      CLI_LINE_WAIT_MIN_MS, in which the server saves up what passes next.
 *   4. A round in which nothing passes counts against --retry.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "cli/bounds.h"
#include "cli/chunk.h"
#include "cli/fields.h"
#include "cli/handlers.h"
#include "cli/http.h"
#include "cli/interrupt.h"
#include "cli/json_text.h"
#include "cli/lines.h"
#include "cli/out.h"
#include "cli/progress.h"
#include "cli/target.h"
#include "cli/text.h"

#include "base/banned.h"

#define NDJSON     "application/x-ndjson"
#define ROW_SLOTS  (4UL * CLI_CHUNK_LINES) /* a hash set that stays at most a quarter full */
#define LINE_BYTES (64 * KIB)              /* of one verdict */

struct load {
    struct cli *cli;
    struct cli_input input;
    struct cli_chunk chunk;
    struct cli_lines verdicts;
    size_t *sent; /* the round's lines, as indexes into the chunk */
    size_t sent_count;
    size_t verdict_count;
    size_t throttled_count;
    uint64_t wait_ms; /* asked for by the round's throttled lines */
    bool summed_up;   /* the round's summary came */
    size_t window;
    bool slow; /* something was throttled */

    uint64_t ok_lines;
    uint64_t failed_lines;
    uint64_t done_bytes;
    uint64_t started_ns;
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
    if (l->slow) {
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

static void settle(struct load *l, struct cli_line *line, enum cli_line_state state)
{
    line->state = state;
    l->done_bytes += line->len + 1;
    if (state == CLI_LINE_OK)
        l->ok_lines++;
    else
        l->failed_lines++;
}

static void unsettle(struct load *l, struct cli_line *line)
{
    line->state = CLI_LINE_PENDING;
    l->done_bytes -= line->len + 1;
    l->ok_lines--;
}

static void throttle(struct load *l, const json_t *verdict)
{
    json_int_t asked = json_integer_value(json_object_get(verdict, "retry_after_ms"));
    uint64_t ms = asked > CLI_LINE_WAIT_MIN_MS ? (uint64_t)asked : CLI_LINE_WAIT_MIN_MS;
    if (ms > CLI_LINE_WAIT_MAX_MS)
        ms = CLI_LINE_WAIT_MAX_MS;
    if (l->throttled_count == 0 || ms < l->wait_ms)
        l->wait_ms = ms;
    l->throttled_count++;
    l->slow = true;
}

static void report(const struct cli_line *line, const json_t *verdict, json_int_t status)
{
    const char *code = json_string_value(json_object_get(verdict, "code"));
    const char *detail = json_string_value(json_object_get(verdict, "detail"));
    cli_say("line %llu: %s: %s (status %lld)", (unsigned long long)line->number,
            code != NULL ? code : "failed", detail != NULL ? detail : "no detail given",
            (long long)status);
}

static enum cli_exit take_verdict(void *ctx, struct slice text)
{
    struct load *l = ctx;
    json_t *verdict = cli_json_parse(text);
    json_int_t number = json_integer_value(json_object_get(verdict, "line"));
    json_int_t status = json_integer_value(json_object_get(verdict, "status"));
    enum cli_exit e = CLI_OK;
    if (json_is_true(json_object_get(verdict, "done"))) {
        l->summed_up = true;
    } else if (number != (json_int_t)l->verdict_count + 1 || l->verdict_count >= l->sent_count) {
        e = cli_fail(CLI_REFUSED, "the server sent something that is not the next line's verdict");
    } else {
        struct cli_line *line = &l->chunk.lines[l->sent[l->verdict_count++]];
        if (status >= 200 && status < 300)
            settle(l, line, CLI_LINE_OK);
        else if (status == 429 || status == 503)
            throttle(l, verdict);
        else
            settle(l, line, CLI_LINE_FAILED);
        if (line->state == CLI_LINE_FAILED)
            report(line, verdict, status);
        draw(l);
    }
    json_decref(verdict);
    return e;
}

static enum cli_exit take_bytes(void *ctx, struct slice bytes)
{
    struct load *l = ctx;
    return cli_lines_feed(&l->verdicts, bytes);
}

/* --- rounds -----------------------------------------------------------------------------------
 */

static void choose_lines(struct load *l, struct buf *body)
{
    base_buf_truncate(body, 0);
    l->sent_count = 0;
    for (size_t i = 0; i < l->chunk.count && l->sent_count < l->window; i++) {
        const struct cli_line *line = &l->chunk.lines[i];
        if (line->state != CLI_LINE_PENDING)
            continue;
        l->sent[l->sent_count++] = i;
        base_buf_append(body, base_slice(l->chunk.bytes.ptr + line->begin, line->len + 1));
    }
    INVARIANT(body->error == ERR_OK);
}

static enum cli_exit send_round(struct load *l, struct buf *body)
{
    struct buf target;
    struct cli_answer answer;
    struct cli_request request = {
        .method = "POST",
        .target = &target,
        .body = base_buf_slice(body),
        .content_type = NDJSON,
        .accept = NDJSON,
        .repeatable = true, /* asked only for refusals before the first verdict */
        .on_bytes = take_bytes,
        .ctx = l,
    };
    cli_target1(&target, "/v1/tables/{}:write", l->cli->args.words[0]);
    cli_lines_init(&l->verdicts, LINE_BYTES, take_verdict, l);
    l->verdict_count = 0;
    l->throttled_count = 0;
    l->summed_up = false;
    enum cli_exit e = cli_http_run(l->cli->http, &request, &answer);
    if (e == CLI_OK && (!l->summed_up || l->verdict_count != l->sent_count))
        e = cli_fail(CLI_UNREACHABLE, "the server's verdicts ended early");
    cli_lines_fini(&l->verdicts);
    base_buf_fini(&answer.body);
    base_buf_fini(&target);
    return e;
}

/* Is row in the set, or put it there. */
static bool find_row(uint64_t *slots, uint64_t row, bool insert)
{
    row |= 1; /* 0 marks a free slot */
    for (size_t i = row % ROW_SLOTS;; i = (i + 1) % ROW_SLOTS) {
        if (slots[i] == row)
            return true;
        if (slots[i] != 0)
            continue;
        if (insert)
            slots[i] = row;
        return false;
    }
}

/* Rule 2: lines that overtook a throttled one of the same row go again. */
static void undo_overtaking(struct load *l)
{
    uint64_t *rows = base_new_array(ROW_SLOTS, sizeof *rows);
    bool any = false;
    for (size_t i = 0; i < l->sent_count; i++) {
        struct cli_line *line = &l->chunk.lines[l->sent[i]];
        bool pending = line->state == CLI_LINE_PENDING;
        uint64_t row = 0;
        any = any || pending;
        if (!any || line->state == CLI_LINE_FAILED || !cli_chunk_row(&l->chunk, l->sent[i], &row))
            continue;
        if (find_row(rows, row, pending) && !pending)
            unsettle(l, line);
    }
    base_free(rows);
}

static enum cli_exit load_chunk(struct load *l, struct buf *body)
{
    uint64_t fruitless = 0;
    for (;;) {
        choose_lines(l, body);
        if (l->sent_count == 0)
            return CLI_OK;
        enum cli_exit e = send_round(l, body);
        if (e != CLI_OK)
            return e;
        if (l->throttled_count == 0) {
            l->window = l->window < CLI_CHUNK_LINES / 2 ? 2 * l->window : CLI_CHUNK_LINES;
            fruitless = 0;
            continue;
        }
        size_t passed = l->sent_count - l->throttled_count;
        undo_overtaking(l);
        l->window = l->sent_count / 2 > passed ? l->sent_count / 2 : passed;
        l->window = l->window > 0 ? l->window : 1;
        fruitless = passed > 0 ? 0 : fruitless + 1;
        if (fruitless > l->cli->config.retries)
            return cli_fail(CLI_CHECK_FAILED, "the server stays too busy for these lines; "
                                              "--retry N waits longer");
        if (!cli_sleep_ms(l->wait_ms << (fruitless < 5 ? fruitless : 5)))
            return CLI_INTERRUPTED;
    }
}

/* --- the command ------------------------------------------------------------------------------
 */

/* Where a load that did not finish can go on. */
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

static enum cli_exit load_all(struct load *l)
{
    struct buf body;
    base_buf_init(&body, CLI_CHUNK_BYTES + LIM_BULK_LINE_BYTES + 1);
    enum cli_exit e = CLI_OK;
    do {
        e = cli_chunk_fill(&l->chunk, &l->input);
        if (e == CLI_OK)
            e = load_chunk(l, &body);
    } while (e == CLI_OK && l->chunk.count > 0);
    base_buf_fini(&body);
    return e;
}

enum cli_exit cli_row_load(struct cli *cli)
{
    struct load l = {.cli = cli, .window = CLI_CHUNK_LINES, .started_ns = base_monotonic_ns()};
    const char *path = cli->args.word_count > 1 ? cli->args.words[1] : "-";
    enum cli_exit e = cli_input_open(&l.input, path);
    if (e != CLI_OK)
        return e;
    l.sent = base_new_array(CLI_CHUNK_LINES, sizeof *l.sent);
    cli_chunk_init(&l.chunk);
    e = load_all(&l);
    cli_progress_hide();
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
    base_free(l.sent);
    cli_input_close(&l.input);
    return e;
}
