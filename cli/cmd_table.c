/* cli/cmd_table.c - tables: /v1/tables. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "cli/ask.h"
#include "cli/chunk.h"
#include "cli/families.h"
#include "cli/fields.h"
#include "cli/handlers.h"
#include "cli/http.h"
#include "cli/json_text.h"
#include "cli/out.h"
#include "cli/target.h"
#include "cli/text.h"

#include "base/banned.h"

#define TABLE "/v1/tables/{}"

static const struct cli_field TABLE_FIELDS[] = {
    {"table", "id", CLI_FIELD_TEXT, NULL},
    {"version", "version", CLI_FIELD_COUNT, NULL},
    {"families", "families", CLI_FIELD_FAMILIES, NULL},
    {"protected", "deletion_protection", CLI_FIELD_TEXT, NULL},
    {"notes", "row_key_notes", CLI_FIELD_TEXT, NULL},
    {"changes kept", "change_stream_retention", CLI_FIELD_TEXT, NULL},
    {"stored", "usage.stored_bytes", CLI_FIELD_BYTES, NULL},
    {"uncollected", "usage.uncollected_bytes", CLI_FIELD_BYTES, NULL},
    {"rows", "usage.rows", CLI_FIELD_COUNT, NULL},
    {"cells", "usage.cells", CLI_FIELD_COUNT, NULL},
    {NULL, NULL, CLI_FIELD_TEXT, NULL},
};

static const struct cli_field TABLE_COLUMNS[] = {
    {"TABLE", "id", CLI_FIELD_TEXT, NULL},
    {"STORED", "usage.stored_bytes", CLI_FIELD_BYTES, NULL},
    {"ROWS", "usage.rows", CLI_FIELD_COUNT, NULL},
    {"CELLS", "usage.cells", CLI_FIELD_COUNT, NULL},
    {"FAMILIES", "families", CLI_FIELD_FAMILIES, NULL},
    {NULL, NULL, CLI_FIELD_TEXT, NULL},
};

enum cli_exit cli_table_list(struct cli *cli)
{
    struct buf target;
    cli_target1(&target, "/v1/tables", NULL);
    return cli_fields_list(cli, TABLE_COLUMNS, &target, "tables");
}

/* Sends body, which it takes, and prints the returned table. */
static enum cli_exit send_table(struct cli *cli, const char *method, const char *path, json_t *body,
                                bool repeatable)
{
    struct buf target;
    json_t *table = NULL;
    cli_target1(&target, path, cli->args.words[0]);
    enum cli_exit e = cli_http_send(cli->http, method, &target, body, repeatable, &table);
    if (e == CLI_OK)
        cli_fields_show(cli, TABLE_FIELDS, table);
    return e;
}

static enum cli_exit add_split(json_t *body, struct slice key)
{
    if (key.len == 0)
        return cli_fail(CLI_USAGE, "a row key to split at has at least one byte");
    if (!cli_json_append_bytes(body, "splits", key))
        return cli_fail(CLI_USAGE, "the row keys to split at do not fit into a request");
    return CLI_OK;
}

/* Adds a row key for each line, byte by byte; skips empty lines. */
static enum cli_exit add_splits_file(json_t *body, const char *path)
{
    struct cli_input in;
    struct cli_chunk chunk;
    enum cli_exit e = cli_input_open(&in, path);
    if (e != CLI_OK)
        return e;
    size_t count = 0;
    cli_chunk_init(&chunk);
    do {
        e = cli_chunk_fill(&chunk, &in);
        count += chunk.count;
        if (e == CLI_OK && count > LIM_SPLITS)
            e = cli_fail(CLI_USAGE, "%s has more than %d row keys", in.name, LIM_SPLITS);
        for (size_t i = 0; i < chunk.count && e == CLI_OK; i++)
            e = add_split(body, cli_chunk_line(&chunk, i));
    } while (e == CLI_OK && chunk.count > 0);
    if (e == CLI_OK)
        e = in.failed;
    cli_chunk_fini(&chunk);
    cli_input_close(&in);
    return e;
}

static enum cli_exit add_splits(const struct cli *cli, json_t *body)
{
    const char *path = cli_args_value(&cli->args, "splits-file");
    enum cli_exit e = path == NULL ? CLI_OK : add_splits_file(body, path);
    for (size_t i = 0; i < cli->args.given_count && e == CLI_OK; i++) {
        const struct cli_given *g = &cli->args.given[i];
        if (strcmp(g->option->name, "split") == 0)
            e = add_split(body, base_slice_text(g->value));
    }
    return e;
}

/* Adds the retention; null disables the stream. */
static enum cli_exit add_retention(const struct cli *cli, json_t *body)
{
    const char *text = cli_args_value(&cli->args, "change-stream-retention");
    char seconds[32];
    uint64_t number = 0;
    if (text == NULL)
        return CLI_OK;
    bool is_none = strcmp(text, "none") == 0;
    if (!is_none && !cli_text_parse_seconds(text, &number))
        return cli_fail(CLI_USAGE, "--change-stream-retention takes Ns, Nm, Nh, Nd, or none");
    (void)snprintf(seconds, sizeof seconds, "%" PRIu64 "s", number); /* fits */
    json_object_set_new(body, "change_stream_retention",
                        is_none ? json_null() : json_string(seconds));
    return CLI_OK;
}

