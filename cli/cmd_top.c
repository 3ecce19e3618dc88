/*
 * cli/cmd_top.c - the busiest tenants at this moment: GET /v1/admin/top, as a screen, a table or
 * JSON.
 *
 * Full-screen mode starts after the first answer, so that earlier errors are reported as by any
 * command. Later, when the server is unreachable, busy or silent, the last answer stays on the
 * screen, marked; a refusal ends the program. Messages are held while the screen is shown. Keys are
 * also read while a request waits for its answer.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "cli/handlers.h"
#include "cli/http.h"
#include "cli/interrupt.h"
#include "cli/json_text.h"
#include "cli/out.h"
#include "cli/problem.h"
#include "cli/screen.h"
#include "cli/target.h"
#include "cli/text.h"
#include "cli/top_page.h"

#include "base/banned.h"

#define NS_PER_MS   UINT64_C(1000000)
#define NS_PER_S    UINT64_C(1000000000)
#define CLOCK_MS    1000 /* interval at which the screen's clock is redrawn */
#define STATUS_BUSY 429
#define STATUS_OURS 500 /* statuses from here on are errors of the server */

struct watch {
    struct cli *cli;
    struct cli_top top;
    enum cli_top_order order;
    uint64_t interval_s;
    uint64_t count;     /* requested rows; 0: as many as fit */
    struct buf trouble; /* held messages about the last try */
    uint64_t answer_ns; /* time of the last good answer */
    uint64_t due_ns;    /* time of the next request */
    bool has_screen;
    bool is_stale;
    bool is_paused;
    bool is_over;
};

/* --- options ------------------------------------------------------------------------------------
 */

static enum cli_exit take_options(struct watch *w)
{
    const struct cli_args *args = &w->cli->args;
    const char *interval = cli_args_value(args, "interval");
    const char *count = cli_args_value(args, "count");
    const char *order = cli_args_value(args, "order");
    w->interval_s = CLI_TOP_INTERVAL_DEFAULT_S;
    if (interval != NULL && (!cli_text_parse_seconds(interval, &w->interval_s) ||
                             w->interval_s < 1 || w->interval_s > CLI_TOP_INTERVAL_MAX_S))
        return cli_fail(CLI_USAGE, "--interval takes 1 to %d seconds: N, Ns, Nm, Nh",
                        CLI_TOP_INTERVAL_MAX_S);
    if (count != NULL && (base_parse_u64(base_slice_text(count), &w->count) != ERR_OK ||
                          w->count < 1 || w->count > LIM_TOP_TENANTS))
        return cli_fail(CLI_USAGE, "--count takes a number from 1 to %d", LIM_TOP_TENANTS);
    if (order != NULL && !cli_top_order_parse(order, &w->order))
        return cli_fail(CLI_USAGE, "--order takes ops, bytes, throttled or latency");
    return CLI_OK;
}

static void make_target(const struct watch *w, struct buf *target)
{
    char limit[24];
    uint64_t count = w->count;
    if (count == 0 && w->has_screen) {
        unsigned rows = cli_screen_size().rows;
        count = rows > CLI_TOP_PAGE_HEAD ? rows - CLI_TOP_PAGE_HEAD : 1;
        count = count < LIM_TOP_TENANTS ? count : LIM_TOP_TENANTS;
    }
    (void)snprintf(limit, sizeof limit, "%llu",
                   (unsigned long long)(count > 0 ? count : CLI_TOP_ROWS_DEFAULT));
    cli_target1(target, "/v1/admin/top", NULL);
    cli_target_query(target, "order", cli_top_order_word(w->order));
    cli_target_query(target, "limit", limit);
}

/* --- one answer ---------------------------------------------------------------------------------
 */

static enum cli_exit take_answer(struct watch *w, json_t *doc)
{
    if (!cli_top_read(&w->top, doc))
        return cli_fail(CLI_REFUSED, "%s answered with something that is no list of tenants",
                        w->cli->config.url);
    cli_top_sort(&w->top, w->order);
    w->answer_ns = base_monotonic_ns();
    return CLI_OK;
}

static enum cli_exit ask(struct watch *w)
{
    struct buf target;
    json_t *doc = NULL;
    make_target(w, &target);
    enum cli_exit e = cli_http_get(w->cli->http, &target, &doc);
    return e == CLI_OK ? take_answer(w, doc) : e;
}

