/*
 * tests/bench/neighbours.c - tenants that flood, and one that is quiet beside them.
 *
 * A flood is many connections, each with a request under way all the time: a bulk write of
 * LINES_PER_BODY rows (new ones, or the same again and again), or a scan of a whole table. Every
 * refusal must say when to come again, and the connection waits so long, as a good client does. The
 * quiet one reads a row, writes a row and rests, over and over; its latencies are what counts.
 */
#define _GNU_SOURCE
#include <curl/curl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/share.h"
#include "tests/bench/bench.h"

#include "base/banned.h"

#define LINES_PER_BODY  100
#define NEW_BYTES       1024
#define SAME_ROWS       100000
#define SAME_BYTES      200
#define CONNECTIONS_MAX 512
#define SAMPLES_MAX     (1 << 20)
#define QUIET_ROWS      1000
#define QUIET_REST_NS   1000000

struct flood {
    const char *url; /* https://127.0.0.1:PORT/v1/tables/T */
    const char *ca;
    const char *key;
    bool scans;
    bool is_same; /* it writes SAME_ROWS rows again and again */
    _Atomic bool is_over;
    _Atomic uint64_t next;
    _Atomic uint64_t done;
    _Atomic uint64_t refused;
    _Atomic uint64_t without_hint;
};

static size_t keep(char *bytes, size_t size, size_t count, void *user)
{
    return base_buf_append(user, base_slice(bytes, size * count)) == ERR_OK ? size * count : 0;
}

static size_t forget(char *bytes, size_t size, size_t count, void *user)
{
    (void)bytes;
    (void)user;
    return size * count;
}

static CURL *new_handle(const char *ca, const char *key, struct curl_slist **headers)
{
    char line[256];
    CURL *curl = curl_easy_init();
    (void)snprintf(line, sizeof(line), "Authorization: Bearer %s", key);
    *headers = curl_slist_append(NULL, line);
    *headers = curl_slist_append(*headers, "Expect:");
    curl_easy_setopt(curl, CURLOPT_CAINFO, ca);
    curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    return curl;
}

static long perform(CURL *curl)
{
    long status = 0;
    CURLcode rc = curl_easy_perform(curl);
    if (rc != CURLE_OK)
        bench_fail("%s", curl_easy_strerror(rc));
    (void)curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status); /* 0 when there is none */
    return status;
}

/* seconds: 0, as long as standard input is open */
static bool goes_on(double start, uint64_t seconds)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    if (seconds > 0)
        return bench_seconds() < start + (double)seconds;
    return poll(&input, 1, 0) == 0;
}

/* --- floods ----------------------------------------------------------------------------------- */

static uint64_t occurrences(const struct buf *in, const char *text)
{
    uint64_t count = 0;
    const uint8_t *at = in->ptr;
    size_t left = in->len;
    for (const uint8_t *hit; left > 0 && (hit = memmem(at, left, text, strlen(text))) != NULL;) {
        count++;
        left -= (size_t)(hit - at) + 1;
        at = hit + 1;
    }
    return count;
}

static void make_body(struct buf *body, uint64_t first, bool is_same)
{
    static _Thread_local char value[NEW_BYTES + 1];
    base_buf_truncate(body, 0);
    for (uint64_t i = first; i < first + LINES_PER_BODY; i++) {
        char key[BENCH_KEY_BYTES];
        (void)bench_key(key, "flood", is_same ? i % SAME_ROWS : i);
        bench_fill(value, is_same ? SAME_BYTES : NEW_BYTES, i);
        if (base_buf_printf(body, "{\"key\":\"%s\",\"cells\":{\"f\":{\"v\":\"%s\"}}}\n", key,
                            value) != ERR_OK)
            bench_fail("a body is too large");
    }
}

/* The longest wait that lines were told. */
static double lines_wait_s(const struct buf *answer)
{
    static const char name[] = "\"retry_after_ms\":";
    uint64_t most_ms = 0;
    const uint8_t *end = answer->ptr + answer->len;
    for (const uint8_t *at = answer->ptr; at < end;) {
        const uint8_t *hit = memmem(at, (size_t)(end - at), name, sizeof(name) - 1);
        if (hit == NULL)
            break;
        uint64_t ms = 0;
        for (at = hit + sizeof(name) - 1; at < end && *at >= '0' && *at <= '9'; at++)
            ms = ms * 10 + (uint64_t)(*at - '0');
        most_ms = ms > most_ms ? ms : most_ms;
    }
    return (double)most_ms / 1e3;
}

