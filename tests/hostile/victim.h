/*
 * tests/hostile/victim.h - another tenant, an operator and a health check, at an open-loop rate.
 *
 * Does:     sends small reads, writes, scans and checks over both protocols, each when it is due,
 *           and measures from the moment it was due until its answer.
 * Owns:     its tenant, its connections.
 * May use:  base/, tests/support/, tests/hostile/peer.h, tests/hostile/guard.h.
 * Knows no: attacks.
 * Threads:  victim_run is called by the main thread and starts one thread for each kind of request.
 * Blocks:   victim_run, for as long as it measures and at most VICTIM_PATIENCE_MS more.
 * Fails by: victim_create by ck_abort_msg; requests that fail are counted.
 * Promises: 1. A request that is due and not sent yet counts with the time that it has waited.
 */
#ifndef TESTS_HOSTILE_VICTIM_H
#define TESTS_HOSTILE_VICTIM_H

#include "tests/support/http.h"

#define VICTIM_PATIENCE_MS 10000
#define VICTIM_KINDS       8
#define VICTIM_TENANT      "victim"
#define VICTIM_BYSTANDER   "bystander" /* whom the operator changes */

struct victim {
    const struct server *server;
    char key[128];
};

struct victim_times {
    double p50_ms;
    double p99_ms;
    double worst_ms;
    const char *worst_kind;
    size_t requests;
    size_t errors;
    char first_error[128];
};

/* Makes the tenants and the rows on a new server. */
void victim_create(struct victim *v, const struct server *s, struct http *op);
/* ready: NULL, or called when all connections are open and the clock starts. */
void victim_run(struct victim *v, int ms, void (*ready)(void *user), void *user,
                struct victim_times *out);

#endif
