/*
 * tenancy/lifecycle.h - the states of a tenant, their transitions, and what each state closes.
 *
 * Does:     checks whether a transition is legal; maps a state to the storage gate.
 * Owns:     nothing.
 * May use:  base/, storage/, tenancy/.
 * Knows no: documents, threads.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_CONFLICT naming both states.
 * Limits:   none.
 * Promises: 1. PURGING leads only to PURGED, PURGED only to EXPIRED, and EXPIRED to no other state.
 *           2. Staying in a state is legal, so that a repeated request is no error.
 */
#ifndef TENANCY_LIFECYCLE_H
#define TENANCY_LIFECYCLE_H

#include "base/err.h"
#include "tenancy/tenant.h"

/* Returns whether a number read from disk is a state that this program knows. */
bool ten_state_is_known(uint64_t number);
enum err ten_transition_check(enum ten_state from, enum ten_state to, struct errbuf *eb) MUST_CHECK;
/* Returns whether the tenant is being offboarded, so its data is inaccessible: deletion was
 * requested, is in progress, or is done. */
bool ten_state_is_leaving(enum ten_state s);
/* Returns whether the state is irreversible: the purge has started, or is done. */
bool ten_state_is_final(enum ten_state s);
/* ERR_CONFLICT for a tenant that is being offboarded: its plan, quota and suspension cannot
 * change. */
enum err ten_state_change_check(enum ten_state s, struct errbuf *eb) MUST_CHECK;
/* Returns bits of struct sto_account.gate. */
uint32_t ten_state_gate(enum ten_state s);

#endif
