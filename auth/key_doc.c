/*
 * auth/key_doc.c - fields by tag.
 *
 * 1. Tags and kinds are stored: append only.
 * 2. A tenant key names its tenant, the others name none: anything else is ERR_CORRUPT.
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
};

uint64_t auth_kind_scopes(enum auth_kind kind)
{
    return kind == AUTH_OPERATOR ? AUTH_SCOPES_OPERATOR : AUTH_SCOPES_TENANT;
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
    return out->error;
}

static enum err take_number(const struct base_field *f, uint64_t *out)
{
    if (!f->is_number)
        return ERR_CORRUPT;
    *out = f->number;
    return ERR_OK;
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
    struct auth_key key;
    uint64_t kind;
    uint64_t created;
    struct slice tenant_id;
    bool has_digest;
};

static enum err take_field(const struct base_field *f, struct decoding *d)
{
    switch (f->tag) {
    case TAG_KIND:
        return take_number(f, &d->kind);
    case TAG_SCOPES:
        return take_number(f, &d->key.scopes);
    case TAG_CREATED:
        return take_number(f, &d->created);
    case TAG_TENANT:
        d->tenant_id = f->bytes;
        return f->is_number || f->bytes.len == 0 ? ERR_CORRUPT : ERR_OK;
    case TAG_LABEL:
        return base_field_text(f, d->key.label, sizeof d->key.label);
    case TAG_DIGEST:
        return take_digest(f, &d->key, &d->has_digest);
    default:
        return ERR_OK; /* from a newer program */
    }
}

enum err auth_key_decode(struct slice id, struct slice body, struct auth_key *out,
                         struct slice *out_tenant_id)
{
    struct decoding d = {0};
    if (id.len != AUTH_KEY_ID)
        return ERR_CORRUPT;
    memcpy(d.key.id, id.ptr, id.len);
    for (;;) {
        struct base_field field;
        bool end = false;
        enum err rc = base_record_next(&body, &field, &end);
        if (rc == ERR_OK && end)
            break;
        if (rc == ERR_OK)
            rc = take_field(&field, &d);
        if (rc != ERR_OK)
            return rc;
    }
    if (d.kind == 0 || !d.has_digest)
        return ERR_CORRUPT;
    if (d.kind > AUTH_OPERATOR)
        return ERR_UNSUPPORTED;
    d.key.kind = (enum auth_kind)d.kind;
    d.key.created_us = (int64_t)d.created;
    if ((d.key.kind == AUTH_TENANT) != (d.tenant_id.len > 0))
        return ERR_CORRUPT;
    if (d.key.scopes == 0 || (d.key.scopes & ~auth_kind_scopes(d.key.kind)) != 0)
        return ERR_CORRUPT;
    *out = d.key;
    *out_tenant_id = d.tenant_id;
    return ERR_OK;
}
