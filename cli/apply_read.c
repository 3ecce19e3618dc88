/*
 * cli/apply_read.c - see apply_read.h.
 *
 * A table lists the fields of each kind of thing; tables and keys inside a tenant become separate
 * items.
 */
#include "cli/apply_read.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/names.h"
#include "base/text.h"
#include "cli/apply_families.h"
#include "cli/apply_values.h"
#include "cli/nearest.h"
#include "cli/text.h"

#include "base/banned.h"

#define SCOPES_MAX 64 /* more than exist; duplicates are harmless */

/* --- a thing with a name ---------------------------------------------------------------------- */

/* Stores the ID under `field` in doc as "id"; returns false, with a complaint,
 * when there is none. */
static bool read_id(struct cli_apply_reader *r, const struct cli_yaml_node *n, const char *what,
                    const char *field, enum err (*check)(struct slice, struct errbuf *),
                    json_t *doc)
{
    struct errbuf eb = {0};
    const struct cli_yaml_node *id = cli_apply_member(n, field);
    if (id == NULL) {
        cli_apply_wrong(r, n, "a %s needs \"%s\"", what, field);
        return false;
    }
    const char *text = cli_apply_scalar(r, id, field);
    if (text == NULL)
        return false;
    if (check(id->text, &eb) != ERR_OK) {
        cli_apply_wrong(r, id, "%s \"%.64s\": %s", what, text, eb.text);
        return false;
    }
    json_object_set_new(doc, "id", json_stringn(text, id->text.len));
    return true;
}

static void set_about(struct cli_apply_reader *r, const struct errbuf *outer, const char *what,
                      const json_t *doc)
{
    char inner[200];
    (void)snprintf(inner, sizeof inner, "%s \"%.130s\"", what,
                   json_string_value(json_object_get(doc, "id"))); /* may be truncated */
    (void)snprintf(r->about.text, sizeof r->about.text, "%.160s%s%s", outer->text,
                   outer->text[0] != '\0' ? ", " : "", inner);
}

struct thing {
    enum cli_apply_kind kind;
    const char *what;
    const char *id_field;
    enum err (*check)(struct slice id, struct errbuf *eb);
    const struct cli_apply_field *fields;
    const char *key_kind; /* of service and operator keys */
};

static void read_thing(struct cli_apply_reader *r, const struct cli_yaml_node *n,
                       const struct thing *t)
{
    struct errbuf outer = r->about;
    if (!cli_apply_expect(r, n, CLI_YAML_MAP, t->what))
        return;
    json_t *doc = json_object();
    if (r->tenant != NULL)
        json_object_set_new(doc, "tenant", json_string(r->tenant));
    if (t->key_kind != NULL)
        json_object_set_new(doc, "kind", json_string(t->key_kind));
    if (read_id(r, n, t->what, t->id_field, t->check, doc)) {
        set_about(r, &outer, t->what, doc);
        cli_apply_read_map(r, n, t->fields, doc);
        (void)cli_apply_add(r->apply, t->kind, cli_apply_place(r, n), doc); /* already complete */
    } else {
        json_decref(doc);
    }
    r->about = outer;
}

static void read_things(struct cli_apply_reader *r, const struct cli_yaml_node *n,
                        const struct thing *t, const char *name)
{
    if (cli_yaml_is_empty(n) || !cli_apply_expect(r, n, CLI_YAML_LIST, name))
        return;
    for (const struct cli_yaml_node *m = n->first; m != NULL; m = m->next)
        read_thing(r, m, t);
}

/* --- fields ----------------------------------------------------------------------------------- */

static void read_display_name(struct cli_apply_reader *r, const struct cli_yaml_node *n,
                              json_t *doc, const char *name)
{
    cli_apply_text(r, n, doc, name, LIM_DISPLAY_NAME);
}

static enum err plan_id_check(struct slice id, struct errbuf *eb)
{
    struct errbuf inner = {0};
    if (base_tenant_id_check(id, &inner) == ERR_OK)
        return ERR_OK;
    return base_fail(eb, ERR_INVALID, "a plan's ID is made like a tenant's: %s", inner.text);
}

