/*
 * cli/apply_send.c - see apply_send.h.
 *
 * Each phase iterates over all items: plans precede the tenants that use them, tenants precede
 * their tables and keys, suspensions follow everything that they would block, and plans are removed
 * after no tenant uses them.
 */
#include "cli/apply_send.h"

#include <string.h>

#include "cli/http.h"
#include "cli/interrupt.h"
#include "cli/json_text.h"
#include "cli/out.h"
#include "cli/progress.h"
#include "cli/target.h"

#include "base/banned.h"

#define PLAN   "/v1/admin/plans/{}"
#define TENANT "/v1/admin/tenants/{}"
#define TABLE  "/v1/tables/{}"

struct sending {
    struct cli_apply_server *server;
    struct cli_apply_secrets *secrets;
    struct cli_apply_item *item;
};

static enum cli_exit changed_meanwhile(const struct sending *s)
{
    return cli_fail(CLI_CHECK_FAILED, "%s was changed by someone else meanwhile; look again",
                    s->server->about);
}

/* Sends a request; the item's ID fills pattern. Takes body. */
static enum cli_exit send_admin(struct sending *s, const char *method, const char *pattern,
                                json_t *body, bool repeatable)
{
    struct buf target;
    json_t *answer = NULL;
    cli_target1(&target, pattern, s->item->id);
    enum cli_exit e = cli_http_send(s->server->admin, method, &target, body, repeatable, &answer);
    json_decref(answer);
    return e;
}

/* --- plans ------------------------------------------------------------------------------------ */

static enum cli_exit check_plan(struct sending *s)
{
    struct buf target;
    json_t *now = NULL;
    cli_target1(&target, PLAN, s->item->id);
    enum cli_exit e = cli_http_get(s->server->admin, &target, &now);
    if (e == CLI_OK &&
        !json_equal(json_object_get(now, "changed"), json_object_get(s->item->present, "changed")))
        e = changed_meanwhile(s);
    json_decref(now);
    return e;
}

static enum cli_exit put_plan(struct sending *s)
{
    enum cli_exit e = s->item->verb == CLI_APPLY_CHANGE ? check_plan(s) : CLI_OK;
    if (e != CLI_OK)
        return e;
    return send_admin(s, "PUT", PLAN, json_incref(s->item->body), true);
}

static enum cli_exit delete_plan(struct sending *s)
{
    return send_admin(s, "DELETE", PLAN, NULL, true);
}

/* --- tenants ---------------------------------------------------------------------------------- */

/* Returns the change of a tenant's suspension; NULL: no change. */
static json_t *suspension_of(const struct cli_apply_item *item)
{
    size_t i;
    json_t *change;
    json_array_foreach(item->changes, i, change)
    {
        if (strcmp(json_string_value(json_object_get(change, "field")), "suspended") == 0)
            return json_object_get(change, "to");
    }
    return NULL;
}

/* Checks that the tenant's own quota is unchanged, because PUT replaces all of it. */
static enum cli_exit put_quota(struct sending *s, json_t *quota)
{
    struct buf target;
    json_t *now = NULL;
    cli_target1(&target, TENANT "/quota", s->item->id);
    enum cli_exit e = cli_http_get(s->server->admin, &target, &now);
    if (e == CLI_OK &&
        !json_equal(json_object_get(now, "own"), json_object_get(s->item->present, "own_quota")))
        e = changed_meanwhile(s);
    json_decref(now);
    return e == CLI_OK ? send_admin(s, "PUT", TENANT "/quota", json_incref(quota), true) : e;
}

static enum cli_exit put_tenant(struct sending *s)
{
    struct cli_apply_item *item = s->item;
    if (item->verb == CLI_APPLY_CREATE)
        return send_admin(s, "POST", "/v1/admin/tenants", json_incref(item->body), false);
    json_t *patch = json_object_get(item->body, "patch");
    json_t *quota = json_object_get(item->body, "quota");
    enum cli_exit e = CLI_OK;
    if (json_is_false(suspension_of(item)))
        e = send_admin(s, "POST", TENANT ":resume", NULL, true);
    if (e == CLI_OK && patch != NULL)
        e = send_admin(s, "PATCH", TENANT, json_incref(patch), true);
    if (e == CLI_OK && quota != NULL)
        e = put_quota(s, quota);
    return e;
}

