/*
 * storage/rocksdb/batch_write.c - writes the overlay in one synced write, and clears the batch.
 *
 * 1. A deleted entry that the database never held is not written.
 * 2. recent is updated while entries are written; if the write fails, recent is cleared.
 * 3. Values of a tenant with keys are encrypted here, each once, however often the batch changed
 *    it.
 * 4. Ranges of a batch apart are written before its entries, so that they do not delete them.
 */
#include "storage/rocksdb/batch.h"

#include "base/memory.h"
#include "storage/rocksdb/ranges.h"
#include "storage/rocksdb/rdb.h"

#include "base/banned.h"

/* Smaller values are copied after their two leading bytes; larger ones are written as two parts. */
#define COPY_BYTES_MAX 4096
/* Bytes of a change in RocksDB's batch beside key and value: lengths, prefix, encryption
 * overhead. */
#define BYTES_OF_A_CHANGE 64

/* --- clearing ------------------------------------------------------------------------------- */

static void overlays_clear(struct rdb_batch *b)
{
    sto_rdb_overlay_fini(&b->overlay);
    sto_rdb_overlay_init(&b->overlay);
    sto_rdb_overlay_fini(&b->tokens);
    sto_rdb_overlay_init(&b->tokens);
}

/* Clears RocksDB's batch. It keeps its memory when it is cleared, so a large one is replaced. */
static void writes_clear(struct rdb_batch *b)
{
    size_t bytes = 0;
    (void)rocksdb_writebatch_data(b->writes, &bytes);
    if (bytes <= LIM_BATCH_BYTES) {
        rocksdb_writebatch_clear(b->writes);
        return;
    }
    rocksdb_writebatch_destroy(b->writes);
    b->writes = rocksdb_writebatch_create();
}

void sto_rdb_batch_clear(struct rdb_batch *b)
{
    overlays_clear(b);
    writes_clear(b);
    b->range = NULL;
    b->change_bytes = 0;
    if (b->sealed.capacity > 4 * LIM_CHANGE_PART) {
        base_buf_clear(&b->sealed);
    }
    if (b->change_part.capacity > 4 * LIM_CHANGE_PART) {
        base_buf_clear(&b->change_part);
    }
    b->tally_count = 0;
    b->account_count = 0;
}

/* --- writing -------------------------------------------------------------------------------- */

static enum err write_sealed(struct rdb_batch *b, const struct rdb_entry *entry)
{
    const struct rdb_change *now = &entry->now;
    enum err rc = sto_cell_seal(now->family_name_len, now->value, entry->key, &b->sealer,
                                now->cipher, &b->sealed);
    if (rc == ERR_OK)
        rocksdb_writebatch_put_cf(b->writes, b->engine->db.cells, (const char *)entry->key.ptr,
                                  entry->key.len, (const char *)b->sealed.ptr, b->sealed.len);
    return rc;
}

static void write_cell(struct rdb_batch *b, const struct rdb_entry *entry)
{
    rocksdb_column_family_handle_t *cells = b->engine->db.cells;
    const char *key = (const char *)entry->key.ptr;
    char small[STO_CELL_PREFIX + COPY_BYTES_MAX];
    struct slice value = entry->now.value;
    small[0] = STO_CELL_PLAIN;
    small[1] = (char)entry->now.family_name_len;
    if (value.len <= COPY_BYTES_MAX) {
        if (value.len > 0)
            memcpy(small + STO_CELL_PREFIX, value.ptr, value.len);
        rocksdb_writebatch_put_cf(b->writes, cells, key, entry->key.len, small,
                                  STO_CELL_PREFIX + value.len);
        return;
    }
    const char *parts[2] = {small, (const char *)value.ptr};
    size_t lengths[2] = {STO_CELL_PREFIX, value.len};
    rocksdb_writebatch_putv_cf(b->writes, cells, 1, &key, &entry->key.len, 2, parts, lengths);
}

/* Updates recent to the entry's state after the batch is written. */
static void note_entry(struct rdb_batch *b, const struct rdb_entry *entry)
{
    const struct rdb_change *now = &entry->now;
    size_t n = entry->key.len - (now->is_head ? 0 : STO_KEY_VERSION);
    struct slice key = base_slice(entry->key.ptr, n);
    struct rdb_size size = {.value_len = (uint32_t)now->value.len,
                            .family_name_len = now->family_name_len};
    if (now->is_head)
        size.head = now->head;
    else
        size.version = sto_get_be64(entry->key.ptr + n);
    struct rdb_size known;
    if (now->present)
        sto_rdb_recent_put(&b->recent, key, &size);
    else if (now->is_head ||
             (sto_rdb_recent_find(&b->recent, key, &known) && known.version == size.version))
        sto_rdb_recent_forget(&b->recent, key);
}

/* Writes an entry. ERR_UNAVAILABLE: the tenant has no key to encrypt it with. */
static enum err write_entry(struct rdb_batch *b, const struct rdb_entry *entry)
{
    const struct rdb_change *now = &entry->now;
    if (!now->live)
        return ERR_OK;
    if (!b->is_apart)
        note_entry(b, entry);
    if (!now->present && (!now->in_db || sto_rdb_batch_range_of(b, entry->key) != NULL))
        return ERR_OK;
    if (!now->present) {
        rocksdb_writebatch_delete_cf(b->writes, b->engine->db.cells, (const char *)entry->key.ptr,
                                     entry->key.len);
    } else if (now->is_head) {
        uint8_t head[STO_ROW_HEAD_MAX];
        size_t n = sto_row_head_encode(&now->head, head);
        rocksdb_writebatch_put_cf(b->writes, b->engine->db.cells, (const char *)entry->key.ptr,
                                  entry->key.len, (const char *)head, n);
    } else if (now->cipher != NULL) {
        return write_sealed(b, entry);
    } else {
        write_cell(b, entry);
    }
    return ERR_OK;
}

