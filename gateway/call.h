/*
 * gateway/call.h - one request of any protocol, from its head until nothing refers to it.
 *
 * Does:     holds what every handler needs (caller, tenant, table, memory, output); outlives the
 *           exchange while an operation is in flight; refuses.
 * Owns:     an arena, the output, the table scope, and through `cleanup` the state of its handler.
 * May use:  base/, storage/, tenancy/, auth/, gateway/.
 * Knows no: transports, JSON, protobuf, what handlers do.
 * Threads:  its loop; while a gw_task or an operation has the call, the thread that runs that.
 * Blocks:   no.
 * Fails by: refusing, in the format of its protocol.
 * Limits:   the protocol's arena_max.
 * Promises: 1. A call is freed when the exchange is gone and no hold is left, never earlier. A call
 *              that outlives its peer stays charged and admitted until then.
 *           2. Refusing a call whose peer is gone, or that was answered, does nothing.
 */
#ifndef GATEWAY_CALL_H
#define GATEWAY_CALL_H

#include "auth/keyring.h"
#include "base/arena.h"
#include "base/memory.h"
#include "base/worker.h"
#include "gateway/action.h"
#include "gateway/exchange.h"
#include "gateway/loop.h"
#include "gateway/observe.h"
#include "gateway/page_token.h"
#include "gateway/problem.h"
#include "gateway/task.h"
#include "gateway/timer.h"
#include "storage/engine.h"
#include "tenancy/admission.h"
#include "tenancy/scope.h"

struct gw_access_lines;
struct gw_access_log;
struct gw_call;
struct gw_descriptors;
struct gw_openapi;
struct gw_router;
struct mig_datadir;
struct mig_service;

/* Number of memory shares for service keys; few keys share one by chance. */
#define GW_SERVICE_SHARES 64

/* At most this many calls of a loop may have a service key and no tenant yet, because their message
 * has not arrived. No limit of requests in flight counts these calls, so each key (by share) may
 * have as many as are left. */
#define GW_UNADDRESSED_MAX 8192
struct gw_unaddressed {
    unsigned all;
    unsigned of[GW_SERVICE_SHARES];
};

/* State shared by all calls. */
struct gw_api {
    struct ten_registry *registry;
    struct auth_keyring *keyring;
    struct sto_engine *engine;
    struct base_memory *memory;         /* of requests: base/memory.h */
    struct base_memory_share strangers; /* of callers that have not shown a key yet */
    struct base_memory_share operators; /* of operators' keys */
    /* Of service keys until they act for a tenant, by key: one key cannot use up another key's
     * share. */
    struct base_memory_share services[GW_SERVICE_SHARES];
    struct gw_router *router;           /* of the JSON API */
    struct gw_openapi *openapi;         /* the same */
    struct gw_descriptors *descriptors; /* of gRPC */
    struct gw_page_key page_key;
    struct ten_fair_worker helper; /* parses input that would hold up a loop */
    struct gw_observers observers;
    struct gw_access_log *access_log; /* NULL: no access log */
    struct mig_service *backups;
    const struct mig_datadir *datadir;
    uint64_t opened_ns; /* monotonic */
    _Atomic bool draining;
};

struct gw_spare_calls {
    struct gw_call *first; /* linked by next */
    size_t count;
};

struct gw_api_thread {
    struct gw_api *api;
    struct gw_loop *loop;
    struct base_mailbox *mailbox;
    struct auth_verifier *verifier;
    struct gw_observer *observer;
    struct gw_access_lines *access; /* NULL: no access log */
    struct gw_spare_calls spares[GW_PROTOCOL_COUNT];
    struct gw_call *calls;             /* not yet freed; linked by next */
    size_t live;                       /* number of these calls */
    uint64_t revoked;                  /* count of revocations at the last tick */
    bool was_revoked;                  /* a key was revoked between the two previous ticks */
    size_t health_watches;             /* gateway/grpc/health.c */
    struct gw_unaddressed unaddressed; /* gateway/grpc/dispatch.c */
};

