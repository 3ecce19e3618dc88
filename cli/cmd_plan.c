/* cli/cmd_plan.c - plans: /v1/admin/plans. */
#include "cli/handlers.h"
#include "cli/http.h"
#include "cli/out.h"
#include "cli/quota.h"
#include "cli/target.h"

#include "base/banned.h"

#define PLANS "/v1/admin/plans"
#define PLAN  PLANS "/{}"

static const struct cli_field PLAN_FIELDS[] = {
    {"plan", "id", CLI_FIELD_TEXT, NULL},
    {"name", "display_name", CLI_FIELD_TEXT, NULL},
    {"tenants", "tenants", CLI_FIELD_COUNT, NULL},
    {"created", "created", CLI_FIELD_TEXT, NULL},
    CLI_QUOTA(CLI_QUOTA_MEMBER_FIELD){"changed", "changed", CLI_FIELD_TEXT, NULL},
    {NULL, NULL, CLI_FIELD_TEXT, NULL},
};

static const struct cli_field PLAN_COLUMNS[] = {
    {"PLAN", "id", CLI_FIELD_TEXT, NULL},
    {"TENANTS", "tenants", CLI_FIELD_COUNT, NULL},
    {"STORED", "quota.stored_bytes", CLI_FIELD_LIMIT_BYTES, NULL},
    {"ROWS", "quota.rows", CLI_FIELD_LIMIT_COUNT, NULL},
    {"CHANGED", "changed", CLI_FIELD_TEXT, NULL},
    {"NAME", "display_name", CLI_FIELD_TEXT, NULL},
    {NULL, NULL, CLI_FIELD_TEXT, NULL},
};

enum cli_exit cli_plan_put(struct cli *cli)
{
    struct buf target;
    json_t *plan = NULL;
    json_t *quota = json_object();
    enum cli_exit e = cli_quota_apply(cli, quota);
    json_t *body = json_pack("{s:o, s:s*}", "quota", quota, "display_name",
                             cli_args_value(&cli->args, "name"));
    if (e == CLI_OK && body == NULL)
        e = cli_fail(CLI_USAGE, "the plan's name must be UTF-8 text");
    if (e != CLI_OK) {
        json_decref(body);
        return e;
    }
    cli_target1(&target, PLAN, cli->args.words[0]);
    e = cli_http_send(cli->http, "PUT", &target, body, true, &plan);
    if (e == CLI_OK)
        cli_fields_show(cli, PLAN_FIELDS, plan);
    return e;
}

enum cli_exit cli_plan_list(struct cli *cli)
{
    struct buf target;
    cli_target1(&target, PLANS, NULL);
    return cli_fields_list(cli, PLAN_COLUMNS, &target, "plans");
}

enum cli_exit cli_plan_show(struct cli *cli)
{
    struct buf target;
    json_t *plan = NULL;
    cli_target1(&target, PLAN, cli->args.words[0]);
    enum cli_exit e = cli_http_get(cli->http, &target, &plan);
    if (e == CLI_OK)
        cli_fields_show(cli, PLAN_FIELDS, plan);
    return e;
}

enum cli_exit cli_plan_delete(struct cli *cli)
{
    struct buf target;
    json_t *answer = NULL;
    cli_target1(&target, PLAN, cli->args.words[0]);
    enum cli_exit e = cli_http_send(cli->http, "DELETE", &target, NULL, true, &answer);
    json_decref(answer);
    if (e == CLI_OK && cli_out_is_terminal() && !cli->config.json)
        cli_out_printf("plan %s is deleted\n", cli->args.words[0]);
    return e;
}
