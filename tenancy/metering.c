/*
 * tenancy/metering.c - a round of all tenants every ten seconds, a part of them at each tick.
 *
 * A tenant's document of the hour is read, added to and written again, many in one synced batch.
 * Memory holds only the amounts already documented: the meter's counters at that time, and the
 * bytes stored.
 *
 * Idle tenants: stored bytes change by commits only, so that between two documents of a tenant its
 * bytes are those at the end of the first. The first round of a day (UTC) documents every tenant
 * that stores bytes, idle or not, and then records the hour as a base: a reader finds all tenants'
 * bytes from there on, and never needs earlier documents.
 *
 * 1. documented advances only after a durable batch.
 * 2. A round in progress when a new hour starts is completed at the first tick of that hour, for
 *    the hour that ended: activity up to then belongs to the ended hour.
 * 3. When an hour is entered that has documents already (the clock was set back), a new base is
 *    made: hours that repeat continue with the bytes stored then. Moments that are billed already
 *    are not billed again.
 */
#include "tenancy/metering.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "tenancy/internal.h"

#include "base/banned.h"

#define HOURS_PER_DAY 24

struct ten_metering {
    bool stopped;
    uint64_t hour;      /* of the current round, or the last; 0: a test before its first flush */
    uint64_t base;      /* hour of the last base; 0: none */
    uint64_t peak;      /* the highest hour that has documents */
    bool base_wanted;   /* for a reason other than a new day */
    bool makes_base;    /* whether this round does, since its start */
    size_t next;        /* index of the next tenant to check */
    uint64_t since_ms;  /* time since the round started */
    uint64_t expire_ms; /* time since a batch was removed */
    uint64_t written;
};

static uint64_t hour_of(int64_t now_us)
{
    return now_us < 0 ? 0 : (uint64_t)(now_us / TEN_HOUR_US);
}

/* --- a batch ---------------------------------------------------------------------------------- */

struct flushed {
    struct ten_tenant *tenant;
    struct ten_metered_now now;
    uint64_t bytes;
};

struct batch {
    struct ten_doc_key keys[TEN_METERING_BATCH];
    struct buf bodies[TEN_METERING_BATCH];
    struct flushed flushed[TEN_METERING_BATCH];
    struct sto_doc_change changes[TEN_METERING_BATCH];
    size_t count;
};

/* Adds the differences of two readings. False: nothing that is billed. */
static bool add_differences(struct ten_metering_doc *d, const struct ten_metered_now *now,
                            const struct ten_metered_now *before)
{
    uint64_t any = 0;
    for (size_t i = 0; i < TEN_METER_COUNT; i++) {
        uint64_t more = i == TEN_METER_LATENCY_NS ? 0 : now->each[i] - before->each[i];
        d->each[i] += more;
        any |= more;
    }
    for (size_t i = 0; i < TEN_POLICY_COUNT; i++) {
        d->throttled[i] += now->throttled[i] - before->throttled[i];
        d->throttled_ns[i] += now->throttled_ns[i] - before->throttled_ns[i];
        any |= now->throttled[i] - before->throttled[i];
        any |= now->throttled_ns[i] - before->throttled_ns[i];
    }
    return any != 0;
}

static enum err read_doc(struct ten_registry *r, const struct ten_doc_key *key,
                         struct ten_metering_doc *out, struct errbuf *eb)
{
    struct buf body;
    uint64_t version;
    *out = (struct ten_metering_doc){.at_us = 0};
    base_buf_init(&body, TEN_METERING_DOC_MAX);
    enum err rc = sto_doc_get(r->engine, ten_doc_key_slice(key), &version, &body, eb);
    if (rc == ERR_OK)
        rc = ten_metering_decode(base_buf_slice(&body), out);
    else if (rc == ERR_NOT_FOUND)
        rc = ERR_OK;
    base_buf_fini(&body);
    return rc == ERR_CORRUPT ? base_fail(eb, rc, "a bill is damaged") : rc;
}

/* Adds the tenant's document to the batch if there is something to write. */
static enum err add_tenant(struct ten_registry *r, struct batch *b, struct ten_tenant *t,
                           uint64_t hour, uint64_t at_us, bool anyway, struct errbuf *eb)
{
    struct flushed *f = &b->flushed[b->count];
    static const struct ten_metered_now NOTHING;
    const struct ten_metered_now *before = t->documented != NULL ? t->documented : &NOTHING;
    struct ten_metering_doc differences = {.at_us = 0};
    f->tenant = t;
    f->bytes = atomic_load_explicit(&t->account.total.bytes, memory_order_relaxed);
    ten_meter_read(t, &f->now);
    bool differs =
        add_differences(&differences, &f->now, before) || f->bytes != t->documented_bytes;
    if (!differs && !anyway)
        return ERR_OK;
    struct ten_metering_doc doc;
    struct ten_doc_key *key = &b->keys[b->count];
    *key = ten_metering_key(hour, ten_tenant_id(t));
    enum err rc = read_doc(r, key, &doc, eb);
    if (rc != ERR_OK)
        return rc;
    if (!differs && f->bytes == 0 && doc.bytes == 0)
        return ERR_OK;
    ten_metering_settle(&doc, t->documented_bytes, at_us);
    (void)add_differences(&doc, &f->now, before); /* same result as the call above */
    doc.bytes = f->bytes;
    struct buf *body = &b->bodies[b->count];
    base_buf_truncate(body, 0);
    rc = ten_metering_encode(&doc, body);
    if (rc != ERR_OK)
        return base_fail(eb, rc, "a bill cannot be written");
    b->changes[b->count++] = (struct sto_doc_change){
        .key = ten_doc_key_slice(key), .body = base_buf_slice(body), .expect = STO_DOC_ANY};
    return ERR_OK;
}