/* The differences between JSON and gRPC. A protocol's calls start with a struct gw_call. */
struct gw_protocol {
    enum gw_protocol_id id;
    size_t call_bytes;
    size_t arena_max;
    /* Sends a refusal; called at most once, while the peer is there. problem: an enum err or an
     * enum gw_problem_http. */
    void (*refuse)(struct gw_call *call, int problem, const char *detail,
                   const struct gw_problem_extra *extra);
    /* call->memory changed: charges it with what the protocol's own part holds, too. */
    void (*charge)(struct gw_call *call);
    /* Ends a call whose key or tenant may not continue; the peer must not mistake the part that it
     * received for a complete response. Called while the peer is there and the response, which may
     * have started, has not ended. */
    void (*cut)(struct gw_call *call, enum err why, const char *detail);
    /* Releases everything that the protocol's own part holds, and resets that part to the state in
     * which base_new returned it. */
    void (*reset)(struct gw_call *call);
    /* States the subject of the call's action: gw_action_target, and the tenant that the request
     * names, as far as they are known. */
    void (*name_action)(struct gw_call *call, struct slice *out_tenant);
    /* Returns the route or method, and the code under which the response is counted. */
    void (*label)(const struct gw_call *call, struct gw_label *out);
};

/* The caller. Copied, because an auth_key is only valid until the loop's next quiescent point. */
struct gw_principal {
    char key_id[AUTH_KEY_ID + 1];
    enum auth_kind kind;
    uint64_t scopes;
    struct ten_tenant *home; /* of a tenant's key */
    struct slice row_prefix; /* in the call's arena; empty: all rows. See caller.h */
};

#define GW_CALL_MAGIC 0xca11ca11u

struct gw_call {
    uint32_t magic;
    uint32_t holds; /* operations in flight, and functions on the stack that still need the call */
    bool answered;
    bool has_scope;
    bool outlives_peer;     /* finished even if the peer disconnects; set before any timer starts */
    struct gw_exchange *ex; /* NULL when it is gone */
    const struct gw_protocol *protocol;
    struct gw_api_thread *thread;
    struct gw_api *api;
    struct gw_call *next;  /* in the thread's list of calls, or of spares */
    struct gw_call **link; /* the pointer to this call in the thread's list */

    struct gw_principal who;
    struct gw_action action;
    /* The call may not continue, or its peer is gone and the call does not outlive it: its
     * operations may end early. */
    _Atomic bool unwanted;
    struct ten_tenant *tenant; /* NULL unless the request acts for one */
    struct ten_visit visit;    /* of that tenant; holds what the call was charged */
    uint64_t handled_bytes;    /* from gw_call_handled; not charged yet */
    struct gw_seen seen;
    struct sto_table_scope scope;
    enum sto_priority priority; /* of its operations */

    struct base_memory_share *memory; /* of the party that the call is for, as far as it is known */
    struct arena arena;
    struct buf out;
    struct gw_task task;

    void *state; /* the handler's, in the arena */
    void (*cleanup)(struct gw_call *call);
    void (*on_drained)(struct gw_call *call);
    void (*on_gone)(struct gw_call *call); /* the peer vanished, or has received everything */
    void (*on_tick)(struct gw_call *call, uint64_t now_ns); /* NULL before gw_call_tick */
    void (*on_time)(struct gw_call *call);                  /* of timer */
    void (*again)(struct gw_call *call);                    /* from gw_call_tries_again */
    uint64_t refused_ns; /* time since which the engine refuses it for overload; 0: none */
    struct gw_timer timer;
};

/* --- life --------------------------------------------------------------------------------------
 */

struct gw_call *gw_call_new(const struct gw_protocol *protocol, struct gw_api_thread *thread,
                            struct gw_exchange *ex);
void gw_call_hold(struct gw_call *call);
/* Releases a hold; may free the call. */
void gw_call_drop(struct gw_call *call);
/* Frees the thread's spares, when the thread ends. */
void gw_call_free_spares(struct gw_api_thread *thread);

/* Allocates zeroed state for a handler in the arena; cleanup may be NULL. */
void *gw_call_new_state(struct gw_call *call, size_t bytes, void (*cleanup)(struct gw_call *));

/* Has on_tick called about twice a second while the call is wanted. */
void gw_call_tick(struct gw_call *call, void (*on_tick)(struct gw_call *call, uint64_t now_ns));
/* Runs the ticks of all calls of a thread, at the tick of its loop. Ends long-lived calls whose key
 * was revoked, or whose tenant was suspended or is being offboarded: calls whose response has
 * started, and reads whose response has not. A write whose response has not started, or whose peer
 * is gone, becomes unwanted: it ends if it takes long. */
