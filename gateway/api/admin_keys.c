/*
 * gateway/api/admin_keys.c - API keys: create, list, revoke; of a tenant, or of services and
 * operators.
 *
 * All of it runs on the control thread, which owns the keyring. The last key with write access to
 * administration cannot be revoked: without it no key could create another.
 */
#include <openssl/crypto.h>

#include "gateway/api/admin.h"
#include "gateway/api/describe.h"
#include "gateway/api/handlers.h"

#include "base/alloc.h"

#include "base/banned.h"

#define KEYS_SHOWN_MAX LIM_KEYS_PER_TENANT

struct key_change {
    struct ten_tenant *tenant; /* NULL: service and operator keys */
    struct auth_key_wanted wanted;
    struct slice id;
};

/* --- create ------------------------------------------------------------------------------------
 */

static enum err create_work(struct gw_call *call, struct errbuf *eb)
{
    const struct key_change *c = call->state;
    const struct auth_key_wanted *w = &c->wanted;
    char text[AUTH_KEY_TEXT + 1];
    struct auth_key_parts parts;
    enum err e = auth_key_create(call->api->keyring, w, text, eb);
    if (e != ERR_OK)
        return e;
    e = auth_key_parse(base_slice(text, AUTH_KEY_TEXT), &parts);
    INVARIANT(e == ERR_OK);
    struct gw_json j = gw_json_start(&call->out);
    gw_json_open(&j, '{');
    gw_json_name(&j, "id");
    gw_json_text(&j, parts.id);
    gw_json_name_text(&j, "key", text);
    gw_json_name_text(&j, "kind", auth_kind_name(w->kind));
    gw_json_name(&j, "scopes");
    gw_describe_scopes(&j, w->scopes);
    gw_describe_limits(&j, &w->limits);
    gw_describe_row_prefix(&j, w->row_prefix);
    gw_json_close(&j, '}');
    OPENSSL_cleanse(text, sizeof text);
    return ERR_OK;
}

static enum err parse_scope(const json_t *item, uint64_t *scopes, struct errbuf *eb)
{
    uint64_t bit = 0;
    if (!json_is_string(item))
        return base_fail(eb, ERR_INVALID, "\"scopes\" must be a list of names");
    struct slice name = gw_json_string(item);
    if (auth_scope_parse(name, &bit) != ERR_OK)
        return base_fail(eb, ERR_INVALID, "unknown scope \"%.*s\"",
                         (int)(name.len < 48 ? name.len : 48), (const char *)name.ptr);
    *scopes |= bit;
    return ERR_OK;
}

/* Reads the scopes. Absent: all of the kind, or all that a key limited to rows can have. */
static enum err parse_scopes(const json_t *body, struct auth_key_wanted *c, struct errbuf *eb)
{
    const json_t *list = json_object_get(body, "scopes");
    uint64_t fitting = c->kind == AUTH_OPERATOR ? AUTH_SCOPES_OPERATOR : AUTH_SCOPES_TENANT;
    c->scopes = c->row_prefix.len == 0 ? fitting : fitting & ~(uint64_t)AUTH_TABLE_ADMIN;
    if (list == NULL || json_is_null(list))
        return ERR_OK;
    if (!json_is_array(list) || json_array_size(list) == 0)
        return base_fail(eb, ERR_INVALID, "\"scopes\" must be a list of at least one name");
    c->scopes = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        enum err e = parse_scope(json_array_get(list, i), &c->scopes, eb);
        if (e != ERR_OK)
            return base_fail_at(eb, e, "scopes[%zu]", i);
    }
    if ((c->scopes & ~fitting) != 0)
        return base_fail(eb, ERR_INVALID, "a key of kind \"%s\" cannot have the scope \"%s\"",
                         auth_kind_name(c->kind),
                         auth_scope_name((unsigned)__builtin_ctzll(c->scopes & ~fitting)));
    return ERR_OK;
}