static enum cli_exit suspend_tenant(struct sending *s)
{
    return send_admin(s, "POST", TENANT ":suspend", json_incref(suspension_of(s->item)), true);
}

/* --- tables ----------------------------------------------------------------------------------- */

/* Changes the table if it is unchanged since *table was read; updates *table. Takes body. */
static enum cli_exit change_table(struct sending *s, const char *method, const char *pattern,
                                  json_t *body, json_t **table)
{
    struct buf target;
    char version[CLI_ETAG_BYTES];
    json_t *answer = NULL;
    cli_json_etag(*table, version);
    cli_target1(&target, pattern, s->item->id);
    enum cli_exit e = cli_http_send_if(s->server->tables, method, &target, "If-Match", version,
                                       body, false, &answer);
    json_decref(*table);
    *table = answer;
    return e;
}

static enum cli_exit put_families(struct sending *s, json_t **table)
{
    json_t *families = json_object_get(s->item->body, "families");
    if (families == NULL)
        return CLI_OK;
    return change_table(s, "POST", TABLE ":families", json_incref(families), table);
}

/* Sends the settings. PUT must repeat every existing family unchanged. */
static enum cli_exit put_settings(struct sending *s, json_t **table)
{
    json_t *settings = json_object_get(s->item->body, "settings");
    if (settings == NULL)
        return CLI_OK;
    json_t *body = json_copy(settings);
    json_object_set(body, "families", json_object_get(*table, "families"));
    return change_table(s, "PUT", TABLE, body, table);
}

static enum cli_exit create_table(struct sending *s)
{
    struct buf target;
    json_t *answer = NULL;
    cli_target1(&target, TABLE, s->item->id);
    enum cli_exit e = cli_http_send_if(s->server->tables, "PUT", &target, "If-None-Match", "*",
                                       json_incref(s->item->body), false, &answer);
    json_decref(answer);
    return e;
}

static enum cli_exit put_table(struct sending *s)
{
    struct cli_apply_item *item = s->item;
    if (item->verb == CLI_APPLY_CREATE)
        return create_table(s);
    json_t *table = json_incref(item->present);
    enum cli_exit e = CLI_OK;
    /* Families of a protected table cannot be removed. */
    bool opens = json_is_false(
        json_object_get(json_object_get(item->body, "settings"), "deletion_protection"));
    if (item->verb == CLI_APPLY_REMOVE) {
        e = change_table(s, "DELETE", TABLE, NULL, &table);
    } else {
        e = opens ? put_settings(s, &table) : put_families(s, &table);
        if (e == CLI_OK)
            e = opens ? put_families(s, &table) : put_settings(s, &table);
    }
    json_decref(table);
    return e;
}

/* --- keys ------------------------------------------------------------------------------------- */

static enum cli_exit revoke(struct sending *s, const char *key_id)
{
    struct buf target;
    json_t *answer = NULL;
    if (s->item->tenant != NULL)
        cli_target2(&target, TENANT "/keys/{}", s->item->tenant, key_id);
    else
        cli_target1(&target, "/v1/admin/keys/{}", key_id);
    enum cli_exit e = cli_http_send(s->server->admin, "DELETE", &target, NULL, true, &answer);
    json_decref(answer);
    return e;
}

static enum cli_exit create_key(struct sending *s)
{
    struct buf target;
    json_t *made = NULL;
    if (s->item->tenant != NULL)
        cli_target1(&target, TENANT "/keys", s->item->tenant);
    else
        cli_target1(&target, "/v1/admin/keys", NULL);
    enum cli_exit e =
        cli_http_send(s->server->admin, "POST", &target, json_incref(s->item->body), false, &made);
    if (e == CLI_OK) {
        e = cli_apply_secrets_add(s->secrets, s->item, made);
        const char *id = json_string_value(json_object_get(made, "id"));
        if (e != CLI_OK && id != NULL && revoke(s, id) == CLI_OK)
            cli_say("the key was revoked again");
    }
    json_decref(made);
    return e;
}

