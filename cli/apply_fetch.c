/* cli/apply_fetch.c - see apply_fetch.h. */
#include "cli/apply_fetch.h"

#include <stdio.h>
#include <string.h>

#include "cli/http.h"
#include "cli/interrupt.h"
#include "cli/out.h"
#include "cli/progress.h"
#include "cli/target.h"

#include "base/banned.h"

static void draw(const struct cli_apply *a, size_t done)
{
    if (cli_progress_due())
        cli_progress_draw(done, a->count, "compared");
}

static bool has_kind(const struct cli_apply *a, enum cli_apply_kind kind)
{
    for (size_t i = 0; i < a->count; i++)
        if (a->items[i].kind == kind)
            return true;
    return false;
}

static const char *id_of(const json_t *doc)
{
    return json_string_value(json_object_get(doc, "id"));
}

/* --- plans ------------------------------------------------------------------------------------ */

static enum cli_exit fetch_plans(struct cli_apply_server *s, json_t *plans)
{
    struct buf target;
    json_t *answer = NULL;
    size_t i;
    json_t *plan;
    cli_target1(&target, "/v1/admin/plans", NULL);
    enum cli_exit e = cli_http_get(s->admin, &target, &answer);
    json_array_foreach(json_object_get(answer, "plans"), i, plan)
    {
        if (id_of(plan) != NULL)
            json_object_set(plans, id_of(plan), plan);
    }
    json_decref(answer);
    return e;
}

/* --- tenants ---------------------------------------------------------------------------------- */

/* Requests one page, and sets the documents of tenants in wanted (id: null). */
static enum cli_exit fetch_page(struct cli_apply_server *s, struct buf *target, json_t *wanted,
                                json_t **out_token)
{
    json_t *answer = NULL;
    size_t i;
    json_t *tenant;
    *out_token = NULL;
    enum cli_exit e = cli_http_get(s->admin, target, &answer);
    json_array_foreach(json_object_get(answer, "tenants"), i, tenant)
    {
        const char *id = id_of(tenant);
        if (id != NULL && json_object_get(wanted, id) != NULL)
            json_object_set(wanted, id, tenant);
    }
    json_t *token = json_object_get(answer, "next_page_token");
    if (json_is_string(token))
        *out_token = json_incref(token);
    json_decref(answer);
    return e;
}

static enum cli_exit fetch_list(struct cli_apply_server *s, json_t *wanted)
{
    json_t *token = NULL;
    enum cli_exit e = CLI_OK;
    do {
        struct buf target;
        cli_target1(&target, "/v1/admin/tenants?limit=1000", NULL);
        cli_target_query(&target, "page_token", json_string_value(token));
        json_decref(token);
        e = fetch_page(s, &target, wanted, &token);
    } while (e == CLI_OK && token != NULL);
    json_decref(token);
    return e;
}

/* Requests each tenant by prefix: the first ID with the prefix is the tenant's own,
 * as the shortest. */
static enum cli_exit fetch_each(struct cli_apply_server *s, json_t *wanted)
{
    const char *id;
    json_t *was;
    void *next;
    enum cli_exit e = CLI_OK;
    json_object_foreach_safe(wanted, next, id, was)
    {
        struct buf target;
        json_t *token = NULL;
        cli_target1(&target, "/v1/admin/tenants?limit=1", NULL);
        cli_target_query(&target, "prefix", id);
        e = fetch_page(s, &target, wanted, &token);
        json_decref(token);
        if (e != CLI_OK)
            break;
    }
    return e;
}

static enum cli_exit fetch_tenants(struct cli_apply_server *s, struct cli_apply *a, json_t *tenants)
{
    for (size_t i = 0; i < a->count; i++)
        if (a->items[i].kind == CLI_APPLY_TENANT)
            json_object_set_new(tenants, a->items[i].id, json_null());
    if (s->admin == NULL)
        return CLI_OK;
    return json_object_size(tenants) <= CLI_APPLY_ASK_EACH ? fetch_each(s, tenants)
                                                           : fetch_list(s, tenants);
}

/* --- tables and keys -------------------------------------------------------------------------- */

/* Returns the keys with the item's label and kind. */
static json_t *keys_of(const struct cli_apply_item *item, const json_t *keys)
{
    json_t *same = json_array();
    json_t *kind = json_object_get(item->doc, "kind");
    size_t i;
    json_t *key;
    json_array_foreach(keys, i, key)
    {
        const char *label = json_string_value(json_object_get(key, "label"));
        if (label != NULL && strcmp(label, item->id) == 0 &&
            (kind == NULL || json_equal(kind, json_object_get(key, "kind"))))
            json_array_append(same, key);
    }
    if (json_array_size(same) > 0)
        return same;
    json_decref(same);
    return NULL;
}

