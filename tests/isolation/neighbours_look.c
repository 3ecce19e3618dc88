/*
 * tests/isolation/neighbours_look.c - is a neighbour's thing in a text, and is all of it still
 * there.
 *
 * A secret may come as it is, or inside base64 that begins anywhere: then its bytes stand at one of
 * three places in a group, and the letters that depend on it alone are looked for. Numbers must
 * stand alone.
 */
#define _GNU_SOURCE
#include <check.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "tests/isolation/neighbours.h"

#include "base/banned.h"

/* --- secrets -----------------------------------------------------------------------------------
 */

static bool is_number(const char *text)
{
    return text[strspn(text, "0123456789")] == '\0';
}

static bool has_number(struct slice text, const char *number)
{
    size_t len = strlen(number);
    const uint8_t *end = text.ptr + text.len;
    for (const uint8_t *at = text.ptr; at != NULL && at < end; at++) {
        at = memmem(at, (size_t)(end - at), number, len);
        if (at == NULL)
            return false;
        bool begins = at == text.ptr || !isalnum(at[-1]);
        bool ends = at + len == end || !isalnum(at[len]);
        if (begins && ends)
            return true;
    }
    return false;
}

static bool has_base64(struct slice text, const char *secret)
{
    for (size_t shift = 0; shift < 3; shift++) {
        struct buf plain, coded;
        base_buf_init(&plain, NAME_BYTES);
        base_buf_init(&coded, 2 * NAME_BYTES);
        ck_assert_int_eq(base_buf_append(&plain, base_slice("\0\0", shift)), ERR_OK);
        ck_assert_int_eq(base_buf_append_text(&plain, secret), ERR_OK);
        base_buf_truncate(&plain, plain.len - plain.len % 3);
        ck_assert_int_eq(base_base64_encode(base_buf_slice(&plain), &coded), ERR_OK);
        size_t skip = shift == 0 ? 0 : 4; /* letters that what stands in front has a part in */
        bool found = memmem(text.ptr, text.len, coded.ptr + skip, coded.len - skip) != NULL;
        base_buf_fini(&plain);
        base_buf_fini(&coded);
        if (found)
            return true;
    }
    return false;
}

static bool shows(struct slice text, const char *what)
{
    if (text.len == 0)
        return false;
    if (is_number(what))
        return has_number(text, what);
    return names_find(text, what) || has_base64(text, what);
}

const char *neighbours_secret(const struct neighbours *n, struct slice text)
{
    for (size_t i = 0; i < n->secret_count; i++)
        if (shows(text, n->secrets[i]))
            return n->secrets[i];
    return NULL;
}

const char *neighbours_name(const struct neighbours *n, struct slice text)
{
    for (size_t i = 0; i < NAME_COUNT; i++)
        if (shows(text, n->theirs.text[i]))
            return n->theirs.text[i];
    return NULL;
}

#define KEY_SECRET 36 /* characters; no other secret is as long */

const char *neighbours_data(const struct neighbours *n, struct slice text)
{
    static const char *const data[] = {"secret-of-kiwi", "value-of-bilby", "row-of-wombat",
                                       "row-of-marten",  "row-of-0",       "qual-of-possum",
                                       "qual-of-stoat",  "qual-of-ibex",   "notes-of-lemur"};
    for (size_t i = 0; i < sizeof data / sizeof data[0]; i++)
        if (shows(text, data[i]))
            return data[i];
    for (size_t i = 0; i < n->secret_count; i++)
        if (strlen(n->secrets[i]) >= KEY_SECRET && shows(text, n->secrets[i]))
            return n->secrets[i];
    return NULL;
}

/* --- what others have --------------------------------------------------------------------------
 */

