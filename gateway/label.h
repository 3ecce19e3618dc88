/*
 * gateway/label.h - what a route or method is called where requests are counted or listed.
 *
 * Does:     turn the number of a route or method into its name.
 * Owns:     nothing.
 * May use:  gateway/api/routes.h, gateway/grpc/method.h.
 * Knows no: requests.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   GW_LABEL_TEXT.
 * Promises: 1. A name has no byte that JSON or Prometheus would have to escape.
 *           2. It has nothing of a request.
 */
#ifndef GATEWAY_LABEL_H
#define GATEWAY_LABEL_H

#include "gateway/observe.h"

#define GW_LABEL_TEXT 192

const char *gw_protocol_name(enum gw_protocol_id protocol);
/* "GET /v1/tables/{table}", "/google.bigtable.v2.Bigtable/ReadRows"; "none": not known. */
void gw_label_text(enum gw_protocol_id protocol, size_t what, char out[GW_LABEL_TEXT]);

#endif