static enum err parse_limit(const json_t *limits, const char *name, uint64_t *out,
                            struct errbuf *eb)
{
    uint64_t value = UINT64_MAX;
    enum err e = gw_json_get_u64(limits, name, &value, eb);
    if (e == ERR_OK && value == 0)
        e = base_fail(eb, ERR_INVALID, "\"%s\" is 0; revoke a key that may do nothing", name);
    if (e == ERR_OK)
        *out = value == UINT64_MAX ? 0 : value;
    return e;
}

static enum err parse_limits(const json_t *body, struct auth_limits *out, struct errbuf *eb)
{
    static const char *const names[] = {"read_ops_per_s", "write_ops_per_s", "read_bytes_per_s",
                                        "write_bytes_per_s", NULL};
    const json_t *limits = json_object_get(body, "limits");
    if (limits == NULL || json_is_null(limits))
        return ERR_OK;
    if (!json_is_object(limits))
        return base_fail(eb, ERR_INVALID, "\"limits\" must be an object");
    uint64_t *const fields[] = {&out->read_ops_per_s, &out->write_ops_per_s, &out->read_bytes_per_s,
                                &out->write_bytes_per_s};
    enum err e = gw_json_only(limits, names, eb);
    for (size_t i = 0; e == ERR_OK && names[i] != NULL; i++)
        e = parse_limit(limits, names[i], fields[i], eb);
    return base_fail_at(eb, e, "limits");
}

/* Reads "tenants" of a service key; absent or null: all. */
static enum err parse_allowed(struct gw_call *call, struct auth_key_wanted *w, struct errbuf *eb)
{
    const json_t *list = json_object_get(gw_rest(call)->json, "tenants");
    if (list == NULL || json_is_null(list))
        return ERR_OK;
    size_t count = json_array_size(list);
    if (!json_is_array(list) || count == 0)
        return base_fail(eb, ERR_INVALID, "\"tenants\" must be a list of at least one ID");
    struct slice *ids = base_arena_alloc(&call->arena, count * sizeof ids[0]);
    if (ids == NULL)
        return base_fail(eb, ERR_NO_MEMORY, "out of memory for the list of tenants");
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(list, i);
        if (!json_is_string(item))
            return base_fail(eb, ERR_INVALID, "\"tenants\" must be a list of IDs");
        ids[i] = gw_json_string(item);
    }
    w->allowed = ids;
    w->allowed_count = count;
    return ERR_OK;
}

static void create(struct gw_call *call, struct key_change *c)
{
    struct errbuf eb;
    eb.text[0] = '\0';
    const json_t *body = gw_rest(call)->json;
    c->wanted.tenant = c->tenant;
    enum err e = gw_json_get_bytes(body, "row_prefix", &call->arena, &c->wanted.row_prefix, &eb);
    if (e == ERR_OK && c->wanted.row_prefix.ptr != NULL && c->wanted.row_prefix.len == 0)
        e = base_fail(&eb, ERR_INVALID, "\"row_prefix\" is empty; leave it out for all rows");
    if (e == ERR_OK)
        e = parse_scopes(body, &c->wanted, &eb);
    if (e == ERR_OK)
        e = gw_json_get_text(body, "label", &c->wanted.label, &eb);
    if (e == ERR_OK)
        e = parse_limits(body, &c->wanted.limits, &eb);
    if (e == ERR_OK)
        e = parse_allowed(call, &c->wanted, &eb);
    if (e != ERR_OK)
        gw_call_problem(call, (int)e, eb.text);
    else
        gw_rest_on_control(call, 201, create_work);
}

void gw_tenant_key_create(struct gw_call *call)
{
    static const char *const names[] = {"scopes",     "label",          "limits",
                                        "row_prefix", "row_prefix_b64", NULL};
    struct ten_tenant *t = gw_admin_tenant(call);
    if (t == NULL || !gw_admin_parse(call, names))
        return;
    struct key_change *c = gw_call_new_state(call, sizeof *c, NULL);
    c->tenant = t;
    c->wanted.kind = AUTH_TENANT;
    create(call, c);
}

