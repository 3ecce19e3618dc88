/*
 * tenancy/audit_doc.c - fields by tag; what is empty or zero is left out.
 *
 * 1. Tags are stored: append only, never give one a new meaning.
 */
#include "tenancy/audit_doc.h"

#include "base/record.h"

#include "base/banned.h"

enum {
    TAG_TIME = 1,
    TAG_KEY = 2,
    TAG_KIND = 3,
    TAG_ADDRESS = 4,
    TAG_ACTION = 5,
    TAG_TENANT = 6,
    TAG_TARGET = 7,
    TAG_DETAIL = 8,
    TAG_OUTCOME = 9,
    TAG_TENANT_NUMBER = 10,
    TAG_TENANT_BEFORE = 11,
    TAG_BEFORE = 12,
    TAG_ENTRY = 13,
    TAG_HASH = 14,
    TAG_SALT = 15, /* of those whose entry covers the actor */
};

enum { INDEX_NUMBER = 1, INDEX_ENTRY = 2 };

static struct slice *text_of(struct base_audit_record *r, uint32_t tag)
{
    switch (tag) {
    case TAG_TIME:
        return &r->time;
    case TAG_KEY:
        return &r->key;
    case TAG_KIND:
        return &r->kind;
    case TAG_ADDRESS:
        return &r->address;
    case TAG_ACTION:
        return &r->action;
    case TAG_TENANT:
        return &r->tenant;
    case TAG_TARGET:
        return &r->target;
    case TAG_DETAIL:
        return &r->detail;
    case TAG_OUTCOME:
        return &r->outcome;
    default:
        return NULL;
    }
}

static struct base_audit_hash *hash_of(struct base_audit_record *r, uint32_t tag)
{
    switch (tag) {
    case TAG_TENANT_BEFORE:
        return &r->tenant_before;
    case TAG_BEFORE:
        return &r->before;
    case TAG_ENTRY:
        return &r->entry;
    case TAG_HASH:
        return &r->hash;
    default:
        return NULL;
    }
}

static void put_hash(struct buf *out, uint32_t tag, const struct base_audit_hash *h)
{
    (void)base_record_put_bytes(out, tag, base_slice(h->bytes, sizeof h->bytes)); /* latches */
}

enum err ten_audit_encode(const struct base_audit_record *r, struct buf *out)
{
    struct base_audit_record copy = *r;
    for (uint32_t tag = TAG_TIME; tag <= TAG_OUTCOME; tag++) {
        struct slice text = *text_of(&copy, tag);
        if (text.len > 0)
            (void)base_record_put_bytes(out, tag, text); /* errors latch in out */
    }
    if (r->tenant_number != 0) {
        (void)base_record_put_u64(out, TAG_TENANT_NUMBER, r->tenant_number);
        put_hash(out, TAG_TENANT_BEFORE, &r->tenant_before);
    }
    put_hash(out, TAG_BEFORE, &r->before);
    put_hash(out, TAG_ENTRY, &r->entry);
    put_hash(out, TAG_HASH, &r->hash);
    if (r->is_committed)
        (void)base_record_put_bytes(out, TAG_SALT, base_slice(r->salt, sizeof r->salt));
    return out->error;
}

static enum err take_hash(const struct base_field *f, struct base_audit_hash *out)
{
    if (f->is_number || f->bytes.len != sizeof out->bytes)
        return ERR_CORRUPT;
    memcpy(out->bytes, f->bytes.ptr, sizeof out->bytes);
    return ERR_OK;
}

static enum err take_salt(const struct base_field *f, struct base_audit_record *r)
{
    if (f->is_number || f->bytes.len != sizeof r->salt)
        return ERR_CORRUPT;
    memcpy(r->salt, f->bytes.ptr, sizeof r->salt);
    r->is_committed = true;
    return ERR_OK;
}

static enum err take_field(void *ctx, const struct base_field *f)
{
    struct base_audit_record *r = ctx;
    struct slice *text = text_of(r, f->tag);
    struct base_audit_hash *hash = hash_of(r, f->tag);
    if (hash != NULL)
        return take_hash(f, hash);
    if (f->tag == TAG_SALT)
        return take_salt(f, r);
    if (f->tag == TAG_TENANT_NUMBER)
        return base_field_number(f, &r->tenant_number);
    if (text == NULL)
        return ERR_CORRUPT; /* of what the chain does not cover nothing may be there */
    *text = f->bytes;
    return f->is_number ? ERR_CORRUPT : ERR_OK;
}

enum err ten_audit_decode(uint64_t number, struct slice body, struct base_audit_record *out)
{
    struct base_audit_record r = {.number = number};
    enum err rc = base_record_visit(body, take_field, &r);
    if (rc != ERR_OK)
        return rc;
    if (r.is_committed)
        r.actor = base_audit_actor(&r);
    *out = r;
    return ERR_OK;
}

/* --- the index -------------------------------------------------------------------------------- */

enum err ten_audit_index_encode(uint64_t number, const struct base_audit_hash *entry,
                                struct buf *out)
{
    (void)base_record_put_u64(out, INDEX_NUMBER, number); /* errors latch in out */
    put_hash(out, INDEX_ENTRY, entry);
    return out->error;
}

struct index_entry {
    uint64_t number;
    struct base_audit_hash entry;
};

static enum err take_index_field(void *ctx, const struct base_field *f)
{
    struct index_entry *at = ctx;
    if (f->tag == INDEX_NUMBER)
        return base_field_number(f, &at->number);
    return f->tag == INDEX_ENTRY ? take_hash(f, &at->entry) : ERR_OK;
}

enum err ten_audit_index_decode(struct slice body, uint64_t *out_number,
                                struct base_audit_hash *out_entry)
{
    struct index_entry at = {.number = 0};
    enum err rc = base_record_visit(body, take_index_field, &at);
    if (rc != ERR_OK)
        return rc;
    if (at.number == 0)
        return ERR_CORRUPT;
    *out_number = at.number;
    *out_entry = at.entry;
    return ERR_OK;
}
