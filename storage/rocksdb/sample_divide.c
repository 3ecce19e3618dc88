/*
 * storage/rocksdb/sample_divide.c - divides a table at its splits, and each part at the middle of
 * its key space, again and again, until it is small enough by the sizes of files.
 *
 * 1. File sizes are compressed and rounded to blocks: they are scaled to the table's counters.
 * 2. Key space is rarely filled evenly: while a cut leaves nearly everything on one side, the next
 *    cut is searched there, between rows that exist, so that their common prefix costs no attempt.
 *    At most CUT_TRIES times.
 * 3. Offsets are sums of parts in the order of keys, so they never fall.
 */
#include "storage/rocksdb/sample_work.h"

#include "base/banned.h"

#define CUT_TRIES  16
#define CUT_BYTES  8 /* bytes of a key after the common prefix of both ends */
#define MIDDLE_MAX (STO_KEY_ROW_MAX + CUT_BYTES)

static enum err size_between(struct sample_work *w, struct slice from, struct slice to,
                             uint64_t *out)
{
    const char *starts[] = {(const char *)from.ptr};
    const char *ends[] = {(const char *)to.ptr};
    char *error = NULL;
    sto_rdb_sample_count_steps(w);
    rocksdb_approximate_sizes_cf(w->engine->db.handle, w->engine->db.cells, 1, starts, &from.len,
                                 ends, &to.len, out, &error);
    return error == NULL ? ERR_OK
                         : base_fail(&w->op->detail, sto_rdb_read_failed(w->engine, error),
                                     "the table's size cannot be read");
}

static uint64_t scaled(const struct sample_work *w, uint64_t file_bytes)
{
    return (uint64_t)((double)file_bytes / (double)w->file_bytes * (double)w->usage.bytes);
}

/* Returns the bytes of key after the first `shared` ones, as a number. */
static uint64_t number_behind(struct slice key, size_t shared)
{
    uint8_t bytes[CUT_BYTES] = {0};
    size_t n = key.len > shared ? key.len - shared : 0;
    if (n > 0)
        memcpy(bytes, key.ptr + shared, n < CUT_BYTES ? n : CUT_BYTES);
    return sto_get_be64(bytes);
}

/* Computes the key halfway between two keys in the order of bytes. Returns its length; 0: none
 * between. */
static size_t halfway(struct slice low, struct slice high, uint8_t out[MIDDLE_MAX])
{
    size_t shared = 0;
    while (shared < low.len && shared < high.len && low.ptr[shared] == high.ptr[shared])
        shared++;
    uint64_t a = number_behind(low, shared);
    uint64_t b = number_behind(high, shared);
    if (b <= a || b - a < 2 || shared > MIDDLE_MAX - CUT_BYTES)
        return 0;
    memcpy(out, low.ptr, shared);
    sto_put_be64(out + shared, a + (b - a) / 2);
    return shared + CUT_BYTES;
}

/* A place where a part can be cut. */
struct cut {
    uint8_t row[STO_KEY_ROW_MAX]; /* prefix of the row after the cut */
    size_t row_len;               /* 0: no place */
    uint64_t left;                /* bytes before it */
};

/* The range in which a better cut may be. */
struct search {
    uint8_t low[MIDDLE_MAX];
    uint8_t high[MIDDLE_MAX];
    uint8_t middle[MIDDLE_MAX];
    size_t low_len;
    size_t high_len;
    size_t middle_len;
};

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* Keeps the better cut. A cut must leave bytes on both sides. */
static void cut_keep_better(struct cut *best, const struct sample_part *part, struct slice row,
                            uint64_t left)
{
    uint64_t half = part->bytes / 2;
    if (left == 0 || left >= part->bytes ||
        (best->row_len != 0 && distance(left, half) >= distance(best->left, half)))
        return;
    memcpy(best->row, row.ptr, row.len);
    best->row_len = row.len;
    best->left = left;
}

/* Continues before the middle, up to the last row there; *out_more false: there is none. */
static enum err search_left(struct sample_work *w, struct search *s, bool *out_more)
{
    enum err rc = sto_rdb_sample_seek_back(w, base_slice(s->middle, s->middle_len));
    if (rc != ERR_OK)
        return rc;
    struct slice row = rocksdb_iter_valid(w->it) ? sto_rdb_sample_row_now(w) : SLICE_EMPTY;
    *out_more = row.len != 0 && base_slice_compare(row, base_slice(s->low, s->low_len)) > 0;
    if (*out_more)
        memcpy(s->high, row.ptr, s->high_len = row.len);
    return row.len != 0 ? ERR_OK : sto_rdb_sample_iterator_error(w);
}

