/*
 * tests/support/disk_end.c - checks a server whose storage engine failed, and its exit code.
 *
 * While its end is held, the process can end in one way only: RocksDB aborts it. So a request
 * without an answer means an abort, and the exit code must be ABORTED; the main thread's own code,
 * 3, would mean that the end was not held. Bigtent's own invariants abort as well, but without
 * libc's text "Assertion `" in the log.
 */
#include "tests/support/disk_end.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/scrape.h"

#include "base/banned.h"

#define END_MS    60000
#define REASON_MS 1500
#define STATES    4

static const char *const NAMES[STATES] = {"ok", "full", "read_only", "failed"};

/* These functions return false when no answer arrived. */

static bool is_not_ready(void *h)
{
    return !http_try(h, "GET", "/readyz", SLICE_EMPTY) || ((struct http *)h)->status != 200;
}

static bool await_not_ready(const struct server *s, struct http *h, const char *state)
{
    process_await(is_not_ready, h, "/readyz to say that the engine failed");
    if (h->transport != CURLE_OK)
        return false;
    EXPECT_STATUS(h, 503);
    ck_assert_str_eq(http_string(h, "/status"), "not_ready");
    if (strcmp(http_string(h, "/storage"), state) != 0) {
        process_sleep_ms(REASON_MS); /* the log has the reason soon */
        server_show_log(s);
        ck_abort_msg("the storage is %s, not %s", http_string(h, "/storage"), state);
    }
    ck_assert_ptr_null(strstr(http_text(h), s->root)); /* answers disclose no path */
    ck_assert_ptr_nonnull(strstr(http_string(h, "/reason"), "the server ends"));
    return true;
}

static bool look_at_metrics(struct http *op, const char *state)
{
    if (!scrape_try(op))
        return false;
    ck_assert_str_eq(scrape_value("bigtent_engine_failed"), "1");
    for (size_t i = 0; i < STATES; i++) {
        char series[64];
        (void)snprintf(series, sizeof(series), "bigtent_storage_state{state=\"%s\"}", NAMES[i]);
        ck_assert_msg(strcmp(scrape_value(series), strcmp(NAMES[i], state) == 0 ? "1" : "0") == 0,
                      "%s is \"%s\", of a disk that is %s", series, scrape_value(series), state);
    }
    return true;
}

/* Checks that a request is refused with a message; a request that waited for a
 * failed engine would have no answer. */
static bool expect_refused(const struct server *s, struct http *h, const char *method,
                           struct slice body)
{
    if (!http_try(h, method, "/v1/tables/devices/rows/behind-the-end", body))
        return false;
    EXPECT_PROBLEM(h, 503, "unavailable");
    ck_assert_str_eq(http_string(h, "/detail"), "the storage engine has stopped after a failure");
    ck_assert_ptr_null(strstr(http_text(h), s->root));
    return true;
}

void disk_end_check(const struct server *s, int code)
{
    if (code == ENGINE_FAILED || (code == ABORTED && server_log_says(s, "Assertion `")))
        return;
    server_show_log(s);
    ck_abort_msg("bigtentd ended with %d", code);
}

int disk_end_expect(struct disk *d, struct server *s, struct world *w, const char *state)
{
    bool looked = await_not_ready(s, w->http, state) && look_at_metrics(w->op, state) &&
                  expect_refused(s, w->http, "PUT", SLICE_LIT("{\"raw\":{\"v\":\"x\"}}")) &&
                  expect_refused(s, w->http, "GET", SLICE_EMPTY);
    if (looked)
        disk_let_end(d);
    int code = server_wait_end(s, END_MS);
    disk_let_end(d);
    disk_end_check(s, code);
    char line[64];
    (void)snprintf(line, sizeof(line), "engine_failed storage=%s", state);
    ck_assert_msg(looked || code == ABORTED, "no answer, and then exit %d", code);
    ck_assert_msg(code == ABORTED || server_log_says(s, line), "no %s", line);
    return code;
}
