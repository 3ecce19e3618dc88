/*
 * tests/isolation/test_plaintext.c - every gRPC method at the emulator's listener, without a key.
 *
 * Whoever reaches it is every keyless tenant, and makes one by its first use (0015): that a project
 * has keys can be told there, and nothing else. So nobody's tenant is one with keys as well, new,
 * suspended and without a table: it must look like acme-zebra.
 */
#include <check.h>

#include "tests/isolation/neighbours_make.h"
#include "tests/isolation/rpc_walk.h"

#include "base/banned.h"

#define OWN_PROJECT "dev-acme"

static struct neighbours n;
static struct rpc_walk walk;
static char key[WORLD_KEY];

static void make_keyless(void)
{
    static struct grpc_client c;
    static const struct rpc form = {.form = "name=projects/{tenant}/instances/main"};
    struct rpc ping = form;
    struct arena arena;
    const char *path = "/google.bigtable.v2.Bigtable/PingAndWarm";
    base_arena_init(&arena, MIB);
    ping.method = gw_method_find(base_slice_text(path));
    grpc_open_plain(&c, &n.server);
    const struct grpc_call *call =
        grpc_ask(&c, path, rpc_message(&ping, &walk.own, &walk.own, &arena));
    ck_assert_msg(call->status == 0, "%s", call->message);
    grpc_close(&c);
    base_arena_fini(&arena);
}

static void set_up(void)
{
    const char *nobody = n.nobodys.text[NAME_TENANT];
    neighbours_begin(&n);
    walk = (struct rpc_walk){.n = &n,
                             .what = "a client of the emulator",
                             .is_plain = true,
                             .is_known = true,
                             .may_all = true,
                             .own = n.own,
                             .nobodys = n.nobodys};
    name_set(&walk.own, NAME_TENANT, OWN_PROJECT);
    make_keyless();
    admin_set_quota(n.op, OWN_PROJECT, "{'control_ops_per_s':1000}");
    admin_create_tenant(n.op, nobody);
    http_json(n.op, "POST", "{'reason':'unpaid','access':'all'}", "/v1/admin/tenants/%s:suspend",
              nobody);
    EXPECT_STATUS(n.op, 200);
    /* Over TLS it needs a key like any other tenant. */
    admin_create_key(n.op, OWN_PROJECT, NULL, key, NULL);
    walk.renew = http_open(&n.server, HTTP_2, key);
    walk.renew_key = key;
    neighbours_renew(&n, walk.renew, false);
    neighbours_take_tokens(&n, walk.renew, key, &walk.own);
    rpc_walk_make_instances(&walk);
}

static void tear_down(void)
{
    http_close(walk.renew);
    neighbours_end(&n);
}

START_TEST(no_method_without_a_key_tells_theirs_from_nobodys)
{
    static struct buf before, after;
    base_buf_init(&before, 64 * MIB);
    base_buf_init(&after, 64 * MIB);
    neighbours_look_closely(&n, &before);
    rpc_walk_own(&walk);
    rpc_walk_others(&walk);
    neighbours_look_closely(&n, &after);
    neighbours_same(&before, &after, "a client of the emulator");
    base_buf_fini(&before);
    base_buf_fini(&after);
}
END_TEST

Suite *suite_isolation_plaintext(void);
Suite *suite_isolation_plaintext(void)
{
    Suite *s = suite_create("isolation_plaintext");
    TCase *tc = tcase_create("plaintext");
    tcase_set_timeout(tc, 1200);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, no_method_without_a_key_tells_theirs_from_nobodys);
    suite_add_tcase(s, tc);
    return s;
}
