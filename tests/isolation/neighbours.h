/*
 * tests/isolation/neighbours.h - a tenant that asks, and one who has things to be found.
 *
 * Does:     start a server; make "acme", and "acme-zebra" with a mark in everything that a tenant
 *           can have a name, a size or a count of; tell whether a text shows one of them; tell
 *           whether everything of everybody else is as it was.
 * Owns:     the server and the clients, from neighbours_begin to neighbours_end.
 * May use:  tests/support/, libcheck.
 * Knows no: routes, methods.
 * Threads:  one.
 * Blocks:   for answers.
 * Fails by: ck_abort_msg.
 * Limits:   NEIGHBOUR_SECRETS.
 * Promises: 1. Nothing in theirs or secrets is part of what a server without acme-zebra would say.
 *           2. A secret is never part of a request that this folder sends as somebody else.
 */
#ifndef TESTS_ISOLATION_NEIGHBOURS_H
#define TESTS_ISOLATION_NEIGHBOURS_H

#include "tests/isolation/names.h"
#include "tests/support/grpc_client.h"
#include "tests/support/world.h"

#define NEIGHBOUR_SECRETS 32

#define THEIR_BYTES 1299709 /* a prime each: nobody has as many by chance */
#define THEIR_ROWS  10007

struct neighbours {
    struct server server;
    struct http *op;
    struct http *a;       /* acme, with a full key */
    struct http *b;       /* acme-zebra */
    struct http *between; /* acme-: its keys stand between theirs */
    char a_key[WORLD_KEY];
    char a_id[WORLD_ID]; /* of the key */
    char b_key[WORLD_KEY];
    char gone_key[WORLD_KEY]; /* of a tenant that was purged */
    struct names own;
    struct names theirs;
    struct names nobodys;
    char secrets[NEIGHBOUR_SECRETS][NAME_BYTES];
    size_t secret_count;
    int64_t trail_end; /* the number of the next record, at the last neighbours_look_first */
    size_t log_at;     /* bytes of the server's log that are no answer to anybody here */
};

void neighbours_begin(struct neighbours *n);
/* What requests brought into the log since neighbours_begin must show nothing; then stop. */
void neighbours_end(struct neighbours *n);

/* What a tenant like acme may have spoiled by its own requests: its tables and their rows as at the
 * beginning, of the same description and version. was_named: and of what bears other names there.
 */
void neighbours_renew(struct neighbours *n, struct http *h, bool was_named);
/* The same of its rows alone. */
void neighbours_renew_rows(struct neighbours *n, struct http *h);

/* The first secret in the text, however it is encoded; NULL: there is none. */
const char *neighbours_secret(const struct neighbours *n, struct slice text);
/* The same of their names: for answers to requests that named nobody else. */
const char *neighbours_name(const struct neighbours *n, struct slice text);

/* The same of what no operator may see either: rows, and the secrets of keys. */
const char *neighbours_data(const struct neighbours *n, struct slice text);

/* --- what others have --------------------------------------------------------------------------
 */

/* Counters and state of both others: one request, after each request of a walk. */
void neighbours_look(struct neighbours *n, struct buf *out);
/* Keys, and what both trails have since neighbours_look_first: nothing there can be undone, so a
 * walk looks after all requests of a route or a method. */
void neighbours_look_at_trails(struct neighbours *n, struct buf *out);
/* Both, from the end of the trails as they are now. */
void neighbours_look_first(struct neighbours *n, struct buf *out, struct buf *out_trails);
/* Every table, row and key, and a recount; without the trail, to which refusals are added. */
void neighbours_look_at_things(struct neighbours *n, struct buf *out);
/* All of it, with the whole trails. */
void neighbours_look_closely(struct neighbours *n, struct buf *out);
/* Neither of the two may have changed. */
void neighbours_same(const struct buf *before, const struct buf *after, const char *by);

#endif
