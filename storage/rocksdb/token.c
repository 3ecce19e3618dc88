/*
 * storage/rocksdb/token.c - tokens in generations.
 *
 *   i/<tenant>/ <generation (8, BE)> <token>
 *     -> 01, flags, start (8, BE), commit (8, BE), expiry (8, BE), digest (16)
 *
 * 1. A token expires LIM_IDEMPOTENCY_US after its commit or its start, whichever is later: as long
 *    as a retry's start is accepted. That is at most GENERATION_US away, so a token that has not
 *    expired is in the present generation or in the next one: two lookups.
 * 2. A past generation is never written again. Its keys can be deleted by any thread, and come
 *    first among the keys of their tenant.
 * 3. Stored tokens are counted for each generation, in memory: since the start, and one more for an
 *    operation that is refused after its token was put.
 * 4. The digest is two chains of SipHash-1-3 over every field, each step keyed with the previous
 *    result. It guards against mistakes: a client that makes two requests collide harms only
 *    itself.
 */
#include "storage/rocksdb/token.h"

#include <inttypes.h>

#include "base/siphash.h"
#include "storage/range.h"
#include "storage/rocksdb/rdb.h"

#include "base/banned.h"

#define FORMAT        0x01
#define FLAG_EXISTED  1u
#define FLAG_MATCHED  2u
#define STORED_BYTES  (2 + 3 * 8 + RDB_TOKEN_DIGEST_BYTES)
#define GENERATION_US (LIM_IDEMPOTENCY_US + LIM_IDEMPOTENCY_AHEAD_US)

static uint64_t generation_of(int64_t us)
{
    return us < 0 ? 0 : (uint64_t)us / GENERATION_US;
}

/* --- counts ---------------------------------------------------------------------------------- */

static struct sto_token_count *count_of(struct sto_account *account, uint64_t generation)
{
    struct sto_token_count *c = &account->tokens[generation % 2];
    if (c->generation != generation)
        *c = (struct sto_token_count){.generation = generation};
    return c;
}

/* Checks whether one more is within the quota, among those that may still be looked up. */
static enum err count_check(struct sto_account *account, int64_t now_us, struct errbuf *eb)
{
    uint64_t max = atomic_load_explicit(&account->tokens_max, memory_order_relaxed);
    uint64_t generation = generation_of(now_us);
    uint64_t count =
        count_of(account, generation)->count + count_of(account, generation + 1)->count;
    if (count < max)
        return ERR_OK;
    return base_fail(eb, ERR_QUOTA,
                     "idempotency tokens quota: %" PRIu64 " are remembered, limit %" PRIu64
                     "; each is forgotten within %llu s, and writes without one pass",
                     count, max, (unsigned long long)(2 * GENERATION_US / 1000000));
}

/* --- keys and values ------------------------------------------------------------------------- */

static size_t key_make(const struct sto_mutate_op *op, uint64_t generation,
                       uint8_t out[RDB_TOKEN_KEY_MAX])
{
    struct sto_range range = sto_range_of_docs(&op->scope.tenant, STO_DOC_TOKEN);
    size_t n = range.begin_len;
    memcpy(out, range.begin, n);
    sto_put_be64(out + n, generation);
    n += 8;
    memcpy(out + n, op->idempotency.token.ptr, op->idempotency.token.len);
    return n + op->idempotency.token.len;
}

struct stored_token {
    uint8_t flags;
    int64_t start_us;
    int64_t commit_us;
    int64_t expiry_us;
    uint8_t digest[RDB_TOKEN_DIGEST_BYTES];
};

static void token_encode(const struct stored_token *t, uint8_t out[STORED_BYTES])
{
    out[0] = FORMAT;
    out[1] = t->flags;
    sto_put_be64(out + 2, (uint64_t)t->start_us);
    sto_put_be64(out + 10, (uint64_t)t->commit_us);
    sto_put_be64(out + 18, (uint64_t)t->expiry_us);
    memcpy(out + 26, t->digest, RDB_TOKEN_DIGEST_BYTES);
}

static enum err token_decode(struct slice bytes, struct stored_token *out)
{
    if (bytes.len != STORED_BYTES || bytes.ptr[0] != FORMAT ||
        (bytes.ptr[1] & ~(FLAG_EXISTED | FLAG_MATCHED)) != 0)
        return ERR_CORRUPT;
    out->flags = bytes.ptr[1];
    out->start_us = (int64_t)sto_get_be64(bytes.ptr + 2);
    out->commit_us = (int64_t)sto_get_be64(bytes.ptr + 10);
    out->expiry_us = (int64_t)sto_get_be64(bytes.ptr + 18);
    memcpy(out->digest, bytes.ptr + 26, RDB_TOKEN_DIGEST_BYTES);
    return ERR_OK;
}

