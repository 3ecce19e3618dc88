/*
 * storage/rocksdb/apply_modify.c - read-modify-write of the newest cell of a column.
 *
 * 1. Only the newest cell can count: where a rule of the family collects it, it collects every
 *    older one as well (storage/gc_rule.h, promise 2).
 * 2. The new cell is not older than any of its column, so afterwards it is the newest, and "the
 *    cells that were changed" are the newest ones of the columns that the rules name.
 */
#include "storage/rocksdb/apply_row.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/banned.h"

#define INTEGER_BYTES 8

struct newest {
    bool there;
    int64_t timestamp_us;
    struct slice value; /* until the cursor moves */
    bool is_stored;     /* the cursor is on it; also set for a cell that a rule hides */
};

/* Finds the newest visible cell of a column. Leaves the column's prefix in r->key. */
static enum err find_newest(struct rdb_row *r, const struct sto_family *family,
                            struct slice qualifier, size_t *out_column_len, struct newest *out)
{
    size_t n = sto_key_column(r->key, r->row_len, family->number, qualifier);
    struct slice column = base_slice(r->key, n);
    *out_column_len = n;
    *out = (struct newest){0};
    enum err rc = sto_rdb_row_seek(r, column);
    if (rc != ERR_OK || r->cursor.at_end || !base_slice_starts_with(r->cursor.key, column))
        return rc;
    struct sto_key parts;
    if (sto_key_decode(r->cursor.key, &parts) != ERR_OK)
        return ERR_CORRUPT;
    out->there = !sto_gc_collects(&family->gc, 0, parts.timestamp_us, r->server_us);
    out->timestamp_us = parts.timestamp_us;
    out->value = r->cursor.value;
    out->is_stored = true;
    return ERR_OK;
}

/* Adds to the cell's number. Wraps around beyond 64 bits, as Bigtable does. */
static enum err increment(const struct newest *newest, int64_t by, uint8_t out[INTEGER_BYTES],
                          struct errbuf *eb)
{
    uint64_t value = 0;
    if (newest->there && newest->value.len != INTEGER_BYTES)
        return base_fail(eb, ERR_CONFLICT,
                         "increment adds to a number of %d bytes, and the cell has %zu; digits are "
                         "text: a family of type int64 takes numbers",
                         INTEGER_BYTES, newest->value.len);
    if (newest->there)
        value = sto_get_be64(newest->value.ptr);
    sto_put_be64(out, value + (uint64_t)by);
    return ERR_OK;
}

struct place {
    struct slice key; /* in r->key */
    int64_t timestamp_us;
    bool in_db;    /* the cell may be stored */
    bool replaces; /* the cell under the cursor is the newest version before it */
};

/* Puts head and tail together as that cell. */
static enum err put(struct rdb_row *r, const struct sto_mutation *m,
                    const struct sto_family *family, const struct place *at, struct slice head,
                    struct slice tail)
{
    struct rdb_put put = {
        .family = family, .qualifier_len = m->qualifier.len, .value_len = head.len + tail.len};
    enum err rc = sto_rdb_batch_cell_size(r->batch, at->key, at->in_db, &put.view);
    if (rc == ERR_OK && at->replaces)
        rc = sto_rdb_row_put_older_here(r, &put);
    if (rc == ERR_OK)
        rc = sto_rdb_row_put_count(r, &put);
    if (rc == ERR_OK)
        rc = sto_rdb_batch_put_made(r->batch, &put.view, family->name_len, head, tail);
    if (rc == ERR_OK)
        rc = sto_rdb_row_tell_cell(r, STO_SET_CELL, family, m->qualifier, at->timestamp_us,
                                   put.view.entry->now.value);
    sto_rdb_row_put_release(&put);
    return rc;
}

