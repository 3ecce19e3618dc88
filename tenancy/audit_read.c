/*
 * tenancy/audit_read.c - the trail, from any number on; a tenant's by way of its index.
 */
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

/* --- pages ------------------------------------------------------------------------------------ */

struct reading {
    struct ten_registry *registry;
    ten_audit_visit *visit;
    void *ctx;
    struct buf body; /* of a record found by the index */
    bool is_damaged;
};

static enum err give(struct reading *g, uint64_t number, struct slice body)
{
    struct base_audit_record record;
    g->is_damaged = ten_audit_decode(number, body, &record) != ERR_OK;
    if (g->is_damaged)
        return ERR_CORRUPT;
    return g->visit(g->ctx, &record);
}

static enum err visit_record(void *ctx, struct slice key, uint64_t version, struct slice body)
{
    struct reading *g = ctx;
    uint64_t number = 0;
    (void)version; /* a record is written once */
    g->is_damaged = ten_doc_key_audit_number(key, &number) != ERR_OK;
    return g->is_damaged ? ERR_CORRUPT : give(g, number, body);
}

/* Of an index entry: it was removed since the index was read, or never written. */
static enum err record_missing(struct reading *g, uint64_t number)
{
    bool is_removed = false;
    enum err rc = ten_audit_was_removed(g->registry, SLICE_EMPTY, number, &is_removed);
    g->is_damaged = rc == ERR_OK && !is_removed;
    return g->is_damaged ? ERR_CORRUPT : rc;
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
    uint64_t record_version;
    base_buf_truncate(&g->body, 0);
    enum err rc =
        sto_doc_get(g->registry->engine, ten_doc_key_slice(&at), &record_version, &g->body, NULL);
    if (rc == ERR_NOT_FOUND)
        return record_missing(g, number);
    g->is_damaged = rc == ERR_TOO_BIG;
    if (rc != ERR_OK)
        return g->is_damaged ? ERR_CORRUPT : rc;
    return give(g, number, base_buf_slice(&g->body));
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
    enum err rc = sto_docs_read(r->engine, &page, is_tenants ? visit_index : visit_record, &g, eb);
    base_buf_fini(&g.body);
    return g.is_damaged ? damaged(eb) : rc;
}
