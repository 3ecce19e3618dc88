/*
 * storage/rocksdb/prefetch.c - does the reads of apply to fill the block cache.
 *
 *   mutation                        what is read
 *   any                             the row's header; without one, nothing else
 *   set, add, merge at a timestamp  that cell
 *     in a family of one version    the newest cell of the column that is not newer
 *   append, increment               the newest cell of the column
 *   delete, predicate               cells, starting at the first one affected, up to a bound
 *
 * 1. The same walk is done twice: first from memory alone, on the committer, up to the first block
 *    that is not there; then with the disk, on a reader.
 * 2. Values are discarded. The batch, whose changes this does not see, may lead to another result;
 *    then the committer reads the missing blocks.
 */
#define _GNU_SOURCE /* RUSAGE_THREAD */
#include "storage/rocksdb/prefetch.h"

#include <stddef.h>
#include <sys/resource.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "storage/keycodec.h"
#include "storage/rocksdb/apply.h"
#include "storage/rocksdb/apply_row.h"
#include "storage/rocksdb/rdb.h"
#include "storage/rocksdb/rocksdb_engine.h"
#include "storage/rocksdb/shuttle.h"

#include "base/banned.h"

#define CACHE_TIER_ONLY 1
#define NS_PER_US       1000ULL

enum found { FOUND, ABSENT, NOT_IN_MEMORY, READ_FAILED };

/* A walk over the keys that one operation reads. */
struct walk {
    struct rdb_engine *engine;
    const struct sto_mutate_op *op;
    bool memory_only;
    uint64_t bytes; /* read so far */
    uint64_t keys;
    size_t row_len;
    uint8_t key[STO_KEY_MAX]; /* starts with the row's prefix */
    uint8_t upper[STO_KEY_MAX];
};

static bool is_enough(const struct walk *w)
{
    return w->bytes >= LIM_PREFETCH_BYTES || w->keys >= LIM_PREFETCH_KEYS;
}

/* Classifies RocksDB's error and frees its text. A failure is not reported: the committer will meet
 * it. */
static enum found found_error(char *error)
{
    bool is_of_skips = sto_rdb_error_is_of_skips(error);
    bool is_incomplete = sto_rdb_error_is_incomplete(error);
    rocksdb_free(error);
    return is_of_skips ? ABSENT : is_incomplete ? NOT_IN_MEMORY : READ_FAILED;
}

static enum found key_read(struct walk *w, size_t key_len)
{
    const struct rdb_db *db = &w->engine->db;
    char *error = NULL;
    rocksdb_pinnableslice_t *pinned =
        rocksdb_get_pinned_cf(db->handle, w->memory_only ? db->memory : db->point, db->cells,
                              (const char *)w->key, key_len, &error);
    w->keys++;
    if (error != NULL)
        return found_error(error);
    if (pinned == NULL)
        return ABSENT;
    size_t len = 0;
    (void)rocksdb_pinnableslice_value(pinned, &len); /* only its size */
    w->bytes += len;
    rocksdb_pinnableslice_destroy(pinned);
    return FOUND;
}

/* Reads the cells at and after w->key that have its first prefix_len bytes in common, at most
 * cells_max, after at most removed_max removed keys each (0: any number). */
static enum found cells_read(struct walk *w, size_t from_len, size_t prefix_len, uint64_t cells_max,
                             uint64_t removed_max)
{
    struct slice prefix = base_slice(w->key, prefix_len);
    memcpy(w->upper, w->key, w->row_len);
    sto_key_after(w->upper, w->row_len);
    rocksdb_readoptions_t *options = rocksdb_readoptions_create();
    rocksdb_readoptions_set_prefix_same_as_start(options, 1);
    rocksdb_readoptions_set_iterate_upper_bound(options, (const char *)w->upper, w->row_len);
    rocksdb_readoptions_set_max_skippable_internal_keys(options, removed_max);
    if (w->memory_only)
        rocksdb_readoptions_set_read_tier(options, CACHE_TIER_ONLY);
    rocksdb_iterator_t *it =
        rocksdb_create_iterator_cf(w->engine->db.handle, options, w->engine->db.cells);
    rocksdb_iter_seek(it, (const char *)w->key, from_len);
    for (uint64_t n = 0; !is_enough(w) && rocksdb_iter_valid(it); n++) {
        struct slice key, value;
        key.ptr = (const uint8_t *)rocksdb_iter_key(it, &key.len);
        if (!base_slice_starts_with(key, prefix))
            break;
        value.ptr = (const uint8_t *)rocksdb_iter_value(it, &value.len);
        w->bytes += key.len + value.len;
        w->keys++;
        if (n + 1 >= cells_max || w->memory_only) /* the first one suffices */
            break;
        rocksdb_iter_next(it);
    }
    char *error = NULL;
    rocksdb_iter_get_error(it, &error);
    rocksdb_iter_destroy(it);
    rocksdb_readoptions_destroy(options);
    return error == NULL ? FOUND : found_error(error);
}

