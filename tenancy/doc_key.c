/*
 * tenancy/doc_key.c - keys put together from checked parts.
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

struct ten_doc_key ten_doc_key_tenant(struct slice tenant_id)
{
    struct ten_doc_key k = {0};
    append(&k, SLICE_LIT("t/"));
    append(&k, tenant_id);
    return k;
}

struct ten_doc_key ten_doc_key_schema(struct slice tenant_id, struct slice table_id)
{
    struct ten_doc_key k = {0};
    append(&k, SLICE_LIT("s/"));
    append(&k, tenant_id);
    append(&k, SLICE_LIT("/"));
    append(&k, table_id);
    return k;
}

struct ten_doc_key ten_doc_key_job(struct slice job_id)
{
    struct ten_doc_key k = {0};
    append(&k, SLICE_LIT("j/"));
    append(&k, job_id);
    return k;
}

enum err ten_doc_key_schema_parts(struct slice key, struct slice *out_tenant_id,
                                  struct slice *out_table_id)
{
    if (!base_slice_starts_with(key, SLICE_LIT("s/")))
        return ERR_CORRUPT;
    struct slice rest = base_slice_skip(key, 2);
    const uint8_t *slash = memchr(rest.ptr, '/', rest.len);
    if (slash == NULL)
        return ERR_CORRUPT;
    size_t tenant_len = (size_t)(slash - rest.ptr);
    *out_tenant_id = base_slice(rest.ptr, tenant_len);
    *out_table_id = base_slice_skip(rest, tenant_len + 1);
    return ERR_OK;
}
