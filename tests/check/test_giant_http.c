/*
 * tests/check/test_giant_http.c - a gibibyte in, a gibibyte out, and a row at the limit, over HTTP:
 * the memory of the server stays flat.
 *
 * The server has a small cache and small memtables, so that what is bounded by neither shows.
 */
#include <check.h>
#include <pthread.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "tests/support/memory.h"
#include "tests/support/random.h"
#include "tests/support/world.h"

#include "base/banned.h"

Suite *suite_check_giant_http(void);

enum { VALUE = 10 * 1024, ROWS = 1024 * 1024 / 10, CELL = 10 * 1024 * 1024 };
#define CACHE     (32 * MIB)
#define MEMTABLES (4 * 16 * MIB)
#define READERS   (32 * MIB) /* what the allocator keeps for each of the threads that read */
#define LOOK      (8 * MIB)  /* look at the memory after so many bytes */

static struct server server;
static struct world w;
static struct memory_watch memory;
static char letters[2 * CELL];

static void say(const char *what)
{
    (void)printf("giant http: %s took %lu MiB\n", what, memory_watch_growth(&memory) / MIB);
    (void)fflush(stdout);
}

static void set_up(void)
{
    static const char *const options[] = {"--cache-mb", "32", "--memtable-mb", "16", NULL};
    struct random rng = {.state = 1};
    for (size_t i = 0; i < sizeof letters; i++)
        letters[i] = (char)('a' + random_below(&rng, 26));
    server_create(&server);
    for (size_t i = 0; options[i] != NULL; i++)
        server.options[i] = options[i];
    server_start(&server, NULL);
    world_init_on(&w, &server, HTTP_2, "giant");
    curl_easy_setopt(w.http->curl, CURLOPT_TIMEOUT, 300L);
}

static void tear_down(void)
{
    world_fini(&w);
    server_stop(&server);
    server_remove(&server);
}

/* --- receiving without keeping -------------------------------------------------------------------
 */

struct received {
    uint64_t bytes;
    uint64_t lines;
    uint64_t looked_at;
    char end[256]; /* the last bytes */
    size_t end_len;
};

static size_t receive(char *bytes, size_t size, size_t count, void *user)
{
    struct received *r = user;
    size_t len = size * count, kept = len < sizeof r->end ? len : sizeof r->end;
    for (const char *p = bytes; (p = memchr(p, '\n', len - (size_t)(p - bytes))) != NULL; p++)
        r->lines++;
    r->bytes += len;
    if (kept < sizeof r->end) {
        size_t old = r->end_len + kept > sizeof r->end ? sizeof r->end - kept : r->end_len;
        memmove(r->end, r->end + r->end_len - old, old);
        r->end_len = old;
    } else {
        r->end_len = 0;
    }
    memcpy(r->end + r->end_len, bytes + len - kept, kept);
    r->end_len += kept;
    if (r->bytes - r->looked_at >= LOOK) {
        memory_watch_look(&memory);
        r->looked_at = r->bytes;
    }
    return len;
}

static void receive_into(struct received *r)
{
    *r = (struct received){0};
    curl_easy_setopt(w.http->curl, CURLOPT_WRITEFUNCTION, receive);
    curl_easy_setopt(w.http->curl, CURLOPT_WRITEDATA, r);
}

/* --- sending without holding
 * ----------------------------------------------------------------------- */

struct sender {
    int row;
    char line[VALUE + 256];
    size_t len, at;
    uint64_t sent;
    uint64_t looked_at;
};

static size_t give(char *room, size_t size, size_t count, void *user)
{
    struct sender *s = user;
    size_t most = size * count, n = 0;
    while (n < most && (s->at < s->len || s->row < ROWS)) {
        if (s->at == s->len) {
            s->len = (size_t)snprintf(s->line, sizeof s->line,
                                      "{\"key\":\"row%06d\",\"cells\":{\"raw\":{\"v\":{\"value\":"
                                      "\"%.*s\",\"timestamp\":\"1000\"}}}}\n",
                                      s->row, VALUE, letters + (s->row * 7919L) % CELL);
            s->at = 0;
            s->row++;
        }
        size_t part = s->len - s->at < most - n ? s->len - s->at : most - n;
        memcpy(room + n, s->line + s->at, part);
        s->at += part;
        n += part;
    }
    s->sent += n;
    if (s->sent - s->looked_at >= LOOK) {
        memory_watch_look(&memory);
        s->looked_at = s->sent;
    }
    return n;
}

static int load(struct received *r)
{
    struct sender *s = base_new(sizeof *s);
    CURL *c = w.http->curl;
    char url[128], key[WORLD_KEY + 32];
    (void)snprintf(url, sizeof url, "https://127.0.0.1:%u/v1/tables/devices:write", server.port);
    (void)snprintf(key, sizeof key, "Authorization: Bearer %s", w.key);
    struct curl_slist *headers = curl_slist_append(NULL, key);
    headers = curl_slist_append(headers, "Content-Type: application/x-ndjson");
    receive_into(r);
    curl_easy_setopt(c, CURLOPT_URL, url);
    curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, NULL);
    curl_easy_setopt(c, CURLOPT_POST, 1L);
    curl_easy_setopt(c, CURLOPT_POSTFIELDS, NULL);
    curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)-1);
    curl_easy_setopt(c, CURLOPT_READFUNCTION, give);
    curl_easy_setopt(c, CURLOPT_READDATA, s);
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
    CURLcode rc = curl_easy_perform(c);
    ck_assert_msg(rc == CURLE_OK, "%s", w.http->error);
    long status = 0;
    curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, NULL);
    curl_slist_free_all(headers);
    base_free(s);
    return (int)status;
}

