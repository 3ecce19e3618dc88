/*
 * Response bytes are a list of buffers taken over from the handler; the transport reads the front
 * (peek) and reports how many bytes it has accepted (took). Only header values are copied here.
 *
 * Invariants: 1. out_bytes is the sum of bytes.len - sent over the list.
 *             2. A listener that saw is_full gets drained once the queue fell below half.
 *             3. After ended nothing is queued.
 */
#include "gateway/exchange.h"

#include "base/alloc.h"

#include "base/banned.h"

struct slice gw_exchange_header(const struct gw_exchange *ex, const char *name, size_t *out_count)
{
    struct slice wanted = base_slice_text(name);
    struct slice first = SLICE_EMPTY;
    size_t count = 0;
    for (size_t i = 0; i < ex->header_count; i++) {
        if (!base_slice_equal(ex->headers[i].name, wanted))
            continue;
        if (count++ == 0)
            first = ex->headers[i].value;
        if (out_count == NULL)
            break;
    }
    if (out_count != NULL)
        *out_count = count;
    return first;
}

void gw_exchange_peer(struct gw_exchange *ex, char out[GW_PEER_TEXT])
{
    const char *text = ex->transport->peer == NULL ? "" : ex->transport->peer(ex);
    size_t len = strnlen(text, GW_PEER_TEXT - 1);
    memcpy(out, text, len);
    out[len] = '\0';
}

void gw_exchange_listen(struct gw_exchange *ex, const struct gw_events *events, void *user)
{
    INVARIANT(events->gone != NULL);
    ex->events = events;
    ex->user = user;
}

void gw_exchange_consumed(struct gw_exchange *ex, size_t n)
{
    if (n > 0)
        ex->transport->read_more(ex, n);
}

void gw_exchange_charge(struct gw_exchange *ex, struct base_memory_share *share)
{
    if (ex->charged > 0) {
        base_memory_take_anyway(share, ex->charged);
        base_memory_give(ex->memory, ex->charged);
    }
    ex->memory = share;
    if (ex->transport->act_for != NULL)
        ex->transport->act_for(ex, share);
}

/* Replaces control characters: a line end in a value would start another header. */
static struct slice clean(uint8_t *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (text[i] < 0x20 || text[i] == 0x7f)
            text[i] = ' ';
    return base_slice(text, len);
}

static struct slice keep_text(struct gw_exchange *ex, struct slice text)
{
    INVARIANT(text.len <= sizeof ex->response_header_bytes - ex->response_header_used);
    uint8_t *copy = (uint8_t *)ex->response_header_bytes + ex->response_header_used;
    if (text.len > 0)
        memcpy(copy, text.ptr, text.len);
    ex->response_header_used += text.len;
    return clean(copy, text.len);
}

static struct slice keep_long(struct gw_exchange *ex, struct buf *value)
{
    INVARIANT(ex->long_value.ptr == NULL);
    base_buf_take(&ex->long_value, value);
    return clean(ex->long_value.ptr, ex->long_value.len);
}

static void put_header(struct gw_exchange *ex, const char *name, struct slice kept)
{
    INVARIANT(!ex->started && ex->response_header_count < GW_RESPONSE_HEADERS);
    ex->response_headers[ex->response_header_count++] =
        (struct gw_header){keep_text(ex, base_slice_text(name)), kept};
}

static void put_trailer(struct gw_exchange *ex, const char *name, struct slice kept)
{
    INVARIANT(!ex->ended && ex->trailer_count < GW_TRAILERS);
    ex->trailers[ex->trailer_count++] =
        (struct gw_header){keep_text(ex, base_slice_text(name)), kept};
}

void gw_exchange_add_header(struct gw_exchange *ex, const char *name, struct slice value)
{
    put_header(ex, name, keep_text(ex, value));
}

void gw_exchange_add_trailer(struct gw_exchange *ex, const char *name, struct slice value)
{
    put_trailer(ex, name, keep_text(ex, value));
}

void gw_exchange_add_header_take(struct gw_exchange *ex, const char *name, struct buf *value)
{
    put_header(ex, name, keep_long(ex, value));
}

void gw_exchange_add_trailer_take(struct gw_exchange *ex, const char *name, struct buf *value)
{
    put_trailer(ex, name, keep_long(ex, value));
}

void gw_exchange_start(struct gw_exchange *ex, int status, int64_t length)
{
    INVARIANT(!ex->started && status >= 200 && status <= 599);
    ex->started = true;
    ex->status = status;
    ex->response_length = length;
    ex->body_is_silent = status == 204 || status == 304 || base_slice_is(ex->method, "HEAD");
    ex->transport->start(ex);
}

