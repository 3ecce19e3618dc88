/*
 * From h2o's request to the exchange and back. h2o calls on_request with a complete request. The
 * disposal of its pool is the only sign of the end that h2o always gives (response sent, peer gone,
 * connection closed) and becomes `gone`.
 *
 * A request whose body did not arrive with its head is started before h2o has it, from the head
 * alone, so that a client that may not send the body is refused before it sends it. The intake
 * writes such an early response and closes the connection after it.
 *
 * h2o accepts one piece of output at a time and requests the next by calling proceed; the bytes
 * stay in the exchange until then. Two calls of h2o would free the request while the caller still
 * uses it (a last piece without bytes, and an error without bytes): they are made from a deferred
 * run.
 *
 *   idle -> (more) -> in flight -> proceed -> idle ... -> final, nothing may be sent any more
 */
#include <h2o.h>

#include "base/alloc.h"
#include "gateway/http1_head.h"
#include "gateway/http1_internal.h"

#include "base/banned.h"

#define ONE_YEAR_MS      (365ULL * 24 * 3600 * 1000)
#define PIECES_PER_WRITE 8

struct gw_http1_request {
    struct gw_exchange ex;
    h2o_generator_t generator;
    h2o_req_t *req; /* NULL: h2o does not have it yet */
    struct gw_http1 *h;
    uint8_t *head; /* of a request that was started before h2o had it */
    bool is_begun; /* h2o has the response head */
    bool is_final; /* h2o has the last piece */
    bool is_aborted;
    size_t in_flight; /* bytes that h2o is sending */
    struct gw_header headers[LIM_HEADERS];
};

static struct gw_http1_request *of_exchange(struct gw_exchange *ex)
{
    return H2O_STRUCT_FROM_MEMBER(struct gw_http1_request, ex, ex);
}

/* --- response ----------------------------------------------------------------------------------
 */

