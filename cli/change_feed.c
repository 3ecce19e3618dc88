/*
 * cli/change_feed.c - see change_feed.h.
 *
 * A heartbeat says that everything up to its token was given, and comes when there was nothing to
 * give for a tenth of a second. A stream that is never idle is broken off behind a change that was
 * made when the stream had begun, by the server's clock for both: the Date of its answer. Of
 * protobuf only what is needed is read here: fields by their numbers, as
 * google/bigtable/v2/bigtable.proto has them; the others are passed over.
 */
#include "cli/change_feed.h"

#include <stdio.h>

#include "base/pair_stream.h"
#include "cli/bounds.h"
#include "cli/out.h"
#include "cli/target.h"
#include "cli/transfer_scan.h"

#include "base/banned.h"

#define METHOD          "/google.bigtable.v2.Bigtable/ReadChangeStream"
#define FRAME_HEAD      5
#define NAME_BYTES      256
#define REQUEST_BYTES   1024
#define HEARTBEAT_NANOS 100000000U

enum wire { WIRE_VARINT = 0, WIRE_8 = 1, WIRE_BYTES = 2, WIRE_4 = 5 };
enum { GRPC_OK = 0, GRPC_RESOURCE_EXHAUSTED = 8, GRPC_UNAVAILABLE = 14 };

/* Fields. */
enum { ASK_TABLE = 1, ASK_TOKENS = 6, ASK_HEARTBEAT = 7 };
enum { TOKENS_TOKEN = 1, TOKEN_TEXT = 2, DURATION_NANOS = 2 };
enum { RECORD_CHANGE = 1, RECORD_HEARTBEAT = 2, RECORD_CLOSE = 3 };
enum { CHANGE_TYPE = 1, CHANGE_KEY = 3, CHANGE_COMMIT = 4, CHANGE_TOKEN = 9, TIME_SECONDS = 1 };
enum { HEARTBEAT_TOKEN = 1 };

enum { TYPE_GARBAGE = 2, TYPE_CONTINUATION = 3 };

enum cli_exit cli_feed_init(struct cli_feed *f, const struct cli_config *config,
                            const atomic_bool *stop)
{
    memset(f, 0, sizeof *f);
    f->config = cli_transfer_config(config);
    f->stop = stop;
    base_buf_init(&f->bytes, CLI_FEED_MESSAGE + FRAME_HEAD + CLI_READ_BYTES);
    return cli_http_open(&f->config, &f->http);
}

void cli_feed_fini(struct cli_feed *f)
{
    cli_http_close(f->http);
    base_buf_fini(&f->bytes);
    memset(f, 0, sizeof *f);
}

/* --- what is asked for ------------------------------------------------------------------------
 */

static void put_varint(struct buf *out, uint64_t number)
{
    for (; number >= 0x80; number >>= 7)
        base_buf_append_byte(out, (uint8_t)(number | 0x80));
    base_buf_append_byte(out, (uint8_t)number);
}

static void put_bytes(struct buf *out, unsigned field, struct slice bytes)
{
    put_varint(out, field << 3 | WIRE_BYTES);
    put_varint(out, bytes.len);
    base_buf_append(out, bytes);
}

/* Each is short; they fit. */
static void put_request(const struct cli_feed *f, const char *name, struct buf *out)
{
    struct buf inner;
    struct buf outer;
    uint8_t head[FRAME_HEAD] = {0};
    base_buf_init(&inner, REQUEST_BYTES);
    base_buf_init(&outer, REQUEST_BYTES);
    base_buf_append(out, base_slice(head, sizeof head));
    put_bytes(out, ASK_TABLE, base_slice_text(name));
    if (f->token[0] != '\0') {
        put_bytes(&inner, TOKEN_TEXT, base_slice_text(f->token));
        put_bytes(&outer, TOKENS_TOKEN, base_buf_slice(&inner));
        put_bytes(out, ASK_TOKENS, base_buf_slice(&outer));
    }
    base_buf_truncate(&inner, 0);
    put_varint(&inner, DURATION_NANOS << 3 | WIRE_VARINT);
    put_varint(&inner, HEARTBEAT_NANOS);
    put_bytes(out, ASK_HEARTBEAT, base_buf_slice(&inner));
    base_buf_fini(&outer);
    base_buf_fini(&inner);
    INVARIANT(out->error == ERR_OK);
    base_pairs_put_u32(out->ptr + 1, (uint32_t)(out->len - FRAME_HEAD));
}

