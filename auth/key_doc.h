/*
 * auth/key_doc.h - an API key as a stored document.
 *
 * Does:     encodes and decodes the stored part of a key ("k/<key id>", base/record.h).
 * Owns:     nothing.
 * May use:  base/, auth/.
 * Knows no: the secret; only its digest.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_CORRUPT; ERR_UNSUPPORTED for a kind this program does not know.
 * Limits:   AUTH_LABEL_BYTES, LIM_KEY_PREFIX.
 * Promises: 1. decode(encode(x)) = x, except for the document's version, and for tenants, which are
 *              decoded to their IDs.
 */
#ifndef AUTH_KEY_DOC_H
#define AUTH_KEY_DOC_H

#include "auth/keyring.h"
#include "base/buf.h"

#define AUTH_KEY_DOC_MAX (1024 + LIM_TENANTS_PER_KEY * (LIM_TENANT_ID + 8))

/* A decoded document. The key's tenant, list and rates stay NULL; auth_key_allowed_next reads the
 * list. */
struct auth_key_doc {
    struct auth_key key;
    char label[AUTH_LABEL_BYTES + 1];
    struct slice tenant_id; /* points into body; empty for other kinds */
    size_t allowed_count;
};

/* Encodes a key; k->tenant is written as its ID. */
enum err auth_key_encode(const struct auth_key *k, struct buf *out) MUST_CHECK;
/* Decodes a document. *out must not move afterwards: the key's label points into it, and its row
 * prefix into body. Scopes that do not fit the kind are ERR_CORRUPT. */
enum err auth_key_decode(struct slice id, struct slice body, struct auth_key_doc *out) MUST_CHECK;
/* Returns the next tenant ID of the list in a decoded body; false at the end. */
bool auth_key_allowed_next(struct slice *rest, struct slice *out_id);
/* Returns all scopes that a key of this kind may hold. */
uint64_t auth_kind_scopes(enum auth_kind kind);

#endif
