/*
 * tenancy/sweeper.c - one portion of one table at a time, started by the control thread.
 *
 *   tick       the ticker posts a message every tick_ms; it adds to the allowance
 *   portion    while there is allowance, a sweep of at most TEN_SWEEP_PORTION keys searches for
 *              garbage on a reader and has the tenant's committer remove it
 *   done       the cost of the scanned keys is subtracted from the allowance; the next portion
 *              continues where this one ended, with the table's schema at that time
 *
 * 1. The place is kept as names, not pointers: tenants and tables come and go between portions.
 * 2. After a portion that fails (tenant suspended or offboarded, table deleted) its table is left
 *    for the next round; if the schema changed, the pass restarts at once.
 * 3. A pass uses one version of the schema, from its first portion to its last.
 * 4. State for a restart is saved after the work, for many portions at once (sweep_memory.h).
 * 5. If much of a portion was garbage, the next portion costs less, and is done in the tenant's own
 *    scheduling turns, beside its writes. So the tenant's garbage grows only until it is removed as
 *    fast as it is made. If such a portion had to wait, because others wait for that tenant, the
 *    next one is background work.
 */
#include "tenancy/sweeper.h"

#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "tenancy/internal.h"
#include "tenancy/metering.h"
#include "tenancy/scope.h"
#include "tenancy/sweep_memory.h"

#include "base/banned.h"

#define NS_PER_S  1000000000LL
#define NS_PER_MS 1000000LL
#define NS_PER_US 1000ULL
#define US_PER_S  1000000ULL
#define HASTE_MAX 8
#define SLOW_NS   NS_PER_S
#define HASTE_OWN 2 /* at this haste and above, the tenant's own share pays */

struct place {
    char tenant[LIM_TENANT_ID + 1];
    size_t tenant_len;
    char table[LIM_TABLE_ID + 1];
    size_t table_len;
    struct buf row; /* the next row; empty: the table's first */
};

struct ten_sweeper {
    struct ten_registry *registry;
    struct ten_sweeper_options options; /* with defaults in place of 0 */

    /* the ticker */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool stopping; /* under lock */
    bool idle;     /* under lock: stops, no portion runs, and no message is queued */
    bool ticked;   /* under lock: the tick message is queued */
    bool stops;    /* written under lock by the control thread, which has seen stopping */
    struct base_msg tick_msg;

    /* control thread */
    bool running;  /* a portion is with the engine */
    int64_t haste; /* speed factor for the current table, at least 1 */
    int64_t began_ns;
    struct place place;
    int64_t allowance; /* keys */
    int64_t last_ns;
    struct sto_drop_op op;
    struct buf resume;
    struct ten_sweep_memory memory;
    uint64_t round_bytes; /* uncollected bytes of the tables that this round has passed */

    _Atomic uint64_t rounds, keys, charged, cells, bytes, saves, uncollected_bytes;
    _Atomic uint64_t hold_at; /* keys; UINT64_MAX outside tests */
    _Atomic int64_t slow_ns;  /* SLOW_NS outside tests */
};

static int64_t now_ns(void)
{
    return (int64_t)base_monotonic_ns();
}

/* --- selecting a table ------------------------------------------------------------------------ */

static bool has_rules(const struct sto_schema *schema)
{
    bool any = false;
    for (size_t i = 0; i < schema->family_count; i++)
        any = any || schema->families[i].gc.term_count > 0;
    return any;
}

/* Returns the pause between two passes: while cells with ages are written, some are always becoming
 * too old. */
static int64_t rest_ns(const struct ten_sweeper *s, const struct sto_schema *schema)
{
    uint64_t rest_us = TEN_SWEEP_AGES_S * US_PER_S;
    bool ages = false;
    for (size_t i = 0; i < schema->family_count; i++) {
        const struct sto_gc *gc = &schema->families[i].gc;
        for (size_t k = 0; k < gc->term_count; k++) {
            uint64_t quarter_us = gc->terms[k].age_us / 4;
            ages = ages || quarter_us != 0;
            if (quarter_us != 0 && quarter_us < rest_us)
                rest_us = quarter_us;
        }
    }
    int64_t least_ns = s->options.rest_ms * NS_PER_MS;
    int64_t ns = (int64_t)(rest_us * NS_PER_US);
    return ages && ns > least_ns ? ns : least_ns;
}

