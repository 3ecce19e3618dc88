/*
 * storage/rocksdb/damage.c - RocksDB's texts about damaged blocks, and the files that they name.
 *
 * RocksDB 7.8.3 compares the checksum of each block that it reads from a file:
 *
 *   block checksum mismatch: stored = 1, computed = 2, type = 4  in DIR/000012.sst offset 3 size 4
 *   truncated block read from DIR/000012.sst offset 3, expected 4 bytes, got 2
 *   Bad table magic number: expected 1, found 2 in DIR/000012.sst
 *
 * Such a block says nothing about other blocks on the disk: all other data is still served. A
 * failed system call is different, and latches (rocksdb_engine.c), unless it is a read of a
 * compaction, which arrives here as a text of the first form (damage_io.h).
 *
 *   met       a read or compaction adds the block to the list and wakes the thread
 *   examine   the thread reads the whole file; of each block that does not match
 *   record      its keys are recorded as lost: reads of them fail whatever happens to the file
 *   replace     compactions read an empty block in its place (damage_io.h)
 *   rewrite   the file is compacted, so that backups, purges and searches, which read whole files,
 *             work again
 *
 * 1. A crash between any two of these leaves the file: the next read that meets it records the same
 *    keys.
 * 2. A file in which every block matches when it is reread leaves the list.
 * 3. Not replaced are blocks of meta without a sound copy, blocks that are needed to open a file at
 *    all, and blocks that the disk does not return. Such a file is stuck: its compactions fail once
 *    a second, beside the others. The disk may return it later: it is examined again when it is met
 *    after UNREAD_REST_NS. A file of meta that the disk does not return latches the engine.
 * 4. The thread also creates the copies (meta_copies.h), when it has nothing to examine.
 */
#include "storage/rocksdb/damage.h"

#include <stdio.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/text.h"
#include "base/worker.h"
#include "storage/rocksdb/damage_io.h"
#include "storage/rocksdb/live_files.h"
#include "storage/rocksdb/meta_copies.h"
#include "storage/rocksdb/ranges.h"
#include "storage/rocksdb/rdb.h"
#include "storage/rocksdb/table_file.h"

#include "base/banned.h"

#define TABLE_ENDING   ".sst"
#define NAME_BYTES     32
#define UNREAD_REST_NS (10ULL * 1000 * 1000 * 1000) /* compactions meet it once a second */

/* --- texts ------------------------------------------------------------------------------------ */

/* Returns the decimal number at the start of the text; 0: there is none. */
static uint64_t number_at(const char *text)
{
    size_t zeros = strspn(text, "0");
    size_t digits = strspn(text, "0123456789");
    uint64_t number = 0;
    if (digits == zeros ||
        base_parse_u64(base_slice(text + zeros, digits - zeros), &number) != ERR_OK)
        return 0;
    return number;
}

static uint64_t number_behind(const char *text, const char *label)
{
    const char *at = strstr(text, label);
    return at == NULL ? 0 : number_at(at + strlen(label));
}

bool sto_rdb_damage_parse(const char *text, struct sto_damaged_file *out)
{
    const char *ending = NULL;
    for (const char *at = text; (at = strstr(at, TABLE_ENDING)) != NULL; at++)
        ending = at;
    if (ending == NULL)
        return false;
    const char *name = ending;
    while (name > text && name[-1] >= '0' && name[-1] <= '9')
        name--;
    *out = (struct sto_damaged_file){.number = number_at(name),
                                     .offset = number_behind(ending, " offset "),
                                     .block_bytes = number_behind(ending, " size ")};
    if (out->block_bytes == 0)
        out->block_bytes = number_behind(ending, ", expected ");
    return out->number != 0;
}

/* --- the list --------------------------------------------------------------------------------- */

static void name_make(char out[NAME_BYTES], uint64_t number)
{
    (void)snprintf(out, NAME_BYTES, "%06llu" TABLE_ENDING, (unsigned long long)number); /* fits */
}

