/*
 * cli/cmd_scan.c - rows in key order: GET /v1/tables/{table}/rows, with a filter POST :read;
 * NDJSON.
 *
 * Lines are printed as they arrive; the stream is never held in memory.
 */
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "cli/cells.h"
#include "cli/handlers.h"
#include "cli/http.h"
#include "cli/json_text.h"
#include "cli/lines.h"
#include "cli/out.h"
#include "cli/reads.h"
#include "cli/target.h"
#include "cli/text.h"

#include "base/banned.h"

struct scan {
    const struct cli *cli;
    struct cli_lines lines;
    struct cli_table table;
    size_t rows;
    size_t cells;
};

/* --- answers ----------------------------------------------------------------------------------
 */

static void pass_line(struct slice line)
{
    if (cli_out_is_terminal()) {
        struct buf safe;
        base_buf_init(&safe, CLI_TEXT_BYTES);
        cli_text_json_safe(&safe, line);
        cli_out_bytes(base_buf_slice(&safe));
        base_buf_fini(&safe);
    } else {
        cli_out_bytes(line);
    }
    cli_out_text("\n");
}

/* Returns whether the line is the last one of a read with stats; rows start with "key". */
static bool is_stats(struct slice line)
{
    static const char begin[] = "{\"stats\":";
    return line.len >= sizeof begin - 1 && memcmp(line.ptr, begin, sizeof begin - 1) == 0;
}

static void say_stats(const json_t *line)
{
    static const char *const names[] = {"stats.rows_seen", "stats.rows_returned",
                                        "stats.cells_seen", "stats.cells_returned"};
    json_int_t numbers[4];
    for (size_t i = 0; i < 4; i++)
        numbers[i] = json_integer_value(cli_json_at(line, names[i]));
    cli_say("rows: %" PRId64 " seen, %" PRId64 " given; cells: %" PRId64 " seen, %" PRId64 " given",
            (int64_t)numbers[0], (int64_t)numbers[1], (int64_t)numbers[2], (int64_t)numbers[3]);
}

static enum cli_exit take_line(void *ctx, struct slice line)
{
    struct scan *s = ctx;
    bool stats = is_stats(line);
    if (line.len == 0)
        return CLI_OK;
    s->rows += !stats;
    if (s->cli->config.json) {
        pass_line(line);
        return cli_out_state();
    }
    enum cli_exit e = CLI_OK;
    json_t *row = cli_json_parse(line);
    if (stats)
        say_stats(row);
    else
        e = cli_cells_print(&s->table, row, &s->cells);
    json_decref(row);
    return e;
}

static enum cli_exit take_bytes(void *ctx, struct slice bytes)
{
    struct scan *s = ctx;
    return cli_lines_feed(&s->lines, bytes);
}

/* --- the request ------------------------------------------------------------------------------
 */

static const char *option(const struct cli *cli, const char *name)
{
    return cli_args_value(&cli->args, name);
}

static enum cli_exit check_options(const struct cli *cli, uint64_t *out_limit)
{
    const char *limit = option(cli, "limit");
    *out_limit = 0;
    if (option(cli, "prefix") != NULL &&
        (option(cli, "start") != NULL || option(cli, "end") != NULL))
        return cli_fail(CLI_USAGE, "--prefix and --start/--end exclude each other");
    if (limit != NULL && (base_parse_u64(base_slice_text(limit), out_limit) != ERR_OK ||
                          *out_limit == 0 || *out_limit > INT64_MAX))
        return cli_fail(CLI_USAGE, "--limit takes a number of rows, at least 1");
    return CLI_OK;
}

static void make_query(const struct cli *cli, struct buf *target)
{
    static const char *const same[] = {"prefix", "start", "end", "limit"};
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
        cli_target_query(target, same[i], option(cli, same[i]));
    cli_target_query(target, "order", cli_args_flag(&cli->args, "reverse") ? "desc" : NULL);
    cli_target_query(target, "stats", cli_args_flag(&cli->args, "stats") ? "true" : NULL);
    cli_reads_query(cli, target);
}

/* Adds one range, {"prefix":..} or {"start":..,"end":..}; without options, all rows. */
static bool put_range(const struct cli *cli, json_t *body)
{
    static const char *const bounds[] = {"prefix", "start", "end"};
    json_t *range = json_object();
    bool fits = json_object_set_new(body, "ranges", json_pack("[o]", range)) == 0;
    for (size_t i = 0; fits && i < 3; i++) {
        const char *value = option(cli, bounds[i]);
        if (value != NULL)
            fits = cli_json_set_bytes(range, bounds[i], base_slice_text(value));
    }
    return fits;
}

static enum cli_exit make_body(const struct cli *cli, uint64_t limit, struct buf *out)
{
    json_t *body = json_object();
    enum cli_exit e = cli_reads_filter(cli, "filter", body);
    if (e == CLI_OK)
        e = cli_reads_forms(cli, body);
    bool fits = e == CLI_OK && put_range(cli, body);
    if (fits && cli_args_flag(&cli->args, "reverse"))
        fits = json_object_set_new(body, "order", json_string("desc")) == 0;
    if (fits && cli_args_flag(&cli->args, "stats"))
        fits = json_object_set_new(body, "stats", json_true()) == 0;
    if (fits && limit > 0)
        fits = json_object_set_new(body, "limit", json_integer((json_int_t)limit)) == 0;
    if (fits)
        fits = cli_json_append(out, body, 0);
    if (e == CLI_OK && !fits)
        e = cli_fail(CLI_USAGE, "the filter or the keys do not fit into a request");
    json_decref(body);
    return e;
}

static enum cli_exit run(struct scan *s, struct cli_request *request)
{
    struct cli_answer answer;
    request->accept = "application/x-ndjson";
    request->repeatable = true;
    request->on_bytes = take_bytes;
    request->ctx = s;
    cli_lines_init(&s->lines, CLI_ANSWER_BYTES, take_line, s);
    cli_cells_begin(&s->table);
    enum cli_exit e = cli_http_run(s->cli->http, request, &answer);
    if (e == CLI_OK && s->lines.pending.len > 0)
        e = cli_fail(CLI_UNREACHABLE, "the answer ended within a line");
    cli_table_end(&s->table);
    if (e == CLI_UNREACHABLE && s->rows > 0)
        cli_say("the %zu rows printed so far are not the whole result", s->rows);
    if (e == CLI_OK && cli_out_is_terminal() && cli_err_is_terminal() && !s->cli->config.json)
        cli_say("%zu rows, %zu cells", s->rows, s->cells);
    cli_lines_fini(&s->lines);
    base_buf_fini(&answer.body);
    return e;
}

enum cli_exit cli_scan(struct cli *cli)
{
    struct scan s = {.cli = cli};
    struct buf target;
    struct buf body;
    uint64_t limit = 0;
    enum cli_exit e = check_options(cli, &limit);
    if (e == CLI_OK)
        e = cli_reads_check(cli);
    if (e != CLI_OK)
        return e;
    bool filtered = cli_reads_filtered(cli);
    struct cli_request request = {.method = filtered ? "POST" : "GET", .target = &target};
    base_buf_init(&body, CLI_REQUEST_BYTES);
    cli_target1(&target, filtered ? "/v1/tables/{}:read" : "/v1/tables/{}/rows",
                cli->args.words[0]);
    if (filtered)
        e = make_body(cli, limit, &body);
    else
        make_query(cli, &target);
    if (filtered)
        request.body = base_buf_slice(&body);
    if (e == CLI_OK)
        e = run(&s, &request);
    base_buf_fini(&body);
    base_buf_fini(&target);
    return e;
}
