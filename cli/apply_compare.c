/* cli/apply_compare.c - see apply_compare.h. */
#include "cli/apply_compare.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "cli/families.h"

#include "base/banned.h"

#define FIELD_BYTES (LIM_FAMILY_NAME + 32)

/* --- changes ---------------------------------------------------------------------------------- */

/* Records a change of a field. from NULL: the field had no value. */
static void note(struct cli_apply_item *item, const char *group, const char *field,
                 const json_t *from, const json_t *to)
{
    char name[FIELD_BYTES];
    (void)snprintf(name, sizeof name, "%s%s%s", group != NULL ? group : "",
                   group != NULL ? "." : "", field); /* fits: fields are ours, families short */
    json_t *change = json_object();
    json_object_set_new(change, "field", json_string(name));
    if (from != NULL)
        json_object_set_new(change, "from", json_deep_copy(from));
    json_object_set_new(change, "to", json_deep_copy(to));
    json_array_append_new(item->changes, change);
}

static bool is_same(const json_t *x, const json_t *y)
{
    return x != NULL && y != NULL && json_equal(x, y);
}

/* Adds a member of the document to body when the server's value differs. */
static void take(struct cli_apply_item *item, const char *name, json_t *body)
{
    json_t *wanted = json_object_get(item->doc, name);
    const json_t *present = json_object_get(item->present, name);
    if (wanted == NULL || is_same(wanted, present))
        return;
    note(item, NULL, name, present, wanted);
    json_object_set(body, name, wanted);
}

/* Returns the tenant's own quota with the document's members merged in. */
static json_t *merge_quota(struct cli_apply_item *item, const json_t *own)
{
    json_t *merged = own != NULL ? json_copy((json_t *)(uintptr_t)own) : json_object();
    const char *name;
    json_t *wanted;
    json_object_foreach(json_object_get(item->doc, "quota"), name, wanted)
    {
        const json_t *present = json_object_get(own, name);
        bool inherits = json_is_string(wanted);
        if (inherits ? present == NULL : is_same(wanted, present))
            continue;
        note(item, "quota", name, present, wanted);
        if (inherits)
            json_object_del(merged, name);
        else
            json_object_set(merged, name, wanted);
    }
    return merged;
}

/* --- plans and tenants ------------------------------------------------------------------------ */

static void compare_plan(struct cli_apply_item *item)
{
    if (item->absent) {
        item->verb = item->present != NULL ? CLI_APPLY_REMOVE : CLI_APPLY_KEEP;
        return;
    }
    json_t *name = json_object_get(item->present, "display_name");
    item->body = json_pack("{s:o*}", "display_name", json_incref(name));
    take(item, "display_name", item->body);
    json_object_set_new(item->body, "quota",
                        merge_quota(item, json_object_get(item->present, "quota")));
    if (item->present == NULL)
        item->verb = CLI_APPLY_CREATE;
    else if (json_array_size(item->changes) > 0)
        item->verb = CLI_APPLY_CHANGE;
}

/* Compares the document's suspension (false, or {reason, access}) with the server's. */
static void compare_suspension(struct cli_apply_item *item)
{
    json_t *wanted = json_object_get(item->doc, "suspended");
    const json_t *closed = json_object_get(item->present, "suspended");
    bool is_open = closed == NULL || json_is_null(closed);
    if (wanted == NULL || (json_is_false(wanted) && is_open))
        return;
    if (!json_is_false(wanted) && !is_open && is_same(json_object_get(wanted, "access"), closed) &&
        is_same(json_object_get(wanted, "reason"), json_object_get(item->present, "reason")))
        return;
    json_t *from = is_open ? NULL
                           : json_pack("{s:O, s:O*}", "access", closed, "reason",
                                       json_object_get(item->present, "reason"));
    note(item, NULL, "suspended", from, wanted);
    json_decref(from);
}

