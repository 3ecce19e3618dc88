/*
 * gateway/grpc/features.h - what a client says it understands.
 *
 * Does:     read the header bigtable-features: FeatureFlags in base64url.
 * Owns:     nothing; the message lies in the arena.
 * May use:  base/, gateway/exchange.h, gateway/grpc/decode.h.
 * Knows no: what the flags are good for.
 * Threads:  the loop of the exchange.
 * Blocks:   no.
 * Fails by: does not fail; a header that cannot be read promises nothing.
 * Limits:   the arena's.
 * Promises: 1. NULL exactly when the client said nothing that can be read.
 */
#ifndef GATEWAY_GRPC_FEATURES_H
#define GATEWAY_GRPC_FEATURES_H

#include <google/bigtable/v2/feature_flags.pb-c.h>

#include "base/arena.h"
#include "gateway/exchange.h"

const Bt__FeatureFlags *gw_features_of(const struct gw_exchange *ex, struct arena *arena);

#endif
