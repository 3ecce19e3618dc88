/*
 * cli/move_map.c - see move_map.h.
 *
 * Within a source no two keys, or cells, become one cell (move_cell.c). This file refuses pairs of
 * sources whose rows could overlap in one family.
 */
#include "cli/move_map.h"

#include <inttypes.h>
#include <openssl/evp.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/file.h"
#include "cli/apply_values.h"
#include "cli/json_text.h"
#include "cli/out.h"
#include "cli/transfer_manifest.h"

#include "base/banned.h"

/* --- a source ---------------------------------------------------------------------------------
 */

static struct slice bytes_of(const json_t *doc, const char *name, const char *name_b64)
{
    struct buf holder;
    base_buf_init(&holder, LIM_QUALIFIER);
    struct slice copy = cli_slice_copy(cli_json_bytes(doc, name, name_b64, &holder));
    base_buf_fini(&holder);
    return copy;
}

static void take_parts(struct cli_move_source *s, const json_t *list)
{
    s->part_count = 1; /* by default the whole key is the row */
    s->parts[0] = CLI_MOVE_ROW;
    for (size_t i = 0; i < json_array_size(list); i++)
        s->parts[i] = (enum cli_move_part)json_integer_value(json_array_get(list, i));
    if (json_array_size(list) > 0)
        s->part_count = json_array_size(list);
}

bool cli_move_has_part(const struct cli_move_source *s, enum cli_move_part part)
{
    for (size_t i = 0; i < s->part_count; i++)
        if (s->parts[i] == part)
            return true;
    return false;
}

static bool is_given(const json_t *doc, const char *name, const char *name_b64)
{
    return json_object_get(doc, name) != NULL || json_object_get(doc, name_b64) != NULL;
}

/* Checks fields that require, or exclude, each other. */
static void check_fields(struct cli_apply_reader *r, const struct cli_yaml_node *n,
                         const struct cli_move_source *s)
{
    static const char *const pairs[][2] = {{"row_prefix", "row_prefix_b64"},
                                           {"strip_prefix", "strip_prefix_b64"},
                                           {"qualifier", "qualifier_b64"},
                                           {"separator", "separator_b64"},
                                           {"database", "from_table"}};
    static const char *const needed[] = {"tenant", "table"};
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
        if (cli_apply_member(n, needed[i]) == NULL)
            cli_apply_wrong(r, n, "a source needs \"%s\"", needed[i]);
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        if (cli_apply_member(n, pairs[i][0]) != NULL && cli_apply_member(n, pairs[i][1]) != NULL)
            cli_apply_wrong(r, n, "%s and %s exclude each other", pairs[i][0], pairs[i][1]);
    if (!is_given(s->doc, "database", "from_table"))
        cli_apply_wrong(r, n, "a source needs \"database\" or \"from_table\"");
}

static void refuse_fields(struct cli_apply_reader *r, const struct cli_yaml_node *n,
                          const char *const *names, const char *whose)
{
    for (; *names != NULL; names++)
        if (cli_apply_member(n, *names) != NULL)
            cli_apply_wrong(r, n, "%s is for %s", *names, whose);
}

static void check_database(struct cli_apply_reader *r, const struct cli_yaml_node *n,
                           const struct cli_move_source *s)
{
    static const char *const others[] = {"families", "strip_prefix", "strip_prefix_b64", NULL};
    refuse_fields(r, n, others, "tables of a service");
    if (cli_apply_member(n, "family") == NULL)
        cli_apply_wrong(r, n, "a source needs \"family\"");
    if (s->part_count > 1 && s->separator.len == 0)
        cli_apply_wrong(r, n, "a key of several parts needs a separator");
    if (s->part_count == 1 && is_given(s->doc, "separator", "separator_b64"))
        cli_apply_wrong(r, n, "a separator needs a key of several parts: key: [row, qualifier]");
    if (cli_move_has_part(s, CLI_MOVE_QUALIFIER) == is_given(s->doc, "qualifier", "qualifier_b64"))
        cli_apply_wrong(r, n, "the qualifier is either a part of the key, or given; one of both");
    if (cli_move_has_part(s, CLI_MOVE_TIMESTAMP) && cli_apply_member(n, "timestamp") != NULL)
        cli_apply_wrong(r, n, "the timestamp is either a part of the key, or given");
    if (!cli_move_has_part(s, CLI_MOVE_TIMESTAMP) && cli_apply_member(n, "timestamp_unit") != NULL)
        cli_apply_wrong(r, n, "timestamp_unit is that of a timestamp in the key");
}

