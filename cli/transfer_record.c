/*
 * cli/transfer_record.c - see transfer_record.h; docs/export-format.md is the contract.
 *
 * NDJSON: {"key":..,"family":..,"qualifier":..,"timestamp":"..","value":..}, members in any order
 * when reading. CSV: RFC 4180 with the same columns and "b64", which names those in base64.
 */
#include "cli/transfer_record.h"

#include "base/text.h"
#include "cli/json_pull.h"

#include "base/banned.h"

enum { KEY, FAMILY, QUALIFIER, TIMESTAMP, VALUE, B64, COLUMNS };

static const char *const NAMES[] = {"key", "family", "qualifier", "timestamp", "value"};
#define CSV_HEAD "key,family,qualifier,timestamp,value,b64"

const char *cli_encoding_name(enum cli_encoding encoding)
{
    return encoding == CLI_CSV ? "csv" : "ndjson";
}

struct slice cli_record_head(enum cli_encoding encoding)
{
    return encoding == CLI_CSV ? SLICE_LIT(CSV_HEAD "\n") : SLICE_EMPTY;
}

static bool is_text(struct slice s)
{
    return (s.len == 0 || memchr(s.ptr, '\0', s.len) == NULL) && base_utf8_is_valid(s);
}

/* --- writing ----------------------------------------------------------------------------------
 */

static void put_json_bytes(struct buf *out, const char *lead, struct slice bytes)
{
    base_buf_append_text(out, lead);
    if (is_text(bytes)) {
        base_buf_append_text(out, "\":");
        cli_json_put_text(out, bytes);
        return;
    }
    base_buf_append_text(out, "_b64\":\"");
    base_base64_encode(bytes, out);
    base_buf_append_byte(out, '"');
}

static void put_ndjson(struct buf *out, const struct cli_cell *cell)
{
    put_json_bytes(out, "{\"key", cell->key);
    put_json_bytes(out, ",\"family", cell->family);
    put_json_bytes(out, ",\"qualifier", cell->qualifier);
    base_buf_append_text(out, ",\"timestamp\":\"");
    base_buf_append_i64(out, cell->timestamp_us);
    base_buf_append_byte(out, '"');
    put_json_bytes(out, ",\"value", cell->value);
    base_buf_append_text(out, "}\n");
}

static void put_csv_bytes(struct buf *out, struct slice bytes)
{
    base_buf_append_byte(out, '"');
    if (!is_text(bytes)) {
        base_base64_encode(bytes, out);
    } else {
        while (bytes.len > 0) {
            const uint8_t *quote = memchr(bytes.ptr, '"', bytes.len);
            size_t len = quote != NULL ? (size_t)(quote - bytes.ptr) + 1 : bytes.len;
            base_buf_append(out, base_slice(bytes.ptr, len));
            if (quote != NULL)
                base_buf_append_byte(out, '"');
            bytes = base_slice_skip(bytes, len);
        }
    }
    base_buf_append_byte(out, '"');
}

static void put_csv(struct buf *out, const struct cli_cell *cell)
{
    put_csv_bytes(out, cell->key);
    base_buf_append_byte(out, ',');
    base_buf_append(out, cell->family); /* the server's names need no quotes */
    base_buf_append_byte(out, ',');
    put_csv_bytes(out, cell->qualifier);
    base_buf_append_byte(out, ',');
    base_buf_append_i64(out, cell->timestamp_us);
    base_buf_append_byte(out, ',');
    put_csv_bytes(out, cell->value);
    base_buf_append_byte(out, ',');
    base_buf_append_text(out, is_text(cell->key) ? "" : "k");
    base_buf_append_text(out, is_text(cell->qualifier) ? "" : "q");
    base_buf_append_text(out, is_text(cell->value) ? "\n" : "v\n");
}

void cli_record_put(struct buf *out, enum cli_encoding encoding, const struct cli_cell *cell)
{
    if (encoding == CLI_CSV)
        put_csv(out, cell);
    else
        put_ndjson(out, cell);
}

