/*
 * cli/change_feed.c - see change_feed.h.
 *
 * A heartbeat states that every change up to its token was sent; the server sends one after 100 ms
 * without changes. A stream that is never idle is closed after the first change that was committed
 * after the stream's start, both by the server's clock (the Date of its answer).
 */
#include "cli/change_feed.h"

#include <stdio.h>

#include "cli/bounds.h"
#include "cli/out.h"
#include "cli/transfer_scan.h"
#include "cli/wire.h"

#include "base/banned.h"

#define METHOD          "/google.bigtable.v2.Bigtable/ReadChangeStream"
#define NAME_BYTES      256
#define REQUEST_BYTES   1024
#define HEARTBEAT_NANOS 100000000U

#define NUMBER(field) CLI_WIRE_TAG(field, CLI_WIRE_NUMBER)
#define BYTES(field)  CLI_WIRE_TAG(field, CLI_WIRE_BYTES)

/* Fields of google/bigtable/v2/bigtable.proto. */
enum { ASK_TABLE = 1, ASK_TOKENS = 6, ASK_HEARTBEAT = 7 };
enum { TOKENS_TOKEN = 1, TOKEN_TEXT = 2, DURATION_NANOS = 2 };
enum { RECORD_CHANGE = BYTES(1), RECORD_HEARTBEAT = BYTES(2), RECORD_CLOSE = BYTES(3) };
enum { CHANGE_TYPE = NUMBER(1), CHANGE_KEY = BYTES(3), CHANGE_COMMIT = BYTES(4) };
enum { CHANGE_TOKEN = BYTES(9), TIME_SECONDS = NUMBER(1), HEARTBEAT_TOKEN = BYTES(1) };

enum { TYPE_GARBAGE = 2, TYPE_CONTINUATION = 3 };

static bool goes_on(void *ctx)
{
    const struct cli_feed *f = ctx;
    return !atomic_load(f->stop);
}

static enum cli_exit take_message(void *ctx, struct slice message)
{
    return cli_feed_take(ctx, message);
}

enum cli_exit cli_feed_init(struct cli_feed *f, const struct cli_config *config,
                            const atomic_bool *stop)
{
    memset(f, 0, sizeof *f);
    f->config = cli_transfer_config(config);
    f->stop = stop;
    cli_call_init(&f->call, CLI_FEED_MESSAGE);
    f->call.what = "a change";
    f->call.goes_on = goes_on;
    f->call.on_message = take_message;
    f->call.ctx = f;
    f->call.message_ctx = f;
    return cli_http_open(&f->config, &f->call.http);
}

void cli_feed_fini(struct cli_feed *f)
{
    cli_http_close(f->call.http);
    cli_call_fini(&f->call);
    memset(f, 0, sizeof *f);
}

/* Appends the request; all parts are short and fit. */
static void put_request(const struct cli_feed *f, const char *name, struct buf *out)
{
    struct buf inner;
    struct buf outer;
    base_buf_init(&inner, REQUEST_BYTES);
    base_buf_init(&outer, REQUEST_BYTES);
    cli_wire_put_bytes(out, ASK_TABLE, base_slice_text(name));
    if (f->token[0] != '\0') {
        cli_wire_put_bytes(&inner, TOKEN_TEXT, base_slice_text(f->token));
        cli_wire_put_bytes(&outer, TOKENS_TOKEN, base_buf_slice(&inner));
        cli_wire_put_bytes(out, ASK_TOKENS, base_buf_slice(&outer));
    }
    base_buf_truncate(&inner, 0);
    cli_wire_put_number(&inner, DURATION_NANOS, HEARTBEAT_NANOS);
    cli_wire_put_bytes(out, ASK_HEARTBEAT, base_buf_slice(&inner));
    base_buf_fini(&outer);
    base_buf_fini(&inner);
    INVARIANT(out->error == ERR_OK);
}

/* --- messages ---------------------------------------------------------------------------------
 */

static bool find_seconds(struct slice message, uint64_t tag, uint64_t *out)
{
    struct cli_wire_field time;
    struct cli_wire_field seconds;
    if (!cli_wire_find(message, tag, &time) || !cli_wire_find(time.bytes, TIME_SECONDS, &seconds))
        return false;
    *out = seconds.number;
    return true;
}

static bool keep_token(struct cli_feed *f, struct slice token)
{
    if (token.len == 0 || token.len >= sizeof f->token)
        return false;
    memcpy(f->token, token.ptr, token.len);
    f->token[token.len] = '\0';
    return true;
}

/* Handles a part of a change. A part that continues in the next message has no token, and only the
 * first part has a key. Garbage collection is ignored, because no read shows garbage. */
