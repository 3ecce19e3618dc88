/*
 * storage/rocksdb/watch.c - a list that is nearly always empty.
 *
 * 1. An entry of the overlay that is not live was only read, or undone.
 */
#include "storage/rocksdb/watch.h"

#include "base/banned.h"

void sto_rdb_watch_begin(struct rdb_watch **list, struct rdb_watch *w, struct sto_span span)
{
    w->span = span;
    w->lowest_len = 0;
    w->next = *list;
    *list = w;
}

void sto_rdb_watch_end(struct rdb_watch **list, struct rdb_watch *w)
{
    while (*list != w) {
        INVARIANT(*list != NULL); /* in the list from begin to end */
        list = &(*list)->next;
    }
    *list = w->next;
}

static void see(struct rdb_watch *w, struct slice key)
{
    if (w->lowest_len > 0 && base_slice_compare(base_slice(w->lowest, w->lowest_len), key) <= 0)
        return;
    memcpy(w->lowest, key.ptr, key.len);
    w->lowest_len = key.len;
}

void sto_rdb_watches_see_batch(struct rdb_watch *list, struct rdb_overlay *o)
{
    for (struct rdb_watch *w = list; w != NULL; w = w->next) {
        const struct rdb_entry *e = sto_rdb_overlay_seek(o, w->span.begin);
        while (e != NULL && !e->now.live)
            e = e->next[0];
        if (e != NULL && base_slice_compare(e->key, w->span.end) < 0)
            see(w, e->key);
    }
}

void sto_rdb_watches_see_span(struct rdb_watch *list, struct sto_span span)
{
    for (struct rdb_watch *w = list; w != NULL; w = w->next) {
        bool is_inside = base_slice_compare(span.begin, w->span.begin) > 0;
        if (base_slice_compare(span.begin, w->span.end) < 0 &&
            base_slice_compare(w->span.begin, span.end) < 0)
            see(w, is_inside ? span.begin : w->span.begin);
    }
}

bool sto_rdb_watch_saw(const struct rdb_watch *w, struct slice end)
{
    return w->lowest_len > 0 && base_slice_compare(base_slice(w->lowest, w->lowest_len), end) < 0;
}
