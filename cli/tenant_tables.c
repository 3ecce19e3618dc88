/* cli/tenant_tables.c - the tables on both servers; see tenant_move.h. */
#include "base/alloc.h"
#include "cli/export.h"
#include "cli/families.h"
#include "cli/json_text.h"
#include "cli/out.h"
#include "cli/target.h"
#include "cli/tenant_move.h"
#include "cli/transfer_write.h"

#include "base/banned.h"

#define RETENTION "change_stream_retention"

/* --- tables -----------------------------------------------------------------------------------
 */

static struct cli_tenant_table *find_table(const struct cli_tenant_move *m, const char *id)
{
    for (size_t i = 0; i < m->count; i++)
        if (strcmp(m->tables[i].id, id) == 0)
            return &m->tables[i];
    return NULL;
}

/* Stores the table's schema, without a change stream that the move enabled. */
static void take_schema(struct cli_tenant_table *t, const json_t *doc)
{
    json_decref(t->schema);
    t->schema = cli_export_schema(doc);
    cli_json_etag(doc, t->etag);
    if (t->is_streaming)
        (void)json_object_del(t->schema, RETENTION); /* it may be missing */
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
        const char *id = cli_json_text_at(doc, "id");
        if (id[0] == '\0' || strlen(id) > LIM_TABLE_ID)
            return cli_fail(CLI_REFUSED, "the server described a table that cannot be");
        struct cli_tenant_table *t = find_table(m, id);
        if (t == NULL) {
            t = &m->tables[m->count++];
            memcpy(t->id, id, strlen(id) + 1);
        }
        take_schema(t, doc);
    }
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

enum cli_exit cli_moving_forget_gone(struct cli_tenant_move *m)
{
    size_t kept = 0;
    for (size_t i = 0; i < m->count; i++) {
        struct cli_tenant_table *t = &m->tables[i];
        if (t->schema != NULL) {
            m->tables[kept++] = *t;
            continue;
        }
        enum cli_exit e = cli_moving_remove(m, t);
        if (e != CLI_OK) { /* later tables stay in the list */
            memmove(&m->tables[kept], t, (m->count - i) * sizeof *t);
            m->count -= i - kept;
            return e;
        }
        json_decref(t->families);
        cli_slice_free(&t->after);
    }
    m->count = kept;
    return CLI_OK;
}

static enum cli_exit put_table(struct cli_http *http, const char *id, json_t *schema, json_t **out)
{
    struct buf target;
    cli_target1(&target, "/v1/tables/{}", id);
    return cli_http_send(http, "PUT", &target, schema, true, out);
}

/* Changes the source's table only if it is unchanged since it was listed, so that the tenant's own
 * changes persist, above all the table's removal. Takes schema. */
static enum cli_exit change_source(struct cli_tenant_move *m, const struct cli_tenant_table *t,
                                   json_t *schema)
{
    struct buf target;
    json_t *doc = NULL;
    cli_target1(&target, "/v1/tables/{}", t->id);
    enum cli_exit e =
        cli_http_send_if(m->from.data, "PUT", &target, "If-Match", t->etag, schema, true, &doc);
    json_decref(doc);
    return e;
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
    if (json_object_get(t->schema, RETENTION) != NULL)
        return CLI_OK;
    t->is_streaming = true;
    enum cli_exit e = cli_moving_save(m); /* before the change: abort needs it */
    if (e != CLI_OK)
        return e;
    json_t *body = json_deep_copy(t->schema);
    (void)json_object_set_new(body, RETENTION, json_string("86400s")); /* small */
    e = change_source(m, t, body);
    if (e != CLI_REFUSED)
        return e;
    t->is_streaming = false; /* a stream that the tenant may have enabled since is its own */
    enum cli_exit noted = cli_moving_save(m);
    return noted == CLI_OK ? e : noted;
}

enum cli_exit cli_moving_unstream(struct cli_tenant_move *m, const struct cli_tenant_table *t)
{
    json_t *body = json_deep_copy(t->schema);
    (void)json_object_set_new(body, RETENTION, json_null()); /* small */
    return change_source(m, t, body);
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
    t->has_aggregates = cli_families_have_aggregates(t->families);
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

/* --- removal ----------------------------------------------------------------------------------
 */

enum cli_exit cli_moving_empty(struct cli_tenant_move *m, struct cli_tenant_table *t)
{
    struct buf target;
    json_t *doc = NULL;
    cli_target1(&target, "/v1/tables/{}:drop", t->id);
    enum cli_exit e =
        cli_http_send(m->to.data, "POST", &target, json_pack("{s:b}", "all", true), true, &doc);
    json_decref(doc);
    if (e != CLI_OK)
        return e;
    t->is_copied = false;
    cli_slice_free(&t->after);
    t->after = SLICE_EMPTY;
    return cli_moving_save(m);
}

/* Checks whether the destination has the table, and removes its deletion protection. */
static enum cli_exit unprotect(struct cli_tenant_move *m, const struct cli_tenant_table *t,
                               bool *out_found)
{
    struct buf target;
    json_t *doc = NULL;
    cli_target1(&target, "/v1/tables/{}", t->id);
    enum cli_exit e = cli_moving_find(m->to.data, &m->to.data_config, &target, &doc);
    *out_found = doc != NULL;
    if (json_is_true(json_object_get(doc, "deletion_protection"))) {
        json_t *now = NULL;
        json_t *body = cli_export_schema(doc);
        (void)json_object_set_new(body, "deletion_protection", json_false()); /* it exists */
        e = put_table(m->to.data, t->id, body, &now);
        json_decref(now);
    }
    json_decref(doc);
    return e;
}

enum cli_exit cli_moving_remove(struct cli_tenant_move *m, const struct cli_tenant_table *t)
{
    struct buf target;
    json_t *doc = NULL;
    bool found = false;
    enum cli_exit e = unprotect(m, t, &found);
    if (e != CLI_OK || !found)
        return e;
    e = cli_moving_no_views(m, t);
    if (e != CLI_OK)
        return e;
    cli_target1(&target, "/v1/tables/{}", t->id);
    e = cli_http_send(m->to.data, "DELETE", &target, NULL, true, &doc);
    json_decref(doc);
    return e;
}
