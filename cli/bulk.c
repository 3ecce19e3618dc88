/*
 * cli/bulk.c - see bulk.h.
 *
 * A chunk's lines are kept until each has its verdict. Lines that the server was too busy for (429,
 * 503) stay pending and are sent again after the pause that the server requested, so a rate limit
 * slows a load down but loses nothing:
 *
 *   1. Pending lines are sent in the order of the chunk. When a line was throttled and a later line
 *      about the same row was written, the later line becomes pending again: the final row is that
 *      of the lines in order.
 *   2. The number of lines per request (the window) is halved after a round with refusals, but not
 *      below the number of lines admitted in that round, and doubles while none is refused. The
 *      pause is at least CLI_LINE_WAIT_MIN_MS, in which the tenant's rate limit admits more.
 *   3. A round in which no line is admitted counts against the retries.
 */
#include "cli/bulk.h"

#include "base/alloc.h"
#include "cli/bounds.h"
#include "cli/interrupt.h"
#include "cli/json_text.h"
#include "cli/out.h"
#include "cli/target.h"

#include "base/banned.h"

#define NDJSON     "application/x-ndjson"
#define ROW_SLOTS  (4UL * CLI_CHUNK_LINES) /* a hash set that stays at most a quarter full */
#define LINE_BYTES (64 * KIB)              /* of one verdict */

void cli_bulk_init(struct cli_bulk *b)
{
    memset(b, 0, sizeof *b);
    b->window = CLI_CHUNK_LINES;
    b->sent = base_new_array(CLI_CHUNK_LINES, sizeof *b->sent);
    base_buf_init(&b->body, CLI_CHUNK_BYTES + LIM_BULK_LINE_BYTES + 1);
}

void cli_bulk_fini(struct cli_bulk *b)
{
    base_buf_fini(&b->body);
    base_free(b->sent);
    memset(b, 0, sizeof *b);
}

/* --- verdicts ---------------------------------------------------------------------------------
 */

static void set_state(struct cli_bulk *b, struct cli_line *line, enum cli_line_state state,
                      const json_t *verdict)
{
    line->state = state;
    b->on_state(b->ctx, line, state, verdict);
}

static void throttle(struct cli_bulk *b, const json_t *verdict)
{
    json_int_t asked = json_integer_value(json_object_get(verdict, "retry_after_ms"));
    uint64_t ms = asked > CLI_LINE_WAIT_MIN_MS ? (uint64_t)asked : CLI_LINE_WAIT_MIN_MS;
    if (ms > CLI_LINE_WAIT_MAX_MS)
        ms = CLI_LINE_WAIT_MAX_MS;
    if (b->throttled_count == 0 || ms < b->wait_ms)
        b->wait_ms = ms;
    b->throttled_count++;
    b->slow = true;
}

static enum cli_exit take_verdict(void *ctx, struct slice text)
{
    struct cli_bulk *b = ctx;
    json_t *verdict = cli_json_parse(text);
    json_int_t number = json_integer_value(json_object_get(verdict, "line"));
    json_int_t status = json_integer_value(json_object_get(verdict, "status"));
    enum cli_exit e = CLI_OK;
    if (json_is_true(json_object_get(verdict, "done"))) {
        b->summed_up = true;
    } else if (number != (json_int_t)b->verdict_count + 1 || b->verdict_count >= b->sent_count) {
        e = cli_fail(CLI_REFUSED, "the server sent something that is not the next line's verdict");
    } else {
        struct cli_line *line = &b->chunk->lines[b->sent[b->verdict_count++]];
        if (status >= 200 && status < 300)
            set_state(b, line, CLI_LINE_OK, verdict);
        else if (status == 429 || status == 503)
            throttle(b, verdict);
        else
            set_state(b, line, CLI_LINE_FAILED, verdict);
    }
    json_decref(verdict);
    return e;
}

static enum cli_exit take_bytes(void *ctx, struct slice bytes)
{
    struct cli_bulk *b = ctx;
    return cli_lines_feed(&b->verdicts, bytes);
}

