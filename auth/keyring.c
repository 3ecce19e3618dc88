/*
 * auth/keyring.c - a map from key ID to key for readers, a sorted list for the control thread.
 *
 * 1. Map and list hold the same keys; both are changed by the control thread only.
 * 2. The list is sorted by tenant ID (none first), then key ID: the keys of one tenant are
 *    contiguous.
 * 3. A key is in the map only after its document is durable. Before revoke returns, the key is
 *    removed from the map and `revoked` is incremented, in this order.
 * 4. Tenancy knows how many keys a tenant has: it is notified whenever the list was changed.
 */
#include "auth/keyring.h"

#include <errno.h>
#include <inttypes.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <sys/random.h>

#include "auth/key.h"
#include "auth/key_doc.h"
#include "auth/keyring_internal.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/text.h"
#include "storage/places.h"
#include "tenancy/audit.h"
#include "tenancy/lifecycle.h"
#include "tenancy/threshold.h"

#include "base/banned.h"

#define KEYS_FIRST     64
#define CREATE_RETRIES 3 /* an ID of 71 random bits that exists twice is no accident */

/* Aborts unless called on the control thread. */
static void check_control(struct auth_keyring *k)
{
    INVARIANT(ten_control_is_here(auth_keyring_check(k)->registry));
}

/* --- the sorted list -------------------------------------------------------------------------- */

static struct slice tenant_of(const struct ten_tenant *tenant)
{
    return tenant == NULL ? SLICE_EMPTY : ten_tenant_id(tenant);
}

static struct slice id_of(const struct auth_key *key)
{
    return base_slice(key->id, AUTH_KEY_ID);
}

static int compare(const struct auth_key *key, struct slice tenant_id, struct slice id)
{
    int order = base_slice_compare(tenant_of(key->tenant), tenant_id);
    return order != 0 ? order : base_slice_compare(id_of(key), id);
}

static int compare_keys(const void *a, const void *b)
{
    const struct auth_key *const *left = a;
    const struct auth_key *const *right = b;
    return compare(*left, tenant_of((*right)->tenant), id_of(*right));
}

