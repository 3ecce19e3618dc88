/*
 * tests/isolation/callers.c - every kind of credential that is not acme-zebra's.
 *
 * Keys do not expire; what ends one is its revocation, or its tenant's departure.
 */
#include "tests/isolation/callers.h"

#include <check.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "auth/apikey.h"
#include "base/text.h"

#include "base/banned.h"

typedef void make_key(struct neighbours *n, const char *body, char out[WORLD_KEY]);

static void of_tenant(struct neighbours *n, const char *body, char out[WORLD_KEY])
{
    http_json(n->op, "POST", body, "/v1/admin/tenants/acme/keys");
    EXPECT_STATUS(n->op, 201);
    (void)snprintf(out, WORLD_KEY, "%s", http_string(n->op, "/key"));
}

static void of_service(struct neighbours *n, const char *body, char out[WORLD_KEY])
{
    http_json(n->op, "POST", body, "/v1/admin/keys");
    EXPECT_STATUS(n->op, 201);
    (void)snprintf(out, WORLD_KEY, "%s", http_string(n->op, "/key"));
}

static void of_revoked(struct neighbours *n, const char *body, char out[WORLD_KEY])
{
    char id[WORLD_ID];
    of_tenant(n, body, out);
    (void)snprintf(id, sizeof id, "%s", http_string(n->op, "/id"));
    http_delete(n->op, "/v1/admin/tenants/acme/keys/%s", id);
    EXPECT_STATUS(n->op, 204);
}

static void of_suspended(struct neighbours *n, const char *body, char out[WORLD_KEY])
{
    admin_create_tenant(n->op, "acme-held");
    admin_create_key(n->op, "acme-held", NULL, out, NULL);
    http_json(n->op, "POST", body, "/v1/admin/tenants/acme-held:suspend");
    EXPECT_STATUS(n->op, 200);
}

static void of_departed(struct neighbours *n, const char *body, char out[WORLD_KEY])
{
    (void)body;
    memcpy(out, n->gone_key, WORLD_KEY);
}

static void of_nobody(struct neighbours *n, const char *body, char out[WORLD_KEY])
{
    char text[AUTH_KEY_TEXT + 1];
    (void)n;
    (void)body;
    ck_assert_int_eq(auth_key_generate(AUTH_TENANT, text), ERR_OK);
    (void)snprintf(out, WORLD_KEY, "%s", text);
}

/* Their ID, which is no secret, with one's own secret, and a checksum that fits. */
static void of_two(struct neighbours *n, const char *body, char out[WORLD_KEY])
{
    (void)body;
    size_t checked = AUTH_KEY_TEXT - AUTH_KEY_CHECKSUM;
    (void)snprintf(out, WORLD_KEY, "%s", n->a_key);
    ck_assert_uint_eq(strlen(out), AUTH_KEY_TEXT);
    memcpy(out + 4, n->theirs.text[NAME_KEYID], AUTH_KEY_ID);
    uint32_t sum = (uint32_t)crc32(0, (const Bytef *)out, (uInt)checked);
    for (size_t i = AUTH_KEY_CHECKSUM; i-- > 0; sum /= 62)
        out[checked + i] = BASE_BASE62_DIGITS[sum % 62];
    struct auth_key_parts parts;
    ck_assert_int_eq(auth_key_parse(base_slice_text(out), &parts), ERR_OK);
}

static void of_garbage(struct neighbours *n, const char *body, char out[WORLD_KEY])
{
    (void)n;
    (void)snprintf(out, WORLD_KEY, "%s", body);
}

#define RATES                                                                                      \
    "'limits':{'read_ops_per_s':1000000,'write_ops_per_s':1000000,'read_bytes_per_s':1000000000}"

static const struct {
    const char *what;
    make_key *make; /* NULL: none */
    const char *body;
    bool is_known;
    bool names_home;
    const char *home;
} CALLERS[] = {
    {"a full key", of_tenant, "{}", true, false, "acme"},
    {"a service key for acme", of_service, "{'kind':'service','tenants':['acme']}", true, true,
     "acme"},
    {"a key that reads", of_tenant, "{'scopes':['data.read']}", true, false, "acme"},
    {"a key that writes", of_tenant, "{'scopes':['data.write']}", true, false, "acme"},
    {"a key for tables", of_tenant, "{'scopes':['table.admin']}", true, false, "acme"},
    {"a key with limits", of_tenant, "{'scopes':['data.read','data.write']," RATES "}", true, false,
     "acme"},
    {"a key of rows with a prefix", of_tenant, "{'row_prefix':'row-'}", true, false, "acme"},
    {"a service key that reads", of_service,
     "{'kind':'service','tenants':['acme','acme-'],'scopes':['data.read']," RATES "}", true, true,
     "acme"},
    {"a key of a suspended tenant", of_suspended, "{'reason':'unpaid','access':'all'}", true, false,
     "acme-held"},
    {"a key of a tenant that left", of_departed, NULL, true, false, "left-long-ago"},
    {"a revoked key", of_revoked, "{}", false, false, "acme"},
    {"a key that was never made", of_nobody, NULL, false, false, "acme"},
    {"their key's ID with another secret", of_two, NULL, false, false, "acme"},
    {"what is no key", of_garbage, "open sesame", false, false, "acme"},
    {"no key", NULL, NULL, false, false, "acme"},
};

const size_t caller_count = sizeof CALLERS / sizeof CALLERS[0];
_Static_assert(sizeof CALLERS / sizeof CALLERS[0] <= CALLERS_MAX, "more callers");

void caller_make(struct neighbours *n, size_t which, struct caller *out)
{
    *out = (struct caller){.what = CALLERS[which].what,
                           .is_known = CALLERS[which].is_known,
                           .names_home = CALLERS[which].names_home,
                           .may_all = which == 0,
                           .home = CALLERS[which].home,
                           .has_key = CALLERS[which].make != NULL};
    if (out->has_key)
        CALLERS[which].make(n, CALLERS[which].body, out->key);
}
