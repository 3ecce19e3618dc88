/*
 * auth/keyring.h - the API keys that exist: checked without a lock, revoked at once.
 *
 * Does:     loads keys, verifies a presented text in constant time, creates, lists, revokes.
 * Owns:     every struct auth_key, the pepper.
 * May use:  base/, storage/, tenancy/, auth/.
 * Knows no: HTTP.
 * Threads:  verify from threads joined to the epoch, each with its own auth_verifier; the rest on
 *           tenancy's control thread.
 * Blocks:   control functions block on the disk.
 * Fails by: ERR_UNAUTHENTICATED (unknown, malformed, revoked: all alike), ERR_NOT_FOUND,
 *           ERR_INVALID, ERR_TOO_BIG (LIM_KEYS_PER_TENANT), ERR_QUOTA (keys of a tenant), ERR_GONE
 *           (a new key for a tenant in offboarding; its existing keys stay valid until revoked).
 * Limits:   LIM_KEYS_PER_TENANT, LIM_TENANTS_PER_KEY, LIM_KEY_PREFIX.
 * Promises: 1. Only HMAC-SHA-256(pepper, secret) is stored.
 *           2. Unknown IDs cost the same HMAC as wrong secrets.
 *           3. A verify that starts after revoke returned fails.
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

/* Immutable except for rates, created_us and doc_version; the last two belong to the control
 * thread. Valid until the thread's next quiescent point. */
struct auth_key {
    char id[AUTH_KEY_ID + 1];
    enum auth_kind kind : 8; /* a bit-field in the padding: saves 16 bytes per tenant */
    uint64_t scopes;
    struct ten_tenant *tenant; /* NULL unless AUTH_TENANT */
    /* Of a service key, sorted by ID; NULL: it acts for all tenants. */
    struct ten_tenant *const *allowed;
    size_t allowed_count;
    const char *label;
    struct slice row_prefix; /* only rows whose keys begin with it; empty: all rows */
    int64_t created_us;      /* 0: stripped, its tenant is offboarded; only ID, digest and tenants
                              * are stored */
    uint64_t doc_version;
    uint8_t digest[32];
    struct auth_limits limits;
    struct ten_key_rates *rates; /* one ref; NULL: no limits */
};

struct auth_keyring;
struct auth_verifier; /* one per thread: prepared HMAC state, cache of verified texts */

enum err auth_keyring_open(struct ten_registry *registry, struct base_epoch *epoch,
                           const uint8_t pepper[AUTH_PEPPER_BYTES], struct auth_keyring **out,
                           struct errbuf *eb) MUST_CHECK;
void auth_keyring_close(struct auth_keyring *k);

enum err auth_verifier_new(struct auth_keyring *k, struct auth_verifier **out) MUST_CHECK;
void auth_verifier_free(struct auth_verifier *v);

/* Reason why a credential is not valid: for counting, never reported to the client. */
enum auth_mismatch {
    AUTH_MATCHES,
    AUTH_MALFORMED,    /* not the text of a key: a typing error, or another service's key */
    AUTH_UNKNOWN,      /* no such key exists; it may have been revoked */
    AUTH_WRONG_SECRET, /* the key exists, but its secret differs */
    AUTH_MISMATCHES
};

/* Returns the result of the last auth_verify. */
enum auth_mismatch auth_verifier_why(const struct auth_verifier *v);

/* Verifies a text and returns its key. Lock-free. */
enum err auth_verify(struct auth_verifier *v, struct slice text,
                     const struct auth_key **out) MUST_CHECK;

/* Returns how many keys were revoked since the keyring was opened. A revocation is counted only
 * after its key no longer verifies. Lock-free. */
uint64_t auth_revocations(const struct auth_verifier *v);
/* Returns the key of this ID, valid like a verified one; NULL: it was revoked. Lock-free. */
const struct auth_key *auth_key_find(const struct auth_verifier *v, const char id[AUTH_KEY_ID + 1]);

/* --- control thread --------------------------------------------------------------------------- */

struct auth_key_wanted {
    enum auth_kind kind;
    struct ten_tenant *tenant; /* NULL unless kind is AUTH_TENANT */
    /* Must fit the kind: tenant and service keys take AUTH_SCOPES_TENANT bits, operator keys
     * AUTH_SCOPES_OPERATOR bits. */
    uint64_t scopes;
    struct slice label;
    /* For a service key: the IDs of the tenants it may act for; NULL: all current and future
     * tenants. */
    const struct slice *allowed;
    size_t allowed_count;
    struct auth_limits limits; /* not for operator keys */
    /* Not for operator keys, nor with AUTH_TABLE_ADMIN; empty: all rows. */
    struct slice row_prefix;
};

/* Creates a key. out_text is shown once. ERR_QUOTA if the tenant has as many keys as its quota
 * allows. */
enum err auth_key_create(struct auth_keyring *k, const struct auth_key_wanted *wanted,
                         char out_text[AUTH_KEY_TEXT + 1], struct errbuf *eb) MUST_CHECK;
enum err auth_key_revoke(struct auth_keyring *k, struct slice id, const struct ten_tenant *tenant,
                         struct errbuf *eb) MUST_CHECK;
/* Returns the keys of one tenant, or service and operator keys if tenant is NULL, in ID order. None
 * for a tenant whose purge has started. */
size_t auth_key_list(struct auth_keyring *k, const struct ten_tenant *tenant,
                     const struct auth_key **out, size_t limit);

/* --- acting tenant ---------------------------------------------------------------------------- */

/* Returns the tenant of a request. Tenant keys: their own; a different name in `named` is
 * ERR_FORBIDDEN. Service keys: `named` is required (ERR_INVALID without), must exist and be on the
 * key's list if it has one; else ERR_FORBIDDEN in both cases. Operator keys: ERR_FORBIDDEN, they
 * have no data scopes. */
enum err auth_acting_tenant(const struct auth_key *key, struct ten_registry *registry,
                            struct slice named, struct ten_tenant **out,
                            struct errbuf *eb) MUST_CHECK;

#endif
