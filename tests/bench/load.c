/*
 * tests/bench/load.c - many rows through POST /v1/tables/{table}:write over HTTP/2.
 *
 * A few threads with a connection each send bodies of a fixed number of lines until all rows are
 * written. A body of which lines were refused because the server was overloaded is sent again, as
 * any client does; in the end every answer's summary must say that every line is in.
 */
#define _GNU_SOURCE
#include <curl/curl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/limits.h"
#include "tests/bench/bench.h"

#include "base/banned.h"

#define LINES_PER_BODY 1000
#define THREADS        4
#define OVERLOADED     "\"code\":\"overloaded\""
#define AGAIN_NS       50000000L
#define TRIES          200

struct job {
    const char *url; /* https://127.0.0.1:PORT/v1/tables/T:write */
    const char *ca;
    const char *key;
    const char *prefix;
    uint64_t rows;
    size_t value_bytes;
    _Atomic uint64_t next;
    _Atomic uint64_t again; /* bodies */
};

static size_t keep(char *bytes, size_t size, size_t count, void *user)
{
    return base_buf_append(user, base_slice(bytes, size * count)) == ERR_OK ? size * count : 0;
}

static void make_body(struct buf *body, const struct job *job, uint64_t first, uint64_t count)
{
    static _Thread_local char value[64 * 1024];
    base_buf_truncate(body, 0);
    for (uint64_t i = first; i < first + count; i++) {
        char key[BENCH_KEY_BYTES];
        (void)bench_key(key, job->prefix, i);
        bench_fill(value, job->value_bytes, i);
        value[job->value_bytes] = '\0';
        if (base_buf_printf(body, "{\"key\":\"%s\",\"cells\":{\"f\":{\"v\":\"%s\"}}}\n", key,
                            value) != ERR_OK)
            bench_fail("a body is too large");
    }
}

static CURL *new_handle(const struct job *job, struct curl_slist **headers, struct buf *answer)
{
    char line[256];
    CURL *curl = curl_easy_init();
    (void)snprintf(line, sizeof(line), "Authorization: Bearer %s", job->key);
    *headers = curl_slist_append(NULL, line);
    *headers = curl_slist_append(*headers, "Content-Type: application/x-ndjson");
    *headers = curl_slist_append(*headers, "Expect:");
    curl_easy_setopt(curl, CURLOPT_URL, job->url);
    curl_easy_setopt(curl, CURLOPT_CAINFO, job->ca);
    curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, *headers);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_POST, 1L);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, keep);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, answer);
    return curl;
}

static bool has(const struct buf *answer, const char *text)
{
    return memmem(answer->ptr, answer->len, text, strlen(text)) != NULL;
}

/* Whether every line is in; false when some have to be sent again. */
static bool send_body(CURL *curl, const struct buf *body, struct buf *answer, uint64_t lines)
{
    char wanted[64];
    base_buf_truncate(answer, 0);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->len);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, (const char *)body->ptr);
    CURLcode rc = curl_easy_perform(curl);
    if (rc != CURLE_OK)
        bench_fail("%s", curl_easy_strerror(rc));
    (void)snprintf(wanted, sizeof(wanted), "\"ok\":%llu,", (unsigned long long)lines);
    if (has(answer, wanted))
        return true;
    if (!has(answer, OVERLOADED))
        bench_fail("not every line is in: %.*s", (int)(answer->len > 300 ? 300 : answer->len),
                   (const char *)answer->ptr + (answer->len > 300 ? answer->len - 300 : 0));
    return false;
}

static void *work(void *arg)
{
    struct job *job = arg;
    struct curl_slist *headers = NULL;
    struct buf body, answer;
    base_buf_init(&body, 64 * MIB);
    base_buf_init(&answer, 4 * MIB);
    CURL *curl = new_handle(job, &headers, &answer);
    for (;;) {
        uint64_t first = atomic_fetch_add(&job->next, LINES_PER_BODY);
        if (first >= job->rows)
            break;
        uint64_t lines = job->rows - first < LINES_PER_BODY ? job->rows - first : LINES_PER_BODY;
        make_body(&body, job, first, lines);
        for (int tries = 1; !send_body(curl, &body, &answer, lines); tries++) {
            if (tries == TRIES)
                bench_fail("still overloaded after %d tries", TRIES);
            (void)nanosleep(&(struct timespec){.tv_nsec = AGAIN_NS}, NULL);
            atomic_fetch_add(&job->again, 1);
        }
    }
    curl_easy_cleanup(curl);
    curl_slist_free_all(headers);
    base_buf_fini(&body);
    base_buf_fini(&answer);
    return NULL;
}

int bench_load(int argc, char **argv)
{
    if (argc != 6)
        bench_fail("usage: bench load URL CA KEY PREFIX ROWS VALUE_BYTES");
    struct job job = {.url = argv[0], .ca = argv[1], .key = argv[2], .prefix = argv[3]};
    job.rows = bench_number(argv[4]);
    job.value_bytes = (size_t)bench_number(argv[5]);
    if (job.value_bytes >= 64 * KIB)
        bench_fail("VALUE_BYTES must be below 65536");
    curl_global_init(CURL_GLOBAL_DEFAULT);
    double start = bench_seconds();
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, work, &job) != 0)
            bench_fail("no thread");
    }
    for (size_t i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);
    (void)printf("rows_per_s %.0f\nbodies_again %llu\n",
                 (double)job.rows / (bench_seconds() - start),
                 (unsigned long long)atomic_load(&job.again));
    return EXIT_SUCCESS;
}
