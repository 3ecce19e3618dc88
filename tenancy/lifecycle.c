/*
 * tenancy/lifecycle.c - the state table.
 *
 *   from \ to           active  suspended  delete_requested  purging  purged  expired
 *   active                x         x             x             x
 *   suspended             x         x             x             x
 *   delete_requested      x         x             x             x
 *   purging                                                     x        x
 *   purged                                                               x        x
 *   expired                                                                       x
 *
 * Only undelete returns a tenant whose deletion was requested to its previous state; a hold keeps
 * every tenant from purging. The callers that make a transition check both (offboard.c, hold.c).
 */
#include "tenancy/lifecycle.h"

#include "base/banned.h"

#define BIT(state) (1u << (state))
/* Until the purge starts no state is final. */
#define OPEN (BIT(TEN_ACTIVE) | BIT(TEN_SUSPENDED) | BIT(TEN_DELETE_REQUESTED))

static const struct {
    const char *name;
    uint32_t next; /* states it may go to, as BITs */
    uint32_t gate;
} STATES[TEN_STATES] = {
    [TEN_ACTIVE] = {"active", OPEN | BIT(TEN_PURGING), 0},
    [TEN_SUSPENDED] = {"suspended", OPEN | BIT(TEN_PURGING),
                       STO_GATE_NO_READS | STO_GATE_NO_WRITES},
    [TEN_DELETE_REQUESTED] = {"delete_requested", OPEN | BIT(TEN_PURGING), STO_GATE_GONE},
    [TEN_PURGING] = {"purging", BIT(TEN_PURGING) | BIT(TEN_PURGED), STO_GATE_GONE},
    [TEN_PURGED] = {"purged", BIT(TEN_PURGED) | BIT(TEN_EXPIRED), STO_GATE_GONE},
    [TEN_EXPIRED] = {"expired", BIT(TEN_EXPIRED), STO_GATE_GONE},
};

bool ten_state_is_known(uint64_t number)
{
    return number < TEN_STATES && STATES[number].name != NULL;
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

bool ten_state_is_leaving(enum ten_state s)
{
    return ten_state_gate(s) == STO_GATE_GONE;
}

bool ten_state_is_final(enum ten_state s)
{
    INVARIANT(ten_state_is_known(s));
    return (STATES[s].next & BIT(TEN_ACTIVE)) == 0;
}

enum err ten_state_change_check(enum ten_state s, struct errbuf *eb)
{
    if (!ten_state_is_leaving(s))
        return ERR_OK;
    if (ten_state_is_final(s))
        return base_fail(eb, ERR_CONFLICT, "the tenant is %s; nothing of it can be changed",
                         ten_state_name(s));
    return base_fail(eb, ERR_CONFLICT,
                     "the tenant's deletion was requested; undelete it first: nothing else of it "
                     "can be changed");
}

uint32_t ten_state_gate(enum ten_state s)
{
    INVARIANT(ten_state_is_known(s));
    return STATES[s].gate;
}
