/*
 * tenancy/encryption.c - which tenants have keys, from the first to the last.
 *
 * 1. A tenant is encrypted from its creation or never: values stored in plain would stay so in
 *    every copy.
 * 2. The key is on disk before the tenant is, so a crash between the two leaves a key without a
 *    tenant.
 * 3. A key file is overwritten before it is unlinked: a crash between the two leaves noise, for a
 *    tenant whose purge continues with the unlinking.
 */
#include "tenancy/audit.h"
#include "tenancy/internal.h"

#include "base/banned.h"

enum err ten_ciphers_load(struct ten_registry *r, struct errbuf *eb)
{
    for (size_t i = 0; i < r->tenant_count; i++) {
        struct ten_tenant *t = r->sorted[i];
        if (!ten_tenant_details(t)->is_encrypted)
            continue;
        if (r->keystore == NULL) {
            t->account.cipher = sto_cipher_new(0); /* without keys: encrypts nothing */
            continue;
        }
        enum err rc = ten_keystore_load(r->keystore, ten_tenant_id(t), &t->account.cipher, eb);
        if (rc == ERR_CORRUPT && ten_tenant_state(t) == TEN_PURGING)
            t->account.cipher = sto_cipher_new(0); /* rule 3 */
        else if (rc != ERR_OK && rc != ERR_NOT_FOUND)
            return rc;
    }
    return ERR_OK;
}

enum err ten_cipher_create(struct ten_registry *r, struct slice tenant_id, struct sto_cipher **out,
                           struct errbuf *eb)
{
    uint32_t versions;
    if (r->keystore == NULL)
        return base_fail(eb, ERR_CONFLICT,
                         "this server has no master key, so it cannot encrypt: "
                         "start it with --master-key-file");
    enum err rc = ten_keystore_destroy(r->keystore, tenant_id, &versions, eb);
    return rc == ERR_OK ? ten_keystore_create(r->keystore, tenant_id, out, eb) : rc;
}

enum err ten_cipher_destroy(struct ten_registry *r, struct ten_tenant *t, struct errbuf *eb)
{
    uint32_t versions; /* counted earlier */
    if (t->account.cipher == NULL)
        return ERR_OK;
    sto_cipher_wipe(t->account.cipher);
    if (r->keystore == NULL)
        return base_fail(eb, ERR_CONFLICT,
                         "the tenant's key cannot be destroyed without its "
                         "keystore: start the server with --master-key-file");
    return ten_keystore_destroy(r->keystore, ten_tenant_id(t), &versions, eb);
}

enum err ten_tenant_rotate_key(struct ten_registry *r, struct ten_tenant *t, struct errbuf *eb)
{
    ten_control_check(r);
    enum ten_state state = ten_tenant_state(t);
    struct sto_cipher *cipher = t->account.cipher;
    if (state != TEN_ACTIVE && state != TEN_SUSPENDED)
        return base_fail(eb, ERR_CONFLICT, "the tenant is %s; nothing of it can be changed",
                         ten_state_name(state));
    if (cipher == NULL)
        return base_fail(eb, ERR_CONFLICT,
                         "the tenant is not encrypted; that is chosen when a "
                         "tenant is made");
    if (r->keystore == NULL || sto_cipher_versions(cipher) == 0)
        return base_fail(eb, ERR_CONFLICT, "the tenant's keys are not there");
    enum err rc = ten_keystore_rotate(r->keystore, ten_tenant_id(t), cipher, eb);
    if (rc != ERR_OK)
        return rc;
    struct ten_details same = *ten_tenant_details(t);
    ten_audit_set_detail("key_versions=%u", sto_cipher_versions(cipher));
    return ten_tenant_commit(r, t, state, &same, NULL, 0, eb); /* with the action's record */
}
