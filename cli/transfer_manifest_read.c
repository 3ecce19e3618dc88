/*
 * cli/transfer_manifest_read.c - reads the manifest; see transfer_manifest.h.
 *
 * A manifest is untrusted input. No name in it is used as a path: each name must equal the name
 * that this program would have written.
 */
#include <stdio.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/json_text.h"
#include "cli/out.h"
#include "cli/transfer_file.h"
#include "cli/transfer_manifest.h"

#include "base/banned.h"

#define DIGITS_MIN 5
#define DIGITS_MAX 9

static bool bad(struct errbuf *why, const char *what)
{
    (void)base_fail(why, ERR_INVALID, "%s", what); /* the caller returns the verdict */
    return false;
}

static struct slice text_at(const json_t *doc, const char *name)
{
    const json_t *text = json_object_get(doc, name);
    return json_is_string(text) ? base_slice(json_string_value(text), json_string_length(text))
                                : SLICE_EMPTY;
}

static bool take_count(const json_t *doc, const char *name, uint64_t *out)
{
    const json_t *number = json_object_get(doc, name);
    if (!json_is_integer(number) || json_integer_value(number) < 0)
        return false;
    *out = (uint64_t)json_integer_value(number);
    return true;
}

static bool take_bytes(const json_t *doc, const char *name, struct slice *out)
{
    struct buf holder;
    char coded[32];
    (void)snprintf(coded, sizeof coded, "%s_b64", name); /* short literals */
    bool there =
        json_is_string(json_object_get(doc, name)) || json_is_string(json_object_get(doc, coded));
    base_buf_init(&holder, 2UL * LIM_ROW_KEY);
    struct slice bytes = cli_json_bytes(doc, name, coded, &holder);
    there = there && bytes.len <= LIM_ROW_KEY;
    if (there)
        *out = cli_slice_copy(bytes);
    base_buf_fini(&holder);
    return there;
}

static bool take_content(const json_t *doc, struct cli_content *out)
{
    return take_count(doc, "rows", &out->rows) && take_count(doc, "cells", &out->cells) &&
           take_count(doc, "bytes", &out->bytes) &&
           cli_hash_parse(text_at(doc, "content"), out->sum);
}

