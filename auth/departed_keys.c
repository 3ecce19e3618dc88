/*
 * auth/departed_keys.c - strips the keys of an offboarded tenant to ID, digest and tenant; and
 *                         service keys for offboarded tenants only to the same, with their list.
 *
 * They stay valid credentials, so that their owner receives 410 instead of 401. A stripped document
 * has the form of any other, so that every version reads it: no label, no prefix, no limits,
 * created at 0, and all scopes of the kind, so that 410 precedes any other refusal.
 *
 * 1. A key with created_us 0 is stripped on the disk. In memory, label and prefix stay until the
 *    next start, because threads may be reading them; no code shows them.
 */
#include "auth/key_doc.h"
#include "auth/keyring_internal.h"
#include "base/alloc.h"
#include "tenancy/audit.h"
#include "tenancy/lifecycle.h"

#include "base/banned.h"

struct stripped {
    struct auth_key *key;
    uint8_t doc_key[AUTH_DOC_KEY];
    struct buf body;
};

static enum err stripped_make(struct stripped *s, struct auth_key *key)
{
    struct auth_key bare = {.kind = key->kind,
                            .scopes = auth_kind_scopes(key->kind),
                            .tenant = key->tenant,
                            .allowed = key->allowed, /* without the list, the key would act for all
                                                      * tenants */
                            .allowed_count = key->allowed_count,
                            .label = ""};
    memcpy(bare.digest, key->digest, sizeof bare.digest);
    s->key = key;
    auth_doc_key(base_slice(key->id, AUTH_KEY_ID), s->doc_key);
    base_buf_init(&s->body, AUTH_KEY_DOC_MAX);
    return auth_key_encode(&bare, &s->body);
}

/* Returns whether the tenant's purge has started; a purge is never undone. */
static bool leaves(const struct ten_tenant *t)
{
    enum ten_state state = (enum ten_state)atomic_load(&t->state);
    return state == TEN_PURGING || state == TEN_PURGED || state == TEN_EXPIRED;
}

/* Returns whether the key names tenants whose purge has started, and no others. */
static bool is_of_departed(const struct auth_key *key)
{
    if (key->tenant != NULL)
        return leaves(key->tenant);
    for (size_t i = 0; i < key->allowed_count; i++)
        if (!leaves(key->allowed[i]))
            return false;
    return key->allowed_count > 0;
}

/* Strips the keys of a part of the list that are not stripped yet. */
static enum err run_strip(struct auth_keyring *k, size_t from, size_t length, struct errbuf *eb)
{
    struct stripped *all = base_new_array(length, sizeof all[0]);
    struct sto_doc_change *changes = base_new_array(length, sizeof changes[0]);
    size_t count = 0;
    enum err rc = ERR_OK;
    for (size_t i = from; rc == ERR_OK && i < from + length; i++) {
        if (k->sorted[i]->created_us == 0 || !is_of_departed(k->sorted[i]))
            continue;
        struct stripped *s = &all[count];
        rc = stripped_make(s, k->sorted[i]);
        changes[count++] = (struct sto_doc_change){
            .key = base_slice(s->doc_key, sizeof s->doc_key),
            .body = base_buf_slice(&s->body),
            .expect = s->key->doc_version,
        };
    }
    if (rc != ERR_OK)
        rc = base_fail(eb, rc, "a key's document cannot be written: %s", base_err_name(rc));
    else if (count > 0)
        rc = ten_docs_commit(k->registry, changes, count, eb);
    for (size_t i = 0; i < count; i++) {
        base_buf_fini(&all[i].body);
        if (rc != ERR_OK)
            continue;
        all[i].key->created_us = 0;
        all[i].key->doc_version++;
    }
    base_free(changes);
    base_free(all);
    return rc;
}

/* Strips the tenant's keys, or with NULL those of services and operators. */
static enum err strip_of(struct auth_keyring *k, const struct ten_tenant *t, struct errbuf *eb)
{
    size_t from = auth_keyring_first(k, t);
    bool has_some = from < k->count && k->sorted[from]->tenant == t;
    return has_some ? run_strip(k, from, auth_keyring_run(k, from), eb) : ERR_OK;
}

enum err auth_departed_strip(void *ctx, const struct ten_tenant *t, struct errbuf *eb)
{
    struct auth_keyring *k = auth_keyring_check(ctx);
    INVARIANT(ten_control_is_here(k->registry));
    enum err rc = strip_of(k, t, eb);
    return rc == ERR_OK ? strip_of(k, NULL, eb) : rc;
}

enum err auth_departed_strip_all(struct auth_keyring *k, struct errbuf *eb)
{
    enum err rc = ERR_OK;
    for (size_t at = 0, length; rc == ERR_OK && at < k->count; at += length) {
        length = auth_keyring_run(k, at);
        rc = run_strip(k, at, length, eb);
    }
    return rc;
}
