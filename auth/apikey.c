/*
 * auth/apikey.c - the text of a key: kind, ID, secret, checksum.
 *
 * Every part has a fixed width, so parsing a text needs no search. The checksum is CRC-32 written
 * as six Base62 digits, most significant first; any single wrong character changes it.
 *
 * 1. Random characters are drawn without bias: bytes of 248 and above are drawn again.
 * 2. No copy of a secret stays on the stack.
 */
#include "auth/apikey.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <sys/random.h>
#include <zlib.h>

#include "base/text.h"

#include "base/banned.h"

#define PREFIX_CHARS   4
#define CHECKED_CHARS  (PREFIX_CHARS + AUTH_KEY_ID + AUTH_KEY_SECRET)
#define UNBIASED_BYTES (256 - 256 % 62)

static const struct {
    enum auth_kind kind;
    const char *name;
    const char *prefix;
} KINDS[] = {
    {AUTH_TENANT, "tenant", "btt_"},
    {AUTH_SERVICE, "service", "bts_"},
    {AUTH_OPERATOR, "operator", "bto_"},
};

#define KIND_COUNT (sizeof KINDS / sizeof KINDS[0])

const char *auth_kind_name(enum auth_kind k)
{
    for (size_t i = 0; i < KIND_COUNT; i++)
        if (KINDS[i].kind == k)
            return KINDS[i].name;
    return "unknown";
}

static void put_checksum(const char *text, char out[AUTH_KEY_CHECKSUM])
{
    uint32_t sum = (uint32_t)crc32(0, (const Bytef *)text, CHECKED_CHARS);
    for (size_t i = AUTH_KEY_CHECKSUM; i-- > 0; sum /= 62)
        out[i] = BASE_BASE62_DIGITS[sum % 62];
}

static enum err fill_random(uint8_t *out, size_t bytes)
{
    ssize_t n;
    do {
        n = getrandom(out, bytes, 0);
    } while (n < 0 && errno == EINTR);
    return n == (ssize_t)bytes ? ERR_OK : ERR_IO; /* requests of up to 256 bytes are returned
                                                   * whole */
}

static enum err put_random_digits(char *out, size_t count)
{
    uint8_t bytes[64];
    enum err rc = ERR_OK;
    size_t done = 0;
    while (rc == ERR_OK && done < count) {
        rc = fill_random(bytes, sizeof bytes);
        for (size_t i = 0; rc == ERR_OK && i < sizeof bytes && done < count; i++)
            if (bytes[i] < UNBIASED_BYTES)
                out[done++] = BASE_BASE62_DIGITS[bytes[i] % 62];
    }
    OPENSSL_cleanse(bytes, sizeof bytes);
    return rc;
}

enum err auth_key_generate(enum auth_kind kind, char out[AUTH_KEY_TEXT + 1])
{
    size_t k = 0;
    while (k < KIND_COUNT && KINDS[k].kind != kind)
        k++;
    INVARIANT(k < KIND_COUNT);
    memcpy(out, KINDS[k].prefix, PREFIX_CHARS);
    enum err rc = put_random_digits(out + PREFIX_CHARS, AUTH_KEY_ID + AUTH_KEY_SECRET);
    if (rc != ERR_OK) {
        OPENSSL_cleanse(out, AUTH_KEY_TEXT + 1);
        return rc;
    }
    put_checksum(out, out + CHECKED_CHARS);
    out[AUTH_KEY_TEXT] = '\0';
    return ERR_OK;
}

static bool is_base62(uint8_t c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

enum err auth_key_parse(struct slice text, struct auth_key_parts *out)
{
    if (text.len != AUTH_KEY_TEXT)
        return ERR_INVALID;
    size_t k = 0;
    while (k < KIND_COUNT && memcmp(text.ptr, KINDS[k].prefix, PREFIX_CHARS) != 0)
        k++;
    if (k == KIND_COUNT)
        return ERR_INVALID;
    for (size_t i = PREFIX_CHARS; i < AUTH_KEY_TEXT; i++)
        if (!is_base62(text.ptr[i]))
            return ERR_INVALID;
    char checksum[AUTH_KEY_CHECKSUM];
    put_checksum((const char *)text.ptr, checksum);
    if (memcmp(text.ptr + CHECKED_CHARS, checksum, AUTH_KEY_CHECKSUM) != 0)
        return ERR_INVALID;
    out->kind = KINDS[k].kind;
    out->id = base_slice(text.ptr + PREFIX_CHARS, AUTH_KEY_ID);
    out->secret = base_slice(text.ptr + PREFIX_CHARS + AUTH_KEY_ID, AUTH_KEY_SECRET);
    return ERR_OK;
}
