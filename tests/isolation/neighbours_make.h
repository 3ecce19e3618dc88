/*
 * tests/isolation/neighbours_make.h - how the tenants of neighbours.h are made.
 *
 * Does:     make acme-zebra; make views and backups, and take tokens, of any tenant.
 * Owns:     nothing.
 * May use:  tests/isolation/, tests/support/, libcheck.
 * Knows no: routes, methods.
 * Threads:  one.
 * Blocks:   for answers.
 * Fails by: ck_abort_msg.
 * Limits:   none.
 * Promises: 1. THEIR_BYTES and THEIR_ROWS are exact.
 */
#ifndef TESTS_ISOLATION_NEIGHBOURS_MAKE_H
#define TESTS_ISOLATION_NEIGHBOURS_MAKE_H

#include "tests/isolation/neighbours.h"

/* The tenant, its plan, keys, tables and rows. */
void neighbours_make_theirs(struct neighbours *n);
/* Two views of the table that is named; then one of each token, into names. */
void neighbours_make_views(struct neighbours *n, const char *key, const struct names *names);
/* The answer, which must be a success. */
const struct grpc_call *neighbours_ask(struct grpc_client *c, const struct names *names,
                                       const char *path, const ProtobufCMessageDescriptor *type,
                                       const char *form);
/* Two backups of the table that is named, and the operation of the first, into names, if they are
 * not there; nothing is under way then. */
void neighbours_put_backups(struct grpc_client *c, struct names *names);
/* The same, and no other backups. */
void neighbours_renew_backups(struct neighbours *n, const char *key, struct names *names);
void neighbours_take_tokens(struct neighbours *n, struct http *h, const char *key,
                            struct names *names);

#endif
