/*
 * gateway/priority.h - the header `Bigtent-Priority`, which is gRPC's metadata `bigtent-priority`.
 *
 * Does:     reads high, medium or low; no header means medium.
 * Owns:     nothing.
 * May use:  base/, storage/, gateway/exchange.h.
 * Knows no: effect of a priority (storage/fair_queue.h).
 * Threads:  the loop.
 * Blocks:   no.
 * Fails by: ERR_INVALID: another word, or more than one header.
 * Limits:   none.
 * Promises: 1. Requests cannot select background priority: it is reserved for the engine.
 */
#ifndef GATEWAY_PRIORITY_H
#define GATEWAY_PRIORITY_H

#include "gateway/exchange.h"
#include "storage/fair_queue.h"

enum err gw_priority_of(const struct gw_exchange *ex, enum sto_priority *out,
                        struct errbuf *eb) MUST_CHECK;

#endif
