/* cli/cmd_tenant.c - tenants and their quotas: /v1/admin/tenants. */
#include <string.h>

#include "cli/handlers.h"
#include "cli/http.h"
#include "cli/json_text.h"
#include "cli/out.h"
#include "cli/quota.h"
#include "cli/target.h"
#include "cli/text.h"

#include "base/banned.h"

#define TENANT "/v1/admin/tenants/{}"

static const struct cli_field TENANT_FIELDS[] = {
    {"tenant", "id", CLI_FIELD_TEXT, NULL},
    {"name", "display_name", CLI_FIELD_TEXT, NULL},
    {"state", "state", CLI_FIELD_TEXT, NULL},
    {"reason", "reason", CLI_FIELD_TEXT, NULL},
    {"created", "created", CLI_FIELD_TEXT, NULL},
    {"state since", "state_since", CLI_FIELD_TEXT, NULL},
    {"stored", "usage.stored_bytes", CLI_FIELD_BYTES, "quota.stored_bytes"},
    {"rows", "usage.rows", CLI_FIELD_COUNT, "quota.rows"},
    {"cells", "usage.cells", CLI_FIELD_COUNT, NULL},
    CLI_QUOTA(CLI_QUOTA_MEMBER_FIELD){"job", "job", CLI_FIELD_TEXT, NULL},
    {NULL, NULL, CLI_FIELD_TEXT, NULL},
};

/* The name may hold spaces, so it stands last. */
static const struct cli_field TENANT_COLUMNS[] = {
    {"TENANT", "id", CLI_FIELD_TEXT, NULL},
    {"STATE", "state", CLI_FIELD_TEXT, NULL},
    {"STORED", "usage.stored_bytes", CLI_FIELD_BYTES, NULL},
    {"ROWS", "usage.rows", CLI_FIELD_COUNT, NULL},
    {"CREATED", "created", CLI_FIELD_TEXT, NULL},
    {"NAME", "display_name", CLI_FIELD_TEXT, NULL},
    {NULL, NULL, CLI_FIELD_TEXT, NULL},
};

static const struct cli_field QUOTA_FIELDS[] = {
    CLI_QUOTA(CLI_QUOTA_FIELD){NULL, NULL, CLI_FIELD_TEXT, NULL},
};

/* POST a change of one tenant and show the tenant. */
static enum cli_exit change(struct cli *cli, const char *pattern, json_t *body, bool repeatable)
{
    struct buf target;
    json_t *tenant = NULL;
    const char *id = cli->args.word_count > 0 ? cli->args.words[0] : "";
    cli_target1(&target, pattern, id);
    enum cli_exit e = cli_http_send(cli->http, "POST", &target, body, repeatable, &tenant);
    if (e == CLI_OK)
        cli_fields_show(cli, TENANT_FIELDS, tenant);
    return e;
}

enum cli_exit cli_tenant_create(struct cli *cli)
{
    json_t *body = json_pack("{s:s}", "id", cli->args.words[0]);
    const char *name = cli_args_value(&cli->args, "name");
    if (body != NULL && name != NULL)
        (void)json_object_set_new(body, "display_name", json_string(name)); /* checked below */
    if (body == NULL || (name != NULL && json_object_get(body, "display_name") == NULL)) {
        json_decref(body);
        return cli_fail(CLI_USAGE, "the tenant's ID and name must be UTF-8 text");
    }
    return change(cli, "/v1/admin/tenants", body, false);
}

enum cli_exit cli_tenant_list(struct cli *cli)
{
    struct buf target;
    cli_target1(&target, "/v1/admin/tenants?limit=1000", NULL);
    return cli_fields_list(cli, TENANT_COLUMNS, &target, "tenants");
}

enum cli_exit cli_tenant_show(struct cli *cli)
{
    struct buf target;
    json_t *tenant = NULL;
    cli_target1(&target, TENANT, cli->args.words[0]);
    enum cli_exit e = cli_http_get(cli->http, &target, &tenant);
    if (e == CLI_OK)
        cli_fields_show(cli, TENANT_FIELDS, tenant);
    return e;
}

enum cli_exit cli_tenant_suspend(struct cli *cli)
{
    json_t *body = json_pack("{s:s}", "reason", cli_args_value(&cli->args, "reason"));
    if (body == NULL)
        return cli_fail(CLI_USAGE, "the reason must be UTF-8 text");
    return change(cli, TENANT ":suspend", body, true);
}

enum cli_exit cli_tenant_resume(struct cli *cli)
{
    return change(cli, TENANT ":resume", NULL, true);
}

