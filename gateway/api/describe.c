/*
 * gateway/api/describe.c - usage, quotas, tables, tenants and keys as JSON.
 */
#include "gateway/api/describe.h"

#include <inttypes.h>
#include <stdio.h>

#include "gateway/api/quota_json.h"
#include "tenancy/certificate_store.h"

#include "base/banned.h"

#define US_PER_S 1000000U

void gw_describe_usage_members(struct gw_json *j, const struct sto_usage *usage)
{
    gw_json_name_u64(j, "stored_bytes", usage->bytes);
    gw_json_name_u64(j, "rows", usage->rows);
    gw_json_name_u64(j, "cells", usage->cells);
}

void gw_describe_usage(struct gw_json *j, const struct sto_usage *usage)
{
    gw_json_open(j, '{');
    gw_describe_usage_members(j, usage);
    gw_json_close(j, '}');
}

/* Writes seconds with as many decimals as needed. */
static void put_age(struct gw_json *j, const char *name, uint64_t age_us)
{
    char text[48];
    int len =
        snprintf(text, sizeof text, "%" PRIu64 ".%06" PRIu64, age_us / US_PER_S, age_us % US_PER_S);
    while (text[len - 1] == '0')
        len--;
    if (text[len - 1] == '.')
        len--;
    text[len++] = 's';
    gw_json_name(j, name);
    gw_json_text(j, base_slice(text, (size_t)len));
}

static void put_leaf(struct gw_json *j, const struct sto_gc_node *n)
{
    if (n->kind == STO_GC_MAX_VERSIONS)
        gw_json_name_u64(j, "max_versions", n->max_versions);
    else
        put_age(j, "max_age", n->max_age_us);
}

/* Returns whether one object, {"max_versions":N,"max_age":"Ns"}, expresses the rule (table_body.h,
 * promise 1). */
static bool is_short_union(const struct sto_gc *gc, size_t i)
{
    const struct sto_gc_node *n = &gc->nodes[i];
    return n->kind == STO_GC_UNION && n->member_count == 2 && n[1].kind == STO_GC_MAX_VERSIONS &&
           n[2].kind == STO_GC_MAX_AGE;
}

/* Writes the rule in the form that gateway/api/table_body.h parses. */
static void put_gc(struct gw_json *j, const struct sto_gc *gc)
{
    uint32_t missing[LIM_FILTER_DEPTH]; /* members, on each level */
    size_t depth = 0;
    for (size_t i = 0; i < gc->node_count; i++) {
        const struct sto_gc_node *n = &gc->nodes[i];
        gw_json_open(j, '{');
        if (is_short_union(gc, i)) {
            put_leaf(j, &n[1]);
            put_leaf(j, &n[2]);
            i += 2;
        } else if (n->kind == STO_GC_UNION || n->kind == STO_GC_INTERSECTION) {
            gw_json_name(j, n->kind == STO_GC_UNION ? "union" : "intersection");
            gw_json_open(j, '[');
            missing[depth++] = n->member_count;
            continue;
        } else {
            put_leaf(j, n);
        }
        gw_json_close(j, '}');
        while (depth > 0 && --missing[depth - 1] == 0) {
            gw_json_close(j, ']');
            gw_json_close(j, '}');
            depth--;
        }
    }
}

static void put_family(struct gw_json *j, const struct sto_family *family)
{
    gw_json_open(j, '{');
    if (family->aggregate != STO_AGGREGATE_NONE || family->value_type != STO_VALUE_UNTYPED)
        gw_json_name_text(j, "type", sto_family_type_name(family->aggregate, family->value_type));
    if (family->gc.node_count > 0) {
        gw_json_name(j, "gc");
        put_gc(j, &family->gc);
    }
    gw_json_close(j, '}');
}

