/*
 * storage/rocksdb/live_files.c - names point into RocksDB's list.
 */
#include "storage/rocksdb/live_files.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

#include "base/banned.h"

static int compare(const void *a, const void *b)
{
    const struct rdb_live_name *left = a;
    const struct rdb_live_name *right = b;
    return strcmp(left->name, right->name);
}

/* Returns an entry of the list; the only code that reads it by index. */
static struct rdb_live_file file_at(const rocksdb_livefiles_t *list, int index)
{
    const char *name = rocksdb_livefiles_name(list, index); /* "/000012.sst" */
    struct rdb_live_file f = {.family = rocksdb_livefiles_column_family_name(list, index),
                              .name = name + (name[0] == '/'),
                              .number = sto_rdb_file_number(name),
                              .level = rocksdb_livefiles_level(list, index),
                              .bytes = rocksdb_livefiles_size(list, index)};
    f.low.ptr = (const uint8_t *)rocksdb_livefiles_smallestkey(list, index, &f.low.len);
    f.high.ptr = (const uint8_t *)rocksdb_livefiles_largestkey(list, index, &f.high.len);
    return f;
}

void sto_rdb_live_files_open(rocksdb_t *db, struct rdb_live_files *out)
{
    out->list = rocksdb_livefiles(db);
    out->count = (size_t)rocksdb_livefiles_count(out->list);
    out->names = base_new_array(out->count + 1, sizeof out->names[0]);
    for (size_t i = 0; i < out->count; i++)
        out->names[i] =
            (struct rdb_live_name){.name = file_at(out->list, (int)i).name, .index = (int)i};
    qsort(out->names, out->count, sizeof out->names[0], compare);
}

int sto_rdb_live_files_find(const struct rdb_live_files *files, const char *name)
{
    const struct rdb_live_name wanted = {.name = name};
    const struct rdb_live_name *found =
        bsearch(&wanted, files->names, files->count, sizeof files->names[0], compare);
    return found != NULL ? found->index : -1;
}

void sto_rdb_live_files_get(const struct rdb_live_files *files, int index,
                            struct rdb_live_file *out)
{
    INVARIANT(index >= 0 && (size_t)index < files->count);
    *out = file_at(files->list, index);
}

void sto_rdb_live_files_close(struct rdb_live_files *files)
{
    base_free(files->names);
    rocksdb_livefiles_destroy(files->list);
}

void sto_rdb_live_walk_open(struct rdb_live_walk *w, rocksdb_t *db, const char *family)
{
    *w = (struct rdb_live_walk){.list = rocksdb_livefiles(db), .family = family};
}

bool sto_rdb_live_walk_next(struct rdb_live_walk *w, struct rdb_live_file *out)
{
    for (; w->index < rocksdb_livefiles_count(w->list); w->index++) {
        struct rdb_live_file f = file_at(w->list, w->index);
        if (w->family != NULL && strcmp(f.family, w->family) != 0)
            continue;
        *out = f;
        w->index++;
        return true;
    }
    return false;
}

void sto_rdb_live_walk_close(struct rdb_live_walk *w)
{
    rocksdb_livefiles_destroy(w->list);
}

uint64_t sto_rdb_file_number(const char *name)
{
    uint64_t number = 0;
    name += name[0] == '/';
    size_t zeros = strspn(name, "0");
    size_t digits = strspn(name, "0123456789");
    struct slice text = base_slice(name + zeros, digits - zeros);
    return text.len > 0 && base_parse_u64(text, &number) == ERR_OK ? number : 0;
}