/* Moves the files that are in use to the front, and sets their families. With the lock. */
static void list_refresh(struct rdb_damage *d)
{
    struct rdb_live_files live;
    struct rdb_live_file f;
    size_t kept = 0;
    if (d->count == 0)
        return;
    sto_rdb_live_files_open(d->engine->db.handle, &live);
    for (size_t i = 0; i < d->count; i++) {
        struct rdb_damaged_block *b = &d->of[i];
        char name[NAME_BYTES];
        name_make(name, b->at.number);
        int index = sto_rdb_live_files_find(&live, name);
        if (index < 0)
            continue;
        sto_rdb_live_files_get(&live, index, &f);
        (void)snprintf(b->at.family, sizeof b->at.family, "%s", f.family); /* it fits */
        d->of[kept++] = *b;
    }
    sto_rdb_live_files_close(&live);
    d->count = kept;
}

static struct rdb_damaged_block *list_find(struct rdb_damage *d, uint64_t number, uint64_t offset)
{
    for (size_t i = 0; i < d->count; i++)
        if (d->of[i].at.number == number && d->of[i].at.offset == offset)
            return &d->of[i];
    return NULL;
}

/* Adds a block. With the lock. NULL: there are too many. */
static struct rdb_damaged_block *list_add(struct rdb_damage *d, const struct sto_damaged_file *at)
{
    struct rdb_damaged_block *b = list_find(d, at->number, at->offset);
    if (b != NULL)
        return b;
    if (d->count == STO_DAMAGED_FILES)
        list_refresh(d);
    if (d->count == STO_DAMAGED_FILES)
        return NULL;
    b = &d->of[d->count++];
    *b = (struct rdb_damaged_block){.at = *at};
    return b;
}

static void list_note_block(struct rdb_damage *d, const struct sto_damaged_file *at)
{
    pthread_mutex_lock(&d->lock);
    struct rdb_damaged_block *b = list_add(d, at);
    if (b != NULL && b->unread_ns != 0 && base_monotonic_ns() >= b->unread_ns + UNREAD_REST_NS)
        b->is_examined = false;
    pthread_cond_broadcast(&d->changed);
    pthread_mutex_unlock(&d->lock);
}

void sto_rdb_damage_met(void *ctx, const char *text)
{
    struct rdb_engine *e = ctx;
    struct sto_damaged_file at;
    if (sto_rdb_damage_parse(text, &at))
        list_note_block(&e->damage, &at);
}

void sto_rdb_damage_count(struct rdb_engine *e)
{
    atomic_fetch_add_explicit(&e->damage.reads, 1, memory_order_relaxed);
}

void sto_rdb_damage_found(struct rdb_engine *e, const struct sto_damaged_file *at)
{
    list_note_block(&e->damage, at);
    sto_rdb_damage_count(e);
}

enum err sto_rdb_read_failed(struct rdb_engine *e, char *rocksdb_error)
{
    if (sto_rdb_error_class(rocksdb_error) != ERR_CORRUPT)
        return sto_rdb_fail(e, "read", rocksdb_error);
    sto_rdb_damage_met(e, rocksdb_error);
    sto_rdb_damage_count(e);
    rocksdb_free(rocksdb_error);
    return ERR_CORRUPT;
}

void sto_rdb_damage_get(struct sto_engine *engine, struct sto_damage *out)
{
    struct rdb_engine *e = sto_rdb_engine(engine);
    struct rdb_damage *d = &e->damage;
    pthread_mutex_lock(&d->lock);
    list_refresh(d);
    *out = (struct sto_damage){.count = d->count, .lost_ranges = atomic_load(&e->lost.count)};
    for (size_t i = 0; i < d->count; i++)
        out->files[i] = d->of[i].at;
    pthread_mutex_unlock(&d->lock);
    out->meta_uncopied = atomic_load(&e->meta_copies.missing);
    sto_rdb_reclaim_stuck(&e->reclaim, &out->reclaim_stuck);
}

/* --- examining -------------------------------------------------------------------------------- */