/* --- digest of the request ------------------------------------------------------------------- */

struct digest {
    uint64_t a;
    uint64_t b;
};

static void digest_bytes(struct digest *d, struct slice bytes)
{
    struct digest before = *d;
    d->a = base_siphash13((struct base_siphash_key){before.a, before.b}, bytes);
    d->b = base_siphash13((struct base_siphash_key){before.b, ~before.a}, bytes);
}

static void digest_mutations(struct digest *d, const struct sto_mutation *mutations, size_t count)
{
    digest_bytes(d, base_slice(&count, sizeof(count)));
    for (size_t i = 0; i < count; i++) {
        const struct sto_mutation *m = &mutations[i];
        const uint64_t numbers[] = {(uint64_t)m->kind,         m->family,
                                    (uint64_t)m->timestamp_us, (uint64_t)m->start_us,
                                    (uint64_t)m->end_us,       (uint64_t)m->increment};
        digest_bytes(d, base_slice(numbers, sizeof(numbers)));
        digest_bytes(d, m->qualifier);
        digest_bytes(d, m->value);
    }
}

static void digest_of(const struct sto_mutate_op *op, uint8_t out[RDB_TOKEN_DIGEST_BYTES])
{
    const struct sto_table *table = op->scope.schema->table;
    const uint8_t flags[] = {op->must_exist, op->must_not_exist, op->check != NULL};
    struct digest d = {0, 0};
    digest_bytes(&d, base_slice(table->id, table->id_len));
    digest_bytes(&d, op->row_key);
    digest_bytes(&d, base_slice(flags, sizeof(flags)));
    digest_mutations(&d, op->mutations, op->mutation_count);
    if (op->check != NULL)
        digest_mutations(&d, op->check->otherwise, op->check->otherwise_count);
    sto_put_be64(out, d.a);
    sto_put_be64(out + 8, d.b);
}

/* --- finding and storing --------------------------------------------------------------------- */

static enum err idempotency_check(const struct sto_idempotency *i, int64_t now_us,
                                  struct errbuf *eb)
{
    if (i->token.len < LIM_IDEMPOTENCY_TOKEN_MIN || i->token.len > LIM_IDEMPOTENCY_TOKEN)
        return base_fail(eb, ERR_INVALID, "the idempotency token has %zu bytes; it needs %d to %d",
                         i->token.len, LIM_IDEMPOTENCY_TOKEN_MIN, LIM_IDEMPOTENCY_TOKEN);
    if (i->start_us < now_us - (int64_t)LIM_IDEMPOTENCY_US)
        return base_fail(eb, ERR_CONFLICT,
                         "the first attempt began more than %llu s ago: it is not known any more "
                         "whether it was done",
                         LIM_IDEMPOTENCY_US / 1000000);
    if (i->start_us > now_us + (int64_t)LIM_IDEMPOTENCY_AHEAD_US)
        return base_fail(eb, ERR_CONFLICT, "the first attempt began more than %llu s in the future",
                         LIM_IDEMPOTENCY_AHEAD_US / 1000000);
    return ERR_OK;
}

/* Reads the token from the batch or the database. */
static enum err token_get(struct rdb_batch *b, struct slice key, struct stored_token *out,
                          bool *out_there)
{
    *out_there = false;
    const struct rdb_entry *entry = sto_rdb_overlay_seek(&b->tokens, key);
    if (entry != NULL && entry->now.live && base_slice_equal(entry->key, key)) {
        *out_there = true;
        return token_decode(entry->now.value, out);
    }
    struct rdb_db *db = &b->engine->db;
    char *error = NULL;
    rocksdb_pinnableslice_t *pinned = rocksdb_get_pinned_cf(db->handle, db->point, db->meta,
                                                            (const char *)key.ptr, key.len, &error);
    if (error != NULL)
        return sto_rdb_read_failed(b->engine, error);
    if (pinned == NULL)
        return ERR_OK;
    struct slice bytes;
    bytes.ptr = (const uint8_t *)rocksdb_pinnableslice_value(pinned, &bytes.len);
    enum err rc = token_decode(bytes, out);
    rocksdb_pinnableslice_destroy(pinned);
    *out_there = true;
    return rc;
}

