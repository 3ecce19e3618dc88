/*
 * cli/tenant_views.c - authorized views of a moving tenant; see tenant_move.h.
 *
 * Only gRPC has views. A view's subset and protection are copied as received and compared byte by
 * byte, because both servers encode messages identically. Fields have the numbers of
 * google/bigtable/admin/v2.
 */
#include <stdio.h>

#include "base/alloc.h"
#include "cli/bounds.h"
#include "cli/call.h"
#include "cli/out.h"
#include "cli/tenant_move.h"
#include "cli/transfer_manifest.h"
#include "cli/wire.h"

#include "base/banned.h"

#define ADMIN      "/google.bigtable.admin.v2.BigtableTableAdmin/"
#define NAME_BYTES 512
/* A view as received, and names. */
#define REQUEST_BYTES (CLI_CALL_REPLY_BYTES + 1 * MIB)

#define NUMBER(field) CLI_WIRE_TAG(field, CLI_WIRE_NUMBER)
#define BYTES(field)  CLI_WIRE_TAG(field, CLI_WIRE_BYTES)

enum { LIST_PARENT = 1, LIST_TOKEN = 3, LIST_DETAIL = 4 };
enum { LISTED_VIEW = BYTES(1), LISTED_TOKEN = BYTES(2) };
enum { DETAIL_FULL = 3 };
enum { CREATE_PARENT = 1, CREATE_ID = 2, CREATE_VIEW = 3 };
enum { UPDATE_VIEW = 1, UPDATE_MASK = 2, MASK_PATH = 1, DELETE_NAME = 1 };
enum { VIEW_NAME = 1, VIEW_SUBSET = 2, VIEW_PROTECTED = 4 };

struct view {
    struct slice name; /* last part of the view's name, without its parents */
    struct slice body; /* the two fields that define the view */
};

struct views {
    struct view list[LIM_VIEWS];
    size_t count;
};

static void fini_views(struct views *v)
{
    for (size_t i = 0; i < v->count; i++) {
        cli_slice_free(&v->list[i].name);
        cli_slice_free(&v->list[i].body);
    }
    v->count = 0;
}

static const struct view *find(const struct views *v, struct slice name)
{
    for (size_t i = 0; i < v->count; i++)
        if (base_slice_equal(v->list[i].name, name))
            return &v->list[i];
    return NULL;
}

static void name_table(const struct cli_tenant_move *m, const struct cli_tenant_side *side,
                       const char *table, char out[NAME_BYTES])
{
    int n = snprintf(out, NAME_BYTES, "projects/%s/instances/%s/tables/%s", m->tenant,
                     side->instance, table);
    INVARIANT(n > 0 && n < NAME_BYTES); /* IDs are bounded */
}

/* --- lists ------------------------------------------------------------------------------------
 */

static struct slice last_part(struct slice name)
{
    for (size_t i = name.len; i > 0; i--)
        if (name.ptr[i - 1] == '/')
            return base_slice_skip(name, i);
    return name;
}

static bool take_view(struct views *v, struct slice message)
{
    struct cli_wire_field name;
    struct cli_wire_field subset;
    struct cli_wire_field protected;
    struct buf body;
    if (v->count == LIM_VIEWS || !cli_wire_find(message, BYTES(VIEW_NAME), &name) ||
        !cli_wire_find(message, BYTES(VIEW_SUBSET), &subset) ||
        !cli_wire_find(message, NUMBER(VIEW_PROTECTED), &protected) || name.bytes.len == 0)
        return false;
    base_buf_init(&body, CLI_CALL_REPLY_BYTES);
    if (subset.tag != 0)
        cli_wire_put_bytes(&body, VIEW_SUBSET, subset.bytes);
    if (protected.number != 0)
        cli_wire_put_number(&body, VIEW_PROTECTED, protected.number);
    INVARIANT(body.error == ERR_OK); /* at most the message's length */
    v->list[v->count++] = (struct view){.name = cli_slice_copy(last_part(name.bytes)),
                                        .body = cli_slice_copy(base_buf_slice(&body))};
    base_buf_fini(&body);
    return true;
}

