/*
 * migrations/salvage_report.c - reports missing data, as JSON for operators: it names keys of
 * tenants.
 */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#include "base/clock.h"
#include "migrations/salvage_internal.h"

#include "base/banned.h"

#define REPORT_FORMAT 1
#define REPORT_BYTES  (1024UL * MIB)
#define BOUND_BYTES   (8 * LIM_ROW_KEY)

static const char *const KINDS[] = {
    [STO_SALVAGE_EARLIER] = "earlier",
    [STO_SALVAGE_BLOCK] = "block",
    [STO_SALVAGE_FILE] = "file",
    [STO_SALVAGE_MISSING_FILE] = "missing file",
};

/* --- bounds ----------------------------------------------------------------------------------- */

static enum err byte_put(struct buf *out, uint8_t byte)
{
    if (byte >= ' ' && byte < 127 && byte != '\\')
        return base_buf_append_byte(out, byte);
    return base_buf_printf(out, "\\x%02x", byte);
}

/* Writes the escaped key up to its terminator. A bound after a row ("00 02") is no key of that row:
 * writes the next possible row key. */
static enum err row_put(struct slice key, struct buf *out)
{
    enum err rc = ERR_OK;
    for (size_t i = 0; rc == ERR_OK && i < key.len; i++) {
        if (key.ptr[i] != 0) {
            rc = byte_put(out, key.ptr[i]);
            continue;
        }
        uint8_t next = i + 1 < key.len ? key.ptr[i + 1] : 0xff;
        if (next == 1)
            break;
        rc = byte_put(out, 0);
        if (next == 2)
            break;
        i++;
    }
    return rc;
}

static enum err time_put(struct slice position, struct buf *out)
{
    char text[BASE_TIME_TEXT];
    base_time_format((int64_t)sto_get_be64(position.ptr), text);
    return base_buf_append_text(out, text);
}

bool mig_missing_bound(const struct mig_missing *m, bool is_end, struct buf *out)
{
    char prefix[STO_KEY_TABLE_MAX + 1];
    struct slice key = is_end ? m->span.end : m->span.begin;
    int len = snprintf(prefix, sizeof prefix, "%s#%s#", m->tenant, m->table);
    if (!base_slice_starts_with(key, base_slice(prefix, (size_t)len)))
        return false;
    key = base_slice_skip(key, (size_t)len);
    if (key.len == 0 || (!m->is_rows && key.len < 8))
        return false;
    return (m->is_rows ? row_put(key, out) : time_put(key, out)) == ERR_OK;
}

/* --- JSON ------------------------------------------------------------------------------------- */

static json_t *bound_json(const struct mig_missing *m, bool is_end)
{
    struct buf text;
    base_buf_init(&text, BOUND_BYTES);
    json_t *value = mig_missing_bound(m, is_end, &text)
                        ? json_stringn((const char *)text.ptr, text.len)
                        : json_null();
    base_buf_fini(&text);
    return value;
}

static json_t *number_json(uint64_t number)
{
    return json_integer((json_int_t)number);
}

static json_t *time_json(int64_t us)
{
    char text[BASE_TIME_TEXT];
    base_time_format(us, text);
    return json_string(text);
}

static json_t *missing_json(const struct mig_missing *m)
{
    char file[32];
    json_t *o = json_object();
    json_t *restored = json_null();
    (void)snprintf(file, sizeof file, "%06" PRIu64 ".sst", m->file);
    if (m->backup[0] != '\0') {
        restored = json_object();
        (void)json_object_set_new(restored, "backup", json_string(m->backup)); /* NULL: below */
        (void)json_object_set_new(restored, "made", time_json(m->backup_us));
        (void)json_object_set_new(restored, "rows", number_json(m->rows));
    }
    (void)json_object_set_new(o, "tenant", json_string(m->tenant));
    (void)json_object_set_new(o, "table", json_string(m->table));
    (void)json_object_set_new(o, "of", json_string(m->is_rows ? "rows" : "changes"));
    (void)json_object_set_new(o, "begin", bound_json(m, false));
    (void)json_object_set_new(o, "end", bound_json(m, true));
    (void)json_object_set_new(o, "lost_with", json_string(KINDS[m->kind]));
    (void)json_object_set_new(o, "file", json_string(file));
    (void)json_object_set_new(o, "offset", number_json(m->offset));
    (void)json_object_set_new(o, "bytes",
                              m->kind == STO_SALVAGE_EARLIER ? json_null() : number_json(m->bytes));
    (void)json_object_set_new(o, "restored", restored);
    (void)json_object_set_new(o, "not_restored",
                              m->why.text[0] != '\0' ? json_string(m->why.text) : json_null());
    return json_object_size(o) == 11 ? o : NULL;
}

static json_t *log_json(const struct mig_salvaged *s)
{
    char file[32];
    if (!s->is_log_cut)
        return json_null();
    json_t *o = json_object();
    (void)snprintf(file, sizeof file, "%06" PRIu64 ".log", s->log);
    (void)json_object_set_new(o, "file", json_string(file)); /* a NULL value shows in the size */
    (void)json_object_set_new(o, "offset", number_json(s->log_offset));
    (void)json_object_set_new(o, "bytes", number_json(s->log_bytes));
    return json_object_size(o) == 3 ? o : NULL;
}

static json_t *report_json(const struct mig_salvage_options *options, const struct mig_salvaged *s)
{
    json_t *o = json_object();
    json_t *missing = json_array();
    for (size_t i = 0; i < s->count; i++)
        (void)json_array_append_new(missing, missing_json(&s->missing[i])); /* counted below */
    bool is_whole = json_array_size(missing) == s->count;
    (void)json_object_set_new(o, "format", number_json(REPORT_FORMAT));
    (void)json_object_set_new(o, "made", time_json(base_wall_us()));
    (void)json_object_set_new(o, "data", json_string(options->data));
    (void)json_object_set_new(o, "to", json_string(options->to));
    (void)json_object_set_new(o, "files", number_json(s->files));
    (void)json_object_set_new(o, "bytes", number_json(s->bytes));
    (void)json_object_set_new(o, "changes_acknowledged", number_json(s->witnessed));
    (void)json_object_set_new(o, "changes_copied", number_json(s->sequence));
    (void)json_object_set_new(o, "log", log_json(s));
    (void)json_object_set_new(o, "missing", missing);
    if (is_whole && json_object_size(o) == 10)
        return o;
    json_decref(o);
    return NULL;
}

static int append_dump(const char *bytes, size_t len, void *ctx)
{
    return base_buf_append(ctx, base_slice(bytes, len)) == ERR_OK ? 0 : -1;
}

enum err mig_salvage_report(const struct mig_salvage_options *options, const struct mig_salvaged *s,
                            struct errbuf *eb)
{
    struct buf text;
    json_t *o = report_json(options, s);
    base_buf_init(&text, REPORT_BYTES);
    bool is_made = o != NULL && json_dump_callback(o, append_dump, &text, JSON_INDENT(2)) == 0;
    json_decref(o);
    enum err rc = is_made ? base_buf_append_byte(&text, '\n') : ERR_NO_MEMORY;
    rc = rc == ERR_OK ? base_file_create(s->report, base_buf_slice(&text), 0600, eb)
                      : base_fail(eb, rc, "no memory for the report, or a path is no UTF-8");
    base_buf_fini(&text);
    return rc;
}
