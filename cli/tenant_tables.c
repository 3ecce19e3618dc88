/* cli/tenant_tables.c - the tenant and its tables on both sides; see tenant_move.h. */
#include <stdio.h>

#include "base/alloc.h"
#include "cli/export.h"
#include "cli/json_text.h"
#include "cli/out.h"
#include "cli/problem.h"
#include "cli/target.h"
#include "cli/tenant_move.h"
#include "cli/transfer_write.h"

#include "base/banned.h"

#define RETENTION "change_stream_retention"

static const char *text_at(const json_t *doc, const char *path)
{
    const char *text = json_string_value(cli_json_at(doc, path));
    return text != NULL ? text : "";
}

/* --- the tenant -------------------------------------------------------------------------------
 */

static enum cli_exit get_tenant(struct cli_tenant_move *m, json_t **out)
{
    struct buf target;
    cli_target1(&target, "/v1/admin/tenants/{}", m->tenant);
    return cli_http_get(m->from.admin, &target, out);
}

enum cli_exit cli_moving_look(struct cli_tenant_move *m)
{
    json_t *doc = NULL;
    enum cli_exit e = get_tenant(m, &doc);
    const char *state = text_at(doc, "state");
    bool is_ours =
        strcmp(state, "suspended") == 0 && strcmp(text_at(doc, "reason"), m->reason) == 0;
    if (e == CLI_OK && strcmp(state, "active") != 0 && !is_ours)
        e = cli_fail(CLI_CHECK_FAILED, "the tenant %s is %s, and not by a move there", m->tenant,
                     state);
    (void)snprintf(m->instance, sizeof m->instance, "%s", text_at(doc, "instance")); /* bounded */
    m->is_stopped = is_ours;
    json_decref(doc);
    return e;
}

static enum cli_exit check_empty(struct cli_tenant_move *m)
{
    struct buf target;
    json_t *doc = NULL;
    cli_target1(&target, "/v1/tables", NULL);
    enum cli_exit e = cli_http_get(m->to.data, &target, &doc);
    if (e == CLI_OK && json_array_size(json_object_get(doc, "tables")) > 0)
        e = cli_fail(CLI_CHECK_FAILED, "the tenant %s has tables over there already", m->tenant);
    json_decref(doc);
    return e;
}

static json_t *tenant_body(const json_t *doc)
{
    static const char *const kept[][2] = {
        {"id", "id"}, {"display_name", "display_name"}, {"plan", "plan"}, {"own_quota", "quota"}};
    json_t *body = json_object();
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        json_t *value = json_object_get(doc, kept[i][0]);
        if (value != NULL && !json_is_null(value))
            (void)json_object_set(body, kept[i][1], value); /* checked by the server */
    }
    return body;
}

static enum cli_exit find_over_there(struct cli_tenant_move *m, bool *out_found)
{
    struct buf target;
    struct cli_answer answer;
    cli_target1(&target, "/v1/admin/tenants/{}", m->tenant);
    struct cli_request request = {
        .method = "GET", .target = &target, .repeatable = true, .any_status = true};
    enum cli_exit e = cli_http_run(m->to.admin, &request, &answer);
    *out_found = answer.status == 200;
    if (e == CLI_OK && answer.status != 200 && answer.status != 404)
        e = cli_problem_answer(&m->to.admin_config, answer.status, base_buf_slice(&answer.body));
    base_buf_fini(&answer.body);
    base_buf_fini(&target);
    return e;
}

enum cli_exit cli_moving_make(struct cli_tenant_move *m)
{
    struct buf target;
    json_t *doc = NULL;
    json_t *made = NULL;
    bool found = false;
    enum cli_exit e = find_over_there(m, &found);
    if (e == CLI_OK && found)
        return check_empty(m);
    if (e == CLI_OK)
        e = get_tenant(m, &doc);
    if (e == CLI_OK) {
        cli_target1(&target, "/v1/admin/tenants", NULL);
        e = cli_http_send(m->to.admin, "POST", &target, tenant_body(doc), false, &made);
    }
    json_decref(made);
    json_decref(doc);
    return e;
}

/* --- tables -----------------------------------------------------------------------------------
 */

static struct cli_tenant_table *find_table(const struct cli_tenant_move *m, const char *id)
{
    for (size_t i = 0; i < m->count; i++)
        if (strcmp(m->tables[i].id, id) == 0)
            return &m->tables[i];
    return NULL;
}

/* What the move switched on is not the tenant's. */
static void take_schema(struct cli_tenant_table *t, const json_t *doc)
{
    json_decref(t->schema);
    t->schema = cli_export_schema(doc);
    if (t->is_streaming)
        (void)json_object_del(t->schema, RETENTION); /* it need not be there */
}

