/*
 * tests/auth/keys.h - a keyring over a tent: keys made, listed and revoked on the control thread.
 *
 * Does:     open, close and reopen both; make, revoke, list, verify.
 * Owns:     tent, keyring and verifier of the test that includes it.
 * May use:  base/, storage/, tenancy/, auth/, tests/tenancy/tent.h, libcheck.
 * Knows no: HTTP.
 * Threads:  the test's main thread.
 * Blocks:   yes.
 * Fails by: ck_abort_msg, but for the functions that return an error.
 * Limits:   none.
 * Promises: 1. A text that was not written stays full of 'x'.
 */
#ifndef TESTS_AUTH_KEYS_H
#define TESTS_AUTH_KEYS_H

#include "tests/tenancy/tent.h"

#include "auth/keyring.h"

static struct tent tent;
static struct auth_keyring *keyring;
static struct auth_verifier *verifier;
static uint8_t pepper[AUTH_PEPPER_BYTES] = "0123456789abcdef0123456789abcde";

static inline void open_keyring(void)
{
    enum err rc = auth_keyring_open(tent.registry, tent.epoch, pepper, &keyring, &tent.eb);
    ck_assert_msg(rc == ERR_OK, "%s", tent.eb.text);
    ck_assert_int_eq(auth_verifier_new(keyring, &verifier), ERR_OK);
}

static inline void close_keyring(void)
{
    auth_verifier_free(verifier);
    auth_keyring_close(keyring);
}

static inline void setup(void)
{
    tent_make(&tent);
    tent_open(&tent);
    open_keyring();
}

static inline void teardown(void)
{
    close_keyring();
    tent_close(&tent);
    tent_remove(&tent);
}

static inline void reopen(void)
{
    close_keyring();
    tent_reopen(&tent);
    open_keyring();
}

/* --- on the control thread -------------------------------------------------------------------- */

struct key_args {
    enum auth_kind kind;
    struct ten_tenant *tenant;
    uint64_t scopes;
    struct slice text;
    const struct slice *allowed;
    size_t allowed_count;
    struct auth_limits limits;
    struct slice row_prefix;
    char out[AUTH_KEY_TEXT + 1];
    const struct auth_key **list;
    size_t limit;
    enum err rc;
};

static inline void do_create(struct tent *t, void *ctx)
{
    struct key_args *a = ctx;
    struct auth_key_wanted wanted = {.kind = a->kind,
                                     .tenant = a->tenant,
                                     .scopes = a->scopes,
                                     .label = a->text,
                                     .allowed = a->allowed,
                                     .allowed_count = a->allowed_count,
                                     .limits = a->limits,
                                     .row_prefix = a->row_prefix};
    a->rc = auth_key_create(keyring, &wanted, a->out, &t->eb);
}

static inline enum err try_create(enum auth_kind kind, struct ten_tenant *tenant, uint64_t scopes,
                                  struct slice label, char out[AUTH_KEY_TEXT + 1])
{
    struct key_args a = {.kind = kind, .tenant = tenant, .scopes = scopes, .text = label};
    memset(a.out, 'x', sizeof a.out - 1);
    tent_control(&tent, do_create, &a);
    if (out != NULL)
        memcpy(out, a.out, sizeof a.out);
    return a.rc;
}

static inline void create(enum auth_kind kind, struct ten_tenant *tenant,
                          char out[AUTH_KEY_TEXT + 1])
{
    enum err rc =
        try_create(kind, tenant, kind == AUTH_OPERATOR ? AUTH_SCOPES_OPERATOR : AUTH_SCOPES_TENANT,
                   SLICE_LIT("app"), out);
    ck_assert_msg(rc == ERR_OK, "%s", tent.eb.text);
}

static inline void do_revoke(struct tent *t, void *ctx)
{
    struct key_args *a = ctx;
    a->rc = auth_key_revoke(keyring, a->text, a->tenant, &t->eb);
}

static inline enum err revoke_key(struct slice id, struct ten_tenant *tenant)
{
    struct key_args a = {.tenant = tenant, .text = id};
    tent_control(&tent, do_revoke, &a);
    return a.rc;
}

static inline void do_list(struct tent *t, void *ctx)
{
    struct key_args *a = ctx;
    (void)t;
    a->limit = auth_key_list(keyring, a->tenant, a->list, a->limit);
}

static inline size_t list(struct ten_tenant *tenant, const struct auth_key **out, size_t limit)
{
    struct key_args a = {.tenant = tenant, .list = out, .limit = limit};
    tent_control(&tent, do_list, &a);
    return a.limit;
}

static struct slice id_of(const char *text)
{
    return base_slice(text + 4, AUTH_KEY_ID);
}

static inline enum err verify(const char *text, const struct auth_key **out)
{
    return auth_verify(verifier, base_slice_text(text), out);
}

static inline void keys_add_case(Suite *s, const char *name, const TTest *const *tests,
                                 size_t count)
{
    TCase *c = tcase_create(name);
    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, setup, teardown);
    for (size_t i = 0; i < count; i++)
        tcase_add_test(c, tests[i]);
    suite_add_tcase(s, c);
}

#define ADD_CASE(s, name, tests) keys_add_case(s, name, tests, sizeof(tests) / sizeof(tests)[0])

#endif
