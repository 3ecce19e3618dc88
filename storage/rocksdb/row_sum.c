/*
 * storage/rocksdb/row_sum.c - a row is open from its header to the next row's.
 */
#include "storage/rocksdb/row_sum.h"

#include <inttypes.h>

#include "base/banned.h"

enum err sto_rdb_row_sum_close(struct rdb_row_sum *s, struct errbuf *eb)
{
    if (s->row_len == 0)
        return ERR_OK;
    s->row_len = 0;
    if (s->seen.cells == s->head.cells && s->seen.bytes == s->head.bytes)
        return ERR_OK;
    return base_fail(eb, ERR_CORRUPT,
                     "a row's header says %" PRIu64 " cells and %" PRIu64 " bytes, but %" PRIu64
                     " and %" PRIu64 " are there",
                     s->head.cells, s->head.bytes, s->seen.cells, s->seen.bytes);
}

static enum err row_open(struct rdb_row_sum *s, const struct sto_key *key, struct slice value,
                         struct errbuf *eb)
{
    enum err rc = sto_rdb_row_sum_close(s, eb);
    if (rc != ERR_OK)
        return rc;
    if (sto_row_head_decode(value, &s->head) != ERR_OK)
        return base_fail(eb, ERR_CORRUPT, "a row's header is damaged");
    memcpy(s->row, key->row_prefix.ptr, key->row_prefix.len);
    s->row_len = key->row_prefix.len;
    s->row_key_len = sto_key_unescaped_len(key->row_escaped);
    s->seen = (struct sto_row_head){0};
    s->usage.rows++;
    return ERR_OK;
}

enum err sto_rdb_row_sum_add(struct rdb_row_sum *s, struct slice stored_key, struct slice value,
                             struct errbuf *eb)
{
    struct sto_key key;
    struct sto_stored_cell cell;
    if (sto_key_decode(stored_key, &key) != ERR_OK)
        return base_fail(eb, ERR_CORRUPT, "a stored key is damaged");
    if (key.family == 0)
        return row_open(s, &key, value, eb);
    if (s->row_len == 0 || !base_slice_equal(key.row_prefix, base_slice(s->row, s->row_len)))
        return base_fail(eb, ERR_CORRUPT, "a cell stands outside any row");
    if (sto_cell_decode(value, &cell) != ERR_OK)
        return base_fail(eb, ERR_CORRUPT, "a stored cell is damaged");
    uint64_t bytes = sto_cell_bytes(s->row_key_len, cell.family_name_len,
                                    sto_key_unescaped_len(key.qualifier_escaped), cell.bytes.len);
    s->seen.cells++;
    s->seen.bytes += bytes;
    s->usage.cells++;
    s->usage.bytes += bytes;
    return ERR_OK;
}