static enum cli_exit take_list(struct cli_tenant_move *m, const json_t *list)
{
    size_t most = m->count + json_array_size(list);
    struct cli_tenant_table *tables = base_new_array(most > 0 ? most : 1, sizeof *tables);
    if (m->count > 0)
        memcpy(tables, m->tables, m->count * sizeof *tables);
    base_free(m->tables);
    m->tables = tables;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *doc = json_array_get(list, i);
        const char *id = text_at(doc, "id");
        if (id[0] == '\0' || strlen(id) > LIM_TABLE_ID)
            return cli_fail(CLI_REFUSED, "the server described a table that cannot be");
        struct cli_tenant_table *t = find_table(m, id);
        if (t == NULL) {
            t = &m->tables[m->count++];
            memcpy(t->id, id, strlen(id) + 1);
        }
        take_schema(t, doc);
    }
    for (size_t i = 0; i < m->count; i++)
        if (m->tables[i].schema == NULL)
            return cli_fail(CLI_CHECK_FAILED,
                            "the table %s is gone since the move began: --abort, and begin anew",
                            m->tables[i].id);
    return CLI_OK;
}

enum cli_exit cli_moving_list(struct cli_tenant_move *m)
{
    struct buf target;
    json_t *doc = NULL;
    for (size_t i = 0; i < m->count; i++) {
        json_decref(m->tables[i].schema);
        m->tables[i].schema = NULL;
    }
    cli_target1(&target, "/v1/tables", NULL);
    enum cli_exit e = cli_http_get(m->from.data, &target, &doc);
    const json_t *list = json_object_get(doc, "tables");
    if (e == CLI_OK && (!json_is_array(list) || json_array_size(list) > LIM_TABLES))
        e = cli_fail(CLI_REFUSED, "the server's list of tables is none");
    if (e == CLI_OK)
        e = take_list(m, list);
    json_decref(doc);
    return e;
}

static enum cli_exit put_table(struct cli_http *http, const char *id, json_t *schema, json_t **out)
{
    struct buf target;
    cli_target1(&target, "/v1/tables/{}", id);
    return cli_http_send(http, "PUT", &target, schema, true, out);
}

static enum cli_exit note_limits(struct cli_tenant_move *m)
{
    struct buf target;
    json_t *doc = NULL;
    cli_target1(&target, "/v1/usage", NULL);
    enum cli_exit e = cli_http_get(m->to.data, &target, &doc);
    m->line_cells =
        cli_writer_line_cells(json_integer_value(cli_json_at(doc, "quota.mutations_per_row")));
    json_decref(doc);
    return e;
}

static enum cli_exit stream_on(struct cli_tenant_move *m, struct cli_tenant_table *t)
{
    json_t *doc = NULL;
    json_t *body = json_deep_copy(t->schema);
    if (json_object_get(t->schema, RETENTION) != NULL) {
        json_decref(body);
        return CLI_OK;
    }
    (void)json_object_set_new(body, RETENTION, json_string("86400s")); /* small */
    t->is_streaming = true;
    enum cli_exit e = cli_moving_save(m); /* before it is done: abort must know */
    if (e == CLI_OK)
        e = put_table(m->from.data, t->id, json_incref(body), &doc);
    json_decref(body);
    json_decref(doc);
    return e;
}

enum cli_exit cli_moving_unstream(struct cli_tenant_move *m, const struct cli_tenant_table *t)
{
    json_t *doc = NULL;
    json_t *body = json_deep_copy(t->schema);
    (void)json_object_set_new(body, RETENTION, json_null()); /* small */
    enum cli_exit e = put_table(m->from.data, t->id, body, &doc);
    json_decref(doc);
    return e;
}

enum cli_exit cli_moving_prepare(struct cli_tenant_move *m, struct cli_tenant_table *t,
                                 bool with_stream)
{
    json_t *doc = NULL;
    enum cli_exit e = m->line_cells > 0 ? CLI_OK : note_limits(m);
    if (e == CLI_OK)
        e = put_table(m->to.data, t->id, json_incref(t->schema), &doc);
    json_decref(t->families);
    t->families = json_incref(json_object_get(doc, "families"));
    json_decref(doc);
    const char *name = NULL;
    const json_t *family = NULL;
    json_object_foreach(t->families, name, family) t->has_aggregates =
        t->has_aggregates || json_object_get(family, "type") != NULL;
    return e == CLI_OK && with_stream ? stream_on(m, t) : e;
}

enum cli_exit cli_moving_renew(struct cli_tenant_move *m, struct cli_tenant_table *t)
{
    struct buf target;
    json_t *doc = NULL;
    cli_target1(&target, "/v1/tables/{}", t->id);
    enum cli_exit e = cli_http_get(m->from.data, &target, &doc);
    if (e == CLI_OK)
        take_schema(t, doc);
    json_decref(doc);
    return e == CLI_OK ? cli_moving_prepare(m, t, false) : e;
}

/* --- writes -----------------------------------------------------------------------------------
 */

enum cli_exit cli_moving_stop_writes(struct cli_tenant_move *m)
{
    struct buf target;
    json_t *doc = NULL;
    cli_target1(&target, "/v1/admin/tenants/{}:suspend", m->tenant);
    enum cli_exit e =
        cli_http_send(m->from.admin, "POST", &target,
                      json_pack("{s:s, s:s}", "access", "writes", "reason", m->reason), true, &doc);
    json_decref(doc);
    return e;
}

enum cli_exit cli_moving_let_write(struct cli_tenant_move *m)
{
    struct buf target;
    json_t *doc = NULL;
    cli_target1(&target, "/v1/admin/tenants/{}:resume", m->tenant);
    enum cli_exit e = cli_http_send(m->from.admin, "POST", &target, NULL, true, &doc);
    json_decref(doc);
    return e;
}
