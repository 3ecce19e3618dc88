/*
 * tests/cli/test_tenant_move_keys.c - keys of a tenant that moves: nobody can move them, so others
 * are issued.
 */
#define _GNU_SOURCE
#include "tests/cli/tenant_move.h"

#include "base/banned.h"

/* What the file of a key holds. */
static void read_key(const char *id, char out[WORLD_KEY])
{
    char name[WORLD_ID + 16];
    struct stat st;
    (void)snprintf(name, sizeof name, "keys/%s.key", id);
    struct buf bytes = file_bytes(name);
    ck_assert_int_eq(stat(in_dir(name), &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0600);
    ck_assert_uint_gt(bytes.len, 1);
    ck_assert_uint_lt(bytes.len, WORLD_KEY);
    memcpy(out, bytes.ptr, bytes.len - 1);
    out[bytes.len - 1] = '\0';
    base_buf_fini(&bytes);
}

static size_t count_their_keys(void)
{
    ck_assert_int_eq(http_get(their_op, "/v1/admin/tenants/%s/keys", w.tenant), 200);
    return json_array_size(http_at(their_op, "/keys"));
}

START_TEST(keys_are_issued_anew_each_once)
{
    char id[WORLD_ID], key[WORLD_KEY];
    ck_assert_int_eq(http_json(w.op, "POST",
                               "{'scopes':['data.read'],'label':'reader','limits':"
                               "{'read_ops_per_s':7},'row_prefix':'k'}",
                               "/v1/admin/tenants/%s/keys", w.tenant),
                     201);
    (void)snprintf(id, sizeof id, "%s", http_string(w.op, "/id"));
    tenant_put(w.http, "devices", "k", "stats", "q", "v");
    bigtent(&r, &op, MOVE, "--dry-run");
    EXPECT_CODE(&r, 0);
    EXPECT_IN(r.out, id);
    EXPECT_IN(r.out, "reader");
    EXPECT_IN(r.out, "devices");
    ck_assert(!is_there("notes"));
    ck_assert_int_eq(http_get(their_op, "/v1/admin/tenants/%s", w.tenant), 404);
    bigtent(&r, &op, MOVE, "--issue-keys", in_dir("keys"));
    EXPECT_CODE(&r, 0);
    ck_assert_uint_eq(count_their_keys(), 2);
    read_key(id, key);
    EXPECT_NOT_IN(r.out, key);
    EXPECT_NOT_IN(r.err, key);
    struct http *reader_http = http_open(&there, HTTP_2, key);
    ck_assert_int_eq(http_get(reader_http, "/v1/tables/devices/rows/k"), 200);
    ck_assert_int_eq(http_delete(reader_http, "/v1/tables/devices/rows/k"), 403);
    http_close(reader_http);
    json_t *listed = NULL;
    ck_assert_uint_eq(count_their_keys(), 2);
    for (size_t i = 0; i < 2; i++)
        if (strcmp(json_string_value(
                       json_at(http_at(their_op, "/keys"), i == 0 ? "/0/label" : "/1/label")),
                   "reader") == 0)
            listed = json_array_get(http_at(their_op, "/keys"), i);
    ck_assert_ptr_nonnull(listed);
    ck_assert_int_eq(json_integer_value(json_at(listed, "/limits/read_ops_per_s")), 7);
    ck_assert_str_eq(json_string_value(json_at(listed, "/row_prefix")), "k");
    bigtent(&r, &op, MOVE, "--resume", "--issue-keys", in_dir("keys"));
    EXPECT_CODE(&r, 0);
    ck_assert_uint_eq(count_their_keys(), 2);
}
END_TEST

START_TEST(key_that_a_cut_run_lost_is_revoked)
{
    char first[WORLD_ID], lost[WORLD_ID], kept[WORLD_ID], secret[WORLD_KEY];
    bigtent(&r, &op, MOVE);
    EXPECT_CODE(&r, 0);
    ck_assert_int_eq(http_get(w.op, "/v1/admin/tenants/%s/keys", w.tenant), 200);
    (void)snprintf(first, sizeof first, "%s", http_string(w.op, "/keys/0/id"));
    /* As after kill -9 behind the server's answer: noted, made, in no file. */
    admin_create_key(their_op, w.tenant, NULL, secret, kept);
    admin_create_key(their_op, w.tenant, NULL, secret, lost);
    json_t *notes = read_json("notes");
    json_object_set_new(notes, "keys", json_pack("[{s:s,s:s}]", "id", first, "there", ""));
    json_object_set_new(notes, "known_keys", json_pack("[s]", kept));
    write_json("notes", notes);
    bigtent(&r, &op, MOVE, "--resume", "--issue-keys", in_dir("keys"));
    EXPECT_CODE(&r, 0);
    ck_assert_uint_eq(count_their_keys(), 2);
    EXPECT_IN(http_text(their_op), kept);
    EXPECT_NOT_IN(http_text(their_op), lost);
    read_key(first, secret);
    /* Files that are there are nobody's to replace. */
    write_json("notes", json_object_del(notes = read_json("notes"), "keys") == 0 ? notes : NULL);
    bigtent(&r, &op, MOVE, "--resume", "--issue-keys", in_dir("keys"));
    EXPECT_CODE(&r, 2);
    EXPECT_IN(r.err, "is there already");
}
END_TEST

Suite *suite_cli_tenant_move_keys(void);
Suite *suite_cli_tenant_move_keys(void)
{
    Suite *s = suite_create("cli_tenant_move_keys");
    TCase *t = tcase_create("keys");
    tcase_set_timeout(t, 60);
    world_begin(t);
    tcase_add_checked_fixture(t, move_set_up, move_tear_down);
    tcase_add_test(t, keys_are_issued_anew_each_once);
    tcase_add_test(t, key_that_a_cut_run_lost_is_revoked);
    world_end(t);
    suite_add_tcase(s, t);
    return s;
}
