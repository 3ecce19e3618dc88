/*
 * storage/rocksdb/admit.c - one bound for the queue, one for each tenant in it, one under pressure.
 *
 * The bound of a tenant is the number of free places, so it does not depend on the number of other
 * tenants, and there is always a place for one more.
 *
 * Under pressure (pressure.h) a tenant may write, in each window, a part of its even share of all
 * writes of the previous window; the pressure level sets the part. The committer counts, because
 * only writes fill memtables; waiting operations are bounded by the queue, which is shorter then.
 */
#include "storage/rocksdb/admit.h"

#include "base/clock.h"
#include "storage/rocksdb/apply.h"
#include "storage/rocksdb/rdb.h"

#include "base/banned.h"

#define NS_PER_MS    1000000ULL
#define NS_PER_OP    25000ULL /* before anything was measured */
#define COST_BYTES   2048     /* an operation with this many bytes counts as one more */
#define USE_SCALE    1024     /* of use / weight */
#define LEAST_QUEUE  64       /* divisor: the part of the queue that is left under any pressure */
#define PASSES_SHARE 10 /* divisor: the part of an even share that passes under any pressure */

/* --- sizes ------------------------------------------------------------------------------------ */

static uint64_t mutations_bytes(const struct sto_mutation *mutations, size_t count)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += sizeof(mutations[0]) + mutations[i].qualifier.len + mutations[i].value.len;
    return bytes;
}

static uint64_t op_bytes(const struct sto_mutate_op *op)
{
    uint64_t bytes =
        sizeof(*op) + op->row_key.len + mutations_bytes(op->mutations, op->mutation_count);
    if (op->check != NULL)
        bytes += mutations_bytes(op->check->otherwise, op->check->otherwise_count);
    return bytes;
}

/* --- retry hints ----------------------------------------------------------------------------- */

uint64_t sto_rdb_retry_ns(uint64_t ahead, uint64_t ns_per_op)
{
    uint64_t ns = ahead * (ns_per_op == 0 ? NS_PER_OP : ns_per_op);
    if (ns < LIM_RETRY_HINT_MIN_MS * NS_PER_MS)
        return LIM_RETRY_HINT_MIN_MS * NS_PER_MS;
    return ns < LIM_RETRY_HINT_MS * NS_PER_MS ? ns : LIM_RETRY_HINT_MS * NS_PER_MS;
}

static enum err overloaded(struct rdb_committer *c, struct sto_mutate_op *op, uint64_t ahead,
                           _Atomic uint64_t *counter, const char *why)
{
    uint64_t ns_per_op = atomic_load_explicit(&c->ns_per_op, memory_order_relaxed);
    op->retry_ns = sto_rdb_retry_ns(ahead, ns_per_op);
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
    return base_fail(&op->detail, ERR_OVERLOADED, "%s", why);
}

/* --- pressure ----------------------------------------------------------------------------------
 */

static bool grows(const struct sto_mutate_op *op)
{
    return !sto_mutations_only_delete(op->mutations, op->mutation_count) ||
           (op->check != NULL &&
            !sto_mutations_only_delete(op->check->otherwise, op->check->otherwise_count));
}

/* Returns whether the tenant has used its part of this window. */
static bool is_over_share(const struct rdb_committer *c, const struct sto_account *account,
                          uint32_t level)
{
    const struct sto_fair_line *line = &account->writes;
    uint64_t window = atomic_load_explicit(&c->window, memory_order_relaxed);
    if (atomic_load_explicit(&c->window_writers, memory_order_relaxed) < 2 ||
        atomic_load_explicit(&line->window, memory_order_relaxed) != window)
        return false;
    uint64_t fair = atomic_load_explicit(&c->window_fair_use, memory_order_relaxed) *
                    atomic_load_explicit(&account->share.weight, memory_order_relaxed) / USE_SCALE;
    uint64_t allowed = fair - fair / RDB_PRESSURE_FULL * level;
    if (allowed < fair / PASSES_SHARE)
        allowed = fair / PASSES_SHARE;
    return atomic_load_explicit(&line->used, memory_order_relaxed) > allowed;
}

static void window_end(struct rdb_committer *c, uint64_t now_ns)
{
    uint64_t fair = c->window_weight == 0 ? 0 : c->window_used * USE_SCALE / c->window_weight;
    atomic_store_explicit(&c->window_fair_use, fair, memory_order_relaxed);
    atomic_store_explicit(&c->window_writers, c->window_lines, memory_order_relaxed);
    sto_rdb_count_own(&c->window, 1);
    c->window_end_ns = now_ns + LIM_SHED_WINDOW_MS * NS_PER_MS;
    c->window_used = 0;
    c->window_weight = 0;
    c->window_lines = 0;
}

static void window_count(struct rdb_committer *c, struct sto_account *account, uint64_t cost,
                         uint64_t now_ns)
{
    struct sto_fair_line *line = &account->writes;
    if (now_ns >= c->window_end_ns)
        window_end(c, now_ns);
    uint64_t window = atomic_load_explicit(&c->window, memory_order_relaxed);
    if (atomic_load_explicit(&line->window, memory_order_relaxed) != window) {
        atomic_store_explicit(&line->used, 0, memory_order_relaxed);
        atomic_store_explicit(&line->window, window, memory_order_relaxed);
        c->window_weight += atomic_load_explicit(&account->share.weight, memory_order_relaxed);
        c->window_lines++;
    }
    sto_rdb_count_own(&line->used, cost);
    c->window_used += cost;
    if (c->last_writer == account)
        return;
    c->turned_ns = c->last_writer == NULL ? 0 : now_ns;
    c->last_writer = account;
}

