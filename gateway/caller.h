/*
 * gateway/caller.h - who is calling, for which tenant, and whether now.
 *
 * Does:     find and check the one credential of a request; find the tenant it acts for; have the
 *           request admitted, and charged.
 * Owns:     nothing; fills in who and tenant of the call.
 * May use:  base/, storage/, tenancy/, auth/, gateway/.
 * Knows no: routes, methods, names of tables.
 * Threads:  the loop.
 * Blocks:   no.
 * Fails by: answering the call.
 * Limits:   those of tenant and key.
 * Promises: 1. A refusal says nothing about tenants the caller may not act for: they are refused
 *              alike, whether they exist or not.
 *           2. A key with a row prefix reaches nothing but rows that begin with it: what does not
 *              say that it looks at that is refused.
 */
#ifndef GATEWAY_CALLER_H
#define GATEWAY_CALLER_H

#include "gateway/call.h"

/* What a request does to the acting tenant. */
enum gw_access {
    GW_ACCESS_NONE,   /* no acting tenant: health and administration */
    GW_ACCESS_READ,   /* refused while the tenant may not be read */
    GW_ACCESS_WRITE,  /* refused while it may not be written */
    GW_ACCESS_MODIFY, /* a write that answers what is there: refused while either may not be */
    GW_ACCESS_DEFINE, /* a write of tables, views or backups, not of rows */
};

/* The caller's key with all of `scopes`, valid until this loop turn ends; NULL: answered. by_row:
 * whatever the request reads or changes is held against the key's prefix, with the two functions
 * below; another request is refused to keys that have one. */
const struct auth_key *gw_caller_check(struct gw_call *call, uint64_t scopes, bool by_row);
/* Make the tenant that `named` (ptr NULL: not named) means the acting one; false: answered. */
bool gw_caller_act_for(struct gw_call *call, const struct auth_key *key, struct slice named);
/* Whether the key may act for a tenant that a head names, in its state. False: answered. It does
 * not act for it yet. */
bool gw_caller_may_act_for(struct gw_call *call, const struct auth_key *key, struct slice named,
                           enum gw_access wanted);
/* Whether `named` means the acting tenant, which stays what it is; false: answered. */
bool gw_caller_check_tenant(struct gw_call *call, const struct auth_key *key, struct slice named);
/* State of the acting tenant, its requests under way, rates (a load of nothing meets none). False:
 * answered. */
bool gw_caller_admit(struct gw_call *call, enum gw_access wanted, struct ten_load load);
/* A write of one row, which was admitted when its head came: its bytes, and that its condition may
 * look at the row. False: answered. Charges what compiling its predicate took, either way. */
bool gw_caller_admit_write(struct gw_call *call, const struct sto_mutate_op *op);
/* One that reads many rows before it is answered, as scans do: refused while bytes read are owed.
 * False: answered. */
bool gw_caller_admit_condition(struct gw_call *call);
/* The charge of a predicate alone, for a write that goes no further. */
void gw_caller_charge_predicate(struct gw_call *call, const struct sto_mutate_op *op);
/* The same for many writes of one request: see ten_admit_entries. */
bool gw_caller_admit_entries(struct gw_call *call, struct ten_load load);
/* It is done, or was refused by the engine: what its condition looked at, and what it deleted. In
 * front of the answer. */
void gw_caller_charge_write(struct gw_call *call, const struct sto_mutate_op *op);

/* ERR_FORBIDDEN for a row that the caller's key does not reach. */
enum err gw_caller_check_row(const struct gw_call *call, struct slice row_key,
                             struct errbuf *eb) MUST_CHECK;
/* Leave out the rows that the caller's key does not reach; ERR_FORBIDDEN for a single one. */
enum err gw_caller_narrow(struct gw_call *call, struct sto_read_spec *spec,
                          struct errbuf *eb) MUST_CHECK;

#endif
