/*
 * base/hashmap.c - chained buckets that readers iterate while one writer changes them.
 *
 * Mechanism: a node is complete before it is linked and never changes afterwards, except for
 * `next`. Insert links it at the head of its chain. Remove unlinks it and retires it: a reader that
 * is at the node still reaches the end of the chain. Growth copies every node into a table twice as
 * large, publishes that table, and retires the old table with its nodes as one object.
 *
 * Invariants:
 *   1. A node is in exactly one table, in the bucket of its hash.
 *   2. The number of buckets is a power of two and at least 4/3 of the number of nodes.
 *   3. Only the writer stores; readers only follow pointers loaded with acquire.
 */
#include "base/hashmap.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/random.h>

#include "base/alloc.h"
#include "base/siphash.h"

#include "base/banned.h"

#define MAGIC         0x6d617021u
#define BUCKETS_FIRST 16

struct node {
    _Atomic(struct node *) next;
    uint64_t hash;
    void *value;
    size_t key_len;
    uint8_t key[];
};

struct table {
    size_t mask;
    _Atomic(struct node *) buckets[];
};

struct base_hashmap {
    _Atomic(struct table *) table;
    uint32_t magic;
    size_t count;
    struct base_epoch *epoch;
};

static struct base_siphash_key hash_key;

/* Runs before main, so that base_hash need not check whether there is a key. */
__attribute__((constructor)) static void make_hash_key(void)
{
    ssize_t n;
    do {
        n = getrandom(&hash_key, sizeof hash_key, 0);
    } while (n < 0 && errno == EINTR);
    INVARIANT(n == (ssize_t)sizeof hash_key);
}

uint64_t base_hash(struct slice key)
{
    return base_siphash13(hash_key, key);
}

static void check(const struct base_hashmap *m)
{
    INVARIANT(m != NULL && m->magic == MAGIC);
}

static struct table *table_new(size_t bucket_count)
{
    struct table *t = base_new(sizeof *t + bucket_count * sizeof t->buckets[0]);
    t->mask = bucket_count - 1;
    return t;
}

/* Frees the table and every node that is still in it. */
static void table_free(void *object)
{
    struct table *t = object;
    for (size_t i = 0; i <= t->mask; i++) {
        struct node *n = atomic_load_explicit(&t->buckets[i], memory_order_relaxed);
        while (n != NULL) {
            struct node *next = atomic_load_explicit(&n->next, memory_order_relaxed);
            base_free(n);
            n = next;
        }
    }
    base_free(t);
}

struct base_hashmap *base_hashmap_new(struct base_epoch *epoch)
{
    struct base_hashmap *m = base_new(sizeof *m);
    m->epoch = epoch;
    m->magic = MAGIC;
    atomic_init(&m->table, table_new(BUCKETS_FIRST));
    return m;
}

void base_hashmap_free(struct base_hashmap *m)
{
    if (m == NULL)
        return;
    check(m);
    table_free(atomic_load_explicit(&m->table, memory_order_relaxed));
    m->magic = 0;
    base_free(m);
}

static bool node_is(const struct node *n, uint64_t hash, struct slice key)
{
    return n->hash == hash && base_slice_equal(base_slice(n->key, n->key_len), key);
}

static struct node *find_node(const struct base_hashmap *m, uint64_t hash, struct slice key)
{
    const struct table *t = atomic_load_explicit(&m->table, memory_order_acquire);
    struct node *n = atomic_load_explicit(&t->buckets[hash & t->mask], memory_order_acquire);
    while (n != NULL && !node_is(n, hash, key))
        n = atomic_load_explicit(&n->next, memory_order_acquire);
    return n;
}

void *base_hashmap_find(const struct base_hashmap *m, struct slice key)
{
    check(m);
    const struct node *n = find_node(m, base_hash(key), key);
    return n == NULL ? NULL : n->value;
}

static struct node *node_new(uint64_t hash, struct slice key, void *value)
{
    INVARIANT(key.len <= SIZE_MAX - sizeof(struct node));
    struct node *n = base_new(sizeof *n + key.len);
    n->hash = hash;
    n->value = value;
    n->key_len = key.len;
    if (key.len > 0)
        memcpy(n->key, key.ptr, key.len);
    return n;
}

static void link_node(struct table *t, struct node *n)
{
    _Atomic(struct node *) *bucket = &t->buckets[n->hash & t->mask];
    struct node *first = atomic_load_explicit(bucket, memory_order_relaxed);
    atomic_store_explicit(&n->next, first, memory_order_relaxed);
    atomic_store_explicit(bucket, n, memory_order_release);
}

static void grow(struct base_hashmap *m)
{
    struct table *old = atomic_load_explicit(&m->table, memory_order_relaxed);
    struct table *larger = table_new((old->mask + 1) * 2);
    for (size_t i = 0; i <= old->mask; i++) {
        struct node *n = atomic_load_explicit(&old->buckets[i], memory_order_relaxed);
        for (; n != NULL; n = atomic_load_explicit(&n->next, memory_order_relaxed))
            link_node(larger, node_new(n->hash, base_slice(n->key, n->key_len), n->value));
    }
    atomic_store_explicit(&m->table, larger, memory_order_release);
    base_epoch_retire(m->epoch, old, table_free);
}

enum err base_hashmap_insert(struct base_hashmap *m, struct slice key, void *value)
{
    check(m);
    uint64_t hash = base_hash(key);
    if (find_node(m, hash, key) != NULL)
        return ERR_EXISTS;
    struct table *t = atomic_load_explicit(&m->table, memory_order_relaxed);
    if (m->count >= (t->mask + 1) / 4 * 3) {
        grow(m);
        t = atomic_load_explicit(&m->table, memory_order_relaxed);
    }
    link_node(t, node_new(hash, key, value));
    m->count++;
    return ERR_OK;
}

void *base_hashmap_remove(struct base_hashmap *m, struct slice key)
{
    check(m);
    uint64_t hash = base_hash(key);
    struct table *t = atomic_load_explicit(&m->table, memory_order_relaxed);
    _Atomic(struct node *) *link = &t->buckets[hash & t->mask];
    struct node *n = atomic_load_explicit(link, memory_order_relaxed);
    while (n != NULL && !node_is(n, hash, key)) {
        link = &n->next;
        n = atomic_load_explicit(link, memory_order_relaxed);
    }
    if (n == NULL)
        return NULL;
    void *value = n->value;
    struct node *next = atomic_load_explicit(&n->next, memory_order_relaxed);
    atomic_store_explicit(link, next, memory_order_release);
    m->count--;
    base_epoch_retire(m->epoch, n, base_free);
    return value;
}

size_t base_hashmap_count(const struct base_hashmap *m)
{
    check(m);
    return m->count;
}

void base_hashmap_walk(struct base_hashmap *m,
                       bool (*visit)(void *ctx, struct slice key, void *value), void *ctx)
{
    check(m);
    struct table *t = atomic_load_explicit(&m->table, memory_order_relaxed);
    for (size_t i = 0; i <= t->mask; i++) {
        struct node *n = atomic_load_explicit(&t->buckets[i], memory_order_relaxed);
        while (n != NULL) {
            struct node *next = atomic_load_explicit(&n->next, memory_order_relaxed);
            if (!visit(ctx, base_slice(n->key, n->key_len), n->value))
                return;
            n = next;
        }
    }
}
