/*
 * tenancy/lifecycle.h - which states a tenant may go through, and what each one closes.
 *
 * Does:     say whether a transition is legal; map a state to the storage gate.
 * Owns:     nothing.
 * May use:  base/, storage/, tenancy/.
 * Knows no: documents, threads.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_CONFLICT naming both states.
 * Limits:   none.
 * Promises: 1. PURGING leads only to PURGED, that only to EXPIRED, and nothing out of that.
 *           2. Staying in a state is legal, so that a repeated request is no error.
 */
#ifndef TENANCY_LIFECYCLE_H
#define TENANCY_LIFECYCLE_H

#include "base/err.h"
#include "tenancy/tenant.h"

/* A number read from disk names a state this program knows. */
bool ten_state_is_known(uint64_t number);
enum err ten_transition_check(enum ten_state from, enum ten_state to, struct errbuf *eb) MUST_CHECK;
/* Its data is out of reach: deletion was requested, is under way, or is done. */
bool ten_state_is_leaving(enum ten_state s);
/* Nothing leads back: its purge began, or is done. */
bool ten_state_is_final(enum ten_state s);
/* ERR_CONFLICT for a tenant that is leaving: plan, quota, suspension stay as they are. */
enum err ten_state_change_check(enum ten_state s, struct errbuf *eb) MUST_CHECK;
/* Bits of struct sto_account.gate. */
uint32_t ten_state_gate(enum ten_state s);

#endif