static enum cli_exit print_table(struct watch *w)
{
    struct cli_table table;
    struct buf cells[CLI_TOP_COLUMNS];
    struct slice texts[CLI_TOP_COLUMNS];
    cli_table_begin(&table, CLI_TOP_HEADERS, CLI_TOP_COLUMNS);
    for (size_t c = 0; c < CLI_TOP_COLUMNS; c++)
        base_buf_init(&cells[c], CLI_ANSWER_BYTES);
    for (size_t i = 0; i < w->top.count; i++) {
        for (size_t c = 0; c < CLI_TOP_COLUMNS; c++) {
            base_buf_truncate(&cells[c], 0);
            cli_top_cell(&cells[c], &w->top, &w->top.rows[i], c, cli_out_is_terminal());
            texts[c] = base_buf_slice(&cells[c]);
        }
        cli_table_row(&table, texts);
    }
    cli_table_end(&table);
    for (size_t c = 0; c < CLI_TOP_COLUMNS; c++)
        base_buf_fini(&cells[c]);
    return cli_out_state();
}

static enum cli_exit print_json(struct watch *w, bool once)
{
    for (;;) {
        struct buf target;
        json_t *doc = NULL;
        make_target(w, &target);
        enum cli_exit e = cli_http_get(w->cli->http, &target, &doc);
        if (e != CLI_OK)
            return e;
        cli_json_print(doc);
        json_decref(doc);
        e = cli_out_flush(); /* a reader of the output wants each answer at once */
        if (e != CLI_OK || once)
            return e;
        if (!cli_sleep_ms(w->interval_s * (NS_PER_S / NS_PER_MS)))
            return CLI_INTERRUPTED;
    }
}

/* --- the screen ---------------------------------------------------------------------------------
 */

/* Returns the first message, without "bigtent: ". */
static struct slice first_trouble(const struct watch *w)
{
    static const char prefix[] = "bigtent: ";
    struct slice text = base_buf_slice(&w->trouble);
    const uint8_t *end = text.len > 0 ? memchr(text.ptr, '\n', text.len) : NULL;
    if (end != NULL)
        text.len = (size_t)(end - text.ptr);
    bool has_prefix = base_slice_starts_with(text, base_slice(prefix, sizeof prefix - 1));
    return has_prefix ? base_slice_skip(text, sizeof prefix - 1) : text;
}

static enum cli_exit draw(const struct watch *w)
{
    struct buf text;
    const struct cli_top_page page = {
        .top = &w->top,
        .order = w->order,
        .interval_s = w->interval_s,
        .wall_us = base_wall_us(),
        .age_s = (base_monotonic_ns() - w->answer_ns) / NS_PER_S,
        .is_paused = w->is_paused,
        .is_stale = w->is_stale,
        .trouble = first_trouble(w),
    };
    base_buf_init(&text, CLI_SCREEN_BYTES);
    cli_top_page_put(&text, &page, cli_screen_size());
    enum cli_exit e = cli_screen_draw(base_buf_slice(&text));
    base_buf_fini(&text);
    return e;
}

static void order_by(struct watch *w, enum cli_top_order order)
{
    w->order = order;
    w->due_ns = 0; /* the new order may list other tenants */
    cli_top_sort(&w->top, order);
}

static void take_key(struct watch *w, int key)
{
    switch (key) {
    case 'q':
        w->is_over = true;
        break;
    case ' ':
        w->is_paused = !w->is_paused;
        w->due_ns = 0;
        break;
    case 'o':
        order_by(w, CLI_TOP_OPS);
        break;
    case 'b':
        order_by(w, CLI_TOP_BYTES);
        break;
    case 't':
        order_by(w, CLI_TOP_THROTTLED);
        break;
    case 'l':
        order_by(w, CLI_TOP_LATENCY);
        break;
    default:
        break; /* drawing the page reads the new size */
    }
}

/* Handles keys while a request waits for its answer. */
static bool goes_on(void *ctx)
{
    struct watch *w = ctx;
    bool changed = false;
    for (int key; !w->is_over && (key = cli_screen_key(0)) != CLI_SCREEN_NOTHING; changed = true)
        take_key(w, key);
    return !w->is_over && (!changed || draw(w) == CLI_OK);
}