static enum cli_exit revoke_keys(struct sending *s)
{
    size_t i;
    json_t *key;
    enum cli_exit e = CLI_OK;
    json_array_foreach(s->item->present, i, key)
    {
        const char *id = json_string_value(json_object_get(key, "id"));
        if (e == CLI_OK && id != NULL)
            e = revoke(s, id);
    }
    return e;
}

/* --- phases ----------------------------------------------------------------------------------- */

static bool has_plan(const struct cli_apply_item *item)
{
    return item->kind == CLI_APPLY_PLAN && item->verb != CLI_APPLY_REMOVE;
}

static bool has_no_plan(const struct cli_apply_item *item)
{
    return item->kind == CLI_APPLY_PLAN && item->verb == CLI_APPLY_REMOVE;
}

/* A new tenant, or one of which more changes than that it is suspended. */
static bool has_tenant(const struct cli_apply_item *item)
{
    return item->kind == CLI_APPLY_TENANT &&
           (item->verb == CLI_APPLY_CREATE || json_object_size(item->body) > 0 ||
            json_is_false(suspension_of(item)));
}

static bool has_suspension(const struct cli_apply_item *item)
{
    return item->kind == CLI_APPLY_TENANT && json_is_object(suspension_of(item));
}

static bool has_table(const struct cli_apply_item *item)
{
    return item->kind == CLI_APPLY_TABLE;
}

static bool has_key(const struct cli_apply_item *item)
{
    return item->kind >= CLI_APPLY_KEY && item->verb == CLI_APPLY_CREATE;
}

static bool has_no_key(const struct cli_apply_item *item)
{
    return item->kind >= CLI_APPLY_KEY && item->verb == CLI_APPLY_REMOVE;
}

static const struct {
    bool (*concerns)(const struct cli_apply_item *item);
    enum cli_exit (*run)(struct sending *s);
} PHASES[] = {
    {has_plan, put_plan},       {has_tenant, put_tenant},  {has_table, put_table},
    {has_key, create_key},      {has_no_key, revoke_keys}, {has_suspension, suspend_tenant},
    {has_no_plan, delete_plan},
};
#define PHASE_COUNT (sizeof PHASES / sizeof PHASES[0])

static bool is_step(const struct cli_apply_item *item, size_t phase)
{
    return item->verb != CLI_APPLY_KEEP && PHASES[phase].concerns(item);
}

static size_t count_steps(const struct cli_apply *a)
{
    size_t steps = 0;
    for (size_t phase = 0; phase < PHASE_COUNT; phase++)
        for (size_t i = 0; i < a->count; i++)
            steps += is_step(&a->items[i], phase);
    return steps;
}

enum cli_exit cli_apply_send(struct cli_apply_server *server, struct cli_apply *a,
                             struct cli_apply_secrets *secrets)
{
    struct sending s = {.server = server, .secrets = secrets};
    enum cli_exit e = CLI_OK;
    size_t steps = count_steps(a);
    size_t done = 0;
    for (size_t phase = 0; e == CLI_OK && phase < PHASE_COUNT; phase++) {
        for (size_t i = 0; e == CLI_OK && i < a->count; i++) {
            if (!is_step(&a->items[i], phase))
                continue;
            s.item = &a->items[i];
            cli_apply_server_about(server, s.item);
            e = cli_interrupted() ? CLI_INTERRUPTED : PHASES[phase].run(&s);
            done += e == CLI_OK;
            if (cli_progress_due())
                cli_progress_draw(done, steps, "applied");
        }
    }
    cli_progress_hide();
    cli_apply_server_about(server, NULL);
    if (e != CLI_OK)
        cli_say("%zu of %zu steps were done; run it again for the rest", done, steps);
    return e;
}
