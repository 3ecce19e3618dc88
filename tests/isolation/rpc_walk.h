/*
 * tests/isolation/rpc_walk.h - all methods, asked by one caller, over TLS or in plaintext.
 *
 * Does:     send each request of rpcs.h twice, naming a neighbour's and nobody's, and compare.
 * Owns:     its connection.
 * May use:  tests/isolation/, tests/support/, libcheck.
 * Knows no: kinds of keys.
 * Threads:  one.
 * Blocks:   for answers.
 * Fails by: ck_abort_msg.
 * Limits:   none.
 * Promises: 1. The sizes and states of others are looked at after every request, their keys and
 *              trails after every method.
 */
#ifndef TESTS_ISOLATION_RPC_WALK_H
#define TESTS_ISOLATION_RPC_WALK_H

#include "tests/isolation/neighbours.h"
#include "tests/isolation/rpcs.h"

struct rpc_walk {
    struct neighbours *n;
    const char *what; /* the caller */
    const char *key;  /* NULL: none */
    bool is_plain;
    bool is_known;                            /* else what needs a key is UNAUTHENTICATED */
    bool has_left;                            /* its tenant: what it asks for is not looked at */
    bool may_none;                            /* whatever needs a key is PERMISSION_DENIED */
    bool may_all;                             /* every method must succeed with its own names */
    bool (*takes)(const struct gw_method *m); /* NULL: all */
    struct names own;
    struct names nobodys;
    struct http *renew; /* a full key of its tenant */
    const char *renew_key;

    struct grpc_client client;
    struct buf before, trails_before;
};

/* What requests about instances name: only at the emulator's listener. Before the walks. */
void rpc_walk_make_instances(struct rpc_walk *w);
void rpc_walk_own(struct rpc_walk *w);
void rpc_walk_others(struct rpc_walk *w);

#endif