static enum err tenant_id_check(struct slice id, struct errbuf *eb)
{
    if (base_tenant_id_is_reserved(id))
        return base_fail(eb, ERR_INVALID, "this ID is reserved");
    return base_tenant_id_check(id, eb);
}

static enum err label_check(struct slice label, struct errbuf *eb)
{
    if (label.len == 0)
        return base_fail(eb, ERR_INVALID, "the label is what the key is known by; it is empty");
    return base_text_check(label, LIM_KEY_LABEL, "the label", eb);
}

static void read_plan_of_tenant(struct cli_apply_reader *r, const struct cli_yaml_node *n,
                                json_t *doc, const char *name)
{
    struct errbuf eb = {0};
    const char *text = cli_apply_scalar(r, n, name);
    if (text == NULL)
        return;
    if (cli_yaml_is_null(n))
        json_object_set_new(doc, name, json_null());
    else if (plan_id_check(n->text, &eb) != ERR_OK)
        cli_apply_wrong(r, n, "%s", eb.text);
    else
        json_object_set_new(doc, name, json_stringn(text, n->text.len));
}

static void read_reason(struct cli_apply_reader *r, const struct cli_yaml_node *n, json_t *doc,
                        const char *name)
{
    cli_apply_text(r, n, doc, name, LIM_REASON);
}

static void read_access(struct cli_apply_reader *r, const struct cli_yaml_node *n, json_t *doc,
                        const char *name)
{
    const char *text = cli_apply_scalar(r, n, name);
    if (text == NULL)
        return;
    if (strcmp(text, "reads") == 0 || strcmp(text, "writes") == 0 || strcmp(text, "all") == 0)
        json_object_set_new(doc, name, json_string(text));
    else
        cli_apply_wrong(r, n, "%s must be reads, writes or all, not \"%.64s\"", name, text);
}

/* Reads a suspension: false, or {reason, access}. */
static void read_suspended(struct cli_apply_reader *r, const struct cli_yaml_node *n, json_t *doc,
                           const char *name)
{
    static const struct cli_apply_field FIELDS[] = {
        {"reason", read_reason}, {"access", read_access}, {NULL, NULL}};
    if (n->kind == CLI_YAML_SCALAR && n->is_plain && base_slice_is(n->text, "false")) {
        json_object_set_new(doc, name, json_false());
        return;
    }
    if (n->kind != CLI_YAML_MAP || cli_apply_member(n, "reason") == NULL) {
        cli_apply_wrong(r, n, "%s is false, or a mapping with a reason, which the tenant is shown",
                        name);
        return;
    }
    json_t *wanted = json_pack("{s:s}", "access", "all");
    cli_apply_read_map(r, n, FIELDS, wanted);
    json_object_set_new(doc, name, wanted);
}

static void read_notes(struct cli_apply_reader *r, const struct cli_yaml_node *n, json_t *doc,
                       const char *name)
{
    const char *text = cli_apply_scalar(r, n, name);
    if (text == NULL)
        return;
    if (n->text.len > LIM_ROW_KEY_NOTES)
        cli_apply_wrong(r, n, "%s has %zu bytes; the limit is %lu", name, n->text.len,
                        LIM_ROW_KEY_NOTES);
    else
        json_object_set_new(
            doc, name,
            json_stringn(cli_yaml_is_null(n) ? "" : text, cli_yaml_is_null(n) ? 0 : n->text.len));
}

static void read_retention(struct cli_apply_reader *r, const struct cli_yaml_node *n, json_t *doc,
                           const char *name)
{
    uint64_t seconds = 0;
    const char *text = cli_apply_scalar(r, n, name);
    if (text == NULL)
        return;
    if (cli_yaml_is_null(n) || strcmp(text, "none") == 0)
        json_object_set_new(doc, name, json_null());
    else if (cli_text_parse_seconds(text, &seconds) && seconds >= LIM_CHANGES_KEPT_MIN_S &&
             seconds <= LIM_CHANGES_KEPT_S)
        json_object_set_new(doc, name, json_sprintf("%" PRIu64 "s", seconds));
    else
        cli_apply_wrong(r, n, "%s must be a time from 1d to 7d, or none", name);
}

