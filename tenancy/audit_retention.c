/*
 * tenancy/audit_retention.c - removes old records from the start of the trail, a batch at a time.
 *
 * A record is removed when it was kept for its tenant's audit_days (the default, if it is about no
 * tenant) and all earlier records are removed: so the trail is kept for the longest of all tenants'
 * periods. A clock that jumps ahead must not cost records: as many later days must be recorded as
 * are kept, by the bases of the bills, of which there is one a day (metering_keep.c).
 *
 * 1. A batch removes records, their index entries and their subjects, and moves the cuts of the
 *    trail and of their tenants, completely or not at all.
 * 2. The newest record stays: the head is read from it at a start.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/text.h"
#include "tenancy/audit_cut.h"
#include "tenancy/audit_doc.h"
#include "tenancy/audit_internal.h"
#include "tenancy/doc_key.h"
#include "tenancy/internal.h"
#include "tenancy/metering.h"

#include "base/banned.h"

#define BATCH       64 /* records; bounds the changes of a commit and the time on the thread */
#define DAYS_PROVEN (TEN_METERING_KEPT_H / 24)
#define DAY_US      (24 * TEN_HOUR_US)
#define NEVER       INT64_MIN

/* A chain whose first records this batch removes. */
struct chain {
    char tenant[LIM_TENANT_ID + 1]; /* "": the trail */
    struct ten_audit_cut cut;
    struct ten_doc_key key;
    struct buf body;
};

struct expiring {
    struct ten_registry *registry;
    int64_t now_us;
    uint64_t last;                    /* number of the newest record that may be removed */
    int64_t cutoffs[DAYS_PROVEN + 1]; /* by days, as far as computed; 0: not yet */
    size_t count;                     /* records */
    struct ten_doc_key keys[3 * BATCH];
    size_t key_count;
    struct chain chains[BATCH + 1]; /* the first is the trail's */
    size_t chain_count;
    struct errbuf *eb;
};

/* Test tool: returns by how many days the clock is ahead; all of them count as recorded. 0: it is
 * not ahead. */
static int64_t days_ahead(void)
{
    const char *text = getenv("BIGTENT_TEST_AUDIT_DAYS_AHEAD");
    uint64_t days = 0;
    if (text == NULL || base_parse_u64(base_slice_text(text), &days) != ERR_OK ||
        days > LIM_AUDIT_DAYS_MAX)
        return 0;
    return (int64_t)days;
}

/* --- selection -------------------------------------------------------------------------------- */

static uint64_t days_of(const struct expiring *x, struct slice tenant)
{
    const struct ten_tenant *t = tenant.len == 0 ? NULL : ten_tenant_find(x->registry, tenant);
    struct ten_quota q;
    if (t == NULL)
        ten_quota_default(&q);
    else
        ten_tenant_quota(t, &q);
    return q.audit_days;
}

/* Returns the time before which records are old enough. */
static enum err cutoff_of(struct expiring *x, uint64_t days, int64_t *out)
{
    uint64_t proven = days < DAYS_PROVEN ? days : DAYS_PROVEN;
    int64_t by_age = x->now_us - (int64_t)days * DAY_US;
    if (x->cutoffs[proven] == 0) {
        uint64_t hour = 0;
        enum err rc = ten_metering_base(x->registry, UINT64_MAX, proven, &hour, x->eb);
        if (rc != ERR_OK)
            return rc;
        x->cutoffs[proven] = hour == 0 ? NEVER : (int64_t)hour * TEN_HOUR_US;
    }
    *out = by_age < x->cutoffs[proven] ? by_age : x->cutoffs[proven];
    return ERR_OK;
}

static enum err due(struct expiring *x, const struct base_audit_record *r, bool *out)
{
    int64_t at_us = 0;
    int64_t cutoff_us = NEVER;
    enum err rc = base_parse_time(r->time, &at_us) == ERR_OK ? ERR_OK : ERR_CORRUPT;
    if (rc == ERR_OK)
        rc = cutoff_of(x, days_of(x, r->tenant), &cutoff_us);
    *out = rc == ERR_OK && at_us < cutoff_us;
    return rc;
}

/* --- a batch ---------------------------------------------------------------------------------- */

static enum err chain_find(struct expiring *x, struct slice tenant, struct chain **out)
{
    for (size_t i = 0; i < x->chain_count; i++)
        if (base_slice_is(tenant, x->chains[i].tenant)) {
            *out = &x->chains[i];
            return ERR_OK;
        }
    struct chain *c = &x->chains[x->chain_count];
    enum err rc = ten_audit_cut_read(x->registry, tenant, &c->cut, x->eb);
    if (rc != ERR_OK)
        return rc;
    if (tenant.len > 0)
        memcpy(c->tenant, tenant.ptr, tenant.len);
    c->key = tenant.len > 0 ? ten_doc_key_audit_of(tenant, 0) : ten_doc_key_audit(0);
    base_buf_init(&c->body, TEN_AUDIT_CUT_DOC_MAX);
    x->chain_count++;
    *out = c;
    return ERR_OK;
}

