/*
 * tenancy/feature.c - features are fields of the quota that are 0 or 1.
 */
#include "tenancy/feature.h"

#include "base/banned.h"

#define FIELD(member) (offsetof(struct ten_quota, member) / sizeof(uint64_t) - 1)

_Static_assert(offsetof(struct ten_quota, each) == sizeof(uint64_t), "fields follow given");

static const struct {
    const char *name;
    size_t field;
} FEATURES[] = {
    [TEN_CHANGE_STREAMS] = {"change streams", FIELD(change_streams)},
    [TEN_AUTHORIZED_VIEWS] = {"authorized views", FIELD(authorized_views)},
};

enum err ten_feature_check(const struct ten_tenant *t, enum ten_feature feature, struct errbuf *eb)
{
    const struct ten_details *d = ten_tenant_details(t);
    size_t field = FEATURES[feature].field;
    struct ten_quota held;
    ten_tenant_quota(t, &held);
    if (held.each[field] != 0)
        return ERR_OK;
    const char *name = FEATURES[feature].name;
    const char *member = ten_quota_field(field).name;
    if (d->plan == NULL || ten_quota_is_given(&d->quota, field))
        return base_fail(eb, ERR_FORBIDDEN, "this tenant may not make %s (%s)", name, member);
    return base_fail(eb, ERR_FORBIDDEN, "the tenant's plan \"%s\" does not include %s (%s)",
                     d->plan->id, name, member);
}