static uint64_t additions(const struct sto_table *table)
{
    return atomic_load_explicit(&table->additions, memory_order_relaxed);
}

/* Returns whether cells of the table may have become garbage since it was swept. */
static bool is_due(const struct ten_sweeper *s, const struct sto_schema *schema)
{
    const struct sto_table *table = schema->table;
    if (!has_rules(schema))
        return false;
    if (table->swept.version != schema->version)
        return true;
    if (additions(table) == table->swept.additions && base_wall_us() < table->swept.expires_us)
        return false;
    return table->swept_at_ns == 0 || now_ns() - table->swept_at_ns >= rest_ns(s, schema);
}

/* Returns the first due table of the tenant at or after the place's table. */
static struct sto_schema *next_table(struct ten_sweeper *s, const struct ten_tenant *t)
{
    const struct ten_tables *tables = ten_tenant_tables(t);
    size_t at = 0;
    struct slice from = base_slice(s->place.table, s->place.table_len);
    if (base_slice_equal(ten_tenant_id(t), base_slice(s->place.tenant, s->place.tenant_len)))
        (void)ten_tables_search(tables, from, &at); /* its position, or that of the next one */
    for (; at < tables->count; at++) {
        if (is_due(s, tables->schemas[at]))
            return tables->schemas[at];
        s->round_bytes += sto_schema_uncollected(tables->schemas[at]);
    }
    return NULL;
}

static void place_set(struct place *p, struct slice tenant, struct slice table)
{
    bool same = base_slice_equal(tenant, base_slice(p->tenant, p->tenant_len)) &&
                base_slice_equal(table, base_slice(p->table, p->table_len));
    if (same)
        return;
    memcpy(p->tenant, tenant.ptr, tenant.len);
    p->tenant_len = tenant.len;
    if (table.len != 0)
        memcpy(p->table, table.ptr, table.len);
    p->table_len = table.len;
    base_buf_truncate(&p->row, 0);
}

/* Moves the place after its table: the table's ID with a byte of 00 appended is the smallest ID
 * that can follow. */
static void place_pass(struct place *p)
{
    INVARIANT(p->table_len < sizeof(p->table));
    p->table[p->table_len++] = '\0';
    base_buf_truncate(&p->row, 0);
}

/* Finds the next tenant and table to sweep, and moves the place there; false: nothing is due. */
static bool find(struct ten_sweeper *s, struct ten_tenant **out_tenant, struct sto_schema **out)
{
    enum { AT_ONCE = 512 }; /* tenants checked in one tick */
    struct slice after = base_slice(s->place.tenant, s->place.tenant_len);
    struct ten_tenant *t = ten_tenant_find(s->registry, after);
    for (int i = 0; i < AT_ONCE; i++) {
        if (t != NULL && ten_tenant_state(t) == TEN_ACTIVE) {
            *out = next_table(s, t);
            *out_tenant = t;
            if (*out != NULL) {
                place_set(&s->place, ten_tenant_id(t), sto_schema_table_id(*out));
                return true;
            }
        }
        if (ten_tenant_list(s->registry, after, &t, 1) == 0) {
            s->place.tenant_len = 0;
            s->place.table_len = 0;
            atomic_store_explicit(&s->uncollected_bytes, s->round_bytes, memory_order_relaxed);
            s->round_bytes = 0;
            atomic_fetch_add_explicit(&s->rounds, 1, memory_order_relaxed);
            return false;
        }
        after = ten_tenant_id(t);
        place_set(&s->place, after, SLICE_EMPTY);
    }
    return false; /* the rest at the next tick */
}

