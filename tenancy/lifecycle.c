/*
 * tenancy/lifecycle.c - the state table.
 *
 *   from \ to   active  suspended  purging  purged
 *   active        x         x         x
 *   suspended     x         x         x
 *   purging                           x        x
 *   purged                                     x
 */
#include "tenancy/lifecycle.h"

#include "base/banned.h"

#define BIT(state) (1u << (state))

static const struct {
    const char *name;
    uint32_t next; /* states it may go to, as BITs */
    uint32_t gate;
} STATES[] = {
    [TEN_ACTIVE] = {"active", BIT(TEN_ACTIVE) | BIT(TEN_SUSPENDED) | BIT(TEN_PURGING), 0},
    [TEN_SUSPENDED] = {"suspended", BIT(TEN_ACTIVE) | BIT(TEN_SUSPENDED) | BIT(TEN_PURGING),
                       STO_GATE_NO_READS | STO_GATE_NO_WRITES},
    [TEN_PURGING] = {"purging", BIT(TEN_PURGING) | BIT(TEN_PURGED), STO_GATE_GONE},
    [TEN_PURGED] = {"purged", BIT(TEN_PURGED), STO_GATE_GONE},
};

#define STATE_COUNT (sizeof STATES / sizeof STATES[0])

bool ten_state_is_known(uint64_t number)
{
    return number < STATE_COUNT && STATES[number].name != NULL;
}

const char *ten_state_name(enum ten_state s)
{
    return ten_state_is_known(s) ? STATES[s].name : "unknown";
}

enum err ten_transition_check(enum ten_state from, enum ten_state to, struct errbuf *eb)
{
    INVARIANT(ten_state_is_known(from) && ten_state_is_known(to));
    if ((STATES[from].next & BIT(to)) != 0)
        return ERR_OK;
    return base_fail(eb, ERR_CONFLICT, "the tenant is %s and cannot become %s", STATES[from].name,
                     STATES[to].name);
}

uint32_t ten_state_gate(enum ten_state s)
{
    INVARIANT(ten_state_is_known(s));
    return STATES[s].gate;
}
