/*
 * cli/move_table.c - target tables of foreign tables; see move_in.h.
 *
 * An existing table must have the families, of the same types. A missing table is created by its
 * first source, its owner, with the service's schema for all its sources: first without rules,
 * because cells that rules hide could not be compared; the rules are set at the end.
 */
#include "cli/families.h"
#include "cli/http.h"
#include "cli/json_text.h"
#include "cli/move_in.h"
#include "cli/out.h"
#include "cli/target.h"

#include "base/banned.h"

/* --- the service's schema ---------------------------------------------------------------------
 */

/* Returns the families under their target names; NULL, with a message: two would have the same. */
static json_t *rename_families(const struct cli_move_source *s, json_t *foreign)
{
    json_t *families = json_object();
    const char *name;
    json_t *family;
    json_object_foreach(foreign, name, family)
    {
        struct slice here = cli_move_family(s, base_slice_text(name));
        if (here.len > 0 &&
            json_object_setn(families, (const char *)here.ptr, here.len, family) == 0)
            continue;
        (void)cli_fail(CLI_CHECK_FAILED,
                       "%s: another family is renamed to %s, which it has, too: rename that one",
                       s->name, name);
        json_decref(families);
        return NULL;
    }
    return families;
}

/* Refuses a name in the mapping that the foreign table does not have. */
static enum cli_exit check_renames(const struct cli_move_source *s, const json_t *foreign)
{
    json_t *renames = (json_t *)(uintptr_t)s->families; /* read-only */
    const char *name;
    json_t *unused;
    json_object_foreach(renames, name, unused)
    {
        if (json_object_get(foreign, name) == NULL)
            return cli_fail(CLI_CHECK_FAILED, "%s has no family %s, which is to be renamed",
                            s->name, name);
    }
    return CLI_OK;
}

enum cli_exit cli_move_take_schema(struct cli_move_in *m, struct cli_move *v)
{
    json_t *foreign = NULL;
    if (v->source->from_table == NULL)
        return CLI_OK;
    enum cli_exit e = cli_service_schema(&m->service, v->source->from_table, &foreign);
    if (e == CLI_OK && foreign != NULL) {
        e = check_renames(v->source, foreign);
        v->schema = e == CLI_OK ? rename_families(v->source, foreign) : NULL;
        e = e == CLI_OK && v->schema == NULL ? CLI_CHECK_FAILED : e;
    }
    json_decref(foreign);
    return e;
}

/* --- existing tables --------------------------------------------------------------------------
 */

/* Returns the type that decides how cells are written: types of plain values may differ. */
static const char *type_of(const json_t *family)
{
    const char *type = cli_family_aggregate(family);
    return type != NULL ? type : "none";
}

static enum cli_exit check_families(const struct cli_move *v, const json_t *families)
{
    const char *name;
    json_t *wanted;
    json_object_foreach(v->schema, name, wanted)
    {
        const json_t *family = json_object_get(families, name);
        if (family == NULL)
            return cli_fail(CLI_CHECK_FAILED,
                            "%s: the table %s of the tenant %s has no family %s: make it, or let "
                            "the move make the table",
                            v->source->name, v->source->table, v->source->tenant, name);
        if (strcmp(type_of(family), type_of(wanted)) != 0)
            return cli_fail(CLI_CHECK_FAILED,
                            "%s: the family %s of the table %s of the tenant %s has the type %s; "
                            "it needs %s",
                            v->source->name, name, v->source->table, v->source->tenant,
                            type_of(family), type_of(wanted));
    }
    return CLI_OK;
}

/* --- missing tables ---------------------------------------------------------------------------
 */

