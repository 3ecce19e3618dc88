/*
 * tenancy/metering_read.c - bills hour by hour; hours between a tenant's documents are filled in.
 *
 * Reading starts at the last base at or before `from`, so that the stored bytes of every tenant are
 * known, and emits nothing before `from`. Each hour emits first the documents, then, for tenants
 * without one in that hour, the bytes that they still store.
 *
 * 1. Every tenant with a document since the base is in the list, sorted by ID.
 */
#include "base/alloc.h"
#include "tenancy/internal.h"
#include "tenancy/metering.h"

#include "base/banned.h"

#define STORES_FIRST 16

/* The bytes that a tenant stores since its last document. */
struct store {
    char id[LIM_TENANT_ID + 1];
    uint8_t id_len;
    uint64_t bytes;
    uint64_t hour; /* of that document */
};

enum phase { FIND_BASE, DOCUMENTS, IDLE, END };

struct ten_bills {
    struct ten_registry *registry;
    struct ten_tenant *tenant;
    uint64_t from;
    uint64_t until;
    int64_t now_us;

    enum phase phase;
    uint64_t hour;
    struct ten_doc_key next; /* document of the hour; len 0: its first */
    size_t next_store;
    struct store **stores;
    size_t store_count;
    size_t store_capacity;

    /* during a call */
    ten_bill_visit *visit;
    void *ctx;
    size_t seen;
    bool is_damaged;
};

struct ten_bills *ten_bills_open(struct ten_registry *r, struct ten_tenant *tenant, uint64_t from,
                                 uint64_t until, int64_t now_us)
{
    struct ten_bills *b = base_new(sizeof *b);
    uint64_t end = (uint64_t)(now_us / TEN_HOUR_US) + 1;
    *b = (struct ten_bills){.registry = r,
                            .tenant = tenant,
                            .from = from,
                            .until = until < end ? until : end,
                            .now_us = now_us};
    return b;
}

void ten_bills_close(struct ten_bills *b)
{
    if (b == NULL)
        return;
    for (size_t i = 0; i < b->store_count; i++)
        base_free(b->stores[i]);
    base_free(b->stores);
    base_free(b);
}

/* --- stored bytes by tenant ------------------------------------------------------------------- */

static struct slice id_of(const struct store *s)
{
    return base_slice(s->id, s->id_len);
}

