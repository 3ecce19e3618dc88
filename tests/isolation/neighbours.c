/*
 * tests/isolation/neighbours.c - a tenant that asks, and one who has things to be found.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "tests/isolation/neighbours_make.h"

#include "base/banned.h"

/* --- names -------------------------------------------------------------------------------------
 */

/* Those that are made by the server come later. */
static const char *const OWN[NAME_COUNT] = {
    [NAME_TENANT] = "acme",
    [NAME_TABLE] = "devices",
    [NAME_VIEW] = "all",
    [NAME_KEY] = "row-1",
    [NAME_FAMILY] = "stats",
    [NAME_QUALIFIER] = "q",
    [NAME_VALUE] = "plain",
    [NAME_PLAN] = "gold",
    [NAME_LABEL] = "app",
    [NAME_KEYID] = "AAAAAAAAAAAA",
    [NAME_JOB] = "0000000000000009",
    [NAME_BACKUP] = "0000000000000008",
    [NAME_SAVED] = "saved",
    [NAME_IDEMPOTENCY] = "token-of-mine-1",
};
static const char *const THEIRS[NAME_COUNT] = {
    [NAME_TENANT] = "acme-zebra",    [NAME_TABLE] = "table-of-quokka",
    [NAME_VIEW] = "view-of-numbat",  [NAME_KEY] = "row-of-wombat",
    [NAME_FAMILY] = "fam-of-dingo",  [NAME_QUALIFIER] = "qual-of-possum",
    [NAME_VALUE] = "value-of-bilby", [NAME_PLAN] = "plan-of-galah",
    [NAME_LABEL] = "label-of-emu",   [NAME_IDEMPOTENCY] = "token-of-heron",
    [NAME_SAVED] = "saved-of-coati",
};

/* --- acme --------------------------------------------------------------------------------------
 */

/* The odd ones look like another tenant's keys as they are stored. */
static const char ROWS[] =
    "{'op':'put','key':'row-1','cells':{'stats':{'q':{'value':'plain','timestamp':'1000'},"
    "'n':{'value_b64':'AAAAAAAAAAE=','timestamp':'1000'}}}}\n"
    "{'op':'put','key':'row-2','cells':{'stats':{'q':{'value':'plain','timestamp':'1000'}}}}\n"
    "{'op':'put','key':'zebra#devices#row-1','cells':{'stats':{'q':{'value':'odd',"
    "'timestamp':'1000'}}}}\n"
    "{'op':'put','key':'-zebra#devices#row-1','cells':{'stats':{'q':{'value':'odd',"
    "'timestamp':'1000'}}}}\n"
    "{'op':'delete','key':'row-3'}\n{'op':'delete','key':'row-4'}\n";

static void put_rows(struct http *h, const char *rows)
{
    http_once(h, "Content-Type: application/x-ndjson");
    http_json(h, "POST", rows, "/v1/tables/devices:write");
    EXPECT_STATUS(h, 200);
    ck_assert_msg(names_find(base_buf_slice(&h->body), "\"failed\":0"), "%s", http_text(h));
}

static void put_table(struct http *h, const char *body, const char *table)
{
    http_json(h, "PUT", body, "/v1/tables/%s", table);
    ck_assert_msg(h->status <= 201, "%s", http_text(h));
}

static void fill_own(struct http *h)
{
    put_table(h,
              "{'families':{'stats':{},'raw':{},'sums':{'type':'sum'}},"
              "'change_stream_retention':'86400s'}",
              "devices");
    put_table(h, "{'families':{'stats':{}}}", "people");
    put_rows(h, ROWS);
}

void neighbours_renew_rows(struct neighbours *n, struct http *h)
{
    char rows[sizeof ROWS + 4 * NAME_BYTES];
    (void)snprintf(rows, sizeof rows, "%s{'op':'delete','key':'%s'}\n{'op':'delete','key':'%s'}\n",
                   ROWS, n->theirs.text[NAME_KEY], n->nobodys.text[NAME_KEY]);
    put_rows(h, rows);
}

static void remove_table(struct http *h, const char *table)
{
    http_delete(h, "/v1/tables/%s", table);
    ck_assert_msg(h->status == 204 || h->status == 404, "%s", http_text(h));
}

