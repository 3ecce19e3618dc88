/* cli/call.c - see call.h. A message has a head of five bytes: a compression flag, its length. */
#include "cli/call.h"

#include <stdio.h>

#include "base/pair_stream.h"
#include "cli/bounds.h"
#include "cli/interrupt.h"
#include "cli/out.h"

#include "base/banned.h"

#define MEDIA        "application/grpc"
#define FRAME_HEAD   5
#define METHOD_BYTES 256

void cli_call_init(struct cli_call *call, size_t message_max)
{
    memset(call, 0, sizeof *call);
    call->message_max = message_max;
    base_buf_init(&call->bytes, message_max + FRAME_HEAD + CLI_READ_BYTES);
}

void cli_call_fini(struct cli_call *call)
{
    base_buf_fini(&call->bytes);
    memset(call, 0, sizeof *call);
}

static enum cli_exit take_frame(struct cli_call *call, size_t *at, bool *is_part)
{
    const uint8_t *head = call->bytes.ptr + *at;
    size_t len = base_pairs_get_u32(head + 1);
    if (head[0] != 0)
        return cli_fail(CLI_REFUSED, "the server sent something that is not %s", call->what);
    if (len > call->message_max)
        return cli_fail(CLI_REFUSED, "the server sent %s of %zu bytes; the limit is %zu",
                        call->what, len, call->message_max);
    *is_part = call->bytes.len - *at - FRAME_HEAD < len;
    if (*is_part)
        return CLI_OK;
    *at += FRAME_HEAD + len;
    return call->on_message(call->message_ctx, base_slice(head + FRAME_HEAD, len));
}

enum cli_exit cli_call_take(struct cli_call *call, struct slice bytes)
{
    size_t at = 0;
    bool is_part = false;
    enum cli_exit e = CLI_OK;
    if (base_buf_append(&call->bytes, bytes) != ERR_OK)
        return cli_fail(CLI_REFUSED, "%s does not fit into memory", call->what);
    while (e == CLI_OK && !is_part && call->bytes.len - at >= FRAME_HEAD)
        e = take_frame(call, &at, &is_part);
    base_buf_consume(&call->bytes, at);
    return e;
}

static enum cli_exit take_bytes(void *ctx, struct slice bytes)
{
    return cli_call_take(ctx, bytes);
}

static bool goes_on(void *ctx)
{
    const struct cli_call *call = ctx;
    return call->goes_on == NULL || call->goes_on(call->ctx);
}

/* Returns gRPC's status for an HTTP status of a proxy or another kind of server. */
static int status_of_http(long status)
{
    switch (status) {
    case 400:
    case 404:
        return CLI_CALL_UNIMPLEMENTED;
    case 401:
        return CLI_CALL_UNAUTHENTICATED;
    case 403:
        return CLI_CALL_DENIED;
    case 429:
    case 502:
    case 503:
    case 504:
        return CLI_CALL_UNAVAILABLE;
    default:
        return CLI_CALL_NONE;
    }
}

static void judge_head(struct cli_answer *answer)
{
    if (answer->grpc_status >= 0 || answer->status == 200)
        return;
    answer->grpc_status = status_of_http(answer->status);
    (void)snprintf(answer->grpc_message, sizeof answer->grpc_message,
                   "it answered %ld, as no service of this kind does", answer->status); /* fits */
}

enum cli_exit cli_call_run(struct cli_call *call, const struct cli_call_request *rq)
{
    struct buf target;
    struct buf body;
    uint8_t head[FRAME_HEAD] = {0};
    INVARIANT(rq->message.len <= CLI_CALL_REQUEST_BYTES);
    base_buf_init(&target, METHOD_BYTES);
    base_buf_init(&body, FRAME_HEAD + CLI_CALL_REQUEST_BYTES);
    base_buf_append_text(&target, rq->method);
    base_pairs_put_u32(head + 1, (uint32_t)rq->message.len);
    base_buf_append(&body, base_slice(head, sizeof head));
    base_buf_append(&body, rq->message);
    struct cli_request request = {
        .method = "POST",
        .target = &target,
        .body = base_buf_slice(&body),
        .content_type = MEDIA,
        .accept = MEDIA,
        .resource = rq->resource,
        .any_status = true,
        .grpc = true,
        .timeout_ms = rq->timeout_ms,
        .goes_on = goes_on,
        .on_bytes = take_bytes,
        .ctx = call,
    };
    base_buf_truncate(&call->bytes, 0);
    enum cli_exit e = cli_http_run(call->http, &request, &call->answer);
    if (e == CLI_OK)
        judge_head(&call->answer);
    if (e == CLI_OK && call->bytes.len > 0 && call->answer.grpc_status <= CLI_CALL_DONE)
        e = CLI_UNREACHABLE;
    base_buf_fini(&call->answer.body);
    base_buf_fini(&body);
    base_buf_fini(&target);
    return e;
}

/* --- one answer ------------------------------------------------------------------------------- */

static enum cli_exit keep_reply(void *ctx, struct slice message)
{
    struct buf *reply = ctx;
    base_buf_truncate(reply, 0);
    base_buf_append(reply, message);
    return reply->error == ERR_OK ? CLI_OK
                                  : cli_fail(CLI_REFUSED, "an answer does not fit into memory");
}

static bool is_undone(const struct cli_answer *answer)
{
    return answer->grpc_status == CLI_CALL_UNAVAILABLE || answer->grpc_status == CLI_CALL_EXHAUSTED;
}

static enum cli_exit insist(struct cli_call *call, const struct cli_call_request *request)
{
    for (unsigned tries = 1;; tries++) {
        enum cli_exit e = cli_call_run(call, request);
        if (e != CLI_OK || !is_undone(&call->answer) || tries == CLI_TRANSFER_TRIES)
            return e;
        if (!cli_sleep_ms(CLI_JOB_POLL_MAX_MS))
            return CLI_INTERRUPTED;
    }
}

enum cli_exit cli_call_ask(struct cli_http *http, const char *method, struct slice message,
                           enum cli_call_status also, struct buf *out_reply)
{
    const struct cli_call_request request = {.method = method, .message = message};
    struct cli_call call;
    cli_call_init(&call, CLI_CALL_REPLY_BYTES);
    base_buf_init(out_reply, CLI_CALL_REPLY_BYTES);
    call.http = http;
    call.what = "an answer";
    call.on_message = keep_reply;
    call.message_ctx = out_reply;
    enum cli_exit e = insist(&call, &request);
    const struct cli_answer *answer = &call.answer;
    if (e == CLI_OK && answer->grpc_status == CLI_CALL_NONE)
        e = cli_fail(CLI_UNREACHABLE, "%s: the answer broke off", method);
    else if (e == CLI_OK && answer->grpc_status != CLI_CALL_DONE &&
             answer->grpc_status != (int)also)
        e = cli_fail(CLI_REFUSED, "%s: %s (status %d)", method, answer->grpc_message,
                     answer->grpc_status);
    if (e != CLI_OK)
        base_buf_fini(out_reply);
    cli_call_fini(&call);
    return e;
}