/* Adds this source's families to the owner's table. */
static enum cli_exit join_schema(struct cli_move *owner, const struct cli_move *v)
{
    const char *name;
    json_t *family;
    json_object_foreach(v->schema, name, family)
    {
        const json_t *known = json_object_get(owner->families, name);
        if (known != NULL && !json_equal(known, family))
            return cli_fail(CLI_CHECK_FAILED,
                            "%s: the family %s of the table %s of the tenant %s would get other "
                            "rules, or another type, from another source: make the table first",
                            v->source->name, name, v->source->table, v->source->tenant);
        if (json_object_set(owner->families, name, family) != 0)
            return cli_fail(CLI_REFUSED, "out of memory for a table");
    }
    owner->has_aggregates = cli_families_have_aggregates(owner->families);
    return CLI_OK;
}

static enum cli_exit plan_table(struct cli_move *v)
{
    struct cli_move *owner = v->owner;
    if (v->schema == NULL)
        return cli_fail(CLI_CHECK_FAILED,
                        "%s: the table %s of the tenant %s is not there, and nobody says which "
                        "families it needs: make it first",
                        v->source->name, v->source->table, v->source->tenant);
    if (owner->families == NULL)
        owner->families = json_object();
    owner->makes = true;
    enum cli_exit e = join_schema(owner, v);
    if (v != owner)
        v->families = json_incref(owner->families);
    v->has_aggregates = owner->has_aggregates;
    return e;
}

enum cli_exit cli_move_take_table(struct cli_move_in *m, struct cli_move *v, const json_t *doc)
{
    json_t *families = json_object_get(doc, "families");
    v->owner = &m->moves[0];
    while (strcmp(v->owner->source->tenant, v->source->tenant) != 0 ||
           strcmp(v->owner->source->table, v->source->table) != 0)
        v->owner++;
    if (doc == NULL || (v->owner->makes && !v->owner->is_ruled))
        return plan_table(v);
    v->families = json_incref(families);
    v->has_aggregates = cli_families_have_aggregates(families);
    return check_families(v, families);
}

/* --- creation ---------------------------------------------------------------------------------
 */

static json_t *table_body(const struct cli_move *v, bool with_rules)
{
    json_t *families = json_deep_copy(v->families);
    const char *name;
    json_t *family;
    json_object_foreach(families, name, family)
    {
        if (!with_rules)
            (void)json_object_del(family, "gc"); /* it may be missing */
    }
    return json_pack("{s:o}", "families", families);
}

static enum cli_exit put_table(struct cli_move_in *m, const struct cli_move *v, bool with_rules)
{
    struct buf target;
    json_t *made = NULL;
    m->cli->config.tenant = v->source->tenant;
    cli_target1(&target, "/v1/tables/{}", v->source->table);
    enum cli_exit e =
        cli_http_send(m->cli->http, "PUT", &target, table_body(v, with_rules), true, &made);
    json_decref(made);
    if (e != CLI_OK)
        return cli_fail(e,
                        "that was the table %s of the tenant %s, which %s needs: the key must "
                        "have table.admin, or the table be there",
                        v->source->table, v->source->tenant, v->source->name);
    return CLI_OK;
}

enum cli_exit cli_move_in_make(struct cli_move_in *m)
{
    enum cli_exit e = m->writes ? cli_move_save_notes(m) : CLI_OK; /* records `makes` */
    for (size_t i = 0; i < m->map.count && e == CLI_OK; i++) {
        struct cli_move *v = &m->moves[i];
        if (!v->makes || v->is_ruled)
            continue;
        if (m->writes)
            e = put_table(m, v, false);
        else
            cli_say("the table %s of the tenant %s would be made, with %zu families",
                    v->source->table, v->source->tenant, json_object_size(v->families));
    }
    return e;
}

enum cli_exit cli_move_in_rule(struct cli_move_in *m)
{
    enum cli_exit e = CLI_OK;
    for (size_t i = 0; i < m->map.count && e == CLI_OK; i++) {
        struct cli_move *v = &m->moves[i];
        if (!v->makes || v->is_ruled)
            continue;
        e = put_table(m, v, true);
        v->is_ruled = e == CLI_OK;
    }
    return e == CLI_OK ? cli_move_save_notes(m) : e;
}
