/* cli/cells.c - see cells.h. */
#include "cli/cells.h"

#include "base/clock.h"
#include "base/text.h"
#include "cli/json_text.h"
#include "cli/out.h"

#include "base/banned.h"

/* --- words to JSON ----------------------------------------------------------------------------
 */

enum cli_exit cli_word_split(struct slice text, bool with_value, struct cli_word *out)
{
    const uint8_t *colon = text.len == 0 ? NULL : memchr(text.ptr, ':', text.len);
    memset(out, 0, sizeof *out);
    out->family = text;
    if (colon != NULL) {
        out->has_qualifier = true;
        out->family.len = (size_t)(colon - text.ptr);
        out->qualifier = base_slice_skip(text, out->family.len + 1);
    }
    if (with_value && colon != NULL) {
        struct slice rest = out->qualifier;
        const uint8_t *equals = rest.len == 0 ? NULL : memchr(rest.ptr, '=', rest.len);
        if (equals == NULL)
            return cli_fail(CLI_USAGE, "\"%.*s\" has no \"=\": cells are FAMILY:QUALIFIER=VALUE",
                            SLICE_ARGS(text));
        out->qualifier.len = (size_t)(equals - rest.ptr);
        out->value = base_slice_skip(rest, out->qualifier.len + 1);
    }
    if ((with_value && colon == NULL) || out->family.len == 0 || !base_utf8_is_valid(out->family))
        return cli_fail(CLI_USAGE, "\"%.*s\" is no %s", SLICE_ARGS(text),
                        with_value ? "cell: FAMILY:QUALIFIER=VALUE"
                                   : "column: FAMILY:QUALIFIER or FAMILY");
    return CLI_OK;
}

/* Returns text unchanged, and other bytes as {"value_b64":..}. */
static json_t *value_of(struct slice value)
{
    json_t *object = json_object();
    bool fits = cli_json_set_bytes(object, "value", value);
    json_t *text = json_incref(json_object_get(object, "value"));
    if (fits && text == NULL)
        return object;
    json_decref(object);
    return text;
}

/* Appends {"family":..,"qualifier_b64":..,"value":..} to the body's "$binary" list. */
static bool add_binary(json_t *body, const struct cli_word *w)
{
    json_t *list = json_object_get(body, "$binary");
    if (list == NULL) {
        list = json_array();
        if (json_object_set_new(body, "$binary", list) != 0)
            return false;
    }
    json_t *cell = json_object();
    bool fits = cli_json_set_bytes(cell, "family", w->family) &&
                cli_json_set_bytes(cell, "qualifier", w->qualifier) &&
                cli_json_set_bytes(cell, "value", w->value);
    if (fits)
        return json_array_append_new(list, cell) == 0;
    json_decref(cell);
    return false;
}

/* Returns the family's object in body, which it creates if missing. */
static json_t *family_of(json_t *body, struct slice family)
{
    json_t *object = json_object_getn(body, (const char *)family.ptr, family.len);
    if (object != NULL)
        return object;
    object = json_object();
    if (json_object_setn_new(body, (const char *)family.ptr, family.len, object) != 0)
        return NULL;
    return object;
}

static enum cli_exit add_column(json_t *body, const struct cli_word *w, const char *text,
                                json_t *value)
{
    json_t *family = family_of(body, w->family);
    const char *name = (const char *)w->qualifier.ptr;
    if (json_is_null(family) || json_object_getn(family, name, w->qualifier.len) != NULL) {
        json_decref(value);
        return cli_fail(CLI_USAGE, "\"%s\" names a column that was named before", text);
    }
    if (value == NULL || json_object_setn_new(family, name, w->qualifier.len, value) != 0)
        return cli_fail(CLI_USAGE, "\"%s\" does not fit into a request", text);
    return CLI_OK;
}

enum cli_exit cli_cells_from_words(const char *const *words, size_t count, json_t **out)
{
    json_t *body = json_object();
    enum cli_exit e = CLI_OK;
    for (size_t i = 0; i < count && e == CLI_OK; i++) {
        struct cli_word w;
        e = cli_word_split(base_slice_text(words[i]), true, &w);
        if (e != CLI_OK)
            break;
        if (base_utf8_is_valid(w.qualifier))
            e = add_column(body, &w, words[i], value_of(w.value));
        else if (!add_binary(body, &w))
            e = cli_fail(CLI_USAGE, "\"%s\" does not fit into a request", words[i]);
    }
    if (e == CLI_OK)
        *out = body;
    else
        json_decref(body);
    return e;
}

