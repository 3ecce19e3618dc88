/*
 * gateway/api/call.h - one API request, from its head until nothing refers to it any more.
 *
 * Does:     hold what handlers need (who, which tenant, which table, parameters, body), outlive the
 *           exchange while an operation is under way, answer it.
 * Owns:     an arena, the collected body, the output, the table scope, the JSON tree, and through
 *           `cleanup` the state of its handler.
 * May use:  base/, storage/, tenancy/, auth/, gateway/.
 * Knows no: transports, what routes do.
 * Threads:  its loop; while a gw_task or an operation has it, the thread that runs that.
 * Blocks:   no.
 * Fails by: answering with a problem.
 * Limits:   the route's body_max.
 * Promises: 1. A call is freed when the exchange is gone and no hold is left, never earlier.
 *           2. Answering a call whose peer is gone, or twice, does nothing.
 *           3. The body slice is valid while the handler runs; parameters until the call is freed.
 */
#ifndef GATEWAY_API_CALL_H
#define GATEWAY_API_CALL_H

#include <jansson.h>

#include "auth/keyring.h"
#include "base/arena.h"
#include "base/worker.h"
#include "gateway/api/json_in.h"
#include "gateway/api/openapi.h"
#include "gateway/api/page_token.h"
#include "gateway/api/query.h"
#include "gateway/api/router.h"
#include "gateway/api/task.h"
#include "gateway/exchange.h"
#include "gateway/loop.h"
#include "storage/engine.h"
#include "tenancy/scope.h"

struct gw_api {
    struct ten_registry *registry;
    struct auth_keyring *keyring;
    struct sto_engine *engine;
    struct gw_router *router;
    struct gw_page_key page_key;
    struct gw_openapi openapi;
    struct base_worker helper; /* parses what would hold up a loop */
    _Atomic bool draining;
};

struct gw_api_thread {
    struct gw_api *api;
    struct gw_loop *loop;
    struct base_mailbox *mailbox;
    struct auth_verifier *verifier;
    struct gw_call *spare; /* freed calls, linked by next */
    size_t spare_count;
    size_t live; /* calls not yet freed */
};

/* Copied: an auth_key is only valid until the loop's next quiescent point. */
struct gw_principal {
    char key_id[AUTH_KEY_ID + 1];
    enum auth_kind kind;
    uint64_t scopes;
};

#define GW_CALL_MAGIC 0xca11ca11u

struct gw_call {
    uint32_t magic;
    uint32_t holds; /* operations under way, and functions on the stack that still need it */
    bool answered;
    bool running; /* the handler was started; body bytes that still come are thrown away */
    bool has_scope;
    struct gw_exchange *ex; /* NULL once gone */
    struct gw_api_thread *thread;
    struct gw_api *api;
    struct gw_call *next; /* in the list of spares */

    const struct gw_route *route;
    struct gw_match match;
    struct gw_query query;
    struct gw_principal who;
    struct ten_tenant *tenant; /* NULL unless the route acts for one */
    struct sto_table_scope scope;

    struct arena arena;
    struct buf body_bytes;
    struct slice body;
    struct buf out;
    json_t *json;
    struct gw_task task;

    void *state; /* the handler's, in the arena */
    void (*cleanup)(struct gw_call *call);
    void (*on_body)(struct gw_call *call, struct slice bytes, bool end); /* GW_BODY_LINES */
    void (*on_drained)(struct gw_call *call);
};

/* Parameters by position. */
static inline struct slice gw_call_param(const struct gw_call *call, size_t i)
{
    return call->match.params[i];
}

/* --- life --------------------------------------------------------------------------------------
 */

struct gw_call *gw_call_new(struct gw_api_thread *thread, struct gw_exchange *ex);
void gw_call_hold(struct gw_call *call);
/* May free the call. */
void gw_call_drop(struct gw_call *call);
/* Free the thread's spares, at its end. */
void gw_call_free_spares(struct gw_api_thread *thread);

/* Zeroed state in the arena, for handlers; cleanup may be NULL. */
void *gw_call_new_state(struct gw_call *call, size_t bytes, void (*cleanup)(struct gw_call *));

/* --- the table ---------------------------------------------------------------------------------
 */

/* (Re)take the scope of the first parameter's table. */
enum err gw_call_enter_table(struct gw_call *call, struct errbuf *eb) MUST_CHECK;
void gw_call_leave_table(struct gw_call *call);
/* A family of the table; ERR_NOT_FOUND names it. */
enum err gw_call_family(const struct gw_call *call, struct slice name,
                        const struct sto_family **out, struct errbuf *eb) MUST_CHECK;

/* --- input -------------------------------------------------------------------------------------
 */

/* The body as JSON, kept in call->json until the call is freed. An absent optional body is {}. */
enum err gw_call_parse(struct gw_call *call, struct errbuf *eb) MUST_CHECK;
/* Make call->body outlive the handler. */
enum err gw_call_keep_body(struct gw_call *call, struct errbuf *eb) MUST_CHECK;
/* true when the request's Accept names that type (and not with q=0). */
bool gw_call_accepts(const struct gw_call *call, const char *media_type);

/* --- answers -----------------------------------------------------------------------------------
 */

/* problem: an enum err or an enum gw_problem_http. */
void gw_call_problem(struct gw_call *call, int problem, const char *detail);
void gw_call_limited(struct gw_call *call, const char *detail, uint64_t retry_ns);
void gw_call_refuse(struct gw_call *call, enum err code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* call->out as the whole body. */
void gw_call_send(struct gw_call *call, int status, const char *content_type);
void gw_call_send_json(struct gw_call *call, int status);
/* Bytes that outlive every call, named by an ETag, which the peer may keep for a while. */
void gw_call_send_static(struct gw_call *call, const char *content_type, const char *etag,
                         struct slice bytes);
void gw_call_no_content(struct gw_call *call);
/* Begin a streamed answer. */
void gw_call_start_stream(struct gw_call *call, int status, const char *content_type);

#endif