enum err sto_rdb_row_modify(struct rdb_row *r, const struct sto_mutation *m, struct errbuf *eb)
{
    const struct sto_family *family = sto_schema_family_by_number(r->op->scope.schema, m->family);
    if (family == NULL)
        return ERR_NOT_FOUND;
    if (family->aggregate != STO_AGGREGATE_NONE)
        return ERR_INVALID;
    if (m->qualifier.len > LIM_QUALIFIER || m->value.len > LIM_CELL_BYTES_HARD)
        return ERR_TOO_BIG;
    struct newest newest;
    size_t n = 0;
    enum err rc = find_newest(r, family, m->qualifier, &n, &newest);
    if (rc != ERR_OK)
        return rc;
    uint8_t integer[INTEGER_BYTES];
    struct slice head = newest.value, tail = m->value;
    if (m->kind == STO_INCREMENT) {
        rc = increment(&newest, m->increment, integer, eb);
        head = base_slice(integer, sizeof(integer));
        tail = SLICE_EMPTY;
    } else if (!newest.there) {
        head = SLICE_EMPTY;
    }
    if (rc == ERR_OK)
        rc = sto_account_limit_check(r->op->scope.tenant.account, STO_LIMIT_CELL,
                                     head.len + tail.len, eb);
    if (rc != ERR_OK)
        return rc;
    bool later = !newest.there || newest.timestamp_us < r->server_us;
    int64_t timestamp_us = later ? r->server_us : newest.timestamp_us;
    n = sto_key_version(r->key, n, timestamp_us);
    /* A cell that is newer than the newest one is not in the database. */
    struct place at = {.key = base_slice(r->key, n),
                       .timestamp_us = timestamp_us,
                       .in_db = r->before.in_db && !later,
                       .replaces = later && newest.is_stored};
    return put(r, m, family, &at, head, tail);
}

/* --- changed cells --------------------------------------------------------------------------- */

static int compare_columns(const void *a, const void *b)
{
    const struct sto_cell *x = a, *y = b;
    if (x->family->number != y->family->number)
        return x->family->number < y->family->number ? -1 : 1;
    return base_slice_compare(x->qualifier, y->qualifier);
}

/* Fills cells with the columns that the rules name, in the order of the row, each once. */
static size_t columns_of(const struct rdb_row *r, struct sto_cell *cells)
{
    size_t count = 0, distinct = 0;
    for (size_t i = 0; i < r->op->mutation_count; i++) {
        const struct sto_mutation *m = &r->op->mutations[i];
        const struct sto_family *family =
            sto_schema_family_by_number(r->op->scope.schema, m->family);
        if (family != NULL && (m->kind == STO_APPEND || m->kind == STO_INCREMENT))
            cells[count++] = (struct sto_cell){.family = family, .qualifier = m->qualifier};
    }
    qsort(cells, count, sizeof(cells[0]), compare_columns);
    for (size_t i = 0; i < count; i++)
        if (distinct == 0 || compare_columns(&cells[distinct - 1], &cells[i]) != 0)
            cells[distinct++] = cells[i];
    return distinct;
}

static enum err copy_newest(struct rdb_row *r, struct arena *arena, struct sto_cell *cell,
                            bool *out_there)
{
    struct newest newest;
    size_t n = 0;
    enum err rc = find_newest(r, cell->family, cell->qualifier, &n, &newest);
    *out_there = newest.there;
    if (rc != ERR_OK || !newest.there)
        return rc;
    cell->timestamp_us = newest.timestamp_us;
    cell->qualifier = base_arena_copy(arena, cell->qualifier);
    cell->value = base_arena_copy(arena, newest.value);
    bool copied = (cell->qualifier.len == 0 || cell->qualifier.ptr != NULL) &&
                  (cell->value.len == 0 || cell->value.ptr != NULL);
    return copied ? ERR_OK : ERR_NO_MEMORY;
}

enum err sto_rdb_row_modified(struct rdb_row *r, struct sto_modified *out, struct errbuf *eb)
{
    if (r->op->mutation_count > LIM_MODIFY_RULES)
        return base_fail(eb, ERR_TOO_BIG, "%zu rules; the limit is %d", r->op->mutation_count,
                         LIM_MODIFY_RULES);
    struct sto_cell *cells =
        base_arena_alloc(out->arena, r->op->mutation_count * sizeof(cells[0]) + 1);
    enum err rc = cells == NULL ? ERR_NO_MEMORY : ERR_OK;
    size_t count = rc == ERR_OK ? columns_of(r, cells) : 0, given = 0;
    for (size_t i = 0; rc == ERR_OK && i < count; i++) {
        bool there = false;
        rc = copy_newest(r, out->arena, &cells[i], &there);
        if (there)
            cells[given++] = cells[i];
    }
    if (rc != ERR_OK)
        return base_fail(eb, rc, "the modified cells cannot be given back: %s", base_err_name(rc));
    out->cells = cells;
    out->count = given;
    return ERR_OK;
}