static enum err commit(struct ten_registry *r, struct batch *b, struct errbuf *eb)
{
    if (b->count == 0)
        return ERR_OK;
    enum err rc = sto_docs_commit(r->engine, b->changes, b->count, eb);
    for (size_t i = 0; rc == ERR_OK && i < b->count; i++) {
        const struct flushed *f = &b->flushed[i];
        if (f->tenant->documented == NULL && ten_meter_is_active(f->tenant))
            f->tenant->documented = base_new(sizeof *f->tenant->documented);
        if (f->tenant->documented != NULL)
            *f->tenant->documented = f->now;
        f->tenant->documented_bytes = f->bytes;
    }
    if (rc == ERR_OK) {
        r->metering->written += b->count;
        if (r->metering->peak < r->metering->hour)
            r->metering->peak = r->metering->hour;
    }
    b->count = 0;
    return rc;
}

static struct batch *batch_new(void)
{
    struct batch *b = base_new(sizeof *b);
    for (size_t i = 0; i < TEN_METERING_BATCH; i++)
        base_buf_init(&b->bodies[i], TEN_METERING_DOC_MAX);
    return b;
}

static void batch_free(struct batch *b)
{
    for (size_t i = 0; i < TEN_METERING_BATCH; i++)
        base_buf_fini(&b->bodies[i]);
    base_free(b);
}

/* --- rounds ----------------------------------------------------------------------------------- */

/* Processes tenants from m->next on: at most `part` and at most one batch or, if at_once, all. */
static enum err advance(struct ten_registry *r, uint64_t at_us, size_t part, bool at_once,
                        struct errbuf *eb)
{
    struct ten_metering *m = r->metering;
    struct batch *b = batch_new();
    size_t first = m->next; /* tenants that are not durable are processed again */
    enum err rc = ERR_OK;
    while (rc == ERR_OK && m->next < r->tenant_count && part-- > 0) {
        rc = add_tenant(r, b, r->sorted[m->next++], m->hour, at_us, m->makes_base, eb);
        if (rc == ERR_OK && b->count == TEN_METERING_BATCH) {
            rc = commit(r, b, eb);
            first = rc == ERR_OK ? m->next : first;
            if (!at_once)
                break;
        }
    }
    if (rc == ERR_OK)
        rc = commit(r, b, eb);
    if (rc != ERR_OK)
        m->next = first;
    batch_free(b);
    return rc;
}

static void round_begin(struct ten_metering *m, uint64_t hour)
{
    bool is_entered = hour != m->hour;
    m->base_wanted = m->base_wanted || (is_entered && hour <= m->peak);
    m->hour = hour;
    m->next = 0;
    m->makes_base =
        m->base_wanted || m->base == 0 || m->base / HOURS_PER_DAY != hour / HOURS_PER_DAY;
}

/* Finishes a round: all tenants were processed. */
static enum err round_end(struct ten_registry *r, struct errbuf *eb)
{
    struct ten_metering *m = r->metering;
    if (!m->makes_base)
        return ERR_OK;
    struct ten_doc_key key = ten_metering_base_key(m->hour);
    const struct sto_doc_change change = {
        .key = ten_doc_key_slice(&key), .body = SLICE_LIT(""), .expect = STO_DOC_ANY};
    enum err rc = sto_docs_commit(r->engine, &change, 1, eb);
    if (rc != ERR_OK)
        return rc;
    m->makes_base = false;
    m->base_wanted = false;
    m->base = m->hour;
    return ERR_OK;
}

/* Finishes the hour of m. */
static enum err hour_end(struct ten_registry *r, bool is_back, struct errbuf *eb)
{
    struct ten_metering *m = r->metering;
    m->next = 0;
    m->makes_base = false;
    /* if the clock was set back, the rest of that hour did not happen */
    return advance(r, is_back ? 0 : TEN_HOUR_US, SIZE_MAX, true, eb);
}