static enum cli_exit add_notes(const struct cli *cli, json_t *body)
{
    const char *notes = cli_args_value(&cli->args, "notes");
    if (notes != NULL && json_object_set_new(body, "row_key_notes", json_string(notes)) != 0)
        return cli_fail(CLI_USAGE, "--notes is not UTF-8 text");
    return CLI_OK;
}

enum cli_exit cli_table_create(struct cli *cli)
{
    bool protect = cli_args_flag(&cli->args, "protect");
    if (protect && cli_args_flag(&cli->args, "no-protect"))
        return cli_fail(CLI_USAGE, "--protect and --no-protect do not go together");
    json_t *families = json_object();
    json_t *body = json_pack("{s:o}", "families", families);
    enum cli_exit e = CLI_OK;
    for (size_t i = 1; i < cli->args.word_count && e == CLI_OK; i++)
        e = cli_families_add(families, cli->args.words[i]);
    if (protect || cli_args_flag(&cli->args, "no-protect"))
        json_object_set_new(body, "deletion_protection", json_boolean(protect));
    if (e == CLI_OK)
        e = add_notes(cli, body);
    if (e == CLI_OK)
        e = add_retention(cli, body);
    if (e == CLI_OK)
        e = add_splits(cli, body);
    if (e != CLI_OK) {
        json_decref(body);
        return e;
    }
    /* A table is split once: a retry would be refused because of the first attempt. */
    bool is_split =
        json_object_get(body, "splits") != NULL || json_object_get(body, "splits_b64") != NULL;
    return send_table(cli, "PUT", TABLE, body, !is_split);
}

/* Adds one --create, --update or --drop. */
static enum cli_exit add_change(json_t *body, const char *option, const char *value)
{
    bool is_drop = strcmp(option, "drop") == 0;
    json_t *member = json_object_get(body, option);
    if (member == NULL) {
        member = is_drop ? json_array() : json_object();
        json_object_set_new(body, option, member);
    }
    if (!is_drop)
        return cli_families_add(member, value);
    if (json_array_append_new(member, json_string(value)) != 0)
        return cli_fail(CLI_USAGE, "--drop is not UTF-8 text");
    return CLI_OK;
}

enum cli_exit cli_table_change(struct cli *cli)
{
    static const char *const changes[] = {"create", "update", "drop"};
    json_t *body = json_object();
    enum cli_exit e = CLI_OK;
    for (size_t i = 0; i < cli->args.given_count && e == CLI_OK; i++) {
        const struct cli_given *g = &cli->args.given[i];
        for (size_t k = 0; k < 3 && e == CLI_OK; k++)
            if (strcmp(g->option->name, changes[k]) == 0)
                e = add_change(body, changes[k], g->value);
    }
    if (e == CLI_OK && json_object_size(body) == 0)
        e = cli_fail(CLI_USAGE, "nothing to change: give --create, --update or --drop");
    if (e != CLI_OK) {
        json_decref(body);
        return e;
    }
    return send_table(cli, "POST", TABLE ":families", body, false);
}

enum cli_exit cli_table_show(struct cli *cli)
{
    struct buf target;
    json_t *table = NULL;
    cli_target1(&target, TABLE, cli->args.words[0]);
    enum cli_exit e = cli_http_get(cli->http, &target, &table);
    if (e == CLI_OK)
        cli_fields_show(cli, TABLE_FIELDS, table);
    return e;
}

enum cli_exit cli_table_samples(struct cli *cli)
{
    static const struct cli_field columns[] = {
        {"OFFSET", "offset_bytes", CLI_FIELD_BYTES, NULL},
        {"KEY", "key", CLI_FIELD_KEY, NULL},
        {NULL, NULL, CLI_FIELD_TEXT, NULL},
    };
    const char *bytes = cli_args_value(&cli->args, "bytes");
    char number[24];
    uint64_t size = 0;
    if (bytes != NULL && (!cli_text_parse_size(bytes, &size) || size == 0))
        return cli_fail(CLI_USAGE, "--bytes takes a size of at least 1: N, NK, NM, NG, NT");
    (void)snprintf(number, sizeof number, "%" PRIu64, size);
    struct buf target;
    cli_target1(&target, TABLE ":samples", cli->args.words[0]);
    cli_target_query(&target, "bytes", bytes != NULL ? number : NULL);
    return cli_fields_list(cli, columns, &target, "samples");
}

enum cli_exit cli_table_delete(struct cli *cli)
{
    struct buf target;
    json_t *answer = NULL;
    const char *table = cli->args.words[0];
    enum cli_exit e =
        cli_args_flag(&cli->args, "yes") ? CLI_OK : cli_ask_table("every row and cell", table);
    if (e != CLI_OK)
        return e;
    cli_target1(&target, TABLE, table);
    e = cli_http_send(cli->http, "DELETE", &target, NULL, true, &answer);
    json_decref(answer);
    if (e == CLI_OK && cli_out_is_terminal() && !cli->config.json)
        cli_out_printf("table deleted\n");
    return e;
}
