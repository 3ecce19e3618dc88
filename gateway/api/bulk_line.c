/*
 * gateway/api/bulk_line.c - one line of a bulk write: from its text to an operation, to a verdict.
 */
#include "gateway/api/bulk_line.h"

#include "gateway/api/json_out.h"
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
    base_arena_init(&l->arena, ARENA_MAX);
}

void gw_bulk_line_clear(struct gw_bulk_line *l)
{
    if (l->has_scope)
        sto_table_scope_release(&l->op.scope);
    l->has_scope = false;
    json_decref(l->json);
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

static enum err parse_op(struct gw_bulk_line *l, struct slice op, enum gw_row_verb *out,
                         bool *out_delete)
{
    *out = GW_ROW_PATCH;
    *out_delete = false;
    if (op.ptr == NULL || base_slice_is(op, "patch"))
        return ERR_OK;
    if (base_slice_is(op, "put"))
        *out = GW_ROW_PUT;
    else if (base_slice_is(op, "delete"))
        *out_delete = true;
    else
        return base_fail(&l->op.detail, ERR_INVALID,
                         "\"op\" must be \"patch\", \"put\" or \"delete\"");
    return ERR_OK;
}

static enum err build_mutations(struct gw_bulk_line *l, enum gw_row_verb verb, bool is_delete)
{
    const json_t *cells = json_object_get(l->json, "cells");
    struct errbuf *eb = &l->op.detail;
    if (is_delete && cells != NULL)
        return base_fail(eb, ERR_INVALID, "\"delete\" takes no \"cells\"");
    if (is_delete) {
        l->delete_row.kind = STO_DELETE_FROM_ROW;
        l->op.mutations = &l->delete_row;
        l->op.mutation_count = 1;
        return ERR_OK;
    }
    if (!json_is_object(cells))
        return base_fail(eb, ERR_INVALID, "\"cells\" must be an object of families");
    enum err e = gw_row_body_build(cells, verb, l->op.scope.schema, &l->arena, &l->body, eb);
    l->op.mutations = l->body.mutations;
    l->op.mutation_count = l->body.count;
    return e;
}

enum err gw_bulk_line_build(struct gw_bulk_line *l, const struct sto_account *account,
                            struct slice text)
{
    static const char *const names[] = {"op", "key", "key_b64", "cells", NULL};
    struct errbuf *eb = &l->op.detail;
    struct slice op;
    enum gw_row_verb verb = GW_ROW_PATCH;
    bool is_delete = false;
    enum err e = gw_json_parse(text, &l->json, eb);
    if (e == ERR_OK)
        e = gw_json_only(l->json, names, eb);
    if (e == ERR_OK)
        e = gw_json_get_text(l->json, "op", &op, eb);
    if (e == ERR_OK)
        e = parse_op(l, op, &verb, &is_delete);
    if (e == ERR_OK)
        e = gw_json_get_bytes(l->json, "key", &l->arena, &l->op.row_key, eb);
    if (e == ERR_OK && l->op.row_key.ptr == NULL)
        e = base_fail(eb, ERR_INVALID, "\"key\" or \"key_b64\" is missing");
    if (e == ERR_OK)
        e = build_mutations(l, verb, is_delete);
    if (e != ERR_OK)
        return e;
    return sto_mutations_check(l->op.scope.schema, account, l->op.row_key, l->op.mutations,
                               l->op.mutation_count, eb);
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
    if (e == ERR_RATE_LIMITED)
        gw_json_name_u64(&j, "retry_after_ms", l->retry_ns / NS_PER_MS + 1);
    gw_json_close(&j, '}');
    (void)base_buf_append_byte(out, '\n'); /* latches */
}
