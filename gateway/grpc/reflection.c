/*
 * gateway/grpc/reflection.c - grpc.reflection: the services that this server offers.
 *
 * A file is returned together with the files it needs, but each of those once per stream, as other
 * servers do: a client that requests every file gets each import once.
 */
#include <grpc/reflection/v1/reflection.pb-c.h>

#include "gateway/grpc/descriptors.h"
#include "gateway/grpc/handlers.h"

#include "base/banned.h"

#define SERVICES_MAX 16

struct reflection {
    uint64_t told; /* bit n: file n */
};

static const Refl__ServerReflectionRequest *request_of(const struct gw_call *call)
{
    return (const Refl__ServerReflectionRequest *)gw_rpc(call)->request;
}

static void answer(struct gw_call *call, Refl__ServerReflectionResponse *reply)
{
    const Refl__ServerReflectionRequest *request = request_of(call);
    reply->valid_host = request->host;
    reply->original_request = (Refl__ServerReflectionRequest *)(uintptr_t)request; /* only read */
    gw_rpc_send(call, &reply->base);
}

static void answer_error(struct gw_call *call, enum gw_status_code code, const char *text)
{
    Refl__ServerReflectionResponse reply = REFL__SERVER_REFLECTION_RESPONSE__INIT;
    Refl__ErrorResponse error = REFL__ERROR_RESPONSE__INIT;
    error.error_code = (int32_t)code;
    error.error_message = (char *)(uintptr_t)text; /* only read */
    reply.message_response_case = REFL__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_ERROR_RESPONSE;
    reply.error_response = &error;
    answer(call, &reply);
}

/* --- files -------------------------------------------------------------------------------------
 */

static void answer_file(struct gw_call *call, const struct gw_descriptor_file *asked)
{
    const struct gw_descriptors *d = call->api->descriptors;
    struct reflection *r = call->state;
    ProtobufCBinaryData files[GW_DESCRIPTOR_FILES];
    Refl__ServerReflectionResponse reply = REFL__SERVER_REFLECTION_RESPONSE__INIT;
    Refl__FileDescriptorResponse list = REFL__FILE_DESCRIPTOR_RESPONSE__INIT;
    if (asked == NULL) {
        answer_error(call, GW_STATUS_NOT_FOUND, "this server does not have that file or symbol");
        return;
    }
    list.file_descriptor_proto = files;
    for (size_t i = 0; i < gw_descriptors_count(d); i++) {
        const struct gw_descriptor_file *file = gw_descriptors_file(d, i);
        uint64_t bit = UINT64_C(1) << i;
        bool is_wanted = file == asked || ((asked->needs & bit) != 0 && (r->told & bit) == 0);
        if (!is_wanted)
            continue;
        r->told |= bit;
        files[list.n_file_descriptor_proto++] = (ProtobufCBinaryData){
            .data = (uint8_t *)(uintptr_t)file->bytes.ptr, .len = file->bytes.len}; /* only read */
    }
    reply.message_response_case =
        REFL__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_FILE_DESCRIPTOR_RESPONSE;
    reply.file_descriptor_response = &list;
    answer(call, &reply);
}

/* --- services ----------------------------------------------------------------------------------
 */

static bool is_listed(const Refl__ListServiceResponse *list, const char *name)
{
    for (size_t i = 0; i < list->n_service; i++)
        if (strcmp(list->service[i]->name, name) == 0)
            return true;
    return false;
}

static void answer_services(struct gw_call *call)
{
    Refl__ServiceResponse services[SERVICES_MAX];
    Refl__ServiceResponse *pointers[SERVICES_MAX];
    Refl__ServerReflectionResponse reply = REFL__SERVER_REFLECTION_RESPONSE__INIT;
    Refl__ListServiceResponse list = REFL__LIST_SERVICE_RESPONSE__INIT;
    list.service = pointers;
    for (const struct gw_method *m = gw_methods; m->service != NULL; m++) {
        if (m->request == NULL || is_listed(&list, m->service))
            continue;
        INVARIANT(list.n_service < SERVICES_MAX);
        Refl__ServiceResponse *next = &services[list.n_service];
        refl__service_response__init(next);
        next->name = (char *)(uintptr_t)m->service; /* only read */
        pointers[list.n_service++] = next;
    }
    reply.message_response_case =
        REFL__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_LIST_SERVICES_RESPONSE;
    reply.list_services_response = &list;
    answer(call, &reply);
}

/* --- the call ----------------------------------------------------------------------------------
 */

/* Handles each message of the stream. */
void gw_reflection(struct gw_call *call)
{
    const Refl__ServerReflectionRequest *request = request_of(call);
    const struct gw_descriptors *d = call->api->descriptors;
    if (call->state == NULL)
        (void)gw_call_new_state(call, sizeof(struct reflection), NULL); /* sets call->state */
    switch (request->message_request_case) {
    case REFL__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_BY_FILENAME:
        answer_file(call, gw_descriptors_by_name(d, base_slice_text(request->file_by_filename)));
        break;
    case REFL__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_CONTAINING_SYMBOL:
        answer_file(call,
                    gw_descriptors_by_symbol(d, base_slice_text(request->file_containing_symbol)));
        break;
    case REFL__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_LIST_SERVICES:
        answer_services(call);
        break;
    case REFL__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_CONTAINING_EXTENSION:
    case REFL__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_ALL_EXTENSION_NUMBERS_OF_TYPE:
        answer_error(call, GW_STATUS_UNIMPLEMENTED, "this server's messages have no extensions");
        break;
    case REFL__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST__NOT_SET:
    default:
        answer_error(call, GW_STATUS_INVALID_ARGUMENT, "the request asks for nothing");
    }
}