void gw_calls_tick(struct gw_api_thread *thread, uint64_t now_ns);
/* Gives up all calls, when all exchanges are gone and timers no longer run. */
void gw_calls_give_up(struct gw_api_thread *thread);

/* Has go_on called ns or some milliseconds more from now, unless the call is no longer wanted by
 * then; one at a time. */
void gw_call_later(struct gw_call *call, uint64_t ns, void (*go_on)(struct gw_call *call));
/* Marks the call unwanted and stops its timer: after that, only operations in flight keep the call.
 * The caller of this function holds the call. */
void gw_call_give_up(struct gw_call *call);
/* Returns true if the server is busy and the call's tenant has to wait for its scheduling turn;
 * go_on is called when that turn comes. Called after the call was admitted, and between the writes
 * of a call that has many. */
bool gw_call_waits_turn(struct gw_call *call, void (*go_on)(struct gw_call *call));

/* Handles the result of each of the call's operations. Returns true if the operation was refused
 * for overload and may wait: then `again`, which must submit the operation, is called in retry_ns,
 * unless key or tenant become invalid before. A client with one request in flight is not sent away
 * for overload; a flood is. */
bool gw_call_tries_again(struct gw_call *call, enum err result, uint64_t retry_ns,
                         void (*again)(struct gw_call *call)) MUST_CHECK;

/* Returns whether key and tenant state still allow the call to start. For a call whose scheduling
 * turn has come, or that was ended as unwanted. False: answered. */
bool gw_call_may_begin(struct gw_call *call);

/* Adds `bytes` as the cost of handling the call, beside its rows. gw_call_pay_handling charges the
 * cost when the call's bytes are admitted; charging it earlier would make the call be refused
 * because of its own cost. A call that a rate refuses is not charged for handling. */
void gw_call_handled(struct gw_call *call, uint64_t bytes);
/* Charges the handling cost, as ten_charge_handling does, if the call was admitted. Called
 * automatically when the call's cost is sent, and when the call ends. */
void gw_call_pay_handling(struct gw_call *call);

/* Charges the share with everything that the call holds and will hold. */
void gw_call_charge(struct gw_call *call, struct base_memory_share *share);
/* Compiles a filter for the call's table; its memory counts in the call's share. The caller unrefs
 * it. */
enum err gw_call_compile(const struct gw_call *call, const struct sto_filter *filter,
                         struct sto_filter_program **out, struct errbuf *eb) MUST_CHECK;
/* Returns ERR_NO_MEMORY; eb says why memory of the call's share was refused. */
enum err gw_call_no_memory(const struct gw_call *call, struct errbuf *eb);

/* Returns whether the call may continue: its peer is there, or it outlives the peer. */
static inline bool gw_call_is_wanted(const struct gw_call *call)
{
    return call->ex != NULL ||
           (call->outlives_peer && !atomic_load_explicit(&call->unwanted, memory_order_relaxed));
}

/* For the events of an exchange whose user is the call. */
void gw_call_drained(struct gw_exchange *ex, void *call);
void gw_call_gone(struct gw_exchange *ex, void *call);

/* --- the table ---------------------------------------------------------------------------------
 */

/* Acquires the scope of a table of call->tenant; releases the scope that the call had. */
enum err gw_call_enter_table(struct gw_call *call, struct slice table_id,
                             struct errbuf *eb) MUST_CHECK;
void gw_call_leave_table(struct gw_call *call);

/* --- answers -----------------------------------------------------------------------------------
 */

/* Returns true, and marks the call answered, if it has a peer and was not answered yet. For
 * protocols. */
bool gw_call_begin_answer(struct gw_call *call) MUST_CHECK;
/* problem: an enum err or an enum gw_problem_http. */
void gw_call_problem(struct gw_call *call, int problem, const char *detail);
void gw_call_problem_with(struct gw_call *call, int problem, const char *detail,
                          const struct gw_problem_extra *extra);
/* retry_ns: the retry time that an operation returned; 0: none. */
void gw_call_problem_retry(struct gw_call *call, int problem, const char *detail,
                           uint64_t retry_ns);
void gw_call_refuse(struct gw_call *call, enum err code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
