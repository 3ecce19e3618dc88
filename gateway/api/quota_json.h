/*
 * gateway/api/quota_json.h - a quota as JSON, both ways.
 *
 * Does:     read the given fields of a quota; write what holds, and what is given.
 * Owns:     nothing.
 * May use:  base/, tenancy/, gateway/api/json_in.h, json_out.h.
 * Knows no: whose quota it is.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID, naming the field.
 * Limits:   none here; ten_quota_check has the ranges.
 * Promises: 1. A field that is absent is inherited, null is "no limit": never the same.
 */
#ifndef GATEWAY_API_QUOTA_JSON_H
#define GATEWAY_API_QUOTA_JSON_H

#include "gateway/api/json_in.h"
#include "gateway/api/json_out.h"
#include "tenancy/quota.h"

/* The object's members, all of which must be fields. */
enum err gw_quota_read(const json_t *object, struct ten_quota *out, struct errbuf *eb) MUST_CHECK;
/* The member "quota" of an object; *out_given says whether it is there (and not null). */
enum err gw_quota_read_member(const json_t *object, struct ten_quota *out, bool *out_given,
                              struct errbuf *eb) MUST_CHECK;

/* All fields, inside an open object. */
void gw_quota_put_members(struct gw_json *j, const struct ten_quota *held);
/* {"stored_bytes":N|null,...} of all fields. */
void gw_quota_put(struct gw_json *j, const struct ten_quota *held);
/* The same of those that are given. */
void gw_quota_put_given(struct gw_json *j, const struct ten_quota *q);

#endif