/* A walk changes more tables in a second than anybody; it may have changed the quota, too. */
static void renew_rate(struct neighbours *n)
{
    http_json(n->op, "PUT", "{'control_ops_per_s':1000}", "/v1/admin/tenants/acme/quota");
    EXPECT_STATUS(n->op, 200);
}

void neighbours_renew(struct neighbours *n, struct http *h, bool was_named)
{
    renew_rate(n);
    remove_table(h, "people");
    remove_table(h, "devices");
    remove_table(h, "devices-new");
    for (size_t i = 0; was_named && i < 4; i++) {
        char table[NAME_BYTES + 4];
        (void)snprintf(table, sizeof table, "%s%s",
                       (i < 2 ? &n->theirs : &n->nobodys)->text[NAME_TABLE],
                       i % 2 == 0 ? "" : "-new");
        remove_table(h, table);
    }
    fill_own(h);
}

/* --- both --------------------------------------------------------------------------------------
 */

static void make_others(struct neighbours *n)
{
    char key[WORLD_KEY];
    http_json(n->op, "PUT", "{'display_name':'gold','quota':{}}", "/v1/admin/plans/gold");
    EXPECT_STATUS(n->op, 201);
    admin_create_tenant(n->op, "acme");
    admin_create_key(n->op, "acme", NULL, n->a_key, n->a_id);
    n->a = http_open(&n->server, HTTP_2, n->a_key);
    admin_create_tenant(n->op, "acme-");
    admin_create_key(n->op, "acme-", NULL, key, NULL);
    n->between = http_open(&n->server, HTTP_2, key);
    fill_own(n->between);
    admin_create_tenant(n->op, "left-long-ago");
    admin_create_key(n->op, "left-long-ago", NULL, n->gone_key, NULL);
    http_json(n->op, "POST", "{'confirm':'left-long-ago'}",
              "/v1/admin/tenants/left-long-ago:offboard");
    EXPECT_STATUS(n->op, 202);
    name_set(&n->theirs, NAME_JOB, http_string(n->op, "/job"));
    admin_await_job(n->op, n->theirs.text[NAME_JOB]);
    http_json(n->op, "POST", "{}", "/v1/admin/backups");
    EXPECT_STATUS(n->op, 202);
    name_set(&n->theirs, NAME_BACKUP, http_string(n->op, "/id"));
    (void)admin_await_end(n->op, "/state", "/v1/admin/backups/%s", n->theirs.text[NAME_BACKUP]);
}

static size_t log_size(const struct neighbours *n, struct buf *out)
{
    memset(out, 0, sizeof *out);
    ck_assert_int_eq(base_file_read(n->server.log, 64 * MIB, out, NULL), ERR_OK);
    return out->len;
}

void neighbours_begin(struct neighbours *n)
{
    struct buf log;
    memset(n, 0, sizeof *n);
    server_create(&n->server);
    n->server.options[0] = "--emulator";
    n->server.options[1] = "127.0.0.1:0";
    server_start(&n->server, NULL);
    n->op = http_open(&n->server, HTTP_2, n->server.operator_key);
    for (size_t i = 0; i < NAME_COUNT; i++) {
        name_set(&n->own, (enum name)i, OWN[i] == NULL ? "" : OWN[i]);
        name_set(&n->theirs, (enum name)i, THEIRS[i] == NULL ? "" : THEIRS[i]);
    }
    make_others(n);
    fill_own(n->a);
    neighbours_take_tokens(n, n->a, n->a_key, &n->own);
    neighbours_make_theirs(n);
    for (size_t i = 0; i < NAME_COUNT; i++)
        name_spoil(&n->theirs, (enum name)i, &n->nobodys);
    n->log_at = log_size(n, &log);
    base_buf_fini(&log);
}

static void expect_log_clean(struct neighbours *n)
{
    struct buf log;
    size_t len = log_size(n, &log);
    struct slice caused = base_slice(log.ptr + n->log_at, len - n->log_at);
    const char *found = neighbours_secret(n, caused);
    if (found == NULL)
        found = neighbours_name(n, caused);
    ck_assert_msg(found == NULL, "DATA: the log has \"%s\": %.*s", found, SLICE_ARGS(caused));
    base_buf_fini(&log);
}

void neighbours_end(struct neighbours *n)
{
    expect_log_clean(n);
    http_close(n->a);
    http_close(n->b);
    http_close(n->between);
    http_close(n->op);
    server_stop(&n->server);
    server_remove(&n->server);
}
