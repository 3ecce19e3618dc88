/*
 * gateway/grpc/features.h - the features that a client declares.
 *
 * Does:     reads the header bigtable-features: FeatureFlags in base64url.
 * Owns:     nothing; the message is in the arena.
 * May use:  base/, gateway/exchange.h, gateway/grpc/decode.h.
 * Knows no: use of the flags.
 * Threads:  the loop of the exchange.
 * Blocks:   no.
 * Fails by: does not fail; an unreadable header declares nothing.
 * Limits:   the arena's.
 * Promises: 1. Returns NULL exactly when the client declared nothing that can be read.
 */
#ifndef GATEWAY_GRPC_FEATURES_H
#define GATEWAY_GRPC_FEATURES_H

#include <google/bigtable/v2/feature_flags.pb-c.h>

#include "base/arena.h"
#include "gateway/exchange.h"

const Bt__FeatureFlags *gw_features_of(const struct gw_exchange *ex, struct arena *arena);

#endif