static enum cli_exit take_change(struct cli_feed *f, struct slice change, bool *is_bad)
{
    struct cli_wire_field key;
    struct cli_wire_field token;
    struct cli_wire_field type;
    uint64_t committed_s = 0;
    *is_bad = !cli_wire_find(change, CHANGE_KEY, &key) ||
              !cli_wire_find(change, CHANGE_TOKEN, &token) ||
              !find_seconds(change, CHANGE_COMMIT, &committed_s) ||
              !cli_wire_find(change, CHANGE_TYPE, &type) || key.bytes.len > LIM_ROW_KEY;
    if (*is_bad)
        return CLI_OK;
    if (type.number != TYPE_CONTINUATION)
        f->is_garbage = type.number == TYPE_GARBAGE;
    enum cli_exit e = key.bytes.len > 0 && !f->is_garbage ? f->on_key(f->ctx, key.bytes) : CLI_OK;
    if (e != CLI_OK || token.bytes.len == 0)
        return e;
    *is_bad = !keep_token(f, token.bytes);
    f->seen++;
    f->changes += !f->is_garbage;
    uint64_t began_s = f->call.answer.date_s > 0 ? (uint64_t)f->call.answer.date_s : UINT64_MAX;
    f->is_near = committed_s > began_s;
    f->behind_s = committed_s < began_s ? began_s - committed_s : 0;
    f->is_enough = f->is_near || f->seen >= f->changes_max;
    return CLI_OK;
}

static bool take_heartbeat(struct cli_feed *f, struct slice heartbeat)
{
    struct cli_wire_field token;
    struct cli_wire_field text;
    f->is_near = true;
    f->behind_s = 0;
    f->is_enough = true;
    return cli_wire_find(heartbeat, HEARTBEAT_TOKEN, &token) &&
           cli_wire_find(token.bytes, BYTES(TOKEN_TEXT), &text) && keep_token(f, text.bytes);
}

/* Returns CLI_BROKEN_PIPE, which ends the call, when the read is complete. */
enum cli_exit cli_feed_take(struct cli_feed *f, struct slice message)
{
    struct cli_wire_field record;
    bool is_bad = !cli_wire_next(&message, &record);
    enum cli_exit e = CLI_OK;
    if (!is_bad && record.tag == RECORD_CHANGE)
        e = take_change(f, record.bytes, &is_bad);
    else if (!is_bad && record.tag == RECORD_HEARTBEAT)
        is_bad = !take_heartbeat(f, record.bytes);
    else if (!is_bad && record.tag == RECORD_CLOSE)
        e = cli_fail(CLI_CHECK_FAILED, "the server closed the change stream");
    if (is_bad)
        return cli_fail(CLI_REFUSED, "the server sent something that is not a change");
    return e == CLI_OK && f->is_enough ? CLI_BROKEN_PIPE : e;
}

/* --- a read -----------------------------------------------------------------------------------
 */

static enum cli_exit judge(const struct cli_answer *answer, const char *table)
{
    switch (answer->grpc_status) {
    case CLI_CALL_NONE:
    case CLI_CALL_DONE:
    case CLI_CALL_UNAVAILABLE:
    case CLI_CALL_EXHAUSTED:
        return CLI_UNREACHABLE; /* broken, server stopping, or tenant over its read rate */
    default:
        return cli_fail(CLI_CHECK_FAILED, "the change stream of the table %s: %s (status %d)",
                        table, answer->grpc_message, answer->grpc_status);
    }
}

static enum cli_exit try_once(struct cli_feed *f, const char *name, const char *table)
{
    struct buf message;
    base_buf_init(&message, REQUEST_BYTES);
    put_request(f, name, &message);
    const struct cli_call_request request = {.method = METHOD, .message = base_buf_slice(&message)};
    enum cli_exit e = cli_call_run(&f->call, &request);
    if (f->is_enough && (e == CLI_BROKEN_PIPE || e == CLI_OK))
        e = CLI_OK;
    else if (e == CLI_OK)
        e = judge(&f->call.answer, table);
    base_buf_fini(&message);
    return e;
}

enum cli_exit cli_feed_read(struct cli_feed *f, const char *tenant, const char *instance,
                            const char *table, uint64_t changes_max)
{
    char name[NAME_BYTES];
    int n =
        snprintf(name, sizeof name, "projects/%s/instances/%s/tables/%s", tenant, instance, table);
    INVARIANT(n > 0 && (size_t)n < sizeof name); /* IDs are bounded */
    f->changes = 0;
    f->seen = 0;
    f->changes_max = changes_max;
    f->is_near = false;
    f->behind_s = 0;
    f->is_enough = false;
    for (unsigned tries = 1;; tries++) {
        uint64_t before = f->seen;
        enum cli_exit e = try_once(f, name, table);
        if (e != CLI_UNREACHABLE)
            return e;
        tries = f->seen > before ? 1 : tries;
        if (tries >= CLI_TRANSFER_TRIES)
            return cli_fail(e, "the change stream of the table %s cannot be read", table);
        if (!cli_transfer_wait(f->stop, tries))
            return CLI_INTERRUPTED;
    }
}
