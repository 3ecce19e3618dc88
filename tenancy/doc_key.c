/*
 * tenancy/doc_key.c - keys assembled from checked parts.
 */
#include "tenancy/doc_key.h"

#include "base/banned.h"

static void append(struct ten_doc_key *k, struct slice part)
{
    INVARIANT(part.len <= sizeof k->bytes - k->len);
    if (part.len > 0)
        memcpy(k->bytes + k->len, part.ptr, part.len);
    k->len += part.len;
}

static struct ten_doc_key of_kind(enum sto_doc_kind kind)
{
    struct ten_doc_key k = {0};
    append(&k, sto_doc_prefix(kind));
    return k;
}

struct ten_doc_key ten_doc_key_tenant(struct slice tenant_id)
{
    struct ten_doc_key k = of_kind(STO_DOC_TENANT);
    append(&k, tenant_id);
    return k;
}

static struct ten_doc_key of_table(enum sto_doc_kind kind, struct slice tenant_id,
                                   struct slice table_id)
{
    struct ten_doc_key k = of_kind(kind);
    append(&k, tenant_id);
    append(&k, SLICE_LIT("/"));
    append(&k, table_id);
    return k;
}

struct ten_doc_key ten_doc_key_erased(enum sto_doc_kind kind, struct slice tenant_id)
{
    return of_table(kind, tenant_id, SLICE_EMPTY);
}

struct ten_doc_key ten_doc_key_schema(struct slice tenant_id, struct slice table_id)
{
    return of_table(STO_DOC_SCHEMA, tenant_id, table_id);
}

struct ten_doc_key ten_doc_key_sweep(struct slice tenant_id, struct slice table_id)
{
    return of_table(STO_DOC_SWEEP, tenant_id, table_id);
}

struct ten_doc_key ten_doc_key_view(struct slice tenant_id, struct slice table_id,
                                    struct slice view_id)
{
    struct ten_doc_key k = of_table(STO_DOC_VIEW, tenant_id, table_id);
    if (table_id.len > 0)
        append(&k, SLICE_LIT("/"));
    append(&k, view_id);
    return k;
}

struct ten_doc_key ten_doc_key_plan(struct slice plan_id)
{
    struct ten_doc_key k = of_kind(STO_DOC_PLAN);
    append(&k, plan_id);
    return k;
}

struct ten_doc_key ten_doc_key_operation(struct slice tenant_id, struct slice operation_id)
{
    return of_table(STO_DOC_OPERATION, tenant_id, operation_id);
}

struct ten_doc_key ten_doc_key_instance(struct slice tenant_id)
{
    return of_table(STO_DOC_INSTANCE, tenant_id, SLICE_LIT("instance"));
}

struct ten_doc_key ten_doc_key_job(struct slice job_id)
{
    struct ten_doc_key k = of_kind(STO_DOC_JOB);
    append(&k, job_id);
    return k;
}

/* --- the audit trail -------------------------------------------------------------------------- */

#define NUMBER_DIGITS 16

static const char DIGITS[] = "0123456789abcdef";

static void append_number(struct ten_doc_key *k, uint64_t number)
{
    char text[NUMBER_DIGITS];
    for (size_t i = NUMBER_DIGITS; i-- > 0; number >>= 4)
        text[i] = DIGITS[number & 15];
    append(k, base_slice(text, sizeof text));
}

struct ten_doc_key ten_doc_key_audit(uint64_t number)
{
    struct ten_doc_key k = of_kind(STO_DOC_AUDIT);
    append_number(&k, number);
    return k;
}

struct ten_doc_key ten_doc_key_audit_prefix(struct slice tenant_id)
{
    return of_table(STO_DOC_AUDIT_INDEX, tenant_id, SLICE_EMPTY);
}

struct ten_doc_key ten_doc_key_audit_of(struct slice tenant_id, uint64_t number)
{
    struct ten_doc_key k = ten_doc_key_audit_prefix(tenant_id);
    append_number(&k, number);
    return k;
}

struct ten_doc_key ten_doc_key_audit_subject(struct slice tenant_id, uint64_t number)
{
    struct ten_doc_key k = ten_doc_key_erased(STO_DOC_AUDIT_SUBJECT, tenant_id);
    append_number(&k, number);
    return k;
}

enum err ten_doc_key_audit_number(struct slice key, uint64_t *out)
{
    uint64_t number = 0;
    if (key.len < 2 + NUMBER_DIGITS || key.ptr[key.len - NUMBER_DIGITS - 1] != '/')
        return ERR_CORRUPT;
    for (size_t i = key.len - NUMBER_DIGITS; i < key.len; i++) {
        const char *digit = key.ptr[i] == '\0' ? NULL : strchr(DIGITS, key.ptr[i]);
        if (digit == NULL)
            return ERR_CORRUPT;
        number = number << 4 | (uint64_t)(digit - DIGITS);
    }
    *out = number;
    return ERR_OK;
}

/* --- parsing ---------------------------------------------------------------------------------- */

/* Returns the part before the next '/', and skips both. */
static enum err take_part(struct slice *rest, struct slice *out)
{
    const uint8_t *slash = rest->len == 0 ? NULL : memchr(rest->ptr, '/', rest->len);
    if (slash == NULL)
        return ERR_CORRUPT;
    *out = base_slice(rest->ptr, (size_t)(slash - rest->ptr));
    *rest = base_slice_skip(*rest, out->len + 1);
    return ERR_OK;
}

enum err ten_doc_key_table_parts(struct slice key, struct slice *out_tenant_id,
                                 struct slice *out_table_id)
{
    if (!base_slice_starts_with(key, sto_doc_prefix(STO_DOC_SCHEMA)) &&
        !base_slice_starts_with(key, sto_doc_prefix(STO_DOC_SWEEP)) &&
        !base_slice_starts_with(key, sto_doc_prefix(STO_DOC_OPERATION)))
        return ERR_CORRUPT;
    struct slice rest = base_slice_skip(key, 2);
    enum err rc = take_part(&rest, out_tenant_id);
    if (rc == ERR_OK)
        *out_table_id = rest;
    return rc;
}

enum err ten_doc_key_view_parts(struct slice key, struct slice *out_tenant_id,
                                struct slice *out_table_id, struct slice *out_view_id)
{
    if (!base_slice_starts_with(key, sto_doc_prefix(STO_DOC_VIEW)))
        return ERR_CORRUPT;
    struct slice rest = base_slice_skip(key, 2);
    enum err rc = take_part(&rest, out_tenant_id);
    if (rc == ERR_OK)
        rc = take_part(&rest, out_table_id);
    if (rc == ERR_OK)
        *out_view_id = rest;
    return rc;
}