static void new_tenant(struct cli_apply_item *item)
{
    item->verb = CLI_APPLY_CREATE;
    item->body = json_pack("{s:s}", "id", item->id);
    take(item, "display_name", item->body);
    if (json_is_null(json_object_get(item->doc, "plan")))
        json_object_set_new(item->body, "plan", json_null()); /* else: the standard plan */
    else
        take(item, "plan", item->body);
    if (json_is_true(json_object_get(item->doc, "encrypted")))
        take(item, "encrypted", item->body);
    json_object_set_new(item->body, "quota", merge_quota(item, NULL));
    if (json_is_object(json_object_get(item->doc, "suspended")))
        compare_suspension(item);
}

static void compare_tenant(struct cli_apply_item *item)
{
    if (item->present == NULL) {
        new_tenant(item);
        return;
    }
    json_t *patch = json_object();
    take(item, "display_name", patch);
    take(item, "plan", patch);
    size_t patched = json_array_size(item->changes);
    json_t *quota = merge_quota(item, json_object_get(item->present, "own_quota"));
    item->body = json_object();
    if (patched > 0)
        json_object_set(item->body, "patch", patch);
    if (json_array_size(item->changes) > patched)
        json_object_set(item->body, "quota", quota);
    json_decref(patch);
    json_decref(quota);
    compare_suspension(item);
    if (json_array_size(item->changes) > 0)
        item->verb = CLI_APPLY_CHANGE;
}

static void check_tenant(struct cli_apply *a, const struct cli_apply_item *item,
                         const json_t *plans)
{
    const char *plan = json_string_value(json_object_get(item->doc, "plan"));
    const json_t *encrypted = json_object_get(item->doc, "encrypted");
    const char *state = json_string_value(json_object_get(item->present, "state"));
    if (state != NULL && strcmp(state, "delete_requested") == 0)
        cli_apply_complain(a, item->at, "tenant \"%s\" is to be deleted: undelete it first",
                           item->id);
    else if (state != NULL && strcmp(state, "active") != 0 && strcmp(state, "suspended") != 0)
        cli_apply_complain(a, item->at,
                           "tenant \"%s\" was offboarded, and IDs are never used again", item->id);
    if (encrypted != NULL && item->present != NULL &&
        !is_same(encrypted, json_object_get(item->present, "encrypted")))
        cli_apply_complain(
            a, item->at,
            "tenant \"%s\" is%s encrypted, and that never changes: it is chosen when "
            "a tenant is made",
            item->id, json_is_true(encrypted) ? " not" : "");
    if (plan != NULL && !json_is_object(json_object_get(plans, plan)))
        cli_apply_complain(a, item->at, "tenant \"%s\": there is no plan \"%s\"%s", item->id, plan,
                           json_object_get(plans, plan) != NULL
                               ? ": the file removes it"
                               : ", neither on the server nor in the file");
}

/* --- tables ----------------------------------------------------------------------------------- */

static json_t *sub_object(json_t *parent, const char *name, json_t *fresh)
{
    json_t *sub = json_object_get(parent, name);
    if (sub == NULL) {
        sub = fresh;
        json_object_set(parent, name, fresh);
    }
    json_decref(fresh);
    return sub;
}

static const char *type_of(const json_t *family)
{
    const char *type = json_string_value(json_object_get(family, "type"));
    return type != NULL ? type : "none";
}

