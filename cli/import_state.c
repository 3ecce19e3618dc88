/*
 * cli/import_state.c - records which files of an import are done; see import.h.
 *
 *     {"format":"bigtent-import","version":1,"tenant":"acme","created":"..","content":"..",
 *      "tables":{"phone":{"into":"phone2","files":[0,1,4]}}}
 *
 * created and content are the export's: the state file of another import is refused.
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/import.h"
#include "cli/json_text.h"
#include "cli/out.h"

#include "base/banned.h"

#define STATE_NAME "import.json"

static bool state_path(const struct cli_import *m, char out[BASE_PATH_BYTES])
{
    struct errbuf eb = {0};
    if (m->state_path == NULL && base_path_join(out, m->dir, STATE_NAME, &eb) != ERR_OK)
        return false;
    if (m->state_path == NULL)
        return true;
    int n = snprintf(out, BASE_PATH_BYTES, "%s", m->state_path);
    return n > 0 && n < BASE_PATH_BYTES;
}

static void content_text(const struct cli_import *m, char out[CLI_HASH_TEXT])
{
    struct cli_content all = {0};
    for (size_t i = 0; i < m->manifest.table_count; i++)
        cli_content_merge(&all, &m->manifest.tables[i].content);
    cli_hash_text(all.sum, out);
}

static json_t *table_json(const struct cli_import_table *t)
{
    json_t *files = json_array();
    for (size_t i = 0; i < t->source->file_count; i++) {
        if (t->done[i])
            (void)json_array_append_new(files, json_integer(t->source->files[i].number));
    }
    return json_pack("{s:s, s:o}", "into", t->into, "files", files);
}

enum cli_exit cli_import_save_state(const struct cli_import *m)
{
    char path[BASE_PATH_BYTES];
    char content[CLI_HASH_TEXT];
    struct errbuf eb = {0};
    struct buf text;
    json_t *tables = json_object();
    for (size_t i = 0; i < m->table_count; i++)
        (void)json_object_set_new(tables, m->tables[i].source->id, table_json(&m->tables[i]));
    content_text(m, content);
    json_t *doc = json_pack("{s:s, s:i, s:s, s:s, s:s, s:o}", "format", "bigtent-import", "version",
                            1, "tenant", m->tenant, "created", m->manifest.created, "content",
                            content, "tables", tables);
    base_buf_init(&text, CLI_MANIFEST_BYTES);
    bool fits = doc != NULL && cli_json_append(&text, doc, 0) && state_path(m, path);
    json_decref(doc);
    enum cli_exit e = CLI_OK;
    if (!fits)
        e = cli_fail(CLI_REFUSED, "the notes of progress do not fit");
    else if (base_file_replace(path, base_buf_slice(&text), 0600, &eb) != ERR_OK)
        e = cli_fail(CLI_REFUSED, "%s; --state FILE notes progress elsewhere", eb.text);
    base_buf_fini(&text);
    return e;
}

static bool is_same(const json_t *doc, const char *name, const char *wanted)
{
    const char *text = json_string_value(json_object_get(doc, name));
    return text != NULL && strcmp(text, wanted) == 0;
}

static bool take_table(struct cli_import_table *t, const json_t *doc)
{
    const json_t *files = json_object_get(doc, "files");
    if (doc == NULL)
        return true; /* that run did not include it */
    if (!is_same(doc, "into", t->into))
        return false;
    size_t at = 0; /* both lists are in increasing order */
    for (size_t i = 0; i < t->source->file_count; i++) {
        json_int_t number = (json_int_t)t->source->files[i].number;
        while (at < json_array_size(files) &&
               json_integer_value(json_array_get(files, at)) < number)
            at++;
        t->done[i] =
            at < json_array_size(files) && json_integer_value(json_array_get(files, at)) == number;
    }
    return true;
}

enum cli_exit cli_import_load_state(struct cli_import *m)
{
    char path[BASE_PATH_BYTES];
    char content[CLI_HASH_TEXT];
    struct errbuf eb = {0};
    struct buf text = {0};
    if (!state_path(m, path))
        return cli_fail(CLI_USAGE, "the path of the notes of progress is too long");
    enum err read = base_file_read(path, CLI_MANIFEST_BYTES, &text, &eb);
    if (read == ERR_NOT_FOUND)
        return CLI_OK; /* interrupted before any file was done */
    if (read != ERR_OK)
        return cli_fail(CLI_CHECK_FAILED, "%s", eb.text);
    json_t *doc = cli_json_parse(base_buf_slice(&text));
    const json_t *tables = json_object_get(doc, "tables");
    content_text(m, content);
    bool same = is_same(doc, "format", "bigtent-import") &&
                json_integer_value(json_object_get(doc, "version")) == 1 &&
                is_same(doc, "tenant", m->tenant) && is_same(doc, "created", m->manifest.created) &&
                is_same(doc, "content", content);
    for (size_t i = 0; i < m->table_count && same; i++)
        same = take_table(&m->tables[i], json_object_get(tables, m->tables[i].source->id));
    json_decref(doc);
    base_buf_fini(&text);
    return same ? CLI_OK
                : cli_fail(CLI_USAGE,
                           "%s is about another import; without --resume all is written "
                           "again",
                           path);
}

void cli_import_drop_state(const struct cli_import *m)
{
    char path[BASE_PATH_BYTES];
    if (state_path(m, path))
        (void)unlink(path); /* a state file in which all is done is harmless */
}
