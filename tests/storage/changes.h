/*
 * tests/storage/changes.h - tables with change streams, and readers of them.
 *
 * Does:     enable streams as tenancy does, resume them after a reopen, read slices.
 * Owns:     nothing; the caller owns texts.
 * May use:  tests/storage/fixture.h.
 * Knows no: the tests.
 * Threads:  one.
 * Blocks:   for answers.
 * Fails by: ck_assert.
 * Limits:   none.
 * Promises: 1. A reader checks that positions increase, and that parts are complete.
 */
#ifndef TESTS_STORAGE_CHANGES_H
#define TESTS_STORAGE_CHANGES_H

#include "fixture.h"

#define RETENTION_S (2 * 24 * 60 * 60)

static void changes_doc_key(const struct sto_table_scope *scope, char out[256])
{
    struct slice id = sto_scope_tenant_id(&scope->tenant);
    (void)snprintf(out, 256, "s/%.*s/%s", SLICE_ARGS(id), scope->schema->table->id);
}

/* Stores and publishes the table's next schema. retention_s 0: without a stream. */
UNUSED_FN static void changes_set(struct sto_table_scope *scope, uint64_t retention_s)
{
    struct sto_family_spec families[LIM_FAMILIES];
    for (size_t i = 0; i < scope->schema->family_count; i++)
        families[i] = sto_family_spec_of(&scope->schema->families[i]);
    struct sto_table_spec spec = {.families = families,
                                  .family_count = scope->schema->family_count,
                                  .change_retention_s = retention_s,
                                  .now_us = base_wall_us()};
    struct sto_schema *next = NULL;
    ck_assert_int_eq(
        sto_schema_make(sto_schema_table_id(scope->schema), scope->schema, &spec, &next, NULL),
        ERR_OK);
    next->version = scope->schema->version + 1;
    struct buf body;
    char key[256];
    base_buf_init(&body, MIB);
    changes_doc_key(scope, key);
    ck_assert_int_eq(sto_schema_encode(next, &body), ERR_OK);
    struct sto_doc_change change = {
        .key = base_slice_text(key), .body = base_buf_slice(&body), .expect = STO_DOC_ANY};
    ck_assert_int_eq(sto_docs_commit(fix.engine, &change, 1, NULL), ERR_OK);
    base_buf_fini(&body);
    sto_schema_publish(next);
    sto_schema_unref(scope->schema);
    scope->schema = next;
}

/* Loads the stored schema after a reopen. */
UNUSED_FN static void changes_load(struct sto_table_scope *scope)
{
    struct buf body;
    char key[256];
    uint64_t version = 0;
    struct sto_schema *stored = NULL;
    base_buf_init(&body, MIB);
    changes_doc_key(scope, key);
    ck_assert_int_eq(sto_doc_get(fix.engine, base_slice_text(key), &version, &body, NULL), ERR_OK);
    ck_assert_int_eq(sto_schema_decode(sto_schema_table_id(scope->schema), base_buf_slice(&body),
                                       scope->schema->table, &stored),
                     ERR_OK);
    base_buf_fini(&body);
    stored->version = version;
    sto_schema_publish(stored);
    sto_schema_unref(scope->schema);
    scope->schema = stored;
}

/* --- reading ------------------------------------------------------------------------------------
 */

struct change_reader {
    struct sto_change_sink sink; /* first */
    struct sto_change_op op;
    struct buf text;  /* "row:mutation,mutation;" */
    size_t parts_max; /* a slice is full after this many parts */
    size_t parts;
    int64_t last_position;
    bool in_change;
    size_t value_bytes; /* of the open value */
    size_t changes;
    size_t parts_ever;
    enum sto_change_type type; /* of the last change */
    void (*mutation)(struct change_reader *r, struct slice row,
                     const struct sto_change_mutation *m); /* NULL: appended to text */
    char row[LIM_ROW_KEY + 1];
    size_t row_len;
};

UNUSED_FN static void change_print(struct change_reader *r, const struct sto_change_mutation *m)
{
    static const char *const kinds[] = {[STO_SET_CELL] = "set",
                                        [STO_DELETE_FROM_COLUMN] = "-column",
                                        [STO_DELETE_FROM_FAMILY] = "-family",
                                        [STO_ADD_TO_CELL] = "add",
                                        [STO_MERGE_TO_CELL] = "merge"};
    (void)base_buf_printf(&r->text, "%s %.*s", kinds[m->kind], SLICE_ARGS(m->family));
    if (m->kind == STO_DELETE_FROM_COLUMN)
        (void)base_buf_printf(&r->text, ":%.*s[%lld,%lld)", SLICE_ARGS(m->qualifier),
                              (long long)m->start_us, (long long)m->end_us);
    else if (m->kind != STO_DELETE_FROM_FAMILY)
        (void)base_buf_printf(&r->text, ":%.*s@%lld=%.*s", SLICE_ARGS(m->qualifier),
                              (long long)m->timestamp_us, SLICE_ARGS(m->value));
    (void)base_buf_append_text(&r->text, ",");
}

