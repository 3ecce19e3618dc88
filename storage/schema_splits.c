/*
 * storage/schema_splits.c - the row keys at which a table is split when it is made.
 *
 * Splits are checked as requested. Duplicates are merged only after the splits are sorted in the
 * schema's own memory; the room of a duplicate stays unused.
 */
#include <stdlib.h>

#include "storage/mutation.h"
#include "storage/schema_internal.h"

#include "base/banned.h"

enum err sto_schema_splits_check(const struct slice *splits, size_t count, struct errbuf *eb)
{
    if (count > LIM_SPLITS)
        return base_fail(eb, ERR_TOO_BIG, "a table is made with at most %d splits, not %zu",
                         LIM_SPLITS, count);
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        struct errbuf inner = {{0}};
        enum err rc = sto_row_key_check(NULL, splits[i], &inner);
        if (rc != ERR_OK)
            return base_fail(eb, rc, "split %zu: %s", i + 1, inner.text);
        bytes += splits[i].len;
    }
    if (bytes > LIM_SPLIT_BYTES)
        return base_fail(eb, ERR_TOO_BIG, "the splits have %zu bytes; the limit is %lu", bytes,
                         LIM_SPLIT_BYTES);
    return ERR_OK;
}

void sto_schema_splits_room(const struct slice *splits, size_t count, struct sto_schema_room *room)
{
    room->splits = count;
    for (size_t i = 0; i < count; i++)
        room->split_bytes += splits[i].len;
}

static int compare_keys(const void *a, const void *b)
{
    return base_slice_compare(*(const struct slice *)a, *(const struct slice *)b);
}

void sto_schema_fill_splits(struct sto_schema_fill *f, const struct slice *splits, size_t count)
{
    INVARIANT(f->schema->split_count == 0);
    struct slice *keys = f->splits;
    for (size_t i = 0; i < count; i++)
        sto_schema_fill_split(f, splits[i]);
    if (count < 2)
        return;
    qsort(keys, count, sizeof keys[0], compare_keys);
    size_t kept = 1;
    for (size_t i = 1; i < count; i++)
        if (!base_slice_equal(keys[i], keys[kept - 1]))
            keys[kept++] = keys[i];
    f->schema->split_count = kept;
}
