/*
 * cli/service_scan.c - see service.h.
 *
 * A broken stream continues after the last committed row, or after the key up to which the service
 * has scanned. Consecutive tries without progress are counted.
 */
#include "cli/bounds.h"
#include "cli/out.h"
#include "cli/service.h"
#include "cli/transfer_manifest.h"
#include "cli/transfer_scan.h"
#include "cli/wire.h"

#include "base/banned.h"

#define METHOD "/google.bigtable.v2.Bigtable/ReadRows"

/* Fields of google/bigtable/v2/. */
enum { ASK_TABLE = 1, ASK_ROWS = 2, ROWS_RANGE = 2 };
enum { RANGE_START_CLOSED = 1, RANGE_START_OPEN = 2, RANGE_END_OPEN = 3 };

static bool goes_on(void *ctx)
{
    const struct cli_service_scan *s = ctx;
    return !atomic_load(s->stop);
}

static enum cli_exit take_message(void *ctx, struct slice message)
{
    struct cli_service_scan *s = ctx;
    return cli_row_chunks_take(&s->chunks, message);
}

enum cli_exit cli_service_scan_init(struct cli_service_scan *s, const struct cli_service *service,
                                    const atomic_bool *stop)
{
    memset(s, 0, sizeof *s);
    s->service = service;
    s->stop = stop;
    cli_row_chunks_init(&s->chunks);
    cli_call_init(&s->call, CLI_SERVICE_MESSAGE);
    s->call.what = "a message of rows";
    s->call.goes_on = goes_on;
    s->call.on_message = take_message;
    s->call.ctx = s;
    s->call.message_ctx = s;
    enum cli_exit e = cli_service_config(service, false, &s->config);
    return e == CLI_OK ? cli_http_open(&s->config, &s->call.http) : e;
}

void cli_service_scan_fini(struct cli_service_scan *s)
{
    cli_http_close(s->call.http);
    cli_call_fini(&s->call);
    cli_row_chunks_fini(&s->chunks);
    cli_service_config_fini(&s->config);
    memset(s, 0, sizeof *s);
}

/* Appends the request, a name and two keys, which fit. */
static void put_request(const struct cli_service_scan *s, const char *table, struct buf *out)
{
    struct buf range;
    struct buf rows;
    struct slice last = base_buf_slice(&s->chunks.last);
    base_buf_init(&range, CLI_CALL_REQUEST_BYTES);
    base_buf_init(&rows, CLI_CALL_REQUEST_BYTES);
    if (last.len > 0)
        cli_wire_put_bytes(&range, RANGE_START_OPEN, last);
    else if (s->chunks.start.len > 0)
        cli_wire_put_bytes(&range, RANGE_START_CLOSED, s->chunks.start);
    if (s->chunks.end.len > 0)
        cli_wire_put_bytes(&range, RANGE_END_OPEN, s->chunks.end);
    cli_wire_put_bytes(out, ASK_TABLE, base_slice_text(table));
    if (range.len > 0) {
        cli_wire_put_bytes(&rows, ROWS_RANGE, base_buf_slice(&range));
        cli_wire_put_bytes(out, ASK_ROWS, base_buf_slice(&rows));
    }
    INVARIANT(out->error == ERR_OK);
    base_buf_fini(&rows);
    base_buf_fini(&range);
}

static enum cli_exit judge(struct cli_service_scan *s, const char *table)
{
    const struct cli_answer *answer = &s->call.answer;
    bool is_whole = cli_row_chunks_is_whole(&s->chunks);
    if (answer->grpc_status == CLI_CALL_DONE)
        return is_whole ? CLI_OK : CLI_UNREACHABLE; /* inside a row: as a broken connection */
    if (answer->grpc_status == CLI_CALL_UNAUTHENTICATED && !s->is_renewed &&
        cli_service_renew(s->service, &s->config)) {
        s->is_renewed = true;
        return CLI_UNREACHABLE;
    }
    return cli_service_judge(&s->config, answer, table);
}

static enum cli_exit try_once(struct cli_service_scan *s, const char *table)
{
    struct buf message;
    struct buf resource;
    base_buf_init(&message, CLI_CALL_REQUEST_BYTES);
    base_buf_init(&resource, 4 * CLI_SERVICE_NAME);
    put_request(s, table, &message);
    cli_service_resource("table_name", table, &resource);
    const struct cli_call_request request = {
        .method = METHOD,
        .resource = (const char *)resource.ptr,
        .message = base_buf_slice(&message),
        .timeout_ms = CLI_SERVICE_READ_MS,
    };
    cli_row_chunks_begin(&s->chunks);
    enum cli_exit e = cli_call_run(&s->call, &request);
    e = e == CLI_OK ? judge(s, table) : e;
    base_buf_fini(&resource);
    base_buf_fini(&message);
    return e;
}

static bool is_at_end(const struct cli_service_scan *s)
{
    return s->chunks.end.len > 0 &&
           base_slice_compare(base_buf_slice(&s->chunks.last), s->chunks.end) >= 0;
}

static enum cli_exit insist(struct cli_service_scan *s, const char *table)
{
    unsigned fruitless = 0;
    while (!is_at_end(s)) {
        struct slice before = cli_slice_copy(base_buf_slice(&s->chunks.last));
        enum cli_exit e = try_once(s, table);
        bool moved = !base_slice_equal(before, base_buf_slice(&s->chunks.last));
        cli_slice_free(&before);
        if (e != CLI_UNREACHABLE)
            return e;
        s->is_renewed = s->is_renewed && !moved;
        fruitless = moved ? 0 : fruitless + 1;
        if (fruitless >= CLI_TRANSFER_TRIES)
            return cli_fail(e, "%s: %s cannot be read (status %d): %s; it may be possible later",
                            s->config.url, table, s->call.answer.grpc_status,
                            s->call.answer.grpc_message);
        if (!cli_transfer_wait(s->stop, fruitless))
            return CLI_INTERRUPTED;
    }
    return CLI_OK;
}

enum cli_exit cli_service_scan_run(struct cli_service_scan *s, const char *table,
                                   struct slice start, struct slice end, struct slice after)
{
    s->chunks.start = start;
    s->chunks.end = end;
    s->is_renewed = false;
    base_buf_truncate(&s->chunks.last, 0);
    base_buf_append(&s->chunks.last, after);
    return insist(s, table);
}
