/*
 * gateway/call.h - one request of any protocol, from its head until nothing refers to it any more.
 *
 * Does:     hold what every handler needs (who, which tenant, which table, memory, output), outlive
 *           the exchange while an operation is under way, refuse.
 * Owns:     an arena, the output, the table scope, and through `cleanup` the state of its handler.
 * May use:  base/, storage/, tenancy/, auth/, gateway/.
 * Knows no: transports, JSON, protobuf, what handlers do.
 * Threads:  its loop; while a gw_task or an operation has it, the thread that runs that.
 * Blocks:   no.
 * Fails by: refusing, in the words of its protocol.
 * Limits:   the protocol's arena_max.
 * Promises: 1. A call is freed when the exchange is gone and no hold is left, never earlier. One
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

/* Of memory: keys of services that have the same one by chance are few. */
#define GW_SERVICE_SHARES 64

/* Of a loop, the calls of service keys whose message has not named a tenant yet. No limit of
 * requests under way counts them, so that each key (by share) may have as many as are left. */
#define GW_UNADDRESSED_MAX 8192
struct gw_unaddressed {
    unsigned all;
    unsigned of[GW_SERVICE_SHARES];
};

/* What all calls share. */
struct gw_api {
    struct ten_registry *registry;
    struct auth_keyring *keyring;
    struct sto_engine *engine;
    struct base_memory *memory;         /* of requests: base/memory.h */
    struct base_memory_share strangers; /* of those who have not shown a key yet */
    struct base_memory_share operators; /* of their keys */
    /* Of service keys until they act for a tenant, by key: one takes nothing of the others. */
    struct base_memory_share services[GW_SERVICE_SHARES];
    struct gw_router *router;           /* of the JSON API */
    struct gw_openapi *openapi;         /* the same */
    struct gw_descriptors *descriptors; /* of gRPC */
    struct gw_page_key page_key;
    struct ten_fair_worker helper; /* parses what would hold up a loop */
    struct gw_observers observers;
    struct gw_access_log *access_log; /* NULL: none is kept */
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
    struct gw_access_lines *access; /* NULL: none are kept */
    struct gw_spare_calls spares[GW_PROTOCOL_COUNT];
    struct gw_call *calls;             /* not yet freed; linked by next */
    size_t live;                       /* how many those are */
    uint64_t revoked;                  /* keys, when calls were held against them last */
    bool was_revoked;                  /* one was, at the tick before */
    size_t health_watches;             /* gateway/grpc/health.c */
    struct gw_unaddressed unaddressed; /* gateway/grpc/dispatch.c */
};

/* What differs between JSON and gRPC. A protocol's calls begin with a struct gw_call. */
struct gw_protocol {
    enum gw_protocol_id id;
    size_t call_bytes;
    size_t arena_max;
    /* Answer with a refusal; asked at most once, while the peer is there. problem: an enum err or
     * an enum gw_problem_http. */
    void (*refuse)(struct gw_call *call, int problem, const char *detail,
                   const struct gw_problem_extra *extra);
    /* call->memory changed: it is also of what the protocol's own part holds. */
    void (*charge)(struct gw_call *call);
    /* End a call whose key or tenant may not go on: the peer must not take what it has for whole.
     * While the peer is there and the answer, which may have begun, is not ended. */
    void (*cut)(struct gw_call *call, enum err why, const char *detail);
    /* Give back what the protocol's own part holds, and make it as base_new made it. */
    void (*reset)(struct gw_call *call);
    /* Say what the call's action is about: gw_action_target, and the tenant that is named. As far
     * as it is known yet. */
    void (*name_action)(struct gw_call *call, struct slice *out_tenant);
    /* Which route or method it was, and how its answer is counted. */
    void (*label)(const struct gw_call *call, struct gw_label *out);
};

/* Copied: an auth_key is only valid until the loop's next quiescent point. */
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
    uint32_t holds; /* operations under way, and functions on the stack that still need it */
    bool answered;
    bool has_scope;
    bool outlives_peer;     /* finished even if the peer disconnects; set before any timer starts */
    struct gw_exchange *ex; /* NULL once gone */
    const struct gw_protocol *protocol;
    struct gw_api_thread *thread;
    struct gw_api *api;
    struct gw_call *next;  /* in the list of the thread's calls, or of spares */
    struct gw_call **link; /* what points to it in the thread's */

    struct gw_principal who;
    struct gw_action action;
    _Atomic bool
        unwanted; /* it may not go on, or its peer is gone and it does not outlive that: its
                            * operations may end early */
    struct ten_tenant *tenant; /* NULL unless the request acts for one */
    struct ten_visit visit;    /* of that tenant; what it was charged */
    uint64_t handled_bytes;    /* of gw_call_handled; not charged yet */
    struct gw_seen seen;
    struct sto_table_scope scope;
    enum sto_priority priority; /* of its operations */

    struct base_memory_share *memory; /* of whoever it is for, as far as that is known */
    struct arena arena;
    struct buf out;
    struct gw_task task;

    void *state; /* the handler's, in the arena */
    void (*cleanup)(struct gw_call *call);
    void (*on_drained)(struct gw_call *call);
    void (*on_gone)(struct gw_call *call); /* the peer vanished, or has everything */
    void (*on_tick)(struct gw_call *call, uint64_t now_ns); /* NULL before gw_call_tick */
    void (*on_time)(struct gw_call *call);                  /* of timer */
    void (*again)(struct gw_call *call);                    /* of gw_call_tries_again */
    uint64_t refused_ns; /* since when the engine refuses it for overload; 0: it does not */
    struct gw_timer timer;
};