/* Returns the index of the first key that is not lower. */
static size_t lower_bound(const struct auth_keyring *k, struct slice tenant_id, struct slice id)
{
    size_t low = 0;
    size_t high = k->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(k->sorted[middle], tenant_id, id) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t auth_keyring_first(const struct auth_keyring *k, const struct ten_tenant *tenant)
{
    return lower_bound(k, tenant_of(tenant), SLICE_EMPTY);
}

static void list_append(struct auth_keyring *k, struct auth_key *key)
{
    if (k->count == k->capacity) {
        size_t capacity = k->capacity == 0 ? KEYS_FIRST : k->capacity * 2;
        struct auth_key **larger = base_new_array(capacity, sizeof larger[0]);
        for (size_t i = 0; i < k->count; i++)
            larger[i] = k->sorted[i];
        base_free(k->sorted);
        k->sorted = larger;
        k->capacity = capacity;
    }
    k->sorted[k->count++] = key;
}

static void list_insert(struct auth_keyring *k, struct auth_key *key)
{
    size_t at = lower_bound(k, tenant_of(key->tenant), id_of(key));
    list_append(k, key);
    memmove(k->sorted + at + 1, k->sorted + at, (k->count - 1 - at) * sizeof k->sorted[0]);
    k->sorted[at] = key;
}

static void list_remove(struct auth_keyring *k, const struct auth_key *key)
{
    size_t at = lower_bound(k, tenant_of(key->tenant), id_of(key));
    INVARIANT(at < k->count && k->sorted[at] == key);
    k->count--;
    memmove(k->sorted + at, k->sorted + at + 1, (k->count - at) * sizeof k->sorted[0]);
}

size_t auth_key_list(struct auth_keyring *k, const struct ten_tenant *tenant,
                     const struct auth_key **out, size_t limit)
{
    check_control(k);
    size_t count = 0;
    if (tenant != NULL && ten_state_is_final((enum ten_state)atomic_load(&tenant->state)))
        return 0;
    for (size_t i = auth_keyring_first(k, tenant);
         i < k->count && k->sorted[i]->tenant == tenant && count < limit; i++)
        out[count++] = k->sorted[i];
    return count;
}

size_t auth_keyring_run(const struct auth_keyring *k, size_t from)
{
    size_t to = from;
    while (to < k->count && k->sorted[to]->tenant == k->sorted[from]->tenant)
        to++;
    return to - from;
}

static size_t count_of(const struct auth_keyring *k, const struct ten_tenant *tenant)
{
    size_t from = auth_keyring_first(k, tenant);
    bool has_some = from < k->count && k->sorted[from]->tenant == tenant;
    return has_some ? auth_keyring_run(k, from) : 0;
}

static void tell_count(const struct auth_keyring *k, struct ten_tenant *tenant)
{
    if (tenant != NULL)
        ten_threshold_keys_set(k->registry, tenant, count_of(k, tenant));
}

struct loading {
    struct auth_keyring *keyring;
    struct errbuf *eb;
    enum err result;
};

/* Runs on the control thread, which uses the tenants already. */
static void finish_load(void *ctx)
{
    struct loading *l = ctx;
    const struct auth_keyring *k = l->keyring;
    l->result = auth_departed_strip_all(l->keyring, l->eb);
    for (size_t at = 0, length; at < k->count; at += length) {
        length = auth_keyring_run(k, at);
        if (k->sorted[at]->tenant != NULL)
            ten_threshold_keys_load(k->registry, k->sorted[at]->tenant, length);
    }
}

/* --- open and close --------------------------------------------------------------------------- */

/* Loads the tenants of a stored list; they exist, because tenants are never removed. */
static enum err allowed_load(const struct auth_keyring *k, struct auth_key *key, struct slice body)
{
    struct ten_tenant **list = auth_key_list_of(key);
    struct slice id;
    for (size_t i = 0; i < key->allowed_count && auth_key_allowed_next(&body, &id); i++) {
        list[i] = ten_tenant_find(k->registry, id);
        if (list[i] == NULL)
            return ERR_CORRUPT;
    }
    return auth_key_list_sort(key, NULL) == ERR_OK ? ERR_OK : ERR_CORRUPT;
}

static enum err visit_key(void *ctx, struct slice doc_key, uint64_t version, struct slice body)
{
    struct auth_keyring *k = ctx;
    struct auth_key_doc doc;
    enum err rc = auth_key_decode(base_slice_skip(doc_key, 2), body, &doc);
    if (rc != ERR_OK)
        return rc;
    if (doc.tenant_id.len > 0) {
        doc.key.tenant = ten_tenant_find(k->registry, doc.tenant_id);
        if (doc.key.tenant == NULL)
            return ERR_CORRUPT;
    }
    doc.key.doc_version = version;
    struct auth_key *key = auth_key_new(&doc.key, doc.allowed_count);
    OPENSSL_cleanse(&doc, sizeof doc);
    rc = allowed_load(k, key, body);
    if (rc != ERR_OK) {
        auth_key_free(key);
        return rc;
    }
    key->rates = auth_rates_new(&key->limits);
    rc = base_hashmap_insert(k->by_id, id_of(key), key);
    INVARIANT(rc == ERR_OK); /* document keys are distinct */
    list_append(k, key);
    return ERR_OK;
}

static enum err load(struct auth_keyring *k, struct errbuf *eb)
{
    int slot = base_epoch_join(k->epoch); /* finds tenants while the control worker runs */
    enum err rc = sto_docs_scan(ten_registry_engine(k->registry), sto_doc_prefix(STO_DOC_API_KEY),
                                visit_key, k, eb);
    base_epoch_leave(k->epoch, slot);
    if (rc != ERR_OK)
        return base_fail(eb, rc, "the keys' documents cannot be read: %s", base_err_name(rc));
    if (k->count > 0)
        qsort(k->sorted, k->count, sizeof k->sorted[0], compare_keys);
    struct loading l = {.keyring = k, .eb = eb};
    ten_control_run(k->registry, finish_load, &l);
    return l.result;
}

static enum err fill_random(uint8_t *out, size_t bytes)
{
    ssize_t n;
    do {
        n = getrandom(out, bytes, 0);
    } while (n < 0 && errno == EINTR);
    return n == (ssize_t)bytes ? ERR_OK : ERR_IO;
}

static enum err prepare_crypto(struct auth_keyring *k, const uint8_t pepper[AUTH_PEPPER_BYTES])
{
    memcpy(k->pepper, pepper, sizeof k->pepper);
    k->mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    if (k->mac == NULL)
        return ERR_NO_MEMORY;
    enum err rc = auth_hmac_init(&k->hmac, k->mac, k->pepper);
    return rc == ERR_OK ? fill_random(k->dummy, sizeof k->dummy) : rc;
}

enum err auth_keyring_open(struct ten_registry *registry, struct base_epoch *epoch,
                           const uint8_t pepper[AUTH_PEPPER_BYTES], struct auth_keyring **out,
                           struct errbuf *eb)
{
    struct auth_keyring *k = base_new(sizeof *k);
    k->magic = AUTH_KEYRING_MAGIC;
    k->registry = registry;
    k->epoch = epoch;
    k->by_id = base_hashmap_new(epoch);
    enum err rc = prepare_crypto(k, pepper);
    rc = rc == ERR_OK ? load(k, eb) : base_fail(eb, rc, "HMAC-SHA-256 cannot be prepared");
    if (rc != ERR_OK) {
        auth_keyring_close(k);
        return rc;
    }
    const struct ten_key_holder holder = {.ctx = k, .strip = auth_departed_strip};
    ten_registry_keys_attach(registry, &holder);
    k->is_attached = true;
    *out = k;
    return ERR_OK;
}

void auth_keyring_close(struct auth_keyring *k)
{
    if (k == NULL)
        return;
    auth_keyring_check(k);
    if (k->is_attached)
        ten_registry_keys_detach(k->registry);
    base_hashmap_free(k->by_id);
    for (size_t i = 0; i < k->count; i++)
        auth_key_free(k->sorted[i]);
    base_free(k->sorted);
    auth_hmac_fini(&k->hmac);
    EVP_MAC_free(k->mac);
    k->magic = 0;
    base_free_secret(k, sizeof *k);
}

/* --- creating and revoking -------------------------------------------------------------------- */

void auth_doc_key(struct slice id, uint8_t out[AUTH_DOC_KEY])
{
    INVARIANT(id.len == AUTH_KEY_ID);
    struct slice prefix = sto_doc_prefix(STO_DOC_API_KEY);
    memcpy(out, prefix.ptr, prefix.len);
    memcpy(out + prefix.len, id.ptr, AUTH_KEY_ID);
}

static enum err count_check(const struct auth_keyring *k, const struct ten_tenant *tenant,
                            struct errbuf *eb)
{
    size_t used = count_of(k, tenant);
    struct ten_quota held;
    if (tenant == NULL && used >= LIM_KEYS_PER_TENANT)
        return base_fail(eb, ERR_TOO_BIG, "there are %d keys; the limit is %d: revoke some first",
                         LIM_KEYS_PER_TENANT, LIM_KEYS_PER_TENANT);
    if (tenant == NULL)
        return ERR_OK;
    ten_tenant_quota(tenant, &held);
    if (used < held.keys)
        return ERR_OK;
    return base_fail(eb, ERR_QUOTA,
                     "keys quota: %zu used, 1 would be added, limit %" PRIu64
                     "; revoking still passes",
                     used, held.keys);
}

/* Checks that a key limited to rows has no scope for whole tables: changing a table, or reading it
 * whole, exceeds rows with a prefix. */
static enum err rows_check(const struct auth_key_wanted *w, struct errbuf *eb)
{
    if (w->row_prefix.len == 0)
        return ERR_OK;
    if (w->kind == AUTH_OPERATOR)
        return base_fail(eb, ERR_INVALID, "operator keys read no rows: no row_prefix");
    if ((w->scopes & AUTH_TABLE_ADMIN) != 0)
        return base_fail(eb, ERR_INVALID,
                         "a key that is limited to rows cannot have the scope table.admin");
    if (w->row_prefix.len > LIM_KEY_PREFIX)
        return base_fail(eb, ERR_INVALID, "row_prefix has %zu bytes; the limit is %d",
                         w->row_prefix.len, LIM_KEY_PREFIX);
    return ERR_OK;
}

static enum err create_check(const struct auth_keyring *k, const struct auth_key_wanted *w,
                             struct errbuf *eb)
{
    INVARIANT((w->kind == AUTH_TENANT) == (w->tenant != NULL));
    if (w->scopes == 0)
        return base_fail(eb, ERR_INVALID, "a key needs at least one scope");
    if ((w->scopes & ~auth_kind_scopes(w->kind)) != 0)
        return base_fail(eb, ERR_INVALID, "%s keys cannot have %s scopes", auth_kind_name(w->kind),
                         w->kind == AUTH_OPERATOR ? "data" : "admin");
    enum err e = base_text_check(w->label, AUTH_LABEL_BYTES, "the label", eb);
    if (e == ERR_OK)
        e = auth_limits_check(&w->limits, w->kind, eb);
    if (e == ERR_OK)
        e = rows_check(w, eb);
    if (e != ERR_OK)
        return e;
    if (w->allowed != NULL && w->kind != AUTH_SERVICE)
        return base_fail(eb, ERR_INVALID, "only service keys have a list of tenants");
    if (w->allowed != NULL && (w->allowed_count == 0 || w->allowed_count > LIM_TENANTS_PER_KEY))
        return base_fail(eb, ERR_INVALID,
                         "the list has %zu tenants; it must have 1 to %d, or be left out for all",
                         w->allowed_count, LIM_TENANTS_PER_KEY);
    if (w->tenant != NULL) {
        enum ten_state state = (enum ten_state)atomic_load(&w->tenant->state);
        if (ten_state_is_leaving(state))
            return base_fail(eb, ERR_GONE, "the tenant is %s", ten_state_name(state));
    }
    return count_check(k, w->tenant, eb);
}

/* Finds the requested tenants. */
static enum err allowed_find(struct auth_keyring *k, const struct auth_key_wanted *w,
                             struct auth_key *key, struct errbuf *eb)
{
    struct ten_tenant **list = auth_key_list_of(key);
    size_t leaving = 0;
    for (size_t i = 0; i < w->allowed_count; i++) {
        struct slice id = w->allowed[i];
        list[i] = sto_tenant_id_check(id, NULL) == ERR_OK ? ten_tenant_find(k->registry, id) : NULL;
        if (list[i] == NULL)
            return base_fail(eb, ERR_INVALID, "tenant %zu of the list does not exist", i + 1);
        leaving += ten_state_is_leaving((enum ten_state)atomic_load(&list[i]->state));
    }
    if (w->allowed_count > 0 && leaving == w->allowed_count) /* would stay unstripped */
        return base_fail(eb, ERR_GONE, "all tenants of the list are leaving, or left");
    return auth_key_list_sort(key, eb);
}

static enum err store(struct auth_keyring *k, const struct auth_key *key, struct errbuf *eb)
{
    uint8_t doc_key[AUTH_DOC_KEY];
    auth_doc_key(id_of(key), doc_key);
    struct buf body;
    base_buf_init(&body, AUTH_KEY_DOC_MAX);
    enum err rc = auth_key_encode(key, &body);
    if (rc == ERR_OK) {
        struct sto_doc_change change = {
            .key = base_slice(doc_key, sizeof doc_key),
            .body = base_buf_slice(&body),
            .expect = STO_DOC_ABSENT,
        };
        rc = ten_docs_commit(k->registry, &change, 1, eb);
    } else {
        rc = base_fail(eb, rc, "the key's document cannot be written: %s", base_err_name(rc));
    }
    base_buf_fini(&body);
    return rc;
}

/* Writes a new text to out_text and its ID and digest to key, and stores the key. */
static enum err generate(struct auth_keyring *k, struct auth_key *key,
                         char out_text[AUTH_KEY_TEXT + 1], struct errbuf *eb)
{
    struct auth_key_parts parts;
    enum err rc = auth_key_generate(key->kind, out_text);
    if (rc == ERR_OK)
        rc = auth_key_parse(base_slice(out_text, AUTH_KEY_TEXT), &parts);
    if (rc == ERR_OK)
        rc = auth_hmac_run(&k->hmac, parts.secret, key->digest);
    if (rc != ERR_OK)
        return base_fail(eb, ERR_IO, "no random key can be made");
    memcpy(key->id, parts.id.ptr, AUTH_KEY_ID);
    ten_audit_set_target(id_of(key));
    return store(k, key, eb);
}

enum err auth_key_create(struct auth_keyring *k, const struct auth_key_wanted *w,
                         char out_text[AUTH_KEY_TEXT + 1], struct errbuf *eb)
{
    char scopes_text[AUTH_SCOPES_TEXT];
    check_control(k);
    auth_scopes_text(w->scopes, scopes_text);
    ten_audit_set_detail("kind=%s scopes=%s%s", auth_kind_name(w->kind), scopes_text,
                         w->row_prefix.len > 0 ? " rows=prefix" : "");
    enum err rc = create_check(k, w, eb);
    if (rc != ERR_OK)
        return rc;
    char label[AUTH_LABEL_BYTES + 1] = "";
    if (w->label.len > 0)
        memcpy(label, w->label.ptr, w->label.len);
    struct auth_key made = {.kind = w->kind,
                            .scopes = w->scopes,
                            .tenant = w->tenant,
                            .label = label,
                            .row_prefix = w->row_prefix,
                            .created_us = base_wall_us(),
                            .doc_version = 1,
                            .limits = w->limits};
    struct auth_key *key = auth_key_new(&made, w->allowed_count);
    rc = allowed_find(k, w, key, eb);
    if (rc != ERR_OK) {
        auth_key_free(key);
        return rc;
    }
    int tries = 0;
    do {
        rc = generate(k, key, out_text, eb);
    } while (rc == ERR_CONFLICT && ++tries < CREATE_RETRIES);
    if (rc != ERR_OK) {
        OPENSSL_cleanse(out_text, AUTH_KEY_TEXT + 1);
        auth_key_free(key);
        return rc;
    }
    key->rates = auth_rates_new(&key->limits);
    list_insert(k, key);
    tell_count(k, key->tenant);
    rc = base_hashmap_insert(k->by_id, id_of(key), key);
    INVARIANT(rc == ERR_OK); /* no document with this ID existed */
    return ERR_OK;
}

enum err auth_key_revoke(struct auth_keyring *k, struct slice id, const struct ten_tenant *tenant,
                         struct errbuf *eb)
{
    check_control(k);
    struct auth_key *key = base_hashmap_find(k->by_id, id);
    if (key == NULL || key->tenant != tenant)
        return base_fail(eb, ERR_NOT_FOUND, "there is no such key here");
    uint8_t doc_key[AUTH_DOC_KEY];
    auth_doc_key(id, doc_key);
    struct sto_doc_change change = {
        .key = base_slice(doc_key, sizeof doc_key),
        .body = SLICE_EMPTY,
        .expect = key->doc_version,
    };
    enum err rc = ten_docs_commit(k->registry, &change, 1, eb);
    if (rc != ERR_OK)
        return rc;
    (void)base_hashmap_remove(k->by_id, id); /* the removed value is key */
    atomic_fetch_add(&k->revoked, 1);
    list_remove(k, key);
    tell_count(k, key->tenant);
    base_epoch_retire(k->epoch, key, auth_key_free);
    return ERR_OK;
}
