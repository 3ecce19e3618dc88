/*
 * cli/cmd_scan.c - rows in key order: GET /v1/tables/{table}/rows as NDJSON.
 *
 * Lines are printed as they come; the stream is never held.
 */
#include <string.h>

#include "base/text.h"
#include "cli/cells.h"
#include "cli/handlers.h"
#include "cli/http.h"
#include "cli/json_text.h"
#include "cli/lines.h"
#include "cli/out.h"
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

static enum cli_exit take_line(void *ctx, struct slice line)
{
    struct scan *s = ctx;
    if (line.len == 0)
        return CLI_OK;
    s->rows++;
    if (s->cli->config.json) {
        pass_line(line);
        return cli_out_state();
    }
    json_t *row = cli_json_parse(line);
    enum cli_exit e = cli_cells_print(&s->table, row, &s->cells);
    json_decref(row);
    return e;
}

static enum cli_exit take_bytes(void *ctx, struct slice bytes)
{
    struct scan *s = ctx;
    return cli_lines_feed(&s->lines, bytes);
}

static enum cli_exit make_target(const struct cli *cli, struct buf *target)
{
    const char *prefix = cli_args_value(&cli->args, "prefix");
    const char *start = cli_args_value(&cli->args, "start");
    const char *end = cli_args_value(&cli->args, "end");
    const char *limit = cli_args_value(&cli->args, "limit");
    uint64_t number = 0;
    if (prefix != NULL && (start != NULL || end != NULL))
        return cli_fail(CLI_USAGE, "--prefix and --start/--end exclude each other");
    if (limit != NULL && (base_parse_u64(base_slice_text(limit), &number) != ERR_OK || number == 0))
        return cli_fail(CLI_USAGE, "--limit takes a number of rows, at least 1");
    cli_target1(target, "/v1/tables/{}/rows", cli->args.words[0]);
    cli_target_query(target, "prefix", prefix);
    cli_target_query(target, "start", start);
    cli_target_query(target, "end", end);
    cli_target_query(target, "limit", limit);
    return CLI_OK;
}

enum cli_exit cli_scan(struct cli *cli)
{
    struct buf target;
    enum cli_exit e = make_target(cli, &target);
    if (e != CLI_OK)
        return e;
    struct scan s = {.cli = cli};
    struct cli_answer answer;
    struct cli_request request = {
        .method = "GET",
        .target = &target,
        .accept = "application/x-ndjson",
        .repeatable = true,
        .on_bytes = take_bytes,
        .ctx = &s,
    };
    cli_lines_init(&s.lines, CLI_ANSWER_BYTES, take_line, &s);
    cli_cells_begin(&s.table);
    e = cli_http_run(cli->http, &request, &answer);
    if (e == CLI_OK && s.lines.pending.len > 0)
        e = cli_fail(CLI_UNREACHABLE, "the answer ended within a line");
    cli_table_end(&s.table);
    if (e == CLI_UNREACHABLE && s.rows > 0)
        cli_say("the %zu rows printed so far are not the whole result", s.rows);
    if (e == CLI_OK && cli_out_is_terminal() && cli_err_is_terminal() && !cli->config.json)
        cli_say("%zu rows, %zu cells", s.rows, s.cells);
    cli_lines_fini(&s.lines);
    base_buf_fini(&answer.body);
    base_buf_fini(&target);
    return e;
}
