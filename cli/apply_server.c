/* cli/apply_server.c - see apply_server.h. */
#include "cli/apply_server.h"

#include <stdio.h>
#include <string.h>

#include "cli/http.h"
#include "cli/out.h"

#include "base/banned.h"

/* Returns whether the file names the tenant only as the owner of its tables. */
static bool is_only_a_place(const struct cli_apply_item *item)
{
    return item->kind == CLI_APPLY_TENANT && json_object_size(item->doc) == 1;
}

static const struct cli_apply_item *first_of_admin(const struct cli_apply *a)
{
    for (size_t i = 0; i < a->count; i++)
        if (a->items[i].kind != CLI_APPLY_TABLE && !is_only_a_place(&a->items[i]))
            return &a->items[i];
    return NULL;
}

static const struct cli_apply_item *first_table(const struct cli_apply *a)
{
    for (size_t i = 0; i < a->count; i++)
        if (a->items[i].kind == CLI_APPLY_TABLE)
            return &a->items[i];
    return NULL;
}

static enum cli_exit open_second(struct cli_apply_server *s, const char *key_file)
{
    s->own_config = s->cli->config;
    s->own_config.key = NULL;
    s->own_config.tenant = NULL;
    enum cli_exit e = cli_config_read_key(key_file, &s->own_config);
    if (e == CLI_OK)
        e = cli_http_open(&s->own_config, &s->own_http);
    s->tables = s->own_http;
    s->tables_config = &s->own_config;
    return e;
}

enum cli_exit cli_apply_server_open(struct cli_apply_server *s, struct cli *cli,
                                    struct cli_apply *a)
{
    memset(s, 0, sizeof *s);
    s->cli = cli;
    bool is_operator = cli_config_key_kind(&cli->config) == CLI_KEY_OPERATOR;
    const char *key_file = cli_args_value(&cli->args, "tables-key-file");
    const struct cli_apply_item *admin = first_of_admin(a);
    const struct cli_apply_item *table = first_table(a);
    if (is_operator)
        s->admin = cli->http;
    else if (admin != NULL || table == NULL || key_file != NULL)
        return cli_fail(CLI_USAGE, "all but tables needs an operator key, and this is none");
    if (table == NULL)
        return CLI_OK;
    if (key_file != NULL)
        return open_second(s, key_file);
    if (is_operator)
        return cli_fail(CLI_USAGE,
                        "%s:%u:%u: an operator key manages no tables: give a service key with "
                        "table.admin by --tables-key-file FILE",
                        table->at.file, table->at.line, table->at.column);
    s->tables = cli->http;
    s->tables_config = &cli->config;
    return CLI_OK;
}

void cli_apply_server_close(struct cli_apply_server *s)
{
    if (s->cli == NULL)
        return;
    cli_apply_server_about(s, NULL);
    cli_http_close(s->own_http);
    s->own_config.url = NULL; /* borrowed from the first configuration */
    cli_config_fini(&s->own_config);
}

void cli_apply_server_about(struct cli_apply_server *s, const struct cli_apply_item *item)
{
    const char *about = item != NULL ? s->about : NULL;
    const char *tenant = item != NULL ? item->tenant : NULL;
    if (item != NULL)
        (void)snprintf(s->about, sizeof s->about, "%.200s:%u:%u: %s \"%.130s\"", item->at.file,
                       item->at.line, item->at.column, cli_apply_kind_name(item),
                       item->id); /* fits */
    s->cli->config.about = about;
    if (s->tables_config == NULL)
        return;
    s->tables_config->about = about;
    s->tables_config->tenant = tenant;
}
