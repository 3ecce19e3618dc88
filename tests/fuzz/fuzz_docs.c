/*
 * tests/fuzz/fuzz_docs.c - what is read back from the disk (base/record.h, storage/, tenancy/,
 * auth/).
 *
 * The first byte chooses the kind of document, the rest is its bytes.
 *   0 to 3  schema, tenant, job, key: refused, or encoding gives what decodes to the same; a
 *           document written once is written the same way again.
 *   4       a record's fields, written again, are the same bytes
 *   5       row headers, counters, cells likewise
 *   6, 7    what the sweeper knows of a table, an authorized view, as 0 to 3
 */
#include "auth/key_doc.h"
#include "base/record.h"
#include "storage/value.h"
#include "tenancy/job_doc.h"
#include "tenancy/sweep_doc.h"
#include "tenancy/tenant_doc.h"
#include "tenancy/view_doc.h"
#include "tests/fuzz/fuzz.h"

#include "base/banned.h"

#define JOB_ID "01hzzzzzzzzzzzzz"
#define KEY_ID "k0123456789a"

_Static_assert(sizeof KEY_ID == AUTH_KEY_ID + 1, "an ID of the right length");

/* Decode and encode again. False: refused. */
typedef bool recode(struct slice body, struct buf *out);

static bool is_refusal(enum err e)
{
    INVARIANT(e == ERR_OK || e == ERR_CORRUPT || e == ERR_UNSUPPORTED);
    return e != ERR_OK;
}

static bool recode_schema(struct slice body, struct buf *out)
{
    struct sto_schema *s = NULL;
    if (is_refusal(sto_schema_decode(SLICE_LIT("devices"), body, NULL, &s)))
        return false;
    INVARIANT(s->family_count <= LIM_FAMILIES && s->dropped_count <= LIM_FAMILIES_DROPPED);
    for (size_t i = 0; i < s->family_count; i++) {
        const struct sto_family *f = &s->families[i];
        INVARIANT(f->number < s->next_number && f->name[f->name_len] == '\0');
        INVARIANT(sto_schema_family(s, base_slice(f->name, f->name_len)) == f);
        INVARIANT(sto_schema_family_by_number(s, f->number) == f);
    }
    INVARIANT(sto_schema_encode(s, out) == ERR_OK);
    sto_schema_unref(s);
    return true;
}

static bool recode_tenant(struct slice body, struct buf *out)
{
    struct ten_tenant_doc doc;
    if (is_refusal(ten_tenant_decode(body, &doc)))
        return false;
    INVARIANT(strcmp(ten_state_name(doc.state), "unknown") != 0);
    INVARIANT(ten_tenant_encode(doc.state, &doc.details, out) == ERR_OK &&
              out->len <= TEN_TENANT_DOC_MAX);
    return true;
}

static bool recode_job(struct slice body, struct buf *out)
{
    struct ten_job j;
    if (is_refusal(ten_job_decode(SLICE_LIT(JOB_ID), body, &j)))
        return false;
    INVARIANT(strcmp(ten_job_state_name(j.state), "unknown") != 0);
    INVARIANT(ten_job_encode(&j, out) == ERR_OK && out->len <= TEN_JOB_DOC_MAX);
    return true;
}

static bool recode_key(struct slice body, struct buf *out)
{
    static struct ten_tenant tenant;
    struct auth_key_doc doc;
    if (is_refusal(auth_key_decode(SLICE_LIT(KEY_ID), body, &doc)))
        return false;
    INVARIANT((doc.key.scopes & ~auth_kind_scopes(doc.key.kind)) == 0 && doc.key.scopes != 0);
    if (doc.tenant_id.len > LIM_TENANT_ID || doc.allowed_count > 0)
        return false; /* the keyring finds no such tenant, and lists only those it finds */
    if (doc.tenant_id.len > 0) {
        memcpy(tenant.id, doc.tenant_id.ptr, doc.tenant_id.len);
        tenant.id_len = (uint8_t)doc.tenant_id.len;
        doc.key.tenant = &tenant;
    }
    INVARIANT(auth_key_encode(&doc.key, out) == ERR_OK && out->len <= AUTH_KEY_DOC_MAX);
    return true;
}

