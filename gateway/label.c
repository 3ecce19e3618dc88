/*
 * gateway/label.c - names of routes and methods for counters and lists.
 */
#include "gateway/label.h"

#include <stdio.h>

#include "gateway/api/routes.h"
#include "gateway/grpc/method.h"

#include "base/banned.h"

const char *gw_protocol_name(enum gw_protocol_id protocol)
{
    static const char *const names[GW_PROTOCOL_COUNT] = {"json", "grpc"};
    return names[protocol];
}

void gw_label_text(enum gw_protocol_id protocol, size_t what, char out[GW_LABEL_TEXT])
{
    bool is_json = protocol == GW_PROTOCOL_JSON;
    if (what == (is_json ? gw_route_count : gw_method_count))
        (void)snprintf(out, GW_LABEL_TEXT, "none");
    else if (is_json)
        (void)snprintf(out, GW_LABEL_TEXT, "%s %s", gw_routes[what].method,
                       gw_routes[what].pattern);
    else
        (void)snprintf(out, GW_LABEL_TEXT, "/%s/%s", gw_methods[what].service,
                       gw_methods[what].name);
}
