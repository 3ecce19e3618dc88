/*
 * cli/cmd_audit.c - the audit trail: GET /v1/admin/audit, or /v1/audit with a tenant's key; NDJSON.
 *
 * Lines are printed or checked as they arrive; the trail is never held in memory.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/audit_chain.h"
#include "cli/bounds.h"
#include "cli/handlers.h"
#include "cli/http.h"
#include "cli/json_text.h"
#include "cli/lines.h"
#include "cli/out.h"
#include "cli/public_key.h"
#include "cli/table.h"
#include "cli/target.h"

#include "base/banned.h"

static const char *option(const struct cli *cli, const char *name)
{
    return cli_args_value(&cli->args, name);
}

/* --- from the server --------------------------------------------------------------------------
 */

static enum cli_exit take_bytes(void *ctx, struct slice bytes)
{
    return cli_lines_feed(ctx, bytes);
}

/* Reads a number option; leaves *out unchanged when the option is missing. */
static enum cli_exit get_number(const struct cli *cli, const char *name, uint64_t *out)
{
    const char *text = option(cli, name);
    if (text == NULL || (base_parse_u64(base_slice_text(text), out) == ERR_OK && *out > 0))
        return CLI_OK;
    return cli_fail(CLI_USAGE, "--%s takes a number of records, at least 1", name);
}

static enum cli_exit read_server(struct cli *cli, struct cli_lines *lines)
{
    struct buf target;
    struct cli_answer answer;
    struct cli_request request = {.method = "GET",
                                  .target = &target,
                                  .accept = "application/x-ndjson",
                                  .repeatable = true,
                                  .on_bytes = take_bytes,
                                  .ctx = lines};
    uint64_t number = 0; /* the server reads the text itself */
    enum cli_exit e = get_number(cli, "from", &number);
    if (e == CLI_OK)
        e = get_number(cli, "limit", &number);
    if (e != CLI_OK)
        return e;
    enum cli_key_kind kind = cli_config_key_kind(&cli->config);
    bool is_own = kind == CLI_KEY_TENANT || kind == CLI_KEY_SERVICE;
    cli_target1(&target, is_own ? "/v1/audit" : "/v1/admin/audit", NULL);
    cli_target_query(&target, "tenant", is_own ? NULL : option(cli, "tenant"));
    cli_target_query(&target, "from", option(cli, "from"));
    cli_target_query(&target, "limit", option(cli, "limit"));
    e = cli_http_run(cli->http, &request, &answer);
    if (e == CLI_OK && lines->pending.len > 0)
        e = cli_fail(CLI_UNREACHABLE, "the answer ended within a line");
    base_buf_fini(&answer.body);
    base_buf_fini(&target);
    return e;
}

/* --- list and export --------------------------------------------------------------------------
 */

static const struct cli_column COLUMNS[] = {
    {"NUMBER", true},  {"TIME", false}, {"ACTION", false},  {"OUTCOME", false}, {"TENANT", false},
    {"TARGET", false}, {"KEY", false},  {"ADDRESS", false}, {"DETAIL", false}};
static const char *const NAMES[] = {"number", "time", "action",  "outcome", "tenant",
                                    "target", "key",  "address", "detail"};
#define KEY_COLUMN   6
#define COLUMN_COUNT (sizeof NAMES / sizeof NAMES[0])

static struct slice kind_of(const json_t *record)
{
    const char *kind = json_string_value(json_object_get(record, "kind"));
    return base_slice_text(kind != NULL ? kind : "-");
}

static enum cli_exit print_row(void *ctx, struct slice line)
{
    char number[24];
    struct slice cells[COLUMN_COUNT];
    json_t *record = cli_json_parse(line);
    const json_t *own = json_object_get(record, "number");
    const json_t *place = own != NULL ? own : json_object_get(record, "tenant_number");
    (void)snprintf(number, sizeof number, "%lld", (long long)json_integer_value(place));
    cells[0] = base_slice_text(number);
    for (size_t i = 1; i < COLUMN_COUNT; i++) {
        const char *text = json_string_value(json_object_get(record, NAMES[i]));
        cells[i] = base_slice_text(text != NULL ? text : "-");
    }
    if (json_is_null(json_object_get(record, "key"))) /* the server itself, or an unknown key */
        cells[KEY_COLUMN] = kind_of(record);
    if (record != NULL)
        cli_table_row(ctx, cells);
    json_decref(record);
    return record != NULL ? cli_out_state()
                          : cli_fail(CLI_REFUSED, "the server's answer makes no sense");
}

static enum cli_exit print_line(void *ctx, struct slice line)
{
    (void)ctx; /* as it is */
    cli_out_bytes(line);
    cli_out_text("\n");
    return cli_out_state();
}

enum cli_exit cli_audit_export(struct cli *cli)
{
    struct cli_lines lines;
    cli_lines_init(&lines, CLI_ANSWER_BYTES, print_line, NULL);
    enum cli_exit e = read_server(cli, &lines);
    cli_lines_fini(&lines);
    return e;
}

enum cli_exit cli_audit_list(struct cli *cli)
{
    struct cli_lines lines;
    struct cli_table table;
    if (cli->config.json)
        return cli_audit_export(cli);
    cli_table_begin(&table, COLUMNS, COLUMN_COUNT);
    cli_lines_init(&lines, CLI_ANSWER_BYTES, print_row, &table);
    enum cli_exit e = read_server(cli, &lines);
    cli_table_end(&table);
    cli_lines_fini(&lines);
    return e;
}

/* --- verify -----------------------------------------------------------------------------------
 */

static enum cli_exit check_line(void *ctx, struct slice line)
{
    json_t *record = cli_json_parse_once(line);
    enum cli_exit e = cli_audit_is_cut(record) ? cli_audit_chain_begin(ctx, line, record)
                                               : cli_audit_chain_take(ctx, record);
    json_decref(record);
    return e;
}

enum cli_exit cli_audit_verify(struct cli *cli)
{
    struct cli_audit_chain chain;
    struct cli_lines lines;
    const char *path = option(cli, "file");
    const char *noted = option(cli, "head");
    const char *pubkey = option(cli, "pubkey");
    cli_audit_chain_init(&chain);
    chain.tenant = option(cli, "tenant");
    chain.has_noted = noted != NULL;
    enum cli_exit e = get_number(cli, "from", &chain.from);
    if (e == CLI_OK && noted != NULL && cli_audit_head_parse(noted, &chain.noted) != ERR_OK)
        e = cli_fail(CLI_USAGE, "--head takes HASH@NUMBER, as verify prints it");
    if (e == CLI_OK && pubkey != NULL)
        e = cli_public_key_read(pubkey, &chain.key);
    if (e == CLI_OK && path == NULL && cli->config.key == NULL)
        e = cli_fail(CLI_USAGE, "no key: set BIGTENT_KEY or use --key-file FILE");
    cli_lines_init(&lines, CLI_ANSWER_BYTES, check_line, &chain);
    if (e == CLI_OK)
        e = path != NULL ? cli_lines_read(&lines, path) : read_server(cli, &lines);
    if (e == CLI_OK && path != NULL && lines.pending.len > 0)
        e = cli_fail(CLI_CHECK_FAILED, "%s ends within a line", path);
    if (e == CLI_OK)
        e = cli_audit_chain_end(&chain);
    cli_lines_fini(&lines);
    cli_audit_chain_fini(&chain);
    return e;
}
