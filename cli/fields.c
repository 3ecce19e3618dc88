/* cli/fields.c - see fields.h. */
#include "cli/fields.h"

#include "base/clock.h"
#include "base/text.h"
#include "cli/families.h"
#include "cli/http.h"
#include "cli/json_text.h"
#include "cli/out.h"
#include "cli/target.h"
#include "cli/text.h"

#include "base/banned.h"

#define LABEL_PAD 20

/* --- one value --------------------------------------------------------------------------------
 */

static void put_text(struct buf *out, const json_t *value)
{
    if (json_is_string(value))
        base_buf_append(out, base_slice(json_string_value(value), json_string_length(value)));
    else if (value != NULL && !json_is_null(value))
        (void)cli_json_append(out, value, 0); /* the caller checks the buf's error once */
}

static void put_number(struct buf *out, const json_t *value, bool is_bytes)
{
    if (!json_is_integer(value) || !cli_out_is_terminal()) {
        put_text(out, value);
        return;
    }
    json_int_t number = json_integer_value(value);
    uint64_t magnitude = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    if (number < 0)
        base_buf_append_byte(out, '-');
    if (is_bytes)
        cli_text_put_bytes(out, magnitude);
    else
        cli_text_put_count(out, magnitude);
}

static void put_limit(struct buf *out, const json_t *value, bool is_bytes)
{
    if (json_is_null(value))
        base_buf_append_text(out, "none");
    else
        put_number(out, value, is_bytes);
}

static void put_micros(struct buf *out, const json_t *value)
{
    int64_t us = 0;
    const char *text = json_string_value(value);
    if (text == NULL || !cli_out_is_terminal() ||
        base_parse_i64(base_slice_text(text), &us) != ERR_OK) {
        put_text(out, value);
        return;
    }
    char when[BASE_TIME_TEXT];
    base_time_format(us, when);
    base_buf_append_text(out, when);
}

static void put_names(struct buf *out, const json_t *value)
{
    size_t i;
    const json_t *name;
    json_array_foreach(value, i, name)
    {
        if (i > 0)
            base_buf_append_byte(out, ',');
        put_text(out, name);
    }
}

size_t cli_field_steps_done(const json_t *steps, size_t *out_total)
{
    size_t done = 0;
    size_t i;
    const json_t *step;
    json_array_foreach(steps, i, step)
    {
        const json_t *mark = json_object_get(step, "done");
        if (json_is_true(mark) || json_string_length(mark) > 0 || json_integer_value(mark) != 0)
            done++;
    }
    *out_total = json_array_size(steps);
    return done;
}

static void put_steps(struct buf *out, const json_t *value)
{
    size_t total = 0;
    size_t done = cli_field_steps_done(value, &total);
    if (total > 0)
        base_buf_printf(out, "%zu/%zu", done, total);
}

/* Appends "ID until TIME, ID without an end, and 3 more", or "none". */
static void put_backups(struct buf *out, const json_t *value)
{
    const json_t *listed = json_object_get(value, "listed");
    json_int_t count = json_integer_value(json_object_get(value, "count"));
    size_t i;
    const json_t *backup;
    if (!json_is_object(value))
        return;
    json_array_foreach(listed, i, backup)
    {
        const json_t *expires = json_object_get(backup, "expires");
        if (i > 0)
            base_buf_append_text(out, ", ");
        put_text(out, json_object_get(backup, "id"));
        base_buf_append_text(out, json_is_string(expires) ? " until " : " without an end");
        put_text(out, expires);
    }
    if (count == 0)
        base_buf_append_text(out, "none");
    if (count > (json_int_t)json_array_size(listed))
        base_buf_printf(out, ", and %" JSON_INTEGER_FORMAT " more",
                        count - (json_int_t)json_array_size(listed));
}

static void put_share(struct buf *out, const json_t *value, const json_t *limit, bool is_bytes)
{
    if (!json_is_integer(value) || !json_is_integer(limit) || !cli_out_is_terminal())
        return;
    base_buf_append_text(out, " of ");
    put_number(out, limit, is_bytes);
    double all = (double)json_integer_value(limit);
    if (all > 0)
        base_buf_printf(out, " (%.0f%%)", 100.0 * (double)json_integer_value(value) / all);
}

static void put_key(struct buf *out, const json_t *doc)
{
    struct buf holder;
    base_buf_init(&holder, CLI_ANSWER_BYTES);
    base_buf_append(out, cli_json_bytes(doc, "key", "key_b64", &holder));
    base_buf_fini(&holder);
}

void cli_field_text(struct buf *out, const json_t *doc, const struct cli_field *field)
{
    if (field->kind == CLI_FIELD_KEY) {
        put_key(out, doc);
        return;
    }
    json_t *value = cli_json_at(doc, field->path);
    if (value == NULL)
        return;
    bool is_bytes = field->kind == CLI_FIELD_BYTES || field->kind == CLI_FIELD_LIMIT_BYTES;
    switch (field->kind) {
    case CLI_FIELD_TEXT:
        put_text(out, value);
        break;
    case CLI_FIELD_COUNT:
    case CLI_FIELD_BYTES:
        put_number(out, value, is_bytes);
        break;
    case CLI_FIELD_LIMIT_COUNT:
    case CLI_FIELD_LIMIT_BYTES:
        put_limit(out, value, is_bytes);
        break;
    case CLI_FIELD_MICROS:
        put_micros(out, value);
        break;
    case CLI_FIELD_NAMES:
        put_names(out, value);
        break;
    case CLI_FIELD_FAMILIES:
        cli_families_put(out, value);
        break;
    case CLI_FIELD_KEY: /* above */
        break;
    case CLI_FIELD_STEPS:
        put_steps(out, value);
        break;
    case CLI_FIELD_BACKUPS:
        put_backups(out, value);
        break;
    }
    if (field->limit_path != NULL)
        put_share(out, value, cli_json_at(doc, field->limit_path), is_bytes);
}

