/*
 * tenancy/admission.h - the one place where a request is admitted, and charged.
 *
 * Does:     hold a request against the state of its tenant, the requests under way, and the rates
 *           of tenant and key; charge afterwards what could not be known before; meter refusals.
 * Owns:     nothing; a visit is embedded in the request and holds a ref on its key's rates.
 * May use:  base/, tenancy/.
 * Knows no: HTTP, who the key belongs to.
 * Threads:  any, lock-free; one visit from one thread at a time.
 * Blocks:   no.
 * Fails by: ERR_SUSPENDED, ERR_GONE (the state); ERR_RATE_LIMITED and, of a busy server,
 *           ERR_OVERLOADED, with a refusal that says which policy, its limit, and when to come
 *           again.
 * Limits:   the tenant's and the key's.
 * Promises: 1. A refused request is charged nothing and is not under way.
 *           2. A visit that was admitted counts as under way until ten_visit_end, once.
 *           3. Nothing here depends on, or tells, what another tenant does, but for ERR_OVERLOADED
 *              and pauses: both say that the server is busy (tenancy/overload.h).
 */
#ifndef TENANCY_ADMISSION_H
#define TENANCY_ADMISSION_H

#include "tenancy/rate.h"
#include "tenancy/scope.h"

/* Beside its bytes, a row that a read visits counts as so many: finding it is work. */
#define TEN_ROW_VISITED_BYTES 64
#define TEN_BYTES_PER_WORK_US 256 /* a KiB takes 4 us to be visited, or more */
/* The cost of a request (docs/api.md): one for a read and one for so many bytes; two for a row
 * that is written, and one for so many bytes. */
#define TEN_COST_READ        1
#define TEN_COST_WRITE       2
#define TEN_COST_READ_BYTES  (4 * KIB)
#define TEN_COST_WRITE_BYTES (1 * KIB)
/* The longest pause of a read in one go: afterwards it looks again, as limits may have changed. */
#define TEN_PAUSE_NS 1000000000ull

struct ten_load {
    uint64_t ops;
    uint64_t bytes;
};

struct ten_visit {
    struct ten_tenant *tenant; /* NULL: nobody was admitted yet */
    struct ten_key_rates *key; /* NULL: its key has no rates of its own */
    enum ten_access access;
    bool under_way;
    struct ten_load charged;
    uint64_t rows_visited;
    uint64_t bytes_visited; /* of cells; charged.bytes also has those of rows, and of work */
    uint64_t bytes_worked;
    uint64_t bytes_handled; /* ten_charge_handling's, paid for by the request's cost or not */
    uint64_t bytes_handled_charged;
    bool has_condition;       /* a write that is held against bytes read, too */
    uint64_t waits_since_ns;  /* the engine has it; 0: not */
    uint64_t pauses_until_ns; /* of a tenant that is limited because the server is busy */
    uint64_t unpaid; /* bytes that it visited, beyond the debt of its rates: it waits for them */
};

struct ten_refusal {
    enum ten_policy policy; /* as it is metered */
    const char *name;       /* as the caller sees it: "read_ops", "key_read_ops", "concurrency" */
    uint64_t limit;         /* a second, or at a time */
    uint64_t wait_ns;
};

/* Whose request it is: takes a ref on the key's rates. */
void ten_visit_begin(struct ten_visit *v, struct ten_tenant *t, struct ten_key_rates *key);
/* Anything may have happened before, also nothing. */
void ten_visit_end(struct ten_visit *v);

/* State, then requests under way and the share of a busy server (once), then rates: all or nothing
 * is charged. Who brings no bytes yet is refused while bytes of before are owed; a load of nothing
 * meets no rate. What is admitted begins when ten_visit_turn_ns says so. */
enum err ten_admit(struct ten_visit *v, enum ten_access access, struct ten_load load,
                   struct ten_refusal *out, struct errbuf *eb) MUST_CHECK;
