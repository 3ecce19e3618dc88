/*
 * gateway/page_token.h - tokens that continue a list, accepted only by their own query.
 *
 * Does:     creates and verifies base64url(mac | last key); the mac covers everything the list
 *           depends on.
 * Owns:     nothing.
 * May use:  base/, OpenSSL.
 * Knows no: HTTP, tenants' rows.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID for a token that was changed or belongs to another query.
 * Limits:   LIM_ROW_KEY in the last key.
 * Promises: 1. A token is valid for the same purpose, tenant, table and bounds only.
 *           2. HMAC-SHA-256 cut to 16 bytes, compared in constant time.
 */
#ifndef GATEWAY_PAGE_TOKEN_H
#define GATEWAY_PAGE_TOKEN_H

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

#define GW_PAGE_KEY_BYTES 32
#define GW_PAGE_PARTS     16

struct gw_page_key {
    uint8_t bytes[GW_PAGE_KEY_BYTES];
};

/* Everything the list depends on: purpose, tenant, table, bounds; at most GW_PAGE_PARTS. */
struct gw_page_context {
    struct slice parts[GW_PAGE_PARTS];
    size_t count;
};

/* Derives the key of tokens from the server's secret. */
enum err gw_page_key_derive(struct slice secret, struct gw_page_key *out) MUST_CHECK;

/* Appends a token to out. */
enum err gw_page_token_make(const struct gw_page_key *key, const struct gw_page_context *context,
                            struct slice last_key, struct buf *out) MUST_CHECK;
/* Verifies a token and appends its last key to out. */
enum err gw_page_token_open(const struct gw_page_key *key, const struct gw_page_context *context,
                            struct slice token, struct buf *out, struct errbuf *eb) MUST_CHECK;

#endif