static void read_splits(struct cli_apply_reader *r, const struct cli_yaml_node *n, json_t *doc,
                        const char *name)
{
    cli_apply_names(r, n, doc, name, LIM_SPLITS, NULL);
}

static enum err scope_check(struct slice scope, struct errbuf *eb)
{
    static const char *const SCOPES[] = {"data.read",  "data.write",  "table.admin",
                                         "admin.read", "admin.write", "ops.read"};
    struct cli_nearest near = cli_nearest_to((const char *)scope.ptr);
    for (size_t i = 0; i < sizeof SCOPES / sizeof SCOPES[0]; i++) {
        if (base_slice_is(scope, SCOPES[i]))
            return ERR_OK;
        cli_nearest_consider(&near, SCOPES[i]);
    }
    return base_fail(eb, ERR_INVALID, "there is no scope \"%.64s\"%s%s%s", (const char *)scope.ptr,
                     near.best != NULL ? "; did you mean \"" : "",
                     near.best != NULL ? near.best : "", near.best != NULL ? "\"?" : "");
}

static void read_scopes(struct cli_apply_reader *r, const struct cli_yaml_node *n, json_t *doc,
                        const char *name)
{
    cli_apply_names(r, n, doc, name, SCOPES_MAX, scope_check);
}

static void read_allowed(struct cli_apply_reader *r, const struct cli_yaml_node *n, json_t *doc,
                         const char *name)
{
    cli_apply_names(r, n, doc, name, LIM_TENANTS_PER_KEY, base_tenant_id_check);
}

/* --- things ----------------------------------------------------------------------------------- */

static void read_tables(struct cli_apply_reader *r, const struct cli_yaml_node *n, json_t *doc,
                        const char *name);
static void read_keys(struct cli_apply_reader *r, const struct cli_yaml_node *n, json_t *doc,
                      const char *name);

static void no_absence(struct cli_apply_reader *r, const struct cli_yaml_node *n, json_t *doc,
                       const char *name)
{
    (void)doc;
    cli_apply_wrong(r, n, "there is no \"%s\" of a tenant: bigtent tenant offboard removes it",
                    name);
}

static const struct cli_apply_field PLAN_FIELDS[] = {
    {"id", NULL},
    {"display_name", read_display_name},
    {"quota", cli_apply_quota},
    {"absent", cli_apply_flag},
    {NULL, NULL},
};

static const struct cli_apply_field TENANT_FIELDS[] = {
    {"id", NULL},
    {"display_name", read_display_name},
    {"plan", read_plan_of_tenant},
    {"quota", cli_apply_quota},
    {"encrypted", cli_apply_flag},
    {"suspended", read_suspended},
    {"tables", read_tables},
    {"keys", read_keys},
    {"absent", no_absence},
    {NULL, NULL},
};

static const struct cli_apply_field TABLE_FIELDS[] = {
    {"id", NULL},
    {"families", cli_apply_families},
    {"deletion_protection", cli_apply_flag},
    {"row_key_notes", read_notes},
    {"change_stream_retention", read_retention},
    {"splits", read_splits},
    {"splits_b64", read_splits},
    {"absent", cli_apply_flag},
    {NULL, NULL},
};

/* Reads a prefix, which may not be "none": a key without a prefix omits the field. */
static void read_row_prefix(struct cli_apply_reader *r, const struct cli_yaml_node *n, json_t *doc,
                            const char *name)
{
    const char *text = cli_apply_scalar(r, n, name);
    if (text == NULL)
        return;
    if (cli_yaml_is_null(n) || n->text.len == 0 || n->text.len > LIM_KEY_PREFIX)
        cli_apply_wrong(r, n, "%s has %zu bytes; it must have 1 to %d, or be left out", name,
                        cli_yaml_is_null(n) ? 0 : n->text.len, LIM_KEY_PREFIX);
    else
        json_object_set_new(doc, name, json_stringn(text, n->text.len));
}