/* --- portions --------------------------------------------------------------------------------- */

static void portions_run(struct ten_sweeper *s);

static void save(struct ten_sweeper *s)
{
    const struct place *p = &s->place;
    struct ten_sweep_position at = {base_slice(p->tenant, p->tenant_len),
                                    base_slice(p->table, p->table_len), base_buf_slice(&p->row)};
    if (ten_sweep_save(&s->memory, s->registry, &at))
        atomic_fetch_add_explicit(&s->saves, 1, memory_order_relaxed);
}

static void pass_begin(struct ten_sweeper *s, const struct ten_tenant *t,
                       const struct sto_schema *schema)
{
    struct sto_table *table = schema->table;
    bool goes_on = table->sweep_resumes && table->sweeping.version == schema->version;
    table->sweep_resumes = false;
    s->haste = 1;
    if (goes_on &&
        ten_sweep_resume(s->registry, ten_tenant_id(t), sto_schema_table_id(schema), &s->place.row))
        return;
    base_buf_truncate(&s->place.row, 0);
    table->sweeping = (struct sto_sweep_pass){
        .version = schema->version, .additions = additions(table), .expires_us = STO_GC_NEVER};
}

/* Updates the estimate of future garbage from the bytes that the pass removed; under new rules
 * these say nothing. */
static void pass_count(struct sto_table *table)
{
    const struct sto_sweep_pass *pass = &table->sweeping;
    if (pass->version != table->swept.version)
        sto_garbage_load(&table->garbage, 0, 0, pass->additions);
    else
        sto_garbage_removed(&table->garbage, pass->removed_bytes, pass->additions);
}

/* Records a completed portion, and moves the place after it. */
static void pass_advance(struct ten_sweeper *s, const struct sto_drop_op *op)
{
    struct sto_table *table = op->scope.schema->table;
    struct slice tenant_id = base_slice(s->place.tenant, s->place.tenant_len);
    if (op->expires_us < table->sweeping.expires_us)
        table->sweeping.expires_us = op->expires_us;
    table->sweeping.removed_bytes += op->removed.bytes;
    ten_sweep_note(&s->memory, ten_tenant_find(s->registry, tenant_id),
                   sto_schema_table_id(op->scope.schema), op->steps);
    if (s->resume.len == 0) {
        pass_count(table);
        s->round_bytes += sto_schema_uncollected(op->scope.schema);
        table->swept = table->sweeping;
        table->sweeping = (struct sto_sweep_pass){0};
        table->swept_at_ns = now_ns();
        place_pass(&s->place);
    } else {
        base_buf_truncate(&s->place.row, 0);
        INVARIANT(base_buf_append(&s->place.row, base_buf_slice(&s->resume)) == ERR_OK);
    }
    if (ten_sweep_save_is_due(&s->memory))
        save(s);
}

/* Skipped tombstones are not keys, but take time. */
static int64_t cost(const struct sto_drop_op *op, int64_t haste)
{
    uint64_t by_time = op->look_ns / TEN_SWEEP_KEY_NS;
    return (int64_t)(by_time > op->steps ? by_time : op->steps) / haste;
}

/* Returns the haste of the next portion: the square of scanned keys per key that this one left. */
static int64_t haste_behind(const struct sto_drop_op *op)
{
    if (op->removed.cells >= op->steps)
        return op->steps == 0 ? 1 : HASTE_MAX;
    double times = (double)op->steps / (double)(op->steps - op->removed.cells);
    return times * times < HASTE_MAX ? (int64_t)(times * times) : HASTE_MAX;
}