void gw_admin_key_create(struct gw_call *call)
{
    static const char *const names[] = {"kind",   "scopes",     "label",          "tenants",
                                        "limits", "row_prefix", "row_prefix_b64", NULL};
    struct slice kind;
    struct errbuf eb;
    eb.text[0] = '\0';
    if (!gw_admin_parse(call, names))
        return;
    enum err e = gw_json_get_text(gw_rest(call)->json, "kind", &kind, &eb);
    bool is_service = e == ERR_OK && base_slice_is(kind, "service");
    if (e == ERR_OK && !is_service && !base_slice_is(kind, "operator"))
        e = base_fail(&eb, ERR_INVALID, "\"kind\" must be \"service\" or \"operator\"");
    if (e != ERR_OK) {
        gw_call_problem(call, (int)e, eb.text);
        return;
    }
    struct key_change *c = gw_call_new_state(call, sizeof *c, NULL);
    c->wanted.kind = is_service ? AUTH_SERVICE : AUTH_OPERATOR;
    create(call, c);
}

/* --- list --------------------------------------------------------------------------------------
 */

static enum err list_work(struct gw_call *call, struct errbuf *eb)
{
    (void)eb; /* cannot fail */
    const struct key_change *c = call->state;
    const struct auth_key **keys = base_new_array(KEYS_SHOWN_MAX, sizeof keys[0]);
    size_t count = auth_key_list(call->api->keyring, c->tenant, keys, KEYS_SHOWN_MAX);
    struct gw_json j = gw_json_start(&call->out);
    gw_json_open(&j, '{');
    gw_json_name(&j, "keys");
    gw_json_open(&j, '[');
    for (size_t i = 0; i < count; i++)
        gw_describe_key(&j, keys[i]);
    gw_json_close(&j, ']');
    gw_json_close(&j, '}');
    base_free(keys);
    return ERR_OK;
}

void gw_tenant_key_list(struct gw_call *call)
{
    struct ten_tenant *t = gw_admin_tenant(call);
    if (t == NULL)
        return;
    struct key_change *c = gw_call_new_state(call, sizeof *c, NULL);
    c->tenant = t;
    gw_rest_on_control(call, 200, list_work);
}

void gw_admin_key_list(struct gw_call *call)
{
    (void)gw_call_new_state(call, sizeof(struct key_change), NULL); /* kept in call->state */
    gw_rest_on_control(call, 200, list_work);
}

/* --- revoke ------------------------------------------------------------------------------------
 */

/* Returns whether `id` is the only operator key left that may change anything. */
static bool is_last_writer(struct gw_call *call, struct slice id)
{
    const struct auth_key **keys = base_new_array(KEYS_SHOWN_MAX, sizeof keys[0]);
    size_t count = auth_key_list(call->api->keyring, NULL, keys, KEYS_SHOWN_MAX);
    bool is_writer = false;
    size_t others = 0;
    for (size_t i = 0; i < count; i++) {
        if (keys[i]->kind != AUTH_OPERATOR || (keys[i]->scopes & AUTH_ADMIN_WRITE) == 0)
            continue;
        if (base_slice_is(id, keys[i]->id))
            is_writer = true;
        else
            others++;
    }
    base_free(keys);
    return is_writer && others == 0;
}

static enum err revoke_work(struct gw_call *call, struct errbuf *eb)
{
    const struct key_change *c = call->state;
    if (c->tenant == NULL && is_last_writer(call, c->id))
        return base_fail(eb, ERR_CONFLICT,
                         "this is the last operator key with admin.write; create another first");
    return auth_key_revoke(call->api->keyring, c->id, c->tenant, eb);
}

void gw_tenant_key_revoke(struct gw_call *call)
{
    struct ten_tenant *t = gw_admin_tenant(call);
    if (t == NULL)
        return;
    struct key_change *c = gw_call_new_state(call, sizeof *c, NULL);
    c->tenant = t;
    c->id = gw_rest_param(call, 1);
    gw_rest_on_control(call, 204, revoke_work);
}

void gw_admin_key_revoke(struct gw_call *call)
{
    struct key_change *c = gw_call_new_state(call, sizeof *c, NULL);
    c->id = gw_rest_param(call, 0);
    gw_rest_on_control(call, 204, revoke_work);
}
