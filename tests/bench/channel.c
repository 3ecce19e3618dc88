/*
 * tests/bench/channel.c - connecting blocks, everything behind it does not.
 */
#include "tests/bench/channel.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "tests/bench/bench.h"

#include "base/banned.h"

#define HOST_BYTES INET_ADDRSTRLEN

struct channel {
    int fd;
    SSL_CTX *context; /* NULL: plaintext */
    SSL *ssl;
};

static struct sockaddr_in address_of(const char *text, char host[HOST_BYTES])
{
    struct sockaddr_in to = {.sin_family = AF_INET};
    const char *colon = strchr(text, ':');
    size_t len = colon == NULL ? 0 : (size_t)(colon - text);
    if (len == 0 || len >= HOST_BYTES)
        bench_fail("\"%s\" is not ADDRESS:PORT", text);
    memcpy(host, text, len);
    host[len] = '\0';
    uint64_t port = bench_number(colon + 1);
    if (inet_pton(AF_INET, host, &to.sin_addr) != 1 || port > UINT16_MAX)
        bench_fail("\"%s\" is not ADDRESS:PORT", text);
    to.sin_port = htons((uint16_t)port);
    return to;
}

static void shake_hands(struct channel *c, const char *ca, const char *host)
{
    static const unsigned char h2[] = "\x02h2";
    const unsigned char *chosen = NULL;
    unsigned chosen_len = 0;
    c->context = SSL_CTX_new(TLS_client_method());
    if (c->context == NULL || SSL_CTX_load_verify_locations(c->context, ca, NULL) != 1 ||
        SSL_CTX_set_alpn_protos(c->context, h2, sizeof h2 - 1) != 0)
        bench_fail("no TLS context with %s", ca);
    SSL_CTX_set_verify(c->context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_mode(c->context,
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_read_ahead(c->context, 1); /* several records with one system call */
    SSL_CTX_set_default_read_buffer_len(c->context, 64 * KIB);
    c->ssl = SSL_new(c->context);
    if (c->ssl == NULL || X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(c->ssl), host) != 1 ||
        SSL_set_fd(c->ssl, c->fd) != 1)
        bench_fail("no TLS session");
    if (SSL_connect(c->ssl) != 1)
        bench_fail("TLS handshake: %s", ERR_reason_error_string(ERR_peek_last_error()));
    SSL_get0_alpn_selected(c->ssl, &chosen, &chosen_len);
    if (chosen_len != sizeof h2 - 2 || memcmp(chosen, h2 + 1, chosen_len) != 0)
        bench_fail("the server does not speak HTTP/2");
}

struct channel *channel_open(const struct channel_server *server)
{
    static const int on = 1;
    char host[HOST_BYTES];
    struct sockaddr_in to = address_of(server->address, host);
    struct channel *c = base_new(sizeof *c);
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0 || connect(c->fd, (const struct sockaddr *)&to, sizeof to) != 0 ||
        setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0)
        bench_fail("cannot connect to %s", server->address);
    if (server->ca != NULL)
        shake_hands(c, server->ca, host);
    if (fcntl(c->fd, F_SETFL, O_NONBLOCK) != 0)
        bench_fail("the socket cannot be made non-blocking");
    return c;
}

void channel_close(struct channel *c)
{
    SSL_free(c->ssl);
    SSL_CTX_free(c->context);
    (void)close(c->fd); /* nothing is under way */
    base_free(c);
}

int channel_fd(const struct channel *c)
{
    return c->fd;
}

/* What a call of OpenSSL moved. */
static size_t moved(const struct channel *c, int rc, size_t bytes)
{
    if (rc > 0)
        return bytes;
    int why = SSL_get_error(c->ssl, rc);
    if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE)
        bench_fail("TLS broke off (%d)", why);
    return 0;
}

static size_t moved_plain(ssize_t n)
{
    if (n > 0)
        return (size_t)n;
    if (n == 0 || (errno != EAGAIN && errno != EINTR))
        bench_fail("the connection broke off");
    return 0;
}

size_t channel_read(struct channel *c, void *to, size_t max)
{
    size_t bytes = 0;
    if (c->ssl == NULL)
        return moved_plain(recv(c->fd, to, max, 0));
    int rc = SSL_read_ex(c->ssl, to, max, &bytes);
    return moved(c, rc, bytes);
}

size_t channel_write(struct channel *c, const void *from, size_t len)
{
    size_t bytes = 0;
    if (c->ssl == NULL)
        return moved_plain(send(c->fd, from, len, MSG_NOSIGNAL));
    int rc = SSL_write_ex(c->ssl, from, len, &bytes);
    return moved(c, rc, bytes);
}
