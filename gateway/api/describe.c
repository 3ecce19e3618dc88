/*
 * gateway/api/describe.c - usage, quotas, tables, tenants and keys as JSON.
 */
#include "gateway/api/describe.h"

#include <inttypes.h>
#include <stdio.h>

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

static void put_limit(struct gw_json *j, const char *name, uint64_t limit)
{
    gw_json_name(j, name);
    if (limit == UINT64_MAX)
        gw_json_null(j);
    else
        gw_json_u64(j, limit);
}

void gw_describe_quota(struct gw_json *j, const struct ten_quota *quota)
{
    gw_json_open(j, '{');
    put_limit(j, "stored_bytes", quota->stored_bytes);
    put_limit(j, "rows", quota->rows);
    put_limit(j, "read_ops_per_s", quota->read_ops_per_s);
    put_limit(j, "write_ops_per_s", quota->write_ops_per_s);
    put_limit(j, "cell_bytes", quota->cell_bytes);
    gw_json_close(j, '}');
}

/* Seconds with as many decimals as they need. */
static void put_age(struct gw_json *j, uint64_t age_us)
{
    char text[48];
    int len =
        snprintf(text, sizeof text, "%" PRIu64 ".%06" PRIu64, age_us / US_PER_S, age_us % US_PER_S);
    while (text[len - 1] == '0')
        len--;
    if (text[len - 1] == '.')
        len--;
    text[len++] = 's';
    gw_json_name(j, "max_age");
    gw_json_text(j, base_slice(text, (size_t)len));
}

/* {}, {"max_versions":N}, {"max_age":"86400s"} or both. */
static void put_gc(struct gw_json *j, const struct sto_gc *gc)
{
    gw_json_open(j, '{');
    if (gc->max_versions != 0)
        gw_json_name_u64(j, "max_versions", gc->max_versions);
    if (gc->max_age_us != 0)
        put_age(j, gc->max_age_us);
    gw_json_close(j, '}');
}

void gw_describe_table(struct gw_json *j, const struct sto_schema *schema)
{
    struct sto_usage usage = sto_counters_read(&schema->table->counters);
    gw_json_open(j, '{');
    gw_json_name_text(j, "id", schema->table->id);
    gw_json_name(j, "families");
    gw_json_open(j, '{');
    for (size_t i = 0; i < schema->family_count; i++) {
        const struct sto_family *f = &schema->families[i];
        bool has_gc = f->gc.max_versions != 0 || f->gc.max_age_us != 0;
        gw_json_name(j, f->name);
        gw_json_open(j, '{');
        if (has_gc) {
            gw_json_name(j, "gc");
            put_gc(j, &f->gc);
        }
        gw_json_close(j, '}');
    }
    gw_json_close(j, '}');
    gw_json_name(j, "usage");
    gw_describe_usage(j, &usage);
    gw_json_close(j, '}');
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
    gw_json_name_text(j, "reason", details->reason);
    gw_json_name_time(j, "created", details->created_us);
    gw_json_name_time(j, "state_since", details->state_since_us);
    gw_json_name(j, "usage");
    gw_describe_usage(j, &usage);
    gw_json_name(j, "quota");
    gw_describe_quota(j, &details->quota);
    gw_json_name_text(j, "job", details->job);
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

void gw_describe_key(struct gw_json *j, const struct auth_key *key)
{
    gw_json_open(j, '{');
    gw_json_name_text(j, "id", key->id);
    gw_json_name_text(j, "kind", auth_kind_name(key->kind));
    gw_json_name(j, "scopes");
    gw_describe_scopes(j, key->scopes);
    gw_json_name(j, "label");
    gw_json_text(j, base_slice_text(key->label));
    gw_json_name_time(j, "created", key->created_us);
    gw_json_close(j, '}');
}