/* A whole request may be refused, and so may be each line. Returns how long to wait, in seconds. */
static double judge(struct flood *f, CURL *curl, long status, const struct buf *answer)
{
    curl_off_t retry_after = 0;
    (void)curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &retry_after); /* 0 when there is none */
    uint64_t lines = occurrences(answer, "\"status\":503") + occurrences(answer, "\"status\":429");
    uint64_t hints = occurrences(answer, "\"retry_after_ms\"");
    if (status == 200) {
        atomic_fetch_add(&f->done, f->scans ? 1 : LINES_PER_BODY - lines);
        atomic_fetch_add(&f->refused, lines);
        atomic_fetch_add(&f->without_hint, lines > hints ? lines - hints : 0);
        return lines > 0 ? lines_wait_s(answer) : 0;
    } else if (status == 503 || status == 429) {
        atomic_fetch_add(&f->refused, f->scans ? 1 : LINES_PER_BODY);
        atomic_fetch_add(&f->without_hint, retry_after == 0);
        return (double)retry_after;
    } else {
        bench_fail("status %ld: %.*s", status, (int)(answer->len < 300 ? answer->len : 300),
                   (const char *)answer->ptr);
    }
}

static void wait_seconds(const struct flood *f, double seconds)
{
    const struct timespec moment = {.tv_nsec = 10 * 1000 * 1000};
    double until = bench_seconds() + seconds;
    while (seconds > 0 && !atomic_load(&f->is_over) && bench_seconds() < until)
        (void)nanosleep(&moment, NULL); /* woken early: looks early */
}

static void *flood_thread(void *arg)
{
    struct flood *f = arg;
    struct curl_slist *headers = NULL;
    struct buf body, answer;
    char url[512];
    base_buf_init(&body, 4 * MIB);
    base_buf_init(&answer, 4 * MIB);
    CURL *curl = new_handle(f->ca, f->key, &headers);
    headers = curl_slist_append(headers, f->scans ? "Accept: application/x-ndjson"
                                                  : "Content-Type: application/x-ndjson");
    (void)snprintf(url, sizeof(url), f->scans ? "%s/rows" : "%s:write", f->url);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, f->scans ? forget : keep);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer);
    while (!atomic_load(&f->is_over)) {
        base_buf_truncate(&answer, 0);
        if (!f->scans) {
            make_body(&body, atomic_fetch_add(&f->next, LINES_PER_BODY), f->is_same);
            curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.len);
            curl_easy_setopt(curl, CURLOPT_POSTFIELDS, (const char *)body.ptr);
        }
        wait_seconds(f, judge(f, curl, perform(curl), &answer));
    }
    curl_easy_cleanup(curl);
    curl_slist_free_all(headers);
    base_buf_fini(&body);
    base_buf_fini(&answer);
    return NULL;
}

int bench_flood(int argc, char **argv)
{
    if (argc != 6)
        bench_fail("usage: bench flood URL CA KEY write|rewrite|scan CONNECTIONS SECONDS");
    struct flood f = {.url = argv[0], .ca = argv[1], .key = argv[2]};
    f.scans = strcmp(argv[3], "scan") == 0;
    f.is_same = strcmp(argv[3], "rewrite") == 0;
    size_t connections = (size_t)bench_number(argv[4]);
    double start = bench_seconds();
    uint64_t seconds = bench_number(argv[5]);
    if (connections > CONNECTIONS_MAX)
        bench_fail("CONNECTIONS must be at most %d", CONNECTIONS_MAX);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    pthread_t threads[CONNECTIONS_MAX];
    for (size_t i = 0; i < connections; i++) {
        if (pthread_create(&threads[i], NULL, flood_thread, &f) != 0)
            bench_fail("no thread");
    }
    const struct timespec moment = {.tv_nsec = 10 * 1000 * 1000};
    while (goes_on(start, seconds))
        (void)nanosleep(&moment, NULL); /* woken early: looks early */
    atomic_store(&f.is_over, true);
    for (size_t i = 0; i < connections; i++)
        (void)pthread_join(threads[i], NULL);
    (void)printf("done_per_s %.0f\nrefused %llu\nwithout_hint %llu\n",
                 (double)atomic_load(&f.done) / (bench_seconds() - start),
                 (unsigned long long)atomic_load(&f.refused),
                 (unsigned long long)atomic_load(&f.without_hint));
    return EXIT_SUCCESS;
}

/* --- the quiet one ---------------------------------------------------------------------------- */

static double samples[2][SAMPLES_MAX];
static double began[SAMPLES_MAX];

