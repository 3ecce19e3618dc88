/*
 * gateway/grpc/method.h - the one table of gRPC methods.
 *
 * Does:     say for every method its service, name, request type, needed scope, whose data it
 *           touches, what it names, who handles it, and a line for the compatibility table.
 * Owns:     nothing; static data.
 * May use:  base/, auth/scopes.h, gateway/, protobuf-c.
 * Knows no: how requests arrive.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   gw_method_request_max.
 * Promises: 1. A method that is not in the table is UNIMPLEMENTED.
 *           2. A handler runs when the caller was checked, the request was decoded, the project it
 *              names is the caller's tenant, and (in_table) call->scope is the table's.
 *           3. A handler of a method with view_field does nothing outside rpc->view, when there is
 *              one.
 */
#ifndef GATEWAY_GRPC_METHOD_H
#define GATEWAY_GRPC_METHOD_H

#include <protobuf-c/protobuf-c.h>

#include "base/err.h"
#include "base/slice.h"
#include "gateway/caller.h"
#include "gateway/grpc/resource.h"

struct gw_method {
    const char *service;
    const char *name;
    const ProtobufCMessageDescriptor *request; /* NULL: it is refused, and doc says why */
    const ProtobufCMessageDescriptor
        *plain_request;             /* then: at the emulator's listener it is served,
                                                      * and has requests of that type */
    uint64_t scope;                 /* all of these bits; 0: any key */
    enum gw_access access;          /* NONE: no credential needed */
    uint8_t cost;                   /* operations charged when admitted; 0: the handler charges */
    enum gw_resource_kind resource; /* what the request names */
    const char *name_field;         /* where: a text field of the request */
    const char *view_field;         /* the same for a view instead; NULL: none */
    const char *id_field;           /* of a project's: the ID of an instance to be made */
    /* What is refused before that instance has a tenant; NULL: nothing. */
    enum err (*check)(const ProtobufCMessage *request, struct errbuf *eb);
    const char *missing_field; /* a text field naming what is not here: UNIMPLEMENTED */
    bool in_table;
    bool finds;         /* at the emulator's listener, an instance that is there already */
    bool by_row;        /* as gw_caller_check wants it */
    bool takes_large;   /* messages up to GW_RPC_MESSAGE_MAX; others: see gw_method_request_max */
    bool outlives_peer; /* a complete request is finished even if its client disconnects */
    bool client_streaming; /* the handler is called for each message, and the end ends the call */
    bool bare_for_python;  /* its client cannot take details of a status here */
    enum err refusal;      /* of one that is not there; ERR_OK: ERR_UNSUPPORTED */
    void (*handler)(struct gw_call *call);
    const char *audit; /* the action it is recorded as; NULL: it changes nothing but rows */
    const char *doc;
};

/* Ends with an entry whose service is NULL. */
extern const struct gw_method gw_methods[];
extern const size_t gw_method_count;

/* path: "/google.bigtable.v2.Bigtable/ReadRows"; NULL: there is no such method. */
const struct gw_method *gw_method_find(struct slice path);
/* Bytes of a request message, before and after inflating. Anybody may call what needs no
 * credential, and what takes no rows needs few bytes. */
size_t gw_method_request_max(const struct gw_method *method);
/* "google.bigtable.v2.Bigtable" */
bool gw_method_service_is_known(struct slice service);

#endif