static void change_part(struct sto_change_sink *sink, int64_t position,
                        const struct sto_change_part *part)
{
    struct change_reader *r = (struct change_reader *)sink;
    ck_assert_int_eq(part->is_first, !r->in_change);
    if (part->is_first) {
        ck_assert_int_gt(position, r->last_position);
        memcpy(r->row, part->row_key.ptr, part->row_key.len);
        r->row_len = part->row_key.len;
        r->type = part->type;
    } else {
        ck_assert_int_eq(position, r->last_position);
    }
    r->last_position = position;
    struct slice body = part->body, row = base_slice(r->row, r->row_len);
    if (r->mutation == NULL && part->is_first)
        (void)base_buf_printf(&r->text, "%.*s:", SLICE_ARGS(row));
    while (body.len > 0) {
        struct sto_change_mutation m;
        ck_assert_int_eq(sto_change_next(&body, &m), ERR_OK);
        ck_assert_uint_eq(m.value_offset, r->value_bytes);
        r->value_bytes += m.value.len;
        if (r->value_bytes == m.value_size)
            r->value_bytes = 0;
        else
            ck_assert_uint_eq(body.len, 0); /* a piece is the last of its part */
        if (r->mutation != NULL)
            r->mutation(r, row, &m);
        else
            change_print(r, &m);
    }
    r->in_change = !part->is_last;
    if (part->is_last) {
        ck_assert_uint_eq(r->value_bytes, 0);
        r->changes++;
        if (r->mutation == NULL)
            (void)base_buf_append_text(&r->text, ";");
    }
    r->parts++;
    r->parts_ever++;
}

static bool change_full(struct sto_change_sink *sink)
{
    const struct change_reader *r = (const struct change_reader *)sink;
    return r->parts >= r->parts_max;
}

static void change_done(struct sto_change_op *op)
{
    (void)op;
    fix.outstanding--;
}

/* Opens a reader at the start of the table's stream. */
UNUSED_FN static void change_open(struct change_reader *r, const struct sto_table_scope *scope)
{
    memset(r, 0, sizeof(*r));
    r->sink = (struct sto_change_sink){change_part, change_full};
    r->parts_max = SIZE_MAX;
    base_buf_init(&r->text, 512 * MIB);
    r->op = (struct sto_change_op){.scope = sto_table_scope_make(&scope->tenant, scope->schema),
                                   .since_us = scope->schema->change_since_us,
                                   .passed_us = scope->schema->change_since_us - 1,
                                   .sink = &r->sink,
                                   .reply_to = &fix.mailbox,
                                   .done = change_done};
}

/* Continues a reader after a reopen. */
UNUSED_FN static void change_resume(struct change_reader *r, const struct sto_table_scope *scope)
{
    sto_table_scope_release(&r->op.scope);
    r->op.scope = sto_table_scope_make(&scope->tenant, scope->schema);
}

UNUSED_FN static void change_close(struct change_reader *r)
{
    sto_table_scope_release(&r->op.scope);
    base_buf_fini(&r->text);
}

UNUSED_FN static enum sto_read_state change_slice(struct change_reader *r)
{
    r->parts = 0;
    fix.outstanding++;
    sto_read_changes(fix.engine, &r->op);
    fix_wait();
    ck_assert_uint_eq(atomic_load(&r->op.scope.tenant.account->reads_open), 0);
    return r->op.state;
}

/* Reads to the current end of the stream. */
UNUSED_FN static void change_read(struct change_reader *r)
{
    enum sto_read_state state;
    while ((state = change_slice(r)) == STO_READ_MORE)
        continue;
    ck_assert_msg(state == STO_READ_END, "%s", r->op.detail.text);
    ck_assert(!r->in_change);
}

UNUSED_FN static void change_expect(struct change_reader *r, const char *wanted)
{
    base_buf_truncate(&r->text, 0);
    change_read(r);
    ck_assert_int_eq(base_buf_append_byte(&r->text, 0), ERR_OK);
    ck_assert_msg(strcmp((const char *)r->text.ptr, wanted) == 0, "got %.400s, wanted %.400s",
                  (const char *)r->text.ptr, wanted);
}

#endif