struct examination {
    struct rdb_engine *engine;
    uint64_t number;
    int family;     /* negative: the file is not in use */
    struct buf low; /* first and last key of the file */
    struct buf high;
    struct buf from; /* of the part to be rewritten */
    struct buf to;
    uint64_t found;
    bool is_replaced; /* every damaged block was replaced */
};

static enum err buf_set(struct buf *b, struct slice bytes)
{
    base_buf_truncate(b, 0);
    return base_buf_append(b, bytes);
}

static enum err file_find(struct examination *x)
{
    struct rdb_live_files live;
    char name[NAME_BYTES];
    enum err rc = ERR_OK;
    x->family = -1;
    name_make(name, x->number);
    sto_rdb_live_files_open(x->engine->db.handle, &live);
    int index = sto_rdb_live_files_find(&live, name);
    if (index >= 0) {
        struct rdb_live_file f;
        sto_rdb_live_files_get(&live, index, &f);
        x->family = sto_rdb_family_index(f.family);
        rc = buf_set(&x->low, f.low);
        if (rc == ERR_OK)
            rc = buf_set(&x->high, f.high);
    }
    sto_rdb_live_files_close(&live);
    return rc;
}

/* Extends the part to be rewritten. Blocks come in the order of their keys: it starts with the
 * first. */
static enum err rewrite_note(struct examination *x, struct slice from, struct slice to)
{
    enum err rc = x->from.len == 0 ? buf_set(&x->from, from) : ERR_OK;
    return rc == ERR_OK ? buf_set(&x->to, to) : rc;
}

/* Handles a damaged filter: no key is lost. If it reads as zeros, a part of a filter lets every key
 * pass; without the index of its parts RocksDB opens the file without a filter. The file's first
 * key is enough to have it rewritten: from its first to its last key there may be the whole
 * database, if it is in level 0. */
static enum err bad_filter(struct examination *x, const struct rdb_bad_block *block, bool is_mended)
{
    if (block->kind == RDB_BLOCK_FILTER && !is_mended)
        sto_rdb_damage_io_replace(x->engine->db.damage_io, x->number, block->offset, block->bytes,
                                  block->checksum_type);
    if (x->to.len > 0)
        return ERR_OK; /* rewritten for another block */
    enum err rc = buf_set(&x->from, base_buf_slice(&x->low));
    if (rc == ERR_OK)
        rc = buf_set(&x->to, base_buf_slice(&x->low));
    return rc == ERR_OK ? base_buf_append_byte(&x->to, 0) : rc;
}

/* Handles a damaged block. Its separator may be far after the last key of the file. */
static enum err bad_block(void *ctx, const struct rdb_bad_block *block)
{
    struct examination *x = ctx;
    struct rdb_engine *e = x->engine;
    struct slice high = base_buf_slice(&x->high);
    struct rdb_lost_block lost = {
        .family = x->family,
        .file = x->number,
        .offset = block->offset,
        .from = block->from.len > 0 ? block->from : base_buf_slice(&x->low),
        .to = base_slice_compare(block->to, high) < 0 ? block->to : high,
    };
    struct sto_damaged_file at = {
        .number = x->number, .offset = block->offset, .block_bytes = block->bytes};
    x->found++;
    pthread_mutex_lock(&e->damage.lock);
    (void)list_add(&e->damage, &at);
    pthread_mutex_unlock(&e->damage.lock);
    bool is_mended = x->family == RDB_CF_META && sto_rdb_meta_copies_use(e, x->number, block);
    if (block->kind == RDB_BLOCK_FILTER || block->kind == RDB_BLOCK_FILTERS)
        return bad_filter(x, block, is_mended);
    if (is_mended)
        return rewrite_note(x, lost.from, lost.to);
    if (x->family != RDB_CF_CELLS && x->family != RDB_CF_CHANGES) {
        x->is_replaced = false;
        return ERR_OK;
    }
    enum err rc = sto_rdb_lost_add(e, &lost);
    sto_rdb_test_point(e, STO_DIE_LOST);
    if (rc != ERR_OK)
        return rc;
    sto_rdb_damage_io_replace(e->db.damage_io, x->number, block->offset, block->bytes,
                              block->checksum_type);
    sto_rdb_test_point(e, STO_DIE_REPLACED);
    return rewrite_note(x, lost.from, lost.to);
}

