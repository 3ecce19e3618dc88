/*
 * base/sealed_line.c - Ed25519 over a line of JSON, found without a parser of JSON.
 *
 * 1. In JSON a quote within a text is escaped, and the closing quote of a value is never followed
 *    by a colon. So "name":" can only be a member of that name.
 */
#define _GNU_SOURCE

#include "base/sealed_line.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/sha.h>
#include <stdio.h>

#include "base/text.h"

#include "base/banned.h"

#define NAME_MAX_BYTES 32

/* --- finding and hashing ---------------------------------------------------------------------- */

struct base_audit_hash base_line_hash(struct slice line)
{
    struct base_audit_hash h;
    const uint8_t *done = SHA256(line.ptr, line.len, h.bytes);
    INVARIANT(done != NULL);
    return h;
}

static struct slice find(struct slice in, struct slice what)
{
    const uint8_t *at = in.len == 0 ? NULL : memmem(in.ptr, in.len, what.ptr, what.len);
    return at == NULL ? SLICE_EMPTY : base_slice(at, (size_t)(in.ptr + in.len - at));
}

enum err base_line_text(struct slice line, const char *name, struct slice *out)
{
    char head[NAME_MAX_BYTES + 8];
    int len = snprintf(head, sizeof head, "\"%.*s\":\"", NAME_MAX_BYTES, name);
    struct slice what = base_slice(head, (size_t)len);
    struct slice found = find(line, what);
    if (found.ptr == NULL)
        return ERR_INVALID;
    struct slice text = base_slice_skip(found, what.len);
    if (find(text, what).ptr != NULL)
        return ERR_INVALID;
    const uint8_t *end = text.len == 0 ? NULL : memchr(text.ptr, '"', text.len);
    if (end == NULL)
        return ERR_INVALID;
    text.len = (size_t)(end - text.ptr);
    if (text.len > 0 && memchr(text.ptr, '\\', text.len) != NULL)
        return ERR_INVALID;
    *out = text;
    return ERR_OK;
}

/* --- keys ------------------------------------------------------------------------------------- */

static enum err broken(struct errbuf *eb)
{
    return base_fail(eb, ERR_IO, "OpenSSL cannot do Ed25519");
}

enum err base_seal_key_make(EVP_PKEY **out, struct errbuf *eb)
{
    *out = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    return *out == NULL ? broken(eb) : ERR_OK;
}

/* Refuses to ask for a passphrase. */
static int no_passphrase(char *buf, int size, int is_writing, void *ctx)
{
    (void)buf;
    (void)size;
    (void)is_writing;
    (void)ctx;
    return -1;
}

static enum err read_pem(struct slice pem, bool is_public, EVP_PKEY **out, struct errbuf *eb)
{
    EVP_PKEY *key = NULL;
    BIO *bio =
        pem.len == 0 || pem.len > BASE_SEAL_PEM_MAX ? NULL : BIO_new_mem_buf(pem.ptr, (int)pem.len);
    if (bio != NULL)
        key = is_public ? PEM_read_bio_PUBKEY(bio, NULL, no_passphrase, NULL)
                        : PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL);
    (void)BIO_free(bio); /* it is memory */
    if (key != NULL && EVP_PKEY_get_id(key) == EVP_PKEY_ED25519) {
        *out = key;
        return ERR_OK;
    }
    EVP_PKEY_free(key);
    return base_fail(eb, ERR_INVALID, "this is no Ed25519 %s key in PEM",
                     is_public ? "public" : "private");
}

enum err base_seal_key_read(struct slice pem, EVP_PKEY **out, struct errbuf *eb)
{
    return read_pem(pem, false, out, eb);
}

enum err base_seal_public_read(struct slice pem, EVP_PKEY **out, struct errbuf *eb)
{
    return read_pem(pem, true, out, eb);
}

static enum err write_pem(EVP_PKEY *key, bool is_public, struct buf *out, struct errbuf *eb)
{
    BIO *bio = BIO_new(BIO_s_secmem());
    char *bytes = NULL;
    int done = 0;
    if (bio != NULL)
        done = is_public ? PEM_write_bio_PUBKEY(bio, key)
                         : PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL);
    long len = done == 1 ? BIO_get_mem_data(bio, &bytes) : 0;
    enum err rc = len > 0 ? base_buf_append(out, base_slice(bytes, (size_t)len)) : broken(eb);
    (void)BIO_free(bio); /* it is memory */
    return rc;
}

enum err base_seal_key_write(EVP_PKEY *key, struct buf *out, struct errbuf *eb)
{
    return write_pem(key, false, out, eb);
}