static bool is_word(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Reads a table ID by Bigtable's rule; no ID that the rule allows leaves a directory. */
static bool take_table_id(const json_t *doc, char out[LIM_TABLE_ID + 1])
{
    struct slice id = text_at(doc, "id");
    if (id.len == 0 || id.len > LIM_TABLE_ID || !is_word(id.ptr[0]))
        return false;
    for (size_t i = 0; i < id.len; i++) {
        if (!is_word(id.ptr[i]) && id.ptr[i] != '-' && id.ptr[i] != '.')
            return false;
    }
    memcpy(out, id.ptr, id.len);
    out[id.len] = '\0';
    return true;
}

/* Reads the number in TABLE/NUMBER.ENCODING, and checks that the name is the one of that number. */
static bool take_number(const struct cli_manifest *m, const char *table, struct slice name,
                        uint32_t *out)
{
    char wanted[CLI_FILE_PATH];
    char file[CLI_FILE_NAME];
    uint64_t number = 0;
    size_t at = strlen(table) + 1;
    size_t digits = 0;
    while (at + digits < name.len && name.ptr[at + digits] >= '0' && name.ptr[at + digits] <= '9')
        digits++;
    if (digits < DIGITS_MIN || digits > DIGITS_MAX)
        return false;
    for (size_t i = 0; i < digits; i++)
        number = 10 * number + (name.ptr[at + i] - '0');
    cli_file_name((uint32_t)number, m->encoding, m->packed, file);
    (void)snprintf(wanted, sizeof wanted, "%s/%s", table, file); /* fits: both are bounded */
    *out = (uint32_t)number;
    return base_slice_is(name, wanted);
}

static bool take_file(struct cli_manifest *m, struct cli_manifest_table *t, const json_t *doc,
                      struct errbuf *why)
{
    struct cli_manifest_file f = {0};
    if (!take_number(m, t->id, text_at(doc, "name"), &f.number) || f.number < t->next_number)
        return bad(why, "the name of a file is not TABLE/NUMBER.ENCODING in rising order");
    if (!take_content(doc, &f.content) || !take_count(doc, "size", &f.stored_bytes) ||
        !cli_hash_parse(text_at(doc, "sha256"), f.sha256))
        return bad(why, "the counts and hashes of a file are not such");
    if (!take_bytes(doc, "first_key", &f.first))
        return bad(why, "the first key of a file is missing");
    if (!take_bytes(doc, "last_key", &f.last)) {
        cli_slice_free(&f.first);
        return bad(why, "the last key of a file is missing");
    }
    cli_manifest_add_file(t, &f);
    return true;
}

static bool take_ranges(struct cli_manifest_table *t, const json_t *list, struct errbuf *why)
{
    size_t count = json_array_size(list);
    if (count > CLI_TRANSFER_RANGES)
        return bad(why, "a table has too many ranges");
    if (count == 0)
        return true;
    t->ranges = base_new_array(count, sizeof *t->ranges);
    t->range_count = count;
    for (size_t i = 0; i < count; i++) {
        const json_t *doc = json_array_get(list, i);
        struct cli_manifest_range *r = &t->ranges[i];
        if (!take_bytes(doc, "start", &r->start) || !take_bytes(doc, "end", &r->end) ||
            !take_bytes(doc, "after", &r->after))
            return bad(why, "a range has no bounds");
        r->done = json_is_true(json_object_get(doc, "done"));
    }
    return true;
}

static bool take_table(struct cli_manifest *m, const json_t *doc, struct errbuf *why)
{
    struct cli_manifest_table *t = &m->tables[m->table_count++];
    const json_t *files = json_object_get(doc, "files");
    struct cli_content said = {0};
    t->schema = json_incref(json_object_get(doc, "schema"));
    if (!take_table_id(doc, t->id))
        return bad(why, "a table has no ID, or one that cannot be");
    for (size_t i = 0; i + 1 < m->table_count; i++) {
        if (strcmp(m->tables[i].id, t->id) == 0)
            return bad(why, "a table is there twice");
    }
    if (!json_is_object(t->schema) || !json_is_array(files) || !take_content(doc, &said))
        return bad(why, "a table has no schema, counts or files");
    for (size_t i = 0; i < json_array_size(files); i++) {
        if (!take_file(m, t, json_array_get(files, i), why))
            return false;
    }
    if (!cli_content_equal(&said, &t->content))
        return bad(why, "the counts of a table are not those of its files");
    return take_ranges(t, json_object_get(doc, "ranges"), why);
}

static bool take_choice(const json_t *doc, const char *name, const char *first, const char *second,
                        bool *out_second)
{
    struct slice text = text_at(doc, name);
    *out_second = base_slice_is(text, second);
    return *out_second || base_slice_is(text, first);
}

static bool take_head(struct cli_manifest *m, const json_t *doc, struct errbuf *why)
{
    struct slice tenant = text_at(doc, "tenant");
    struct slice created = text_at(doc, "created");
    const json_t *rows = json_object_get(doc, "rows");
    bool is_csv = false;
    if (!base_slice_is(text_at(doc, "format"), "bigtent-export"))
        return bad(why, "this is no manifest of an export");
    if (json_integer_value(json_object_get(doc, "version")) != 1)
        return bad(why, "the format has another version; this program knows version 1");
    if (tenant.len > LIM_TENANT_ID || created.len >= BASE_TIME_TEXT ||
        !take_choice(doc, "encoding", "ndjson", "csv", &is_csv) ||
        !take_choice(doc, "compression", "none", "zstd", &m->packed) ||
        !take_bytes(rows, "start", &m->start) || !take_bytes(rows, "end", &m->end))
        return bad(why, "tenant, created, encoding, compression or rows is not such");
    memcpy(m->tenant, tenant.ptr != NULL ? (const char *)tenant.ptr : "", tenant.len);
    memcpy(m->created, created.ptr != NULL ? (const char *)created.ptr : "", created.len);
    m->encoding = is_csv ? CLI_CSV : CLI_NDJSON;
    m->complete = json_is_true(json_object_get(doc, "complete"));
    return true;
}

bool cli_manifest_parse(struct slice text, struct cli_manifest *m, struct errbuf *why)
{
    json_t *doc = cli_json_parse(text);
    const json_t *tables = json_object_get(doc, "tables");
    size_t count = json_array_size(tables);
    memset(m, 0, sizeof *m);
    bool good = doc != NULL || bad(why, "this is not JSON");
    good = good && take_head(m, doc, why);
    if (good && (!json_is_array(tables) || count > LIM_TABLES))
        good = bad(why, "tables is no list of at most 1000");
    if (good && count > 0)
        m->tables = base_new_array(count, sizeof *m->tables);
    for (size_t i = 0; good && i < count; i++)
        good = take_table(m, json_array_get(tables, i), why);
    json_decref(doc);
    if (!good)
        cli_manifest_fini(m);
    return good;
}

enum cli_exit cli_manifest_read(const char *dir, struct cli_manifest *m)
{
    char path[BASE_PATH_BYTES];
    struct errbuf eb = {0};
    struct buf text = {0};
    enum cli_exit e = CLI_OK;
    if (base_path_join(path, dir, CLI_MANIFEST_NAME, &eb) != ERR_OK ||
        base_file_read(path, CLI_MANIFEST_BYTES, &text, &eb) != ERR_OK)
        e = cli_fail(CLI_CHECK_FAILED, "%s", eb.text);
    else if (!cli_manifest_parse(base_buf_slice(&text), m, &eb))
        e = cli_fail(CLI_CHECK_FAILED, "%s: %s", path, eb.text);
    base_buf_fini(&text);
    return e;
}