enum cli_exit cli_tenant_offboard(struct cli *cli)
{
    const char *id = cli->args.words[0];
    const char *confirm = cli_args_value(&cli->args, "confirm");
    if (strcmp(id, confirm) != 0)
        return cli_fail(CLI_USAGE,
                        "--confirm must repeat the tenant's ID: everything of \"%s\" "
                        "would be deleted for good",
                        id);
    json_t *body = json_pack("{s:s}", "confirm", confirm);
    if (body == NULL)
        return cli_fail(CLI_USAGE, "the tenant's ID must be UTF-8 text");
    static const struct cli_field fields[] = {
        {"job", "job", CLI_FIELD_TEXT, NULL},
        {"tenant", "tenant", CLI_FIELD_TEXT, NULL},
        {NULL, NULL, CLI_FIELD_TEXT, NULL},
    };
    struct buf target;
    json_t *started = NULL;
    cli_target1(&target, TENANT ":offboard", id);
    enum cli_exit e = cli_http_send(cli->http, "POST", &target, body, true, &started);
    if (e != CLI_OK)
        return e;
    const char *job = json_string_value(json_object_get(started, "job"));
    if (job != NULL && cli_args_flag(&cli->args, "wait")) {
        e = cli_job_follow(cli, job);
        json_decref(started);
        return e;
    }
    cli_fields_show(cli, fields, started);
    return CLI_OK;
}

/* --- quota ------------------------------------------------------------------------------------
 */

static const struct {
    const char *option;
    const char *member;
} QUOTA_OPTIONS[] = {
#define OPTION(option, member, label, kind, help) {option, member},
    CLI_QUOTA(OPTION)
#undef OPTION
};
#define QUOTA_OPTION_COUNT (sizeof QUOTA_OPTIONS / sizeof QUOTA_OPTIONS[0])

/* Put one option's value into the quota; "none" leaves it to the server's default. */
static enum cli_exit set_member(json_t *quota, const char *option, const char *member,
                                const char *text)
{
    uint64_t number = 0;
    json_t *value = NULL;
    if (strcmp(text, "none") == 0)
        value = json_null();
    else if (cli_text_parse_size(text, &number) && number <= INT64_MAX)
        value = json_integer((json_int_t)number);
    if (value == NULL || json_object_set_new(quota, member, value) != 0)
        return cli_fail(CLI_USAGE, "--%s takes a number, optionally with K, M, G or T, or none",
                        option);
    return CLI_OK;
}

static enum cli_exit collect_changes(const struct cli *cli, json_t *changes)
{
    for (size_t i = 0; i < QUOTA_OPTION_COUNT; i++) {
        const char *text = cli_args_value(&cli->args, QUOTA_OPTIONS[i].option);
        if (text == NULL)
            continue;
        enum cli_exit e =
            set_member(changes, QUOTA_OPTIONS[i].option, QUOTA_OPTIONS[i].member, text);
        if (e != CLI_OK)
            return e;
    }
    return CLI_OK;
}

static enum cli_exit get_quota(struct cli *cli, json_t **out)
{
    struct buf target;
    cli_target1(&target, TENANT "/quota", cli->args.words[0]);
    return cli_http_get(cli->http, &target, out);
}

/* PUT replaces the whole quota, so what the line does not name is taken from the present one. */
static enum cli_exit put_quota(struct cli *cli, const json_t *changes, bool none)
{
    json_t *present = NULL;
    enum cli_exit e = none ? CLI_OK : get_quota(cli, &present);
    if (e != CLI_OK)
        return e;
    json_t *body = json_object();
    for (size_t i = 0; i < QUOTA_OPTION_COUNT && !none; i++) {
        const char *member = QUOTA_OPTIONS[i].member;
        json_t *value = json_object_get(changes, member);
        if (value == NULL)
            value = json_object_get(present, member);
        if (value != NULL)
            (void)json_object_set(body, member, value); /* a missing member is caught by GET */
    }
    json_decref(present);
    struct buf target;
    json_t *answer = NULL;
    cli_target1(&target, TENANT "/quota", cli->args.words[0]);
    e = cli_http_send(cli->http, "PUT", &target, body, true, &answer);
    json_decref(answer);
    return e;
}

enum cli_exit cli_tenant_quota(struct cli *cli)
{
    json_t *changes = json_object();
    bool none = cli_args_flag(&cli->args, "none");
    enum cli_exit e = collect_changes(cli, changes);
    bool changing = none || json_object_size(changes) > 0;
    if (e == CLI_OK && none && json_object_size(changes) > 0)
        e = cli_fail(CLI_USAGE, "--none takes back every limit; it goes with no other option");
    if (e == CLI_OK && changing)
        e = put_quota(cli, changes, none);
    json_decref(changes);
    json_t *quota = NULL;
    if (e == CLI_OK)
        e = get_quota(cli, &quota);
    if (e == CLI_OK)
        cli_fields_show(cli, QUOTA_FIELDS, quota);
    return e;
}
