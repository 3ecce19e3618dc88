/*
 * tests/hostile/hostile.h - one hostile tenant beside a victim: what a case is and may use.
 *
 * Does:     describes cases; makes the tenant, keys and tables that an attack needs; counts
 *           answers.
 * Owns:     an attack's clients, until attack_fini.
 * May use:  base/, tests/support/, libcheck's header.
 * Knows no: the victim.
 * Threads:  setup, verify and teardown run on the main thread; attack on `threads` threads at once.
 * Blocks:   for answers.
 * Fails by: ck_abort_msg, which ends the round of an attack (guard.h), or the case.
 * Limits:   HOSTILE_THREADS threads of an attack.
 * Promises: 1. An attack uses nothing but a tenant's key, or none; the operator's is for setup and
 *              verify, and for what the operator does during an attack (purge, revocation).
 */
#ifndef TESTS_HOSTILE_HOSTILE_H
#define TESTS_HOSTILE_HOSTILE_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/limits.h"
#include "tests/support/http.h"
#include "tests/support/random.h"

#define HOSTILE_THREADS  8
#define HOSTILE_CODES    600
#define HOSTILE_STATUSES 17
#define HOSTILE_FINDING  192

struct attack;

struct hostile_case {
    const char *name;   /* of the table it uses, too */
    const char *proved; /* one sentence: what this did to a server without defences */
    unsigned threads;
    bool in_own_tenant; /* in the mixture it has a tenant apart: it suspends its tenant */
    void (*setup)(struct attack *a);
    /* One round, until attack_is_over or earlier; it is repeated. */
    void (*attack)(struct attack *a, unsigned thread);
    /* After the last round: false, with what was found, when more than the victim suffered. */
    bool (*verify)(struct attack *a, char finding[HOSTILE_FINDING]);
    void (*teardown)(struct attack *a);
};

/* Each ends with a case without a name. */
extern const struct hostile_case hostile_regex[], hostile_memory[], hostile_connections[],
    hostile_growth[], hostile_control[], hostile_streams[], hostile_writes[], hostile_mixture[];

struct attack {
    const struct hostile_case *kind;
    const struct server *server;
    struct http *op;    /* the operator's, for setup and verify */
    struct http *owner; /* the tenant's with every scope, likewise */
    bool is_short;
    uint64_t seed;
    char tenant[48];
    const char *quota; /* beside its plan */
    char owner_key[128];
    char key[128]; /* what the attack uses: the weakest that allows it */
    char key_id[48];
    char table[48];
    char table_name[192]; /* as gRPC names it */
    uint64_t began_ns;
    _Atomic uint64_t until_ns;
    atomic_ullong codes[HOSTILE_CODES];       /* of HTTP; 0: no answer, connection broken */
    atomic_ullong statuses[HOSTILE_STATUSES]; /* of gRPC */
    atomic_ullong accepted_bytes;             /* for verify */
    atomic_ullong note;                       /* likewise */
    char refusal[160];                        /* grpc-message of the last refusal */
    void *state;                              /* of the case, from setup to teardown */
};

/* The tenant (unless it has one), its owner's key and the key of the attack, its table with family
 * "f". quota, scopes: JSON with ' for "; quota NULL: the plan's alone. row_prefix: NULL: none. */
struct attack_needs {
    const char *quota;
    const char *scopes;
    const char *row_prefix;
    const char *table; /* NULL: {'families':{'f':{}}} */
};
void attack_prepare(struct attack *a, const struct attack_needs *needs);
/* After the setup: what limits new tenants limits this one, and its own quota. */
void attack_limit(struct attack *a);
void attack_fini(struct attack *a);
void attack_suspend(struct attack *a);
/* Write one cell f:q of a row, with the owner's key. */
void attack_put_cell(struct attack *a, const char *row, struct slice value);
/* Write cells f:q0 ... of a row in requests of 1,000 mutations. */
void attack_put_cells(struct attack *a, const char *row, size_t count);
/* len bytes of 'a' and 'b' in an order that does not repeat; the caller frees them. */
uint8_t *attack_noise(size_t len);
/* A client with the key of the attack that waits for at most 10 s. */
struct http *attack_http(struct attack *a, enum http_version version);
/* Send a request, count its answer; the status, 0: none. */
int attack_send(struct attack *a, struct http *h, const char *method, const char *target,
                struct slice body);
bool attack_is_over(const struct attack *a);
/* Sleeps, but not past the end. */
void attack_sleep_ms(const struct attack *a, int ms);
uint64_t attack_answers(const struct attack *a, bool good);

#endif