static void compare_family(struct cli_apply *a, struct cli_apply_item *item, const char *name,
                           json_t *wanted, json_t *change)
{
    json_t *present = json_object_get(json_object_get(item->present, "families"), name);
    json_t *type = json_object_get(wanted, "type");
    json_t *gc = json_object_get(wanted, "gc");
    if (json_is_true(json_object_get(wanted, "absent"))) {
        if (present == NULL)
            return;
        json_t *gone = json_string("absent");
        note(item, "families", name, present, gone);
        json_array_append_new(sub_object(change, "drop", json_array()), json_string(name));
        json_decref(gone);
        return;
    }
    json_object_del(wanted, "absent"); /* absent: false */
    if (present == NULL) {
        note(item, "families", name, NULL, wanted);
        json_object_set(sub_object(change, "create", json_object()), name, wanted);
        return;
    }
    bool is_retyped = type != NULL && strcmp(type_of(wanted), type_of(present)) != 0;
    if (is_retyped &&
        (cli_family_aggregate(wanted) != NULL || cli_family_aggregate(present) != NULL))
        cli_apply_complain(a, item->at,
                           "table \"%s\" of tenant \"%s\": family \"%s\" has type %s; the type "
                           "of aggregates is set when a family is made",
                           item->id, item->tenant, name, type_of(present));
    json_t *rule = json_object_get(present, "gc");
    if (!is_retyped && (gc == NULL ? rule == NULL : is_same(gc, rule)))
        return;
    note(item, "families", name, present, wanted);
    json_object_set_new(sub_object(change, "update", json_object()), name,
                        json_pack("{s:O*,s:O*}", "gc", gc, "type", type));
}

static void compare_settings(struct cli_apply_item *item)
{
    json_t *settings = json_object();
    const char *notes = json_string_value(json_object_get(item->doc, "row_key_notes"));
    bool has_notes = json_is_string(json_object_get(item->present, "row_key_notes"));
    take(item, "deletion_protection", settings);
    take(item, "change_stream_retention", settings);
    if (notes != NULL && (notes[0] != '\0' || has_notes))
        take(item, "row_key_notes", settings);
    if (json_object_size(settings) > 0)
        json_object_set(item->body, "settings", settings);
    json_decref(settings);
}

static void new_table(struct cli_apply *a, struct cli_apply_item *item, const json_t *families)
{
    item->verb = CLI_APPLY_CREATE;
    json_t *created = json_object_get(json_object_get(item->body, "families"), "create");
    if (families == NULL || created == NULL)
        cli_apply_complain(a, item->at,
                           "table \"%s\" of tenant \"%s\" is not there yet: say its families",
                           item->id, item->tenant);
    json_t *body = json_pack("{s:O*}", "families", created);
    json_object_update(body, json_object_get(item->body, "settings"));
    take(item, "splits", body);
    take(item, "splits_b64", body);
    json_decref(item->body);
    item->body = body;
}

static void compare_table(struct cli_apply *a, struct cli_apply_item *item)
{
    if (item->absent || item->unseen) {
        bool goes = item->present != NULL && item->absent;
        item->verb = goes ? CLI_APPLY_REMOVE : CLI_APPLY_KEEP;
        return;
    }
    json_t *families = json_object_get(item->doc, "families");
    json_t *change = json_object();
    const char *name;
    json_t *wanted;
    json_object_foreach(families, name, wanted) compare_family(a, item, name, wanted, change);
    item->body = json_object();
    if (json_object_size(change) > 0)
        json_object_set(item->body, "families", change);
    json_decref(change);
    compare_settings(item);
    if (item->present == NULL)
        new_table(a, item, families);
    else if (json_array_size(item->changes) > 0)
        item->verb = CLI_APPLY_CHANGE;
}

/* --- keys ------------------------------------------------------------------------------------- */

static bool has_text(const json_t *list, const json_t *text)
{
    size_t i;
    json_t *each;
    json_array_foreach(list, i, each)
    {
        if (json_equal(each, text))
            return true;
    }
    return false;
}

/* Returns whether both lists hold the same texts, in any order;
 * a list missing in the file never differs. */
static bool are_same_texts(const json_t *wanted, const json_t *present)
{
    size_t i;
    json_t *each;
    if (wanted == NULL)
        return true;
    json_array_foreach(wanted, i, each)
    {
        if (!has_text(present, each))
            return false;
    }
    json_array_foreach(present, i, each)
    {
        if (!has_text(wanted, each))
            return false;
    }
    return true;
}