static enum err repeat(struct sto_mutate_op *op, const struct stored_token *known,
                       const struct rdb_token *asked, struct errbuf *eb)
{
    if (memcmp(known->digest, asked->digest, RDB_TOKEN_DIGEST_BYTES) != 0)
        return base_fail(eb, ERR_CONFLICT, "the token was used for another request");
    op->commit_us = known->commit_us;
    op->row_existed = (known->flags & FLAG_EXISTED) != 0;
    if (op->check != NULL)
        op->check->matched = (known->flags & FLAG_MATCHED) != 0;
    return ERR_OK;
}

enum err sto_rdb_token_find(struct rdb_batch *b, struct sto_mutate_op *op, int64_t now_us,
                            struct rdb_token *out, bool *out_repeated, struct errbuf *eb)
{
    const struct sto_idempotency *i = &op->idempotency;
    enum err rc = idempotency_check(i, now_us, eb);
    if (rc != ERR_OK)
        return rc;
    out->expiry_us = (i->start_us > now_us ? i->start_us : now_us) + (int64_t)LIM_IDEMPOTENCY_US;
    digest_of(op, out->digest);
    uint64_t generation = generation_of(now_us);
    for (uint64_t g = generation; g <= generation + 1; g++) {
        uint8_t key[RDB_TOKEN_KEY_MAX];
        struct stored_token known;
        bool there = false;
        rc = token_get(b, base_slice(key, key_make(op, g, key)), &known, &there);
        if (rc != ERR_OK)
            return base_fail(eb, rc, "the idempotency token cannot be looked up");
        if (!there || known.expiry_us < now_us)
            continue;
        rc = repeat(op, &known, out, eb);
        *out_repeated = rc == ERR_OK;
        return rc;
    }
    return b->is_apart ? ERR_OK : count_check(op->scope.tenant.account, now_us, eb);
}

enum err sto_rdb_token_put(struct rdb_batch *b, const struct sto_mutate_op *op,
                           const struct rdb_token *token)
{
    uint8_t key[RDB_TOKEN_KEY_MAX];
    size_t n = key_make(op, generation_of(token->expiry_us), key);
    struct rdb_entry *entry = sto_rdb_overlay_touch(&b->tokens, base_slice(key, n));
    struct rdb_change change = {.live = true, .present = true};
    if (entry == NULL || !sto_rdb_overlay_own(&b->tokens, entry, STORED_BYTES, &change))
        return ERR_NO_MEMORY;
    struct stored_token stored = {.start_us = op->idempotency.start_us,
                                  .commit_us = op->commit_us,
                                  .expiry_us = token->expiry_us};
    if (op->row_existed)
        stored.flags |= FLAG_EXISTED;
    if (op->check != NULL && op->check->matched)
        stored.flags |= FLAG_MATCHED;
    memcpy(stored.digest, token->digest, RDB_TOKEN_DIGEST_BYTES);
    token_encode(&stored, change.own);
    if (!sto_rdb_overlay_change(&b->tokens, entry, &change))
        return ERR_NO_MEMORY;
    if (!b->is_apart)
        count_of(op->scope.tenant.account, generation_of(token->expiry_us))->count++;
    return ERR_OK;
}

/* --- removing -------------------------------------------------------------------------------- */

struct removal {
    struct rdb_engine *engine;
    rocksdb_readoptions_t *options;
    rocksdb_iterator_t *it;
    rocksdb_writebatch_t *writes;
};

/* Opens a removal. The bounds must outlive it. */
static struct removal removal_open(struct rdb_engine *e, struct slice lower, struct slice upper)
{
    struct removal r = {.engine = e, .options = sto_rdb_scan_options(lower, upper)};
    rocksdb_readoptions_set_ignore_range_deletions(r.options, 1); /* meta has none */
    r.it = rocksdb_create_iterator_cf(e->db.handle, r.options, e->db.meta);
    r.writes = rocksdb_writebatch_create();
    rocksdb_iter_seek_to_first(r.it);
    return r;
}

static struct slice removal_key(const struct removal *r)
{
    struct slice key;
    key.ptr = (const uint8_t *)rocksdb_iter_key(r->it, &key.len);
    return key;
}

static void removal_delete(struct removal *r, struct slice key)
{
    rocksdb_writebatch_delete_cf(r->writes, r->engine->db.meta, (const char *)key.ptr, key.len);
}