static const struct cli_apply_field KEY_FIELDS[] = {
    {"label", NULL},
    {"scopes", read_scopes},
    {"row_prefix", read_row_prefix},
    {"limits", cli_apply_rates},
    {"absent", cli_apply_flag},
    {NULL, NULL},
};

static const struct cli_apply_field SHARED_KEY_FIELDS[] = {
    {"label", NULL},
    {"scopes", read_scopes},
    {"tenants", read_allowed},
    {"row_prefix", read_row_prefix},
    {"limits", cli_apply_rates},
    {"absent", cli_apply_flag},
    {NULL, NULL},
};

static const struct thing PLAN = {CLI_APPLY_PLAN, "plan", "id", plan_id_check, PLAN_FIELDS, NULL};
static const struct thing TENANT = {CLI_APPLY_TENANT, "tenant",      "id",
                                    tenant_id_check,  TENANT_FIELDS, NULL};
static const struct thing TABLE = {CLI_APPLY_TABLE,     "table",      "id",
                                   base_table_id_check, TABLE_FIELDS, NULL};
static const struct thing KEY = {CLI_APPLY_KEY, "key", "label", label_check, KEY_FIELDS, NULL};
static const struct thing SERVICE_KEY = {CLI_APPLY_SHARED_KEY, "service key",     "label",
                                         label_check,          SHARED_KEY_FIELDS, "service"};
static const struct thing OPERATOR_KEY = {CLI_APPLY_SHARED_KEY, "operator key", "label",
                                          label_check,          KEY_FIELDS,     "operator"};

/* Reads things inside a tenant, which belong to that tenant. */
static void read_inside(struct cli_apply_reader *r, const struct cli_yaml_node *n,
                        const json_t *tenant, const struct thing *t, const char *name)
{
    r->tenant = json_string_value(json_object_get(tenant, "id"));
    read_things(r, n, t, name);
    r->tenant = NULL;
}

static void read_tables(struct cli_apply_reader *r, const struct cli_yaml_node *n, json_t *doc,
                        const char *name)
{
    read_inside(r, n, doc, &TABLE, name);
}

static void read_keys(struct cli_apply_reader *r, const struct cli_yaml_node *n, json_t *doc,
                      const char *name)
{
    read_inside(r, n, doc, &KEY, name);
}

static void read_plans(struct cli_apply_reader *r, const struct cli_yaml_node *n, json_t *doc,
                       const char *name)
{
    (void)doc;
    read_things(r, n, &PLAN, name);
}

static void read_tenants(struct cli_apply_reader *r, const struct cli_yaml_node *n, json_t *doc,
                         const char *name)
{
    (void)doc;
    read_things(r, n, &TENANT, name);
}

static void read_service_keys(struct cli_apply_reader *r, const struct cli_yaml_node *n,
                              json_t *doc, const char *name)
{
    (void)doc;
    read_things(r, n, &SERVICE_KEY, name);
}

static void read_operator_keys(struct cli_apply_reader *r, const struct cli_yaml_node *n,
                               json_t *doc, const char *name)
{
    (void)doc;
    read_things(r, n, &OPERATOR_KEY, name);
}

void cli_apply_read(struct cli_apply *a, const char *file, struct slice text)
{
    static const struct cli_apply_field FIELDS[] = {{"plans", read_plans},
                                                    {"tenants", read_tenants},
                                                    {"service_keys", read_service_keys},
                                                    {"operator_keys", read_operator_keys},
                                                    {NULL, NULL}};
    struct cli_apply_reader r = {.apply = a, .file = file};
    struct cli_yaml tree;
    struct cli_yaml_error error;
    if (cli_yaml_parse(text, &tree, &error) != ERR_OK) {
        struct cli_apply_place at = {file, error.line, error.column};
        cli_apply_complain(a, at, "%s", error.why.text);
    }
    for (const struct cli_yaml_node *d = tree.documents; d != NULL; d = d->next)
        if (error.why.text[0] == '\0' && !cli_yaml_is_empty(d) &&
            cli_apply_expect(&r, d, CLI_YAML_MAP, "the file"))
            cli_apply_read_map(&r, d, FIELDS, NULL);
    cli_yaml_fini(&tree);
}
