/*
 * gateway/api/call.c - one API request, from its head until nothing refers to it any more.
 *
 * Invariants:
 *   1. A call is freed exactly when ex is NULL and holds is 0. Functions entered from outside (an
 *      event, a completion) hold it while they run, because sending may end the exchange.
 *   2. answered is set before the first byte of an answer; nothing is sent when it is set or ex is
 *      NULL.
 *   3. The struct is recycled; everything it points to is given back first.
 */
#define _GNU_SOURCE
#include "gateway/api/call.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/log.h"
#include "gateway/api/cell_fields.h"
#include "gateway/problem.h"

#include "base/banned.h"

#define SPARES_MAX 256
#define ARENA_MAX  (4 * LIM_BODY_BYTES) /* mutations of the longest list and decoded values */
#define OUT_MAX    (2 * LIM_ROW_BYTES)  /* a slice holds one cell more than LIM_SLICE_BYTES */

/* --- life --------------------------------------------------------------------------------------
 */

struct gw_call *gw_call_new(struct gw_api_thread *thread, struct gw_exchange *ex)
{
    struct gw_call *call = thread->spare;
    if (call != NULL) {
        thread->spare = call->next;
        thread->spare_count--;
    } else {
        call = base_new(sizeof *call);
    }
    thread->live++;
    call->magic = GW_CALL_MAGIC;
    call->holds = 1;
    call->ex = ex;
    call->thread = thread;
    call->api = thread->api;
    base_arena_init(&call->arena, ARENA_MAX);
    base_buf_init(&call->body_bytes, 0);
    base_buf_init(&call->out, OUT_MAX);
    return call;
}

/* As base_new made it; the large arrays are only ever read behind their counts. */
static void reset(struct gw_call *call)
{
    call->magic = 0;
    call->answered = false;
    call->running = false;
    call->has_scope = false;
    call->route = NULL;
    call->match.param_count = 0;
    call->tenant = NULL;
    call->body = SLICE_EMPTY;
    call->json = NULL;
    call->state = NULL;
    call->cleanup = NULL;
    call->on_body = NULL;
    call->on_drained = NULL;
}

static void free_call(struct gw_call *call)
{
    struct gw_api_thread *thread = call->thread;
    if (call->cleanup != NULL)
        call->cleanup(call);
    gw_call_leave_table(call);
    json_decref(call->json);
    base_buf_fini(&call->out);
    base_buf_fini(&call->body_bytes);
    base_arena_fini(&call->arena);
    reset(call);
    INVARIANT(thread->live > 0);
    thread->live--;
    if (thread->spare_count == SPARES_MAX) {
        base_free(call);
        return;
    }
    call->next = thread->spare;
    thread->spare = call;
    thread->spare_count++;
}

void gw_call_hold(struct gw_call *call)
{
    INVARIANT(call->magic == GW_CALL_MAGIC);
    call->holds++;
}

void gw_call_drop(struct gw_call *call)
{
    INVARIANT(call->magic == GW_CALL_MAGIC && call->holds > 0);
    call->holds--;
    if (call->holds == 0 && call->ex == NULL)
        free_call(call);
}

void gw_call_free_spares(struct gw_api_thread *thread)
{
    while (thread->spare != NULL) {
        struct gw_call *call = thread->spare;
        thread->spare = call->next;
        base_free(call);
    }
    thread->spare_count = 0;
}

void *gw_call_new_state(struct gw_call *call, size_t bytes, void (*cleanup)(struct gw_call *))
{
    call->state = base_arena_zalloc(&call->arena, bytes);
    if (call->state ==
        NULL) /* the program knows the size: as with base_new, the process restarts */
        base_panic(__FILE__, __LINE__, "out of memory");
    call->cleanup = cleanup;
    return call->state;
}

/* --- the table ---------------------------------------------------------------------------------
 */

enum err gw_call_enter_table(struct gw_call *call, struct errbuf *eb)
{
    gw_call_leave_table(call);
    enum err e = ten_scope_table(call->tenant, gw_call_param(call, 0), &call->scope, eb);
    call->has_scope = e == ERR_OK;
    return e;
}

void gw_call_leave_table(struct gw_call *call)
{
    if (call->has_scope)
        sto_table_scope_release(&call->scope);
    call->has_scope = false;
}

enum err gw_call_family(const struct gw_call *call, struct slice name,
                        const struct sto_family **out, struct errbuf *eb)
{
    return gw_family_find(call->scope.schema, name, out, eb);
}

/* --- input -------------------------------------------------------------------------------------
 */

enum err gw_call_parse(struct gw_call *call, struct errbuf *eb)
{
    bool is_absent = call->route->body == GW_BODY_OPTIONAL && call->body.len == 0;
    return gw_json_parse(is_absent ? SLICE_LIT("{}") : call->body, &call->json, eb);
}

enum err gw_call_keep_body(struct gw_call *call, struct errbuf *eb)
{
    struct slice body = call->body;
    bool is_ours = body.len == 0 || body.ptr == call->body_bytes.ptr;
    if (is_ours)
        return ERR_OK;
    call->body = base_arena_copy(&call->arena, body);
    if (call->body.ptr == NULL)
        return base_fail(eb, ERR_NO_MEMORY, "out of memory for a body of %zu bytes", body.len);
    return ERR_OK;
}

static bool equal_fold(struct slice a, const char *b)
{
    size_t i = 0;
    for (; i < a.len && b[i] != '\0'; i++) {
        uint8_t c = a.ptr[i];
        c = c >= 'A' && c <= 'Z' ? (uint8_t)(c | 0x20) : c;
        if (c != (uint8_t)b[i])
            return false;
    }
    return i == a.len && b[i] == '\0';
}