/* --- operations that keep others waiting ----------------------------------------------------- */

void sto_rdb_admit_held(struct rdb_committer *c, struct sto_account *account, uint64_t held_ns,
                        uint64_t now_ns)
{
    uint64_t free_ns = atomic_load_explicit(&c->engine->held_free_ns, memory_order_relaxed);
    if (held_ns <= free_ns)
        return;
    uint64_t rest_ns = LIM_HELD_REST * (held_ns - free_ns);
    if (rest_ns > LIM_HELD_REST_MAX_MS * NS_PER_MS)
        rest_ns = LIM_HELD_REST_MAX_MS * NS_PER_MS;
    if (account->writes_rest_ns < now_ns + rest_ns)
        account->writes_rest_ns = now_ns + rest_ns;
}

enum err sto_rdb_admit_dear(struct rdb_committer *c, struct sto_mutate_op *op, uint64_t now_ns)
{
    uint64_t until_ns = op->scope.tenant.account->writes_rest_ns;
    bool is_alone = c->turned_ns == 0 || c->turned_ns + LIM_HELD_COMPANY_MS * NS_PER_MS < now_ns;
    if (until_ns <= now_ns || is_alone)
        return ERR_OK;
    op->retry_ns = until_ns - now_ns;
    sto_rdb_count_own(&c->rested, 1);
    return base_fail(&op->detail, ERR_OVERLOADED,
                     "the tenant's last large change of one row kept others waiting: the next that "
                     "looks at, sets or deletes over %d cells may come in %llu ms",
                     LIM_APPLY_STEPS, op->retry_ns / NS_PER_MS + 1);
}

/* --- entering and leaving the queue ---------------------------------------------------------- */

static void leave(struct rdb_committer *c, struct sto_account *account, uint64_t bytes)
{
    atomic_fetch_sub_explicit(&c->queued_ops, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&c->queued_bytes, bytes, memory_order_relaxed);
    atomic_fetch_sub_explicit(&account->writes.queued, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&account->writes.queued_bytes, bytes, memory_order_relaxed);
}

/* Returns the limit of the queue for growing operations at this pressure level. */
static uint64_t bound(uint64_t limit, uint32_t level)
{
    uint64_t least = limit / LEAST_QUEUE;
    uint64_t left = limit - limit / RDB_PRESSURE_FULL * level;
    return left > least ? left : least;
}

/* Returns whether the tenant has fewer than the number of free places. */
static bool fits(uint64_t all, uint64_t own, uint64_t limit)
{
    return all < limit && own < limit - all;
}

enum err sto_rdb_admit(struct rdb_committer *c, struct sto_mutate_op *op)
{
    struct sto_account *account = op->scope.tenant.account;
    op->retry_ns = 0;
    op->bytes_seen = 0; /* a retry starts at 0: the first attempt was charged */
    op->work_ns = 0;
    op->bytes_deleted = 0;
    enum err rc = sto_rdb_usable(c->engine, &op->detail);
    if (rc == ERR_OK)
        rc = sto_rdb_gate_check(account, true, &op->detail);
    if (rc != ERR_OK)
        return rc;
    uint32_t level = sto_rdb_pressure_level(&c->engine->pressure);
    if (level > 0 && !grows(op))
        level = 0;
    uint64_t bytes = op_bytes(op);
    struct sto_fair_line *line = &account->writes;
    uint64_t ops = atomic_fetch_add_explicit(&c->queued_ops, 1, memory_order_relaxed);
    uint64_t all = atomic_fetch_add_explicit(&c->queued_bytes, bytes, memory_order_relaxed);
    uint64_t own_ops = atomic_fetch_add_explicit(&line->queued, 1, memory_order_relaxed);
    uint64_t own = atomic_fetch_add_explicit(&line->queued_bytes, bytes, memory_order_relaxed);
    if (!fits(ops, own_ops, bound(LIM_COMMIT_QUEUE_OPS, level)) ||
        !fits(all, own, bound(LIM_COMMIT_QUEUE_BYTES, level))) {
        leave(c, account, bytes);
        return overloaded(c, op, ops, &c->refused,
                          "the commit queue, or this tenant's part of it, is full; retry");
    }
    if (level > 0 && is_over_share(c, account, level)) {
        leave(c, account, bytes);
        return overloaded(c, op, ops, &c->shed,
                          "the disk does not keep up, and this tenant has written its share of "
                          "what it can; retry");
    }
    return ERR_OK;
}

uint64_t sto_rdb_admit_leave(struct rdb_committer *c, struct sto_mutate_op *op, uint64_t now_ns)
{
    struct sto_account *account = op->scope.tenant.account;
    uint64_t bytes = op_bytes(op);
    leave(c, account, bytes);
    window_count(c, account, 1 + bytes / COST_BYTES, now_ns);
    if (bytes >= COST_BYTES)
        sto_fair_charge(&c->queue, &account->writes, bytes / COST_BYTES, now_ns);
    return bytes;
}