/* The bytes of one that was admitted without them; when they are refused, so is `ops` of before. */
enum err ten_admit_bytes(struct ten_visit *v, uint64_t bytes, uint64_t ops, struct ten_refusal *out,
                         struct errbuf *eb) MUST_CHECK;
/* A write with a condition on its row's cells, admitted, its bytes not yet, or a dry run of one: it
 * is charged for what it visits like a read, so it is refused, and so is `ops` of before, while
 * bytes read are owed. */
enum err ten_admit_condition(struct ten_visit *v, uint64_t ops, struct ten_refusal *out,
                             struct errbuf *eb) MUST_CHECK;
/* Many writes of a request that was admitted: rates are charged for all of them now, on credit if
 * need be, the share of a busy server for each as it begins. */
enum err ten_admit_entries(struct ten_visit *v, struct ten_load load, struct ten_refusal *out,
                           struct errbuf *eb) MUST_CHECK;
void ten_visit_pay_entry(struct ten_visit *v, uint64_t bytes);
/* How long a request that was just admitted, or one of many writes that goes on, has to wait for
 * its turn, because the server is busy and its tenant did more than its share; 0: not at all.
 * Metered as throttling. */
uint64_t ten_visit_turn_ns(const struct ten_visit *v);
/* Whether a request that the engine refuses for overload, and that waited so long since the first
 * time, waits for so long and is tried again, by the bounds of one that waits at its head. Metered
 * as throttling. */
bool ten_visit_waits_again(const struct ten_visit *v, uint64_t waited_ns, uint64_t wait_ns);
/* What a read has visited since the last time; never refused. */
void ten_charge_visited(struct ten_visit *v, uint64_t rows, uint64_t bytes);
/* What it made the server do beyond that, as so many bytes; these are not metered as read. */
void ten_charge_work(struct ten_visit *v, uint64_t work_ns);
/* What handling the request takes beside its rows, reckoned as so many bytes, read or written by
 * its access: what its operations and the bytes of its writes do not pay for is charged. Several
 * times, it adds up. Never refused, and not metered. */
void ten_charge_handling(struct ten_visit *v, uint64_t bytes);
/* What a write has deleted, as so many bytes written; never refused, and not metered. */
void ten_charge_deleted(struct ten_visit *v, uint64_t bytes);
/* How long a read that goes on should wait until what it visited is paid off; 0: not at all. The
 * debt of a rate is bounded, so that others need not wait for one that visited much: it waits for
 * the rest alone. Each wait is metered as throttling. */
uint64_t ten_visit_pause_ns(struct ten_visit *v);

/* A request of one row is with the engine from the one to the other: how long that takes tells
 * whether the server is busy. */
void ten_visit_waits(struct ten_visit *v);
void ten_visit_waited(struct ten_visit *v);

/* In the units of Bigtent-Cost. */
uint64_t ten_visit_cost(const struct ten_visit *v);

/* --- what a caller may be told about his limits ------------------------------------------------
 */

struct ten_standing {
    const char *name;
    const char *unit; /* as RateLimit-Policy names it; NULL: requests */
    uint64_t limit;   /* a second; of what is no rate, at a time */
    uint64_t burst;   /* units that may come at once */
    uint64_t left;
    uint64_t reset_ns; /* until it is whole again; when nothing is left: until something passes */
    bool is_rate;
    bool is_used; /* the visit is held against it */
};

#define TEN_STANDINGS (2 * TEN_RATE_COUNT + 1)

/* Every policy that limits the tenant or the key; returns how many. The visit itself does not count
 * as under way: it ends with what it is told. */
size_t ten_visit_standings(const struct ten_visit *v, struct ten_standing out[TEN_STANDINGS]);
/* Of a visit that writes: what is left of the rate that has least, in thousandths of its burst; -1:
 * writes have no rates. */
#define TEN_ROOM_FULL 1000
int ten_visit_write_room(const struct ten_visit *v);

#endif