/* Requests a new answer; any result but CLI_OK ends the screen. */
static enum cli_exit look_again(struct watch *w)
{
    struct buf target;
    struct cli_answer answer;
    make_target(w, &target);
    struct cli_request request = {.method = "GET",
                                  .target = &target,
                                  .repeatable = true,
                                  .any_status = true,
                                  .timeout_ms = CLI_TOP_WAIT_MS,
                                  .goes_on = goes_on,
                                  .ctx = w};
    size_t old = w->trouble.len; /* shown until the answer arrives */
    w->due_ns = base_monotonic_ns() + w->interval_s * NS_PER_S;
    enum cli_exit e = cli_http_run(w->cli->http, &request, &answer);
    base_buf_fini(&target);
    bool may_pass = e == CLI_UNREACHABLE;
    if (e == CLI_OK && (answer.status < 200 || answer.status >= 300)) {
        may_pass = answer.status == STATUS_BUSY || answer.status >= STATUS_OURS;
        e = cli_problem_answer(&w->cli->config, answer.status, base_buf_slice(&answer.body));
    } else if (e == CLI_OK) {
        e = take_answer(w, cli_json_parse(base_buf_slice(&answer.body)));
    }
    base_buf_fini(&answer.body);
    base_buf_consume(&w->trouble, old);
    w->is_stale = may_pass;
    return may_pass ? CLI_OK : e;
}

static uint64_t wait_ms(const struct watch *w)
{
    uint64_t now_ns = base_monotonic_ns();
    if (w->is_paused || w->due_ns >= now_ns + CLOCK_MS * NS_PER_MS)
        return CLOCK_MS;
    return w->due_ns > now_ns ? (w->due_ns - now_ns) / NS_PER_MS + 1 : 0;
}

static enum cli_exit watch(struct watch *w)
{
    enum cli_exit e = draw(w);
    while (e == CLI_OK && !w->is_over) {
        take_key(w, cli_screen_key(wait_ms(w)));
        if (cli_interrupted())
            return CLI_INTERRUPTED;
        if (!w->is_over && !w->is_paused && base_monotonic_ns() >= w->due_ns)
            e = look_again(w);
        if (e == CLI_OK && !w->is_over)
            e = draw(w);
    }
    if (e == CLI_INTERRUPTED && !cli_interrupted()) /* goes_on aborted a request */
        e = w->is_over ? CLI_OK : cli_out_state();
    return e;
}

/* Prints the held messages after the screen is closed. */
static void say_trouble(struct watch *w)
{
    while (w->trouble.len > 0) {
        struct slice line = first_trouble(w);
        size_t len = (size_t)(line.ptr + line.len - w->trouble.ptr);
        cli_say("%.*s", SLICE_ARGS(line));
        base_buf_consume(&w->trouble, len < w->trouble.len ? len + 1 : len);
    }
}

static enum cli_exit show_screen(struct watch *w)
{
    w->has_screen = true;
    enum cli_exit e = ask(w);
    if (e != CLI_OK)
        return e;
    w->due_ns = w->answer_ns + w->interval_s * NS_PER_S;
    base_buf_init(&w->trouble, CLI_PROBLEM_BYTES);
    cli_say_hold(&w->trouble);
    cli_screen_open();
    e = watch(w);
    cli_screen_close();
    cli_say_hold(NULL);
    if (e != CLI_OK && e != CLI_INTERRUPTED)
        say_trouble(w);
    base_buf_fini(&w->trouble);
    return e;
}

enum cli_exit cli_top(struct cli *cli)
{
    struct watch w = {.cli = cli};
    bool once = cli_args_flag(&cli->args, "once");
    enum cli_exit e = take_options(&w);
    if (e == CLI_OK && cli->config.json) {
        e = print_json(&w, once);
    } else if (e == CLI_OK && (once || !cli_screen_is_possible())) {
        e = ask(&w);
        if (e == CLI_OK)
            e = print_table(&w);
    } else if (e == CLI_OK) {
        e = show_screen(&w);
    }
    cli_top_fini(&w.top);
    return e;
}
