/*
 * tenancy/action.h - an administrative action, as the audit trail sees it.
 *
 * Does:     say who does what to whom.
 * Owns:     nothing; it points at what its maker keeps until the action began.
 * May use:  base/.
 * Knows no: how it is recorded (tenancy/audit.h).
 * Threads:  any.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   LIM_AUDIT_TEXT of target and detail.
 * Promises: none.
 */
#ifndef TENANCY_ACTION_H
#define TENANCY_ACTION_H

#include "base/slice.h"

/* Who does something. NULL is "". */
struct ten_actor {
    const char *key_id;   /* "" without a key: the server itself, or the plaintext listener */
    const char *key_kind; /* "tenant", "service", "operator", "server", "development" */
    const char *address;  /* the peer's, as text; "" for the server */
};

#define TEN_ACTOR_SERVER ((struct ten_actor){.key_kind = "server"})

struct ten_action {
    struct ten_actor actor;
    const char *name;    /* "tenant.create", "table.families", ... */
    struct slice tenant; /* about whom; empty: about none */
    struct slice target; /* ID of the table, key, plan, job; may be empty */
    const char *detail;  /* what changed, without data: "stored_bytes=5000"; NULL is "" */
};

#endif
