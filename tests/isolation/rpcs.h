/*
 * tests/isolation/rpcs.h - requests for every gRPC method, made of the method table.
 *
 * Does:     make a method's requests, of one table of forms.
 * Owns:     nothing.
 * May use:  base/, gateway/grpc/method.h, tests/isolation/, libcheck.
 * Knows no: servers.
 * Threads:  one.
 * Blocks:   no.
 * Fails by: ck_abort_msg for a method without a form, or with a field of text that no form sets.
 * Limits:   RPCS_MAX of a method.
 * Promises: 1. A method that is not in rpcs.c ends the suite.
 */
#ifndef TESTS_ISOLATION_RPCS_H
#define TESTS_ISOLATION_RPCS_H

#include "base/arena.h"
#include "gateway/grpc/method.h"
#include "tests/isolation/names.h"

#define RPCS_MAX 128

/* Where a neighbour is named; what is not set is the caller's own. */
enum rpc_way {
    RPC_PROJECT = 1, /* the project of the name */
    RPC_NAME = 2,    /* the table or view of it */
    RPC_BODY = 4,    /* whatever else names something */
    RPC_ODD = 8      /* metadata that means a tenant elsewhere */
};

struct rpc {
    const struct gw_method *method;
    unsigned ways;
    const char *form; /* see message.h; "" of a method that is not there */
    bool watches;     /* it does not end by itself */
    bool moves;       /* its messages have times in them */
};

/* Begins with those that name nobody else. */
size_t rpcs_of(const struct gw_method *method, struct rpc out[RPCS_MAX]);
/* "/service/method", and the message, in the arena. */
const char *rpc_path(const struct rpc *r);
const ProtobufCMessage *rpc_message(const struct rpc *r, const struct names *own,
                                    const struct names *foreign, struct arena *arena);
/* For messages. In static memory. */
const char *rpc_name(const struct rpc *r);

#endif
