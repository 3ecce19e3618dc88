/*
 * gateway/api/describe.h - usage, quotas, tables, tenants and keys as JSON.
 *
 * Does:     writes the objects that several responses share.
 * Owns:     nothing.
 * May use:  base/, storage/, tenancy/, auth/, gateway/api/json_out.h, quota_json.h.
 * Knows no: calls, HTTP.
 * Threads:  any joined to the epoch, and the control thread.
 * Blocks:   no.
 * Fails by: the output buf's latched error.
 * Limits:   none here.
 * Promises: 1. No secret is written.
 */
#ifndef GATEWAY_API_DESCRIBE_H
#define GATEWAY_API_DESCRIBE_H

#include "auth/keyring.h"
#include "gateway/api/json_out.h"
#include "storage/account.h"
#include "storage/schema.h"
#include "tenancy/registry.h"

/* Writes {"stored_bytes":N,"rows":N,"cells":N}. */
void gw_describe_usage(struct gw_json *j, const struct sto_usage *usage);
/* Writes only the three members, inside an open object. */
void gw_describe_usage_members(struct gw_json *j, const struct sto_usage *usage);
/* Writes the members that only a tenant has: uncollected_bytes, change_bytes, schema_bytes. */
void gw_describe_growth_members(struct gw_json *j, const struct ten_tenant *t);
/* Writes {"id","version","families","deletion_protection","row_key_notes",
 * "change_stream_retention","usage"}; usage includes uncollected_bytes. */
void gw_describe_table(struct gw_json *j, const struct sto_schema *schema);
/* Writes "delete_at" and "hold": null, or {"reason","by","since"}, inside an open object. */
void gw_describe_departure(struct gw_json *j, const struct ten_details *details);
struct ten_copies;
/* Writes "backups":{"count":N,"listed":[{"id","created","expires"}]}, inside an open object. */
void gw_describe_copies(struct gw_json *j, const struct ten_copies *copies);
/* Writes {"id","display_name","state","suspended","reason","created","state_since","usage","plan",
 * "quota","own_quota","job","delete_at","hold","keyless","encrypted","key_versions","instance"}. */
void gw_describe_tenant(struct gw_json *j, const struct ten_tenant *t,
                        const struct ten_details *details);
/* Writes ["data.read",...]. */
void gw_describe_scopes(struct gw_json *j, uint64_t scopes);
/* Writes "tenants":["a",...], or null without a list, inside an open object. */
void gw_describe_allowed(struct gw_json *j, struct ten_tenant *const *allowed, size_t count);
/* Writes "limits":{"read_ops_per_s":N|null,...}, inside an open object. */
void gw_describe_limits(struct gw_json *j, const struct auth_limits *limits);
/* Writes "row_prefix": null, text, or "row_prefix_b64". */
void gw_describe_row_prefix(struct gw_json *j, struct slice prefix);
/* Writes {"id","kind","scopes","label","tenants","limits","created"}. */
void gw_describe_key(struct gw_json *j, const struct auth_key *key);

#endif
