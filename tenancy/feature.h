/*
 * tenancy/feature.h - features that a plan may exclude.
 *
 * Does:     refuses to create objects that the tenant's plan, or its own quota, does not include.
 * Owns:     nothing.
 * May use:  base/, tenancy/.
 * Knows no: tables, views.
 * Threads:  any thread joined to the epoch.
 * Blocks:   no.
 * Fails by: ERR_FORBIDDEN, which names the feature and whether plan or quota excludes it.
 * Limits:   the tenant's quota.
 * Promises: 1. Objects that were created before the feature was excluded stay and keep working.
 */
#ifndef TENANCY_FEATURE_H
#define TENANCY_FEATURE_H

#include "tenancy/registry.h"

enum ten_feature { TEN_CHANGE_STREAMS, TEN_AUTHORIZED_VIEWS };

enum err ten_feature_check(const struct ten_tenant *t, enum ten_feature feature,
                           struct errbuf *eb) MUST_CHECK;

#endif
