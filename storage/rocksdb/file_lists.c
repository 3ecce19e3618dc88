/*
 * storage/rocksdb/file_lists.c - an array sorted by number: files of earlier versions become fewer.
 */
#include "storage/rocksdb/file_lists.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

#include "base/banned.h"

#define COUNT_FIRST 64
#define NAME_BYTES  32

void sto_rdb_file_lists_init(struct rdb_file_lists *l)
{
    (void)pthread_mutex_init(&l->lock, NULL); /* default attributes: cannot fail */
}

void sto_rdb_file_lists_fini(struct rdb_file_lists *l)
{
    for (size_t i = 0; i < l->count; i++)
        base_free(l->of[i].bytes);
    base_free(l->of);
    (void)pthread_mutex_destroy(&l->lock); /* no thread holds it */
}

/* Returns the index of the first list that is not below the number. Locked. */
static size_t place_of(const struct rdb_file_lists *l, uint64_t number)
{
    size_t low = 0;
    size_t high = l->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (l->of[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void list_insert(struct rdb_file_lists *l, size_t at, uint64_t number, struct slice list)
{
    if (l->count == l->capacity) {
        l->capacity = l->capacity == 0 ? COUNT_FIRST : 2 * l->capacity;
        struct rdb_file_list *of = base_new_array(l->capacity, sizeof of[0]);
        if (l->count > 0)
            memcpy(of, l->of, l->count * sizeof of[0]);
        base_free(l->of);
        l->of = of;
    }
    memmove(&l->of[at + 1], &l->of[at], (l->count - at) * sizeof l->of[0]);
    l->of[at] =
        (struct rdb_file_list){.number = number, .len = list.len, .bytes = base_new(list.len + 1)};
    memcpy(l->of[at].bytes, list.ptr, list.len);
    l->count++;
    l->bytes += list.len;
}

void sto_rdb_file_lists_set(struct rdb_file_lists *l, uint64_t number, struct slice list)
{
    pthread_mutex_lock(&l->lock);
    size_t at = place_of(l, number);
    bool is_there = at < l->count && l->of[at].number == number;
    if (!is_there && list.len <= RDB_FILE_LISTS_BYTES - l->bytes)
        list_insert(l, at, number, list);
    pthread_mutex_unlock(&l->lock);
}

bool sto_rdb_file_lists_find(struct rdb_file_lists *l, uint64_t number, struct buf *out)
{
    pthread_mutex_lock(&l->lock);
    size_t at = place_of(l, number);
    bool is_there = at < l->count && l->of[at].number == number &&
                    base_buf_append(out, base_slice(l->of[at].bytes, l->of[at].len)) == ERR_OK;
    pthread_mutex_unlock(&l->lock);
    return is_there;
}

void sto_rdb_file_lists_keep(struct rdb_file_lists *l, const struct rdb_live_files *live)
{
    size_t kept = 0;
    pthread_mutex_lock(&l->lock);
    for (size_t i = 0; i < l->count; i++) {
        struct rdb_file_list f = l->of[i];
        char name[NAME_BYTES];
        (void)snprintf(name, sizeof name, "%06llu.sst", (unsigned long long)f.number); /* fits */
        if (sto_rdb_live_files_find(live, name) >= 0) {
            l->of[kept++] = f;
            continue;
        }
        l->bytes -= f.len;
        base_free(f.bytes);
    }
    l->count = kept;
    pthread_mutex_unlock(&l->lock);
}
