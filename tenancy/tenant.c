/*
 * tenancy/tenant.c - a tenant in memory, and how changes of it become visible.
 *
 * ten_tenant_commit is the only writer of a tenant's document. Order: document on disk, details,
 * ceilings and rates, gate, state. A reader that sees the new state therefore finds the new reason.
 *
 * 1. details and tables are never NULL and never changed in place.
 * 2. A plan's count of tenants changes only here, when details that name the plan are published or
 *    replaced.
 */
#include "tenancy/tenant.h"

#include "base/alloc.h"
#include "tenancy/audit_internal.h"
#include "tenancy/canary.h"
#include "tenancy/doc_key.h"
#include "tenancy/internal.h"
#include "tenancy/lifecycle.h"
#include "tenancy/tenant_doc.h"

#include "base/banned.h"

_Static_assert(LIM_KEYS_PER_TENANT < UINT16_MAX && LIM_TABLES < UINT16_MAX,
               "their counters have room for them");

/* --- effects of state and quota on storage ---------------------------------------------------- */

static void rates_apply(struct ten_tenant *t, const struct ten_quota *q)
{
    const struct ten_rate_limits limits = {
        .per_second = {[TEN_RATE_READ_OPS] = q->read_ops_per_s,
                       [TEN_RATE_WRITE_OPS] = q->write_ops_per_s,
                       [TEN_RATE_READ_BYTES] = q->read_bytes_per_s,
                       [TEN_RATE_WRITE_BYTES] = q->write_bytes_per_s},
        .burst_ms = q->burst_ms,
    };
    ten_rates_set(&t->rates, &limits);
    ten_rate_set(&t->control_ops, q->control_ops_per_s, LIM_CONTROL_BURST_MS);
    bool is_limited = q->concurrent_requests < UINT32_MAX;
    atomic_store_explicit(&t->under_way_max,
                          is_limited ? (uint32_t)q->concurrent_requests : UINT32_MAX,
                          memory_order_relaxed);
}

static void quota_of(const struct ten_details *d, struct ten_quota *out)
{
    const struct ten_quota *plan = d->plan == NULL ? NULL : &ten_plan_terms(d->plan)->quota;
    ten_quota_inherit(plan, &d->quota, out); /* contradictions were refused when they were set */
}

static void apply(struct ten_tenant *t, enum ten_state state, const struct ten_details *d)
{
    struct ten_quota q;
    quota_of(d, &q);
    atomic_store(&t->account.bytes_max, q.stored_bytes);
    atomic_store(&t->account.rows_max, q.rows);
    atomic_store(&t->account.change_bytes_max, q.change_bytes);
    atomic_store(&t->account.tokens_max, q.idempotency_tokens);
    t->keys_max = (uint16_t)q.keys;
    t->schema_bytes_max = (uint32_t)q.schema_bytes;
    for (enum sto_limit i = 0; i < STO_LIMIT_COUNT; i++)
        sto_account_limit_set(&t->account, i, q.limits[i]);
    rates_apply(t, &q);
    sto_account_share_set(&t->account, q.weight, q.reserved_ops_per_s);
    atomic_store(&t->account.gate, state == TEN_SUSPENDED ? d->closed : ten_state_gate(state));
    atomic_store_explicit(&t->state, (uint32_t)state, memory_order_release);
}

void ten_tenant_apply(struct ten_tenant *t)
{
    apply(t, ten_tenant_state(t), ten_tenant_details(t));
}

/* --- memory ----------------------------------------------------------------------------------- */

/* The list of every tenant without tables; never written. */
static struct ten_tables no_tables;

struct ten_tables *ten_tables_new(size_t count)
{
    if (count == 0)
        return &no_tables;
    struct ten_tables *tables = base_new(sizeof *tables + count * sizeof tables->schemas[0]);
    tables->count = count;
    return tables;
}

static void tables_free(void *object)
{
    struct ten_tables *tables = object;
    if (tables == NULL || tables == &no_tables)
        return;
    for (size_t i = 0; i < tables->count; i++)
        sto_schema_unref(tables->schemas[i]);
    base_free(tables);
}

