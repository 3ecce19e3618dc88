/*
 * cli/move_cell.c - converts a key and a value, or a foreign cell, to a cell; see move_map.h.
 *
 * A key is split at its first separators, one fewer than its parts, and the row is the first part:
 * keys of one row share the prefix up to the separator after the row, and are adjacent. Numbers
 * have only one valid notation. So a cell's name determines its source key.
 */
#define _GNU_SOURCE
#include "base/text.h"
#include "cli/move_map.h"

#include "base/banned.h"

#define TIMESTAMP_STEP 1000

/* Splits the key into its parts, in order; false: it has too few separators. */
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

/* Sets the cell's row key, row_prefix followed by rest. Returns NULL, or the limit it exceeds. */
static const char *put_row(const struct cli_move_source *s, const struct cli_move_limits *limits,
                           struct slice rest, struct buf *row, struct cli_cell *out)
{
    if (s->row_prefix.len + rest.len == 0)
        return "its row key would be empty";
    if (s->row_prefix.len + rest.len > limits->row_key_bytes)
        return "its row key would be longer than the tenant's row_key_bytes";
    if (out->qualifier.len > limits->qualifier_bytes)
        return "its qualifier would be longer than the tenant's qualifier_bytes";
    if (out->value.len > limits->cell_bytes)
        return "its value is longer than the tenant's cell_bytes";
    base_buf_truncate(row, 0);
    base_buf_append(row, s->row_prefix);
    base_buf_append(row, rest);
    out->key = base_buf_slice(row);
    return NULL;
}

const char *cli_move_cell(const struct cli_move_source *s, const struct cli_move_limits *limits,
                          int64_t now_us, struct slice key, struct slice value, struct buf *row,
                          struct cli_cell *out)
{
    struct slice parts[CLI_MOVE_PARTS] = {SLICE_EMPTY, s->qualifier, SLICE_EMPTY};
    if (!cut(s, key, parts))
        return "its key lacks a separator";
    out->family = base_slice_text(s->family);
    out->qualifier = parts[CLI_MOVE_QUALIFIER];
    out->value = value;
    out->timestamp_us = s->timestamp_us >= 0 ? s->timestamp_us : now_us;
    if (cli_move_has_part(s, CLI_MOVE_TIMESTAMP) &&
        !read_time(s, parts[CLI_MOVE_TIMESTAMP], &out->timestamp_us))
        return "its key has no timestamp in whole milliseconds where one should be";
    return put_row(s, limits, parts[CLI_MOVE_ROW], row, out);
}

struct slice cli_move_family(const struct cli_move_source *s, struct slice foreign)
{
    const char *text = (const char *)foreign.ptr;
    const json_t *name = json_object_getn(s->families, text, foreign.len);
    if (name != NULL)
        return base_slice(json_string_value(name), json_string_length(name));
    return json_object_getn(s->renamed_to, text, foreign.len) != NULL ? SLICE_EMPTY : foreign;
}

const char *cli_move_foreign_cell(const struct cli_move_source *s,
                                  const struct cli_move_limits *limits, const json_t *families,
                                  const struct cli_cell *foreign, struct buf *row,
                                  struct cli_cell *out)
{
    *out = *foreign;
    out->family = cli_move_family(s, foreign->family);
    if (out->family.len == 0)
        return "another family is renamed to its family's name";
    if (json_object_getn(families, (const char *)out->family.ptr, out->family.len) == NULL)
        return "the table here does not have its family";
    if (foreign->timestamp_us < 0 || foreign->timestamp_us % TIMESTAMP_STEP != 0 ||
        foreign->timestamp_us > INT64_MAX - TIMESTAMP_STEP)
        return "its timestamp is not in whole milliseconds since 1970";
    return put_row(s, limits, base_slice_skip(foreign->key, s->strip_prefix.len), row, out);
}