static bool recode_sweep(struct slice body, struct buf *out)
{
    struct ten_sweep_doc d;
    if (is_refusal(ten_sweep_decode(body, &d)))
        return false;
    INVARIANT(d.row.len <= LIM_ROW_KEY && (d.row.len == 0) == (d.sweeping.version == 0));
    INVARIANT(ten_sweep_encode(&d, out) == ERR_OK && out->len <= LIM_ROW_KEY + TEN_SWEEP_DOC_MAX);
    return true;
}

static bool recode_view(struct slice body, struct buf *out)
{
    struct sto_view *v = NULL;
    if (is_refusal(ten_view_decode(SLICE_LIT("v"), body, &v)))
        return false;
    for (size_t i = 0; i < v->family_count; i++) {
        const struct sto_view_family *f = &v->families[i];
        for (size_t k = 1; k < f->column_count; k++)
            INVARIANT(base_slice_compare(f->columns[k - 1].bytes, f->columns[k].bytes) < 0);
    }
    INVARIANT(ten_view_encode(&v->spec, out) == ERR_OK && out->len <= TEN_VIEW_DOC_MAX);
    sto_view_unref(v);
    return true;
}

static void try_document(recode *again, struct slice body)
{
    struct buf first, second;
    base_buf_init(&first, MIB);
    base_buf_init(&second, MIB);
    if (again(body, &first)) {
        INVARIANT(again(base_buf_slice(&first), &second));
        INVARIANT(base_slice_equal(base_buf_slice(&first), base_buf_slice(&second)));
    }
    base_buf_fini(&first);
    base_buf_fini(&second);
}

static void try_record(struct slice body)
{
    struct buf again;
    struct slice rest = body;
    struct base_field field;
    bool end = false;
    base_buf_init(&again, MIB);
    while (!end && base_record_next(&rest, &field, &end) == ERR_OK && !end) {
        char text[32];
        enum err e = field.is_number ? base_record_put_u64(&again, field.tag, field.number)
                                     : base_record_put_bytes(&again, field.tag, field.bytes);
        INVARIANT(e == ERR_OK);
        INVARIANT(base_field_text(&field, text, sizeof text) != ERR_OK ||
                  strlen(text) == field.bytes.len);
    }
    INVARIANT(base_slice_equal(base_buf_slice(&again),
                               base_slice(body.ptr, (size_t)(rest.ptr - body.ptr))));
    base_buf_fini(&again);
}

static void try_values(struct slice body)
{
    struct sto_row_head head;
    struct sto_stored_counters counters;
    struct sto_stored_cell cell;
    uint8_t out[STO_COUNTERS_BYTES];
    if (sto_row_head_decode(body, &head) == ERR_OK)
        INVARIANT(base_slice_equal(base_slice(out, sto_row_head_encode(&head, out)), body));
    if (sto_counters_decode(body, &counters) == ERR_OK) {
        sto_counters_encode(&counters, out);
        INVARIANT(body.ptr[0] != STO_COUNTERS_FORMAT ||
                  base_slice_equal(base_slice(out, sizeof out), body));
    }
    if (sto_cell_decode(body, &cell) == ERR_OK) {
        size_t extra = cell.sealed.len > 0 ? STO_SEALED_EXTRA : 0;
        INVARIANT(cell.bytes.len + extra == body.len - STO_CELL_PREFIX && cell.family_name_len > 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static recode *const documents[] = {recode_schema, recode_tenant, recode_job, recode_key};
    struct fuzz_input in = {base_slice(data, size)};
    unsigned kind = fuzz_below(&in, 8);
    if (kind < 4)
        try_document(documents[kind], in.rest);
    else if (kind == 4)
        try_record(in.rest);
    else if (kind == 5)
        try_values(in.rest);
    else
        try_document(kind == 6 ? recode_sweep : recode_view, in.rest);
    return 0;
}