/* The bytes before `stop`, without blanks around them; *rest goes behind it. */
static struct slice take_until(struct slice *rest, uint8_t stop)
{
    const uint8_t *at = rest->len == 0 ? NULL : memchr(rest->ptr, stop, rest->len);
    size_t len = at == NULL ? rest->len : (size_t)(at - rest->ptr);
    struct slice part = base_slice(rest->ptr, len);
    *rest = base_slice_skip(*rest, at == NULL ? len : len + 1);
    while (part.len > 0 && (part.ptr[0] == ' ' || part.ptr[0] == '\t'))
        part = base_slice_skip(part, 1);
    while (part.len > 0 && (part.ptr[part.len - 1] == ' ' || part.ptr[part.len - 1] == '\t'))
        part.len--;
    return part;
}

static bool is_zero_weight(struct slice parameters)
{
    while (parameters.len > 0) {
        struct slice one = take_until(&parameters, ';');
        if (equal_fold(one, "q=0") || equal_fold(one, "q=0.0") || equal_fold(one, "q=0.00") ||
            equal_fold(one, "q=0.000"))
            return true;
    }
    return false;
}

bool gw_call_accepts(const struct gw_call *call, const char *media_type)
{
    struct slice list = gw_exchange_header(call->ex, "accept", NULL);
    while (list.len > 0) {
        struct slice range = take_until(&list, ',');
        if (equal_fold(take_until(&range, ';'), media_type))
            return !is_zero_weight(range);
    }
    return false;
}

/* --- answers -----------------------------------------------------------------------------------
 */

/* true when there is somebody to answer, and marks the call answered. */
static bool begin_answer(struct gw_call *call)
{
    if (call->ex == NULL || call->answered)
        return false;
    call->answered = true;
    return true;
}

static void answer_problem(struct gw_call *call, int problem, const char *detail,
                           const struct gw_problem_extra *extra)
{
    if (!begin_answer(call))
        return;
    if (gw_problem_get(problem)->status == 500)
        base_log(BASE_LOG_ERROR, "request_failed", "code=%s route=\"%s %s\" detail=\"%s\"",
                 gw_problem_get(problem)->code, call->route == NULL ? "-" : call->route->method,
                 call->route == NULL ? "-" : call->route->pattern, detail == NULL ? "" : detail);
    gw_problem_send(call->ex, problem, detail, extra);
}

void gw_call_problem(struct gw_call *call, int problem, const char *detail)
{
    struct gw_problem_extra extra = {.allow = call->match.allow};
    answer_problem(call, problem, detail, &extra);
}

void gw_call_limited(struct gw_call *call, const char *detail, uint64_t retry_ns)
{
    struct gw_problem_extra extra = {.retry_ns = retry_ns};
    answer_problem(call, ERR_RATE_LIMITED, detail, &extra);
}

void gw_call_refuse(struct gw_call *call, enum err code, const char *format, ...)
{
    char text[ERRBUF_BYTES];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args); /* a cut text is good enough */
    va_end(args);
    gw_call_problem(call, (int)code, text);
}

void gw_call_start_stream(struct gw_call *call, int status, const char *content_type)
{
    if (!begin_answer(call))
        return;
    gw_exchange_add_header(call->ex, "content-type", base_slice_text(content_type));
    gw_exchange_add_header(call->ex, "cache-control", SLICE_LIT("no-store"));
    gw_exchange_start(call->ex, status, -1);
}

void gw_call_send(struct gw_call *call, int status, const char *content_type)
{
    if (call->out.error != ERR_OK) {
        gw_call_problem(call, (int)call->out.error, "the answer does not fit into memory");
        return;
    }
    if (!begin_answer(call))
        return;
    gw_exchange_add_header(call->ex, "content-type", base_slice_text(content_type));
    gw_exchange_add_header(call->ex, "cache-control", SLICE_LIT("no-store"));
    gw_exchange_start(call->ex, status, (int64_t)call->out.len);
    if (call->ex != NULL)
        gw_exchange_send_take(call->ex, &call->out, true);
}

void gw_call_send_json(struct gw_call *call, int status)
{
    gw_call_send(call, status, "application/json");
}

/* An ETag is quoted, so that it cannot be found inside another one. */
static bool has_copy(const struct gw_call *call, const char *etag)
{
    struct slice known = gw_exchange_header(call->ex, "if-none-match", NULL);
    return known.len > 0 &&
           (base_slice_is(known, "*") || memmem(known.ptr, known.len, etag, strlen(etag)) != NULL);
}

void gw_call_send_static(struct gw_call *call, const char *content_type, const char *etag,
                         struct slice bytes)
{
    if (!begin_answer(call))
        return;
    bool is_known = has_copy(call, etag);
    gw_exchange_add_header(call->ex, "etag", base_slice_text(etag));
    gw_exchange_add_header(call->ex, "cache-control", SLICE_LIT("public, max-age=300"));
    if (!is_known)
        gw_exchange_add_header(call->ex, "content-type", base_slice_text(content_type));
    gw_exchange_start(call->ex, is_known ? 304 : 200, is_known ? 0 : (int64_t)bytes.len);
    if (call->ex != NULL)
        gw_exchange_send_static(call->ex, is_known ? SLICE_EMPTY : bytes, true);
}

void gw_call_no_content(struct gw_call *call)
{
    if (!begin_answer(call))
        return;
    gw_exchange_add_header(call->ex, "cache-control", SLICE_LIT("no-store"));
    gw_exchange_start(call->ex, 204, 0);
    if (call->ex == NULL)
        return;
    struct buf empty;
    base_buf_init(&empty, 0);
    gw_exchange_send_take(call->ex, &empty, true);
}
