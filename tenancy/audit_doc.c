/*
 * tenancy/audit_doc.c - fields by tag; empty and zero fields are left out.
 *
 * 1. Tags are stored: append only, never reuse one.
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
    TAG_SALT = 15,         /* of records whose entry covers the actor */
    TAG_SUBJECT_SALT = 16, /* of records whose entry covers the subject */
    TAG_SUBJECT = 17,      /* hash stored instead of target, detail and their salt */
};

enum { INDEX_NUMBER = 1, INDEX_ENTRY = 2 };

bool ten_audit_is_apart(const struct base_audit_record *r)
{
    return r->form == BASE_AUDIT_SUBJECT && r->tenant.len > 0 &&
           r->target.len + r->detail.len > 0 && base_audit_is_apart(r->action);
}

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
    case TAG_SUBJECT:
        return &r->subject;
    default:
        return NULL;
    }
}

static void put_hash(struct buf *out, uint32_t tag, const struct base_audit_hash *h)
{
    (void)base_record_put_bytes(out, tag, base_slice(h->bytes, sizeof h->bytes)); /* latches */
}

static void put_salt(struct buf *out, uint32_t tag, const uint8_t salt[BASE_AUDIT_SALT])
{
    (void)base_record_put_bytes(out, tag, base_slice(salt, BASE_AUDIT_SALT)); /* latches */
}

static void put_texts(struct buf *out, struct base_audit_record r, uint32_t from, uint32_t to)
{
    for (uint32_t tag = from; tag <= to; tag++) {
        struct slice text = *text_of(&r, tag);
        if (text.len > 0)
            (void)base_record_put_bytes(out, tag, text); /* errors latch in out */
    }
}

enum err ten_audit_encode(const struct base_audit_record *r, struct buf *out)
{
    bool apart = ten_audit_is_apart(r);
    put_texts(out, *r, TAG_TIME, TAG_TENANT);
    if (!apart)
        put_texts(out, *r, TAG_TARGET, TAG_DETAIL);
    put_texts(out, *r, TAG_OUTCOME, TAG_OUTCOME);
    if (r->tenant_number != 0) {
        (void)base_record_put_u64(out, TAG_TENANT_NUMBER, r->tenant_number);
        put_hash(out, TAG_TENANT_BEFORE, &r->tenant_before);
    }
    put_hash(out, TAG_BEFORE, &r->before);
    put_hash(out, TAG_ENTRY, &r->entry);
    put_hash(out, TAG_HASH, &r->hash);
    if (r->form >= BASE_AUDIT_ACTOR)
        put_salt(out, TAG_SALT, r->salt);
    if (apart)
        put_hash(out, TAG_SUBJECT, &r->subject);
    else if (r->form == BASE_AUDIT_SUBJECT)
        put_salt(out, TAG_SUBJECT_SALT, r->subject_salt);
    return out->error;
}

enum err ten_audit_subject_encode(const struct base_audit_record *r, struct buf *out)
{
    put_texts(out, *r, TAG_TARGET, TAG_DETAIL);
    put_salt(out, TAG_SUBJECT_SALT, r->subject_salt);
    return out->error;
}

static enum err take_hash(const struct base_field *f, struct base_audit_hash *out)
{
    if (f->is_number || f->bytes.len != sizeof out->bytes)
        return ERR_CORRUPT;
    memcpy(out->bytes, f->bytes.ptr, sizeof out->bytes);
    return ERR_OK;
}

static enum err take_salt(const struct base_field *f, uint8_t out[BASE_AUDIT_SALT])
{
    if (f->is_number || f->bytes.len != BASE_AUDIT_SALT)
        return ERR_CORRUPT;
    memcpy(out, f->bytes.ptr, BASE_AUDIT_SALT);
    return ERR_OK;
}

/* A record, as far as it has been decoded. */
struct reading {
    struct base_audit_record record;
    bool has_salt;
    bool has_subject_salt;
    bool has_subject;
};

static enum err take_field(void *ctx, const struct base_field *f)
{
    struct reading *g = ctx;
    struct slice *text = text_of(&g->record, f->tag);
    struct base_audit_hash *hash = hash_of(&g->record, f->tag);
    g->has_salt = g->has_salt || f->tag == TAG_SALT;
    g->has_subject_salt = g->has_subject_salt || f->tag == TAG_SUBJECT_SALT;
    g->has_subject = g->has_subject || f->tag == TAG_SUBJECT;
    if (hash != NULL)
        return take_hash(f, hash);
    if (f->tag == TAG_SALT)
        return take_salt(f, g->record.salt);
    if (f->tag == TAG_SUBJECT_SALT)
        return take_salt(f, g->record.subject_salt);
    if (f->tag == TAG_TENANT_NUMBER)
        return base_field_number(f, &g->record.tenant_number);
    if (text == NULL)
        return ERR_CORRUPT; /* a field that the chain does not cover must not exist */
    *text = f->bytes;
    return f->is_number ? ERR_CORRUPT : ERR_OK;
}

enum err ten_audit_decode(uint64_t number, struct slice body, struct base_audit_record *out)
{
    struct reading g = {.record = {.number = number}};
    struct base_audit_record *r = &g.record;
    enum err rc = base_record_visit(body, take_field, &g);
    if (rc != ERR_OK)
        return rc;
    bool is_whole = g.has_subject_salt || r->target.len + r->detail.len == 0;
    if (g.has_subject && (g.has_subject_salt || !is_whole))
        return ERR_CORRUPT;
    r->form = g.has_subject || g.has_subject_salt ? BASE_AUDIT_SUBJECT
              : g.has_salt                        ? BASE_AUDIT_ACTOR
                                                  : BASE_AUDIT_PLAIN;
    r->is_erased = g.has_subject;
    if (g.has_salt)
        r->actor = base_audit_actor(r);
    if (g.has_subject_salt)
        r->subject = base_audit_subject(r);
    *out = *r;
    return ERR_OK;
}

static enum err take_subject_field(void *ctx, const struct base_field *f)
{
    bool is_of_subject = f->tag == TAG_TARGET || f->tag == TAG_DETAIL || f->tag == TAG_SUBJECT_SALT;
    return is_of_subject ? take_field(ctx, f) : ERR_CORRUPT;
}

enum err ten_audit_subject_decode(struct slice body, struct base_audit_record *r)
{
    struct reading g = {.record = *r};
    enum err rc = base_record_visit(body, take_subject_field, &g);
    if (rc != ERR_OK)
        return rc;
    struct base_audit_hash subject = base_audit_subject(&g.record);
    if (memcmp(subject.bytes, r->subject.bytes, BASE_AUDIT_HASH) != 0)
        return ERR_CORRUPT;
    g.record.is_erased = false;
    *r = g.record;
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