void gw_describe_table(struct gw_json *j, const struct sto_schema *schema)
{
    struct sto_usage usage = sto_counters_read(&schema->table->counters);
    gw_json_open(j, '{');
    gw_json_name_text(j, "id", schema->table->id);
    gw_json_name_u64(j, "version", schema->revision);
    gw_json_name(j, "families");
    gw_json_open(j, '{');
    for (size_t i = 0; i < schema->family_count; i++) {
        gw_json_name(j, schema->families[i].name);
        put_family(j, &schema->families[i]);
    }
    gw_json_close(j, '}');
    gw_json_name(j, "deletion_protection");
    gw_json_bool(j, schema->protected);
    gw_json_name(j, "row_key_notes");
    if (schema->row_key_notes.len > 0)
        gw_json_text(j, schema->row_key_notes);
    else
        gw_json_null(j);
    if (schema->change_retention_s > 0) {
        put_age(j, "change_stream_retention", (uint64_t)schema->change_retention_s * US_PER_S);
    } else {
        gw_json_name(j, "change_stream_retention");
        gw_json_null(j);
    }
    gw_json_name(j, "usage");
    gw_json_open(j, '{');
    gw_describe_usage_members(j, &usage);
    gw_json_name_u64(j, "uncollected_bytes", sto_schema_uncollected(schema));
    gw_json_close(j, '}');
    gw_json_close(j, '}');
}

/* Returns which of a tenant's requests are refused; NULL: none. */
static const char *suspended(enum ten_state state, const struct ten_details *d)
{
    if (state != TEN_SUSPENDED)
        return NULL;
    return d->closed == STO_GATE_NO_READS    ? "reads"
           : d->closed == STO_GATE_NO_WRITES ? "writes"
                                             : "all";
}

/* Writes "delete_at" and "hold". */
void gw_describe_departure(struct gw_json *j, const struct ten_details *details)
{
    gw_json_name_time(j, "delete_at", details->delete_at_us);
    gw_json_name(j, "hold");
    if (details->hold == NULL) {
        gw_json_null(j);
        return;
    }
    gw_json_open(j, '{');
    gw_json_name_text(j, "reason", details->hold->reason);
    gw_json_name_text(j, "by", details->hold->by);
    gw_json_name_time(j, "since", details->hold->since_us);
    gw_json_close(j, '}');
}

void gw_describe_copies(struct gw_json *j, const struct ten_copies *copies)
{
    gw_json_name(j, "backups");
    gw_json_open(j, '{');
    gw_json_name_u64(j, "count", copies->count);
    gw_json_name(j, "listed");
    gw_json_open(j, '[');
    for (size_t i = 0; i < copies->listed; i++) {
        gw_json_open(j, '{');
        gw_json_name_text(j, "id", copies->of[i].id);
        gw_json_name_time(j, "created", copies->of[i].created_us);
        gw_json_name_time(j, "expires", copies->of[i].expires_us);
        gw_json_close(j, '}');
    }
    gw_json_close(j, ']');
    gw_json_close(j, '}');
}

void gw_describe_growth_members(struct gw_json *j, const struct ten_tenant *t)
{
    gw_json_name_u64(j, "uncollected_bytes", ten_tenant_uncollected(t));
    gw_json_name_u64(j, "change_bytes", sto_account_change_bytes(&t->account));
    gw_json_name_u64(j, "schema_bytes", atomic_load(&t->schema_bytes));
}