static void note(struct http *h, struct buf *out, const char *target)
{
    http_get(h, "%s", target);
    ck_assert_msg(h->status == 200, "%s: %s", target, http_text(h));
    ck_assert_int_eq(base_buf_append_text(out, target), ERR_OK);
    ck_assert_int_eq(base_buf_append_byte(out, '\n'), ERR_OK);
    ck_assert_int_eq(base_buf_append(out, base_buf_slice(&h->body)), ERR_OK);
    ck_assert_int_eq(base_buf_append_byte(out, '\n'), ERR_OK);
}

void neighbours_look(struct neighbours *n, struct buf *out)
{
    base_buf_truncate(out, 0);
    note(n->op, out, "/v1/admin/tenants?prefix=acme-"); /* none more, and of the same sizes */
}

static void note_trail(struct neighbours *n, struct buf *out, const char *tenant, int64_t from)
{
    char target[NAME_BYTES];
    (void)snprintf(target, sizeof target, "/v1/admin/audit?tenant=%s&limit=1000&from=%lld", tenant,
                   (long long)from);
    note(n->op, out, target);
}

void neighbours_look_at_trails(struct neighbours *n, struct buf *out)
{
    base_buf_truncate(out, 0);
    note(n->op, out, "/v1/admin/tenants/acme-zebra/keys");
    note_trail(n, out, "acme-zebra", n->trail_end);
    note_trail(n, out, "acme-", n->trail_end);
}

void neighbours_look_first(struct neighbours *n, struct buf *out, struct buf *out_trails)
{
    http_get(n->op, "/v1/admin/audit/head");
    EXPECT_STATUS(n->op, 200);
    n->trail_end = http_number(n->op, "/number") + 1;
    neighbours_look(n, out);
    neighbours_look_at_trails(n, out_trails);
}

static void note_rows(struct http *h, struct buf *out, const char *table)
{
    char target[NAME_BYTES];
    (void)snprintf(target, sizeof target, "/v1/tables/%s", table);
    note(h, out, target);
    (void)snprintf(target, sizeof target, "/v1/tables/%s/rows", table);
    http_once(h, "Accept: application/x-ndjson");
    note(h, out, target);
}

void neighbours_look_at_things(struct neighbours *n, struct buf *out)
{
    note(n->op, out, "/v1/admin/tenants/acme-zebra");
    note(n->op, out, "/v1/admin/tenants/acme-zebra/keys");
    note(n->op, out, "/v1/admin/tenants?prefix=acme-"); /* none more, and of the same sizes */
    note(n->op, out, "/v1/admin/plans");
    note(n->op, out, "/v1/admin/keys");
    note(n->b, out, "/v1/tables");
    note_rows(n->b, out, "table-of-quokka");
    note_rows(n->b, out, "hidden-koala");
    note_rows(n->b, out, "devices");
    note(n->between, out, "/v1/tables");
    note_rows(n->between, out, "devices");
    note(n->op, out, "/v1/admin/tenants/acme-zebra/usage?recount=true");
    note(n->op, out, "/v1/admin/tenants/acme-/usage?recount=true");
}

void neighbours_look_closely(struct neighbours *n, struct buf *out)
{
    base_buf_truncate(out, 0);
    note_trail(n, out, "acme-zebra", 1);
    note_trail(n, out, "acme-", 1);
    neighbours_look_at_things(n, out);
}

void neighbours_same(const struct buf *before, const struct buf *after, const char *by)
{
    struct slice a = base_buf_slice(before), b = base_buf_slice(after);
    size_t at = 0;
    if (base_slice_equal(a, b))
        return;
    while (at < a.len && at < b.len && a.ptr[at] == b.ptr[at])
        at++;
    size_t from = at < 100 ? 0 : at - 100;
    ck_abort_msg("DATA: %s changed what others have: ...%.*s, then %.*s, before %.*s", by,
                 (int)(at - from), (const char *)a.ptr + from,
                 (int)(b.len - at < 200 ? b.len - at : 200), (const char *)b.ptr + at,
                 (int)(a.len - at < 200 ? a.len - at : 200), (const char *)a.ptr + at);
}
