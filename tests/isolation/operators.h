/*
 * tests/isolation/operators.h - every kind of operator key.
 *
 * Does:     make one on the server of the neighbours.
 * May use:  tests/isolation/, tests/support/, libcheck.
 * Knows no: routes, methods.
 * Threads:  one.
 * Blocks:   for answers.
 * Fails by: ck_abort_msg.
 */
#ifndef TESTS_ISOLATION_OPERATORS_H
#define TESTS_ISOLATION_OPERATORS_H

#include <check.h>
#include <stdio.h>

#include "auth/scopes.h"
#include "tests/isolation/neighbours.h"

static const struct {
    const char *what;
    const char *body;
    uint64_t scopes; /* that it must turn out to have */
} OPERATORS[] = {
    {"ops.read", "{'kind':'operator','scopes':['ops.read']}", AUTH_OPS_READ},
    {"admin.read", "{'kind':'operator','scopes':['admin.read']}", AUTH_ADMIN_READ | AUTH_OPS_READ},
    {"admin.read and ops.read", "{'kind':'operator','scopes':['admin.read','ops.read']}",
     AUTH_ADMIN_READ | AUTH_OPS_READ},
    {"admin.write", "{'kind':'operator','scopes':['admin.write']}", AUTH_ADMIN_WRITE},
};
#define OPERATOR_COUNT (sizeof OPERATORS / sizeof OPERATORS[0])

static inline void operator_make(struct neighbours *n, size_t which, char out[WORLD_KEY])
{
    http_json(n->op, "POST", OPERATORS[which].body, "/v1/admin/keys");
    EXPECT_STATUS(n->op, 201);
    (void)snprintf(out, WORLD_KEY, "%s", http_string(n->op, "/key"));
}

#endif