/* Returns the position of the tenant, or where it belongs. */
static size_t store_bound(const struct ten_bills *b, struct slice id)
{
    size_t low = 0;
    size_t high = b->store_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (base_slice_compare(id_of(b->stores[middle]), id) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void store_insert(struct ten_bills *b, size_t at, struct slice id)
{
    struct store *s = base_new(sizeof *s);
    INVARIANT(id.len <= LIM_TENANT_ID);
    memcpy(s->id, id.ptr, id.len);
    s->id_len = (uint8_t)id.len;
    if (b->store_count == b->store_capacity) {
        size_t capacity = b->store_capacity == 0 ? STORES_FIRST : b->store_capacity * 2;
        struct store **larger = base_new_array(capacity, sizeof larger[0]);
        if (b->store_count > 0)
            memcpy(larger, b->stores, b->store_count * sizeof larger[0]);
        base_free(b->stores);
        b->stores = larger;
        b->store_capacity = capacity;
    }
    memmove(b->stores + at + 1, b->stores + at, (b->store_count - at) * sizeof b->stores[0]);
    b->stores[at] = s;
    b->store_count++;
}

static void store_set(struct ten_bills *b, struct slice id, uint64_t bytes)
{
    size_t at = store_bound(b, id);
    if (at == b->store_count || !base_slice_equal(id_of(b->stores[at]), id))
        store_insert(b, at, id);
    b->stores[at]->bytes = bytes;
    b->stores[at]->hour = b->hour;
}

/* --- one hour --------------------------------------------------------------------------------- */

/* Returns how much of the hour has passed. */
static uint64_t lived_us(const struct ten_bills *b)
{
    int64_t us = b->now_us - (int64_t)b->hour * TEN_HOUR_US;
    return us < 0 ? 0 : us > TEN_HOUR_US ? (uint64_t)TEN_HOUR_US : (uint64_t)us;
}

static enum err give(struct ten_bills *b, struct slice tenant, struct ten_metering_doc *doc)
{
    ten_metering_settle(doc, doc->bytes, lived_us(b));
    if (b->hour < b->from)
        return ERR_OK;
    const struct ten_bill bill = {.tenant = tenant, .hour = b->hour, .doc = *doc};
    return b->visit(b->ctx, &bill);
}

static enum err visit_doc(void *ctx, struct slice key, uint64_t version, struct slice body)
{
    struct ten_bills *b = ctx;
    struct ten_metering_doc doc;
    struct slice tenant;
    uint64_t hour;
    (void)version;
    b->is_damaged = ten_metering_key_parts(key, &hour, &tenant) != ERR_OK || tenant.len == 0 ||
                    tenant.len > LIM_TENANT_ID || ten_metering_decode(body, &doc) != ERR_OK;
    if (b->is_damaged)
        return ERR_CORRUPT;
    b->seen++;
    store_set(b, tenant, doc.bytes);
    b->next = ten_metering_key(hour, tenant);
    b->next.bytes[b->next.len++] = 0; /* the smallest key after it */
    return give(b, tenant, &doc);
}

static enum err read_one(struct ten_bills *b, struct errbuf *eb)
{
    struct ten_doc_key key = ten_metering_key(b->hour, ten_tenant_id(b->tenant));
    struct buf body;
    uint64_t version = 0;
    base_buf_init(&body, TEN_METERING_DOC_MAX);
    enum err rc = sto_doc_get(b->registry->engine, ten_doc_key_slice(&key), &version, &body, eb);
    if (rc == ERR_OK)
        rc = visit_doc(b, ten_doc_key_slice(&key), version, base_buf_slice(&body));
    else if (rc == ERR_NOT_FOUND)
        rc = ERR_OK;
    base_buf_fini(&body);
    return rc;
}

/* Reads documents of the hour; starts the next phase when there are no more. */
static enum err read_documents(struct ten_bills *b, size_t limit, struct errbuf *eb)
{
    enum err rc;
    b->seen = 0;
    if (b->tenant != NULL) {
        rc = read_one(b, eb);
    } else {
        struct ten_doc_key prefix = ten_metering_key(b->hour, SLICE_EMPTY);
        struct ten_doc_key from = b->next;
        const struct sto_docs_page page = {
            .prefix = ten_doc_key_slice(&prefix), .from = ten_doc_key_slice(&from), .limit = limit};
        rc = sto_docs_read(b->registry->engine, &page, visit_doc, b, eb);
    }
    if (rc == ERR_OK && (b->tenant != NULL || b->seen < limit)) {
        b->phase = IDLE;
        b->next.len = 0;
        b->next_store = 0;
    }
    return rc;
}

/* Emits the rest of the hour's bills, at most `limit`; then starts the next hour. */
static enum err read_idle(struct ten_bills *b, size_t limit)
{
    enum err rc = ERR_OK;
    b->seen = 0;
    while (rc == ERR_OK && b->seen < limit && b->next_store < b->store_count) {
        const struct store *s = b->stores[b->next_store++];
        struct ten_metering_doc doc = {.bytes = s->bytes};
        b->seen++;
        if (s->bytes > 0 && s->hour != b->hour)
            rc = give(b, id_of(s), &doc);
    }
    if (rc == ERR_OK && b->next_store == b->store_count) {
        b->hour++;
        b->seen++;
        b->phase = b->hour < b->until ? DOCUMENTS : END;
    }
    return rc;
}

/* --- all of them ------------------------------------------------------------------------------ */

static enum err visit_first(void *ctx, struct slice key, uint64_t version, struct slice body)
{
    struct ten_bills *b = ctx;
    struct slice tenant;
    (void)version;
    (void)body;
    b->is_damaged = ten_metering_key_parts(key, &b->hour, &tenant) != ERR_OK;
    return b->is_damaged ? ERR_CORRUPT : ERR_OK;
}

/* Finds where to start: without a base before `from`, at `from`, or at the first document. */
static enum err find_base(struct ten_bills *b, struct errbuf *eb)
{
    enum err rc = ten_metering_base(b->registry, b->from, 0, &b->hour, eb);
    if (rc == ERR_OK && b->hour == 0) {
        const struct sto_docs_page page = {.prefix = sto_doc_prefix(STO_DOC_BILL), .limit = 1};
        b->hour = b->until;
        rc = sto_docs_read(b->registry->engine, &page, visit_first, b, eb);
        if (rc == ERR_OK && b->hour < b->from)
            b->hour = b->from;
    }
    b->phase = b->hour < b->until ? DOCUMENTS : END;
    return rc;
}

enum err ten_bills_read(struct ten_bills *b, size_t steps, ten_bill_visit *visit, void *ctx,
                        bool *out_end, struct errbuf *eb)
{
    enum err rc = b->phase == FIND_BASE ? find_base(b, eb) : ERR_OK;
    b->visit = visit;
    b->ctx = ctx;
    while (rc == ERR_OK && b->phase != END && steps > 0) {
        rc = b->phase == DOCUMENTS ? read_documents(b, steps, eb) : read_idle(b, steps);
        steps -= b->seen < steps ? b->seen : steps;
    }
    if (b->is_damaged)
        return base_fail(eb, ERR_CORRUPT, "a bill is damaged");
    if (rc == ERR_OK)
        *out_end = b->phase == END;
    return rc;
}