static const char *text_put(char **to, const char *text)
{
    size_t bytes = text == NULL ? 1 : strlen(text) + 1;
    char *at = *to;
    memcpy(at, text == NULL ? "" : text, bytes);
    *to += bytes;
    return at;
}

static size_t text_bytes(const char *text)
{
    return text == NULL ? 1 : strlen(text) + 1;
}

static size_t hold_bytes(const struct ten_hold *hold)
{
    return hold == NULL ? 0 : sizeof *hold + text_bytes(hold->by) + text_bytes(hold->reason);
}

/* Allocates details in one block, followed by the hold and the texts. */
static struct ten_details *details_new(const struct ten_details *wanted)
{
    size_t texts = text_bytes(wanted->display_name) + text_bytes(wanted->reason) +
                   text_bytes(wanted->job) + text_bytes(wanted->instance) +
                   hold_bytes(wanted->hold);
    struct ten_details *d = base_new(sizeof *d + texts);
    struct ten_hold *hold = wanted->hold == NULL ? NULL : (struct ten_hold *)(d + 1);
    char *at = (char *)(d + 1) + (hold == NULL ? 0 : sizeof *hold);
    *d = *wanted;
    d->canaries = NULL;
    d->display_name = text_put(&at, wanted->display_name);
    d->reason = text_put(&at, wanted->reason);
    d->job = text_put(&at, wanted->job);
    d->instance = text_put(&at, wanted->instance);
    d->hold = hold;
    if (hold != NULL) {
        hold->since_us = wanted->hold->since_us;
        hold->by = text_put(&at, wanted->hold->by);
        hold->reason = text_put(&at, wanted->hold->reason);
    }
    return d;
}

struct ten_tenant *ten_tenant_new(struct slice id, enum ten_state state,
                                  const struct ten_details *details)
{
    INVARIANT(id.len <= LIM_TENANT_ID);
    struct ten_tenant *t = base_new(sizeof *t);
    t->magic = TEN_TENANT_MAGIC;
    t->id_len = (uint8_t)id.len;
    memcpy(t->id, id.ptr, id.len);
    sto_account_init(&t->account, (uint32_t)base_hash(id));
    sto_fair_line_init(&t->control, &t->account.share);
    sto_fair_line_init(&t->helper, &t->account.share);
    struct ten_details *own = details_new(details);
    atomic_init(&t->details, own);
    atomic_init(&t->tables, ten_tables_new(0));
    if (own->plan != NULL)
        own->plan->tenants++;
    apply(t, state, own);
    return t;
}

void ten_tenant_free(struct ten_tenant *t)
{
    if (t == NULL)
        return;
    INVARIANT(t->magic == TEN_TENANT_MAGIC);
    struct ten_details *details = atomic_load(&t->details);
    if (details->plan != NULL)
        details->plan->tenants--;
    base_free(details);
    tables_free(atomic_load(&t->tables));
    base_free(t->documented);
    ten_meter_free(atomic_load(&t->meter));
    sto_cipher_free(t->account.cipher);
    t->magic = 0;
    base_free(t);
}

/* --- reading ---------------------------------------------------------------------------------- */

enum ten_state ten_tenant_state(const struct ten_tenant *t)
{
    INVARIANT(t != NULL && t->magic == TEN_TENANT_MAGIC);
    return (enum ten_state)atomic_load_explicit(&t->state, memory_order_acquire);
}

const struct ten_details *ten_tenant_details(const struct ten_tenant *t)
{
    INVARIANT(t != NULL && t->magic == TEN_TENANT_MAGIC);
    return atomic_load_explicit(&t->details, memory_order_acquire);
}

void ten_tenant_quota(const struct ten_tenant *t, struct ten_quota *out)
{
    quota_of(ten_tenant_details(t), out);
}

uint64_t ten_tenant_audit_days(const struct ten_tenant *t)
{
    struct ten_quota q;
    ten_tenant_quota(t, &q);
    return q.audit_days;
}

const struct ten_tables *ten_tenant_tables(const struct ten_tenant *t)
{
    INVARIANT(t != NULL && t->magic == TEN_TENANT_MAGIC);
    return atomic_load_explicit(&t->tables, memory_order_acquire);
}

