/*
 * tenancy/expiry.c - from PURGED to EXPIRED, one batch with its record for each tenant.
 */
#include "tenancy/expiry.h"

#include "base/clock.h"
#include "tenancy/certificate_store.h"
#include "tenancy/internal.h"

#include "base/banned.h"

static enum err commit(struct ten_registry *r, struct ten_tenant *t, struct errbuf *eb)
{
    const struct ten_action action = {
        .actor = TEN_ACTOR_SERVER, .name = "purge.expire", .tenant = ten_tenant_id(t)};
    struct ten_details wanted = *ten_tenant_details(t);
    wanted.state_since_us = base_wall_us();
    ten_audit_begin(r, &action);
    enum err rc = ten_tenant_commit(r, t, TEN_EXPIRED, &wanted, NULL, 0, eb);
    return ten_audit_end(r, rc, eb);
}

enum err ten_expiry_look(struct ten_registry *r, struct errbuf *eb)
{
    ten_control_check(r);
    char id[LIM_TENANT_ID + 1];
    size_t place = 0;
    enum err rc = ERR_OK;
    while (rc == ERR_OK && ten_certificates_next_with_copies(r->certificates, &place, id)) {
        struct ten_tenant *t = ten_tenant_find(r, base_slice_text(id));
        bool done = false;
        if (t == NULL || ten_tenant_state(t) != TEN_PURGED)
            continue; /* its purge is not done yet, or it is EXPIRED */
        rc = ten_certificates_expire(r->certificates, ten_tenant_id(t), &done, eb);
        if (rc == ERR_OK && done)
            rc = commit(r, t, eb);
    }
    return rc;
}
