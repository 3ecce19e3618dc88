/*
 * gateway/caller.h - identifies the caller and the acting tenant, and admits the request.
 *
 * Does:     finds and checks the one credential of a request; finds the tenant that the request
 *           acts for; has the request admitted and charged.
 * Owns:     nothing; fills in who and tenant of the call.
 * May use:  base/, storage/, tenancy/, auth/, gateway/.
 * Knows no: routes, methods, names of tables.
 * Threads:  the loop.
 * Blocks:   no.
 * Fails by: answering the call.
 * Limits:   those of tenant and key.
 * Promises: 1. A refusal reveals nothing about tenants that the caller may not act for: the refusal
 *              is the same whether they exist or not.
 *           2. A key with a row prefix reaches only rows that start with the prefix: requests that
 *              do not declare that they check it are refused.
 */
#ifndef GATEWAY_CALLER_H
#define GATEWAY_CALLER_H

#include "gateway/call.h"

/* What a request does to the acting tenant. */
enum gw_access {
    GW_ACCESS_NONE,   /* no acting tenant: health and administration */
    GW_ACCESS_READ,   /* refused while the tenant is closed to reads */
    GW_ACCESS_WRITE,  /* refused while the tenant is closed to writes */
    GW_ACCESS_MODIFY, /* a write that returns stored data: refused while closed to either */
    GW_ACCESS_DEFINE, /* a write of tables, views or backups, not of rows */
};

/* Returns the caller's key if it has all of `scopes`; valid until this iteration of the loop ends.
 * NULL: answered. by_row: the two functions below check everything that the request reads or
 * changes against the key's prefix; a request without by_row is refused to keys that have a
 * prefix. */
const struct auth_key *gw_caller_check(struct gw_call *call, uint64_t scopes, bool by_row);
/* Makes the tenant that `named` means (ptr NULL: not named) the acting tenant; false: answered. */
bool gw_caller_act_for(struct gw_call *call, const struct auth_key *key, struct slice named);
/* Checks whether the key may act for the tenant that a head names, in that tenant's state. False:
 * answered. Does not make it the acting tenant. */
bool gw_caller_may_act_for(struct gw_call *call, const struct auth_key *key, struct slice named,
                           enum gw_access wanted);
/* Checks that `named` means the acting tenant, which does not change; false: answered. */
bool gw_caller_check_tenant(struct gw_call *call, const struct auth_key *key, struct slice named);
/* Checks the acting tenant's state, its requests in flight and its rates (a load of zero meets no
 * rate). False: answered. */
bool gw_caller_admit(struct gw_call *call, enum gw_access wanted, struct ten_load load);
/* Admits the bytes of a write of one row, which was admitted when its head arrived, and its
 * condition's read of the row. False: answered. Charges the compilation of its predicate in both
 * cases. */
bool gw_caller_admit_write(struct gw_call *call, const struct sto_mutate_op *op);
/* Admits a call that reads many rows before it is answered, as scans do: refuses it while the
 * tenant is over its rate of bytes read. False: answered. */
bool gw_caller_admit_condition(struct gw_call *call);
/* Charges a predicate alone, for a write that goes no further. */
void gw_caller_charge_predicate(struct gw_call *call, const struct sto_mutate_op *op);
/* Admits many writes of one request: see ten_admit_entries. False: answered. */
bool gw_caller_admit_entries(struct gw_call *call, struct ten_load load);
/* Charges a write that is done or was refused by the engine: for the bytes that its condition read
 * and the bytes that it deleted. Call before the response. */
void gw_caller_charge_write(struct gw_call *call, const struct sto_mutate_op *op);

/* Returns ERR_FORBIDDEN for a row that the caller's key does not reach. */
enum err gw_caller_check_row(const struct gw_call *call, struct slice row_key,
                             struct errbuf *eb) MUST_CHECK;
/* Removes from spec the rows that the caller's key does not reach; ERR_FORBIDDEN for a single
 * row. */
enum err gw_caller_narrow(struct gw_call *call, struct sto_read_spec *spec,
                          struct errbuf *eb) MUST_CHECK;

#endif
