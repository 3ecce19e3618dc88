/*
 * tests/bench/idle.c - what an idle connection costs: N TLS connections, HTTP/2 on each, then
 * nothing; the growth of the server's resident memory, per connection.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/text.h"
#include "tests/bench/bench.h"

#include "base/banned.h"

/* Client preface and an empty SETTINGS frame. */
static const char HELLO[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

uint64_t bench_resident_kib(const char *pid)
{
    char path[64];
    char line[256];
    uint64_t kib = 0;
    (void)snprintf(path, sizeof(path), "/proc/%.20s/status", pid);
    FILE *f = fopen(path, "r");
    if (f == NULL)
        bench_fail("%s cannot be read", path);
    while (fgets(line, sizeof(line), f) != NULL) {
        if (strncmp(line, "VmRSS:", 6) != 0)
            continue;
        const char *digits = line + strcspn(line, "0123456789");
        if (base_parse_u64(base_slice(digits, strspn(digits, "0123456789")), &kib) != ERR_OK)
            bench_fail("odd line in %s", path);
    }
    (void)fclose(f);
    return kib;
}

static SSL *open_one(SSL_CTX *context, uint16_t port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&to, sizeof(to)) != 0)
        bench_fail("cannot connect to port %u", port);
    SSL *ssl = SSL_new(context);
    if (ssl == NULL || SSL_set_fd(ssl, fd) != 1 || SSL_connect(ssl) != 1)
        bench_fail("TLS handshake failed");
    char answer[512]; /* the server's SETTINGS: it has understood */
    if (SSL_write(ssl, HELLO, sizeof(HELLO) - 1) <= 0 || SSL_read(ssl, answer, sizeof(answer)) <= 0)
        bench_fail("the server does not speak HTTP/2");
    return ssl;
}

static void pause_s(time_t seconds)
{
    struct timespec t = {seconds, 0};
    (void)nanosleep(&t, NULL);
}

int bench_idle_connections(int argc, char **argv)
{
    if (argc != 3)
        bench_fail("usage: bench idle-connections PORT PID COUNT");
    uint16_t port = (uint16_t)bench_number(argv[0]);
    uint64_t count = bench_number(argv[2]);
    struct rlimit files = {count + 100, count + 100};
    (void)setrlimit(RLIMIT_NOFILE, &files); /* may be refused; then a socket call says so */
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    static const unsigned char h2[] = "\x02h2";
    if (context == NULL || SSL_CTX_set_alpn_protos(context, h2, 3) != 0)
        bench_fail("no TLS context");
    uint64_t before = bench_resident_kib(argv[1]);
    double start = bench_seconds();
    SSL **all = base_new_array(count, sizeof(SSL *));
    for (uint64_t i = 0; i < count; i++)
        all[i] = open_one(context, port);
    (void)printf("seconds %.1f\n", bench_seconds() - start);
    pause_s(2);
    uint64_t after = bench_resident_kib(argv[1]);
    (void)printf("kib_per_connection %.1f\n", ((double)after - (double)before) / (double)count);
    for (uint64_t i = 0; i < count; i++) {
        (void)close(SSL_get_fd(all[i]));
        SSL_free(all[i]);
    }
    base_free(all);
    SSL_CTX_free(context);
    return EXIT_SUCCESS;
}