enum cli_exit cli_cells_deletion(const char *const *words, size_t count, json_t **out)
{
    json_t *body = json_object();
    enum cli_exit e = CLI_OK;
    for (size_t i = 0; i < count && e == CLI_OK; i++) {
        struct cli_word w;
        e = cli_word_split(base_slice_text(words[i]), false, &w);
        if (e != CLI_OK)
            break;
        const char *family = (const char *)w.family.ptr;
        if (!base_utf8_is_valid(w.qualifier))
            e = cli_fail(CLI_USAGE,
                         "\"%s\" is not UTF-8; delete such a column with DELETE "
                         "/v1/tables/T/cells/KEY/FAMILY/QUALIFIER",
                         words[i]);
        else if (w.has_qualifier)
            e = add_column(body, &w, words[i], json_null());
        else if (json_object_getn(body, family, w.family.len) != NULL ||
                 json_object_setn_new(body, family, w.family.len, json_null()) != 0)
            e = cli_fail(CLI_USAGE, "\"%s\" names a family that was named before", words[i]);
    }
    if (e == CLI_OK)
        *out = body;
    else
        json_decref(body);
    return e;
}

/* --- JSON to lines ----------------------------------------------------------------------------
 */

void cli_cells_begin(struct cli_table *t)
{
    static const struct cli_column columns[] = {
        {"KEY", false}, {"COLUMN", false}, {"TIMESTAMP", false}, {"VALUE", false}};
    cli_table_begin(t, columns, sizeof columns / sizeof columns[0]);
}

struct printer {
    struct cli_table *table;
    struct slice key;
    struct buf column;
    struct buf value;
    size_t cells;
};

/* Returns the cell's printed content: the number of an aggregate, or the value. */
static struct slice shown_of(const json_t *cell, struct buf *holder)
{
    const json_t *number = json_object_get(cell, "number");
    if (number == NULL)
        number = json_object_get(cell, "estimate");
    if (!json_is_integer(number))
        return cli_json_bytes(cell, "value", "value_b64", holder);
    base_buf_truncate(holder, 0);
    base_buf_printf(holder, "%lld", (long long)json_integer_value(number));
    return base_buf_slice(holder);
}

static void print_cell(struct printer *p, const char *family, struct slice qualifier,
                       const json_t *cell)
{
    char when[BASE_TIME_TEXT];
    int64_t us = 0;
    const char *micros = json_string_value(json_object_get(cell, "timestamp"));
    struct slice time = micros != NULL ? base_slice_text(micros) : SLICE_EMPTY;
    if (p->table->terminal && micros != NULL && base_parse_i64(time, &us) == ERR_OK) {
        base_time_format(us, when);
        time = base_slice_text(when);
    }
    base_buf_truncate(&p->column, 0);
    base_buf_printf(&p->column, "%s:", family);
    base_buf_append(&p->column, qualifier);
    struct slice cells[] = {p->key, base_buf_slice(&p->column), time, shown_of(cell, &p->value)};
    cli_table_row(p->table, cells);
    p->cells++;
}

static void print_column(struct printer *p, const char *family, struct slice qualifier,
                         const json_t *versions)
{
    size_t i;
    const json_t *cell;
    json_array_foreach(versions, i, cell)
    {
        print_cell(p, family, qualifier, cell);
    }
}

static void print_binary(struct printer *p, const json_t *list)
{
    struct buf qualifier;
    base_buf_init(&qualifier, CLI_ANSWER_BYTES);
    size_t i;
    const json_t *cell;
    json_array_foreach(list, i, cell)
    {
        const char *family = json_string_value(json_object_get(cell, "family"));
        struct slice name = cli_json_bytes(cell, "qualifier", "qualifier_b64", &qualifier);
        print_cell(p, family != NULL ? family : "", name, cell);
    }
    base_buf_fini(&qualifier);
}

enum cli_exit cli_cells_print(struct cli_table *t, const json_t *row, size_t *cell_count)
{
    struct printer p = {.table = t};
    struct buf key;
    base_buf_init(&key, CLI_ANSWER_BYTES);
    base_buf_init(&p.column, CLI_ANSWER_BYTES);
    base_buf_init(&p.value, CLI_ANSWER_BYTES);
    json_t *families = json_object_get(row, "cells");
    p.key = cli_json_bytes(row, "key", "key_b64", &key);
    enum cli_exit e = CLI_OK;
    if (!json_is_object(families) || p.key.len == 0)
        e = cli_fail(CLI_REFUSED, "the server sent something that is not a row");
    const char *family;
    json_t *columns;
    json_object_foreach(families, family, columns)
    {
        const char *name;
        size_t name_len;
        json_t *versions;
        if (strcmp(family, "$binary") == 0)
            print_binary(&p, columns);
        json_object_keylen_foreach(columns, name, name_len, versions)
        {
            print_column(&p, family, base_slice(name, name_len), versions);
        }
    }
    *cell_count += p.cells;
    base_buf_fini(&key);
    base_buf_fini(&p.column);
    base_buf_fini(&p.value);
    return e != CLI_OK ? e : cli_out_state();
}

enum cli_exit cli_cells_show(bool as_json, const json_t *row)
{
    struct cli_table table;
    size_t cells = 0;
    if (as_json) {
        cli_json_print(row);
        return CLI_OK;
    }
    cli_cells_begin(&table);
    enum cli_exit e = cli_cells_print(&table, row, &cells);
    cli_table_end(&table);
    return e;
}