/* --- the end of a record ------------------------------------------------------------------------
 */

/* Finds the next quote or line feed in one pass; two searches would rescan a
 * text full of quotes. */
static const uint8_t *quote_or_feed(const uint8_t *at, size_t len)
{
    for (const uint8_t *end = at + len; at < end; at++)
        if (*at == '"' || *at == '\n')
            return at;
    return NULL;
}

bool cli_record_end(enum cli_encoding encoding, struct slice bytes, struct cli_record_scan *scan,
                    size_t *out_len)
{
    while (scan->seen < bytes.len) {
        const uint8_t *from = bytes.ptr + scan->seen;
        size_t left = bytes.len - scan->seen;
        const uint8_t *at = NULL;
        if (encoding == CLI_CSV && !scan->quoted)
            at = quote_or_feed(from, left);
        else
            at = memchr(from, scan->quoted ? '"' : '\n', left);
        if (at == NULL) {
            scan->seen = bytes.len;
            return false;
        }
        scan->seen += (size_t)(at - from) + 1;
        if (!scan->quoted && *at == '\n') {
            *out_len = scan->seen - 1;
            return true;
        }
        scan->quoted = !scan->quoted;
    }
    return false;
}

/* --- reading ----------------------------------------------------------------------------------
 */

static struct slice *text_of(struct cli_cell *cell, size_t column)
{
    struct slice *const texts[] = {[KEY] = &cell->key,
                                   [FAMILY] = &cell->family,
                                   [QUALIFIER] = &cell->qualifier,
                                   [TIMESTAMP] = NULL,
                                   [VALUE] = &cell->value};
    return texts[column];
}

static bool check(const struct cli_cell *cell, const char **why)
{
    if (cell->key.len == 0 || cell->key.len > LIM_ROW_KEY)
        *why = "the key must have 1 to 4096 bytes";
    else if (cell->family.len == 0 || cell->family.len > LIM_FAMILY_NAME || !is_text(cell->family))
        *why = "the family must have 1 to 64 bytes of text";
    else if (cell->qualifier.len > LIM_QUALIFIER)
        *why = "the qualifier has more than 16 KiB";
    else if (cell->value.len > LIM_CELL_BYTES_HARD)
        *why = "the value has more than 100 MiB";
    else
        return true;
    return false;
}

/* Returns the column of a member, COLUMNS for none; *out_b64: the value is in base64. */
static size_t column_of(struct slice name, bool *out_b64)
{
    static const struct slice suffix = {(const uint8_t *)"_b64", 4};
    *out_b64 = name.len > suffix.len &&
               memcmp(name.ptr + name.len - suffix.len, suffix.ptr, suffix.len) == 0;
    if (*out_b64)
        name.len -= suffix.len;
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        if (base_slice_is(name, NAMES[i]))
            return i == TIMESTAMP && *out_b64 ? COLUMNS : i;
    }
    return COLUMNS;
}

static bool take_member(struct cli_pull *pull, struct buf *holder, struct cli_cell *cell,
                        unsigned *seen)
{
    struct slice name;
    bool b64 = false;
    if (!cli_pull_name(pull, holder, &name))
        return false;
    size_t column = column_of(name, &b64);
    if (column == COLUMNS || (*seen & 1u << column) != 0)
        return false;
    *seen |= 1u << column;
    if (column != TIMESTAMP)
        return b64 ? cli_pull_base64(pull, holder, text_of(cell, column))
                   : cli_pull_text(pull, holder, text_of(cell, column));
    struct slice text;
    return cli_pull_text(pull, holder, &text) &&
           base_parse_i64(text, &cell->timestamp_us) == ERR_OK;
}

