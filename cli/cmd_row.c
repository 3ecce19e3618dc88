/* cli/cmd_row.c - single rows and drops: /v1/tables/{table}/rows/{key}, :drop. */
#include "cli/ask.h"
#include "cli/cells.h"
#include "cli/fields.h"
#include "cli/handlers.h"
#include "cli/http.h"
#include "cli/json_text.h"
#include "cli/out.h"
#include "cli/reads.h"
#include "cli/row_numbers.h"
#include "cli/target.h"

#include "base/banned.h"

#define ROW "/v1/tables/{}/rows/{}"

enum cli_exit cli_row_target(const struct cli *cli, const char *pattern, struct buf *target)
{
    if (cli->args.words[1][0] == '\0')
        return cli_fail(CLI_USAGE, "a row key has at least one byte");
    cli_target2(target, pattern, cli->args.words[0], cli->args.words[1]);
    return CLI_OK;
}

/* Reads one row with POST :read. */
static enum cli_exit get_filtered(struct cli *cli, json_t **out)
{
    struct buf target;
    json_t *answer = NULL;
    json_t *keys = json_object();
    json_t *body = json_pack("{s:[o]}", "ranges", keys);
    struct slice key = base_slice_text(cli->args.words[1]);
    enum cli_exit e = cli_reads_filter(cli, "filter", body);
    if (e == CLI_OK)
        e = cli_reads_forms(cli, body);
    if (e == CLI_OK &&
        !(cli_json_set_bytes(keys, "start", key) && cli_json_set_bytes(keys, "end_closed", key)))
        e = cli_fail(CLI_USAGE, "the row key does not fit into a request");
    if (e != CLI_OK) {
        json_decref(body);
        return e;
    }
    cli_target1(&target, "/v1/tables/{}:read", cli->args.words[0]);
    e = cli_http_send(cli->http, "POST", &target, body, true, &answer);
    *out = json_incref(json_array_get(json_object_get(answer, "rows"), 0));
    json_decref(answer);
    if (e == CLI_OK && *out == NULL)
        e = cli_fail(CLI_NOT_FOUND, "there is no such row, or the filter gives no cell of it");
    return e;
}

enum cli_exit cli_row_get(struct cli *cli)
{
    struct buf target;
    json_t *row = NULL;
    enum cli_exit e = cli_reads_check(cli);
    if (e != CLI_OK)
        return e;
    e = cli_row_target(cli, ROW, &target);
    if (e == CLI_OK && cli_reads_filtered(cli)) {
        base_buf_fini(&target);
        e = get_filtered(cli, &row);
    } else if (e == CLI_OK) {
        cli_reads_query(cli, &target);
        e = cli_http_get(cli->http, &target, &row);
    }
    if (e == CLI_OK)
        e = cli_cells_show(cli->config.json, row);
    json_decref(row);
    return e;
}

/* Sends the row and prints its timestamp. Takes body. */
static enum cli_exit write_row(struct cli *cli, const char *method, json_t *body)
{
    static const struct cli_field fields[] = {
        {"timestamp", "timestamp", CLI_FIELD_MICROS, NULL},
        {NULL, NULL, CLI_FIELD_TEXT, NULL},
    };
    struct buf target;
    json_t *answer = NULL;
    enum cli_exit e = cli_row_target(cli, ROW, &target);
    if (e == CLI_OK)
        e = cli_http_send(cli->http, method, &target, body, true, &answer);
    else
        json_decref(body);
    if (e == CLI_OK)
        cli_fields_show(cli, fields, answer);
    return e;
}

static enum cli_exit write_cells(struct cli *cli, const char *method)
{
    json_t *body = NULL;
    enum cli_exit e = cli_cells_from_words(cli->args.words + 2, cli->args.word_count - 2, &body);
    if (e != CLI_OK)
        return e;
    e = cli_row_numbers(cli, cli->args.words[0], body);
    if (e == CLI_OK)
        return write_row(cli, method, body);
    json_decref(body);
    return e;
}

enum cli_exit cli_row_put(struct cli *cli)
{
    return write_cells(cli, "PUT");
}

enum cli_exit cli_row_set(struct cli *cli)
{
    return write_cells(cli, "PATCH");
}

enum cli_exit cli_row_delete(struct cli *cli)
{
    if (cli->args.word_count > 2) {
        json_t *body = NULL;
        enum cli_exit e = cli_cells_deletion(cli->args.words + 2, cli->args.word_count - 2, &body);
        return e == CLI_OK ? write_row(cli, "PATCH", body) : e;
    }
    struct buf target;
    json_t *answer = NULL;
    enum cli_exit e = cli_row_target(cli, ROW, &target);
    if (e == CLI_OK)
        e = cli_http_send(cli->http, "DELETE", &target, NULL, true, &answer);
    json_decref(answer);
    if (e == CLI_OK && cli_out_is_terminal() && !cli->config.json)
        cli_out_text("row deleted\n");
    return e;
}

/* --- drop -------------------------------------------------------------------------------------
 */

static json_t *drop_body(const char *prefix, bool dry_run)
{
    json_t *body = json_object();
    bool fits = prefix != NULL ? cli_json_set_bytes(body, "prefix", base_slice_text(prefix))
                               : json_object_set_new(body, "all", json_true()) == 0;
    if (fits && dry_run)
        fits = json_object_set_new(body, "dry_run", json_true()) == 0;
    if (fits)
        return body;
    json_decref(body);
    return NULL;
}

enum cli_exit cli_row_drop(struct cli *cli)
{
    static const struct cli_field fields[] = {
        {"rows dropped", "removed.rows", CLI_FIELD_COUNT, NULL},
        {"cells", "removed.cells", CLI_FIELD_COUNT, NULL},
        {"stored", "removed.stored_bytes", CLI_FIELD_BYTES, NULL},
        {"rows to drop", "would_remove.rows", CLI_FIELD_COUNT, NULL},
        {"cells", "would_remove.cells", CLI_FIELD_COUNT, NULL},
        {"stored", "would_remove.stored_bytes", CLI_FIELD_BYTES, NULL},
        {NULL, NULL, CLI_FIELD_TEXT, NULL},
    };
    const char *table = cli->args.words[0];
    const char *prefix = cli_args_value(&cli->args, "prefix");
    bool all = cli_args_flag(&cli->args, "all");
    bool dry_run = cli_args_flag(&cli->args, "dry-run");
    if ((prefix != NULL) == all)
        return cli_fail(CLI_USAGE, "say which rows: --prefix P or --all");
    if (prefix != NULL && prefix[0] == '\0')
        return cli_fail(CLI_USAGE, "an empty prefix means every row; if so, say --all");
    if (all && !dry_run && !cli_args_flag(&cli->args, "yes")) {
        enum cli_exit e = cli_ask_table("every row", table);
        if (e != CLI_OK)
            return e;
    }
    json_t *body = drop_body(prefix, dry_run);
    if (body == NULL)
        return cli_fail(CLI_USAGE, "the prefix does not fit into a request");
    struct buf target;
    json_t *answer = NULL;
    cli_target1(&target, "/v1/tables/{}:drop", table);
    enum cli_exit e = cli_http_send(cli->http, "POST", &target, body, true, &answer);
    if (e == CLI_OK)
        cli_fields_show(cli, fields, answer);
    return e;
}