enum err base_seal_public_write(EVP_PKEY *key, struct buf *out, struct errbuf *eb)
{
    return write_pem(key, true, out, eb);
}

enum err base_seal_public_bytes(EVP_PKEY *key, uint8_t out[BASE_SEAL_KEY], struct errbuf *eb)
{
    size_t len = BASE_SEAL_KEY;
    if (EVP_PKEY_get_raw_public_key(key, out, &len) != 1 || len != BASE_SEAL_KEY)
        return broken(eb);
    return ERR_OK;
}

enum err base_seal_public_decode(struct slice base64, EVP_PKEY **out)
{
    struct buf bytes;
    base_buf_init(&bytes, BASE_SEAL_KEY + 3);
    enum err rc = base_base64_decode(base64, &bytes);
    *out = rc == ERR_OK && bytes.len == BASE_SEAL_KEY
               ? EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, bytes.ptr, bytes.len)
               : NULL;
    base_buf_fini(&bytes);
    return *out == NULL ? ERR_INVALID : ERR_OK;
}

void base_seal_key_free(EVP_PKEY *key)
{
    EVP_PKEY_free(key);
}

/* --- lines ------------------------------------------------------------------------------------ */

enum err base_seal_sign(EVP_PKEY *key, struct slice unsealed, uint8_t out[BASE_SEAL_SIGNATURE],
                        struct errbuf *eb)
{
    size_t len = BASE_SEAL_SIGNATURE;
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    bool done = ctx != NULL && EVP_DigestSignInit(ctx, NULL, NULL, NULL, key) == 1 &&
                EVP_DigestSign(ctx, out, &len, unsealed.ptr, unsealed.len) == 1 &&
                len == BASE_SEAL_SIGNATURE;
    EVP_MD_CTX_free(ctx);
    return done ? ERR_OK : broken(eb);
}

/* Restores the line as it was before it was signed. */
static enum err unseal(struct slice line, struct slice signature, struct buf *out)
{
    struct slice name = SLICE_LIT("\"signature\":\"");
    const uint8_t *begin = signature.ptr - name.len;
    const uint8_t *behind = signature.ptr + signature.len + 1;
    const uint8_t *end = line.ptr + line.len;
    if (behind == end || *behind != ',') /* names are sorted: other members follow */
        return ERR_INVALID;
    behind++;
    enum err rc = base_buf_append(out, base_slice(line.ptr, (size_t)(begin - line.ptr)));
    return rc == ERR_OK ? base_buf_append(out, base_slice(behind, (size_t)(end - behind))) : rc;
}

static bool is_signed_by(EVP_PKEY *key, struct slice unsealed, struct slice signature)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    bool good =
        ctx != NULL && EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, key) == 1 &&
        EVP_DigestVerify(ctx, signature.ptr, signature.len, unsealed.ptr, unsealed.len) == 1;
    EVP_MD_CTX_free(ctx);
    return good;
}

enum err base_seal_check(EVP_PKEY *key, struct slice line, struct errbuf *eb)
{
    struct slice text;
    struct buf signature;
    struct buf unsealed;
    base_buf_init(&signature, BASE_SEAL_SIGNATURE + 3);
    base_buf_init(&unsealed, line.len + 1);
    enum err rc = base_line_text(line, "signature", &text);
    if (rc == ERR_OK)
        rc = base_base64_decode(text, &signature);
    if (rc == ERR_OK)
        rc = signature.len == BASE_SEAL_SIGNATURE ? unseal(line, text, &unsealed) : ERR_INVALID;
    if (rc != ERR_OK)
        rc = base_fail(eb, rc == ERR_NO_MEMORY ? rc : ERR_INVALID, "the line is not signed");
    else if (!is_signed_by(key, base_buf_slice(&unsealed), base_buf_slice(&signature)))
        rc = base_fail(eb, ERR_FORBIDDEN,
                       "the signature is not by this key, or the line was changed since");
    base_buf_fini(&signature);
    base_buf_fini(&unsealed);
    return rc;
}

enum err base_line_follow(struct base_audit_hash *head, struct slice line, struct errbuf *eb)
{
    struct slice text;
    struct base_audit_hash previous;
    if (base_line_text(line, "previous", &text) != ERR_OK ||
        base_audit_unhex(text, &previous) != ERR_OK)
        return base_fail(eb, ERR_INVALID, "the line does not say which one is before it");
    if (memcmp(previous.bytes, head->bytes, sizeof previous.bytes) != 0)
        return base_fail(eb, ERR_CONFLICT, "the line does not follow the one before it");
    *head = base_line_hash(line);
    return ERR_OK;
}