/* Writes the collected deletes. */
static enum err removal_close(struct removal *r)
{
    char *error = NULL;
    enum err rc = ERR_OK;
    rocksdb_iter_get_error(r->it, &error);
    if (error != NULL)
        rc = sto_rdb_read_failed(r->engine, error);
    rocksdb_iter_destroy(r->it);
    rocksdb_readoptions_destroy(r->options);
    if (rc == ERR_OK && rocksdb_writebatch_count(r->writes) > 0)
        rc = sto_rdb_write(r->engine, r->writes);
    rocksdb_writebatch_destroy(r->writes);
    return rc;
}

/* Returns the length of "i/<tenant>/"; 0 if the key does not start with that and a generation. */
static size_t tenant_prefix_len(struct slice key)
{
    const uint8_t *slash = key.len > 2 ? memchr(key.ptr + 2, '/', key.len - 2) : NULL;
    size_t n = slash == NULL ? 0 : (size_t)(slash - key.ptr) + 1;
    return n > 0 && n <= 2 + LIM_TENANT_ID + 1 && key.len >= n + 8 ? n : 0;
}

/* Moves after all tokens of the tenant whose prefix the key has. */
static void skip_tenant(struct removal *r, struct slice key, size_t prefix_len)
{
    uint8_t next[2 + LIM_TENANT_ID + 1];
    memcpy(next, key.ptr, prefix_len);
    next[prefix_len - 1] = '/' + 1;
    rocksdb_iter_seek(r->it, (const char *)next, prefix_len);
}

/* Steps over at most LIM_TOKENS_PER_SWEEP places. ERR_OK with at_len 0: the end of the walk. */
static enum err sweep_collect(struct removal *r, struct rdb_token_sweep *s)
{
    s->at_len = 0;
    for (int steps = 0; rocksdb_iter_valid(r->it); steps++) {
        struct slice key = removal_key(r);
        size_t n = tenant_prefix_len(key);
        if (n == 0 || key.len > RDB_TOKEN_KEY_MAX)
            return ERR_CORRUPT;
        if (steps == LIM_TOKENS_PER_SWEEP) {
            memcpy(s->at, key.ptr, key.len);
            s->at_len = key.len;
            return ERR_OK;
        }
        if (sto_get_be64(key.ptr + n) < s->generation) {
            removal_delete(r, key);
            rocksdb_iter_next(r->it);
        } else {
            skip_tenant(r, key, n);
        }
    }
    return ERR_OK;
}

enum err sto_rdb_tokens_sweep(struct rdb_engine *e, struct rdb_token_sweep *sweep, int64_t now_us,
                              bool *out_more)
{
    struct slice begin = sto_doc_prefix(STO_DOC_TOKEN);
    /* A committer whose clock lags slightly may still look up tokens that have just expired. */
    uint64_t generation = generation_of(now_us - (int64_t)LIM_IDEMPOTENCY_AHEAD_US);
    *out_more = false;
    if (sweep->at_len == 0 && generation <= sweep->clean_below)
        return ERR_OK;
    if (sweep->at_len == 0)
        sweep->generation = generation;
    uint8_t lower[sizeof(sweep->at)];
    size_t lower_len = sweep->at_len > 0 ? sweep->at_len : begin.len;
    memcpy(lower, sweep->at_len > 0 ? sweep->at : begin.ptr, lower_len);
    struct removal r =
        removal_open(e, base_slice(lower, lower_len), sto_doc_prefix_end(STO_DOC_TOKEN));
    enum err collected = sweep_collect(&r, sweep);
    enum err rc = removal_close(&r);
    *out_more = sweep->at_len > 0;
    if (!*out_more)
        sweep->clean_below = sweep->generation;
    return rc == ERR_OK ? collected : rc;
}

enum err sto_rdb_tokens_purge(struct rdb_engine *e, const struct sto_tenant_scope *tenant,
                              bool *out_more)
{
    struct sto_range range = sto_range_of_docs(tenant, STO_DOC_TOKEN);
    struct removal r = removal_open(e, sto_range_begin(&range), sto_range_end(&range));
    for (int i = 0; i < LIM_TOKENS_PER_SWEEP && rocksdb_iter_valid(r.it); i++) {
        removal_delete(&r, removal_key(&r));
        rocksdb_iter_next(r.it);
    }
    *out_more = rocksdb_iter_valid(r.it) != 0;
    return removal_close(&r);
}
