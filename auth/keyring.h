/*
 * auth/keyring.h - the API keys that exist: checked without a lock, revoked at once.
 *
 * Does:     load keys, verify a presented text in constant time, create, list, revoke.
 * Owns:     every struct auth_key, the pepper.
 * May use:  base/, storage/, tenancy/, auth/.
 * Knows no: HTTP.
 * Threads:  verify from threads joined to the epoch, each with its own auth_verifier; the rest on
 *           tenancy's control thread.
 * Blocks:   control functions block on the disk.
 * Fails by: ERR_UNAUTHENTICATED (unknown, malformed, revoked: all alike), ERR_NOT_FOUND,
 *           ERR_INVALID, ERR_TOO_BIG (LIM_KEYS_PER_TENANT), ERR_QUOTA (keys of a tenant), ERR_GONE
 *           (a key for a tenant that is leaving; those it has stay valid until revoked).
 * Limits:   LIM_KEYS_PER_TENANT, LIM_TENANTS_PER_KEY, LIM_KEY_PREFIX.
 * Promises: 1. Only HMAC-SHA-256(pepper, secret) is stored.
 *           2. Unknown IDs cost the same HMAC as wrong secrets.
 *           3. A verify that begins after revoke returned fails.
 * Stored:   "k/<key id>" (base/record.h).
 */
#ifndef AUTH_KEYRING_H
#define AUTH_KEYRING_H

#include "auth/apikey.h"
#include "auth/scopes.h"
#include "tenancy/registry.h"

#define AUTH_PEPPER_BYTES 32
#define AUTH_LABEL_BYTES  LIM_KEY_LABEL

/* 0: no limit. */
struct auth_limits {
    uint64_t read_ops_per_s;
    uint64_t write_ops_per_s;
    uint64_t read_bytes_per_s;
    uint64_t write_bytes_per_s;
};

/* Immutable but for its rates, created_us and doc_version; the last two are the control thread's.
 * Valid until the thread's next quiescent point. */
struct auth_key {
    char id[AUTH_KEY_ID + 1];
    enum auth_kind kind : 8; /* in a hole: a tenant costs 16 bytes less */
    uint64_t scopes;
    struct ten_tenant *tenant; /* NULL unless AUTH_TENANT */
    /* Of a service key, in the order of their IDs; NULL: it acts for all tenants. */
    struct ten_tenant *const *allowed;
    size_t allowed_count;
    const char *label;
    struct slice row_prefix; /* only rows whose keys begin with it; empty: all rows */
    int64_t created_us;      /* 0: of a tenant that is gone; nothing else of it is stored */
    uint64_t doc_version;
    uint8_t digest[32];
    struct auth_limits limits;
    struct ten_key_rates *rates; /* one ref; NULL: no limits */
};

struct auth_keyring;
struct auth_verifier; /* one per thread: prepared HMAC state, texts that were right */

enum err auth_keyring_open(struct ten_registry *registry, struct base_epoch *epoch,
                           const uint8_t pepper[AUTH_PEPPER_BYTES], struct auth_keyring **out,
                           struct errbuf *eb) MUST_CHECK;
void auth_keyring_close(struct auth_keyring *k);

enum err auth_verifier_new(struct auth_keyring *k, struct auth_verifier **out) MUST_CHECK;
void auth_verifier_free(struct auth_verifier *v);

/* Why a credential is not valid: for counting, never for whoever sent it. */
enum auth_mismatch {
    AUTH_MATCHES,
    AUTH_MALFORMED,    /* no text of a key: a typing error, or another service's */
    AUTH_UNKNOWN,      /* there is no such key; it may have been revoked */
    AUTH_WRONG_SECRET, /* there is, but its secret is another */
    AUTH_MISMATCHES
};

/* Of the last auth_verify. */
enum auth_mismatch auth_verifier_why(const struct auth_verifier *v);

/* Lock-free. */
enum err auth_verify(struct auth_verifier *v, struct slice text,
                     const struct auth_key **out) MUST_CHECK;

/* How many keys were revoked so far; one that counts is no more. Lock-free. */
uint64_t auth_revocations(const struct auth_verifier *v);
/* The key of this ID, valid as one that was verified; NULL: it was revoked. Lock-free. */
const struct auth_key *auth_key_find(const struct auth_verifier *v, const char id[AUTH_KEY_ID + 1]);

/* --- control thread --------------------------------------------------------------------------- */

struct auth_key_wanted {
    enum auth_kind kind;
    struct ten_tenant *tenant; /* NULL unless kind is AUTH_TENANT */
    /* Must fit the kind: tenant and service keys take AUTH_SCOPES_TENANT bits, operator keys
     * AUTH_SCOPES_OPERATOR bits. */
    uint64_t scopes;
    struct slice label;
    /* For a service key: the IDs of the tenants it may act for; NULL: all there are and will be. */
    const struct slice *allowed;
    size_t allowed_count;
    struct auth_limits limits; /* not for operator keys */
    /* Not for operator keys, nor with AUTH_TABLE_ADMIN; empty: all rows. */
    struct slice row_prefix;
};

/* out_text is shown once. ERR_QUOTA when the tenant has as many keys as its quota says. */
enum err auth_key_create(struct auth_keyring *k, const struct auth_key_wanted *wanted,
                         char out_text[AUTH_KEY_TEXT + 1], struct errbuf *eb) MUST_CHECK;
enum err auth_key_revoke(struct auth_keyring *k, struct slice id, const struct ten_tenant *tenant,
                         struct errbuf *eb) MUST_CHECK;
/* Keys of one tenant, or service and operator keys when tenant is NULL, in ID order. Of a tenant
 * whose purge has begun: none. */
size_t auth_key_list(struct auth_keyring *k, const struct ten_tenant *tenant,
                     const struct auth_key **out, size_t limit);

/* --- who acts for whom ------------------------------------------------------------------------ */

/* The tenant a request is about. Tenant keys: their own; a different name in `named` is
 * ERR_FORBIDDEN. Service keys: `named` is required (ERR_INVALID without), must exist and be
 * on the key's list if it has one, else ERR_FORBIDDEN, alike. Operator keys: ERR_FORBIDDEN, they
 * have no data scopes. */
enum err auth_acting_tenant(const struct auth_key *key, struct ten_registry *registry,
                            struct slice named, struct ten_tenant **out,
                            struct errbuf *eb) MUST_CHECK;

#endif
