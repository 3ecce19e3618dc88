/*
 * cli/move_cell.c - a key and a value as a cell; see move_map.h.
 *
 * A key is cut at the first separators, as many as there are parts less one, and the row comes
 * first: keys of one row begin alike up to the separator behind it, and stand together. Numbers
 * have one way to be written. So a cell's name says which key it was.
 */
#define _GNU_SOURCE
#include "base/text.h"
#include "cli/move_map.h"

#include "base/banned.h"

#define TIMESTAMP_STEP 1000

/* The key's parts, in their order; false: it has too few separators. */
static bool cut(const struct cli_move_source *s, struct slice key,
                struct slice parts[CLI_MOVE_PARTS])
{
    for (size_t i = 0; i + 1 < s->part_count; i++) {
        const uint8_t *at =
            key.len > 0 ? memmem(key.ptr, key.len, s->separator.ptr, s->separator.len) : NULL;
        if (at == NULL)
            return false;
        size_t len = (size_t)(at - key.ptr);
        parts[s->parts[i]] = base_slice(key.ptr, len);
        key = base_slice_skip(key, len + s->separator.len);
    }
    parts[s->parts[s->part_count - 1]] = key;
    return true;
}

static bool read_time(const struct cli_move_source *s, struct slice text, int64_t *out)
{
    uint64_t number = 0;
    int64_t us = 0;
    if (base_parse_u64(text, &number) != ERR_OK || number > INT64_MAX ||
        __builtin_mul_overflow((int64_t)number, s->unit_us, &us) || us % TIMESTAMP_STEP != 0 ||
        us > INT64_MAX - TIMESTAMP_STEP)
        return false;
    *out = us;
    return true;
}

const char *cli_move_cell(const struct cli_move_source *s, const struct cli_move_limits *limits,
                          int64_t now_us, struct slice key, struct slice value, struct buf *row,
                          struct cli_cell *out)
{
    struct slice parts[CLI_MOVE_PARTS] = {SLICE_EMPTY, s->qualifier, SLICE_EMPTY};
    if (!cut(s, key, parts))
        return "its key lacks a separator";
    if (s->row_prefix.len + parts[CLI_MOVE_ROW].len == 0)
        return "its row key would be empty";
    if (s->row_prefix.len + parts[CLI_MOVE_ROW].len > limits->row_key_bytes)
        return "its row key would be longer than the tenant's row_key_bytes";
    if (parts[CLI_MOVE_QUALIFIER].len > limits->qualifier_bytes)
        return "its qualifier would be longer than the tenant's qualifier_bytes";
    if (value.len > limits->cell_bytes)
        return "its value is longer than the tenant's cell_bytes";
    out->timestamp_us = s->timestamp_us >= 0 ? s->timestamp_us : now_us;
    if (cli_move_has_part(s, CLI_MOVE_TIMESTAMP) &&
        !read_time(s, parts[CLI_MOVE_TIMESTAMP], &out->timestamp_us))
        return "its key has no timestamp in whole milliseconds where one should be";
    base_buf_truncate(row, 0);
    base_buf_append(row, s->row_prefix);
    base_buf_append(row, parts[CLI_MOVE_ROW]);
    out->key = base_buf_slice(row);
    out->family = base_slice_text(s->family);
    out->qualifier = parts[CLI_MOVE_QUALIFIER];
    out->value = value;
    return NULL;
}
