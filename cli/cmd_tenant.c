/* cli/cmd_tenant.c - tenants and their quotas: /v1/admin/tenants. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/handlers.h"
#include "cli/http.h"
#include "cli/json_text.h"
#include "cli/offboard_export.h"
#include "cli/out.h"
#include "cli/quota.h"
#include "cli/target.h"
#include "cli/text.h"

#include "base/banned.h"

#define TENANT "/v1/admin/tenants/{}"

/* clang-format off */
#define LEAVING_FIELDS                                                                             \
    {"delete at", "delete_at", CLI_FIELD_TEXT, NULL},                                              \
    {"hold", "hold.reason", CLI_FIELD_TEXT, NULL},                                                 \
    {"held by", "hold.by", CLI_FIELD_TEXT, NULL},                                                  \
    {"held since", "hold.since", CLI_FIELD_TEXT, NULL},
/* clang-format on */

static const struct cli_field TENANT_FIELDS[] = {
    {"tenant", "id", CLI_FIELD_TEXT, NULL},
    {"name", "display_name", CLI_FIELD_TEXT, NULL},
    {"state", "state", CLI_FIELD_TEXT, NULL},
    {"suspended", "suspended", CLI_FIELD_TEXT, NULL},
    {"plan", "plan", CLI_FIELD_TEXT, NULL},
    {"reason", "reason", CLI_FIELD_TEXT, NULL},
    {"created", "created", CLI_FIELD_TEXT, NULL},
    {"state since", "state_since", CLI_FIELD_TEXT, NULL},
    {"stored", "usage.stored_bytes", CLI_FIELD_BYTES, "quota.stored_bytes"},
    {"rows", "usage.rows", CLI_FIELD_COUNT, "quota.rows"},
    {"cells", "usage.cells", CLI_FIELD_COUNT, NULL},
    CLI_QUOTA(CLI_QUOTA_MEMBER_FIELD){"job", "job", CLI_FIELD_TEXT, NULL},
    LEAVING_FIELDS{"keyless", "keyless", CLI_FIELD_TEXT, NULL},
    {"encrypted", "encrypted", CLI_FIELD_TEXT, NULL},
    {"key versions", "key_versions", CLI_FIELD_COUNT, NULL},
    {"instance", "instance", CLI_FIELD_TEXT, NULL},
    {NULL, NULL, CLI_FIELD_TEXT, NULL},
};

/* The name may hold spaces, so it is the last column. */
static const struct cli_field TENANT_COLUMNS[] = {
    {"TENANT", "id", CLI_FIELD_TEXT, NULL},
    {"STATE", "state", CLI_FIELD_TEXT, NULL},
    {"STORED", "usage.stored_bytes", CLI_FIELD_BYTES, NULL},
    {"ROWS", "usage.rows", CLI_FIELD_COUNT, NULL},
    {"CREATED", "created", CLI_FIELD_TEXT, NULL},
    {"KEYLESS", "keyless", CLI_FIELD_TEXT, NULL},
    {"INSTANCE", "instance", CLI_FIELD_TEXT, NULL},
    {"NAME", "display_name", CLI_FIELD_TEXT, NULL},
    {NULL, NULL, CLI_FIELD_TEXT, NULL},
};

static const struct cli_field QUOTA_FIELDS[] = {
    {"plan", "plan", CLI_FIELD_TEXT, NULL},
    CLI_QUOTA(CLI_QUOTA_FIELD){NULL, NULL, CLI_FIELD_TEXT, NULL},
};

/* Sends a change of one tenant and prints the tenant. */
static enum cli_exit change(struct cli *cli, const char *method, const char *pattern, json_t *body,
                            bool repeatable)
{
    struct buf target;
    json_t *tenant = NULL;
    const char *id = cli->args.word_count > 0 ? cli->args.words[0] : "";
    cli_target1(&target, pattern, id);
    enum cli_exit e = cli_http_send(cli->http, method, &target, body, repeatable, &tenant);
    if (e == CLI_OK)
        cli_fields_show(cli, TENANT_FIELDS, tenant);
    return e;
}

enum cli_exit cli_tenant_create(struct cli *cli)
{
    const char *plan = cli_args_value(&cli->args, "plan");
    bool no_plan = cli_args_flag(&cli->args, "no-plan");
    if (plan != NULL && no_plan)
        return cli_fail(CLI_USAGE, "--plan P and --no-plan contradict each other");
    json_t *body = json_pack("{s:s, s:s*, s:s*, s:o*}", "id", cli->args.words[0], "display_name",
                             cli_args_value(&cli->args, "name"), "plan", plan, "encrypted",
                             cli_args_flag(&cli->args, "encrypted") ? json_true() : NULL);
    if (body == NULL || (no_plan && json_object_set_new(body, "plan", json_null()) != 0)) {
        json_decref(body);
        return cli_fail(CLI_USAGE, "the tenant's ID, name and plan must be UTF-8 text");
    }
    return change(cli, "POST", "/v1/admin/tenants", body, false);
}

