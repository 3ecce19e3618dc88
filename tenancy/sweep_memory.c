/*
 * tenancy/sweep_memory.c - documents that may be slightly out of date.
 *
 * A table's document holds two passes (storage/schema.h). Whether cells were added since a pass
 * started follows from the table's counters, which are written in the batch that adds the cells: a
 * crash cannot lose them. So an old document is never wrong, it only says less.
 *
 *   swept      the whole table was scanned: nothing is garbage before expires_us, a time that
 *              follows from the cells alone, so changes of the clock do not matter
 *   sweeping   everything before the row was scanned; a cell added there since is an addition, and
 *              makes the table due again when this pass has finished
 *
 * 1. Memory is updated after the engine's result, a document after memory.
 * 2. Documents are stored under the tenant like its schemas: table_removal.c and purge.c remove
 *    both in one batch, and this file writes none for a table that is not visible.
 */
#include "tenancy/sweep_memory.h"

#include "base/alloc.h"
#include "tenancy/doc_key.h"
#include "tenancy/internal.h"
#include "tenancy/sweep_doc.h"

#include "base/banned.h"

/* Returns the tenant's visible table, or NULL. */
static struct sto_schema *visible(const struct ten_tenant *t, struct slice table_id)
{
    const struct ten_tables *tables = ten_tenant_tables(t);
    size_t at;
    return ten_tables_search(tables, table_id, &at) ? tables->schemas[at] : NULL;
}

/* --- loading ---------------------------------------------------------------------------------- */

static enum err visit_sweep(void *ctx, struct slice key, uint64_t version, struct slice body)
{
    struct ten_registry *r = ctx;
    struct slice tenant_id, table_id;
    struct ten_sweep_doc doc;
    (void)version; /* only the control thread writes them */
    enum err rc = ten_doc_key_table_parts(key, &tenant_id, &table_id);
    if (rc == ERR_OK)
        rc = ten_sweep_decode(body, &doc);
    if (rc != ERR_OK)
        return rc;
    struct ten_tenant *t = ten_tenant_find(r, tenant_id);
    if (t == NULL)
        return ERR_CORRUPT;
    const struct sto_schema *schema = visible(t, table_id);
    if (schema == NULL)
        return ERR_OK; /* the table is being removed, and this document with it */
    sto_garbage_load(&schema->table->garbage, doc.garbage_bytes, doc.garbage_made_by,
                     doc.swept.additions);
    schema->table->swept = doc.swept;
    schema->table->sweeping = doc.sweeping;
    schema->table->sweep_resumes = doc.row.len > 0;
    return ERR_OK;
}

enum err ten_sweep_load(struct ten_registry *r, struct errbuf *eb)
{
    return sto_docs_scan(r->engine, sto_doc_prefix(STO_DOC_SWEEP), visit_sweep, r, eb);
}

bool ten_sweep_resume(struct ten_registry *r, struct slice tenant_id, struct slice table_id,
                      struct buf *out_row)
{
    struct ten_doc_key key = ten_doc_key_sweep(tenant_id, table_id);
    struct ten_sweep_doc doc;
    struct buf body;
    uint64_t version;
    base_buf_init(&body, LIM_ROW_KEY + TEN_SWEEP_DOC_MAX);
    bool goes_on =
        sto_doc_get(r->engine, ten_doc_key_slice(&key), &version, &body, NULL) == ERR_OK &&
        ten_sweep_decode(base_buf_slice(&body), &doc) == ERR_OK && doc.row.len > 0;
    base_buf_truncate(out_row, 0);
    if (goes_on)
        goes_on = base_buf_append(out_row, doc.row) == ERR_OK;
    base_buf_fini(&body);
    return goes_on;
}

/* --- saving ----------------------------------------------------------------------------------- */

void ten_sweep_note(struct ten_sweep_memory *m, struct ten_tenant *t, struct slice table_id,
                    uint64_t keys)
{
    m->keys += keys;
    for (size_t i = 0; i < m->count; i++)
        if (m->unsaved[i].tenant == t &&
            base_slice_equal(base_slice(m->unsaved[i].table, m->unsaved[i].table_len), table_id))
            return;
    INVARIANT(m->count < TEN_SWEEP_UNSAVED_MAX && table_id.len <= LIM_TABLE_ID);
    struct ten_sweep_unsaved *u = &m->unsaved[m->count++];
    u->tenant = t;
    u->table_len = (uint8_t)table_id.len;
    memcpy(u->table, table_id.ptr, table_id.len);
}

bool ten_sweep_save_is_due(const struct ten_sweep_memory *m)
{
    return m->keys >= TEN_SWEEP_SAVE_KEYS || m->count == TEN_SWEEP_UNSAVED_MAX;
}

struct draft {
    struct ten_doc_key key;
    size_t begin;
    size_t end;
};

/* False: there is nothing to store. */
static bool draft_make(const struct ten_sweep_unsaved *u, const struct ten_sweep_position *at,
                       struct buf *bodies, struct draft *out)
{
    struct slice tenant_id = ten_tenant_id(u->tenant);
    struct slice table_id = base_slice(u->table, u->table_len);
    const struct sto_schema *schema =
        ten_tenant_state(u->tenant) == TEN_ACTIVE ? visible(u->tenant, table_id) : NULL;
    if (schema == NULL)
        return false;
    bool is_here =
        base_slice_equal(tenant_id, at->tenant_id) && base_slice_equal(table_id, at->table_id);
    const struct sto_table *table = schema->table;
    struct ten_sweep_doc doc = {.swept = table->swept, .sweeping = table->sweeping};
    sto_garbage_get(&table->garbage, &doc.garbage_bytes, &doc.garbage_made_by);
    if (is_here && table->sweeping.version != 0)
        doc.row = at->row;
    out->key = ten_doc_key_sweep(tenant_id, table_id);
    out->begin = bodies->len;
    if (ten_sweep_encode(&doc, bodies) != ERR_OK)
        return false; /* no memory: swept again after a restart */
    out->end = bodies->len;
    return out->end > out->begin;
}

bool ten_sweep_save(struct ten_sweep_memory *m, struct ten_registry *r,
                    const struct ten_sweep_position *at)
{
    ten_control_check(r);
    if (m->count == 0)
        return false;
    struct buf bodies;
    struct draft *drafts = base_new_array(m->count, sizeof drafts[0]);
    struct sto_doc_change *changes = base_new_array(m->count, sizeof changes[0]);
    base_buf_init(&bodies, m->count * TEN_SWEEP_DOC_MAX + LIM_ROW_KEY);
    size_t count = 0;
    for (size_t i = 0; i < m->count; i++)
        count += draft_make(&m->unsaved[i], at, &bodies, &drafts[count]);
    for (size_t i = 0; i < count; i++)
        changes[i] = (struct sto_doc_change){
            .key = ten_doc_key_slice(&drafts[i].key),
            .body = base_slice(bodies.ptr + drafts[i].begin, drafts[i].end - drafts[i].begin),
            .expect = STO_DOC_ANY,
        };
    /* A write error latches the engine, which reports it; here it only costs a second sweep. */
    bool is_written = count > 0 && sto_docs_commit(r->engine, changes, count, NULL) == ERR_OK;
    base_buf_fini(&bodies);
    base_free(changes);
    base_free(drafts);
    m->count = 0;
    m->keys = 0;
    return is_written;
}
