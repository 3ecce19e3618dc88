/*
 * gateway/api/api.h - the JSON API's interface to the loops.
 *
 * Does:     ties registry, keyring and routes together; accepts requests from the loops.
 * Owns:     the compiled routes, the key of page tokens, a helper thread for heavy parsing, and the
 *           per-loop state.
 * May use:  base/, tenancy/, auth/, gateway/.
 * Knows no: transports.
 * Threads:  open and close from main; thread_begin, thread_end, on_request and tick from each loop.
 * Blocks:   thread_end waits for operations in flight.
 * Fails by: ERR_NO_MEMORY, ERR_IO.
 * Limits:   those of base/limits.h.
 * Promises: 1. After thread_end nothing refers to the loop.
 */
#ifndef GATEWAY_API_API_H
#define GATEWAY_API_API_H

#include "auth/keyring.h"
#include "gateway/exchange.h"
#include "gateway/loop.h"
#include "tenancy/registry.h"

struct gw_access_log;
struct mig_datadir;
struct mig_service;
struct gw_api;

struct gw_api_options {
    struct ten_registry *registry;
    struct auth_keyring *keyring;
    struct base_memory *memory;       /* of requests; outlives the API */
    struct slice pepper;              /* the key of page tokens is derived from it */
    struct gw_access_log *access_log; /* NULL: none */
    struct mig_service *backups;
    const struct mig_datadir *datadir; /* outlives the API */
};

enum err gw_api_open(const struct gw_api_options *options, struct gw_api **out,
                     struct errbuf *eb) MUST_CHECK;
/* Closes the API; loops must be stopped. */
void gw_api_close(struct gw_api *api);
/* Makes /readyz report not ready. */
void gw_api_drain(struct gw_api *api);

/* For struct gw_loop_options; user is the gw_api. */
enum err gw_api_thread_begin(struct gw_loop *loop, void *user, void **out_thread_state) MUST_CHECK;
void gw_api_thread_end(struct gw_loop *loop, void *thread_state);
void gw_api_on_request(struct gw_exchange *ex, void *thread_state);
void gw_api_tick(void *thread_state, uint64_t now_ns);

#endif
