#define _GNU_SOURCE
#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "tests/support/edge.h"

#include "base/banned.h"

int edge_dial(const struct edge *e)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(e->port)};
    struct timeval patience = {.tv_sec = process_await_ms() / 1000};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (e->source != NULL) {
        struct sockaddr_in from = {.sin_family = AF_INET};
        ck_assert_int_eq(inet_pton(AF_INET, e->source, &from.sin_addr), 1);
        ck_assert_msg(bind(fd, (struct sockaddr *)&from, sizeof from) == 0, "bind: %m");
    }
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience); /* no hangs */
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) != 0) {
        (void)close(fd); /* never used */
        return -1;
    }
    return fd;
}

static bool connect_with(struct edge_client *c, const struct edge *e, const char *alpn,
                         int tls_version, SSL_SESSION *session, struct slice first)
{
    memset(c, 0, sizeof *c);
    base_buf_init(&c->in, EDGE_ANSWER_MAX);
    c->fd = edge_dial(e);
    ck_assert_msg(c->fd >= 0, "connect: %m");
    ck_assert_int_eq(write(c->fd, first.ptr, first.len), (ssize_t)first.len);
    int on = 1;
    (void)setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); /* only for speed */
    c->context = SSL_CTX_new(TLS_client_method());
    (void)SSL_CTX_clear_mode(c->context, SSL_MODE_AUTO_RETRY); /* tickets are no answer */
    if (tls_version != 0) {
        ck_assert_int_eq(SSL_CTX_set_max_proto_version(c->context, tls_version), 1);
        ck_assert_int_eq(SSL_CTX_set_cipher_list(c->context, "ALL:@SECLEVEL=0"), 1);
    }
    c->ssl = SSL_new(c->context);
    if (alpn != NULL) {
        unsigned char list[32];
        list[0] = (unsigned char)strlen(alpn);
        memcpy(list + 1, alpn, list[0]);
        ck_assert_int_eq(SSL_set_alpn_protos(c->ssl, list, list[0] + 1U), 0);
    }
    if (session != NULL)
        ck_assert_int_eq(SSL_set_session(c->ssl, session), 1);
    SSL_set_fd(c->ssl, c->fd);
    ERR_clear_error();
    return SSL_connect(c->ssl) == 1;
}

bool edge_connect(struct edge_client *c, const struct edge *e, const char *alpn)
{
    return connect_with(c, e, alpn, 0, NULL, SLICE_EMPTY);
}

bool edge_connect_old(struct edge_client *c, const struct edge *e, int tls_version)
{
    return connect_with(c, e, "http/1.1", tls_version, NULL, SLICE_EMPTY);
}

bool edge_connect_again(struct edge_client *c, const struct edge *e, int tls_version,
                        SSL_SESSION *session)
{
    return connect_with(c, e, "http/1.1", tls_version, session, SLICE_EMPTY);
}

bool edge_connect_behind(struct edge_client *c, const struct edge *e, struct slice first)
{
    return connect_with(c, e, "http/1.1", 0, NULL, first);
}

void edge_disconnect(struct edge_client *c)
{
    SSL_free(c->ssl);
    SSL_CTX_free(c->context);
    (void)close(c->fd); /* errors do not matter */
    base_buf_fini(&c->in);
}

bool edge_send(struct edge_client *c, struct slice bytes)
{
    ERR_clear_error();
    return bytes.len == 0 || SSL_write(c->ssl, bytes.ptr, (int)bytes.len) == (int)bytes.len;
}

bool edge_receive(struct edge_client *c, int timeout_ms)
{
    int n = 0;
    ck_assert_int_eq(base_buf_reserve(&c->in, 16 * KIB), ERR_OK);
    do {
        struct pollfd p = {.fd = c->fd, .events = POLLIN};
        if (c->closed || (SSL_pending(c->ssl) == 0 && poll(&p, 1, timeout_ms) <= 0))
            return false;
        ERR_clear_error();
        n = SSL_read(c->ssl, base_buf_end(&c->in), 16 * KIB);
    } while (n < 0 && SSL_get_error(c->ssl, n) == SSL_ERROR_WANT_READ);
    if (n <= 0) {
        c->closed = true;
        return false;
    }
    c->in.len += (size_t)n;
    return true;
}

bool edge_await_some(struct edge_client *c, const char *what)
{
    bool came = edge_receive(c, process_await_ms());
    ck_assert_msg(came || c->closed, "waited in vain for %s", what);
    return came;
}

void edge_await_close(struct edge_client *c)
{
    while (edge_await_some(c, "a close"))
        continue;
}

static const uint8_t *find(struct slice in, const char *text)
{
    return in.len == 0 ? NULL : memmem(in.ptr, in.len, text, strlen(text));
}

static uint64_t length_of(struct slice head)
{
    uint64_t length = 0;
    const char *name = "Content-Length: ";
    const uint8_t *at = find(head, name);
    if (at == NULL)
        return 0;
    at += strlen(name);
    const uint8_t *end = memchr(at, '\r', (size_t)(head.ptr + head.len - at));
    ck_assert_int_eq(base_parse_u64(base_slice(at, (size_t)(end - at)), &length), ERR_OK);
    return length;
}

int edge_response(struct edge_client *c, struct buf *body)
{
    const uint8_t *end;
    while ((end = find(base_buf_slice(&c->in), "\r\n\r\n")) == NULL)
        if (!edge_await_some(c, "the head of a response"))
            return 0;
    size_t head = (size_t)(end - c->in.ptr) + 4;
    size_t whole = head + (size_t)length_of(base_slice(c->in.ptr, head));
    while (c->in.len < whole)
        if (!edge_await_some(c, "the body of a response"))
            return 0;
    ck_assert(base_slice_starts_with(base_buf_slice(&c->in), SLICE_LIT("HTTP/1.1 ")));
    const uint8_t *digit = c->in.ptr + strlen("HTTP/1.1 ");
    int status = (digit[0] - '0') * 100 + (digit[1] - '0') * 10 + (digit[2] - '0');
    if (body != NULL)
        ck_assert_int_eq(base_buf_append(body, base_slice(c->in.ptr + head, whole - head)), ERR_OK);
    base_buf_consume(&c->in, whole);
    return status;
}

int edge_ask(const struct edge *e, struct slice request)
{
    struct edge_client c;
    ck_assert(edge_connect(&c, e, "http/1.1"));
    (void)edge_send(&c, request); /* a refusal may arrive before all is sent */
    int status = edge_response(&c, NULL);
    edge_disconnect(&c);
    return status;
}
