/*
 * tests/grpc/test_slow_readers.c - many who read now and then, from sockets of all sizes.
 *
 * Whether an answer fits into a socket, in part, or until it is full but for a little, decides how
 * h2o polls it: so many go through all of it, by dice, on two loops. What they ask is answered from
 * memory and has some 100 KiB. The server must outlive them, and answer who comes behind them.
 */
#include <check.h>
#include <errno.h>
#include <grpc/reflection/v1/reflection.pb-c.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gateway/grpc/status.h"
#include "tests/support/grpc_client.h"
#include "tests/support/random.h"

#include "base/banned.h"

#define READERS    24
#define ASKED_MAX  30 /* and not answered, about */
#define ANSWER_KIB 64 /* about */
#define LIFE_STEPS 6000
#define OUT_BYTES  4096
#define PATH       "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
#define SYMBOL     "google.bigtable.v2.Bigtable"
#define READ_BYTES (256 * MIB) /* by all, over so many connections: as much as five seconds gave */
#define LIVES      400

struct reader {
    int fd;
    uint32_t next_stream;
    uint64_t asked;
    uint64_t got_bytes;
    uint32_t steps; /* it goes after so many more */
    struct buf out; /* not sent yet */
};

static struct server server;
static struct random dice = {20261121};
static uint64_t read_bytes;
static uint64_t lives;

static void put_frame(struct buf *out, uint8_t type, uint8_t flags, uint32_t stream,
                      struct slice payload)
{
    const uint8_t head[] = {0,
                            (uint8_t)(payload.len >> 8),
                            (uint8_t)payload.len,
                            type,
                            flags,
                            (uint8_t)(stream >> 24),
                            (uint8_t)(stream >> 16),
                            (uint8_t)(stream >> 8),
                            (uint8_t)stream};
    ck_assert_int_eq(base_buf_append(out, base_slice(head, sizeof head)), ERR_OK);
    ck_assert_int_eq(base_buf_append(out, payload), ERR_OK);
}

static size_t put_text(uint8_t *to, const char *text)
{
    size_t len = strlen(text);
    to[0] = (uint8_t)len; /* below 127: one byte in HPACK and in protobuf */
    memcpy(to + 1, text, len);
    return len + 1;
}

static void put_question(struct reader *r)
{
    static const char *const HEAD[][2] = {{":method", "POST"},
                                          {":scheme", "http"},
                                          {":path", PATH},
                                          {":authority", "x"},
                                          {"content-type", "application/grpc"},
                                          {"te", "trailers"}};
    uint8_t head[512];
    size_t n = 0;
    for (size_t i = 0; i < sizeof HEAD / sizeof HEAD[0]; i++) {
        head[n++] = 0; /* literal, not indexed, new name */
        n += put_text(head + n, HEAD[i][0]);
        n += put_text(head + n, HEAD[i][1]);
    }
    uint8_t message[5 + 64] = {0};
    size_t len = 5;
    message[len++] = 4 << 3 | 2; /* file_containing_symbol */
    len += put_text(message + len, SYMBOL);
    message[4] = (uint8_t)(len - 5);
    put_frame(&r->out, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, r->next_stream,
              base_slice(head, n));
    put_frame(&r->out, NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, r->next_stream,
              base_slice(message, len));
    r->next_stream += 2;
    r->asked++;
}

