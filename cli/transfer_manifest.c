/* cli/transfer_manifest.c - writes the manifest, and has helpers of reader and writer. */
#include "cli/transfer_manifest.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/file.h"
#include "cli/json_text.h"
#include "cli/out.h"
#include "cli/transfer_file.h"

#include "base/banned.h"

struct slice cli_slice_copy(struct slice bytes)
{
    return bytes.len == 0 ? SLICE_EMPTY
                          : base_slice(base_new_text(bytes.ptr, bytes.len), bytes.len);
}

void cli_slice_free(struct slice *bytes)
{
    base_free((void *)(uintptr_t)bytes->ptr);
    *bytes = SLICE_EMPTY;
}

static void free_table(struct cli_manifest_table *t)
{
    for (size_t i = 0; i < t->file_count; i++) {
        cli_slice_free(&t->files[i].first);
        cli_slice_free(&t->files[i].last);
    }
    for (size_t i = 0; i < t->range_count; i++) {
        cli_slice_free(&t->ranges[i].start);
        cli_slice_free(&t->ranges[i].end);
        cli_slice_free(&t->ranges[i].after);
    }
    base_free(t->files);
    base_free(t->ranges);
    json_decref(t->schema);
}

void cli_manifest_fini(struct cli_manifest *m)
{
    for (size_t i = 0; i < m->table_count; i++)
        free_table(&m->tables[i]);
    base_free(m->tables);
    cli_slice_free(&m->start);
    cli_slice_free(&m->end);
    memset(m, 0, sizeof *m);
}

void cli_manifest_add_file(struct cli_manifest_table *t, const struct cli_manifest_file *file)
{
    if (t->file_count == t->file_capacity) {
        t->file_capacity = t->file_capacity > 0 ? 2 * t->file_capacity : 16;
        struct cli_manifest_file *more = base_new_array(t->file_capacity, sizeof *more);
        if (t->file_count > 0)
            memcpy(more, t->files, t->file_count * sizeof *more);
        base_free(t->files);
        t->files = more;
    }
    size_t at = t->file_count++;
    for (; at > 0 && t->files[at - 1].number > file->number; at--)
        t->files[at] = t->files[at - 1];
    t->files[at] = *file;
    cli_content_merge(&t->content, &file->content);
    if (file->number >= t->next_number)
        t->next_number = file->number + 1;
}

/* --- writing ----------------------------------------------------------------------------------
 */

/* Sets a member. Takes value; a failure latches false in *fits. */
static void set(json_t *object, const char *name, json_t *value, bool *fits)
{
    *fits = json_object_set_new(object, name, value) == 0 && *fits;
}

static void set_bytes(json_t *object, const char *name, struct slice bytes, bool *fits)
{
    *fits = cli_json_set_bytes(object, name, bytes) && *fits;
}

static void set_content(json_t *object, const struct cli_content *c, bool *fits)
{
    char hash[CLI_HASH_TEXT];
    cli_hash_text(c->sum, hash);
    set(object, "rows", json_integer((json_int_t)c->rows), fits);
    set(object, "cells", json_integer((json_int_t)c->cells), fits);
    set(object, "bytes", json_integer((json_int_t)c->bytes), fits);
    set(object, "content", json_string(hash), fits);
}

static json_t *file_json(const struct cli_manifest *m, const struct cli_manifest_table *t,
                         const struct cli_manifest_file *f, bool *fits)
{
    json_t *doc = json_object();
    char name[CLI_FILE_NAME];
    char hash[CLI_HASH_TEXT];
    cli_file_name(f->number, m->encoding, m->packed, name);
    cli_hash_text(f->sha256, hash);
    set(doc, "name", json_sprintf("%s/%s", t->id, name), fits);
    set_bytes(doc, "first_key", f->first, fits);
    set_bytes(doc, "last_key", f->last, fits);
    set_content(doc, &f->content, fits);
    set(doc, "size", json_integer((json_int_t)f->stored_bytes), fits);
    set(doc, "sha256", json_string(hash), fits);
    return doc;
}

static json_t *range_json(const struct cli_manifest_range *r, bool *fits)
{
    json_t *doc = json_object();
    set_bytes(doc, "start", r->start, fits);
    set_bytes(doc, "end", r->end, fits);
    set_bytes(doc, "after", r->after, fits);
    set(doc, "done", json_boolean(r->done), fits);
    return doc;
}

static json_t *table_json(const struct cli_manifest *m, const struct cli_manifest_table *t,
                          bool *fits)
{
    json_t *doc = json_object();
    json_t *files = json_array();
    json_t *ranges = json_array();
    set(doc, "id", json_string(t->id), fits);
    set(doc, "schema", json_incref(t->schema), fits);
    set_content(doc, &t->content, fits);
    for (size_t i = 0; i < t->file_count; i++)
        *fits = json_array_append_new(files, file_json(m, t, &t->files[i], fits)) == 0 && *fits;
    for (size_t i = 0; i < t->range_count; i++)
        *fits = json_array_append_new(ranges, range_json(&t->ranges[i], fits)) == 0 && *fits;
    set(doc, "files", files, fits);
    if (!m->complete)
        set(doc, "ranges", json_incref(ranges), fits);
    json_decref(ranges);
    return doc;
}

static json_t *manifest_json(const struct cli_manifest *m, bool *fits)
{
    json_t *doc = json_object();
    json_t *rows = json_object();
    json_t *tables = json_array();
    set(doc, "format", json_string("bigtent-export"), fits);
    set(doc, "version", json_integer(1), fits);
    set(doc, "tenant", json_string(m->tenant), fits);
    set(doc, "created", json_string(m->created), fits);
    set(doc, "complete", json_boolean(m->complete), fits);
    set(doc, "encoding", json_string(cli_encoding_name(m->encoding)), fits);
    set(doc, "compression", json_string(m->packed ? "zstd" : "none"), fits);
    set_bytes(rows, "start", m->start, fits);
    set_bytes(rows, "end", m->end, fits);
    set(doc, "rows", rows, fits);
    for (size_t i = 0; i < m->table_count; i++)
        *fits = json_array_append_new(tables, table_json(m, &m->tables[i], fits)) == 0 && *fits;
    set(doc, "tables", tables, fits);
    return doc;
}

enum cli_exit cli_manifest_write(const char *dir, const struct cli_manifest *m)
{
    char path[BASE_PATH_BYTES];
    struct errbuf eb = {0};
    struct buf text;
    bool fits = true;
    json_t *doc = manifest_json(m, &fits);
    base_buf_init(&text, CLI_MANIFEST_BYTES);
    fits = fits && cli_json_append(&text, doc, JSON_INDENT(1)) &&
           base_buf_append_byte(&text, '\n') == ERR_OK;
    json_decref(doc);
    enum cli_exit e = CLI_OK;
    if (!fits)
        e = cli_fail(CLI_REFUSED,
                     "the manifest would have more than %lu bytes; --rows-per-file "
                     "N makes fewer files",
                     CLI_MANIFEST_BYTES);
    else if (base_path_join(path, dir, CLI_MANIFEST_NAME, &eb) != ERR_OK ||
             base_file_replace(path, base_buf_slice(&text), 0600, &eb) != ERR_OK)
        e = cli_fail(CLI_REFUSED, "%s", eb.text);
    base_buf_fini(&text);
    return e;
}
