/*
 * gateway/observe.h - counts every call once, when it has ended.
 *
 * Does:     counts a call by protocol, by route or method, and by how it ended: requests, bytes,
 *           duration, reasons of failures, also of single entries; meters it for its tenant. Adds
 *           up the counts of all loops.
 * Owns:     a struct gw_observer for each loop, as long as the API lives.
 * May use:  base/, tenancy/, gateway/problem.h.
 * Knows no: names of routes and methods: a protocol has numbers for them.
 * Threads:  each observer is written by its loop; sums on any thread.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   a table of routes and methods for each loop, allocated when it starts.
 * Promises: 1. A call is counted when it is freed, exactly once, however it ended.
 *           2. Counting takes no lock, and no atomic read-modify-write except those of
 *              tenancy/meter.h.
 *           3. A refusal counts as throttling by one policy, once, wherever it came from.
 */
#ifndef GATEWAY_OBSERVE_H
#define GATEWAY_OBSERVE_H

#include "base/histogram.h"
#include "gateway/exchange.h"
#include "gateway/problem.h"

struct gw_call;

enum gw_protocol_id { GW_PROTOCOL_JSON, GW_PROTOCOL_GRPC, GW_PROTOCOL_COUNT };

/* How a call ended: the class of its status, 2 to 5, or its gRPC code, 0 to 16. */
#define GW_CODE_GONE 17 /* its peer did not receive a complete response */
#define GW_CODES     18

/* Facts about a call's exchange, known when it is gone. */
struct gw_seen {
    uint64_t took_ns; /* from the head to the last byte handed over */
    uint64_t bytes_in;
    uint64_t bytes_out;
    int status;        /* 0: the response is not complete */
    int problem;       /* 0, an enum err or an enum gw_problem_http */
    uint64_t retry_ns; /* time until a retry makes sense; 0: unknown */
    bool is_throttled; /* by tenancy/admission.h, which has metered it */
};

/* A protocol's label of a call. */
struct gw_label {
    size_t what;  /* route or method; the number after the last one: unknown */
    uint8_t code; /* of a complete response */
    bool is_data; /* it reads or writes rows */
};

struct gw_observed {
    _Atomic uint64_t requests[GW_CODES];
    _Atomic uint64_t bytes_in;
    _Atomic uint64_t bytes_out;
    struct base_histogram took;
};

/* Reasons for rejecting a caller. */
enum gw_stranger {
    GW_STRANGER_NO_KEY,
    GW_STRANGER_SEVERAL, /* more than one credential */
    GW_STRANGER_MALFORMED,
    GW_STRANGER_UNKNOWN, /* or revoked */
    GW_STRANGER_WRONG_SECRET,
    GW_STRANGER_SCOPE,  /* a good key, without the scope */
    GW_STRANGER_TENANT, /* a good key, for another tenant */
    GW_STRANGERS
};

struct gw_observer {
    struct gw_observer *next;
    struct gw_observed *of[GW_PROTOCOL_COUNT];
    _Atomic uint64_t problems[GW_PROTOCOL_COUNT][GW_PROBLEM_COUNT];
    _Atomic uint64_t strangers[GW_PROTOCOL_COUNT][GW_STRANGERS];
};

/* All observers; starts zeroed. */
struct gw_observers {
    _Atomic(struct gw_observer *) first;
    size_t counts[GW_PROTOCOL_COUNT]; /* number of routes or methods of a protocol, plus one; set
                                         before the first */
};

struct gw_observer *gw_observer_new(struct gw_observers *all);
void gw_observers_free(struct gw_observers *all);

/* Stores the facts of gw_seen when the call's exchange is about to go. */
void gw_observe_gone(struct gw_call *call, const struct gw_exchange *ex);
/* Records that the call was refused or aborted. The last record counts. */
void gw_observe_problem(struct gw_call *call, int problem, uint64_t retry_ns);
/* Records that one row of many was refused, or failed, and the call continues. is_throttled: as in
 * gw_seen. */
void gw_observe_entry(const struct gw_call *call, int problem, uint64_t retry_ns,
                      bool is_throttled);
/* Counts a rejected caller; the refusal is counted in addition. */
void gw_observe_stranger(const struct gw_call *call, enum gw_stranger why);
/* Counts a call that has ended; its ten_visit has not. */
void gw_observe(const struct gw_call *call);

/* --- sums --------------------------------------------------------------------------------------
 */

struct gw_observed_now {
    uint64_t requests[GW_CODES];
    uint64_t bytes_in;
    uint64_t bytes_out;
    struct base_histogram_now took;
};

void gw_observed_sum(const struct gw_observers *all, enum gw_protocol_id protocol, size_t what,
                     struct gw_observed_now *out);
uint64_t gw_observed_problems(const struct gw_observers *all, enum gw_protocol_id protocol,
                              int problem);
uint64_t gw_observed_strangers(const struct gw_observers *all, enum gw_protocol_id protocol,
                               enum gw_stranger why);

#endif