/* Counts bytes for the response; returns whether they will really be sent. */
static bool admit(struct gw_exchange *ex, size_t len, bool end)
{
    INVARIANT(ex->started && !ex->ended);
    ex->ended = end;
    ex->queued_bytes += len;
    /* With one byte more or less the next response on the connection would be misread. */
    INVARIANT(ex->response_length < 0 || ex->body_is_silent ||
              (end ? ex->queued_bytes == (uint64_t)ex->response_length
                   : ex->queued_bytes <= (uint64_t)ex->response_length));
    return len > 0 && !ex->body_is_silent;
}

/* Appends a chunk of that many bytes to the queue; the caller fills it. */
static struct gw_out_chunk *add_chunk(struct gw_exchange *ex, size_t len)
{
    struct gw_out_chunk *chunk = ex->out_head == NULL ? &ex->first_chunk : base_new(sizeof *chunk);
    *chunk = (struct gw_out_chunk){0};
    *ex->out_tail = chunk;
    ex->out_tail = &chunk->next;
    ex->out_bytes += len;
    return chunk;
}

void gw_exchange_send_take(struct gw_exchange *ex, struct buf *b, bool end)
{
    if (admit(ex, b->len, end)) {
        struct gw_out_chunk *chunk = add_chunk(ex, b->len);
        base_buf_take(&chunk->bytes, b);
    } else {
        base_buf_clear(b);
    }
    ex->transport->more(ex);
}

void gw_exchange_send_static(struct gw_exchange *ex, struct slice bytes, bool end)
{
    if (admit(ex, bytes.len, end)) {
        struct gw_out_chunk *chunk = add_chunk(ex, bytes.len);
        chunk->is_borrowed = true;
        chunk->bytes.ptr = (uint8_t *)(uintptr_t)bytes.ptr; /* only read */
        chunk->bytes.len = bytes.len;
    }
    ex->transport->more(ex);
}

bool gw_exchange_is_full(struct gw_exchange *ex)
{
    bool is_enough = ex->out_bytes > 0 && base_memory_is_scarce(ex->memory);
    if (ex->out_bytes < LIM_OUT_HIGH_BYTES && !is_enough)
        return false;
    ex->was_full = true;
    return true;
}

void gw_exchange_abort(struct gw_exchange *ex)
{
    ex->transport->abort(ex);
}

void gw_exchange_init(struct gw_exchange *ex, struct gw_loop *loop,
                      const struct gw_transport *transport)
{
    memset(ex, 0, offsetof(struct gw_exchange, response_headers));
    ex->loop = loop;
    ex->transport = transport;
    ex->content_length = -1;
    ex->out_tail = &ex->out_head;
}

struct slice gw_exchange_peek(struct gw_exchange *ex, size_t max)
{
    const struct gw_out_chunk *chunk = ex->out_head;
    if (chunk == NULL)
        return SLICE_EMPTY;
    size_t left = chunk->bytes.len - chunk->sent;
    return base_slice(chunk->bytes.ptr + chunk->sent, left < max ? left : max);
}

static void drop_chunk(struct gw_exchange *ex)
{
    struct gw_out_chunk *chunk = ex->out_head;
    ex->out_head = chunk->next;
    if (ex->out_head == NULL)
        ex->out_tail = &ex->out_head;
    if (!chunk->is_borrowed)
        base_buf_fini(&chunk->bytes);
    if (chunk != &ex->first_chunk)
        base_free(chunk);
}

void gw_exchange_took(struct gw_exchange *ex, size_t n)
{
    INVARIANT(n <= ex->out_bytes);
    ex->out_bytes -= n;
    while (n > 0) {
        struct gw_out_chunk *chunk = ex->out_head;
        size_t left = chunk->bytes.len - chunk->sent;
        if (n < left) {
            chunk->sent += n;
            return;
        }
        n -= left;
        drop_chunk(ex);
    }
}

void gw_exchange_copy_out(struct gw_exchange *ex, uint8_t *out, size_t n)
{
    while (n > 0) {
        struct slice bytes = gw_exchange_peek(ex, n);
        INVARIANT(bytes.len > 0);
        memcpy(out, bytes.ptr, bytes.len);
        gw_exchange_took(ex, bytes.len);
        out += bytes.len;
        n -= bytes.len;
    }
}

bool gw_exchange_is_drained(const struct gw_exchange *ex)
{
    return ex->was_full && ex->out_bytes < LIM_OUT_HIGH_BYTES / 2;
}

void gw_exchange_tell_drained(struct gw_exchange *ex)
{
    ex->was_full = false;
    if (ex->events != NULL && ex->events->drained != NULL && !ex->ended)
        ex->events->drained(ex, ex->user);
}

void gw_exchange_fini(struct gw_exchange *ex)
{
    const struct gw_events *events = ex->events;
    ex->events = NULL;
    if (events != NULL)
        events->gone(ex, ex->user);
    while (ex->out_head != NULL)
        drop_chunk(ex);
    ex->out_bytes = 0;
    if (ex->charged > 0)
        base_memory_give(ex->memory, ex->charged);
    ex->charged = 0;
    base_buf_fini(&ex->long_value);
}