static enum err chain_move(struct expiring *x, const struct base_audit_record *r, bool is_trails)
{
    struct chain *c = NULL;
    enum err rc = chain_find(x, is_trails ? SLICE_EMPTY : r->tenant, &c);
    if (rc != ERR_OK)
        return rc;
    c->cut.head = is_trails
                      ? (struct base_audit_head){.number = r->number, .hash = r->hash}
                      : (struct base_audit_head){.number = r->tenant_number, .hash = r->entry};
    size_t len = r->time.len < BASE_TIME_TEXT ? r->time.len : BASE_TIME_TEXT - 1;
    memcpy(c->cut.time, r->time.ptr, len);
    c->cut.time[len] = '\0';
    if (!is_trails)
        ten_holds_take(&c->cut.holds, r);
    return ERR_OK;
}

/* Any result but ERR_OK stops the iteration; ERR_CANCELLED: the remaining records stay. */
static enum err visit(void *ctx, const struct base_audit_record *r)
{
    struct expiring *x = ctx;
    bool is_due = false;
    enum err rc = r->number <= x->last ? due(x, r, &is_due) : ERR_OK;
    if (rc == ERR_OK && !is_due)
        return ERR_CANCELLED;
    if (rc == ERR_OK)
        rc = chain_move(x, r, true);
    if (rc == ERR_OK && r->tenant.len > 0)
        rc = chain_move(x, r, false);
    if (rc != ERR_OK)
        return rc;
    x->keys[x->key_count++] = ten_doc_key_audit(r->number);
    if (r->tenant.len > 0)
        x->keys[x->key_count++] = ten_doc_key_audit_of(r->tenant, r->tenant_number);
    if (ten_audit_is_apart(r)) /* and exists: an erased one has neither target nor detail */
        x->keys[x->key_count++] = ten_doc_key_audit_subject(r->tenant, r->tenant_number);
    x->count++;
    return ERR_OK;
}

static enum err batch_commit(struct expiring *x)
{
    struct sto_doc_change changes[4 * BATCH + 1];
    size_t count = 0;
    for (size_t i = 0; i < x->key_count; i++)
        changes[count++] =
            (struct sto_doc_change){.key = ten_doc_key_slice(&x->keys[i]), .expect = STO_DOC_ANY};
    for (size_t i = 0; i < x->chain_count; i++) {
        struct chain *c = &x->chains[i];
        enum err rc = ten_audit_cut_encode(&c->cut, &c->body);
        if (rc != ERR_OK)
            return base_fail(x->eb, rc, "the beginning of the audit trail cannot be written");
        changes[count++] = (struct sto_doc_change){.key = ten_doc_key_slice(&c->key),
                                                   .body = base_buf_slice(&c->body),
                                                   .expect = STO_DOC_ANY};
    }
    return sto_docs_commit(x->registry->engine, changes, count, x->eb);
}

enum err ten_audit_expire(struct ten_registry *r, int64_t now_us, size_t *out_removed,
                          struct errbuf *eb)
{
    struct expiring *x = base_new(sizeof *x);
    struct base_audit_head head;
    char time[BASE_TIME_TEXT];
    ten_control_check(r);
    ten_audit_head(r, &head, time);
    x->registry = r;
    x->now_us = now_us + days_ahead() * DAY_US;
    for (size_t i = 0; days_ahead() > 0 && i <= DAYS_PROVEN; i++)
        x->cutoffs[i] = INT64_MAX;
    x->last = head.number > 0 ? head.number - 1 : 0;
    x->eb = eb;
    *out_removed = 0;
    struct ten_audit_cut cut;
    enum err rc = ten_audit_cut_read(r, SLICE_EMPTY, &cut, eb);
    if (rc == ERR_OK)
        rc = ten_audit_read(r, SLICE_EMPTY, cut.head.number + 1, BATCH, visit, x, eb);
    if (rc == ERR_CANCELLED)
        rc = ERR_OK;
    if (rc == ERR_OK && x->count > 0)
        rc = batch_commit(x);
    if (rc == ERR_OK)
        *out_removed = x->count;
    for (size_t i = 0; i < x->chain_count; i++)
        base_buf_fini(&x->chains[i].body);
    base_free(x);
    return rc;
}

void ten_audit_tick(struct ten_registry *r, uint64_t tick_ms)
{
    struct ten_audit *audit = r->audit;
    size_t removed = 0;
    audit->expire_ms += tick_ms;
    if (audit->expire_ms < TEN_AUDIT_LOOK_MS)
        return;
    enum err rc = ten_audit_expire(r, base_wall_us(), &removed, NULL);
    if (rc != ERR_OK || removed < BATCH)
        audit->expire_ms = 0; /* an engine that fails reports it itself */
}