/* Handles a page; *token: the next page's, empty after the last one. */
static bool take_page(struct views *v, struct slice reply, struct buf *token)
{
    struct cli_wire_field field;
    base_buf_truncate(token, 0);
    while (reply.len > 0) {
        if (!cli_wire_next(&reply, &field))
            return false;
        if (field.tag == LISTED_VIEW && !take_view(v, field.bytes))
            return false;
        if (field.tag == LISTED_TOKEN)
            base_buf_append(token, field.bytes);
    }
    return token->error == ERR_OK;
}

static enum cli_exit list_views(struct cli_tenant_move *m, struct cli_tenant_side *side,
                                const char *table, struct views *out)
{
    char name[NAME_BYTES];
    struct buf token;
    enum cli_exit e = CLI_OK;
    name_table(m, side, table, name);
    base_buf_init(&token, NAME_BYTES);
    out->count = 0;
    do {
        struct buf request;
        struct buf reply = {0};
        base_buf_init(&request, REQUEST_BYTES);
        cli_wire_put_bytes(&request, LIST_PARENT, base_slice_text(name));
        cli_wire_put_bytes(&request, LIST_TOKEN, base_buf_slice(&token));
        cli_wire_put_number(&request, LIST_DETAIL, DETAIL_FULL);
        e = cli_call_ask(side->data, ADMIN "ListAuthorizedViews", base_buf_slice(&request),
                         CLI_CALL_DONE, &reply);
        if (e == CLI_OK && !take_page(out, base_buf_slice(&reply), &token))
            e = cli_fail(CLI_REFUSED, "the server's list of authorized views is none");
        base_buf_fini(&reply);
        base_buf_fini(&request);
    } while (e == CLI_OK && token.len > 0);
    base_buf_fini(&token);
    if (e != CLI_OK)
        fini_views(out);
    return e;
}

/* --- changes at the destination -----------------------------------------------------------------
 */

/* Appends the view as a field of a request: its full name, and a body. */
static void put_view(struct buf *out, unsigned field, const char *name, struct slice body)
{
    struct buf view;
    base_buf_init(&view, REQUEST_BYTES);
    if (name != NULL)
        cli_wire_put_bytes(&view, VIEW_NAME, base_slice_text(name));
    base_buf_append(&view, body);
    cli_wire_put_bytes(out, field, base_buf_slice(&view));
    base_buf_fini(&view);
}

static enum cli_exit send(struct cli_tenant_move *m, const char *path, struct buf *request,
                          enum cli_call_status also)
{
    struct buf reply = {0};
    enum cli_exit e = cli_call_ask(m->to.data, path, base_buf_slice(request), also, &reply);
    base_buf_fini(&reply);
    base_buf_fini(request);
    return e;
}

static void name_view(const struct cli_tenant_move *m, const char *table, struct slice name,
                      char out[NAME_BYTES])
{
    char parent[NAME_BYTES];
    name_table(m, &m->to, table, parent);
    int n = snprintf(out, NAME_BYTES, "%s/authorizedViews/%.*s", parent, SLICE_ARGS(name));
    INVARIANT(n > 0 && n < NAME_BYTES); /* the name's parts are bounded */
}

static enum cli_exit create(struct cli_tenant_move *m, const char *table, const struct view *v)
{
    char parent[NAME_BYTES];
    struct buf request;
    name_table(m, &m->to, table, parent);
    base_buf_init(&request, REQUEST_BYTES);
    cli_wire_put_bytes(&request, CREATE_PARENT, base_slice_text(parent));
    cli_wire_put_bytes(&request, CREATE_ID, v->name);
    put_view(&request, CREATE_VIEW, NULL, v->body);
    return send(m, ADMIN "CreateAuthorizedView", &request, CLI_CALL_EXISTS);
}