static bool read_ndjson(struct slice record, struct buf *holder, struct cli_cell *out,
                        const char **why)
{
    struct cli_pull pull;
    unsigned seen = 0;
    *why = "out of memory";
    if (!cli_pull_start(&pull, record, holder))
        return false;
    *why = "not an object with key, family, qualifier, timestamp and value, each once";
    bool more = cli_pull_take(&pull, '{');
    while (more) {
        if (!take_member(&pull, holder, out, &seen) || !cli_pull_next(&pull, '}', &more))
            return false;
    }
    return seen == (1u << (VALUE + 1)) - 1 && cli_pull_ended(&pull);
}

/* Reads one field and its separator; doubled quotes are decoded in holder. */
static bool take_field(struct slice *rest, struct buf *holder, struct slice *out, bool *out_more)
{
    const uint8_t *end = rest->ptr + rest->len;
    const uint8_t *at = rest->ptr;
    if (rest->len == 0 || *at != '"') {
        const uint8_t *comma = rest->len == 0 ? NULL : memchr(at, ',', rest->len);
        const uint8_t *stop = comma != NULL ? comma : end;
        *out = base_slice(at, (size_t)(stop - at));
        *out_more = comma != NULL;
        *rest = base_slice_skip(*rest, out->len + *out_more);
        return out->len == 0 || memchr(out->ptr, '"', out->len) == NULL;
    }
    size_t begin = holder->len;
    for (at++;; at++) {
        const uint8_t *quote = memchr(at, '"', (size_t)(end - at));
        if (quote == NULL)
            return false;
        base_buf_append(holder, base_slice(at, (size_t)(quote - at)));
        at = quote + 1;
        if (at == end || *at != '"')
            break;
        base_buf_append_byte(holder, '"');
    }
    *out = base_slice(holder->ptr + begin, holder->len - begin);
    *out_more = at < end && *at == ',';
    *rest = base_slice(at + *out_more, (size_t)(end - at) - *out_more);
    return *out_more || rest->len == 0;
}

static bool decode(struct slice *text, struct buf *holder)
{
    size_t begin = holder->len;
    if (base_base64_decode(*text, holder) != ERR_OK)
        return false;
    *text = base_slice(holder->ptr + begin, holder->len - begin);
    return true;
}

static bool decode_marked(struct cli_cell *cell, struct slice marks, struct buf *holder)
{
    static const char letters[] = {[KEY] = 'k', [QUALIFIER] = 'q', [VALUE] = 'v'};
    size_t done = 0;
    for (size_t column = 0; column < B64 && done < marks.len; column++) {
        if (letters[column] == '\0' || marks.ptr[done] != (uint8_t)letters[column])
            continue;
        if (!decode(text_of(cell, column), holder))
            return false;
        done++;
    }
    return done == marks.len;
}

static bool read_csv(struct slice record, struct buf *holder, struct cli_cell *out,
                     const char **why)
{
    struct slice fields[COLUMNS];
    struct cli_pull room;
    bool more = true;
    *why = "out of memory";
    if (!cli_pull_start(&room, record, holder))
        return false;
    if (record.len > 0 && record.ptr[record.len - 1] == '\r')
        record.len--;
    *why = "not the six fields " CSV_HEAD;
    for (size_t i = 0; i < COLUMNS; i++) {
        if (!more || !take_field(&record, holder, &fields[i], &more))
            return false;
    }
    if (more)
        return false;
    for (size_t i = 0; i < B64; i++) {
        if (i != TIMESTAMP)
            *text_of(out, i) = fields[i];
    }
    *why = "the timestamp is not a whole number";
    if (base_parse_i64(fields[TIMESTAMP], &out->timestamp_us) != ERR_OK)
        return false;
    *why = "b64 names a field (k, q, v, in this order) that is not base64";
    return decode_marked(out, fields[B64], holder);
}

bool cli_record_read(enum cli_encoding encoding, struct slice record, struct buf *holder,
                     struct cli_cell *out, const char **why)
{
    memset(out, 0, sizeof *out);
    return (encoding == CLI_CSV ? read_csv(record, holder, out, why)
                                : read_ndjson(record, holder, out, why)) &&
           check(out, why);
}