static json_t *table_of(const struct cli_apply_item *item, const json_t *tables)
{
    size_t i;
    json_t *table;
    json_array_foreach(tables, i, table)
    {
        if (id_of(table) != NULL && strcmp(id_of(table), item->id) == 0)
            return json_incref(table);
    }
    return NULL;
}

static enum cli_exit fetch_inside(struct cli_apply_server *s, const struct cli_apply_item *item,
                                  json_t **out)
{
    struct buf target;
    cli_apply_server_about(s, item);
    if (item->kind == CLI_APPLY_TABLE) {
        cli_target1(&target, "/v1/tables", NULL);
        return cli_http_get(s->tables, &target, out);
    }
    if (item->kind == CLI_APPLY_KEY)
        cli_target1(&target, "/v1/admin/tenants/{}/keys", item->tenant);
    else
        cli_target1(&target, "/v1/admin/keys", NULL);
    return cli_http_get(s->admin, &target, out);
}

static bool are_together(const struct cli_apply_item *x, const struct cli_apply_item *y)
{
    return x->kind == y->kind && (x->tenant == NULL || strcmp(x->tenant, y->tenant) == 0);
}

/* Returns false for a missing tenant, which has nothing, and for tables of a tenant with suspended
 * reads, which cannot be read. */
static bool can_look(const struct cli_apply_server *s, struct cli_apply_item *item,
                     const json_t *tenants)
{
    if (item->tenant == NULL || s->admin == NULL)
        return true;
    const json_t *tenant = json_object_get(tenants, item->tenant);
    if (!json_is_object(tenant))
        return false;
    const char *closed = json_string_value(json_object_get(tenant, "suspended"));
    item->unseen = item->kind == CLI_APPLY_TABLE && closed != NULL && strcmp(closed, "writes") != 0;
    return !item->unseen;
}

/* Fetches tables and keys. Items of one tenant are adjacent, so one answer serves all of them. */
static enum cli_exit fetch_rest(struct cli_apply_server *s, struct cli_apply *a, json_t *tenants)
{
    const struct cli_apply_item *last = NULL;
    json_t *answer = NULL;
    enum cli_exit e = CLI_OK;
    for (size_t i = 0; e == CLI_OK && i < a->count; i++) {
        struct cli_apply_item *item = &a->items[i];
        draw(a, i);
        if (item->kind < CLI_APPLY_TABLE || !can_look(s, item, tenants))
            continue;
        if (last == NULL || !are_together(last, item)) {
            json_decref(answer);
            answer = NULL;
            e = fetch_inside(s, item, &answer);
            last = item;
        }
        item->present = item->kind == CLI_APPLY_TABLE
                            ? table_of(item, json_object_get(answer, "tables"))
                            : keys_of(item, json_object_get(answer, "keys"));
        if (cli_interrupted())
            e = CLI_INTERRUPTED;
    }
    json_decref(answer);
    cli_apply_server_about(s, NULL);
    return e;
}

/* --- all of it -------------------------------------------------------------------------------- */

static void place(struct cli_apply *a, enum cli_apply_kind kind, const json_t *by_id)
{
    for (size_t i = 0; i < a->count; i++) {
        if (a->items[i].kind != kind)
            continue;
        json_t *doc = json_object_get(by_id, a->items[i].id);
        if (json_is_object(doc))
            a->items[i].present = json_incref(doc);
    }
}

enum cli_exit cli_apply_fetch(struct cli_apply_server *s, struct cli_apply *a, json_t **out_plans)
{
    json_t *plans = s->admin != NULL ? json_object() : NULL;
    json_t *tenants = json_object();
    enum cli_exit e = CLI_OK;
    *out_plans = plans;
    if (s->admin != NULL && (has_kind(a, CLI_APPLY_PLAN) || has_kind(a, CLI_APPLY_TENANT)))
        e = fetch_plans(s, plans);
    if (e == CLI_OK)
        e = fetch_tenants(s, a, tenants);
    if (e == CLI_OK)
        e = fetch_rest(s, a, tenants);
    place(a, CLI_APPLY_PLAN, plans);
    place(a, CLI_APPLY_TENANT, tenants);
    json_decref(tenants);
    cli_progress_hide();
    return e;
}
