/*
 * tests/support/world.h - the fixture of most tests: a server, an operator, tenants.
 *
 * Does:     share one server among the tests of a TCase; create a tenant with a key and a table;
 *           create keys, tables, quotas; read usage; wait for jobs.
 * Owns:     the shared server; the clients of a world until world_fini.
 * May use:  tests/support/, libcheck.
 * Knows no: the tests.
 * Threads:  one.
 * Blocks:   for answers.
 * Fails by: ck_abort_msg.
 * Limits:   none.
 * Promises: 1. Every world has its own tenant: tests cannot disturb each other.
 */
#ifndef TESTS_SUPPORT_WORLD_H
#define TESTS_SUPPORT_WORLD_H

#include <check.h>

#include "tests/support/http.h"

#define WORLD_ID  64
#define WORLD_KEY 128

/* Share one server among all tests of a TCase. Call begin before and end after the TCase's tests:
 * end adds a test that stops the server and requires exit code 0, so that a sanitizer's report is a
 * failure. */
void world_begin(TCase *tc);
void world_end(TCase *tc);
const struct server *world_server(void);

struct world {
    char tenant[WORLD_ID];
    char key[WORLD_KEY];
    struct http *op;   /* the operator */
    struct http *http; /* the tenant */
};

/* Creates a tenant with a full key, and the table "devices" with the families "stats" and "raw",
 * both without gc. version: both clients' version of HTTP. */
void world_init(struct world *w, enum http_version version);
/* Does the same for a given ID on a given server. */
void world_init_on(struct world *w, const struct server *s, enum http_version version,
                   const char *tenant);
void world_fini(struct world *w);

/* Outputs a new unique tenant ID. */
void world_fresh_id(char out[WORLD_ID]);

/* --- with an operator's client ---------------------------------------------------------------- */

void admin_create_tenant(struct http *op, const char *id);
/* Creates a key. scopes: JSON list with ' for ", or NULL for all. */
void admin_create_key(struct http *op, const char *tenant, const char *scopes,
                      char out_key[WORLD_KEY], char out_id[WORLD_ID]);
/* Creates a key of kind "service" or "operator". */
void admin_create_global_key(struct http *op, const char *kind, char out_key[WORLD_KEY],
                             char out_id[WORLD_ID]);
void admin_set_quota(struct http *op, const char *tenant, const char *json);
/* Starts offboarding and waits until the job is done; its document is the last answer of op. */
void admin_offboard(struct http *op, const char *tenant);
/* Waits until a job has ended, which must be in the state done; its document is the last answer. */
void admin_await_job(struct http *op, const char *job);

/* Requests the target until the state at path is none of creating, waiting and running;
 * returns the state. */
const char *admin_await_end(struct http *op, const char *path, const char *target, ...)
    __attribute__((format(printf, 3, 4)));

struct usage {
    int64_t bytes;
    int64_t rows;
    int64_t cells;
};
/* Recounts; counters and recount must agree, with drift 0 in every number. Returns the counters. */
struct usage admin_recount(struct http *op, const char *tenant);

/* --- with a tenant's client --------------------------------------------------------------------
 */

struct usage tenant_usage(struct http *h);
/* Writes one text cell at the server's time; expects success. */
void tenant_put(struct http *h, const char *table, const char *key, const char *family,
                const char *qualifier, const char *value);

#define EXPECT_USAGE(u, wanted_bytes, wanted_rows, wanted_cells)                                   \
    do {                                                                                           \
        struct usage usage_ = (u);                                                                 \
        ck_assert_int_eq(usage_.bytes, (wanted_bytes));                                            \
        ck_assert_int_eq(usage_.rows, (wanted_rows));                                              \
        ck_assert_int_eq(usage_.cells, (wanted_cells));                                            \
    } while (0)

#endif
