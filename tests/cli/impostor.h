/*
 * tests/cli/impostor.h - a server with a good certificate that answers whatever a test wants.
 *
 * A process of its own: one connection at a time, HTTP/1.1, one answer each.
 */
#ifndef TESTS_CLI_IMPOSTOR_H
#define TESTS_CLI_IMPOSTOR_H

#include <arpa/inet.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include "tests/cli/program.h"
#include "tests/support/server.h"

#define IMPOSTOR_BYTES 65536

struct impostor {
    pid_t pid;
    char url[64];
    char *answer; /* status line to body; shared with the process */
};

/* In the process: one request, as far as its head, and the answer. */
static inline void impostor_serve(SSL_CTX *ctx, int fd, const char *answer)
{
    char head[16384];
    int len = 0;
    SSL *ssl = SSL_new(ctx);
    if (ssl != NULL && SSL_set_fd(ssl, fd) == 1 && SSL_accept(ssl) == 1) {
        int n = 0;
        do {
            n = SSL_read(ssl, head + len, (int)sizeof head - 1 - len);
            len += n > 0 ? n : 0;
            head[len] = '\0';
        } while (n > 0 && strstr(head, "\r\n\r\n") == NULL);
        (void)SSL_write(ssl, answer, (int)strlen(answer)); /* the client notices */
        (void)SSL_shutdown(ssl);
    }
    SSL_free(ssl);
    (void)close(fd);
}

static inline void impostor_run(const struct server *like, int listener, const char *answer)
{
    char path[PROCESS_PATH + 32];
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)signal(SIGPIPE, SIG_IGN);
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    (void)snprintf(path, sizeof path, "%s/server.pem", like->data);
    if (ctx == NULL || SSL_CTX_use_certificate_chain_file(ctx, path) != 1)
        _exit(1);
    (void)snprintf(path, sizeof path, "%s/server.key", like->data);
    if (SSL_CTX_use_PrivateKey_file(ctx, path, SSL_FILETYPE_PEM) != 1)
        _exit(1);
    for (;;) {
        int fd = accept(listener, NULL, NULL);
        if (fd >= 0)
            impostor_serve(ctx, fd, answer);
    }
}

static inline void impostor_start(struct impostor *i, const struct server *like)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t len = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    i->answer =
        mmap(NULL, IMPOSTOR_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(i->answer, MAP_FAILED);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, len), 0);
    ck_assert_int_eq(listen(fd, 16), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    (void)snprintf(i->url, sizeof i->url, "https://127.0.0.1:%u", ntohs(address.sin_port));
    (void)fflush(NULL);
    i->pid = fork();
    ck_assert_int_ge(i->pid, 0);
    if (i->pid == 0)
        impostor_run(like, fd, i->answer);
    (void)close(fd);
}

/* status: "200 OK" and the like. */
static inline void impostor_answers(struct impostor *i, const char *status, const char *body)
{
    int n = snprintf(i->answer, IMPOSTOR_BYTES,
                     "HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n"
                     "Connection: close\r\n\r\n%s",
                     status, strlen(body), body);
    ck_assert_int_lt(n, IMPOSTOR_BYTES);
}

static inline void impostor_stop(struct impostor *i)
{
    (void)kill(i->pid, SIGKILL);
    (void)waitpid(i->pid, NULL, 0);
    (void)munmap(i->answer, IMPOSTOR_BYTES);
}

#endif