static enum err file_examine(struct examination *x)
{
    char path[BASE_PATH_BYTES];
    char name[NAME_BYTES + 3];
    enum err rc = file_find(x);
    if (rc != ERR_OK || x->family < 0)
        return rc;
    (void)snprintf(name, sizeof name, "db/%06llu" TABLE_ENDING, (unsigned long long)x->number);
    rc = base_path_join(path, x->engine->dir, name, NULL);
    if (rc == ERR_OK)
        rc = sto_rdb_table_check(path, bad_block, x);
    if (rc == ERR_IO && x->family == RDB_CF_META)
        sto_rdb_fail_text(x->engine, "read: a table file cannot be read");
    return rc;
}

/* Updates the list by rule 2 or the result. With the lock. */
static void list_settle(struct rdb_damage *d, const struct examination *x, enum err rc)
{
    bool is_sound = rc == ERR_NOT_FOUND || (rc == ERR_OK && x->found == 0);
    bool is_stuck = !is_sound && (rc != ERR_OK || !x->is_replaced);
    size_t kept = 0;
    for (size_t i = 0; i < d->count; i++) {
        struct rdb_damaged_block *b = &d->of[i];
        if (b->at.number == x->number) {
            if (is_sound)
                continue;
            b->is_examined = true;
            b->is_stuck = is_stuck;
            b->unread_ns = rc == ERR_OK || rc == ERR_CORRUPT ? 0 : base_monotonic_ns();
        }
        d->of[kept++] = *b;
    }
    d->count = kept;
    pthread_cond_broadcast(&d->changed);
}

static void examine(struct rdb_damage *d, uint64_t number)
{
    struct examination x = {.engine = d->engine, .number = number, .is_replaced = true};
    struct buf *keys[] = {&x.low, &x.high, &x.from, &x.to};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        base_buf_init(keys[i], RDB_BLOCK_MAX);
    enum err rc = file_examine(&x);
    pthread_mutex_lock(&d->lock);
    list_settle(d, &x, rc);
    pthread_mutex_unlock(&d->lock);
    if (x.to.len > 0 && !atomic_load(&d->engine->closing))
        sto_rdb_range_compact(d->engine, x.family, base_buf_slice(&x.from), base_buf_slice(&x.to));
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        base_buf_fini(keys[i]);
}

/* --- thread ----------------------------------------------------------------------------------- */

/* Returns a file to examine; 0: none. With the lock. */
static uint64_t number_pending(const struct rdb_damage *d)
{
    for (size_t i = 0; i < d->count; i++)
        if (!d->of[i].is_examined)
            return d->of[i].at.number;
    return 0;
}

/* Waits. False: it is time to check the copies. With the lock. */
static bool wait_for_work(struct rdb_damage *d)
{
    struct timespec until;
    if (d->engine->options.meta_copies_s == 0)
        return pthread_cond_wait(&d->changed, &d->lock) == 0;
    (void)clock_gettime(CLOCK_MONOTONIC, &until); /* cannot fail for this clock */
    until.tv_sec += d->engine->options.meta_copies_s;
    return pthread_cond_timedwait(&d->changed, &d->lock, &until) == 0;
}

static void *thread_main(void *arg)
{
    struct rdb_damage *d = arg;
    sto_rdb_uncounted();
    pthread_mutex_lock(&d->lock);
    while (!d->stopping) {
        uint64_t number = number_pending(d);
        if (number == 0 && wait_for_work(d))
            continue;
        pthread_mutex_unlock(&d->lock);
        if (number != 0)
            examine(d, number);
        else
            sto_rdb_meta_copies_keep(d->engine);
        pthread_mutex_lock(&d->lock);
    }
    pthread_mutex_unlock(&d->lock);
    return NULL;
}

