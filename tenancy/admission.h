/*
 * tenancy/admission.h - the only code that admits requests and charges them.
 *
 * Does:     checks a request against the state of its tenant, the limit of requests in flight, and
 *           the rates of tenant and key; charges costs that are only known afterwards; meters
 *           refusals.
 * Owns:     nothing; an admission ticket (struct ten_visit) is embedded in the request and holds a
 *           ref on its key's rates.
 * May use:  base/, tenancy/.
 * Knows no: HTTP, who the key belongs to.
 * Threads:  any, lock-free; one ticket from one thread at a time.
 * Blocks:   no.
 * Fails by: ERR_SUSPENDED, ERR_GONE (the state); ERR_RATE_LIMITED and, from a busy server,
 *           ERR_OVERLOADED, with a refusal that names the policy, its limit, and the time to wait
 *           before a retry.
 * Limits:   the tenant's and the key's.
 * Promises: 1. A refused request is charged nothing and is not in flight.
 *           2. An admitted ticket counts as one request in flight until ten_visit_end.
 *           3. Nothing here depends on, or reveals, the actions of another tenant, except
 *              ERR_OVERLOADED and pauses: both reveal that the server is busy (tenancy/overload.h).
 */
#ifndef TENANCY_ADMISSION_H
#define TENANCY_ADMISSION_H

#include "tenancy/rate.h"
#include "tenancy/scope.h"

/* Bytes charged for each row that a read visits, besides its cells: finding a row is work. */
#define TEN_ROW_VISITED_BYTES 64
#define TEN_BYTES_PER_WORK_US 256 /* a KiB takes 4 us to be visited, or more */
/* The cost of a request (docs/api.md): a read costs 1, plus 1 for each TEN_COST_READ_BYTES; a
 * written row costs 2, plus 1 for each TEN_COST_WRITE_BYTES. */
#define TEN_COST_READ        1
#define TEN_COST_WRITE       2
#define TEN_COST_READ_BYTES  (4 * KIB)
#define TEN_COST_WRITE_BYTES (1 * KIB)
/* The longest single pause of a read; after it the read checks its limits again, which may have
 * changed. */
#define TEN_PAUSE_NS 1000000000ull

struct ten_load {
    uint64_t ops;
    uint64_t bytes;
};

struct ten_visit {
    struct ten_tenant *tenant; /* NULL: no tenant is set yet */
    struct ten_key_rates *key; /* NULL: the key has no rates of its own */
    enum ten_access access;
    bool under_way;
    struct ten_load charged;
    uint64_t rows_visited;
    uint64_t bytes_visited; /* of cells; charged.bytes also includes those of rows and work */
    uint64_t bytes_worked;
    uint64_t bytes_handled; /* of ten_charge_handling, covered by the request's cost or not */
    uint64_t bytes_handled_charged;
    bool has_condition;       /* a write that must also be within the read_bytes rates */
    uint64_t waits_since_ns;  /* when the engine received it; 0: the engine does not have it */
    uint64_t pauses_until_ns; /* end of the pause that overload imposes on the tenant */
    uint64_t unpaid; /* bytes visited beyond the allowed debt of its rates, which it waits for */
};

struct ten_refusal {
    enum ten_policy policy; /* the policy as it is metered */
    const char *name;       /* for the caller: "read_ops", "key_read_ops", "concurrency" */
    uint64_t limit;         /* per second, or at a time */
    uint64_t wait_ns;
};

/* Sets the ticket's tenant and key; takes a ref on the key's rates. */
void ten_visit_begin(struct ten_visit *v, struct ten_tenant *t, struct ten_key_rates *key);
/* Ends a ticket in any state, also one that was never admitted. */
void ten_visit_end(struct ten_visit *v);

/* Checks the state, then (once per ticket) requests in flight and the share of a busy server, then
 * rates. Charges everything or nothing. A load without bytes yet is refused while earlier bytes are
 * owed; an empty load is checked against no rate. An admitted request must still wait for
 * ten_visit_turn_ns before it starts. */
enum err ten_admit(struct ten_visit *v, enum ten_access access, struct ten_load load,
                   struct ten_refusal *out, struct errbuf *eb) MUST_CHECK;
