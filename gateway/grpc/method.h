/*
 * gateway/grpc/method.h - the one table of gRPC methods.
 *
 * Does:     lists for every method its service, name, request type, required scope, the data it
 *           touches, the resource it names, its handler, and a line for the compatibility table.
 * Owns:     nothing; static data.
 * May use:  base/, auth/scopes.h, gateway/, protobuf-c.
 * Knows no: how requests arrive.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   gw_method_request_max.
 * Promises: 1. A method that is not in the table is UNIMPLEMENTED.
 *           2. A handler runs after the caller was checked, the request was decoded, the project it
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
    const ProtobufCMessageDescriptor *request; /* NULL: the method is refused, and doc says why */
    /* If request is NULL: type of requests at the emulator's listener, which serves the method. */
    const ProtobufCMessageDescriptor *plain_request;
    uint64_t scope;                 /* all of these bits; 0: any key */
    enum gw_access access;          /* NONE: no credential needed */
    uint8_t cost;                   /* operations charged when admitted; 0: the handler charges */
    enum gw_resource_kind resource; /* kind of the resource that the request names */
    const char *name_field;         /* the text field of the request with that name */
    const char *view_field;         /* the field with the name of a view instead; NULL: none */
    const char *id_field;           /* of a method on a project: the ID of an instance to create */
    /* Refuses requests before that instance has a tenant; NULL: nothing to check. */
    enum err (*check)(const ProtobufCMessage *request, struct errbuf *eb);
    const char *missing_field; /* a text field that names something not supported: UNIMPLEMENTED */
    bool in_table;
    bool finds;         /* at the emulator's listener: only finds an instance, never creates it */
    bool by_row;        /* passed to gw_caller_check */
    bool takes_large;   /* messages up to GW_RPC_MESSAGE_MAX; others: see gw_method_request_max */
    bool outlives_peer; /* a complete request is finished even if its client disconnects */
    bool client_streaming; /* the handler is called for each message, and the end ends the call */
    bool bare_for_python;  /* its client cannot parse details of a status here */
    enum err refusal;      /* error of a method that is not implemented; ERR_OK: ERR_UNSUPPORTED */
    void (*handler)(struct gw_call *call);
    const char *audit; /* the action it is recorded as; NULL: it changes at most rows */
    const char *doc;
};

/* Ends with an entry whose service is NULL. */
extern const struct gw_method gw_methods[];
extern const size_t gw_method_count;

/* Finds a method by its path, like "/google.bigtable.v2.Bigtable/ReadRows"; NULL: there is no such
 * method. */
const struct gw_method *gw_method_find(struct slice path);
/* Returns the maximum size of a request message, before and after inflating. It is small for
 * methods that need no credential, because any client may call them, and for methods that take no
 * rows, because they need few bytes. */
size_t gw_method_request_max(const struct gw_method *method);
/* Returns whether a service like "google.bigtable.v2.Bigtable" exists. */
bool gw_method_service_is_known(struct slice service);

#endif
