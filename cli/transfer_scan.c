/*
 * cli/transfer_scan.c - see transfer_scan.h.
 *
 * A broken stream ends with a part of a row, which is discarded: a row is complete when its line
 * feed has arrived. on_cell never receives cells of a row without a later on_row, because only
 * complete lines are parsed.
 */
#include "cli/transfer_scan.h"

#include "cli/bounds.h"
#include "cli/interrupt.h"
#include "cli/json_text.h"
#include "cli/out.h"
#include "cli/target.h"
#include "cli/transfer_row.h"

#include "base/banned.h"

#define FIRST_WAIT_MS 100
#define NAP_MS        50

struct cli_config cli_transfer_config(const struct cli_config *config)
{
    struct cli_config patient = *config;
    if (patient.retries < CLI_TRANSFER_TRIES)
        patient.retries = CLI_TRANSFER_TRIES;
    return patient;
}

bool cli_transfer_wait(const atomic_bool *stop, unsigned tries)
{
    uint64_t ms = (uint64_t)FIRST_WAIT_MS << (tries < 10 ? tries : 10);
    if (ms > CLI_TRANSFER_WAIT_MS)
        ms = CLI_TRANSFER_WAIT_MS;
    for (uint64_t slept = 0; slept < ms && !atomic_load(stop); slept += NAP_MS) {
        if (!cli_sleep_ms(NAP_MS))
            return false;
    }
    return !atomic_load(stop);
}

static enum cli_exit take_line(void *ctx, struct slice line)
{
    struct cli_transfer_scan *s = ctx;
    enum cli_exit e = cli_row_cells(line, &s->holder, &s->last, s->on_cell, s->ctx);
    if (e != CLI_OK)
        return e;
    s->moved = true;
    return s->on_row(s->ctx, base_buf_slice(&s->last));
}

static enum cli_exit take_bytes(void *ctx, struct slice bytes)
{
    struct cli_transfer_scan *s = ctx;
    return cli_lines_feed(&s->lines, bytes);
}

static bool goes_on(void *ctx)
{
    const struct cli_transfer_scan *s = ctx;
    return !atomic_load(s->stop);
}

enum cli_exit cli_transfer_scan_init(struct cli_transfer_scan *s, const struct cli_config *config,
                                     const atomic_bool *stop)
{
    memset(s, 0, sizeof *s);
    s->config = cli_transfer_config(config);
    s->stop = stop;
    base_buf_init(&s->holder, CLI_HOLDER_BYTES);
    base_buf_init(&s->last, LIM_ROW_KEY);
    return cli_http_open(&s->config, &s->http);
}

void cli_transfer_scan_fini(struct cli_transfer_scan *s)
{
    cli_http_close(s->http);
    base_buf_fini(&s->holder);
    base_buf_fini(&s->last);
    memset(s, 0, sizeof *s);
}

/* Appends the body {"ranges":[{..}]}. */
static bool put_body(struct cli_transfer_scan *s, struct slice start, struct slice end,
                     struct buf *out)
{
    json_t *range = json_object();
    json_t *body = json_pack("{s:[o]}", "ranges", range);
    bool fits = body != NULL;
    if (fits && s->last.len > 0)
        fits = cli_json_set_bytes(range, "start_open", base_buf_slice(&s->last));
    else if (fits && start.len > 0)
        fits = cli_json_set_bytes(range, "start", start);
    if (fits && end.len > 0)
        fits = cli_json_set_bytes(range, "end", end);
    fits = fits && cli_json_append(out, body, 0);
    json_decref(body);
    return fits;
}

struct what {
    const char *table;
    struct slice start;
    struct slice end;
    const json_t *keys; /* if not NULL, replaces the range */
};

static enum cli_exit try_once(struct cli_transfer_scan *s, const struct what *what)
{
    struct buf target;
    struct buf body;
    struct cli_answer answer;
    cli_target1(&target, "/v1/tables/{}:read", what->table);
    base_buf_init(&body, CLI_REQUEST_BYTES);
    bool fits = what->keys != NULL ? cli_json_append(&body, what->keys, 0)
                                   : put_body(s, what->start, what->end, &body);
    struct cli_request request = {
        .method = "POST",
        .target = &target,
        .body = base_buf_slice(&body),
        .accept = "application/x-ndjson",
        .repeatable = true,
        .goes_on = goes_on,
        .on_bytes = take_bytes,
        .ctx = s,
    };
    s->moved = false;
    cli_lines_init(&s->lines, CLI_ANSWER_BYTES, take_line, s);
    enum cli_exit e = CLI_OK;
    if (!fits)
        e = cli_fail(CLI_REFUSED, "out of memory for a request");
    if (e == CLI_OK) {
        e = cli_http_run(s->http, &request, &answer);
        base_buf_fini(&answer.body);
    }
    if (e == CLI_OK && s->lines.pending.len > 0)
        e = CLI_UNREACHABLE; /* inside a row: as a broken connection */
    cli_lines_fini(&s->lines);
    base_buf_fini(&body);
    base_buf_fini(&target);
    return e;
}

static enum cli_exit insist(struct cli_transfer_scan *s, const struct what *what)
{
    unsigned fruitless = 0;
    for (;;) {
        enum cli_exit e = try_once(s, what);
        if (e != CLI_UNREACHABLE)
            return e;
        fruitless = s->moved ? 0 : fruitless + 1;
        if (fruitless >= CLI_TRANSFER_TRIES)
            return e;
        if (!cli_transfer_wait(s->stop, fruitless))
            return CLI_INTERRUPTED;
    }
}

enum cli_exit cli_transfer_scan_run(struct cli_transfer_scan *s, const char *table,
                                    struct slice start, struct slice end, struct slice after)
{
    const struct what what = {.table = table, .start = start, .end = end};
    base_buf_truncate(&s->last, 0);
    base_buf_append(&s->last, after);
    return insist(s, &what);
}

enum cli_exit cli_transfer_scan_keys(struct cli_transfer_scan *s, const char *table,
                                     const json_t *keys)
{
    const struct what what = {.table = table, .keys = keys};
    base_buf_truncate(&s->last, 0);
    return insist(s, &what);
}