/* Continues after the middle, starting at the first row there. */
static void search_right(struct search *s, struct slice row)
{
    bool is_ahead = base_slice_compare(row, base_slice(s->low, s->low_len)) > 0;
    struct slice from = is_ahead ? row : base_slice(s->middle, s->middle_len);
    memcpy(s->low, from.ptr, s->low_len = from.len);
}

/* Finds the row that divides the part best, among those that were tried. */
static enum err cut_find(struct sample_work *w, const struct sample_part *part, struct cut *best)
{
    struct search s = {.low_len = part->low.len, .high_len = part->high.len};
    memcpy(s.low, part->low.ptr, part->low.len);
    memcpy(s.high, part->high.ptr, part->high.len);
    best->row_len = 0;
    bool more = true;
    for (int i = 0; more && i < CUT_TRIES; i++) {
        s.middle_len =
            halfway(base_slice(s.low, s.low_len), base_slice(s.high, s.high_len), s.middle);
        if (s.middle_len == 0)
            return ERR_OK;
        enum err rc = sto_rdb_sample_seek(w, base_slice(s.middle, s.middle_len));
        if (rc != ERR_OK)
            return rc;
        struct slice row = rocksdb_iter_valid(w->it) ? sto_rdb_sample_row_now(w) : SLICE_EMPTY;
        uint64_t left = part->bytes;
        rc = row.len == 0 ? sto_rdb_sample_iterator_error(w) : ERR_OK;
        bool is_inside = row.len != 0 && base_slice_compare(row, part->low) > 0 &&
                         base_slice_compare(row, part->high) < 0;
        if (rc == ERR_OK && is_inside)
            rc = size_between(w, part->low, row, &left);
        if (rc != ERR_OK)
            return rc;
        if (is_inside)
            cut_keep_better(best, part, row, left);
        if (distance(left, part->bytes / 2) < part->bytes / 8 * 3)
            return ERR_OK;
        if (left > part->bytes / 2)
            rc = search_left(w, &s, &more);
        else
            search_right(&s, row);
        if (rc != ERR_OK)
            return rc;
    }
    return ERR_OK;
}

enum err sto_rdb_table_measure(struct sample_work *w)
{
    return size_between(w, base_slice(w->bounds.lower, w->bounds.lower_len),
                        base_slice(w->bounds.upper, w->bounds.upper_len), &w->file_bytes);
}

void sto_rdb_divide_begin(struct sample_work *w)
{
    w->split_next = w->split_from;
    w->part_offset = 0;
    w->parts_open = 0;
}

/* Opens the part between two splits of the range, or between one and the range's bounds. */
static enum err part_open(struct sample_work *w)
{
    size_t i = w->split_next;
    struct sample_part *part = &w->parts[w->parts_open++];
    *part = (struct sample_part){
        .low =
            i > w->split_from ? w->splits[i - 1] : base_slice(w->bounds.lower, w->bounds.lower_len),
        .high = i < w->split_to ? w->splits[i] : base_slice(w->bounds.upper, w->bounds.upper_len)};
    return size_between(w, part->low, part->high, &part->bytes);
}

/* Emits the leftmost part, which is small enough. */
static enum err part_done(struct sample_work *w, const struct sample_part *part, bool *out_done)
{
    w->part_offset += part->bytes;
    uint64_t offset = w->offset + scaled(w, w->part_offset);
    if (w->parts_open > 0)
        return sto_rdb_sample_found(w, part->high, offset);
    *out_done = w->split_next == w->split_to;
    if (!*out_done)
        return sto_rdb_sample_add(w, w->splits[w->split_next++], offset);
    w->offset = offset;
    return ERR_OK;
}

enum err sto_rdb_divide_step(struct sample_work *w, bool *out_done)
{
    if (w->parts_open == 0)
        return part_open(w);
    struct sample_part part = w->parts[--w->parts_open];
    struct cut cut = {.row_len = 0};
    enum err rc = ERR_OK;
    if (w->parts_open + 2 <= SAMPLE_PARTS_OPEN_MAX &&
        scaled(w, part.bytes) > w->between + w->between / 2)
        rc = cut_find(w, &part, &cut);
    if (rc != ERR_OK)
        return rc;
    if (cut.row_len == 0)
        return part_done(w, &part, out_done);
    struct slice at = base_arena_copy(&w->arena, base_slice(cut.row, cut.row_len));
    if (at.ptr == NULL)
        return sto_rdb_sample_no_memory(w);
    w->parts[w->parts_open++] = (struct sample_part){at, part.high, part.bytes - cut.left};
    w->parts[w->parts_open++] = (struct sample_part){part.low, at, cut.left};
    return ERR_OK;
}
