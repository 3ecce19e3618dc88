/*
 * tests/isolation/neighbours_theirs.c - acme-zebra: a mark in everything that has a name or a size.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "tests/isolation/neighbours_make.h"

#include "base/banned.h"

static void add_secret(struct neighbours *n, const char *text)
{
    ck_assert_uint_lt(n->secret_count, NEIGHBOUR_SECRETS);
    (void)snprintf(n->secrets[n->secret_count++], NAME_BYTES, "%s", text);
}

static void add_key_secret(struct neighbours *n, const char *key)
{
    ck_assert_uint_gt(strlen(key), 4 + 12);
    add_secret(n, key + 4 + 12); /* its ID may be known */
}

#define BULK_BYTES (1 * MIB)

static void put_bulk(struct http *h, const char *table, struct buf *lines)
{
    http_once(h, "Content-Type: application/x-ndjson");
    http_bytes(h, "POST", base_buf_slice(lines), "/v1/tables/%s:write", table);
    EXPECT_STATUS(h, 200);
    base_buf_truncate(lines, 0);
}

/* So many rows that there are THEIR_ROWS, and THEIR_BYTES with the last one. */
static void fill_up(struct neighbours *n)
{
    struct buf lines;
    struct usage u = tenant_usage(n->b);
    base_buf_init(&lines, 2 * BULK_BYTES);
    for (int64_t i = u.rows; i < THEIR_ROWS - 1; i++)
        ck_assert_int_eq(base_buf_printf(&lines,
                                         "{\"key\":\"row-of-%05d\",\"cells\":{\"stats\":{\"q\":"
                                         "\"secret-of-kiwi-%05d\"}}}\n",
                                         (int)i, (int)i),
                         ERR_OK);
    put_bulk(n->b, "devices", &lines);
    static const char head[] = "{\"key\":\"row-z\",\"cells\":{\"stats\":{\"q\":\"";
    u = tenant_usage(n->b);
    size_t more = (size_t)(THEIR_BYTES - u.bytes) -
                  strlen("row-z"
                         "stats"
                         "q") -
                  8;
    ck_assert_int_eq(base_buf_append_text(&lines, head), ERR_OK);
    for (size_t i = 0; i < more; i++)
        ck_assert_int_eq(base_buf_append_byte(&lines, 'z'), ERR_OK);
    ck_assert_int_eq(base_buf_append_text(&lines, "\"}}}\n"), ERR_OK);
    put_bulk(n->b, "devices", &lines);
    EXPECT_USAGE(tenant_usage(n->b), THEIR_BYTES, THEIR_ROWS, tenant_usage(n->b).cells);
    base_buf_fini(&lines);
}

static void fill_theirs(struct neighbours *n)
{
    struct http *h = n->b;
    http_json(h, "PUT",
              "{'families':{'fam-of-dingo':{},'stats':{}},'change_stream_retention':'86400s',"
              "'row_key_notes':'notes-of-lemur'}",
              "/v1/tables/table-of-quokka");
    EXPECT_STATUS(h, 201);
    http_json(h, "PUT", "{'families':{'fam-of-ibis':{}}}", "/v1/tables/hidden-koala");
    EXPECT_STATUS(h, 201);
    http_json(h, "PUT", "{'families':{'stats':{},'raw':{}},'change_stream_retention':'86400s'}",
              "/v1/tables/devices");
    EXPECT_STATUS(h, 201);
    tenant_put(h, "table-of-quokka", "row-of-wombat", "fam-of-dingo", "qual-of-possum",
               "value-of-bilby");
    http_once(h, "Idempotency-Key: token-of-heron");
    tenant_put(h, "table-of-quokka", "row-of-wombat", "stats", "qual-of-ibex", "secret-of-kiwi");
    tenant_put(h, "hidden-koala", "row-of-marten", "fam-of-ibis", "qual-of-stoat",
               "secret-of-kiwi");
    tenant_put(h, "table-of-quokka", "row-of-zorilla", "stats", "q", "secret-of-kiwi");
    tenant_put(h, "devices", "row-1", "stats", "q", "secret-of-kiwi");
    fill_up(n);
}