/* Estimates the size of RocksDB's batch. */
static size_t writes_bytes(const struct rdb_batch *b)
{
    size_t bytes = 0;
    for (const struct rdb_entry *e = b->overlay.first[0]; e != NULL; e = e->next[0])
        if (e->now.live)
            bytes += BYTES_OF_A_CHANGE + e->key.len + e->now.value.len;
    return base_memory_counted(bytes);
}

enum err sto_rdb_batch_build(struct rdb_batch *b)
{
    INVARIANT(b->is_apart && b->counted == 0);
    enum err rc = ERR_OK;
    size_t bytes = writes_bytes(b);
    if (!base_memory_take(b->overlay.arena.share, bytes))
        return ERR_NO_MEMORY;
    b->counted = bytes;
    for (size_t i = 0; i < b->range_count; i++)
        sto_rdb_range_put(b->engine, b->writes, RDB_CF_CELLS, b->ranges[i]);
    for (const struct rdb_entry *e = b->overlay.first[0]; rc == ERR_OK && e != NULL; e = e->next[0])
        rc = write_entry(b, e);
    return rc;
}

static void write_tally(struct rdb_batch *b, const struct rdb_tally *tally)
{
    uint8_t key[RDB_COUNTER_KEY_MAX];
    uint8_t value[STO_COUNTERS_BYTES];
    size_t key_len = sto_rdb_counter_key(&tally->tenant, tally->table, key);
    struct sto_stored_counters counters = {
        .usage = tally->usage,
        .additions =
            atomic_load_explicit(&tally->table->additions, memory_order_relaxed) + tally->added,
        .last_change_us = tally->last_change_us,
        .change_bytes = atomic_load_explicit(&tally->table->changes.bytes, memory_order_relaxed) +
                        tally->change_bytes,
    };
    sto_counters_encode(&counters, value);
    rocksdb_writebatch_put_cf(b->writes, b->engine->db.meta, (const char *)key, key_len,
                              (const char *)value, sizeof(value));
}

static void publish(struct sto_counters *to, const struct sto_usage *usage)
{
    atomic_store_explicit(&to->bytes, usage->bytes, memory_order_relaxed);
    atomic_store_explicit(&to->rows, usage->rows, memory_order_relaxed);
    atomic_store_explicit(&to->cells, usage->cells, memory_order_relaxed);
}

static void table_publish(struct rdb_tally *tally)
{
    publish(&tally->table->counters, &tally->usage);
    if (tally->added > 0)
        atomic_fetch_add_explicit(&tally->table->additions, tally->added, memory_order_relaxed);
    atomic_store(&tally->table->changes.last_us, tally->last_change_us);
    if (tally->change_bytes > 0)
        atomic_fetch_add_explicit(&tally->table->changes.bytes, tally->change_bytes,
                                  memory_order_relaxed);
}

/* Call before the write: changes may be removed, and subtracted, as soon as they are stored. */
static void changes_add(const struct rdb_batch *b)
{
    for (size_t i = 0; i < b->account_count; i++)
        if (b->accounts[i].change_bytes > 0)
            atomic_fetch_add_explicit(&b->accounts[i].changes->bytes, b->accounts[i].change_bytes,
                                      memory_order_relaxed);
}

static void write_token(struct rdb_batch *b, const struct rdb_entry *entry)
{
    if (entry->now.live)
        rocksdb_writebatch_put_cf(b->writes, b->engine->db.meta, (const char *)entry->key.ptr,
                                  entry->key.len, (const char *)entry->now.value.ptr,
                                  entry->now.value.len);
}

enum err sto_rdb_batch_write(struct rdb_batch *b)
{
    if (b->watches != NULL)
        sto_rdb_watches_see_batch(b->watches, &b->overlay);
    sto_rdb_long_rows_write_begin(b->long_rows, &b->overlay, b->range);
    for (const struct rdb_entry *e = b->overlay.first[0]; e != NULL; e = e->next[0])
        if (write_entry(b, e) != ERR_OK)
            INVARIANT(false); /* apply.c checked that there is a key */
    for (const struct rdb_entry *e = b->tokens.first[0]; e != NULL; e = e->next[0])
        write_token(b, e);
    for (size_t i = 0; i < b->tally_count; i++)
        if (b->tallies[i].changed)
            write_tally(b, &b->tallies[i]);
    overlays_clear(b); /* copied; a large batch needs the memory now */
    enum err rc = ERR_OK;
    changes_add(b);
    if (rocksdb_writebatch_count(b->writes) > 0)
        rc = sto_rdb_write(b->engine, b->writes);
    sto_rdb_long_rows_write_end(b->long_rows);
    if (rc == ERR_OK) {
        for (size_t i = 0; i < b->tally_count; i++)
            table_publish(&b->tallies[i]);
        for (size_t i = 0; i < b->account_count; i++)
            publish(&b->accounts[i].account->total, &b->accounts[i].usage);
    } else {
        sto_rdb_recent_clear(&b->recent);
    }
    sto_rdb_batch_clear(b);
    return rc;
}