static void check_foreign(struct cli_apply_reader *r, const struct cli_yaml_node *n)
{
    static const char *const others[] = {
        "column_family", "family",        "qualifier", "qualifier_b64",  "key",
        "separator",     "separator_b64", "timestamp", "timestamp_unit", NULL};
    refuse_fields(r, n, others, "databases");
}

static const char *text_of(const json_t *doc, const char *name, const char *otherwise)
{
    const char *text = json_string_value(json_object_get(doc, name));
    return text != NULL ? text : otherwise;
}

static void read_source(struct cli_apply_reader *r, const struct cli_yaml_node *n,
                        struct cli_move_source *s)
{
    s->at = cli_apply_place(r, n);
    s->doc = json_object();
    cli_move_read_fields(r, n, s->doc);
    s->from_table = text_of(s->doc, "from_table", NULL);
    s->database = s->from_table == NULL ? text_of(s->doc, "database", "") : NULL;
    s->name = s->from_table != NULL ? s->from_table : s->database;
    s->families = json_object_get(s->doc, "families");
    s->renamed_to = json_object_get(s->doc, CLI_MOVE_RENAMED_TO);
    s->column_family = text_of(s->doc, "column_family", "default");
    s->tenant = text_of(s->doc, "tenant", "");
    s->table = text_of(s->doc, "table", "");
    s->family = text_of(s->doc, "family", "");
    s->row_prefix = bytes_of(s->doc, "row_prefix", "row_prefix_b64");
    s->strip_prefix = bytes_of(s->doc, "strip_prefix", "strip_prefix_b64");
    s->qualifier = bytes_of(s->doc, "qualifier", "qualifier_b64");
    s->separator = bytes_of(s->doc, "separator", "separator_b64");
    take_parts(s, json_object_get(s->doc, "key"));
    const json_t *timestamp = json_object_get(s->doc, "timestamp");
    s->timestamp_us = timestamp != NULL ? json_integer_value(timestamp) : -1;
    const json_t *unit = json_object_get(s->doc, "timestamp_unit");
    s->unit_us = unit != NULL ? json_integer_value(unit) : 1;
    s->skips = json_is_true(json_object_get(s->doc, "unfit"));
    check_fields(r, n, s);
    if (s->from_table != NULL)
        check_foreign(r, n);
    else if (s->database[0] != '\0')
        check_database(r, n, s);
}

/* --- all of them ------------------------------------------------------------------------------
 */

static int by_place(const void *a, const void *b)
{
    const struct cli_move_source *x = *(const struct cli_move_source *const *)a;
    const struct cli_move_source *y = *(const struct cli_move_source *const *)b;
    int order = strcmp(x->tenant, y->tenant);
    order = order != 0 ? order : strcmp(x->table, y->table);
    order = order != 0 ? order : strcmp(x->family, y->family);
    order = order != 0 ? order : base_slice_compare(x->row_prefix, y->row_prefix);
    return order != 0 ? order : (x->at.line > y->at.line) - (x->at.line < y->at.line);
}

static bool is_same_table(const struct cli_move_source *a, const struct cli_move_source *b)
{
    return strcmp(a->tenant, b->tenant) == 0 && strcmp(a->table, b->table) == 0;
}

static bool meet(const struct cli_move_source *a, const struct cli_move_source *b)
{
    return is_same_table(a, b) && strcmp(a->family, b->family) == 0 &&
           base_slice_starts_with(b->row_prefix, a->row_prefix);
}

/* Refuses overlapping sources. Sorting places a source after those whose row prefix its own starts
 * with, and foreign tables, whose cells may have any family, before databases. */
static void refuse_clashes(struct cli_move_map *map, struct cli_apply *a)
{
    const struct cli_move_source **sorted = base_new_array(map->count, sizeof(*sorted));
    for (size_t i = 0; i < map->count; i++)
        sorted[i] = &map->sources[i];
    qsort(sorted, map->count, sizeof *sorted, by_place);
    size_t first = 0; /* first source of the current table */
    for (size_t i = 1; i < map->count; i++) {
        first = is_same_table(sorted[first], sorted[i]) ? first : i;
        if (sorted[first]->from_table != NULL && sorted[i]->database != NULL)
            cli_apply_complain(a, sorted[i]->at,
                               "a database and, in line %" PRIu32 ", a table of a service cannot "
                               "come into one table",
                               sorted[first]->at.line);
        else if (meet(sorted[i - 1], sorted[i]))
            cli_apply_complain(a, sorted[i]->at,
                               "its rows may be those of the source in line %" PRIu32
                               ": give one another table, family or row_prefix, none of which "
                               "begins the other",
                               sorted[i - 1]->at.line);
    }
    base_free(sorted);
}