static const char *unlike(const json_t *doc, const json_t *key)
{
    const char *name;
    json_t *limit;
    json_object_foreach(json_object_get(doc, "limits"), name, limit)
    {
        if (!is_same(limit, json_object_get(json_object_get(key, "limits"), name)))
            return "limits";
    }
    if (!are_same_texts(json_object_get(doc, "scopes"), json_object_get(key, "scopes")))
        return "scopes";
    if (!are_same_texts(json_object_get(doc, "tenants"), json_object_get(key, "tenants")))
        return "tenants";
    /* a key with a wider or narrower prefix than the file's always differs */
    const json_t *prefix = json_object_get(doc, "row_prefix");
    const json_t *there = json_object_get(key, "row_prefix");
    bool is_limited = json_is_string(there) || json_object_get(key, "row_prefix_b64") != NULL;
    bool is_alike = prefix != NULL ? json_equal(prefix, there) : !is_limited;
    return is_alike ? NULL : "row_prefix";
}

static void compare_key(struct cli_apply_item *item)
{
    size_t i;
    json_t *key;
    if (item->absent) {
        item->verb = item->present != NULL ? CLI_APPLY_REMOVE : CLI_APPLY_KEEP;
        return;
    }
    json_array_foreach(item->present, i, key)
    {
        if (item->unlike == NULL)
            item->unlike = unlike(item->doc, key);
    }
    if (item->present != NULL)
        return;
    item->verb = CLI_APPLY_CREATE;
    item->body = json_pack("{s:s}", "label", item->id);
    static const char *const names[] = {"scopes", "tenants", "row_prefix", "limits"};
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++)
        take(item, names[n], item->body);
    if (item->kind == CLI_APPLY_SHARED_KEY)
        json_object_set(item->body, "kind", json_object_get(item->doc, "kind"));
}

/* Marks unseen tables of tenants that this run resumes: the next run applies them. */
static void mark_waiting(struct cli_apply *a)
{
    json_t *resumed = json_object();
    for (size_t i = 0; i < a->count; i++) {
        const struct cli_apply_item *item = &a->items[i];
        if (item->kind == CLI_APPLY_TENANT && item->verb == CLI_APPLY_CHANGE &&
            json_is_false(json_object_get(item->doc, "suspended")))
            json_object_set_new(resumed, item->id, json_true());
    }
    for (size_t i = 0; i < a->count; i++) {
        struct cli_apply_item *item = &a->items[i];
        item->waits = item->unseen && json_object_get(resumed, item->tenant) != NULL;
    }
    json_decref(resumed);
}

/* --- all of it -------------------------------------------------------------------------------- */

/* Returns the plans that exist after the run, the server's and the file's;
 * false: a removed plan. */
static json_t *plans_then(const struct cli_apply *a, const json_t *plans)
{
    json_t *all = json_copy((json_t *)(uintptr_t)plans);
    for (size_t i = 0; i < a->count; i++) {
        const struct cli_apply_item *item = &a->items[i];
        if (item->kind == CLI_APPLY_PLAN)
            json_object_set_new(all, item->id,
                                item->absent ? json_false() : json_incref(item->doc));
    }
    return all;
}

void cli_apply_compare(struct cli_apply *a, const json_t *plans)
{
    json_t *then = plans != NULL ? plans_then(a, plans) : NULL;
    for (size_t i = 0; i < a->count; i++) {
        struct cli_apply_item *item = &a->items[i];
        item->changes = json_array();
        if (item->kind == CLI_APPLY_PLAN) {
            compare_plan(item);
        } else if (item->kind == CLI_APPLY_TENANT && plans != NULL) {
            compare_tenant(item);
            check_tenant(a, item, then);
        } else if (item->kind == CLI_APPLY_TABLE) {
            compare_table(a, item);
        } else if (item->kind >= CLI_APPLY_KEY) {
            compare_key(item);
        }
    }
    json_decref(then);
    mark_waiting(a);
}