static void portion_done(struct sto_drop_op *op)
{
    struct ten_sweeper *s = op->user;
    ten_control_check(s->registry);
    s->running = false;
    int64_t charged = cost(op, s->haste);
    s->allowance -= charged;
    atomic_fetch_add_explicit(&s->charged, (uint64_t)charged, memory_order_relaxed);
    atomic_fetch_add_explicit(&s->keys, op->steps, memory_order_relaxed);
    atomic_fetch_add_explicit(&s->cells, op->removed.cells, memory_order_relaxed);
    atomic_fetch_add_explicit(&s->bytes, op->removed.bytes, memory_order_relaxed);
    bool had_to_wait =
        s->haste >= HASTE_OWN &&
        now_ns() - s->began_ns >= atomic_load_explicit(&s->slow_ns, memory_order_relaxed);
    s->haste = op->result == ERR_OK && !had_to_wait ? haste_behind(op) : 1;
    if (op->result == ERR_OK)
        pass_advance(s, op);
    else if (op->result == ERR_CONFLICT)
        base_buf_truncate(&s->place.row, 0);
    else
        place_pass(&s->place);
    sto_table_scope_release(&op->scope);
    portions_run(s);
}

static void portion_begin(struct ten_sweeper *s, struct ten_tenant *t, struct sto_schema *schema)
{
    struct sto_tenant_scope tenant = ten_scope_tenant(t);
    if (s->place.row.len == 0 || schema->table->sweeping.version != schema->version)
        pass_begin(s, t, schema);
    base_buf_truncate(&s->resume, 0);
    s->op = (struct sto_drop_op){
        .reply_to = &s->registry->control.mailbox,
        .done = portion_done,
        .user = s,
        .scope = sto_table_scope_make(&tenant, schema),
        .range = {.start = base_buf_slice(&s->place.row)},
        .expired_only = true,
        .priority = s->haste >= HASTE_OWN ? STO_PRIORITY_LOW : STO_PRIORITY_BACKGROUND,
        .steps_max = TEN_SWEEP_PORTION,
        .resume = &s->resume,
    };
    s->began_ns = now_ns();
    s->running = true;
    sto_drop_rows(s->registry->engine, &s->op);
}

static bool is_held(const struct ten_sweeper *s)
{
    return atomic_load_explicit(&s->keys, memory_order_relaxed) >=
           atomic_load_explicit(&s->hold_at, memory_order_relaxed);
}

static void portions_run(struct ten_sweeper *s)
{
    struct ten_tenant *t = NULL;
    struct sto_schema *schema = NULL;
    if (s->stops) {
        save(s);
        (void)pthread_mutex_lock(&s->lock); /* a plain mutex: cannot fail */
        s->idle = true;
        (void)pthread_cond_broadcast(&s->changed);
        (void)pthread_mutex_unlock(&s->lock);
    } else if (s->allowance > 0 && !is_held(s) && find(s, &t, &schema)) {
        portion_begin(s, t, schema);
    }
}

/* --- ticks ------------------------------------------------------------------------------------ */

static void run_tick(struct base_msg *msg)
{
    struct ten_sweeper *s =
        (struct ten_sweeper *)((char *)msg - offsetof(struct ten_sweeper, tick_msg));
    (void)pthread_mutex_lock(&s->lock);
    s->ticked = false;
    s->stops = s->stopping;
    (void)pthread_mutex_unlock(&s->lock);
    ten_threshold_tick(s->registry, s->options.tick_ms);
    ten_metering_tick(s->registry, s->options.tick_ms);
    ten_audit_tick(s->registry, s->options.tick_ms);
    ten_grace_tick(s->registry);
    ten_purge_tick(s->registry);
    int64_t now = now_ns();
    int64_t per_s = s->options.keys_per_s;
    s->allowance += (now - s->last_ns) * per_s / NS_PER_S;
    s->last_ns = now;
    if (s->allowance > per_s) /* a pause accumulates at most one second */
        s->allowance = per_s;
    if (!s->running)
        portions_run(s);
}

