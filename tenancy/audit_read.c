/*
 * tenancy/audit_read.c - reads the trail from any number on, a tenant's records by way of its
 *                        index, and the separate subjects, which are erased with their tenant.
 */
#include "base/alloc.h"
#include "base/text.h"
#include "tenancy/audit_cut.h"
#include "tenancy/audit_doc.h"
#include "tenancy/audit_internal.h"
#include "tenancy/doc_key.h"
#include "tenancy/internal.h"

#include "base/banned.h"

static enum err damaged(struct errbuf *eb)
{
    return base_fail(eb, ERR_CORRUPT, "a record of the audit trail is damaged");
}

/* --- the ends --------------------------------------------------------------------------------- */

struct last {
    struct base_audit_head *head;
    char *time;
};

static enum err visit_last(void *ctx, struct slice key, uint64_t version, struct slice body)
{
    const struct last *last = ctx;
    struct base_audit_record r;
    uint64_t number = 0;
    (void)version; /* a record is written once */
    enum err rc = ten_doc_key_audit_number(key, &number);
    if (rc == ERR_OK)
        rc = ten_audit_decode(number, body, &r);
    if (rc != ERR_OK)
        return rc;
    *last->head = (struct base_audit_head){.number = number, .hash = r.hash};
    size_t len = r.time.len < BASE_TIME_TEXT ? r.time.len : BASE_TIME_TEXT - 1;
    if (len > 0)
        memcpy(last->time, r.time.ptr, len);
    last->time[len] = '\0';
    return ERR_OK;
}

enum err ten_audit_last(struct ten_registry *r, struct base_audit_head *out,
                        char out_time[BASE_TIME_TEXT], struct errbuf *eb)
{
    struct last last = {.head = out, .time = out_time};
    const struct sto_docs_page page = {
        .prefix = sto_doc_prefix(STO_DOC_AUDIT), .limit = 1, .backwards = true};
    *out = (struct base_audit_head){0};
    out_time[0] = '\0';
    enum err rc = sto_docs_read(r->engine, &page, visit_last, &last, eb);
    return rc == ERR_CORRUPT ? damaged(eb) : rc;
}

static enum err visit_last_of(void *ctx, struct slice key, uint64_t version, struct slice body)
{
    struct base_audit_head *head = ctx;
    uint64_t in_trail = 0;
    (void)version; /* an entry is written once */
    enum err rc = ten_doc_key_audit_number(key, &head->number);
    if (rc != ERR_OK || head->number > 0)
        return rc == ERR_OK ? ten_audit_index_decode(body, &in_trail, &head->hash) : rc;
    struct ten_audit_cut cut; /* all records of the tenant were removed */
    rc = ten_audit_cut_decode(body, &cut);
    if (rc == ERR_OK)
        *head = cut.head;
    return rc;
}

enum err ten_audit_head_of(struct ten_registry *r, struct slice tenant, struct base_audit_head *out,
                           struct errbuf *eb)
{
    struct ten_doc_key prefix = ten_doc_key_audit_prefix(tenant);
    const struct sto_docs_page page = {
        .prefix = ten_doc_key_slice(&prefix), .limit = 1, .backwards = true};
    *out = (struct base_audit_head){0};
    enum err rc = sto_docs_read(r->engine, &page, visit_last_of, out, eb);
    return rc == ERR_CORRUPT ? damaged(eb) : rc;
}

/* --- subjects --------------------------------------------------------------------------------- */

#define SUBJECTS_A_BATCH 256

struct forgetting {
    struct ten_doc_key keys[SUBJECTS_A_BATCH];
    size_t count;
};

static enum err visit_subject(void *ctx, struct slice key, uint64_t version, struct slice body)
{
    struct forgetting *f = ctx;
    struct ten_doc_key *k = &f->keys[f->count++];
    (void)version; /* written once */
    (void)body;
    k->len = key.len;
    memcpy(k->bytes, key.ptr, key.len); /* a stored key is no longer than a key may be */
    return ERR_OK;
}

static enum err batch_forget(struct ten_registry *r, const struct forgetting *f, struct errbuf *eb)
{
    struct sto_doc_change changes[SUBJECTS_A_BATCH];
    for (size_t i = 0; i < f->count; i++)
        changes[i] =
            (struct sto_doc_change){.key = ten_doc_key_slice(&f->keys[i]), .expect = STO_DOC_ANY};
    return sto_docs_commit(r->engine, changes, f->count, eb);
}

enum err ten_audit_forget_subjects(struct ten_registry *r, struct slice tenant, struct errbuf *eb)
{
    struct ten_doc_key prefix = ten_doc_key_erased(STO_DOC_AUDIT_SUBJECT, tenant);
    struct ten_doc_key from = prefix; /* skips keys that earlier batches deleted */
    struct forgetting *f = base_new(sizeof *f);
    enum err rc;
    do {
        const struct sto_docs_page page = {.prefix = ten_doc_key_slice(&prefix),
                                           .from = ten_doc_key_slice(&from),
                                           .limit = SUBJECTS_A_BATCH};
        f->count = 0;
        rc = sto_docs_read(r->engine, &page, visit_subject, f, eb);
        if (rc == ERR_OK && f->count > 0 && atomic_load(&r->stopping))
            rc = base_fail(eb, ERR_CANCELLED, "the registry closes");
        if (rc == ERR_OK && f->count > 0)
            rc = batch_forget(r, f, eb);
        if (f->count > 0)
            from = f->keys[f->count - 1];
    } while (rc == ERR_OK && f->count > 0);
    base_free(f);
    return rc;
}

