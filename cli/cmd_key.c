/* cli/cmd_key.c - API keys: /v1/admin/tenants/{id}/keys and /v1/admin/keys. */
#include <string.h>

#include "cli/fields.h"
#include "cli/handlers.h"
#include "cli/http.h"
#include "cli/out.h"
#include "cli/target.h"
#include "cli/text.h"

#include "base/banned.h"

#define TENANT_KEYS "/v1/admin/tenants/{}/keys"
#define OTHER_KEYS  "/v1/admin/keys"

/* The only fields that show a key. */
static const struct cli_field NEW_KEY_FIELDS[] = {
    {"id", "id", CLI_FIELD_TEXT, NULL},          {"kind", "kind", CLI_FIELD_TEXT, NULL},
    {"scopes", "scopes", CLI_FIELD_NAMES, NULL}, {"key", "key", CLI_FIELD_TEXT, NULL},
    {NULL, NULL, CLI_FIELD_TEXT, NULL},
};

static const struct cli_field KEY_COLUMNS[] = {
    {"ID", "id", CLI_FIELD_TEXT, NULL},
    {"KIND", "kind", CLI_FIELD_TEXT, NULL},
    {"SCOPES", "scopes", CLI_FIELD_NAMES, NULL},
    {"CREATED", "created", CLI_FIELD_TEXT, NULL},
    {"TENANTS", "tenants", CLI_FIELD_NAMES, NULL},
    {"ROWS", "row_prefix", CLI_FIELD_TEXT, NULL},
    {"LABEL", "label", CLI_FIELD_TEXT, NULL},
    {NULL, NULL, CLI_FIELD_TEXT, NULL},
};

static void keys_target(const struct cli *cli, struct buf *target)
{
    const char *tenant = cli->config.tenant;
    cli_target1(target, tenant != NULL ? TENANT_KEYS : OTHER_KEYS, tenant);
}

/* Adds the values of a repeated option to body as a list, unless there are none. */
static bool add_list(const struct cli *cli, const char *option, json_t *body, const char *member)
{
    json_t *list = json_array();
    bool ok = list != NULL;
    for (size_t i = 0; i < cli->args.given_count && ok; i++) {
        const struct cli_given *g = &cli->args.given[i];
        if (strcmp(g->option->name, option) == 0)
            ok = json_array_append_new(list, json_string(g->value)) == 0;
    }
    if (ok && json_array_size(list) > 0)
        ok = json_object_set(body, member, list) == 0;
    json_decref(list);
    return ok;
}

/* Adds rate limits of the key itself. */
static enum cli_exit add_limits(const struct cli *cli, json_t *body)
{
    static const struct {
        const char *option;
        const char *member;
    } LIMITS[] = {{"reads-per-s", "read_ops_per_s"},
                  {"writes-per-s", "write_ops_per_s"},
                  {"read-bytes-per-s", "read_bytes_per_s"},
                  {"write-bytes-per-s", "write_bytes_per_s"}};
    json_t *limits = json_object();
    enum cli_exit e = CLI_OK;
    for (size_t i = 0; i < sizeof LIMITS / sizeof LIMITS[0] && e == CLI_OK; i++) {
        const char *text = cli_args_value(&cli->args, LIMITS[i].option);
        uint64_t number = 0;
        if (text == NULL)
            continue;
        if (!cli_text_parse_size(text, &number) || number > INT64_MAX ||
            json_object_set_new(limits, LIMITS[i].member, json_integer((json_int_t)number)) != 0)
            e = cli_fail(CLI_USAGE, "--%s takes a number, optionally with K, M, G or T",
                         LIMITS[i].option);
    }
    if (e == CLI_OK && json_object_size(limits) > 0)
        (void)json_object_set(body, "limits", limits); /* both are objects: it cannot fail */
    json_decref(limits);
    return e;
}

/* Returns {"kind":..,"scopes":[..],"tenants":[..],"label":..,"row_prefix":..};
 * NULL when a text is not UTF-8. */
static json_t *creation_body(const struct cli *cli, const char *kind)
{
    const char *label = cli_args_value(&cli->args, "label");
    const char *prefix = cli_args_value(&cli->args, "row-prefix");
    json_t *body =
        json_pack("{s:s*, s:s*, s:s*}", "kind", kind, "label", label, "row_prefix", prefix);
    if (body != NULL && add_list(cli, "scope", body, "scopes") &&
        add_list(cli, "for", body, "tenants"))
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
        return cli_fail(CLI_USAGE, "scopes, tenants, label and row prefix must be UTF-8 text");
    enum cli_exit e = add_limits(cli, body);
    if (e != CLI_OK) {
        json_decref(body);
        return e;
    }
    struct buf target;
    json_t *key = NULL;
    keys_target(cli, &target);
    e = cli_http_send(cli->http, "POST", &target, body, false, &key);
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