/* Called before a part of a round in that hour. */
static enum err enter_hour(struct ten_registry *r, uint64_t hour, struct errbuf *eb)
{
    struct ten_metering *m = r->metering;
    enum err rc = ERR_OK;
    if (hour == m->hour)
        return ERR_OK;
    if (m->hour != 0)
        rc = hour_end(r, hour < m->hour, eb);
    if (rc == ERR_OK)
        round_begin(m, hour);
    return rc;
}

enum err ten_metering_flush(struct ten_registry *r, int64_t now_us, struct errbuf *eb)
{
    ten_control_check(r);
    uint64_t hour = hour_of(now_us);
    enum err rc = enter_hour(r, hour, eb);
    if (rc != ERR_OK)
        return rc;
    round_begin(r->metering, hour);
    rc = advance(r, (uint64_t)(now_us % TEN_HOUR_US), SIZE_MAX, true, eb);
    return rc == ERR_OK ? round_end(r, eb) : rc;
}

static void go_on(struct ten_registry *r, int64_t now_us, uint64_t tick_ms)
{
    struct ten_metering *m = r->metering;
    size_t part = (size_t)(2 * r->tenant_count * tick_ms / TEN_METERING_FLUSH_MS) + 1;
    bool was_whole = m->next >= r->tenant_count;
    enum err rc = enter_hour(r, hour_of(now_us), NULL);
    if (rc == ERR_OK && m->since_ms >= TEN_METERING_FLUSH_MS && was_whole) {
        m->since_ms = 0;
        round_begin(m, hour_of(now_us));
    }
    if (rc != ERR_OK || m->next >= r->tenant_count)
        return;
    if (part < TEN_METERING_BATCH)
        part = TEN_METERING_BATCH; /* a few tenants are done in one batch */
    rc = advance(r, (uint64_t)(now_us % TEN_HOUR_US), part, false, NULL);
    if (rc == ERR_OK && m->next >= r->tenant_count)
        rc = round_end(r, NULL);
    (void)rc; /* an engine that fails reports it itself; the next tick retries */
}

void ten_metering_tick(struct ten_registry *r, uint64_t tick_ms)
{
    struct ten_metering *m = r->metering;
    size_t removed = 0;
    ten_control_check(r);
    if (m->stopped)
        return;
    int64_t now_us = base_wall_us();
    m->since_ms += tick_ms;
    m->expire_ms += tick_ms;
    go_on(r, now_us, tick_ms);
    if (m->expire_ms < TEN_METERING_FLUSH_MS)
        return;
    m->expire_ms = 0;
    enum err rc = ten_metering_expire(r, now_us, &removed, NULL);
    (void)rc; /* as above */
}

/* --- life ------------------------------------------------------------------------------------- */

static enum err visit_doc(void *ctx, struct slice key, uint64_t version, struct slice body)
{
    struct ten_registry *r = ctx;
    struct ten_metering_doc doc;
    struct slice id;
    uint64_t hour;
    (void)version;
    enum err rc = ten_metering_key_parts(key, &hour, &id);
    if (rc == ERR_OK)
        rc = ten_metering_decode(body, &doc);
    if (rc != ERR_OK)
        return rc;
    struct ten_tenant *t = ten_tenant_find(r, id);
    if (t == NULL)
        return ERR_CORRUPT;
    t->documented_bytes = doc.bytes; /* the newest document comes last */
    r->metering->peak = hour;
    return ERR_OK;
}

enum err ten_metering_open(struct ten_registry *r, struct errbuf *eb)
{
    r->metering = base_new(sizeof *r->metering);
    enum err rc = ten_metering_base(r, UINT64_MAX, 0, &r->metering->base, eb);
    if (rc == ERR_OK && r->metering->base != 0) {
        struct ten_doc_key from = ten_metering_key(r->metering->base, SLICE_EMPTY);
        const struct sto_docs_page page = {.prefix = sto_doc_prefix(STO_DOC_BILL),
                                           .from = ten_doc_key_slice(&from),
                                           .limit = SIZE_MAX};
        rc = sto_docs_read(r->engine, &page, visit_doc, r, eb);
    }
    r->metering->next = SIZE_MAX; /* the first round starts after an interval */
    r->metering->hour = hour_of(base_wall_us());
    r->metering->base_wanted = r->metering->hour < r->metering->peak;
    return rc == ERR_OK ? rc : base_fail(eb, rc, "the bills cannot be read: %s", base_err_name(rc));
}

void ten_metering_close(struct ten_registry *r)
{
    base_free(r->metering);
    r->metering = NULL;
}

void ten_metering_drain(struct ten_registry *r)
{
    if (r->metering->stopped)
        return;
    enum err rc = ten_metering_flush(r, base_wall_us(), NULL);
    (void)rc; /* an engine that failed has the effect of a crash */
}

void ten_metering_test_stop(struct ten_registry *r)
{
    ten_control_check(r);
    r->metering->stopped = true;
    r->metering->hour = 0; /* the test's clock starts */
}

uint64_t ten_metering_written(const struct ten_registry *r)
{
    return r->metering->written;
}
