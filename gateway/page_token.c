/*
 * gateway/page_token.c - tokens that continue a list, accepted only by their own query.
 *
 * Mechanism: the mac is computed over a text in which every part is preceded by its length, so that
 * no two different lists of parts have the same text.
 */
#include "gateway/page_token.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/limits.h"
#include "base/text.h"

#include "base/banned.h"

#define MAC_BYTES   16
#define TOKEN_BYTES (MAC_BYTES + LIM_ROW_KEY)
#define TEXT_MAX    ((GW_PAGE_PARTS + 1) * (8 + LIM_ROW_KEY))

static enum err hmac(struct slice key, struct slice text, uint8_t out[EVP_MAX_MD_SIZE])
{
    unsigned int len = 0;
    if (HMAC(EVP_sha256(), key.ptr, (int)key.len, text.ptr, text.len, out, &len) == NULL)
        return ERR_NO_MEMORY;
    return ERR_OK;
}

enum err gw_page_key_derive(struct slice secret, struct gw_page_key *out)
{
    uint8_t mac[EVP_MAX_MD_SIZE];
    enum err e = hmac(secret, SLICE_LIT("bigtent page token 1"), mac);
    if (e == ERR_OK)
        memcpy(out->bytes, mac, GW_PAGE_KEY_BYTES);
    OPENSSL_cleanse(mac, sizeof mac);
    return e;
}

static void put_part(struct buf *text, struct slice part)
{
    uint64_t len = part.len;
    (void)base_buf_append(text, base_slice(&len, sizeof len)); /* both latch */
    (void)base_buf_append(text, part);
}

static enum err mac_of(const struct gw_page_key *key, const struct gw_page_context *context,
                       struct slice last_key, uint8_t out[EVP_MAX_MD_SIZE])
{
    INVARIANT(context->count <= GW_PAGE_PARTS);
    struct buf text;
    base_buf_init(&text, TEXT_MAX);
    for (size_t i = 0; i < context->count; i++)
        put_part(&text, context->parts[i]);
    put_part(&text, last_key);
    enum err e = text.error;
    if (e == ERR_OK)
        e = hmac(base_slice(key->bytes, sizeof key->bytes), base_buf_slice(&text), out);
    base_buf_fini(&text);
    return e;
}

enum err gw_page_token_make(const struct gw_page_key *key, const struct gw_page_context *context,
                            struct slice last_key, struct buf *out)
{
    uint8_t mac[EVP_MAX_MD_SIZE];
    enum err e = mac_of(key, context, last_key, mac);
    if (e != ERR_OK)
        return e;
    struct buf token;
    base_buf_init(&token, TOKEN_BYTES);
    (void)base_buf_append(&token, base_slice(mac, MAC_BYTES)); /* both latch */
    (void)base_buf_append(&token, last_key);
    e = token.error == ERR_OK ? base_base64url_encode(base_buf_slice(&token), out) : token.error;
    base_buf_fini(&token);
    return e;
}

/* Verifies bytes, which are mac and last key, and appends the last key. */
static enum err check_token(const struct gw_page_key *key, const struct gw_page_context *context,
                            struct slice bytes, struct buf *out)
{
    uint8_t mac[EVP_MAX_MD_SIZE];
    if (bytes.len < MAC_BYTES)
        return ERR_INVALID;
    struct slice last_key = base_slice_skip(bytes, MAC_BYTES);
    enum err e = mac_of(key, context, last_key, mac);
    if (e != ERR_OK)
        return e;
    if (CRYPTO_memcmp(mac, bytes.ptr, MAC_BYTES) != 0)
        return ERR_INVALID;
    return base_buf_append(out, last_key);
}

enum err gw_page_token_open(const struct gw_page_key *key, const struct gw_page_context *context,
                            struct slice token, struct buf *out, struct errbuf *eb)
{
    struct buf bytes;
    base_buf_init(&bytes, TOKEN_BYTES);
    enum err e = base_base64url_decode(token, &bytes);
    if (e == ERR_OK)
        e = check_token(key, context, base_buf_slice(&bytes), out);
    base_buf_fini(&bytes);
    if (e == ERR_NO_MEMORY)
        return base_fail(eb, e, "out of memory while checking page_token");
    if (e != ERR_OK)
        return base_fail(eb, ERR_INVALID,
                         "page_token does not belong to this query; start again without it");
    return ERR_OK;
}
