/*
 * gateway/api/rest.h - a call of the JSON API: the parsed parts of its head and body, and its
 * responses.
 *
 * Does:     holds route, parameters, query and body beside the call; answers with JSON, bytes, a
 *           stream, or a problem.
 * Owns:     the collected body, the JSON tree.
 * May use:  base/, storage/, auth/scopes.h, gateway/.
 * Knows no: transports, effect of routes.
 * Threads:  as gateway/call.h.
 * Blocks:   no.
 * Fails by: answering with a problem.
 * Limits:   the route's body_max.
 * Promises: 1. Answering a call whose peer is gone, or twice, does nothing.
 *           2. The body slice is valid while the handler runs; parameters until the call is freed.
 */
#ifndef GATEWAY_API_REST_H
#define GATEWAY_API_REST_H

#include <jansson.h>

#include "gateway/api/json_in.h"
#include "gateway/api/query.h"
#include "gateway/api/router.h"
#include "gateway/call.h"

struct gw_rest {
    struct gw_call call; /* first */
    const struct gw_route *route;
    struct gw_match match;
    struct gw_query query;
    bool running; /* the handler was started; further body bytes are discarded */
    struct buf body_bytes;
    struct slice body;
    json_t *json;
    struct gw_json_charge json_charge;
    int status; /* of the response after a task */
    void (*on_body)(struct gw_call *call, struct slice bytes, bool end); /* GW_BODY_LINES */
};

extern const struct gw_protocol gw_rest_protocol;

static inline struct gw_rest *gw_rest(const struct gw_call *call)
{
    INVARIANT(call->protocol == &gw_rest_protocol);
    return (struct gw_rest *)(uintptr_t)call;
}

/* Returns a parameter by position. */
static inline struct slice gw_rest_param(const struct gw_call *call, size_t i)
{
    return gw_rest(call)->match.params[i];
}

/* --- the table ---------------------------------------------------------------------------------
 */

/* Acquires the scope of the first parameter's table; releases the scope that the call had. */
enum err gw_rest_enter_table(struct gw_call *call, struct errbuf *eb) MUST_CHECK;
/* Finds a family of the table; the text of ERR_NOT_FOUND names it. */
enum err gw_rest_family(const struct gw_call *call, struct slice name,
                        const struct sto_family **out, struct errbuf *eb) MUST_CHECK;

/* --- input -------------------------------------------------------------------------------------
 */

/* Parses the body as JSON, kept until the call is freed. An absent optional body is {}. */
enum err gw_rest_parse(struct gw_call *call, struct errbuf *eb) MUST_CHECK;
/* Makes the body outlive the handler. */
enum err gw_rest_keep_body(struct gw_call *call, struct errbuf *eb) MUST_CHECK;
/* Returns whether the request's Accept names that type (and not with q=0). */
bool gw_rest_accepts(const struct gw_call *call, const char *media_type);

/* --- answers -----------------------------------------------------------------------------------
 */

/* Sends call->out as the whole body. */
void gw_rest_send(struct gw_call *call, int status, const char *content_type);
void gw_rest_send_json(struct gw_call *call, int status);
/* Sends bytes that outlive every call, named by an ETag; the peer may cache them for a while. */
void gw_rest_send_static(struct gw_call *call, const char *content_type, const char *etag,
                         struct slice bytes);
void gw_rest_no_content(struct gw_call *call);
/* Starts a streamed response. */
void gw_rest_start_stream(struct gw_call *call, int status, const char *content_type);

/* Runs work on tenancy's control thread; then answers with the problem, or with call->out as JSON
 * and that status (204: nothing). */
void gw_rest_on_control(struct gw_call *call, int status,
                        enum err (*work)(struct gw_call *call, struct errbuf *eb));
/* Answers after a task, as gw_rest_on_control does; status is the call's. */
void gw_rest_answer_task(struct gw_call *call);

#endif
