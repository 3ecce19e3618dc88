/*
 * gateway/api/bulk_line.c - one line of a bulk write: from its text to an operation to a verdict.
 *
 * Lines of cells are read in one pass, without a tree. At a member "mutations" that pass stops, and
 * the line is read again with a tree.
 */
#include "gateway/api/bulk_line.h"

#include "gateway/api/idempotency.h"
#include "gateway/api/json_out.h"
#include "gateway/api/mutation_json.h"
#include "gateway/problem.h"

#include "base/banned.h"

#define ARENA_MAX (3 * LIM_BULK_LINE_BYTES)
#define NS_PER_MS 1000000U

void gw_bulk_line_init(struct gw_bulk_line *l, struct gw_bulk *bulk, uint64_t number, size_t bytes)
{
    memset(l, 0, sizeof *l);
    l->bulk = bulk;
    l->number = number;
    l->bytes = bytes;
    l->unit_us = 1;
    base_arena_init(&l->arena, ARENA_MAX);
}

void gw_bulk_line_clear(struct gw_bulk_line *l)
{
    if (l->has_scope)
        sto_table_scope_release(&l->op.scope);
    l->has_scope = false;
    gw_json_free(l->json, &l->json_charge);
    l->json = NULL;
    base_buf_fini(&l->text);
    base_arena_fini(&l->arena);
}

enum err gw_bulk_line_enter(struct gw_bulk_line *l, struct ten_tenant *t, struct slice table)
{
    if (l->has_scope)
        sto_table_scope_release(&l->op.scope);
    enum err e = ten_scope_table(t, table, &l->op.scope, &l->op.detail);
    l->has_scope = e == ERR_OK;
    return e;
}

/* The members of a line; each ptr is NULL until the member was seen. */
struct members {
    struct slice op;
    struct slice key;
    struct slice token;
    struct slice start;
    struct gw_row_cells cells;
    bool has_cells;
    bool has_mutations; /* nothing after it was read */
    unsigned seen;
};

static enum err malformed(struct gw_bulk_line *l)
{
    return base_fail(&l->op.detail, ERR_INVALID, "not valid JSON");
}

static enum err take_text(struct gw_bulk_line *l, struct gw_scan *scan, const char *name,
                          struct slice *out)
{
    if (gw_scan_null(scan) || gw_scan_string(scan, out))
        return ERR_OK;
    if (scan->out_of_memory)
        return base_fail(&l->op.detail, ERR_NO_MEMORY, "out of memory for a line");
    return base_fail(&l->op.detail, ERR_INVALID, "\"%s\" must be text", name);
}

static enum err take_key(struct gw_bulk_line *l, struct gw_scan *scan, bool is_base64,
                         struct slice *key)
{
    struct slice text = SLICE_EMPTY;
    enum err e = take_text(l, scan, is_base64 ? "key_b64" : "key", &text);
    if (e != ERR_OK || text.ptr == NULL)
        return e;
    if (key->ptr != NULL)
        return base_fail(&l->op.detail, ERR_INVALID, "give \"key\" or \"key_b64\", not both");
    if (is_base64)
        return gw_scan_base64(scan, text, "key_b64", key, &l->op.detail);
    *key = text;
    return ERR_OK;
}

#define TOKEN_FIELD "idempotency_token"
#define START_FIELD "idempotency_start"

enum { OP = 1, KEY = 2, KEY_B64 = 4, CELLS = 8, TOKEN = 16, START = 32 };

static unsigned member_bit(struct slice name)
{
    if (base_slice_is(name, "key"))
        return KEY;
    if (base_slice_is(name, "cells"))
        return CELLS;
    if (base_slice_is(name, "op"))
        return OP;
    if (base_slice_is(name, TOKEN_FIELD))
        return TOKEN;
    if (base_slice_is(name, START_FIELD))
        return START;
    return base_slice_is(name, "key_b64") ? KEY_B64 : 0;
}

static enum err take_member(struct gw_bulk_line *l, struct gw_scan *scan, struct slice name,
                            struct members *m)
{
    unsigned bit = member_bit(name);
    if ((m->seen & bit) != 0)
        return malformed(l);
    m->seen |= bit;
    if (bit == OP)
        return take_text(l, scan, "op", &m->op);
    if (bit == TOKEN)
        return take_text(l, scan, TOKEN_FIELD, &m->token);
    if (bit == START)
        return take_text(l, scan, START_FIELD, &m->start);
    if (bit == KEY || bit == KEY_B64)
        return take_key(l, scan, bit == KEY_B64, &m->key);
    if (bit == CELLS) {
        m->has_cells = true;
        return gw_row_cells_scan(scan, l->op.scope.schema, l->unit_us, &m->cells, &l->op.detail);
    }
    return base_fail(&l->op.detail, ERR_INVALID, "unknown field \"%.*s\"",
                     (int)(name.len < 48 ? name.len : 48), (const char *)name.ptr);
}

static enum err scan_line(struct gw_bulk_line *l, struct slice text, struct members *m)
{
    struct gw_scan scan;
    gw_scan_init(&scan, text, &l->arena);
    if (!gw_scan_take(&scan, '{'))
        return base_fail(&l->op.detail, ERR_INVALID, "a line must be an object");
    bool more = !gw_scan_take(&scan, '}');
    while (more) {
        struct slice name;
        if (!gw_scan_name(&scan, &name))
            return malformed(l);
        m->has_mutations = base_slice_is(name, "mutations");
        if (m->has_mutations)
            return ERR_OK;
        enum err e = take_member(l, &scan, name, m);
        if (e != ERR_OK)
            return e;
        if (!gw_scan_next(&scan, '}', &more))
            return malformed(l);
    }
    return gw_scan_is_end(&scan) ? ERR_OK : malformed(l);
}

