/*
 * gateway/api/quota_json.c - members named like the fields of tenancy/quota.c.
 */
#include "gateway/api/quota_json.h"

#include "base/banned.h"

enum err gw_quota_read(const json_t *object, struct ten_quota *out, struct errbuf *eb)
{
    const char *names[TEN_QUOTA_FIELDS + 1] = {NULL};
    for (size_t i = 0; i < TEN_QUOTA_FIELDS; i++)
        names[i] = ten_quota_field(i).name;
    enum err e = gw_json_only(object, names, eb);
    ten_quota_default(out);
    for (size_t i = 0; e == ERR_OK && i < TEN_QUOTA_FIELDS; i++) {
        uint64_t value = UINT64_MAX; /* the value of null */
        if (json_object_get(object, names[i]) == NULL)
            continue;
        e = gw_json_get_u64(object, names[i], &value, eb);
        ten_quota_give(out, i, value);
    }
    return e;
}

enum err gw_quota_read_member(const json_t *object, struct ten_quota *out, bool *out_given,
                              struct errbuf *eb)
{
    const json_t *quota = json_object_get(object, "quota");
    *out_given = quota != NULL && !json_is_null(quota);
    if (!*out_given)
        return ERR_OK;
    if (!json_is_object(quota))
        return base_fail(eb, ERR_INVALID, "\"quota\" must be an object");
    return base_fail_at(eb, gw_quota_read(quota, out, eb), "quota");
}

static void put_field(struct gw_json *j, size_t number, uint64_t value)
{
    gw_json_name(j, ten_quota_field(number).name);
    if (value == UINT64_MAX)
        gw_json_null(j);
    else
        gw_json_u64(j, value);
}

void gw_quota_put_members(struct gw_json *j, const struct ten_quota *held)
{
    for (size_t i = 0; i < TEN_QUOTA_FIELDS; i++)
        put_field(j, i, held->each[i]);
}

void gw_quota_put(struct gw_json *j, const struct ten_quota *held)
{
    gw_json_open(j, '{');
    gw_quota_put_members(j, held);
    gw_json_close(j, '}');
}

void gw_quota_put_given(struct gw_json *j, const struct ten_quota *q)
{
    gw_json_open(j, '{');
    for (size_t i = 0; i < TEN_QUOTA_FIELDS; i++)
        if (ten_quota_is_given(q, i))
            put_field(j, i, q->each[i]);
    gw_json_close(j, '}');
}
