/*
 * gateway/grpc/change_token.h - the position at which a reader continues a change stream.
 *
 * Does:     creates and verifies continuation tokens of one partition of one table's stream.
 * Owns:     nothing.
 * May use:  base/, storage/, gateway/page_token.h.
 * Knows no: messages, calls.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID for a token that was changed, or is of another tenant, table or partition.
 * Limits:   GW_CHANGE_TOKEN_MAX characters.
 * Promises: 1. A token stays valid over restarts, for as long as the stream keeps the changes after
 *              it.
 *           2. A token reveals only times of the tenant's own stream.
 */
#ifndef GATEWAY_GRPC_CHANGE_TOKEN_H
#define GATEWAY_GRPC_CHANGE_TOKEN_H

#include "gateway/page_token.h"
#include "storage/read.h"

#define GW_CHANGE_TOKEN_MAX 64

/* Identity of the stream that tokens belong to; its slices must live as long as it is used. */
struct gw_change_stream_id {
    const struct gw_page_key *key;
    struct slice tenant;
    struct slice table;
    struct sto_row_range partition;
};

struct gw_change_place {
    int64_t since_us;  /* start of the stream */
    int64_t passed_us; /* all changes up to here were emitted */
};

/* Appends a token to out. */
enum err gw_change_token_make(const struct gw_change_stream_id *id,
                              const struct gw_change_place *place, struct buf *out) MUST_CHECK;
enum err gw_change_token_open(const struct gw_change_stream_id *id, struct slice token,
                              struct gw_change_place *out, struct errbuf *eb) MUST_CHECK;

#endif