/* Reads the cell that a new one replaces (apply_set.c). */
static enum found cell_read(struct walk *w, const struct sto_mutation *m)
{
    const struct sto_family *family = sto_schema_family_by_number(w->op->scope.schema, m->family);
    if (family == NULL)
        return ABSENT; /* will be refused */
    size_t n = sto_key_column(w->key, w->row_len, m->family, m->qualifier);
    bool is_new = m->timestamp_us == STO_TIMESTAMP_SERVER;
    if (sto_gc_keeps_one(&family->gc))
        return cells_read(w, is_new ? n : sto_key_version(w->key, n, m->timestamp_us), n, 1,
                          COLUMN_REMOVED_MAX);
    return is_new ? ABSENT : key_read(w, sto_key_version(w->key, n, m->timestamp_us));
}

static enum found mutation_read(struct walk *w, const struct sto_mutation *m)
{
    if (m->qualifier.len > LIM_QUALIFIER)
        return ABSENT; /* will be refused */
    size_t n = w->row_len;
    switch (m->kind) {
    case STO_SET_CELL:
    case STO_ADD_TO_CELL:
    case STO_MERGE_TO_CELL:
        return cell_read(w, m);
    case STO_APPEND:
    case STO_INCREMENT:
        n = sto_key_column(w->key, n, m->family, m->qualifier);
        return cells_read(w, n, n, 1, 0);
    case STO_DELETE_FROM_COLUMN:
        n = sto_key_column(w->key, n, m->family, m->qualifier);
        return cells_read(w, m->end_us > 0 ? sto_key_version(w->key, n, m->end_us - 1) : n, n,
                          UINT64_MAX, 0);
    case STO_DELETE_FROM_FAMILY:
        n = sto_key_family(w->key, n, m->family);
        return cells_read(w, n, n, UINT64_MAX, 0);
    case STO_DELETE_FROM_ROW:
        return cells_read(w, sto_key_family(w->key, n, 1), w->row_len, UINT64_MAX, 0);
    }
    return ABSENT;
}

static enum found mutations_read(struct walk *w, const struct sto_mutation *mutations, size_t count)
{
    for (size_t i = 0; i < count && !is_enough(w); i++) {
        enum found found = mutation_read(w, &mutations[i]);
        if (found == NOT_IN_MEMORY || found == READ_FAILED)
            return found;
    }
    return FOUND;
}

static enum found op_read(struct walk *w, struct rdb_engine *e, const struct sto_mutate_op *op,
                          bool memory_only)
{
    w->engine = e;
    w->op = op;
    w->memory_only = memory_only;
    w->bytes = 0;
    w->keys = 0;
    w->row_len = sto_key_row(&op->scope, op->row_key, w->key);
    enum found found = key_read(w, sto_key_header(w->key, w->row_len));
    if (found != FOUND)
        return found;
    const struct sto_check *check = op->check;
    if (check != NULL && (check->predicate != NULL || check->view != NULL))
        found = cells_read(w, sto_key_family(w->key, w->row_len, 1), w->row_len, UINT64_MAX, 0);
    if (found == FOUND)
        found = mutations_read(w, op->mutations, op->mutation_count);
    if (found == FOUND && check != NULL)
        found = mutations_read(w, check->otherwise, check->otherwise_count);
    return found;
}

/* --- whether to check ------------------------------------------------------------------------ */

/* Returns how often this thread gave up its processor voluntarily: to wait for a disk, or a
 * lock. */
static uint64_t sleeps_count(void)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_THREAD, &usage); /* fails for wrong arguments only */
    return (uint64_t)usage.ru_nvcsw;
}

static bool is_slow(uint64_t ns)
{
    return ns >= LIM_PREFETCH_SLOW_US * NS_PER_US;
}

