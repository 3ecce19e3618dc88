/*
 * auth/key_doc.h - an API key as a stored document.
 *
 * Does:     encode and decode what is kept of a key ("k/<key id>", base/record.h).
 * Owns:     nothing.
 * May use:  base/, auth/.
 * Knows no: the secret; only its digest.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_CORRUPT; ERR_UNSUPPORTED for a kind this program does not know.
 * Limits:   AUTH_LABEL_BYTES.
 * Promises: 1. decode(encode(x)) = x, but for the document's version and the tenant, which is
 *              given as its ID.
 */
#ifndef AUTH_KEY_DOC_H
#define AUTH_KEY_DOC_H

#include "auth/keyring.h"
#include "base/buf.h"

#define AUTH_KEY_DOC_MAX 1024

/* k->tenant is written by its ID. */
enum err auth_key_encode(const struct auth_key *k, struct buf *out) MUST_CHECK;
/* out->tenant stays NULL; *out_tenant_id points into body and is empty for other kinds. Scopes that
 * do not fit the kind are ERR_CORRUPT. */
enum err auth_key_decode(struct slice id, struct slice body, struct auth_key *out,
                         struct slice *out_tenant_id) MUST_CHECK;
/* What a key of this kind may hold at most. */
uint64_t auth_kind_scopes(enum auth_kind kind);

#endif