void gw_describe_tenant(struct gw_json *j, const struct ten_tenant *t,
                        const struct ten_details *details)
{
    struct sto_usage usage = sto_counters_read(&t->account.total);
    enum ten_state state = (enum ten_state)atomic_load(&t->state);
    gw_json_open(j, '{');
    gw_json_name_text(j, "id", t->id);
    gw_json_name(j, "display_name");
    gw_json_text(j, base_slice_text(details->display_name));
    gw_json_name_text(j, "state", ten_state_name(state));
    gw_json_name_text(j, "suspended", suspended(state, details));
    gw_json_name_text(j, "reason", details->reason);
    gw_json_name_time(j, "created", details->created_us);
    gw_json_name_time(j, "state_since", details->state_since_us);
    gw_json_name(j, "usage");
    gw_json_open(j, '{');
    gw_describe_usage_members(j, &usage);
    gw_describe_growth_members(j, t);
    gw_json_close(j, '}');
    gw_json_name_text(j, "plan", details->plan == NULL ? NULL : details->plan->id);
    gw_json_name(j, "quota");
    struct ten_quota held;
    ten_tenant_quota(t, &held);
    gw_quota_put(j, &held);
    gw_json_name(j, "own_quota");
    gw_quota_put_given(j, &details->quota);
    gw_json_name_text(j, "job", details->job);
    gw_describe_departure(j, details);
    gw_json_name(j, "keyless");
    gw_json_bool(j, details->is_keyless);
    gw_json_name(j, "encrypted");
    gw_json_bool(j, details->is_encrypted);
    gw_json_name_u64(j, "key_versions",
                     t->account.cipher == NULL ? 0 : sto_cipher_versions(t->account.cipher));
    gw_json_name(j, "instance");
    gw_json_text(j, ten_tenant_instance(t));
    gw_json_close(j, '}');
}

void gw_describe_scopes(struct gw_json *j, uint64_t scopes)
{
    gw_json_open(j, '[');
    for (unsigned i = 0; i < 64; i++) {
        const char *name = (scopes >> i & 1) != 0 ? auth_scope_name(i) : NULL;
        if (name != NULL)
            gw_json_text(j, base_slice_text(name));
    }
    gw_json_close(j, ']');
}

void gw_describe_allowed(struct gw_json *j, struct ten_tenant *const *allowed, size_t count)
{
    gw_json_name(j, "tenants");
    if (allowed == NULL) {
        gw_json_null(j);
        return;
    }
    gw_json_open(j, '[');
    for (size_t i = 0; i < count; i++)
        gw_json_text(j, ten_tenant_id(allowed[i]));
    gw_json_close(j, ']');
}

static void put_limit(struct gw_json *j, const char *name, uint64_t limit)
{
    gw_json_name(j, name);
    if (limit == 0)
        gw_json_null(j);
    else
        gw_json_u64(j, limit);
}

void gw_describe_limits(struct gw_json *j, const struct auth_limits *l)
{
    gw_json_name(j, "limits");
    gw_json_open(j, '{');
    put_limit(j, "read_ops_per_s", l->read_ops_per_s);
    put_limit(j, "write_ops_per_s", l->write_ops_per_s);
    put_limit(j, "read_bytes_per_s", l->read_bytes_per_s);
    put_limit(j, "write_bytes_per_s", l->write_bytes_per_s);
    gw_json_close(j, '}');
}

void gw_describe_row_prefix(struct gw_json *j, struct slice prefix)
{
    gw_json_name_bytes(j, "row_prefix", prefix);
}

/* Writes a key. A stripped key may still have label, prefix and limits in memory
 * (auth/departed_keys.c). */
void gw_describe_key(struct gw_json *j, const struct auth_key *key)
{
    static const struct auth_limits none = {0};
    bool is_stripped = key->created_us == 0;
    gw_json_open(j, '{');
    gw_json_name_text(j, "id", key->id);
    gw_json_name_text(j, "kind", auth_kind_name(key->kind));
    gw_json_name(j, "scopes");
    gw_describe_scopes(j, key->scopes);
    gw_json_name(j, "label");
    gw_json_text(j, is_stripped ? SLICE_EMPTY : base_slice_text(key->label));
    gw_describe_allowed(j, key->allowed, key->allowed_count);
    gw_describe_limits(j, is_stripped ? &none : &key->limits);
    gw_describe_row_prefix(j, is_stripped ? SLICE_EMPTY : key->row_prefix);
    gw_json_name(j, "created");
    if (is_stripped)
        gw_json_null(j);
    else
        gw_json_time(j, key->created_us);
    gw_json_close(j, '}');
}