/* --- the tests
 * ---------------------------------------------------------------------------------------- */

/* A peer that takes four MiB a second, until it is told to stop. */
struct slow_reader {
    pthread_t thread;
    struct http *http;
    _Atomic bool stop;
    uint64_t bytes;
};

static size_t receive_slowly(char *bytes, size_t size, size_t count, void *user)
{
    struct slow_reader *s = user;
    (void)bytes;
    s->bytes += size * count;
    return s->stop ? 0 : size * count;
}

static void *read_slowly(void *arg)
{
    struct slow_reader *s = arg;
    curl_easy_setopt(s->http->curl, CURLOPT_MAX_RECV_SPEED_LARGE, (curl_off_t)(4 * MIB));
    curl_easy_setopt(s->http->curl, CURLOPT_WRITEFUNCTION, receive_slowly);
    curl_easy_setopt(s->http->curl, CURLOPT_WRITEDATA, s);
    http_once(s->http, "Accept: application/x-ndjson");
    (void)http_try(s->http, "GET", "/v1/tables/devices/rows", SLICE_EMPTY);
    return NULL;
}

static void slow_reader_start(struct slow_reader *s)
{
    *s = (struct slow_reader){.http = http_open(&server, HTTP_1, w.key)};
    ck_assert_int_eq(pthread_create(&s->thread, NULL, read_slowly, s), 0);
}

static void slow_reader_stop(struct slow_reader *s)
{
    s->stop = true;
    (void)pthread_join(s->thread, NULL);
    http_close(s->http);
}

START_TEST(a_gibibyte_is_loaded_and_scanned_in_flat_memory)
{
    struct received r;
    struct slow_reader slow;
    memory_watch_begin(&memory, server.pid);
    ck_assert_int_eq(load(&r), 200);
    say("loading 1 GiB");
    r.end[r.end_len < sizeof r.end ? r.end_len : sizeof r.end - 1] = '\0';
    ck_assert_uint_eq(r.lines, ROWS + 1);
    ck_assert_msg(strstr(r.end, "\"failed\":0") != NULL, "%s", r.end);
    ck_assert_uint_lt(memory_watch_growth(&memory), CACHE + MEMTABLES + 64 * MIB);

    memory_watch_begin(&memory, server.pid);
    slow_reader_start(&slow);
    receive_into(&r);
    http_once(w.http, "Accept: application/x-ndjson");
    ck_assert(http_try(w.http, "GET", "/v1/tables/devices/rows", SLICE_EMPTY));
    EXPECT_STATUS(w.http, 200);
    slow_reader_stop(&slow);
    say("scanning 1 GiB");
    ck_assert_uint_eq(r.lines, ROWS);
    ck_assert_uint_eq(r.bytes % ROWS, 0); /* all lines have the same length */
    ck_assert_uint_gt(r.bytes / ROWS, VALUE + 60);
    ck_assert_uint_gt(slow.bytes, MIB);
    ck_assert_uint_lt(slow.bytes, r.bytes / 2);
    ck_assert_uint_lt(memory_watch_growth(&memory), CACHE + READERS);
}
END_TEST

START_TEST(a_row_of_256_mib_over_http)
{
    struct received r;
    int cells = 0;
    memory_watch_begin(&memory, server.pid);
    for (;; cells++) {
        http_bytes(w.http, "PUT", base_slice(letters + cells, CELL),
                   "/v1/tables/devices/cells/giant/raw/%04d?timestamp=1000", cells);
        memory_watch_look(&memory);
        if (w.http->status != 204)
            break;
    }
    ck_assert_int_eq(cells, 25);
    ck_assert_int_eq(w.http->status / 100, 4);
    ck_assert_msg(strstr(http_text(w.http), "268435456") != NULL, "%s", http_text(w.http));
    say("writing a row of 250 MiB");
    ck_assert_uint_lt(memory_watch_growth(&memory), 64 * MIB + CACHE + MEMTABLES + 4UL * CELL);

    memory_watch_begin(&memory, server.pid);
    receive_into(&r);
    http_once(w.http, "Accept: application/x-ndjson");
    ck_assert(http_try(w.http, "GET", "/v1/tables/devices/rows", SLICE_EMPTY));
    EXPECT_STATUS(w.http, 200);
    say("reading it");
    ck_assert_uint_eq(r.lines, 1);
    ck_assert_uint_gt(r.bytes, 25UL * CELL);
    /* what was written may still be compacted */
    ck_assert_uint_lt(memory_watch_growth(&memory), 64 * MIB + CACHE + MEMTABLES);
}
END_TEST

Suite *suite_check_giant_http(void)
{
    Suite *s = suite_create("check_giant_http");
    TCase *t = tcase_create("giant");
    tcase_set_timeout(t, 400);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, a_gibibyte_is_loaded_and_scanned_in_flat_memory);
    tcase_add_test(t, a_row_of_256_mib_over_http);
    suite_add_tcase(s, t);
    return s;
}
