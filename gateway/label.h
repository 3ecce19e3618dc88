/*
 * gateway/label.h - names of routes and methods for counters and lists.
 *
 * Does:     turns the number of a route or method into its name.
 * Owns:     nothing.
 * May use:  gateway/api/routes.h, gateway/grpc/method.h.
 * Knows no: requests.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   GW_LABEL_TEXT.
 * Promises: 1. A name has no byte that JSON or Prometheus would have to escape.
 *           2. A name contains nothing from a request.
 */
#ifndef GATEWAY_LABEL_H
#define GATEWAY_LABEL_H

#include "gateway/observe.h"

#define GW_LABEL_TEXT 192

const char *gw_protocol_name(enum gw_protocol_id protocol);
/* Writes the name: "GET /v1/tables/{table}", "/google.bigtable.v2.Bigtable/ReadRows"; "none":
 * unknown. */
void gw_label_text(enum gw_protocol_id protocol, size_t what, char out[GW_LABEL_TEXT]);

#endif
