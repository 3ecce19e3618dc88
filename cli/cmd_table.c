/* cli/cmd_table.c - tables: /v1/tables. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/fields.h"
#include "cli/handlers.h"
#include "cli/http.h"
#include "cli/out.h"
#include "cli/target.h"
#include "cli/text.h"

#include "base/banned.h"

#define TABLE "/v1/tables/{}"

static const struct cli_field TABLE_FIELDS[] = {
    {"table", "id", CLI_FIELD_TEXT, NULL},
    {"families", "families", CLI_FIELD_FAMILIES, NULL},
    {"stored", "usage.stored_bytes", CLI_FIELD_BYTES, NULL},
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

/* The gc rule behind "FAMILY:", NULL when it is none. */
static json_t *parse_rule(const char *rule)
{
    uint64_t number = 0;
    if (strncmp(rule, "max_versions=", 13) == 0 &&
        base_parse_u64(base_slice_text(rule + 13), &number) == ERR_OK && number <= INT64_MAX)
        return json_pack("{s:{s:I}}", "gc", "max_versions", (json_int_t)number);
    if (strncmp(rule, "max_age=", 8) != 0 || !cli_text_parse_seconds(rule + 8, &number))
        return NULL;
    char seconds[32];
    (void)snprintf(seconds, sizeof seconds, "%llus", (unsigned long long)number); /* fits */
    return json_pack("{s:{s:s}}", "gc", "max_age", seconds);
}

static enum cli_exit add_family(json_t *families, const char *word)
{
    size_t len = strcspn(word, ":");
    json_t *family = word[len] == ':' ? parse_rule(word + len + 1) : json_object();
    if (family == NULL || len == 0) {
        json_decref(family);
        return cli_fail(CLI_USAGE,
                        "\"%s\" is no family: FAMILY, FAMILY:max_versions=N or "
                        "FAMILY:max_age=Ns (also m, h, d)",
                        word);
    }
    bool twice = json_object_getn(families, word, len) != NULL;
    if (json_object_setn_new(families, word, len, family) != 0)
        return cli_fail(CLI_USAGE, "\"%s\" is not UTF-8 text", word);
    return twice ? cli_fail(CLI_USAGE, "family \"%.*s\" was named twice", (int)len, word) : CLI_OK;
}

enum cli_exit cli_table_create(struct cli *cli)
{
    json_t *families = json_object();
    enum cli_exit e = CLI_OK;
    for (size_t i = 1; i < cli->args.word_count && e == CLI_OK; i++)
        e = add_family(families, cli->args.words[i]);
    if (e != CLI_OK) {
        json_decref(families);
        return e;
    }
    struct buf target;
    json_t *table = NULL;
    cli_target1(&target, TABLE, cli->args.words[0]);
    e = cli_http_send(cli->http, "PUT", &target, json_pack("{s:o}", "families", families), true,
                      &table);
    if (e == CLI_OK)
        cli_fields_show(cli, TABLE_FIELDS, table);
    return e;
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

enum cli_exit cli_table_delete(struct cli *cli)
{
    struct buf target;
    json_t *answer = NULL;
    cli_target1(&target, TABLE, cli->args.words[0]);
    enum cli_exit e = cli_http_send(cli->http, "DELETE", &target, NULL, true, &answer);
    json_decref(answer);
    if (e == CLI_OK && cli_out_is_terminal() && !cli->config.json)
        cli_out_printf("table deleted\n");
    return e;
}
