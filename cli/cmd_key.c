/* cli/cmd_key.c - API keys: /v1/admin/tenants/{id}/keys and /v1/admin/keys. */
#include <string.h>

#include "cli/fields.h"
#include "cli/handlers.h"
#include "cli/http.h"
#include "cli/out.h"
#include "cli/target.h"

#include "base/banned.h"

#define TENANT_KEYS "/v1/admin/tenants/{}/keys"
#define OTHER_KEYS  "/v1/admin/keys"

/* The one place where a key is shown. */
static const struct cli_field NEW_KEY_FIELDS[] = {
    {"id", "id", CLI_FIELD_TEXT, NULL},          {"kind", "kind", CLI_FIELD_TEXT, NULL},
    {"scopes", "scopes", CLI_FIELD_NAMES, NULL}, {"key", "key", CLI_FIELD_TEXT, NULL},
    {NULL, NULL, CLI_FIELD_TEXT, NULL},
};

static const struct cli_field KEY_COLUMNS[] = {
    {"ID", "id", CLI_FIELD_TEXT, NULL},          {"KIND", "kind", CLI_FIELD_TEXT, NULL},
    {"SCOPES", "scopes", CLI_FIELD_NAMES, NULL}, {"CREATED", "created", CLI_FIELD_TEXT, NULL},
    {"LABEL", "label", CLI_FIELD_TEXT, NULL},    {NULL, NULL, CLI_FIELD_TEXT, NULL},
};

static void keys_target(const struct cli *cli, struct buf *target)
{
    const char *tenant = cli->config.tenant;
    cli_target1(target, tenant != NULL ? TENANT_KEYS : OTHER_KEYS, tenant);
}

/* {"kind":..,"scopes":[..],"label":..}; NULL when a text is not UTF-8. */
static json_t *creation_body(const struct cli *cli, const char *kind)
{
    const char *label = cli_args_value(&cli->args, "label");
    json_t *body = json_pack("{s:s*, s:s*}", "kind", kind, "label", label);
    json_t *scopes = json_array();
    bool ok = body != NULL;
    for (size_t i = 0; i < cli->args.given_count && ok; i++) {
        const struct cli_given *g = &cli->args.given[i];
        if (strcmp(g->option->name, "scope") == 0)
            ok = json_array_append_new(scopes, json_string(g->value)) == 0;
    }
    if (ok && json_array_size(scopes) > 0)
        ok = json_object_set(body, "scopes", scopes) == 0;
    json_decref(scopes);
    if (ok)
        return body;
    json_decref(body);
    return NULL;
}

enum cli_exit cli_key_create(struct cli *cli)
{
    bool service = cli_args_flag(&cli->args, "service");
    bool operator_key = cli_args_flag(&cli->args, "operator");
    const char *tenant = cli->config.tenant;
    if ((tenant != NULL) + service + operator_key != 1)
        return cli_fail(CLI_USAGE, "say whose key it is: --tenant ID, --service or --operator");
    json_t *body = creation_body(cli, tenant != NULL ? NULL
                                      : operator_key ? "operator"
                                                     : "service");
    if (body == NULL)
        return cli_fail(CLI_USAGE, "scopes and label must be UTF-8 text");
    struct buf target;
    json_t *key = NULL;
    keys_target(cli, &target);
    enum cli_exit e = cli_http_send(cli->http, "POST", &target, body, false, &key);
    if (e != CLI_OK)
        return e;
    cli_fields_show(cli, NEW_KEY_FIELDS, key);
    if (cli_out_is_terminal())
        cli_say("keep the key now: it is not shown again");
    return CLI_OK;
}

enum cli_exit cli_key_list(struct cli *cli)
{
    struct buf target;
    keys_target(cli, &target);
    return cli_fields_list(cli, KEY_COLUMNS, &target, "keys");
}

enum cli_exit cli_key_revoke(struct cli *cli)
{
    struct buf target;
    json_t *answer = NULL;
    const char *id = cli->args.words[0];
    if (cli->config.tenant != NULL)
        cli_target2(&target, TENANT_KEYS "/{}", cli->config.tenant, id);
    else
        cli_target1(&target, OTHER_KEYS "/{}", id);
    enum cli_exit e = cli_http_send(cli->http, "DELETE", &target, NULL, true, &answer);
    json_decref(answer);
    if (e == CLI_OK && cli_out_is_terminal() && !cli->config.json)
        cli_out_printf("key %s is revoked\n", id);
    return e;
}