void sto_rdb_prefetch_applies(struct rdb_prefetch_watch *w, uint64_t now_ns)
{
    w->applied_ns = now_ns;
    if (w->is_counted)
        return;
    w->sleeps = sleeps_count();
    w->is_counted = true;
}

void sto_rdb_prefetch_applied(struct rdb_prefetch_watch *w, uint64_t now_ns)
{
    if (w->applied_ns != 0 && is_slow(now_ns - w->applied_ns)) {
        uint64_t sleeps = sleeps_count();
        if (sleeps != w->sleeps)
            w->left = LIM_PREFETCH_WATCH_OPS;
        w->sleeps = sleeps;
    }
    w->applied_ns = 0;
}

void sto_rdb_prefetch_pauses(struct rdb_prefetch_watch *w)
{
    w->applied_ns = 0;
    w->is_counted = false;
}

bool sto_rdb_prefetch_is_wanted(struct rdb_committer *c, const struct sto_mutate_op *op)
{
    struct rdb_engine *e = c->engine;
    int when = atomic_load_explicit(&e->prefetch_when, memory_order_relaxed);
    if (when == STO_PREFETCH_NEVER || (c->prefetch_watch.left == 0 && when != STO_PREFETCH_ALWAYS))
        return false;
    if (c->prefetch_watch.left > 0)
        c->prefetch_watch.left--;
    if (op->row_key.len == 0 || op->row_key.len > LIM_ROW_KEY)
        return false; /* will be refused */
    struct walk w;    /* large: not zeroed */
    return op_read(&w, e, op, true) == NOT_IN_MEMORY;
}

/* --- the read itself -------------------------------------------------------------------------- */

static void run_on_reader(struct base_msg *msg)
{
    struct rdb_prefetch *p = (struct rdb_prefetch *)msg;
    struct rdb_engine *e = p->committer->engine;
    const struct sto_mutate_op *op = p->op;
    struct sto_account *account = op->scope.tenant.account;
    uint64_t began_ns = base_monotonic_ns();
    uint64_t sleeps = sleeps_count();
    struct walk w; /* large: not zeroed */
    w.keys = 0;
    atomic_fetch_add(&account->reads_open, 1); /* before the gate is checked: see slice.c */
    if (sto_rdb_gate_check(account, true, NULL) == ERR_OK &&
        !atomic_load_explicit(&op->scope.schema->table->forgotten, memory_order_relaxed))
        (void)op_read(&w, e, op, false); /* the committer meets a failure as well */
    atomic_fetch_sub(&account->reads_open, 1);
    sto_rdb_pool_charge(&e->pool, account, RDB_POINTS, w.keys / RDB_STEPS_PER_OP);
    p->was_slow = is_slow(base_monotonic_ns() - began_ns) && sleeps_count() != sleeps;
    msg->run = p->returned;
    base_mailbox_push(&p->committer->mailbox, msg);
}

bool sto_rdb_prefetch_start(struct rdb_committer *c, struct sto_mutate_op *op,
                            void (*returned)(struct base_msg *msg))
{
    struct rdb_engine *e = c->engine;
    struct rdb_prefetch *p = base_try_alloc(sizeof(*p));
    if (p == NULL)
        return false;
    *p = (struct rdb_prefetch){
        .msg.run = run_on_reader, .returned = returned, .committer = c, .op = op};
    const struct rdb_pool_job job = {
        .account = op->scope.tenant.account, .queue = RDB_POINTS, .priority = op->priority};
    sto_rdb_shuttle_enter(e); /* before checking whether the engine is closing */
    if (!atomic_load(&e->closing) && sto_rdb_pool_push(&e->pool, &job, &p->msg, NULL)) {
        atomic_fetch_add_explicit(&e->prefetches, 1, memory_order_relaxed);
        return true;
    }
    sto_rdb_shuttle_leave(e);
    base_free(p);
    return false;
}

void sto_rdb_prefetch_finish(struct rdb_prefetch *p)
{
    struct rdb_committer *c = p->committer;
    if (p->was_slow)
        c->prefetch_watch.left = LIM_PREFETCH_WATCH_OPS;
    base_free(p);
    sto_rdb_shuttle_leave(c->engine);
}

void sto_rocksdb_test_prefetch(struct sto_engine *engine, enum sto_test_prefetch when)
{
    atomic_store(&sto_rdb_engine(engine)->prefetch_when, (int)when);
}
