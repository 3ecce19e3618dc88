/*
 * base/sealed_line.h - the format shared by server and command line of signed lines of JSON,
 *                      each chained to the previous line by its hash.
 *
 * Does:     hashes a line; signs one with Ed25519; checks a signature with only the line and the
 *           public key; finds a member's text; checks that a line follows the previous one.
 * Owns:     the keys it made or read, until they are freed.
 * May use:  base/, OpenSSL.
 * Knows no: the meaning of the lines, where they are stored.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID (no such line, no such key), ERR_FORBIDDEN (signed by another key, or
 *           changed since), ERR_CONFLICT (does not continue the chain), ERR_IO (OpenSSL).
 * Limits:   the caller's; one pass over the line for each call.
 * Promises: 1. The signature covers the line without the one member "signature" and its comma, byte
 *              for byte: every change, addition or removal is detected.
 * Form:     docs/operations.md, for those who check it with a program of their own.
 */
#ifndef BASE_SEALED_LINE_H
#define BASE_SEALED_LINE_H

#include <openssl/types.h>

#include "base/audit_record.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

#define BASE_SEAL_KEY       32 /* bytes of a public key */
#define BASE_SEAL_SIGNATURE 64
#define BASE_SEAL_PEM_MAX   1024

/* Returns the SHA-256 of the line without its line feed. */
struct base_audit_hash base_line_hash(struct slice line);

/* Finds the text between the quotes of the member `name`, which must occur once in the line and
 * have no escapes. ERR_INVALID. */
enum err base_line_text(struct slice line, const char *name, struct slice *out) MUST_CHECK;

/* --- keys: a pair signs, a public key checks; free with base_seal_key_free -------------------- */

enum err base_seal_key_make(EVP_PKEY **out, struct errbuf *eb) MUST_CHECK;
/* Reads a private key from PEM. ERR_INVALID for anything but one Ed25519 key. */
enum err base_seal_key_read(struct slice pem, EVP_PKEY **out, struct errbuf *eb) MUST_CHECK;
enum err base_seal_key_write(EVP_PKEY *key, struct buf *out, struct errbuf *eb) MUST_CHECK;
enum err base_seal_public_read(struct slice pem, EVP_PKEY **out, struct errbuf *eb) MUST_CHECK;
enum err base_seal_public_write(EVP_PKEY *key, struct buf *out, struct errbuf *eb) MUST_CHECK;
enum err base_seal_public_bytes(EVP_PKEY *key, uint8_t out[BASE_SEAL_KEY],
                                struct errbuf *eb) MUST_CHECK;
/* Decodes the member "public_key" of a line: the key's bytes in base64. ERR_INVALID. */
enum err base_seal_public_decode(struct slice base64, EVP_PKEY **out) MUST_CHECK;
void base_seal_key_free(EVP_PKEY *key);

/* --- lines ------------------------------------------------------------------------------------ */

/* Signs a line. unsealed: the line without "signature". */
enum err base_seal_sign(EVP_PKEY *key, struct slice unsealed, uint8_t out[BASE_SEAL_SIGNATURE],
                        struct errbuf *eb) MUST_CHECK;
enum err base_seal_check(EVP_PKEY *key, struct slice line, struct errbuf *eb) MUST_CHECK;

/* Checks that the member "previous" is the hash in head, then sets head to the line's hash. head is
 * all zeros before the first line. */
enum err base_line_follow(struct base_audit_hash *head, struct slice line,
                          struct errbuf *eb) MUST_CHECK;

#endif