const char *gw_http1_reason(int status)
{
    static const struct {
        int status;
        const char *phrase;
    } table[] = {
        {200, "OK"},
        {201, "Created"},
        {202, "Accepted"},
        {204, "No Content"},
        {304, "Not Modified"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {409, "Conflict"},
        {410, "Gone"},
        {412, "Precondition Failed"},
        {413, "Content Too Large"},
        {414, "URI Too Long"},
        {415, "Unsupported Media Type"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {503, "Service Unavailable"},
        {507, "Insufficient Storage"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (table[i].status == status)
            return table[i].phrase;
    return "Unknown";
}

static void begin(struct gw_http1_request *r)
{
    struct gw_exchange *ex = &r->ex;
    h2o_req_t *req = r->req;
    r->is_begun = true;
    req->res.status = ex->status;
    req->res.reason = gw_http1_reason(ex->status);
    bool has_length = ex->response_length >= 0 && ex->status != 204 && ex->status != 304;
    req->res.content_length = has_length ? (size_t)ex->response_length : SIZE_MAX;
    for (size_t i = 0; i < ex->response_header_count; i++) {
        const struct gw_header *header = &ex->response_headers[i];
        h2o_add_header_by_str(&req->pool, &req->res.headers, (const char *)header->name.ptr,
                              header->name.len, 1, NULL, (const char *)header->value.ptr,
                              header->value.len);
    }
    /* Without a length, only the end of the connection marks the end of a body in HTTP/1.0. */
    bool ends_by_close = req->version < 0x101 && !has_length && !ex->body_is_silent;
    if (r->h->conn->loop->is_draining || ends_by_close)
        req->http1_is_persistent = 0;
    h2o_start_response(req, &r->generator);
}

/* Hands the next pieces to h2o, unless it still has some. */
static void push(struct gw_http1_request *r)
{
    struct gw_exchange *ex = &r->ex;
    h2o_iovec_t pieces[PIECES_PER_WRITE];
    size_t count = 0;
    size_t bytes = 0;
    if (r->req == NULL) {
        if (ex->ended)
            gw_conn_defer(r->h->conn); /* the intake answers */
        return;
    }
    if (r->in_flight > 0 || r->is_final || r->is_aborted || (ex->out_bytes == 0 && !ex->ended))
        return;
    for (struct gw_out_chunk *chunk = ex->out_head;
         chunk != NULL && count < PIECES_PER_WRITE && bytes < GW_WRITE_BYTES; chunk = chunk->next) {
        size_t left = chunk->bytes.len - chunk->sent;
        size_t room = GW_WRITE_BYTES - bytes;
        size_t n = left < room ? left : room;
        pieces[count++] = h2o_iovec_init((const char *)chunk->bytes.ptr + chunk->sent, n);
        bytes += n;
    }
    bool is_last = ex->ended && bytes == ex->out_bytes;
    if (r->is_begun && bytes == 0) {
        gw_conn_defer(r->h->conn); /* see gw_http1_request_deferred */
        return;
    }
    if (!r->is_begun)
        begin(r);
    r->in_flight = bytes;
    r->is_final = is_last;
    h2o_send(r->req, pieces, count, is_last ? H2O_SEND_STATE_FINAL : H2O_SEND_STATE_IN_PROGRESS);
}

static void on_proceed(h2o_generator_t *generator, h2o_req_t *req)
{
    struct gw_http1_request *r =
        H2O_STRUCT_FROM_MEMBER(struct gw_http1_request, generator, generator);
    size_t sent = r->in_flight;
    (void)req;
    r->in_flight = 0;
    gw_exchange_took(&r->ex, sent);
    if (!r->is_aborted && gw_exchange_is_drained(&r->ex))
        gw_exchange_tell_drained(&r->ex);
    if (r->is_aborted)
        gw_conn_defer(r->h->conn); /* now nothing is in flight */
    else
        push(r);
}

static void on_start(struct gw_exchange *ex)
{
    (void)ex; /* the head is sent with the first bytes */
}

static void on_more(struct gw_exchange *ex)
{
    push(of_exchange(ex));
}

static void on_abort(struct gw_exchange *ex)
{
    struct gw_http1_request *r = of_exchange(ex);
    r->is_aborted = true;
    /* Cut below TLS: without close_notify even a body that ends by close is recognized as
     * incomplete. */
    gw_conn_shut(r->h->conn);
    gw_conn_defer(r->h->conn);
}

static void on_read_more(struct gw_exchange *ex, size_t consumed)
{
    (void)ex; /* the body was delivered in one piece */
    (void)consumed;
}

static const char *on_peer(struct gw_exchange *ex)
{
    return gw_conn_peer(of_exchange(ex)->h->conn);
}

static void on_act_for(struct gw_exchange *ex, const void *user)
{
    gw_conn_act_for(of_exchange(ex)->h->conn, user);
}

static const struct gw_transport HTTP1_TRANSPORT = {.start = on_start,
                                                    .more = on_more,
                                                    .abort = on_abort,
                                                    .read_more = on_read_more,
                                                    .peer = on_peer,
                                                    .act_for = on_act_for};

void gw_http1_request_deferred(struct gw_http1 *h)
{
    struct gw_http1_request *r = h->request;
    if (r == NULL || r->req == NULL || r->in_flight > 0 || r->is_final)
        return;
    if (r->is_aborted) {
        if (!r->is_begun) {
            r->ex.status = r->ex.started ? r->ex.status : 500;
            begin(r);
        }
        r->is_final = true;
        r->req->http1_is_persistent = 0;
        h2o_send(r->req, NULL, 0, H2O_SEND_STATE_ERROR); /* fails, since the socket is shut */
    } else if (r->ex.ended && r->ex.out_bytes == 0 && r->is_begun) {
        r->is_final = true;
        h2o_send(r->req, NULL, 0, H2O_SEND_STATE_FINAL);
    }
}

uint64_t gw_http1_request_since_ns(const struct gw_http1 *h)
{
    return h->request == NULL ? h->begun_ns : h->request->ex.received_ns;
}

void gw_http1_request_kill(struct gw_http1 *h)
{
    if (h->request != NULL)
        on_abort(&h->request->ex);
}

void gw_http1_request_tick(struct gw_http1 *h)
{
    const struct gw_http1_request *r = h->request;
    if (r != NULL && r->req != NULL && !r->is_begun && !r->is_aborted && gw_conn_peer_left(h->conn))
        gw_http1_request_kill(h);
}

/* --- request -----------------------------------------------------------------------------------
 */

void gw_http1_request_end(struct gw_http1 *h)
{
    struct gw_http1_request *r = h->request;
    if (r == NULL)
        return;
    h->request = NULL;
    h->early = NULL;
    h->conn->loop->open_exchanges--;
    gw_conn_mark(h->conn, GW_HELD_IDLE);
    if (r->is_final) /* h2o has all bytes, and does not call proceed again */
        gw_exchange_took(&r->ex, r->in_flight);
    gw_exchange_fini(&r->ex);
    base_free(r->head);
    base_free(r);
}

static void on_dispose(void *memory)
{
    struct gw_http1 **h = memory;
    gw_http1_request_end(*h);
}

static struct gw_http1_request *request_new(struct gw_http1 *h)
{
    INVARIANT(h->request == NULL);
    struct gw_http1_request *r = base_try_alloc(sizeof *r);
    if (r == NULL)
        base_panic(__FILE__, __LINE__, "out of memory");
    memset(r, 0, offsetof(struct gw_http1_request, headers));
    r->generator = (h2o_generator_t){.proceed = on_proceed};
    r->h = h;
    gw_exchange_init(&r->ex, h->conn->loop, &HTTP1_TRANSPORT);
    r->ex.http_major = 1;
    r->ex.received_ns = h->begun_ns;
    r->ex.headers = r->headers;
    h->request = r;
    h->conn->loop->open_exchanges++;
    gw_conn_mark(h->conn, GW_HELD_BUSY);
    return r;
}

static void split_query(struct gw_exchange *ex)
{
    const uint8_t *mark = memchr(ex->path.ptr, '?', ex->path.len);
    if (mark == NULL)
        return;
    size_t path_len = (size_t)(mark - ex->path.ptr);
    ex->query = base_slice_skip(ex->path, path_len + 1);
    ex->path.len = path_len;
}

static void dispatch(struct gw_http1_request *r)
{
    struct gw_loop *loop = r->ex.loop;
    loop->all->options.on_request(&r->ex, loop->thread_state);
    INVARIANT(r->ex.events != NULL);
}

void gw_http1_request_begin(struct gw_http1 *h, struct slice head)
{
    struct gw_http1_request *r = request_new(h);
    struct gw_http1_head parts;
    r->head = base_try_alloc(head.len);
    if (r->head == NULL)
        base_panic(__FILE__, __LINE__, "out of memory");
    memcpy(r->head, head.ptr, head.len);
    gw_http1_head_split(r->head, head.len, &parts, r->headers);
    r->ex.method = parts.method;
    r->ex.path = parts.target;
    r->ex.authority = parts.authority;
    r->ex.header_count = parts.header_count;
    r->ex.content_length = parts.content_length;
    r->ex.has_body = true;
    split_query(&r->ex);
    h->early = &r->ex;
    dispatch(r);
}

static struct slice of_iovec(h2o_iovec_t v)
{
    return base_slice(v.base, v.len);
}

static void fill_exchange(struct gw_http1_request *r, h2o_req_t *req)
{
    struct gw_exchange *ex = &r->ex;
    ex->method = of_iovec(req->input.method);
    ex->authority = of_iovec(req->input.authority);
    ex->path = of_iovec(req->input.path);
    split_query(ex);
    INVARIANT(req->headers.size <= LIM_HEADERS); /* the gate counted */
    for (size_t i = 0; i < req->headers.size; i++) {
        const h2o_header_t *header = &req->headers.entries[i];
        r->headers[i] = (struct gw_header){of_iovec(*header->name), of_iovec(header->value)};
    }
    ex->header_count = req->headers.size;
    ex->has_body = req->entity.base != NULL && req->entity.len > 0;
    ex->content_length = ex->has_body ? (int64_t)req->entity.len : 0;
}

static int on_request(h2o_handler_t *self, h2o_req_t *req)
{
    struct gw_conn *c = req->conn->callbacks->get_socket(req->conn)->on_close.data;
    struct gw_http1 *h = c->protocol;
    struct gw_http1 **sign = h2o_mem_alloc_shared(&req->pool, sizeof *sign, on_dispose);
    bool is_begun = h->request != NULL;
    struct gw_http1_request *r = is_begun ? h->request : request_new(h);
    (void)self;
    *sign = h;
    r->req = req;
    if (r->is_aborted)
        gw_conn_defer(c); /* the deferred run may have happened before h2o had the request */
    h->early = NULL;
    if (!is_begun)
        fill_exchange(r, req);
    r->ex.received_bytes = req->entity.len;
    if (!is_begun)
        dispatch(r);
    if (r->ex.has_body && r->ex.events->body != NULL && !r->ex.ended && !r->is_aborted)
        r->ex.events->body(&r->ex, r->ex.user, of_iovec(req->entity), true);
    else if (is_begun)
        push(r); /* output from before the body arrived */
    return 0;
}

void gw_http1_configure(h2o_globalconf_t *config)
{
    config->server_name = h2o_iovec_init(NULL, 0); /* no banner */
    config->http1.upgrade_to_http2 = 0;
    /* Timers on the wall clock: so long that our own decide, even after the clock was set. */
    config->http1.req_timeout = ONE_YEAR_MS;
    config->max_request_entity_size = LIM_BODY_BYTES + 64 * KIB; /* the gate is stricter */
    h2o_hostconf_t *host =
        h2o_config_register_host(config, h2o_iovec_init(H2O_STRLIT("default")), 65535);
    h2o_pathconf_t *root = h2o_config_register_path(host, "/", 0);
    h2o_create_handler(root, sizeof(h2o_handler_t))->on_req = on_request;
    h2o_create_handler(&host->fallback_path, sizeof(h2o_handler_t))->on_req = on_request;
}