bool sto_rdb_damage_is_known(struct rdb_engine *e, uint64_t number)
{
    struct rdb_damage *d = &e->damage;
    bool is_known = false;
    pthread_mutex_lock(&d->lock);
    for (size_t i = 0; i < d->count && !is_known; i++)
        is_known = d->of[i].at.number == number;
    pthread_mutex_unlock(&d->lock);
    return is_known;
}

bool sto_rdb_damage_wait(struct rdb_engine *e)
{
    struct rdb_damage *d = &e->damage;
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until); /* cannot fail for this clock */
    until.tv_sec += RDB_WAIT_SECONDS;
    int rc = 0;
    pthread_mutex_lock(&d->lock);
    while (rc == 0 && !d->stopping && number_pending(d) != 0)
        rc = pthread_cond_timedwait(&d->changed, &d->lock, &until);
    bool is_done = number_pending(d) == 0;
    pthread_mutex_unlock(&d->lock);
    return is_done;
}

static bool is_between(const struct rdb_live_files *live, int index, int family, struct slice begin,
                       struct slice end)
{
    struct rdb_live_file f;
    sto_rdb_live_files_get(live, index, &f);
    return strcmp(f.family, RDB_FAMILY_NAMES[family]) == 0 && base_slice_compare(f.low, end) < 0 &&
           base_slice_compare(f.high, begin) >= 0;
}

uint64_t sto_rdb_damage_stuck(struct rdb_engine *e, int family, struct slice begin,
                              struct slice end)
{
    struct rdb_damage *d = &e->damage;
    struct rdb_live_files live;
    uint64_t number = 0;
    sto_rdb_live_files_open(e->db.handle, &live);
    pthread_mutex_lock(&d->lock);
    for (size_t i = 0; i < d->count && number == 0; i++) {
        char name[NAME_BYTES];
        name_make(name, d->of[i].at.number);
        int index = d->of[i].is_stuck ? sto_rdb_live_files_find(&live, name) : -1;
        if (index >= 0 && is_between(&live, index, family, begin, end))
            number = d->of[i].at.number;
    }
    pthread_mutex_unlock(&d->lock);
    sto_rdb_live_files_close(&live);
    return number;
}

enum err sto_rdb_damage_blame(struct rdb_engine *e, uint64_t number, struct errbuf *eb)
{
    struct rdb_damage *d = &e->damage;
    pthread_mutex_lock(&d->lock);
    for (size_t i = 0; i < d->count && number == 0; i++)
        number = d->of[i].is_stuck ? d->of[i].at.number : 0;
    pthread_mutex_unlock(&d->lock);
    if (number == 0) /* rewritten before, or too many of them for one call */
        return base_fail(eb, ERR_CORRUPT, "a damaged table file was not rewritten");
    return base_fail(eb, ERR_CORRUPT,
                     "table file %06llu" TABLE_ENDING " is damaged and cannot be rewritten",
                     (unsigned long long)number);
}

void sto_rdb_damage_init(struct rdb_damage *d, struct rdb_engine *e)
{
    pthread_condattr_t attr;
    d->engine = e;
    (void)pthread_condattr_init(&attr); /* these four cannot fail on Linux */
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&d->changed, &attr);
    (void)pthread_condattr_destroy(&attr);
    (void)pthread_mutex_init(&d->lock, NULL); /* default attributes: cannot fail */
}

void sto_rdb_damage_fini(struct rdb_damage *d)
{
    (void)pthread_cond_destroy(&d->changed); /* no thread waits */
    (void)pthread_mutex_destroy(&d->lock);
}

enum err sto_rdb_damage_start(struct rdb_damage *d)
{
    enum err rc = base_thread_start(&d->thread, "damage", thread_main, d);
    d->started = rc == ERR_OK;
    return rc;
}

void sto_rdb_damage_stop(struct rdb_damage *d)
{
    if (!d->started)
        return;
    pthread_mutex_lock(&d->lock);
    d->stopping = true;
    pthread_cond_broadcast(&d->changed);
    pthread_mutex_unlock(&d->lock);
    INVARIANT(pthread_join(d->thread, NULL) == 0);
    d->started = false;
}
