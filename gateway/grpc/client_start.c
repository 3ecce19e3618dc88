/*
 * gateway/grpc/client_start.c - requests that clients send before their first real one.
 *
 * Some clients refuse to start without a response: to PingAndWarm while a channel is opened, to the
 * configuration before the first request.
 */
#include <google/bigtable/v2/bigtable.pb-c.h>

#include "gateway/grpc/handlers.h"

#include "base/banned.h"

void gw_ping_and_warm(struct gw_call *call)
{
    Bt__PingAndWarmResponse reply = BT__PING_AND_WARM_RESPONSE__INIT;
    gw_rpc_reply(call, &reply.base);
}

/* Answers that clients must not use sessions, and need not request the configuration again. */
void gw_get_client_configuration(struct gw_call *call)
{
    Bt__SessionClientConfiguration sessions = BT__SESSION_CLIENT_CONFIGURATION__INIT;
    Bt__ClientConfiguration reply = BT__CLIENT_CONFIGURATION__INIT;
    sessions.session_load = 0;
    reply.session_configuration = &sessions;
    reply.polling_case = BT__CLIENT_CONFIGURATION__POLLING_STOP_POLLING;
    reply.stop_polling = true;
    gw_rpc_reply(call, &reply.base);
}