/* --- one document -----------------------------------------------------------------------------
 */

void cli_fields_show(const struct cli *cli, const struct cli_field *fields, json_t *doc)
{
    if (cli->config.json)
        cli_json_print(doc);
    for (const struct cli_field *f = fields; !cli->config.json && f->label != NULL; f++) {
        struct buf text;
        struct buf line;
        base_buf_init(&text, CLI_ANSWER_BYTES);
        base_buf_init(&line, CLI_TEXT_BYTES);
        cli_field_text(&text, doc, f);
        if (text.len > 0) {
            if (cli_out_is_terminal())
                base_buf_printf(&line, "%-*s", LABEL_PAD, f->label);
            else
                base_buf_printf(&line, "%s ", f->path);
            cli_text_escape(&line, base_buf_slice(&text), CLI_ESCAPE_BACKSLASH);
            base_buf_append_byte(&line, '\n');
            cli_out_bytes(base_buf_slice(&line));
        }
        base_buf_fini(&text);
        base_buf_fini(&line);
    }
    json_decref(doc);
}

/* --- lists ------------------------------------------------------------------------------------
 */

struct listing {
    const struct cli *cli;
    const struct cli_field *fields;
    const char *name;
    struct cli_table table;
    size_t count;
};

static void list_row(struct listing *l, const json_t *element)
{
    struct slice cells[CLI_TABLE_COLUMNS];
    size_t ends[CLI_TABLE_COLUMNS];
    struct buf text;
    base_buf_init(&text, CLI_ANSWER_BYTES);
    size_t columns = l->table.column_count;
    for (size_t i = 0; i < columns; i++) {
        cli_field_text(&text, element, &l->fields[i]);
        ends[i] = text.len;
    }
    for (size_t i = 0; i < columns; i++) {
        size_t begin = i > 0 ? ends[i - 1] : 0;
        cells[i] = ends[i] > begin ? base_slice(text.ptr + begin, ends[i] - begin) : SLICE_EMPTY;
    }
    cli_table_row(&l->table, cells);
    base_buf_fini(&text);
}

static enum cli_exit list_page(struct listing *l, const json_t *page)
{
    const json_t *elements = json_object_get(page, l->name);
    if (!json_is_array(elements))
        return cli_fail(CLI_REFUSED, "the server's answer has no \"%s\"", l->name);
    size_t i;
    const json_t *element;
    json_array_foreach(elements, i, element)
    {
        if (l->cli->config.json)
            cli_json_list_element(element, l->count == 0);
        else
            list_row(l, element);
        l->count++;
    }
    return cli_out_state();
}

static bool is_number(enum cli_field_kind kind)
{
    return kind == CLI_FIELD_COUNT || kind == CLI_FIELD_BYTES || kind == CLI_FIELD_STEPS;
}

static enum cli_exit list_pages(struct listing *l, const struct buf *first_target)
{
    struct buf token;
    base_buf_init(&token, CLI_TARGET_BYTES);
    enum cli_exit e = CLI_OK;
    do {
        struct buf target;
        json_t *page = NULL;
        base_buf_init(&target, CLI_TARGET_BYTES);
        base_buf_append(&target, base_buf_slice(first_target));
        if (token.len > 0)
            cli_target_query(&target, "page_token", (const char *)token.ptr);
        e = cli_http_get(l->cli->http, &target, &page);
        if (e == CLI_OK && l->count == 0 && l->cli->config.json && token.len == 0)
            cli_json_list_begin(l->name);
        if (e == CLI_OK)
            e = list_page(l, page);
        base_buf_truncate(&token, 0);
        const char *next = json_string_value(json_object_get(page, "next_page_token"));
        if (next != NULL && next[0] != '\0')
            base_buf_append(&token, base_slice(next, strlen(next) + 1));
        json_decref(page);
    } while (e == CLI_OK && token.len > 0);
    base_buf_fini(&token);
    return e;
}

static void begin_table(struct listing *l, struct cli_column columns[CLI_TABLE_COLUMNS])
{
    size_t count = 0;
    for (; l->fields[count].label != NULL; count++) {
        INVARIANT(count < CLI_TABLE_COLUMNS);
        columns[count] =
            (struct cli_column){l->fields[count].label, is_number(l->fields[count].kind)};
    }
    cli_table_begin(&l->table, columns, count);
}

void cli_fields_table(const struct cli *cli, const struct cli_field *fields, const json_t *array)
{
    struct listing l = {.cli = cli, .fields = fields};
    struct cli_column columns[CLI_TABLE_COLUMNS];
    begin_table(&l, columns);
    for (size_t i = 0; i < json_array_size(array); i++)
        list_row(&l, json_array_get(array, i));
    cli_table_end(&l.table);
}

enum cli_exit cli_fields_list(const struct cli *cli, const struct cli_field *fields,
                              struct buf *target, const char *name)
{
    struct listing l = {.cli = cli, .fields = fields, .name = name};
    struct cli_column columns[CLI_TABLE_COLUMNS];
    begin_table(&l, columns);
    enum cli_exit e = list_pages(&l, target);
    cli_table_end(&l.table);
    if (e == CLI_OK && cli->config.json)
        cli_json_list_end(l.count == 0);
    else if (e == CLI_OK && l.count == 0 && cli_out_is_terminal())
        cli_out_printf("no %s\n", name);
    base_buf_fini(target);
    return e;
}