/* --- what comes -------------------------------------------------------------------------------
 */

static bool take_varint(struct slice *in, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; shift < 64 && in->len > 0; shift += 7) {
        uint8_t byte = in->ptr[0];
        *in = base_slice_skip(*in, 1);
        *out |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

/* The next field: its bytes, or its number. False: it is no message. */
static bool take_field(struct slice *in, uint64_t *field, struct slice *bytes, uint64_t *number)
{
    uint64_t tag = 0;
    uint64_t len = 0;
    *bytes = SLICE_EMPTY;
    *number = 0;
    if (!take_varint(in, &tag))
        return false;
    *field = tag >> 3;
    switch (tag & 7) {
    case WIRE_VARINT:
        return take_varint(in, number);
    case WIRE_8:
        len = 8;
        break;
    case WIRE_4:
        len = 4;
        break;
    case WIRE_BYTES:
        if (!take_varint(in, &len))
            return false;
        break;
    default:
        return false;
    }
    if (len > in->len)
        return false;
    if ((tag & 7) == WIRE_BYTES)
        *bytes = base_slice(in->ptr, len);
    *in = base_slice_skip(*in, len);
    return true;
}

/* A field by its number; empty and 0 when it is not there. False: it is no message. */
static bool find_any(struct slice message, uint64_t wanted, struct slice *out, uint64_t *number)
{
    uint64_t field = 0;
    uint64_t value = 0;
    struct slice bytes;
    *out = SLICE_EMPTY;
    *number = 0;
    while (message.len > 0) {
        if (!take_field(&message, &field, &bytes, &value))
            return false;
        if (field == wanted) {
            *out = bytes;
            *number = value;
        }
    }
    return true;
}

static bool find_field(struct slice message, uint64_t wanted, struct slice *out)
{
    uint64_t number = 0;
    return find_any(message, wanted, out, &number);
}

static bool find_seconds(struct slice message, uint64_t wanted, uint64_t *out)
{
    struct slice time;
    struct slice none;
    return find_field(message, wanted, &time) && find_any(time, TIME_SECONDS, &none, out);
}

static bool keep_token(struct cli_feed *f, struct slice token)
{
    if (token.len == 0 || token.len >= sizeof f->token)
        return false;
    memcpy(f->token, token.ptr, token.len);
    f->token[token.len] = '\0';
    return true;
}

/* A part of a change that goes on in the next message has no token, and only the first has a key.
 * What is garbage is shown to nobody: that it was removed changes nothing. */
static enum cli_exit take_change(struct cli_feed *f, struct slice change, bool *is_bad)
{
    struct slice key;
    struct slice token;
    struct slice none;
    uint64_t type = 0;
    uint64_t committed_s = 0;
    *is_bad = !find_field(change, CHANGE_KEY, &key) || !find_field(change, CHANGE_TOKEN, &token) ||
              !find_seconds(change, CHANGE_COMMIT, &committed_s) ||
              !find_any(change, CHANGE_TYPE, &none, &type) || key.len > LIM_ROW_KEY;
    if (*is_bad)
        return CLI_OK;
    if (type != TYPE_CONTINUATION)
        f->is_garbage = type == TYPE_GARBAGE;
    enum cli_exit e = key.len > 0 && !f->is_garbage ? f->on_key(f->ctx, key) : CLI_OK;
    if (e != CLI_OK || token.len == 0)
        return e;
    *is_bad = !keep_token(f, token);
    f->seen++;
    f->changes += !f->is_garbage;
    f->is_near = f->answer.date_s > 0 && committed_s > (uint64_t)f->answer.date_s;
    f->is_enough = f->is_near || f->seen >= f->changes_max;
    return CLI_OK;
}

static bool take_heartbeat(struct cli_feed *f, struct slice heartbeat)
{
    struct slice token;
    struct slice text;
    f->is_near = true;
    f->is_enough = true;
    return find_field(heartbeat, HEARTBEAT_TOKEN, &token) && find_field(token, TOKEN_TEXT, &text) &&
           keep_token(f, text);
}

static enum cli_exit take_message(struct cli_feed *f, struct slice message)
{
    uint64_t field = 0;
    uint64_t number = 0;
    struct slice record;
    bool is_bad = !take_field(&message, &field, &record, &number);
    enum cli_exit e = CLI_OK;
    if (!is_bad && field == RECORD_CHANGE)
        e = take_change(f, record, &is_bad);
    else if (!is_bad && field == RECORD_HEARTBEAT)
        is_bad = !take_heartbeat(f, record);
    else if (!is_bad && field == RECORD_CLOSE)
        e = cli_fail(CLI_CHECK_FAILED, "the server closed the change stream");
    return is_bad ? cli_fail(CLI_REFUSED, "the server sent something that is no change") : e;
}

/* CLI_BROKEN_PIPE breaks the call off: there is enough. */
static enum cli_exit take_bytes(void *ctx, struct slice bytes)
{
    struct cli_feed *f = ctx;
    size_t at = 0;
    enum cli_exit e = CLI_OK;
    if (base_buf_append(&f->bytes, bytes) != ERR_OK)
        return cli_fail(CLI_REFUSED, "a change is larger than %lu bytes", CLI_FEED_MESSAGE);
    while (e == CLI_OK && !f->is_enough && f->bytes.len - at >= FRAME_HEAD) {
        const uint8_t *head = f->bytes.ptr + at;
        size_t len = base_pairs_get_u32(head + 1);
        if (head[0] != 0 || len > CLI_FEED_MESSAGE)
            return cli_fail(CLI_REFUSED, "the server sent something that is no change");
        if (f->bytes.len - at - FRAME_HEAD < len)
            break;
        e = take_message(f, base_slice(head + FRAME_HEAD, len));
        at += FRAME_HEAD + len;
    }
    base_buf_consume(&f->bytes, at);
    return e == CLI_OK && f->is_enough ? CLI_BROKEN_PIPE : e;
}

/* --- a read -----------------------------------------------------------------------------------
 */

static bool goes_on(void *ctx)
{
    const struct cli_feed *f = ctx;
    return !atomic_load(f->stop);
}

static enum cli_exit judge(const struct cli_answer *answer, const char *table)
{
    if (answer->grpc_status < 0 || answer->grpc_status == GRPC_OK ||
        answer->grpc_status == GRPC_UNAVAILABLE || answer->grpc_status == GRPC_RESOURCE_EXHAUSTED)
        return CLI_UNREACHABLE; /* cut, the server is stopping, or the tenant has read too much */
    return cli_fail(CLI_CHECK_FAILED, "the change stream of the table %s: %s (status %d)", table,
                    answer->grpc_message, answer->grpc_status);
}

static enum cli_exit try_once(struct cli_feed *f, const char *name, const char *table)
{
    struct buf target;
    struct buf body;
    base_buf_init(&target, NAME_BYTES);
    base_buf_init(&body, REQUEST_BYTES);
    base_buf_append_text(&target, METHOD);
    put_request(f, name, &body);
    struct cli_request request = {
        .method = "POST",
        .target = &target,
        .body = base_buf_slice(&body),
        .content_type = "application/grpc",
        .accept = "application/grpc",
        .grpc = true,
        .goes_on = goes_on,
        .on_bytes = take_bytes,
        .ctx = f,
    };
    base_buf_truncate(&f->bytes, 0);
    enum cli_exit e = cli_http_run(f->http, &request, &f->answer);
    if (f->is_enough && (e == CLI_BROKEN_PIPE || e == CLI_OK))
        e = CLI_OK;
    else if (e == CLI_OK)
        e = judge(&f->answer, table);
    base_buf_fini(&f->answer.body);
    base_buf_fini(&body);
    base_buf_fini(&target);
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