uint64_t ten_tenant_uncollected(const struct ten_tenant *t)
{
    const struct ten_tables *tables = ten_tenant_tables(t);
    uint64_t bytes = 0;
    for (size_t i = 0; i < tables->count; i++)
        bytes += sto_schema_uncollected(tables->schemas[i]);
    return bytes;
}

/* --- changing --------------------------------------------------------------------------------- */

void ten_tables_publish(struct ten_registry *r, struct ten_tenant *t,
                        struct ten_tables *tables_take)
{
    for (size_t i = 0; i < tables_take->count; i++)
        sto_schema_publish(tables_take->schemas[i]);
    struct ten_tables *old =
        atomic_exchange_explicit(&t->tables, tables_take, memory_order_acq_rel);
    base_epoch_retire(r->epoch, old, tables_free);
    ten_schema_bytes_count(r, t);
}

static enum err store(struct ten_registry *r, const struct sto_doc_change *own,
                      const struct sto_doc_change *also, size_t also_count, ten_docs_write *write,
                      void *ctx, struct errbuf *eb)
{
    struct sto_doc_change changes[4];
    INVARIANT(also_count < sizeof changes / sizeof changes[0]);
    changes[0] = *own;
    for (size_t i = 0; i < also_count; i++)
        changes[i + 1] = also[i];
    if (write != NULL)
        return ten_docs_commit_by(r, changes, also_count + 1, write, ctx, eb);
    return ten_docs_commit(r, changes, also_count + 1, eb);
}

static enum err commit(struct ten_registry *r, struct ten_tenant *t, enum ten_state state,
                       const struct ten_details *wanted, const struct sto_doc_change *also,
                       size_t also_count, ten_docs_write *write, void *ctx, struct errbuf *eb)
{
    struct sto_canary canaries[STO_CANARIES];
    struct ten_details whole = *wanted;
    struct buf body;
    enum err rc = ERR_OK;
    if (whole.canary_count > 0 && whole.canaries == NULL) {
        whole.canaries = canaries;
        rc = ten_canaries_read(r, t, whole.canary_count, canaries, eb);
    }
    if (rc != ERR_OK)
        return rc;
    base_buf_init(&body, TEN_TENANT_DOC_MAX);
    rc = ten_tenant_encode(state, &whole, &body);
    if (rc != ERR_OK) {
        base_buf_fini(&body);
        return base_fail(eb, rc, "the tenant's document cannot be written: %s", base_err_name(rc));
    }
    uint64_t version = ten_tenant_details(t)->doc_version;
    struct ten_doc_key key = ten_doc_key_tenant(ten_tenant_id(t));
    struct sto_doc_change own = {
        .key = ten_doc_key_slice(&key),
        .body = base_buf_slice(&body),
        .expect = version, /* 0 is STO_DOC_ABSENT: a tenant that is being created */
    };
    rc = store(r, &own, also, also_count, write, ctx, eb);
    base_buf_fini(&body);
    if (rc != ERR_OK)
        return rc;

    struct ten_details *fresh = details_new(wanted);
    fresh->doc_version = version + 1;
    if (fresh->plan != NULL)
        fresh->plan->tenants++;
    struct ten_details *old = atomic_exchange_explicit(&t->details, fresh, memory_order_acq_rel);
    if (old->plan != NULL)
        old->plan->tenants--;
    base_epoch_retire(r->epoch, old, base_free);
    apply(t, state, fresh);
    return ERR_OK;
}

enum err ten_tenant_commit(struct ten_registry *r, struct ten_tenant *t, enum ten_state state,
                           const struct ten_details *wanted, const struct sto_doc_change *also,
                           size_t also_count, struct errbuf *eb)
{
    return commit(r, t, state, wanted, also, also_count, NULL, NULL, eb);
}

enum err ten_tenant_commit_by(struct ten_registry *r, struct ten_tenant *t, enum ten_state state,
                              const struct ten_details *wanted, ten_docs_write *write, void *ctx,
                              struct errbuf *eb)
{
    return commit(r, t, state, wanted, NULL, 0, write, ctx, eb);
}

struct slice ten_tenant_instance(const struct ten_tenant *t)
{
    const char *own = ten_tenant_details(t)->instance;
    return base_slice_text(own[0] == '\0' ? TEN_INSTANCE_DEFAULT : own);
}
