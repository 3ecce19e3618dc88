/*
 * tenancy/metering_keep.c - bases, and the removal of old bills.
 *
 * A clock that jumps ahead must not cost bills: an hour is removed when it is old enough and as
 * many later days are recorded as are kept. The remaining bills start with a base, so that they can
 * be read.
 */
#include "base/alloc.h"
#include "tenancy/internal.h"
#include "tenancy/metering.h"

#include "base/banned.h"

#define DAYS_KEPT (TEN_METERING_KEPT_H / 24)

/* --- bases ------------------------------------------------------------------------------------ */

struct bases {
    size_t count;
    uint64_t hour;
};

static enum err visit_base(void *ctx, struct slice key, uint64_t version, struct slice body)
{
    struct bases *b = ctx;
    struct slice nobody;
    (void)version;
    (void)body;
    b->count++;
    return ten_metering_key_parts(key, &b->hour, &nobody);
}

enum err ten_metering_base(struct ten_registry *r, uint64_t hour, size_t back, uint64_t *out,
                           struct errbuf *eb)
{
    struct ten_doc_key from =
        ten_metering_base_key(hour < TEN_METERING_HOUR_MAX ? hour : TEN_METERING_HOUR_MAX);
    const struct sto_docs_page page = {.prefix = sto_doc_prefix(STO_DOC_BILL_BASE),
                                       .from = ten_doc_key_slice(&from),
                                       .limit = back + 1,
                                       .backwards = true};
    struct bases b = {.count = 0};
    enum err rc = sto_docs_read(r->engine, &page, visit_base, &b, eb);
    if (rc == ERR_OK)
        *out = b.count > back ? b.hour : 0;
    return rc;
}

/* --- expiry ----------------------------------------------------------------------------------- */

/* Returns the first hour that stays; 0: all do. */
static enum err find_cutoff(struct ten_registry *r, int64_t now_us, uint64_t *out,
                            struct errbuf *eb)
{
    uint64_t hour = (uint64_t)(now_us / TEN_HOUR_US);
    uint64_t by_age = hour > TEN_METERING_KEPT_H ? hour - TEN_METERING_KEPT_H : 0;
    uint64_t by_count = 0;
    *out = 0;
    enum err rc = ten_metering_base(r, UINT64_MAX, DAYS_KEPT, &by_count, eb);
    if (rc != ERR_OK || by_count == 0)
        return rc;
    return ten_metering_base(r, by_count < by_age ? by_count : by_age, 0, out, eb);
}

struct expired {
    uint64_t cutoff;
    size_t count;
    struct ten_doc_key keys[TEN_METERING_BATCH];
};

static enum err visit_expired(void *ctx, struct slice key, uint64_t version, struct slice body)
{
    struct expired *x = ctx;
    struct slice tenant;
    uint64_t hour;
    (void)version;
    (void)body;
    enum err rc = ten_metering_key_parts(key, &hour, &tenant);
    if (rc != ERR_OK || hour >= x->cutoff)
        return rc;
    struct ten_doc_key *k = &x->keys[x->count++];
    memcpy(k->bytes, key.ptr, key.len);
    k->len = key.len;
    return ERR_OK;
}

static enum err expire_below(struct ten_registry *r, struct slice prefix, struct expired *x,
                             struct errbuf *eb)
{
    const struct sto_docs_page page = {.prefix = prefix, .limit = TEN_METERING_BATCH};
    x->count = 0;
    enum err rc = sto_docs_read(r->engine, &page, visit_expired, x, eb);
    if (rc != ERR_OK || x->count == 0)
        return rc;
    struct sto_doc_change *changes = base_new_array(x->count, sizeof changes[0]);
    for (size_t i = 0; i < x->count; i++)
        changes[i] =
            (struct sto_doc_change){.key = ten_doc_key_slice(&x->keys[i]), .expect = STO_DOC_ANY};
    rc = sto_docs_commit(r->engine, changes, x->count, eb);
    base_free(changes);
    return rc;
}

enum err ten_metering_expire(struct ten_registry *r, int64_t now_us, size_t *out_removed,
                             struct errbuf *eb)
{
    uint64_t cutoff = 0;
    *out_removed = 0;
    enum err rc = find_cutoff(r, now_us, &cutoff, eb);
    if (rc != ERR_OK || cutoff == 0)
        return rc;
    struct expired *x = base_new(sizeof *x);
    x->cutoff = cutoff;
    rc = expire_below(r, sto_doc_prefix(STO_DOC_BILL), x, eb);
    *out_removed = x->count;
    if (rc == ERR_OK && x->count < TEN_METERING_BATCH) /* bases last: readers start at them */
        rc = expire_below(r, sto_doc_prefix(STO_DOC_BILL_BASE), x, eb);
    base_free(x);
    return rc;
}