static enum cli_exit update(struct cli_tenant_move *m, const char *table, struct slice name,
                            struct slice body, const char *path)
{
    char whole[NAME_BYTES];
    struct buf request;
    struct buf mask;
    name_view(m, table, name, whole);
    base_buf_init(&request, REQUEST_BYTES);
    put_view(&request, UPDATE_VIEW, whole, body);
    base_buf_init(&mask, NAME_BYTES);
    cli_wire_put_bytes(&mask, MASK_PATH, base_slice_text(path));
    cli_wire_put_bytes(&request, UPDATE_MASK, base_buf_slice(&mask));
    base_buf_fini(&mask);
    return send(m, ADMIN "UpdateAuthorizedView", &request, CLI_CALL_DONE);
}

/* Removes a view, also a protected one. */
static enum cli_exit remove_view(struct cli_tenant_move *m, const char *table, struct slice name)
{
    char whole[NAME_BYTES];
    struct buf request;
    enum cli_exit e = update(m, table, name, SLICE_EMPTY, "deletion_protection");
    if (e != CLI_OK)
        return e;
    name_view(m, table, name, whole);
    base_buf_init(&request, REQUEST_BYTES);
    cli_wire_put_bytes(&request, DELETE_NAME, base_slice_text(whole));
    return send(m, ADMIN "DeleteAuthorizedView", &request, CLI_CALL_NOT_FOUND);
}

/* --- both servers -------------------------------------------------------------------------------
 */

static enum cli_exit settle(struct cli_tenant_move *m, const char *table,
                            const struct views *wanted, const struct views *there)
{
    enum cli_exit e = CLI_OK;
    for (size_t i = 0; i < there->count && e == CLI_OK; i++)
        if (find(wanted, there->list[i].name) == NULL)
            e = remove_view(m, table, there->list[i].name);
    for (size_t i = 0; i < wanted->count && e == CLI_OK; i++) {
        const struct view *v = &wanted->list[i];
        const struct view *now = find(there, v->name);
        if (now == NULL)
            e = create(m, table, v);
        else if (!base_slice_equal(now->body, v->body))
            e = update(m, table, v->name, v->body, "*");
    }
    return e;
}

static bool equal(const struct views *a, const struct views *b)
{
    bool is_equal = a->count == b->count;
    for (size_t i = 0; i < a->count && is_equal; i++) {
        const struct view *other = find(b, a->list[i].name);
        is_equal = other != NULL && base_slice_equal(other->body, a->list[i].body);
    }
    return is_equal;
}

static enum cli_exit bring(struct cli_tenant_move *m, const char *table, const struct views *wanted)
{
    struct views *there = base_new(sizeof *there);
    enum cli_exit e = list_views(m, &m->to, table, there);
    if (e == CLI_OK && !equal(wanted, there)) {
        e = settle(m, table, wanted, there);
        fini_views(there);
        if (e == CLI_OK)
            e = list_views(m, &m->to, table, there);
        if (e == CLI_OK && !equal(wanted, there))
            e = cli_fail(CLI_CHECK_FAILED, "the authorized views of the table %s differ", table);
    }
    fini_views(there);
    base_free(there);
    return e;
}

enum cli_exit cli_moving_views(struct cli_tenant_move *m, const struct cli_tenant_table *t)
{
    struct views *here = base_new(sizeof *here);
    enum cli_exit e = list_views(m, &m->from, t->id, here);
    m->views += here->count;
    if (e == CLI_OK)
        e = bring(m, t->id, here);
    fini_views(here);
    base_free(here);
    return e;
}

enum cli_exit cli_moving_no_views(struct cli_tenant_move *m, const struct cli_tenant_table *t)
{
    struct views *none = base_new(sizeof *none);
    enum cli_exit e = bring(m, t->id, none);
    base_free(none);
    return e;
}

enum cli_exit cli_moving_count_views(struct cli_tenant_move *m, const char *table, size_t *out)
{
    struct views *here = base_new(sizeof *here);
    enum cli_exit e = list_views(m, &m->from, table, here);
    *out = here->count;
    fini_views(here);
    base_free(here);
    return e;
}
