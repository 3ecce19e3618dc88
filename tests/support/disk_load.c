/*
 * tests/support/disk_load.c - writers that record acknowledged rows, on a failing disk.
 *
 * Every row is written once. Its value contains its key, so that a misplaced or partial row is
 * detected.
 */
#define _GNU_SOURCE
#include "tests/support/disk_load.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"

#include "base/banned.h"

#define ROW_KEY   24
#define VALUE_MAX 20000
#define ROWS_MAX  (64 * MIB) /* more than any test can write in its time */

void disk_load_init(struct disk_load *l, const struct server *s, const char *key,
                    size_t value_bytes)
{
    ck_assert_uint_le(value_bytes, VALUE_MAX);
    memset(l, 0, sizeof(*l));
    l->server = s;
    l->key = key;
    l->value_bytes = value_bytes;
    for (size_t i = 0; i < DISK_LOAD_WRITERS; i++)
        base_buf_init(&l->writers[i].rows, ROWS_MAX);
}

void disk_load_fini(struct disk_load *l)
{
    for (size_t i = 0; i < DISK_LOAD_WRITERS; i++)
        base_buf_fini(&l->writers[i].rows);
}

static void name_row(char out[ROW_KEY], size_t writer, size_t row)
{
    (void)snprintf(out, ROW_KEY, "w%zu-%06zu", writer, row);
}

/* Fills the value with the key, followed by dots. */
static void make_value(char *out, const char *row_key, size_t bytes)
{
    memset(out, '.', bytes);
    memcpy(out, row_key, strlen(row_key));
    out[bytes] = '\0';
}

static enum disk_load_state settle(struct disk_load *l, bool answered, struct http *h, bool was_bad)
{
    if (answered && h->status / 100 == 2) {
        atomic_fetch_add(&l->acked, 1);
        if (was_bad)
            atomic_fetch_add(&l->late, 1);
        return DISK_LOAD_ACKED;
    }
    if (answered && h->status == 507) {
        atomic_fetch_add(&l->refused, 1);
        return DISK_LOAD_REFUSED;
    }
    if (answered && http_problem_mismatch(h, 503, "overloaded") == NULL)
        return DISK_LOAD_REFUSED;
    atomic_store(&l->unknown_status, answered ? h->status : 0);
    atomic_fetch_add(&l->unknown, 1);
    return DISK_LOAD_UNKNOWN;
}

static void *write_rows(void *arg)
{
    enum { PAUSE_MS = 5, BROKEN_MAX = 3 };
    struct disk_load_writer *w = arg;
    struct disk_load *l = w->load;
    struct http *h = http_open(l->server, HTTP_2, l->key);
    char value[VALUE_MAX + 1], row_key[ROW_KEY], target[64], body[VALUE_MAX + 64];
    int broken = 0;
    while (broken < BROKEN_MAX && !atomic_load(&l->stop)) {
        name_row(row_key, w->number, w->rows.len);
        make_value(value, row_key, l->value_bytes);
        (void)snprintf(target, sizeof(target), "/v1/tables/devices/rows/%s", row_key);
        int len = snprintf(body, sizeof(body), "{\"raw\":{\"v\":\"%s\"}}", value);
        bool was_bad = l->watched != NULL && atomic_load(l->watched) > 0;
        bool answered = http_try(h, "PUT", target, base_slice(body, (size_t)len));
        enum disk_load_state state = settle(l, answered, h, was_bad);
        ck_assert_int_eq(base_buf_append_byte(&w->rows, (uint8_t)state), ERR_OK);
        broken = answered ? 0 : broken + 1;
        if (!answered)
            http_reconnect(h);
        if (state != DISK_LOAD_ACKED)
            process_sleep_ms(PAUSE_MS);
    }
    http_close(h);
    return NULL;
}

void disk_load_start(struct disk_load *l)
{
    atomic_store(&l->stop, false);
    for (size_t i = 0; i < DISK_LOAD_WRITERS; i++) {
        struct disk_load_writer *w = &l->writers[i];
        w->load = l;
        w->number = i;
        ck_assert_int_eq(pthread_create(&w->thread, NULL, write_rows, w), 0);
    }
}

void disk_load_stop(struct disk_load *l)
{
    atomic_store(&l->stop, true);
    for (size_t i = 0; i < DISK_LOAD_WRITERS; i++)
        (void)pthread_join(l->writers[i].thread, NULL);
}

static bool server_has_ended(const struct server *s)
{
    char path[64], line[256] = "";
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)s->pid);
    FILE *f = fopen(path, "r");
    const char *state = NULL;
    if (f != NULL && fgets(line, sizeof(line), f) != NULL)
        state = strrchr(line, ')');
    if (f != NULL)
        (void)fclose(f); /* it was only read */
    return state == NULL || state[2] == 'Z';
}

struct awaited {
    const struct disk_load *load;
    const _Atomic uint64_t *count;
    uint64_t wanted;
};

static bool await_is_over(void *arg)
{
    const struct awaited *a = arg;
    return atomic_load(a->count) >= a->wanted || server_has_ended(a->load->server);
}

bool disk_load_await(struct disk_load *l, const _Atomic uint64_t *count, uint64_t wanted)
{
    process_await(await_is_over, &(struct awaited){l, count, wanted}, "answers to the load");
    return atomic_load(count) >= wanted;
}

/* --- stored rows --------------------------------------------------------------------------------
 */

/* Returns all rows, by key; the caller decrefs. */
static json_t *read_all(const struct disk_load *l)
{
    json_t *all = json_object();
    struct http *h = http_open(l->server, HTTP_2, l->key);
    http_once(h, "Accept: application/x-ndjson");
    http_get(h, "/v1/tables/devices/rows");
    EXPECT_STATUS(h, 200);
    const char *at = (const char *)h->body.ptr;
    const char *end = at + h->body.len;
    while (at != NULL && at < end) {
        const char *eol = memchr(at, '\n', (size_t)(end - at));
        ck_assert_ptr_nonnull(eol);
        json_t *row = json_loadb(at, (size_t)(eol - at), 0, NULL);
        ck_assert_ptr_nonnull(row);
        json_object_set_new(all, json_string_value(json_at(row, "/key")),
                            json_incref(json_at(row, "/cells/raw/v/0/value")));
        json_decref(row);
        at = eol + 1;
    }
    http_close(h);
    return all;
}

void disk_load_expect(const struct disk_load *l)
{
    json_t *all = read_all(l);
    char value[VALUE_MAX + 1], row_key[ROW_KEY];
    for (size_t i = 0; i < DISK_LOAD_WRITERS; i++) {
        for (size_t row = 0; row < l->writers[i].rows.len; row++) {
            enum disk_load_state state = (enum disk_load_state)l->writers[i].rows.ptr[row];
            name_row(row_key, i, row);
            make_value(value, row_key, l->value_bytes);
            const char *there = json_string_value(json_object_get(all, row_key));
            ck_assert_msg(there != NULL || state != DISK_LOAD_ACKED,
                          "DATA: %s was acknowledged and lost", row_key);
            ck_assert_msg(there == NULL || state != DISK_LOAD_REFUSED,
                          "DATA: %s was refused and is there", row_key);
            ck_assert_msg(there == NULL || strcmp(there, value) == 0, "DATA: %s is damaged",
                          row_key);
        }
    }
    json_decref(all);
}
