/*
 * gateway/api/openapi_get.c - returns the API's own description, to any client.
 */
#include "gateway/api/handlers.h"
#include "gateway/api/openapi.h"

#include "base/banned.h"

void gw_openapi_get(struct gw_call *call)
{
    const struct gw_openapi *doc = call->api->openapi;
    gw_rest_send_static(call, "application/json", doc->etag, base_buf_slice(&doc->text));
}
