/*
 * tests/support/raw_tls.c - a TLS connection that sends exactly the given bytes.
 */
#define _GNU_SOURCE
#include "tests/support/raw_tls.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"

#include "base/banned.h"

#define RAW_IN_MAX (64 * 1024 * 1024)

/* Connects. source: NULL, or the source address. */
static int connect_to(uint16_t port, const char *source)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(fd, 0);
    struct sockaddr_in from = {.sin_family = AF_INET};
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    if (source != NULL) {
        ck_assert_int_eq(inet_pton(AF_INET, source, &from.sin_addr), 1);
        ck_assert_int_eq(bind(fd, (const struct sockaddr *)&from, sizeof(from)), 0);
    }
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ck_assert_msg(connect(fd, (const struct sockaddr *)&to, sizeof(to)) == 0, "connect: %s",
                  strerror(errno));
    return fd;
}

void raw_open_from(struct raw_tls *r, const struct server *s, const char *alpn, const char *source)
{
    memset(r, 0, sizeof(*r));
    (void)signal(SIGPIPE, SIG_IGN); /* a test's own process: writing to a closed peer is normal */
    base_buf_init(&r->in, RAW_IN_MAX);
    r->context = SSL_CTX_new(TLS_client_method());
    ck_assert_ptr_nonnull(r->context);
    ck_assert_int_eq(SSL_CTX_load_verify_locations(r->context, s->ca, NULL), 1);
    SSL_CTX_set_verify(r->context, SSL_VERIFY_PEER, NULL);
    (void)SSL_CTX_clear_mode(r->context, SSL_MODE_AUTO_RETRY); /* tickets are no answer */
    r->fd = connect_to(s->port, source);
    r->ssl = SSL_new(r->context);
    ck_assert_ptr_nonnull(r->ssl);
    if (alpn != NULL) {
        unsigned char list[32];
        size_t len = strlen(alpn);
        ck_assert(len < sizeof(list));
        list[0] = (unsigned char)len;
        memcpy(list + 1, alpn, len);
        ck_assert_int_eq(SSL_set_alpn_protos(r->ssl, list, (unsigned)len + 1), 0);
    }
    ck_assert_int_eq(SSL_set_fd(r->ssl, r->fd), 1);
    ck_assert_msg(SSL_connect(r->ssl) == 1, "TLS handshake failed");
}

void raw_open(struct raw_tls *r, const struct server *s, const char *alpn)
{
    raw_open_from(r, s, alpn, NULL);
}

void raw_open_plain(struct raw_tls *r, const struct server *s)
{
    memset(r, 0, sizeof(*r));
    (void)signal(SIGPIPE, SIG_IGN);
    base_buf_init(&r->in, RAW_IN_MAX);
    r->fd = connect_to(s->plain_port, NULL);
}

void raw_close(struct raw_tls *r)
{
    SSL_free(r->ssl);
    SSL_CTX_free(r->context);
    if (r->fd >= 0)
        (void)close(r->fd);
    base_buf_fini(&r->in);
}

static ssize_t write_some(struct raw_tls *r, struct slice bytes)
{
    int part = bytes.len > 16384 ? 16384 : (int)bytes.len;
    return r->ssl == NULL ? write(r->fd, bytes.ptr, (size_t)part)
                          : SSL_write(r->ssl, bytes.ptr, part);
}

static ssize_t read_some(struct raw_tls *r, uint8_t *to, int max)
{
    ERR_clear_error();
    return r->ssl == NULL ? read(r->fd, to, (size_t)max) : SSL_read(r->ssl, to, max);
}

bool raw_send(struct raw_tls *r, struct slice bytes)
{
    while (bytes.len > 0) {
        ssize_t n = write_some(r, bytes);
        if (n <= 0)
            return false; /* bytes received before the close remain readable */
        bytes = base_slice_skip(bytes, (size_t)n);
    }
    return true;
}

bool raw_read_some(struct raw_tls *r, int timeout_ms)
{
    ssize_t n;
    if (r->closed)
        return false;
    ck_assert_int_eq(base_buf_reserve(&r->in, 16384), ERR_OK);
    do {
        struct pollfd p = {r->fd, POLLIN, 0};
        bool is_there = r->ssl != NULL && SSL_pending(r->ssl) > 0;
        if (!is_there && poll(&p, 1, timeout_ms) <= 0)
            return false;
        n = read_some(r, base_buf_end(&r->in), 16384);
    } while (n < 0 && r->ssl != NULL && SSL_get_error(r->ssl, (int)n) == SSL_ERROR_WANT_READ);
    if (n > 0) {
        r->in.len += (size_t)n;
        return true;
    }
    r->closed = true;
    return false;
}

bool raw_await_some(struct raw_tls *r, const char *what)
{
    bool came = raw_read_some(r, process_await_ms());
    ck_assert_msg(came || r->closed, "waited in vain for %s", what);
    return came;
}

struct unread {
    int fd;
    int bytes;
};

static bool is_unread(void *arg)
{
    const struct unread *u = arg;
    int unread = 0;
    ck_assert_int_eq(ioctl(u->fd, FIONREAD, &unread), 0);
    return unread >= u->bytes;
}

void raw_await_unread(const struct raw_tls *r, int bytes)
{
    process_await(is_unread, &(struct unread){r->fd, bytes}, "bytes that are not read");
}

bool raw_read_to_close(struct raw_tls *r, int timeout_ms)
{
    while (raw_read_some(r, timeout_ms)) {
    }
    return r->closed;
}

/* Returns the value of Content-Length in a head, -1 when there is none. */
static int64_t content_length(const char *head, size_t len)
{
    static const char name[] = "\ncontent-length:";
    for (size_t i = 0; i + sizeof(name) < len; i++) {
        if (strncasecmp(head + i, name, sizeof(name) - 1) != 0)
            continue;
        size_t at = i + sizeof(name) - 1;
        while (at < len && head[at] == ' ')
            at++;
        size_t digits = strspn(head + at, "0123456789");
        uint64_t value = 0;
        if (base_parse_u64(base_slice(head + at, digits), &value) == ERR_OK)
            return (int64_t)value;
    }
    return -1;
}

/* Returns the length of the first response in `in` when it is complete, else 0. */
static size_t complete_response(const struct raw_tls *r)
{
    const char *end = memmem(r->in.ptr, r->in.len, "\r\n\r\n", 4);
    if (end == NULL)
        return 0;
    size_t head = (size_t)(end - (const char *)r->in.ptr) + 4;
    int64_t body = content_length((const char *)r->in.ptr, head);
    size_t whole = head + (body > 0 ? (size_t)body : 0);
    return r->in.len >= whole ? whole : 0;
}

int raw_response(struct raw_tls *r, int timeout_ms)
{
    size_t len;
    timeout_ms *= process_patience();
    while ((len = r->in.len > 0 ? complete_response(r) : 0) == 0) {
        if (!raw_read_some(r, timeout_ms))
            return 0;
    }
    uint64_t status = 0;
    if (len < 12 || memcmp(r->in.ptr, "HTTP/1.", 7) != 0 ||
        base_parse_u64(base_slice(r->in.ptr + 9, 3), &status) != ERR_OK)
        return 0;
    base_buf_consume(&r->in, len);
    return (int)status;
}
