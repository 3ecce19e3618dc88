/*
 * tenancy/feature.h - features that a plan may leave out.
 *
 * Does:     refuse making what the tenant's plan, or its own quota, does not include.
 * Owns:     nothing.
 * May use:  base/, tenancy/.
 * Knows no: tables, views.
 * Threads:  any thread joined to the epoch.
 * Blocks:   no.
 * Fails by: ERR_FORBIDDEN, naming the feature and who leaves it out.
 * Limits:   the tenant's quota.
 * Promises: 1. What was made before the feature was taken away stays and goes on.
 */
#ifndef TENANCY_FEATURE_H
#define TENANCY_FEATURE_H

#include "tenancy/registry.h"

enum ten_feature { TEN_CHANGE_STREAMS, TEN_AUTHORIZED_VIEWS };

enum err ten_feature_check(const struct ten_tenant *t, enum ten_feature feature,
                           struct errbuf *eb) MUST_CHECK;

#endif
