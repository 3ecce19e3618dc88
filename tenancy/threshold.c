/*
 * tenancy/threshold.c - a round of all tenants every second, a part of them at each tick.
 *
 * Why not in the committer: there it would cost every batch a comparison with bounds that every
 * change of a quota moves, and a message from the committer's thread to the control thread. A round
 * reads six counters and six ceilings of each tenant: some milliseconds a second of one core for
 * 100,000 tenants, in ten parts, and nothing on the path of a write.
 */
#include "tenancy/threshold.h"

#include "tenancy/internal.h"
#include "tenancy/lifecycle.h"

#include "base/banned.h"

static const uint8_t PERCENTS[TEN_THRESHOLDS] = {80, 90, 100};
static const char *const FIELDS[TEN_USED_COUNT] = {"stored_bytes", "rows",         "tables",
                                                   "keys",         "change_bytes", "schema_bytes"};

uint8_t ten_threshold_percent(size_t n)
{
    INVARIANT(n < TEN_THRESHOLDS);
    return PERCENTS[n];
}

const char *ten_threshold_field(enum ten_used what)
{
    INVARIANT(what < TEN_USED_COUNT);
    return FIELDS[what];
}

uint8_t ten_threshold_of(uint64_t used, uint64_t limit)
{
    if (limit == UINT64_MAX)
        return 0;
    for (size_t i = TEN_THRESHOLDS; i-- > 0;)
        if ((unsigned __int128)used * 100 >= (unsigned __int128)limit * PERCENTS[i])
            return PERCENTS[i];
    return 0;
}

const struct ten_threshold_counts *ten_threshold_counts(const struct ten_registry *r)
{
    ten_control_check(r);
    return &r->thresholds;
}

/* Counts changes of level; a threshold that was skipped over counts too. */
static void count(struct ten_threshold_counts *c, size_t what, uint8_t from, uint8_t to)
{
    for (size_t n = 0; n < TEN_THRESHOLDS; n++) {
        c->reached[what][n] += from < PERCENTS[n] && PERCENTS[n] <= to;
        c->left[what][n] += to < PERCENTS[n] && PERCENTS[n] <= from;
    }
}

static void look(struct ten_registry *r, struct ten_tenant *t, bool tells)
{
    const struct sto_account *a = &t->account;
    const uint64_t used[TEN_USED_COUNT] = {
        [TEN_USED_BYTES] = atomic_load_explicit(&a->total.bytes, memory_order_relaxed),
        [TEN_USED_ROWS] = atomic_load_explicit(&a->total.rows, memory_order_relaxed),
        [TEN_USED_TABLES] = ten_tables_used(t),
        [TEN_USED_KEYS] = t->keys,
        [TEN_USED_CHANGES] = sto_account_change_bytes(a),
        [TEN_USED_SCHEMAS] = atomic_load_explicit(&t->schema_bytes, memory_order_relaxed)};
    const uint64_t limit[TEN_USED_COUNT] = {
        [TEN_USED_BYTES] = atomic_load_explicit(&a->bytes_max, memory_order_relaxed),
        [TEN_USED_ROWS] = atomic_load_explicit(&a->rows_max, memory_order_relaxed),
        [TEN_USED_TABLES] = sto_account_limit(a, STO_LIMIT_TABLES),
        [TEN_USED_KEYS] = t->keys_max,
        [TEN_USED_CHANGES] = atomic_load_explicit(&a->change_bytes_max, memory_order_relaxed),
        [TEN_USED_SCHEMAS] = t->schema_bytes_max};
    bool is_gone = ten_state_is_final(ten_tenant_state(t)); /* its keys stay, and use no quota */
    void (*told)(const struct ten_threshold_event *) = atomic_load(&r->threshold_told);
    for (size_t i = 0; i < TEN_USED_COUNT; i++) {
        uint8_t from = atomic_load_explicit(&t->levels[i], memory_order_relaxed);
        uint64_t holds = is_gone ? UINT64_MAX : limit[i];
        uint8_t to = ten_threshold_of(used[i], holds);
        if (from == to)
            continue;
        atomic_store_explicit(&t->levels[i], to, memory_order_relaxed);
        struct ten_threshold_event event = {t, FIELDS[i], from, to, used[i], holds};
        if (tells)
            count(&r->thresholds, i, from, to);
        if (tells && told != NULL)
            told(&event);
    }
}

void ten_threshold_keys_set(struct ten_registry *r, struct ten_tenant *t, size_t keys)
{
    ten_control_check(r);
    t->keys = (uint16_t)(keys < UINT16_MAX ? keys : UINT16_MAX); /* no tenant may have as many */
}

void ten_threshold_keys_load(struct ten_registry *r, struct ten_tenant *t, size_t keys)
{
    ten_threshold_keys_set(r, t, keys);
    look(r, t, false);
}

void ten_threshold_listen(struct ten_registry *r,
                          void (*told)(const struct ten_threshold_event *event))
{
    INVARIANT(r != NULL && r->magic == TEN_REGISTRY_MAGIC);
    atomic_store(&r->threshold_told, told);
}

void ten_threshold_tick(struct ten_registry *r, uint64_t tick_ms)
{
    ten_control_check(r);
    size_t part = (size_t)(r->tenant_count * tick_ms / TEN_THRESHOLD_ROUND_MS + 1);
    for (size_t i = 0; i < part && i < r->tenant_count; i++) {
        if (r->threshold_next >= r->tenant_count)
            r->threshold_next = 0;
        look(r, r->sorted[r->threshold_next++], true);
    }
}

void ten_threshold_load(struct ten_registry *r)
{
    for (size_t i = 0; i < r->tenant_count; i++)
        look(r, r->sorted[i], false);
}
