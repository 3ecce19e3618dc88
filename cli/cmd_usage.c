/* cli/cmd_usage.c - usage of a tenant: /v1/usage, /v1/admin/tenants/{id}/usage. */
#include "cli/handlers.h"
#include "cli/http.h"
#include "cli/json_text.h"
#include "cli/out.h"
#include "cli/quota.h"
#include "cli/target.h"

#include "base/banned.h"

static const struct cli_field USAGE_FIELDS[] = {
    {"tenant", "tenant", CLI_FIELD_TEXT, NULL},
    {"stored", "stored_bytes", CLI_FIELD_BYTES, "quota.stored_bytes"},
    {"uncollected", "uncollected_bytes", CLI_FIELD_BYTES, NULL},
    {"rows", "rows", CLI_FIELD_COUNT, "quota.rows"},
    {"cells", "cells", CLI_FIELD_COUNT, NULL},
    {"changes", "change_bytes", CLI_FIELD_BYTES, "quota.change_bytes"},
    {"schemas", "schema_bytes", CLI_FIELD_BYTES, "quota.schema_bytes"},
    {"recount: stored", "recount.stored_bytes", CLI_FIELD_BYTES, NULL},
    {"recount: rows", "recount.rows", CLI_FIELD_COUNT, NULL},
    {"recount: cells", "recount.cells", CLI_FIELD_COUNT, NULL},
    {"recount: changes", "recount.change_bytes", CLI_FIELD_BYTES, NULL},
    {"drift: stored", "drift.stored_bytes", CLI_FIELD_BYTES, NULL},
    {"drift: rows", "drift.rows", CLI_FIELD_COUNT, NULL},
    {"drift: cells", "drift.cells", CLI_FIELD_COUNT, NULL},
    {"drift: changes", "drift.change_bytes", CLI_FIELD_BYTES, NULL},
    CLI_QUOTA(CLI_QUOTA_MEMBER_FIELD){NULL, NULL, CLI_FIELD_TEXT, NULL},
};

/* Returns false only when the document has 0 for each member. */
static bool has_drift(const json_t *usage)
{
    static const char *const members[] = {"drift.stored_bytes", "drift.rows", "drift.cells",
                                          "drift.change_bytes"};
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        const json_t *value = cli_json_at(usage, members[i]);
        if (!json_is_integer(value) || json_integer_value(value) != 0)
            return true;
    }
    return false;
}

enum cli_exit cli_usage(struct cli *cli)
{
    const char *tenant = cli->config.tenant;
    bool recount = cli_args_flag(&cli->args, "recount");
    bool is_operator = cli_config_key_kind(&cli->config) == CLI_KEY_OPERATOR;
    if ((recount || is_operator) && tenant == NULL)
        return cli_fail(CLI_USAGE, "%s needs --tenant ID",
                        recount ? "--recount" : "an operator key reads no data of its own: usage");
    struct buf target;
    bool is_admin = recount || is_operator;
    cli_target1(&target, is_admin ? "/v1/admin/tenants/{}/usage" : "/v1/usage", tenant);
    cli_target_query(&target, "recount", recount ? "true" : NULL);
    json_t *usage = NULL;
    enum cli_exit e = cli_http_get(cli->http, &target, &usage);
    if (e != CLI_OK)
        return e;
    bool drift = recount && has_drift(usage);
    cli_fields_show(cli, USAGE_FIELDS, usage);
    if (drift)
        return cli_fail(CLI_CHECK_FAILED, "the counters of %s differ from the recount", tenant);
    return CLI_OK;
}