static int compare_seconds(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double percentile_99(double *values, size_t count)
{
    qsort(values, count, sizeof(values[0]), compare_seconds);
    return values[count * 99 / 100];
}

/* The p99 of the worst second; before the values are sorted. The last one is short: it counts if it
 * is the only one, or has a hundred of them. */
static double worst_second(const double *values, size_t count)
{
    static double second[SAMPLES_MAX];
    double worst = 0;
    size_t in_second = 0;
    for (size_t i = 0, first = 0; i < count; i++) {
        if (began[i] - began[first] >= 1) {
            double p99 = percentile_99(second, in_second);
            worst = p99 > worst ? p99 : worst;
            in_second = 0;
            first = i;
        }
        second[in_second++] = values[i];
    }
    bool counts = worst <= 0 || in_second >= 100;
    double last = counts ? percentile_99(second, in_second) : 0;
    return last > worst ? last : worst;
}

static void report(const char *what, double *values, size_t count)
{
    if (count == 0)
        bench_fail("nothing was measured");
    double worst = worst_second(values, count);
    double p99 = percentile_99(values, count);
    (void)printf("%s_p50_us %.0f\n%s_p99_us %.0f\n%s_worst_s_p99_us %.0f\n%s_max_us %.0f\n", what,
                 values[count / 2] * 1e6, what, p99 * 1e6, what, worst * 1e6, what,
                 values[count - 1] * 1e6);
}

/* Negative: it was refused. */
static double timed(CURL *curl, const char *url, bool write)
{
    static const char body[] = "{\"f\":{\"v\":\"a quiet tenant's value\"}}";
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, write ? "PUT" : "GET");
    if (write)
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
    else
        curl_easy_setopt(curl, CURLOPT_HTTPGET, 1L);
    double start = bench_seconds();
    long status = perform(curl);
    if (status == 429 || status == 503)
        return -1;
    if (status != 200 && status != 201)
        bench_fail("the quiet tenant got status %ld", status);
    return bench_seconds() - start;
}

/* What the n-th read asks for: one of the rows that bench load made, of `rows` of them, here and
 * there; 0: one that the quiet tenant has just written. */
static void read_url(char *out, size_t size, const char *table, size_t n, uint64_t rows)
{
    if (rows == 0)
        (void)snprintf(out, size, "%s/rows/quiet-%zu", table, n % 20);
    else
        (void)snprintf(out, size, "%s/rows/user%%23%08llu%%23profile", table,
                       (unsigned long long)(n * 2654435761U % rows));
}

int bench_quiet(int argc, char **argv)
{
    if (argc != 4 && argc != 5)
        bench_fail("usage: bench quiet URL CA KEY SECONDS [ROWS]");
    uint64_t rows = argc == 5 ? bench_number(argv[4]) : 0;
    base_class_join(BASE_SERVE); /* its own wait for the processor is not the server's doing */
    const struct timespec rest = {.tv_nsec = QUIET_REST_NS};
    struct curl_slist *headers = NULL;
    size_t count = 0;
    char url[512];
    curl_global_init(CURL_GLOBAL_DEFAULT);
    CURL *curl = new_handle(argv[1], argv[2], &headers);
    headers = curl_slist_append(headers, "Content-Type: application/json");
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, forget);
    for (size_t i = 0; i < 20; i++) { /* a warm connection, rows to read */
        (void)snprintf(url, sizeof(url), "%s/rows/quiet-%zu", argv[0], i);
        if (timed(curl, url, true) < 0)
            bench_fail("the quiet tenant is refused");
    }
    double start = bench_seconds();
    uint64_t seconds = bench_number(argv[3]);
    unsigned long refused = 0;
    while (goes_on(start, seconds) && count < SAMPLES_MAX) {
        began[count] = bench_seconds();
        read_url(url, sizeof(url), argv[0], count, rows);
        samples[0][count] = timed(curl, url, false);
        (void)snprintf(url, sizeof(url), "%s/rows/quiet-%zu", argv[0], count % QUIET_ROWS);
        samples[1][count] = timed(curl, url, true);
        bool both = samples[0][count] >= 0 && samples[1][count] >= 0;
        refused += !both;
        count += both;
        (void)nanosleep(&rest, NULL); /* woken early: less rest */
    }
    report("read", samples[0], count);
    report("write", samples[1], count);
    (void)printf("refused %lu\n", refused);
    curl_easy_cleanup(curl);
    curl_slist_free_all(headers);
    return EXIT_SUCCESS;
}