enum cli_exit cli_tenant_change(struct cli *cli)
{
    const char *plan = cli_args_value(&cli->args, "plan");
    const char *name = cli_args_value(&cli->args, "name");
    bool no_plan = cli_args_flag(&cli->args, "no-plan");
    if ((plan != NULL && no_plan) || (plan == NULL && name == NULL && !no_plan))
        return cli_fail(CLI_USAGE, "say what to change: --name N, --plan P or --no-plan");
    json_t *body = json_pack("{s:s*, s:s*}", "display_name", name, "plan", plan);
    if (body == NULL || (no_plan && json_object_set_new(body, "plan", json_null()) != 0)) {
        json_decref(body);
        return cli_fail(CLI_USAGE, "name and plan must be UTF-8 text");
    }
    return change(cli, "PATCH", TENANT, body, true);
}

enum cli_exit cli_tenant_list(struct cli *cli)
{
    static const char *const names[] = {"prefix", "state", "plan", "order"};
    struct buf target;
    cli_target1(&target, "/v1/admin/tenants?limit=1000", NULL);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        cli_target_query(&target, names[i], cli_args_value(&cli->args, names[i]));
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
    json_t *body = json_pack("{s:s, s:s*}", "reason", cli_args_value(&cli->args, "reason"),
                             "access", cli_args_value(&cli->args, "access"));
    if (body == NULL)
        return cli_fail(CLI_USAGE, "the reason must be UTF-8 text");
    return change(cli, "POST", TENANT ":suspend", body, true);
}

enum cli_exit cli_tenant_resume(struct cli *cli)
{
    return change(cli, "POST", TENANT ":resume", NULL, true);
}

enum cli_exit cli_tenant_rotate_key(struct cli *cli)
{
    return change(cli, "POST", TENANT ":rotate-key", NULL, false);
}

/* --- offboarding ------------------------------------------------------------------------------
 */

static const struct cli_field STARTED_FIELDS[] = {
    {"job", "job", CLI_FIELD_TEXT, NULL},     {"tenant", "tenant", CLI_FIELD_TEXT, NULL},
    {"state", "state", CLI_FIELD_TEXT, NULL}, {"delete at", "delete_at", CLI_FIELD_TEXT, NULL},
    {NULL, NULL, CLI_FIELD_TEXT, NULL},
};

static const struct cli_field WOULD_GO_FIELDS[] = {
    {"tenant", "tenant", CLI_FIELD_TEXT, NULL},
    {"state", "state", CLI_FIELD_TEXT, NULL},
    {"stored", "stored_bytes", CLI_FIELD_BYTES, NULL},
    {"rows", "rows", CLI_FIELD_COUNT, NULL},
    {"cells", "cells", CLI_FIELD_COUNT, NULL},
    {"tables", "tables", CLI_FIELD_COUNT, NULL},
    {"keys", "keys", CLI_FIELD_COUNT, NULL},
    LEAVING_FIELDS{"backups", "backups", CLI_FIELD_BACKUPS, NULL},
    {NULL, NULL, CLI_FIELD_TEXT, NULL},
};

/* Returns the body of --confirm, --grace and --reason;
 * NULL, with a message, when one is invalid. */
static json_t *departure_wanted(struct cli *cli, enum cli_exit *out)
{
    const char *id = cli->args.words[0];
    const char *confirm = cli_args_value(&cli->args, "confirm");
    const char *grace = cli_args_value(&cli->args, "grace");
    uint64_t seconds = 0;
    char text[32];
    if (confirm == NULL || strcmp(id, confirm) != 0) {
        *out = cli_fail(CLI_USAGE,
                        "--confirm must repeat the tenant's ID: everything of \"%s\" "
                        "would be deleted for good",
                        id);
        return NULL;
    }
    if (grace != NULL && !cli_text_parse_seconds(grace, &seconds)) {
        *out = cli_fail(CLI_USAGE, "--grace must be seconds, or Nm, Nh, Nd, not \"%s\"", grace);
        return NULL;
    }
    (void)snprintf(text, sizeof text, "%" PRIu64 "s", seconds);
    json_t *body =
        json_pack("{s:s, s:s*, s:s*, s:o*}", "confirm", confirm, "grace",
                  grace != NULL ? text : NULL, "reason", cli_args_value(&cli->args, "reason"),
                  "deep", cli_args_flag(&cli->args, "deep") ? json_true() : NULL);
    if (body == NULL)
        *out = cli_fail(CLI_USAGE, "the tenant's ID and the reason must be UTF-8 text");
    return body;
}

/* Waits for the job's end and prints it. After a restore, the server knows the job of an earlier
 * purged tenant by its ID only; then prints the answer. Takes answer. */
