/*
 * auth/key_doc.c - encodes and decodes the fields by tag.
 *
 * 1. Tags and kinds are stored: append only.
 * 2. A tenant key names its tenant, the other kinds name none: anything else is ERR_CORRUPT.
 * 3. Only service keys have a list, and it is not empty.
 * 4. A key that is limited to rows cannot change tables, and is not an operator's.
 */
#include "auth/key_doc.h"

#include "base/record.h"

#include "base/banned.h"

enum {
    TAG_KIND = 1,
    TAG_SCOPES = 2,
    TAG_TENANT = 3,
    TAG_LABEL = 4,
    TAG_CREATED = 5,
    TAG_DIGEST = 6,
    TAG_READ_OPS = 7,
    TAG_WRITE_OPS = 8,
    TAG_READ_BYTES = 9,
    TAG_WRITE_BYTES = 10,
    TAG_ALLOWED = 11,    /* one for each tenant of the list; none: all */
    TAG_ROW_PREFIX = 12, /* none: all rows */
};

uint64_t auth_kind_scopes(enum auth_kind kind)
{
    return kind == AUTH_OPERATOR ? AUTH_SCOPES_OPERATOR : AUTH_SCOPES_TENANT;
}

static void put_limit(struct buf *out, uint32_t tag, uint64_t limit)
{
    if (limit != 0)
        (void)base_record_put_u64(out, tag, limit); /* errors latch in out */
}

enum err auth_key_encode(const struct auth_key *k, struct buf *out)
{
    /* errors latch in out */
    (void)base_record_put_u64(out, TAG_KIND, k->kind);
    (void)base_record_put_u64(out, TAG_SCOPES, k->scopes);
    if (k->tenant != NULL)
        (void)base_record_put_bytes(out, TAG_TENANT, ten_tenant_id(k->tenant));
    (void)base_record_put_bytes(out, TAG_LABEL, base_slice_text(k->label));
    (void)base_record_put_u64(out, TAG_CREATED, (uint64_t)k->created_us);
    (void)base_record_put_bytes(out, TAG_DIGEST, base_slice(k->digest, sizeof k->digest));
    put_limit(out, TAG_READ_OPS, k->limits.read_ops_per_s);
    put_limit(out, TAG_WRITE_OPS, k->limits.write_ops_per_s);
    put_limit(out, TAG_READ_BYTES, k->limits.read_bytes_per_s);
    put_limit(out, TAG_WRITE_BYTES, k->limits.write_bytes_per_s);
    if (k->row_prefix.len > 0)
        (void)base_record_put_bytes(out, TAG_ROW_PREFIX, k->row_prefix);
    for (size_t i = 0; i < k->allowed_count; i++)
        (void)base_record_put_bytes(out, TAG_ALLOWED, ten_tenant_id(k->allowed[i]));
    return out->error;
}

static enum err take_digest(const struct base_field *f, struct auth_key *k, bool *out_is_there)
{
    if (f->is_number || f->bytes.len != sizeof k->digest)
        return ERR_CORRUPT;
    memcpy(k->digest, f->bytes.ptr, sizeof k->digest);
    *out_is_there = true;
    return ERR_OK;
}

struct decoding {
    struct auth_key_doc *doc;
    uint64_t kind;
    uint64_t created;
    bool has_digest;
};

static enum err take_field(void *ctx, const struct base_field *f)
{
    struct decoding *d = ctx;
    struct auth_key *key = &d->doc->key;
    switch (f->tag) {
    case TAG_KIND:
        return base_field_number(f, &d->kind);
    case TAG_SCOPES:
        return base_field_number(f, &key->scopes);
    case TAG_CREATED:
        return base_field_number(f, &d->created);
    case TAG_TENANT:
        d->doc->tenant_id = f->bytes;
        return f->is_number || f->bytes.len == 0 ? ERR_CORRUPT : ERR_OK;
    case TAG_LABEL:
        return base_field_text(f, d->doc->label, sizeof d->doc->label);
    case TAG_DIGEST:
        return take_digest(f, key, &d->has_digest);
    case TAG_READ_OPS:
        return base_field_number(f, &key->limits.read_ops_per_s);
    case TAG_WRITE_OPS:
        return base_field_number(f, &key->limits.write_ops_per_s);
    case TAG_READ_BYTES:
        return base_field_number(f, &key->limits.read_bytes_per_s);
    case TAG_WRITE_BYTES:
        return base_field_number(f, &key->limits.write_bytes_per_s);
    case TAG_ALLOWED:
        d->doc->allowed_count++;
        return f->is_number || sto_tenant_id_check(f->bytes, NULL) != ERR_OK ? ERR_CORRUPT : ERR_OK;
    case TAG_ROW_PREFIX:
        key->row_prefix = f->bytes;
        return f->is_number || f->bytes.len == 0 ? ERR_CORRUPT : ERR_OK;
    default:
        return ERR_OK; /* from a newer program */
    }
}

static bool rows_fit(const struct auth_key *key)
{
    return key->row_prefix.len == 0 ||
           (key->row_prefix.len <= LIM_KEY_PREFIX && key->kind != AUTH_OPERATOR &&
            (key->scopes & AUTH_TABLE_ADMIN) == 0);
}

static enum err check(const struct auth_key_doc *doc)
{
    const struct auth_key *key = &doc->key;
    bool is_whole = (key->kind == AUTH_TENANT) == (doc->tenant_id.len > 0) &&
                    (key->kind == AUTH_SERVICE || doc->allowed_count == 0) &&
                    doc->allowed_count <= LIM_TENANTS_PER_KEY && key->scopes != 0 &&
                    rows_fit(key) && (key->scopes & ~auth_kind_scopes(key->kind)) == 0;
    return is_whole ? ERR_OK : ERR_CORRUPT;
}

enum err auth_key_decode(struct slice id, struct slice body, struct auth_key_doc *out)
{
    struct decoding d = {.doc = out};
    *out = (struct auth_key_doc){.allowed_count = 0};
    if (id.len != AUTH_KEY_ID)
        return ERR_CORRUPT;
    memcpy(out->key.id, id.ptr, id.len);
    enum err rc = base_record_visit(body, take_field, &d);
    if (rc != ERR_OK)
        return rc;
    if (d.kind == 0 || !d.has_digest)
        return ERR_CORRUPT;
    if (d.kind > AUTH_OPERATOR)
        return ERR_UNSUPPORTED;
    out->key.kind = (enum auth_kind)d.kind;
    out->key.created_us = (int64_t)d.created;
    out->key.label = out->label;
    return check(out);
}

bool auth_key_allowed_next(struct slice *rest, struct slice *out_id)
{
    struct base_field field;
    bool end = false;
    while (base_record_next(rest, &field, &end) == ERR_OK && !end) {
        if (field.tag != TAG_ALLOWED)
            continue;
        *out_id = field.bytes;
        return true;
    }
    return false;
}