static const char *const SECRETS[] = {
    "secret-of-kiwi", "qual-of-ibex",   "hidden-koala",   "fam-of-ibis",  "row-of-marten",
    "qual-of-stoat",  "notes-of-lemur", "display-of-yak", "label-of-zho", "plan-name-of-gnu",
    "row-of-0",       "name-of-okapi",  "1299709",        "10007",        "6700417",
    "15485863"};

/* Of the table that acme has as well: then nothing but the tenant can be what makes them another's.
 */
static void take_tokens(struct neighbours *n)
{
    static const enum name tokens[] = {NAME_PAGE,       NAME_LIST_PAGE, NAME_VIEW_PAGE,
                                       NAME_SAVED_PAGE, NAME_WORK_PAGE, NAME_CONSISTENCY,
                                       NAME_CHANGE,     NAME_OPERATION};
    static struct names same;
    same = n->theirs;
    name_set(&same, NAME_TABLE, n->own.text[NAME_TABLE]);
    neighbours_take_tokens(n, n->b, n->b_key, &same);
    for (size_t i = 0; i < sizeof tokens / sizeof tokens[0]; i++)
        name_set(&n->theirs, tokens[i], same.text[tokens[i]]);
}

/* What an operator does for both at once is in the trail of each, and must name nobody else there.
 */
static void share_keys(struct neighbours *n)
{
    char id[WORLD_ID];
    for (int i = 0; i < 2; i++) {
        http_json(n->op, "POST",
                  "{'kind':'service','tenants':['acme','acme-zebra'],'label':'label-of-zho'}",
                  "/v1/admin/keys");
        EXPECT_STATUS(n->op, 201);
        add_key_secret(n, http_string(n->op, "/key"));
    }
    (void)snprintf(id, sizeof id, "%s", http_string(n->op, "/id"));
    http_delete(n->op, "/v1/admin/keys/%s", id);
    EXPECT_STATUS(n->op, 204);
}

static void back_up(struct neighbours *n)
{
    http_json(n->op, "POST", "{'name':'name-of-okapi','table':'hidden-koala'}",
              "/v1/admin/tenants/acme-zebra/backups");
    EXPECT_STATUS(n->op, 202);
    name_set(&n->theirs, NAME_OPERATION, http_string(n->op, "/id"));
    ck_assert_str_eq(admin_await_end(n->op, "/state", "/v1/admin/tenants/acme-zebra/operations/%s",
                                     n->theirs.text[NAME_OPERATION]),
                     "done");
}

void neighbours_make_theirs(struct neighbours *n)
{
    char second[WORLD_KEY];
    for (size_t i = 0; i < sizeof SECRETS / sizeof SECRETS[0]; i++)
        add_secret(n, SECRETS[i]);
    http_json(n->op, "PUT",
              "{'display_name':'plan-name-of-gnu','quota':{'write_ops_per_s':15485863}}",
              "/v1/admin/plans/plan-of-galah");
    EXPECT_STATUS(n->op, 201);
    http_json(n->op, "POST",
              "{'id':'acme-zebra','display_name':'display-of-yak','plan':'plan-of-galah',"
              "'quota':{'rows':6700417}}",
              "/v1/admin/tenants");
    EXPECT_STATUS(n->op, 201);
    http_json(n->op, "POST", "{'label':'label-of-emu'}", "/v1/admin/tenants/acme-zebra/keys");
    EXPECT_STATUS(n->op, 201);
    (void)snprintf(n->b_key, sizeof n->b_key, "%s", http_string(n->op, "/key"));
    name_set(&n->theirs, NAME_KEYID, http_string(n->op, "/id"));
    http_json(n->op, "POST", "{'label':'label-of-zho'}", "/v1/admin/tenants/acme-zebra/keys");
    EXPECT_STATUS(n->op, 201);
    (void)snprintf(second, sizeof second, "%s", http_string(n->op, "/key"));
    add_secret(n, http_string(n->op, "/id"));
    add_key_secret(n, n->b_key);
    add_key_secret(n, second);
    share_keys(n);
    n->b = http_open(&n->server, HTTP_2, n->b_key);
    fill_theirs(n);
    back_up(n);
    neighbours_make_views(n, n->b_key, &n->theirs);
    take_tokens(n);
}
