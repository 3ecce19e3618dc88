/*
 * The response head is passed to nghttp2 together with the first body bytes or the end, so that a
 * small response is one HEADERS and one DATA frame in one write. Body bytes go from the handler's
 * buffers straight into the buffer that is about to be written (no-copy mode of nghttp2).
 */
#include "gateway/http2_internal.h"

#include <stdio.h>

#include "base/banned.h"

#define FRAME_HEAD_BYTES 9
#define OWN_HEADERS      3 /* :status, date, content-length */

static struct gw_http2_stream *of_exchange(struct gw_exchange *ex)
{
    return H2O_STRUCT_FROM_MEMBER(struct gw_http2_stream, ex, ex);
}

/* Keeps headers that differ from response to response out of the peer's table, where they would
 * displace headers that do not change. */
static uint8_t flags_of(struct slice name)
{
    bool is_fleeting =
        base_slice_is(name, GW_HEADER_RATE_LIMIT) || base_slice_is(name, GW_HEADER_COST);
    return is_fleeting ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE;
}

/* nghttp2 declares the pointers without const but only reads. */
static nghttp2_nv name_value(struct slice name, struct slice value)
{
    return (nghttp2_nv){.name = (uint8_t *)(uintptr_t)name.ptr,
                        .namelen = name.len,
                        .value = (uint8_t *)(uintptr_t)value.ptr,
                        .valuelen = value.len,
                        .flags = flags_of(name)};
}

static int submit_trailers(struct gw_http2_stream *s)
{
    nghttp2_nv nv[GW_TRAILERS];
    for (size_t i = 0; i < s->ex.trailer_count; i++)
        nv[i] = name_value(s->ex.trailers[i].name, s->ex.trailers[i].value);
    return nghttp2_submit_trailer(s->h->session, s->id, nv, s->ex.trailer_count);
}

/* Returns the size of the next DATA frame; send_data fetches the bytes themselves. */
static ssize_t on_body_wanted(nghttp2_session *session, int32_t id, uint8_t *unused, size_t max,
                              uint32_t *flags, nghttp2_data_source *source, void *user)
{
    struct gw_http2_stream *s = source->ptr;
    struct gw_exchange *ex = &s->ex;
    (void)session;
    (void)id;
    (void)unused;
    (void)user;
    size_t n = ex->out_bytes < max ? ex->out_bytes : max;
    if (n == 0 && !ex->ended)
        return NGHTTP2_ERR_DEFERRED;
    *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    if (ex->ended && n == ex->out_bytes) {
        *flags |= NGHTTP2_DATA_FLAG_EOF;
        if (ex->trailer_count > 0) {
            *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
            if (submit_trailers(s) != 0)
                return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
        }
    }
    return (ssize_t)n;
}

int gw_http2_send_data(nghttp2_session *session, nghttp2_frame *frame, const uint8_t *framehd,
                       size_t length, nghttp2_data_source *source, void *user)
{
    struct gw_http2 *h = user;
    struct gw_http2_stream *s = source->ptr;
    uint8_t *out = h->conn->loop->out + h->out_len;
    (void)session;
    (void)frame; /* no padding: no select_padding callback is set */
    if (h->out_len > 0 && h->out_len + FRAME_HEAD_BYTES + length > GW_WRITE_BYTES)
        return NGHTTP2_ERR_WOULDBLOCK;
    memcpy(out, framehd, FRAME_HEAD_BYTES);
    gw_exchange_copy_out(&s->ex, out + FRAME_HEAD_BYTES, length);
    h->out_len += FRAME_HEAD_BYTES + length;
    gw_http2_progress(s, length);
    h->has_drained = h->has_drained || gw_exchange_is_drained(&s->ex);
    return 0;
}

static void submit(struct gw_http2_stream *s)
{
    struct gw_exchange *ex = &s->ex;
    nghttp2_nv nv[OWN_HEADERS + GW_RESPONSE_HEADERS];
    const char status[3] = {(char)('0' + ex->status / 100), (char)('0' + ex->status / 10 % 10),
                            (char)('0' + ex->status % 10)};
    char length[24];
    size_t count = 0;
    nv[count++] = name_value(SLICE_LIT(":status"), base_slice(status, sizeof status));
    nv[count++] = name_value(SLICE_LIT("date"), gw_loop_date(ex->loop));
    if (ex->response_length >= 0 && ex->status != 204 && ex->status != 304) {
        int digits = snprintf(length, sizeof length, "%lld", (long long)ex->response_length);
        nv[count++] = name_value(SLICE_LIT("content-length"), base_slice(length, (size_t)digits));
    }
    for (size_t i = 0; i < ex->response_header_count; i++)
        nv[count++] = name_value(ex->response_headers[i].name, ex->response_headers[i].value);
    bool has_body = ex->out_bytes > 0 || !ex->ended || ex->trailer_count > 0;
    nghttp2_data_provider body = {.source.ptr = s, .read_callback = on_body_wanted};
    s->has_submitted = true;
    int rc = nghttp2_submit_response(s->h->session, s->id, nv, count, has_body ? &body : NULL);
    INVARIANT(rc == 0); /* it fails only for lack of memory */
}

static void on_start(struct gw_exchange *ex)
{
    (void)ex; /* the head is sent with the first bytes */
}

static void on_more(struct gw_exchange *ex)
{
    struct gw_http2_stream *s = of_exchange(ex);
    if (ex->out_bytes == 0 && !ex->ended)
        return;
    if (!s->has_submitted)
        submit(s);
    else
        (void)nghttp2_session_resume_data(s->h->session, s->id); /* not deferred: it will ask */
    gw_conn_defer(s->h->conn);
}

static void on_abort(struct gw_exchange *ex)
{
    struct gw_http2_stream *s = of_exchange(ex);
    int rc =
        nghttp2_submit_rst_stream(s->h->session, NGHTTP2_FLAG_NONE, s->id, NGHTTP2_INTERNAL_ERROR);
    INVARIANT(rc == 0); /* it fails only for lack of memory */
    gw_conn_defer(s->h->conn);
}

static void on_read_more(struct gw_exchange *ex, size_t consumed)
{
    struct gw_http2_stream *s = of_exchange(ex);
    size_t n = consumed < s->unconsumed ? consumed : s->unconsumed;
    s->unconsumed -= n;
    (void)nghttp2_session_consume(s->h->session, s->id, n); /* NOMEM: the window stays closed */
    gw_conn_defer(s->h->conn);
}

static const char *on_peer(struct gw_exchange *ex)
{
    return gw_conn_peer(of_exchange(ex)->h->conn);
}

static void on_act_for(struct gw_exchange *ex, const void *user)
{
    gw_conn_act_for(of_exchange(ex)->h->conn, user);
}

const struct gw_transport GW_HTTP2_TRANSPORT = {.start = on_start,
                                                .more = on_more,
                                                .abort = on_abort,
                                                .read_more = on_read_more,
                                                .peer = on_peer,
                                                .act_for = on_act_for};
