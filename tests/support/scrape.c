/*
 * tests/support/scrape.c - reads /metrics in tests.
 */
#include "tests/support/scrape.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/text.h"
#include "tests/support/process.h"

#include "base/banned.h"

/* Starts with a line feed, so that every line is between two. */
static char page[8 * MIB] = "\n";

bool scrape_try(struct http *op)
{
    if (!http_try(op, "GET", "/metrics", SLICE_EMPTY))
        return false;
    EXPECT_STATUS(op, 200);
    ck_assert_uint_lt(op->body.len, sizeof page - 1);
    memcpy(page + 1, op->body.ptr, op->body.len);
    page[1 + op->body.len] = '\0';
    return true;
}

void scrape(struct http *op)
{
    ck_assert_msg(scrape_try(op), "/metrics: %s", op->error);
}

const char *scrape_page(void)
{
    return page + 1;
}

const char *scrape_value(const char *series)
{
    static char out[64];
    char line[512];
    int len = snprintf(line, sizeof line, "\n%s ", series);
    const char *at = strstr(page, line);
    if (at == NULL)
        return "";
    at += len;
    (void)snprintf(out, sizeof out, "%.*s", (int)strcspn(at, "\n"), at);
    return out;
}

uint64_t scrape_seen(const char *series)
{
    uint64_t number = 0;
    const char *text = scrape_value(series);
    if (text[0] != '\0')
        ck_assert_msg(base_parse_u64(base_slice_text(text), &number) == ERR_OK, "%s is %s", series,
                      text);
    return number;
}

uint64_t scrape_number(struct http *op, const char *series)
{
    scrape(op);
    return scrape_seen(series);
}

struct expected {
    struct http *op;
    const char *series;
    uint64_t wanted;
    uint64_t found;
    char what[512]; /* with the last value found */
};

static bool is_reached(void *arg)
{
    struct expected *e = arg;
    e->found = scrape_number(e->op, e->series);
    (void)snprintf(e->what, sizeof e->what, "%s: it is %lu, not %lu", e->series,
                   (unsigned long)e->found, (unsigned long)e->wanted);
    return e->found >= e->wanted;
}

void scrape_expect(struct http *op, const char *series, uint64_t wanted)
{
    struct expected e = {.op = op, .series = series, .wanted = wanted};
    process_await(is_reached, &e, e.what);
    ck_assert_msg(e.found == wanted, "%s", e.what);
}