/* --- life --------------------------------------------------------------------------------------
 */

struct gw_call *gw_call_new(const struct gw_protocol *protocol, struct gw_api_thread *thread,
                            struct gw_exchange *ex);
void gw_call_hold(struct gw_call *call);
/* May free the call. */
void gw_call_drop(struct gw_call *call);
/* Free the thread's spares, at its end. */
void gw_call_free_spares(struct gw_api_thread *thread);

/* Zeroed state in the arena, for handlers; cleanup may be NULL. */
void *gw_call_new_state(struct gw_call *call, size_t bytes, void (*cleanup)(struct gw_call *));

/* Have on_tick called about twice a second while the peer is there or need not be. */
void gw_call_tick(struct gw_call *call, void (*on_tick)(struct gw_call *call, uint64_t now_ns));
/* All of a thread's, at the tick of its loop. Ends those that live long and whose key was revoked,
 * or whose tenant was suspended or is leaving: an answer that has begun, a read that has not. A
 * write that has none, or no peer any more, is unwanted then: it ends if it takes long. */
void gw_calls_tick(struct gw_api_thread *thread, uint64_t now_ns);
/* Gives up all calls, when all exchanges are gone and timers do not run any more. */
void gw_calls_give_up(struct gw_api_thread *thread);

/* Have go_on called in so long or some milliseconds later, unless the peer is gone before and was
 * needed; one at a time. */
void gw_call_later(struct gw_call *call, uint64_t ns, void (*go_on)(struct gw_call *call));
/* Marks the call unwanted and stops its timer: only operations in flight keep it. The caller holds
 * it. */
void gw_call_give_up(struct gw_call *call);
/* True: the server is busy and it is not the turn of the call's tenant: go_on is called when it is.
 * Asked after it was admitted, and between writes of one that has many. */
bool gw_call_waits_turn(struct gw_call *call, void (*go_on)(struct gw_call *call));

/* What its operation ended with, each time. True: it was refused for overload and may wait; the
 * operation is to be submitted by again, in retry_ns, unless key or tenant fall before. Who has one
 * request under way is not sent away for overload; a flood is. */
bool gw_call_tries_again(struct gw_call *call, enum err result, uint64_t retry_ns,
                         void (*again)(struct gw_call *call)) MUST_CHECK;

/* For one whose turn has come, or that was ended as unwanted: whether its key and the state of its
 * tenant still let it begin. False: answered. */
bool gw_call_may_begin(struct gw_call *call);

/* Handling the call takes as much as so many bytes, beside its rows. It is charged by
 * gw_call_pay_handling, when the call's bytes are admitted: before, the call would be refused for
 * itself. Of a call that a rate refuses it is not charged. */
void gw_call_handled(struct gw_call *call, uint64_t bytes);
/* Charges that, as ten_charge_handling does, if the call was admitted. Comes by itself when the
 * call's cost is sent, and when it ends. */
void gw_call_pay_handling(struct gw_call *call);

/* What it holds, and what it will hold, is of that share. */
void gw_call_charge(struct gw_call *call, struct base_memory_share *share);
/* Compiles a filter for the call's table, counted in the call's share. The caller unrefs it. */
enum err gw_call_compile(const struct gw_call *call, const struct sto_filter *filter,
                         struct sto_filter_program **out, struct errbuf *eb) MUST_CHECK;
/* Says why memory of the call's share was refused: ERR_NO_MEMORY. */
enum err gw_call_no_memory(const struct gw_call *call, struct errbuf *eb);

/* Returns whether the call may go on: its peer is there, or it outlives the peer. */
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

/* (Re)take the scope of a table of call->tenant. */
enum err gw_call_enter_table(struct gw_call *call, struct slice table_id,
                             struct errbuf *eb) MUST_CHECK;
void gw_call_leave_table(struct gw_call *call);

/* --- answers -----------------------------------------------------------------------------------
 */

/* True when there is somebody to answer, and marks the call answered. For protocols. */
bool gw_call_begin_answer(struct gw_call *call) MUST_CHECK;
/* problem: an enum err or an enum gw_problem_http. */
void gw_call_problem(struct gw_call *call, int problem, const char *detail);
void gw_call_problem_with(struct gw_call *call, int problem, const char *detail,
                          const struct gw_problem_extra *extra);
/* retry_ns: what an operation said; 0: nothing. */
void gw_call_problem_retry(struct gw_call *call, int problem, const char *detail,
                           uint64_t retry_ns);
void gw_call_refuse(struct gw_call *call, enum err code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