static void read_sources(struct cli_move_map *map, struct cli_apply_reader *r,
                         const struct cli_yaml_node *list)
{
    size_t count = 0;
    if (!cli_apply_expect(r, list, CLI_YAML_LIST, "sources"))
        return;
    for (const struct cli_yaml_node *n = list->first; n != NULL; n = n->next)
        count++;
    if (count == 0 || count > CLI_MOVE_SOURCES) {
        cli_apply_wrong(r, list, "there are %zu sources; 1 to %d can be", count, CLI_MOVE_SOURCES);
        return;
    }
    map->sources = base_new_array(count, sizeof *map->sources);
    for (const struct cli_yaml_node *n = list->first; n != NULL; n = n->next)
        if (cli_apply_expect(r, n, CLI_YAML_MAP, "a source"))
            read_source(r, n, &map->sources[map->count++]);
    if (r->apply->error_count == 0)
        refuse_clashes(map, r->apply);
}

static void read_document(struct cli_move_map *map, struct cli_apply_reader *r,
                          const struct cli_yaml_node *document)
{
    static const struct cli_apply_field fields[] = {{"sources", NULL}, {NULL, NULL}};
    struct cli_yaml_node nothing = {.kind = CLI_YAML_MAP, .line = 1, .column = 1};
    const struct cli_yaml_node *d = document != NULL ? document : &nothing;
    if (!cli_apply_expect(r, d, CLI_YAML_MAP, "the file"))
        return;
    cli_apply_read_map(r, d, fields, NULL);
    const struct cli_yaml_node *list = cli_apply_member(d, "sources");
    if (list == NULL)
        cli_apply_wrong(r, d, "the file needs \"sources\", a list");
    else
        read_sources(map, r, list);
    if (d->next != NULL)
        cli_apply_wrong(r, d->next, "the file has a second document");
}

static void hash_text(struct slice text, char out[CLI_HASH_TEXT])
{
    uint8_t hash[CLI_CONTENT_BYTES];
    INVARIANT(EVP_Digest(text.ptr, text.len, hash, NULL, EVP_sha256(), NULL) == 1);
    cli_hash_text(hash, out);
}

void cli_move_map_parse(struct cli_move_map *map, struct cli_apply *a, const char *file,
                        struct slice text)
{
    struct cli_apply_reader r = {.apply = a, .file = file};
    struct cli_yaml tree;
    struct cli_yaml_error error;
    memset(map, 0, sizeof *map);
    hash_text(text, map->hash);
    if (cli_yaml_parse(text, &tree, &error) == ERR_OK)
        read_document(map, &r, tree.documents);
    else
        cli_apply_complain(a, (struct cli_apply_place){file, error.line, error.column}, "%s",
                           error.why.text);
    cli_yaml_fini(&tree);
}

enum cli_exit cli_move_map_read(struct cli_move_map *map, const char *path)
{
    struct cli_apply a;
    struct buf text = {0};
    struct errbuf eb = {0};
    memset(map, 0, sizeof *map);
    if (base_file_read(path, CLI_YAML_BYTES, &text, &eb) != ERR_OK)
        return cli_fail(CLI_USAGE, "%s", eb.text);
    cli_apply_init(&a);
    cli_move_map_parse(map, &a, path, base_buf_slice(&text));
    enum cli_exit e = cli_apply_say_errors(&a);
    cli_apply_fini(&a);
    base_buf_fini(&text);
    return e;
}

void cli_move_map_fini(struct cli_move_map *map)
{
    for (size_t i = 0; i < map->count; i++) {
        struct cli_move_source *s = &map->sources[i];
        cli_slice_free(&s->row_prefix);
        cli_slice_free(&s->strip_prefix);
        cli_slice_free(&s->qualifier);
        cli_slice_free(&s->separator);
        json_decref(s->doc);
    }
    base_free(map->sources);
    memset(map, 0, sizeof *map);
}