/* --- pages ------------------------------------------------------------------------------------ */

struct reading {
    struct ten_registry *registry;
    ten_audit_visit *visit;
    void *ctx;
    struct buf body;    /* of a record found through the index */
    struct buf subject; /* of a record whose subject is separate */
    bool is_damaged;
};

/* Any result but ERR_OK stops the reading; ERR_NOT_FOUND: this key does not exist. */
static enum err doc_find(struct reading *g, const struct ten_doc_key *key, struct buf *out)
{
    uint64_t version;
    base_buf_truncate(out, 0);
    enum err rc = sto_doc_get(g->registry->engine, ten_doc_key_slice(key), &version, out, NULL);
    g->is_damaged = rc == ERR_TOO_BIG;
    return g->is_damaged ? ERR_CORRUPT : rc;
}

/* ERR_NOT_FOUND: it was erased with its tenant, or removed with its record at the same time. */
static enum err subject_find(struct reading *g, struct base_audit_record *record)
{
    struct ten_doc_key key = ten_doc_key_audit_subject(record->tenant, record->tenant_number);
    enum err rc = doc_find(g, &key, &g->subject);
    if (rc != ERR_OK)
        return rc;
    rc = ten_audit_subject_decode(base_buf_slice(&g->subject), record);
    g->is_damaged = rc != ERR_OK;
    return rc;
}

/* Handles a document that an index or a record refers to but that is missing: it was removed since,
 * or it was never written. */
static enum err record_missing(struct reading *g, uint64_t number)
{
    bool is_removed = false;
    enum err rc = ten_audit_was_removed(g->registry, SLICE_EMPTY, number, &is_removed);
    g->is_damaged = rc == ERR_OK && !is_removed;
    return g->is_damaged ? ERR_CORRUPT : rc;
}

static enum err give(struct reading *g, uint64_t number, struct slice body)
{
    struct base_audit_record record;
    enum err rc = ten_audit_decode(number, body, &record);
    g->is_damaged = rc != ERR_OK;
    if (rc == ERR_OK && record.is_erased)
        rc = subject_find(g, &record);
    if (rc == ERR_NOT_FOUND && ten_audit_keeps_subjects(g->registry, record.tenant))
        return record_missing(g, number); /* the record was removed too, or this is damage */
    return rc == ERR_OK || rc == ERR_NOT_FOUND ? g->visit(g->ctx, &record) : rc;
}

static enum err visit_record(void *ctx, struct slice key, uint64_t version, struct slice body)
{
    struct reading *g = ctx;
    uint64_t number = 0;
    (void)version; /* a record is written once */
    g->is_damaged = ten_doc_key_audit_number(key, &number) != ERR_OK;
    return g->is_damaged ? ERR_CORRUPT : give(g, number, body);
}

static enum err visit_index(void *ctx, struct slice key, uint64_t version, struct slice body)
{
    struct reading *g = ctx;
    struct base_audit_hash entry;
    uint64_t number = 0;
    (void)version; /* an entry is written once */
    (void)key;
    g->is_damaged = ten_audit_index_decode(body, &number, &entry) != ERR_OK;
    if (g->is_damaged)
        return ERR_CORRUPT;
    struct ten_doc_key at = ten_doc_key_audit(number);
    enum err rc = doc_find(g, &at, &g->body);
    if (rc == ERR_NOT_FOUND)
        return record_missing(g, number);
    return rc == ERR_OK ? give(g, number, base_buf_slice(&g->body)) : rc;
}

enum err ten_audit_read(struct ten_registry *r, struct slice tenant, uint64_t from, size_t limit,
                        ten_audit_visit *visit, void *ctx, struct errbuf *eb)
{
    struct reading g = {.registry = r, .visit = visit, .ctx = ctx};
    bool is_tenants = tenant.len > 0;
    INVARIANT(tenant.len <= LIM_TENANT_ID && from > 0);
    struct ten_doc_key first =
        is_tenants ? ten_doc_key_audit_of(tenant, from) : ten_doc_key_audit(from);
    struct ten_doc_key of_tenant = ten_doc_key_audit_prefix(tenant);
    const struct sto_docs_page page = {
        .prefix = is_tenants ? ten_doc_key_slice(&of_tenant) : sto_doc_prefix(STO_DOC_AUDIT),
        .from = ten_doc_key_slice(&first),
        .limit = limit,
    };
    base_buf_init(&g.body, TEN_AUDIT_DOC_MAX);
    base_buf_init(&g.subject, TEN_AUDIT_DOC_MAX);
    enum err rc = sto_docs_read(r->engine, &page, is_tenants ? visit_index : visit_record, &g, eb);
    base_buf_fini(&g.body);
    base_buf_fini(&g.subject);
    return g.is_damaged ? damaged(eb) : rc;
}
