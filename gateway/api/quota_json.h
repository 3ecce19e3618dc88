/*
 * gateway/api/quota_json.h - a quota as JSON, both ways.
 *
 * Does:     reads the fields of a quota that are present; writes effective and explicit quotas.
 * Owns:     nothing.
 * May use:  base/, tenancy/, gateway/api/json_in.h, json_out.h.
 * Knows no: owner of the quota.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID, naming the field.
 * Limits:   none here; ten_quota_check has the ranges.
 * Promises: 1. An absent field is inherited, null is "no limit": never the same.
 */
#ifndef GATEWAY_API_QUOTA_JSON_H
#define GATEWAY_API_QUOTA_JSON_H

#include "gateway/api/json_in.h"
#include "gateway/api/json_out.h"
#include "tenancy/quota.h"

/* Reads the object's members, all of which must be quota fields. */
enum err gw_quota_read(const json_t *object, struct ten_quota *out, struct errbuf *eb) MUST_CHECK;
/* Reads the member "quota" of an object; *out_given says whether it is present (and not null). */
enum err gw_quota_read_member(const json_t *object, struct ten_quota *out, bool *out_given,
                              struct errbuf *eb) MUST_CHECK;

/* Writes all fields, inside an open object. */
void gw_quota_put_members(struct gw_json *j, const struct ten_quota *held);
/* Writes {"stored_bytes":N|null,...} with all fields. */
void gw_quota_put(struct gw_json *j, const struct ten_quota *held);
/* Writes an object with only the explicit fields. */
void gw_quota_put_given(struct gw_json *j, const struct ten_quota *q);

#endif