/* Charges the bytes of a request that was admitted without them; if they are refused, refunds the
 * `ops` that were charged before. */
enum err ten_admit_bytes(struct ten_visit *v, uint64_t bytes, uint64_t ops, struct ten_refusal *out,
                         struct errbuf *eb) MUST_CHECK;
/* Checks an admitted write whose condition reads its row's cells, or a dry run of one, before its
 * bytes are charged. Its visited bytes are charged like a read's; so while read bytes are owed,
 * this refuses it and refunds the `ops` that were charged before. */
enum err ten_admit_condition(struct ten_visit *v, uint64_t ops, struct ten_refusal *out,
                             struct errbuf *eb) MUST_CHECK;
/* Charges the rates for many writes of an admitted request at once, on credit if necessary. The
 * share of a busy server is charged for each write as it starts (ten_visit_pay_entry). */
enum err ten_admit_entries(struct ten_visit *v, struct ten_load load, struct ten_refusal *out,
                           struct errbuf *eb) MUST_CHECK;
void ten_visit_pay_entry(struct ten_visit *v, uint64_t bytes);
/* Returns how long a request that was just admitted, or the next of its many writes, must wait
 * because the server is busy and its tenant used more than its share; 0: not at all. Metered as
 * throttling. */
uint64_t ten_visit_turn_ns(const struct ten_visit *v);
/* Returns whether a request that the engine refused for overload waits wait_ns and is retried, when
 * it has already waited waited_ns since the first refusal. The bounds are those of a request that
 * waits before it starts. Metered as throttling. */
bool ten_visit_waits_again(const struct ten_visit *v, uint64_t waited_ns, uint64_t wait_ns);
/* Charges the rows and bytes that a read visited since the previous call; never refuses. */
void ten_charge_visited(struct ten_visit *v, uint64_t rows, uint64_t bytes);
/* Charges a read's other work, converted to bytes, which are not metered as read. */
void ten_charge_work(struct ten_visit *v, uint64_t work_ns);
/* Charges the cost of handling the request besides its rows, converted to bytes read or written,
 * depending on its access. Charges only the part that its operations and the bytes of its writes do
 * not cover. Calls add up. Never refuses, and meters nothing. */
void ten_charge_handling(struct ten_visit *v, uint64_t bytes);
/* Charges deleted bytes as bytes written; never refuses, and meters nothing. */
void ten_charge_deleted(struct ten_visit *v, uint64_t bytes);
/* Returns how long a read should pause before it continues, until its visited bytes are paid off;
 * 0: not at all. A rate's debt is bounded, so that other requests need not wait for one that
 * visited much: that one alone waits for the rest. Each pause is metered as throttling. */
uint64_t ten_visit_pause_ns(struct ten_visit *v);

/* Mark when the engine receives a request of one row, and when it returns it: the time between
 * shows whether the server is busy. */
void ten_visit_waits(struct ten_visit *v);
void ten_visit_waited(struct ten_visit *v);

/* Returns the cost in the units of Bigtent-Cost. */
uint64_t ten_visit_cost(const struct ten_visit *v);

/* --- limits that a caller may see ------------------------------------------------------------- */

struct ten_standing {
    const char *name;
    const char *unit; /* as in RateLimit-Policy; NULL: requests */
    uint64_t limit;   /* per second; for a limit that is not a rate: at a time */
    uint64_t burst;   /* units that may arrive at once */
    uint64_t left;
    uint64_t reset_ns; /* until the burst is whole; if left is 0, until admission is possible */
    bool is_rate;
    bool is_used; /* this ticket is checked against it */
};

#define TEN_STANDINGS (2 * TEN_RATE_COUNT + 1)

/* Writes every policy that limits the tenant or the key, and returns how many. The ticket itself
 * does not count as in flight: its request ends with this response. */
size_t ten_visit_standings(const struct ten_visit *v, struct ten_standing out[TEN_STANDINGS]);
/* Returns, for a ticket that writes, the smallest remainder among its rates in thousandths of the
 * burst; -1: writes have no rates. */
#define TEN_ROOM_FULL 1000
int ten_visit_write_room(const struct ten_visit *v);

#endif
