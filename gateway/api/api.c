/*
 * gateway/api/api.c - the interface of the JSON API, and beside it gRPC, to the loops.
 */
#include "gateway/api/api.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "gateway/access_log.h"
#include "gateway/api/dispatch.h"
#include "gateway/api/openapi.h"
#include "gateway/api/rest.h"
#include "gateway/grpc/descriptor_set.h"
#include "gateway/grpc/descriptors.h"
#include "gateway/grpc/dispatch.h"

#include "base/banned.h"

#define WAIT_MS        100
#define STRANGERS_PART 16 /* of the memory for requests */

static void free_api(struct gw_api *api)
{
    gw_observers_free(&api->observers);
    gw_descriptors_free(api->descriptors);
    gw_openapi_fini(api->openapi);
    base_free(api->openapi);
    base_free_secret(api, sizeof *api);
}

enum err gw_api_open(const struct gw_api_options *options, struct gw_api **out, struct errbuf *eb)
{
    struct gw_api *api = base_new(sizeof *api);
    api->registry = options->registry;
    api->keyring = options->keyring;
    api->memory = options->memory;
    api->operators.budget = api->memory;
    for (size_t i = 0; i < GW_SERVICE_SHARES; i++)
        api->services[i].budget = api->memory;
    api->strangers.budget = api->memory;
    api->strangers.most = api->memory->limit / STRANGERS_PART;
    api->engine = ten_registry_engine(options->registry);
    api->opened_ns = base_monotonic_ns();
    api->access_log = options->access_log;
    api->backups = options->backups;
    api->datadir = options->datadir;
    api->observers.counts[GW_PROTOCOL_JSON] = gw_route_count + 1;
    api->observers.counts[GW_PROTOCOL_GRPC] = gw_method_count + 1;
    api->openapi = base_new(sizeof *api->openapi);
    enum err e = gw_openapi_build(gw_routes, gw_route_count, api->openapi, eb);
    if (e == ERR_OK)
        e = gw_descriptors_new(base_slice(gw_descriptor_set, gw_descriptor_set_bytes),
                               &api->descriptors, eb);
    if (e != ERR_OK) {
        free_api(api);
        return e;
    }
    e = gw_page_key_derive(options->pepper, &api->page_key);
    if (e == ERR_OK)
        e = ten_fair_worker_start(&api->helper, "api-helper", false);
    if (e != ERR_OK) {
        free_api(api);
        return base_fail(eb, e, "the API cannot be started: %s", base_err_name(e));
    }
    api->router = gw_router_new(gw_routes, gw_route_count);
    *out = api;
    return ERR_OK;
}

void gw_api_close(struct gw_api *api)
{
    if (api == NULL)
        return;
    ten_fair_worker_stop(&api->helper);
    gw_router_free(api->router);
    free_api(api);
}

void gw_api_drain(struct gw_api *api)
{
    atomic_store_explicit(&api->draining, true, memory_order_relaxed);
}

enum err gw_api_thread_begin(struct gw_loop *loop, void *user, void **out_thread_state)
{
    struct gw_api *api = user;
    struct gw_api_thread *thread = base_new(sizeof *thread);
    thread->api = api;
    thread->loop = loop;
    thread->mailbox = gw_loop_mailbox(loop);
    enum err e = auth_verifier_new(api->keyring, &thread->verifier);
    if (e != ERR_OK) {
        base_free(thread);
        return e;
    }
    thread->observer = gw_observer_new(&api->observers);
    if (api->access_log != NULL)
        thread->access = gw_access_lines_new(api->access_log);
    *out_thread_state = thread;
    return ERR_OK;
}

/* Ends a loop's part of the API. Every exchange is gone by now; operations in flight still reply to
 * this loop's mailbox. */
void gw_api_thread_end(struct gw_loop *loop, void *thread_state)
{
    (void)loop; /* the thread knows it */
    struct gw_api_thread *thread = thread_state;
    if (thread == NULL)
        return;
    gw_calls_give_up(thread);
    while (thread->live > 0) {
        base_mailbox_wait(thread->mailbox, WAIT_MS);
        (void)base_mailbox_run(thread->mailbox); /* the number does not matter */
    }
    gw_call_free_spares(thread);
    gw_access_lines_end(thread->access);
    auth_verifier_free(thread->verifier);
    base_free(thread);
}

/* Dispatches a request. gRPC needs HTTP/2: its status is in the trailers. In plaintext only gRPC is
 * served. */
void gw_api_on_request(struct gw_exchange *ex, void *thread_state)
{
    if (ex->is_plain || (ex->http_major == 2 && gw_metadata_is_grpc(ex)))
        gw_rpc_dispatch(thread_state, ex);
    else
        gw_dispatch(thread_state, ex);
}

void gw_api_tick(void *thread_state, uint64_t now_ns)
{
    struct gw_api_thread *thread = thread_state;
    gw_calls_tick(thread, now_ns);
    if (thread->access != NULL)
        gw_access_lines_tick(thread->access);
}