static enum err build_delete(struct gw_bulk_line *l, const struct members *m)
{
    if (m->has_cells)
        return base_fail(&l->op.detail, ERR_INVALID, "\"delete\" takes no \"cells\"");
    l->delete_row.kind = STO_DELETE_FROM_ROW;
    l->op.mutations = &l->delete_row;
    l->op.mutation_count = 1;
    return ERR_OK;
}

static enum err build_write(struct gw_bulk_line *l, struct members *m, enum gw_row_verb verb)
{
    struct gw_row_body body;
    if (!m->has_cells)
        return base_fail(&l->op.detail, ERR_INVALID, "\"cells\" is missing");
    enum err e = gw_row_cells_finish(&m->cells, verb, &body, &l->op.detail);
    if (e != ERR_OK)
        return e;
    l->op.mutations = body.mutations;
    l->op.mutation_count = body.count;
    return ERR_OK;
}

static enum err build_cells(struct gw_bulk_line *l, struct members *m)
{
    if (m->key.ptr == NULL)
        return base_fail(&l->op.detail, ERR_INVALID, "\"key\" or \"key_b64\" is missing");
    l->op.row_key = m->key;
    if (m->op.ptr == NULL || base_slice_is(m->op, "patch"))
        return build_write(l, m, GW_ROW_PATCH);
    if (base_slice_is(m->op, "put"))
        return build_write(l, m, GW_ROW_PUT);
    if (base_slice_is(m->op, "delete"))
        return build_delete(l, m);
    return base_fail(&l->op.detail, ERR_INVALID, "\"op\" must be \"patch\", \"put\" or \"delete\"");
}

/* Builds the mutations of {"key":..,"mutations":[..]}. */
static enum err build_mutations(struct gw_bulk_line *l, struct slice text, struct members *m)
{
    static const char *const names[] = {"key",       "key_b64",   "mutations",
                                        TOKEN_FIELD, START_FIELD, NULL};
    struct errbuf *eb = &l->op.detail;
    struct gw_mutations mutations;
    enum err e = gw_json_parse(text, &l->json_charge, &l->json, eb);
    if (e == ERR_OK)
        e = gw_json_only(l->json, names, eb);
    if (e == ERR_OK)
        e = gw_json_get_bytes(l->json, "key", &l->arena, &l->op.row_key, eb);
    if (e == ERR_OK && l->op.row_key.ptr == NULL)
        e = base_fail(eb, ERR_INVALID, "\"key\" or \"key_b64\" is missing");
    if (e == ERR_OK)
        e = gw_json_get_text(l->json, TOKEN_FIELD, &m->token, eb);
    if (e == ERR_OK)
        e = gw_json_get_text(l->json, START_FIELD, &m->start, eb);
    if (e == ERR_OK)
        e = gw_mutations_from_json(l->json, "mutations", l->op.scope.schema, l->unit_us, &l->arena,
                                   &mutations, eb);
    if (e != ERR_OK)
        return e;
    l->op.mutations = mutations.list;
    l->op.mutation_count = mutations.count;
    return ERR_OK;
}

static enum err build(struct gw_bulk_line *l, struct slice text, struct members *m)
{
    enum err e = scan_line(l, text, m);
    if (e == ERR_OK)
        e = m->has_mutations ? build_mutations(l, text, m) : build_cells(l, m);
    if (e == ERR_OK)
        e = gw_idempotency_make(m->token, m->start, TOKEN_FIELD, &l->op.idempotency, &l->op.detail);
    return e;
}

enum err gw_bulk_line_build(struct gw_bulk_line *l, const struct sto_account *account,
                            struct slice text)
{
    struct members m = {.op = SLICE_EMPTY};
    enum err e = build(l, text, &m);
    if (e != ERR_OK)
        return gw_row_body_blame(text, e, &l->op.detail);
    return gw_mutations_check(l->op.scope.schema, account, l->op.row_key, l->op.mutations,
                              l->op.mutation_count, m.has_mutations ? "mutations" : NULL,
                              &l->op.detail);
}

void gw_bulk_line_put_verdict(struct buf *out, const struct gw_bulk_line *l)
{
    struct gw_json j = gw_json_start(out);
    enum err e = l->op.result;
    gw_json_open(&j, '{');
    gw_json_name_u64(&j, "line", l->number);
    gw_json_name_u64(&j, "status", e == ERR_OK ? 200 : gw_problem_get((int)e)->status);
    if (e != ERR_OK) {
        gw_json_name_text(&j, "code", gw_problem_get((int)e)->code);
        const char *detail = l->op.detail.text;
        gw_json_name_text(&j, "detail", detail[0] == '\0' ? gw_problem_get((int)e)->title : detail);
    }
    if (l->op.repeated && e == ERR_OK) {
        gw_json_name(&j, "replayed");
        gw_json_bool(&j, true);
    }
    if (e == ERR_OVERLOADED || e == ERR_RATE_LIMITED) {
        uint64_t wait_ns = l->refusal.name != NULL ? l->refusal.wait_ns : l->op.retry_ns;
        gw_json_name_u64(&j, "retry_after_ms", wait_ns / NS_PER_MS + 1);
    }
    if (e == ERR_RATE_LIMITED)
        gw_json_name_text(&j, "policy", l->refusal.name);
    gw_json_close(&j, '}');
    (void)base_buf_append_byte(out, '\n'); /* latches */
}
