/* cli/tenant_plan.c - dry run of a tenant's move, with the things it does not copy;
 * see tenant_move.h. */
#include "cli/fields.h"
#include "cli/json_text.h"
#include "cli/out.h"
#include "cli/target.h"
#include "cli/tenant_move.h"

#include "base/banned.h"

/* Printed as one-line documents when stdout is not a terminal. */
static const struct cli_field TENANT_FIELDS[] = {
    {"tenant", "id", CLI_FIELD_TEXT, NULL},
    {"name", "display_name", CLI_FIELD_TEXT, NULL},
    {"plan", "plan", CLI_FIELD_TEXT, NULL},
    {"hold", "hold.reason", CLI_FIELD_TEXT, NULL},
    {"over there", "there", CLI_FIELD_TEXT, NULL},
    {"encrypted", "sealed", CLI_FIELD_TEXT, NULL},
    {"bytes", "usage.stored_bytes", CLI_FIELD_BYTES, NULL},
    {NULL, NULL, CLI_FIELD_TEXT, NULL},
};
static const struct cli_field TABLE_FIELDS[] = {
    {"TABLE", "id", CLI_FIELD_TEXT, NULL},
    {"ROWS", "usage.rows", CLI_FIELD_COUNT, NULL},
    {"BYTES", "usage.stored_bytes", CLI_FIELD_BYTES, NULL},
    {"VIEWS", "views", CLI_FIELD_COUNT, NULL},
    {"FAMILIES", "families", CLI_FIELD_FAMILIES, NULL},
    {NULL, NULL, CLI_FIELD_TEXT, NULL},
};
static const struct cli_field KEY_FIELDS[] = {
    {"KEY TO BE ISSUED ANEW", "id", CLI_FIELD_TEXT, NULL},
    {"KIND", "kind", CLI_FIELD_TEXT, NULL},
    {"SCOPES", "scopes", CLI_FIELD_NAMES, NULL},
    {"LABEL", "label", CLI_FIELD_TEXT, NULL},
    {NULL, NULL, CLI_FIELD_TEXT, NULL},
};

/* Checks that the destination has the tenant's plan, which creating the tenant requires. */
static enum cli_exit check_plan(struct cli_tenant_move *m, const json_t *source)
{
    struct buf target;
    json_t *doc = NULL;
    const char *plan = cli_json_text_at(source, "plan");
    if (plan[0] == '\0')
        return CLI_OK;
    cli_target1(&target, "/v1/admin/plans/{}", plan);
    enum cli_exit e = cli_moving_find(m->to.admin, &m->to.admin_config, &target, &doc);
    if (e == CLI_OK && doc == NULL)
        e = cli_fail(CLI_CHECK_FAILED, "the tenant's plan %s is not over there", plan);
    json_decref(doc);
    return e;
}

static enum cli_exit plan_tables(struct cli_tenant_move *m, json_t **out)
{
    struct buf target;
    json_t *doc = NULL;
    json_t *table = NULL;
    size_t i = 0;
    cli_target1(&target, "/v1/tables", NULL);
    enum cli_exit e = cli_http_get(m->from.data, &target, &doc);
    *out = json_incref(json_object_get(doc, "tables"));
    json_array_foreach(*out, i, table)
    {
        size_t views = 0;
        if (e == CLI_OK)
            e = cli_moving_count_views(m, cli_json_text_at(table, "id"), &views);
        (void)json_object_set_new(table, "views", json_integer((json_int_t)views)); /* only shown */
    }
    json_decref(doc);
    return e;
}

static enum cli_exit plan_keys(struct cli_tenant_move *m, json_t **out)
{
    json_t *service = NULL;
    enum cli_exit e = cli_moving_list_keys(m, out);
    if (e == CLI_OK)
        e = cli_moving_list_service_keys(m, &service);
    if (e == CLI_OK)
        (void)json_array_extend(*out, service); /* only shown */
    json_decref(service);
    return e;
}

static void show(const struct cli_tenant_move *m, json_t *tenant, json_t *tables, json_t *keys)
{
    if (m->cli->config.json) {
        json_t *doc =
            json_pack("{s:O, s:O, s:O}", "tenant", tenant, "tables", tables, "keys", keys);
        cli_json_print(doc);
        json_decref(doc);
        return;
    }
    cli_fields_show(m->cli, TENANT_FIELDS, json_incref(tenant));
    cli_fields_table(m->cli, TABLE_FIELDS, tables);
    cli_fields_table(m->cli, KEY_FIELDS, keys);
}

enum cli_exit cli_moving_plan(struct cli_tenant_move *m)
{
    json_t *tenant = NULL;
    json_t *there = NULL;
    json_t *tables = NULL;
    json_t *keys = NULL;
    enum cli_exit e = cli_moving_look(m, &tenant);
    if (e == CLI_OK)
        e = cli_moving_look_there(m, tenant, &there);
    if (e == CLI_OK && there == NULL)
        e = check_plan(m, tenant);
    if (e == CLI_OK)
        e = plan_tables(m, &tables);
    if (e == CLI_OK)
        e = plan_keys(m, &keys);
    if (e == CLI_OK) {
        bool sealed = json_is_true(json_object_get(tenant, "encrypted"));
        (void)json_object_set_new(tenant, "there",
                                  json_string(there == NULL ? "new" : "empty")); /* only shown */
        (void)json_object_set_new(tenant, "sealed", json_string(sealed ? "yes" : "no"));
        show(m, tenant, tables, keys);
    }
    json_decref(keys);
    json_decref(tables);
    json_decref(there);
    json_decref(tenant);
    return e;
}
