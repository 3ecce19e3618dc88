/*
 * storage/rocksdb/overlay.c - a skip list in an arena, and a chain of old states.
 *
 * 1. Entries are never unlinked; undo makes a new one not live.
 * 2. A value created by the operation in progress may be changed in place: undo goes back to states
 *    from before the operation, and those have other memory.
 * 3. Level n holds every fourth entry of level n-1, by a random sequence that is the same for every
 *    batch.
 * 4. links[] point to the entry touched last or, at levels that it does not reach, to the first one
 *    after it: the cells of a row are touched one after the other, and after the header.
 */
#include "storage/rocksdb/overlay.h"

#include "base/banned.h"

/* Spare memory after a value that grows: half of its size, up to this. */
#define OWN_SPARE_MAX (4 * MIB)

struct rdb_undo {
    struct rdb_undo *before;
    struct rdb_entry *entry;
    bool was_live;
    struct rdb_change old[]; /* only if it was live */
};

void sto_rdb_overlay_init(struct rdb_overlay *o)
{
    memset(o, 0, sizeof(*o));
    base_arena_init(&o->arena, RDB_OVERLAY_MAX);
    o->dice = 0x9e3779b97f4a7c15u;
}

void sto_rdb_overlay_fini(struct rdb_overlay *o)
{
    base_arena_fini(&o->arena);
}

/* Finds the first entry at or after key, and the links to it, one per level. */
static struct rdb_entry *descend(struct rdb_overlay *o, struct slice key,
                                 struct rdb_entry **links[RDB_OVERLAY_LEVELS])
{
    struct rdb_entry *from = NULL;
    struct rdb_entry *at = NULL;
    struct rdb_entry *known_behind = NULL; /* already compared one level above */
    for (int level = RDB_OVERLAY_LEVELS - 1; level >= 0; level--) {
        struct rdb_entry **link = from != NULL ? &from->next[level] : &o->first[level];
        at = *link;
        while (at != NULL && at != known_behind && base_slice_compare(at->key, key) < 0) {
            from = at;
            link = &at->next[level];
            at = *link;
        }
        known_behind = at;
        if (links != NULL)
            links[level] = link;
    }
    return at;
}

struct rdb_entry *sto_rdb_overlay_seek(struct rdb_overlay *o, struct slice key)
{
    return descend(o, key, NULL);
}

bool sto_rdb_overlay_has(struct rdb_overlay *o, struct slice prefix)
{
    const struct rdb_entry *e = sto_rdb_overlay_seek(o, prefix);
    while (e != NULL && !e->now.live && base_slice_starts_with(e->key, prefix))
        e = e->next[0]; /* was only read, or undone */
    return e != NULL && base_slice_starts_with(e->key, prefix);
}

static int roll_levels(struct rdb_overlay *o)
{
    o->dice ^= o->dice << 13;
    o->dice ^= o->dice >> 7;
    o->dice ^= o->dice << 17;
    int levels = 1;
    for (uint64_t bits = o->dice; levels < RDB_OVERLAY_LEVELS && (bits & 3) == 0; bits >>= 2)
        levels++;
    return levels;
}

/* Finds the first entry at or after key, and o->links to it; fast if key is right after the last
 * one. */
static struct rdb_entry *approach(struct rdb_overlay *o, struct slice key)
{
    struct rdb_entry *last = o->touched;
    int order = last == NULL ? 1 : base_slice_compare(last->key, key);
    if (order == 0)
        return last;
    if (order > 0)
        return descend(o, key, o->links);
    struct rdb_entry *behind = last->next[0];
    if (behind != NULL && base_slice_compare(behind->key, key) < 0)
        return descend(o, key, o->links);
    for (int level = 0; level < RDB_OVERLAY_LEVELS && *o->links[level] == last; level++)
        o->links[level] = &last->next[level];
    return behind;
}

struct rdb_entry *sto_rdb_overlay_touch(struct rdb_overlay *o, struct slice key)
{
    struct rdb_entry *entry = approach(o, key);
    o->touched = entry != NULL && base_slice_equal(entry->key, key) ? entry : NULL;
    if (o->touched != NULL)
        return entry;
    size_t levels = (size_t)roll_levels(o);
    entry = base_arena_alloc(&o->arena, sizeof(*entry) + levels * sizeof(entry->next[0]) + key.len);
    if (entry == NULL)
        return NULL;
    memset(entry, 0, sizeof(*entry));
    uint8_t *key_bytes = (uint8_t *)&entry->next[levels];
    memcpy(key_bytes, key.ptr, key.len);
    entry->key = base_slice(key_bytes, key.len);
    for (size_t i = 0; i < levels; i++) {
        entry->next[i] = *o->links[i];
        *o->links[i] = entry;
    }
    o->touched = entry;
    return entry;
}

bool sto_rdb_overlay_change(struct rdb_overlay *o, struct rdb_entry *entry,
                            const struct rdb_change *change)
{
    bool was_live = entry->now.live;
    struct rdb_undo *undo =
        base_arena_alloc(&o->arena, sizeof(*undo) + (was_live ? sizeof(undo->old[0]) : 0));
    if (undo == NULL)
        return false;
    undo->before = o->undo;
    undo->entry = entry;
    undo->was_live = was_live;
    if (was_live)
        undo->old[0] = entry->now;
    o->undo = undo;
    entry->now = *change;
    return true;
}

bool sto_rdb_overlay_own(struct rdb_overlay *o, const struct rdb_entry *entry, size_t len,
                         struct rdb_change *change)
{
    const struct rdb_change *now = &entry->now;
    bool again = now->own != NULL && now->made_by == o->operation;
    INVARIANT(len <= UINT32_MAX / 2);
    change->made_by = o->operation;
    if (again && len <= now->own_room) {
        change->own = now->own;
        change->own_room = now->own_room;
    } else {
        size_t spare = !again ? 0 : len / 2 < OWN_SPARE_MAX ? len / 2 : OWN_SPARE_MAX;
        change->own = base_arena_alloc(&o->arena, len + spare + 1);
        change->own_room = (uint32_t)(len + spare);
    }
    change->value = base_slice(change->own, len);
    return change->own != NULL;
}

struct rdb_undo *sto_rdb_overlay_mark(struct rdb_overlay *o)
{
    o->operation++;
    return o->undo;
}

void sto_rdb_overlay_undo(struct rdb_overlay *o, struct rdb_undo *mark)
{
    while (o->undo != mark) {
        INVARIANT(o->undo != NULL);
        o->undo->entry->now = o->undo->was_live ? o->undo->old[0] : (struct rdb_change){0};
        o->undo = o->undo->before;
    }
}