static void reader_open(struct reader *r)
{
    static const int SIZES[] = {4096, 16384, 65536, 262144};
    static const uint8_t WINDOW[] = {0, 4, 0x7f, 0xff, 0xff, 0xff}; /* of streams: all there is */
    static const uint8_t MORE[] = {0x40, 0, 0, 0};
    const struct sockaddr_in to = {.sin_family = AF_INET,
                                   .sin_port = htons(server.plain_port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    *r = (struct reader){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
                         .next_stream = 1,
                         .steps = 1 + random_below(&dice, LIFE_STEPS)};
    int size = SIZES[random_below(&dice, 4)];
    ck_assert_int_eq(setsockopt(r->fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size), 0);
    ck_assert_msg(connect(r->fd, (const struct sockaddr *)&to, sizeof to) == 0,
                  "the server does not take connections any more");
    base_buf_init(&r->out, MIB);
    ck_assert_int_eq(base_buf_append(&r->out, SLICE_LIT("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")),
                     ERR_OK);
    put_frame(&r->out, NGHTTP2_SETTINGS, 0, 0, base_slice(WINDOW, sizeof WINDOW));
    put_frame(&r->out, NGHTTP2_WINDOW_UPDATE, 0, 0, base_slice(MORE, sizeof MORE));
}

static void reader_close(struct reader *r)
{
    base_buf_fini(&r->out);
    ck_assert_int_eq(close(r->fd), 0);
}

static void send_some(struct reader *r)
{
    size_t some = 1 + random_below(&dice, OUT_BYTES);
    ssize_t n =
        send(r->fd, r->out.ptr, some < r->out.len ? some : r->out.len, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n > 0) {
        memmove(r->out.ptr, r->out.ptr + n, r->out.len - (size_t)n);
        base_buf_truncate(&r->out, r->out.len - (size_t)n);
    }
}

/* False when the server ended the connection. */
static bool read_some(struct reader *r)
{
    static const size_t SIZES[] = {1000, 10000, 60000, 300000};
    static uint8_t bytes[300000];
    ssize_t n = recv(r->fd, bytes, SIZES[random_below(&dice, 4)], MSG_DONTWAIT);
    if (n > 0) {
        read_bytes += (uint64_t)n;
        r->got_bytes += (uint64_t)n;
    }
    return n > 0 || (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK));
}

static void reader_step(struct reader *r)
{
    uint64_t asked_max = ASKED_MAX + r->got_bytes / (ANSWER_KIB * KIB);
    if (random_below(&dice, 2) == 0 && r->out.len < OUT_BYTES && r->asked < asked_max)
        for (uint32_t n = 1 + random_below(&dice, 6); n > 0; n--)
            put_question(r);
    send_some(r);
    bool goes_on = random_below(&dice, 5) < 2 || read_some(r);
    if (goes_on && --r->steps > 0)
        return;
    lives++;
    reader_close(r);
    reader_open(r);
}

static void expect_alive(void)
{
    static struct grpc_client client;
    Refl__ServerReflectionRequest request = REFL__SERVER_REFLECTION_REQUEST__INIT;
    request.message_request_case =
        REFL__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_CONTAINING_SYMBOL;
    request.file_containing_symbol = (char *)(uintptr_t)SYMBOL;
    grpc_open_plain(&client, &server);
    const struct grpc_call *call = grpc_ask(&client, PATH, &request.base);
    ck_assert_int_eq(call->status, GW_STATUS_OK);
    grpc_close(&client);
}

START_TEST(slow_readers_do_not_end_the_server)
{
    static struct reader readers[READERS];
    for (size_t i = 0; i < READERS; i++)
        reader_open(&readers[i]);
    for (size_t i = 0; read_bytes < READ_BYTES || lives < LIVES; i++)
        reader_step(&readers[i % READERS]);
    for (size_t i = 0; i < READERS; i++)
        reader_close(&readers[i]);
    expect_alive();
}
END_TEST

static void set_up(void)
{
    server_create(&server);
    server.options[0] = "--emulator";
    server.options[1] = "127.0.0.1:0";
    server_start(&server, NULL);
}

static void tear_down(void)
{
    server_stop(&server);
    server_remove(&server);
}

Suite *suite_grpc_slow_readers(void);
Suite *suite_grpc_slow_readers(void)
{
    Suite *s = suite_create("grpc_slow_readers");
    TCase *tc = tcase_create("readers");
    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, slow_readers_do_not_end_the_server);
    suite_add_tcase(s, tc);
    return s;
}
