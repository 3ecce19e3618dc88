/*
 * tenancy/action.h - an administrative action, as the audit trail records it.
 *
 * Does:     describes who does what to which tenant and object.
 * Owns:     nothing; its strings belong to the code that makes it, at least until ten_audit_begin
 *           copied them.
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

/* The principal that performs an action. NULL is "". */
struct ten_actor {
    const char *key_id;   /* "" without a key: the server itself, or the plaintext listener */
    const char *key_kind; /* "tenant", "service", "operator", "server", "development" */
    const char *address;  /* the client's address as text; "" for the server */
};

#define TEN_ACTOR_SERVER ((struct ten_actor){.key_kind = "server"})

struct ten_action {
    struct ten_actor actor;
    const char *name;    /* "tenant.create", "table.families", ... */
    struct slice tenant; /* the affected tenant; empty: none */
    struct slice target; /* ID of the table, key, plan, job; may be empty */
    const char *detail;  /* what changes, without data: "stored_bytes=5000"; NULL is "" */
};

#endif