static bool goes_on(void *ctx)
{
    const struct cli_bulk *b = ctx;
    return b->goes_on(b->ctx);
}

/* --- rounds -----------------------------------------------------------------------------------
 */

static void choose_lines(struct cli_bulk *b)
{
    struct buf *body = &b->body;
    base_buf_truncate(body, 0);
    b->sent_count = 0;
    for (size_t i = 0; i < b->chunk->count && b->sent_count < b->window; i++) {
        const struct cli_line *line = &b->chunk->lines[i];
        if (line->state != CLI_LINE_PENDING)
            continue;
        b->sent[b->sent_count++] = i;
        base_buf_append(body, base_slice(b->chunk->bytes.ptr + line->begin, line->len + 1));
    }
    INVARIANT(body->error == ERR_OK);
}

static enum cli_exit send_round(struct cli_bulk *b)
{
    struct buf target;
    struct cli_answer answer;
    struct cli_request request = {
        .method = "POST",
        .target = &target,
        .body = base_buf_slice(&b->body),
        .content_type = NDJSON,
        .accept = NDJSON,
        .repeatable = true, /* matters only for refusals before the first verdict */
        .goes_on = b->goes_on != NULL ? goes_on : NULL,
        .on_bytes = take_bytes,
        .ctx = b,
    };
    cli_target1(&target, "/v1/tables/{}:write", b->table);
    cli_target_query(&target, "timestamps", b->timestamps);
    cli_lines_init(&b->verdicts, LINE_BYTES, take_verdict, b);
    b->verdict_count = 0;
    b->throttled_count = 0;
    b->summed_up = false;
    enum cli_exit e = cli_http_run(b->http, &request, &answer);
    if (e == CLI_OK && (!b->summed_up || b->verdict_count != b->sent_count))
        e = cli_fail(CLI_UNREACHABLE, "the server's verdicts ended early");
    cli_lines_fini(&b->verdicts);
    base_buf_fini(&answer.body);
    base_buf_fini(&target);
    return e;
}

/* Returns whether row is in the set; insert: adds it. */
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

/* Rule 1: makes lines pending that overtook a throttled line of the same row. */
static void undo_overtaking(struct cli_bulk *b)
{
    uint64_t *rows = base_new_array(ROW_SLOTS, sizeof *rows);
    bool any = false;
    for (size_t i = 0; i < b->sent_count; i++) {
        struct cli_line *line = &b->chunk->lines[b->sent[i]];
        bool pending = line->state == CLI_LINE_PENDING;
        uint64_t row = 0;
        any = any || pending;
        if (!any || line->state == CLI_LINE_FAILED || !cli_chunk_row(b->chunk, b->sent[i], &row))
            continue;
        if (find_row(rows, row, pending) && !pending)
            set_state(b, line, CLI_LINE_PENDING, NULL);
    }
    base_free(rows);
}

enum cli_exit cli_bulk_send(struct cli_bulk *b, struct cli_chunk *chunk)
{
    b->chunk = chunk;
    uint64_t fruitless = 0;
    for (;;) {
        choose_lines(b);
        if (b->sent_count == 0)
            return CLI_OK;
        enum cli_exit e = send_round(b);
        if (e != CLI_OK)
            return e;
        if (b->throttled_count == 0) {
            b->window = b->window < CLI_CHUNK_LINES / 2 ? 2 * b->window : CLI_CHUNK_LINES;
            fruitless = 0;
            continue;
        }
        size_t passed = b->sent_count - b->throttled_count;
        undo_overtaking(b);
        b->window = b->sent_count / 2 > passed ? b->sent_count / 2 : passed;
        b->window = b->window > 0 ? b->window : 1;
        fruitless = passed > 0 ? 0 : fruitless + 1;
        if (fruitless > b->retries)
            return cli_fail(CLI_CHECK_FAILED, "the server stays too busy for these lines; "
                                              "--retry N waits longer");
        if (!cli_sleep_ms(b->wait_ms << (fruitless < 5 ? fruitless : 5)))
            return CLI_INTERRUPTED;
    }
}