static enum cli_exit follow(struct cli *cli, const char *job, json_t *answer)
{
    const char *state = json_string_value(json_object_get(answer, "state"));
    bool is_done = state != NULL && (strcmp(state, "purged") == 0 || strcmp(state, "expired") == 0);
    bool is_known = true;
    enum cli_exit e = is_done ? cli_job_is_known(cli, job, &is_known) : CLI_OK;
    if (e == CLI_OK && is_known)
        e = cli_job_follow(cli, job);
    if (is_known) {
        json_decref(answer);
        return e;
    }
    cli_fields_show(cli, STARTED_FIELDS, answer);
    cli_say("the job was done before this server's data was restored; see its certificate: "
            "bigtent certificate get %s",
            cli->args.words[0]);
    return CLI_OK;
}

static enum cli_exit offboard(struct cli *cli, json_t *body, const struct cli_field *fields)
{
    struct buf target;
    json_t *answer = NULL;
    cli_target1(&target, TENANT ":offboard", cli->args.words[0]);
    enum cli_exit e = cli_http_send(cli->http, "POST", &target, body, true, &answer);
    if (e != CLI_OK)
        return e;
    const char *job = json_string_value(json_object_get(answer, "job"));
    if (job != NULL && cli_args_flag(&cli->args, "wait"))
        return follow(cli, job, answer);
    cli_fields_show(cli, fields, answer);
    return CLI_OK;
}

static enum cli_exit export_first(struct cli *cli)
{
    const char *dir = cli_args_value(&cli->args, "export");
    const char *key_file = cli_args_value(&cli->args, "data-key-file");
    if ((dir == NULL) != (key_file == NULL))
        return cli_fail(CLI_USAGE, "--export DIR and --data-key-file FILE go together");
    return dir == NULL ? CLI_OK
                       : cli_offboard_export(cli, cli->args.words[0], dir, key_file,
                                             cli_args_value(&cli->args, "grace") != NULL);
}

enum cli_exit cli_tenant_offboard(struct cli *cli)
{
    if (cli_args_flag(&cli->args, "dry-run"))
        return offboard(cli, json_pack("{s:b}", "dry_run", 1), WOULD_GO_FIELDS);
    enum cli_exit e = CLI_OK;
    json_t *body = departure_wanted(cli, &e);
    if (body != NULL)
        e = export_first(cli);
    if (e == CLI_OK)
        return offboard(cli, body, STARTED_FIELDS);
    json_decref(body);
    return e;
}

enum cli_exit cli_tenant_undelete(struct cli *cli)
{
    return change(cli, "POST", TENANT ":undelete", NULL, true);
}

enum cli_exit cli_tenant_hold(struct cli *cli)
{
    json_t *body = json_pack("{s:s}", "reason", cli_args_value(&cli->args, "reason"));
    if (body == NULL)
        return cli_fail(CLI_USAGE, "the reason must be UTF-8 text");
    return change(cli, "POST", TENANT ":hold", body, true);
}

enum cli_exit cli_tenant_release(struct cli *cli)
{
    return change(cli, "POST", TENANT ":release", NULL, false); /* a second release is refused */
}

/* --- quota ------------------------------------------------------------------------------------
 */

static enum cli_exit get_quota(struct cli *cli, json_t **out)
{
    struct buf target;
    cli_target1(&target, TENANT "/quota", cli->args.words[0]);
    return cli_http_get(cli->http, &target, out);
}

/* Sends the quota. PUT replaces the tenant's whole own quota, so members that the line does not
 * name keep their current values. */
static enum cli_exit put_quota(struct cli *cli, bool none)
{
    json_t *present = NULL;
    enum cli_exit e = none ? CLI_OK : get_quota(cli, &present);
    if (e != CLI_OK)
        return e;
    json_t *own = json_object_get(present, "own");
    json_t *body = own == NULL ? json_object() : json_incref(own);
    e = cli_quota_apply(cli, body);
    json_decref(present);
    if (e != CLI_OK) {
        json_decref(body);
        return e;
    }
    struct buf target;
    json_t *answer = NULL;
    cli_target1(&target, TENANT "/quota", cli->args.words[0]);
    e = cli_http_send(cli->http, "PUT", &target, body, true, &answer);
    json_decref(answer);
    return e;
}

enum cli_exit cli_tenant_quota(struct cli *cli)
{
    bool none = cli_args_flag(&cli->args, "none");
    bool given = cli_quota_is_given(cli);
    enum cli_exit e = CLI_OK;
    if (none && given)
        e = cli_fail(CLI_USAGE, "--none takes back every limit; it goes with no other option");
    json_t *tried = json_object(); /* an invalid line sends nothing */
    if (e == CLI_OK)
        e = cli_quota_apply(cli, tried);
    json_decref(tried);
    if (e == CLI_OK && (none || given))
        e = put_quota(cli, none);
    json_t *quota = NULL;
    if (e == CLI_OK)
        e = get_quota(cli, &quota);
    if (e == CLI_OK)
        cli_fields_show(cli, QUOTA_FIELDS, quota);
    return e;
}