static void *tick_main(void *arg)
{
    struct ten_sweeper *s = arg;
    (void)pthread_mutex_lock(&s->lock);
    while (!s->idle) {
        struct timespec until;
        (void)clock_gettime(CLOCK_MONOTONIC, &until); /* cannot fail on Linux */
        until.tv_nsec += s->options.tick_ms * NS_PER_MS;
        until.tv_sec += until.tv_nsec / NS_PER_S;
        until.tv_nsec %= NS_PER_S;
        (void)pthread_cond_timedwait(&s->changed, &s->lock, &until); /* may tick early */
        if (!s->ticked && !s->stops) { /* the tick that set stops was the last */
            s->ticked = true;
            ten_control_post(s->registry, &s->tick_msg);
        }
    }
    (void)pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* --- life ------------------------------------------------------------------------------------- */

static void sweeper_free(struct ten_sweeper *s)
{
    base_buf_fini(&s->place.row);
    base_buf_fini(&s->resume);
    (void)pthread_cond_destroy(&s->changed);
    (void)pthread_mutex_destroy(&s->lock);
    base_free(s);
}

static uint32_t option(uint32_t given, uint32_t standard)
{
    return given != 0 ? given : standard;
}

enum err ten_sweeper_start(struct ten_registry *r, const struct ten_sweeper_options *options,
                           struct ten_sweeper **out)
{
    struct ten_sweeper *s = base_new(sizeof *s);
    s->registry = r;
    s->haste = 1;
    s->options = (struct ten_sweeper_options){
        .tick_ms = option(options->tick_ms, TEN_SWEEP_TICK_MS),
        .rest_ms = option(options->rest_ms, TEN_SWEEP_REST_S * 1000),
        .keys_per_s = option(options->keys_per_s, TEN_SWEEP_KEYS_PER_S),
    };
    atomic_init(&s->hold_at, UINT64_MAX);
    atomic_init(&s->slow_ns, SLOW_NS);
    s->tick_msg.run = run_tick;
    s->last_ns = now_ns();
    base_buf_init(&s->place.row, LIM_ROW_KEY);
    base_buf_init(&s->resume, LIM_ROW_KEY);
    pthread_condattr_t attr;
    int error = pthread_condattr_init(&attr) | pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) |
                pthread_cond_init(&s->changed, &attr) | pthread_condattr_destroy(&attr) |
                pthread_mutex_init(&s->lock, NULL);
    INVARIANT(error == 0);
    enum err rc = base_thread_start(&s->thread, "ten-sweep", tick_main, s);
    if (rc != ERR_OK) {
        sweeper_free(s);
        return rc;
    }
    *out = s;
    return ERR_OK;
}

void ten_sweeper_stop(struct ten_sweeper *s)
{
    if (s == NULL)
        return;
    (void)pthread_mutex_lock(&s->lock);
    s->stopping = true;
    (void)pthread_cond_broadcast(&s->changed);
    (void)pthread_mutex_unlock(&s->lock);
    INVARIANT(pthread_join(s->thread, NULL) == 0);
    sweeper_free(s);
}

struct ten_sweep_stats ten_sweeper_stats(const struct ten_sweeper *s)
{
    return (struct ten_sweep_stats){
        .rounds = atomic_load_explicit(&s->rounds, memory_order_relaxed),
        .keys = atomic_load_explicit(&s->keys, memory_order_relaxed),
        .charged = atomic_load_explicit(&s->charged, memory_order_relaxed),
        .cells = atomic_load_explicit(&s->cells, memory_order_relaxed),
        .bytes = atomic_load_explicit(&s->bytes, memory_order_relaxed),
        .uncollected_bytes = atomic_load_explicit(&s->uncollected_bytes, memory_order_relaxed),
        .saves = atomic_load_explicit(&s->saves, memory_order_relaxed),
    };
}

struct ten_sweep_stats ten_sweep_stats_of(const struct ten_registry *r)
{
    return ten_sweeper_stats(r->sweeper);
}

void ten_sweeper_test_hold_at(struct ten_sweeper *s, uint64_t keys)
{
    atomic_store_explicit(&s->hold_at, keys, memory_order_relaxed);
}

void ten_sweeper_test_slow_at(struct ten_sweeper *s, int64_t ns)
{
    atomic_store_explicit(&s->slow_ns, ns, memory_order_relaxed);
}
