/*
 * base/json_html.c - the one place where values are written as text, escaped.
 *
 * A value is placed between tags, never in an attribute, and is isolated (<bdi>), so that a value
 * with right-to-left marks does not reorder the text around it.
 */
#include "base/json_html.h"

#include <stdio.h>

#include "base/json_view.h"
#include "base/text.h"

#include "base/banned.h"

#define TIME_CHARS 24 /* 2026-11-20T10:00:00.000Z */

/* --- values ----------------------------------------------------------------------------------- */

/* Errors latch in out. */
void base_html_put(struct base_html *p, const char *markup)
{
    (void)base_buf_append_text(p->out, markup);
}

static void put_byte(struct base_html *p, uint8_t c)
{
    switch (c) {
    case '<':
        base_html_put(p, "&lt;");
        break;
    case '>':
        base_html_put(p, "&gt;");
        break;
    case '&':
        base_html_put(p, "&amp;");
        break;
    case '"':
        base_html_put(p, "&quot;");
        break;
    case '\'':
        base_html_put(p, "&#39;");
        break;
    default:
        (void)base_buf_append_byte(p->out, c);
    }
}

void base_html_escaped(struct base_html *p, struct slice text)
{
    for (size_t i = 0; i < text.len; i++)
        put_byte(p, text.ptr[i]);
}

/* Writes 1234567 as 1,234,567; anything but a whole number unchanged. */
static void put_number(struct base_html *p, struct slice digits)
{
    uint64_t number;
    bool is_whole = base_parse_u64(digits, &number) == ERR_OK;
    for (size_t i = 0; i < digits.len; i++) {
        if (is_whole && i > 0 && (digits.len - i) % 3 == 0)
            base_html_put(p, ",");
        put_byte(p, digits.ptr[i]);
    }
}

struct slice base_html_text_of(struct base_html *p, struct slice value)
{
    base_buf_truncate(&p->scratch, 0);
    if (base_json_text(value, &p->scratch) != ERR_OK)
        return SLICE_EMPTY;
    return base_buf_slice(&p->scratch);
}

void base_html_value(struct base_html *p, struct slice value)
{
    switch (base_json_kind(value)) {
    case BASE_JSON_STRING:
        base_html_put(p, "<bdi>");
        base_html_escaped(p, base_html_text_of(p, value));
        base_html_put(p, "</bdi>");
        break;
    case BASE_JSON_NUMBER:
        put_number(p, value);
        break;
    case BASE_JSON_BOOL:
        base_html_put(p, value.ptr[0] == 't' ? "yes" : "<strong>no</strong>");
        break;
    case BASE_JSON_NONE:
    case BASE_JSON_NULL:
    case BASE_JSON_ARRAY:
    case BASE_JSON_OBJECT:
        base_html_put(p, "not stated");
    }
}

void base_html_time(struct base_html *p, struct slice value)
{
    struct slice text = base_html_text_of(p, value);
    int64_t us;
    if (text.len != TIME_CHARS || base_parse_time(text, &us) != ERR_OK) {
        base_html_value(p, value);
        return;
    }
    (void)base_buf_printf(p->out, "<span class=\"time\">%.10s&nbsp;%.8s&nbsp;UTC</span>",
                          (const char *)text.ptr, (const char *)text.ptr + 11); /* errors latch */
}

bool base_html_is_there(struct slice value)
{
    enum base_json_kind kind = base_json_kind(value);
    return kind != BASE_JSON_NONE && kind != BASE_JSON_NULL;
}

/* --- tables ----------------------------------------------------------------------------------- */

static void put_words(struct base_html *p, const struct base_html_word *words, struct slice value)
{
    struct slice name = base_html_text_of(p, value);
    for (; words->name != NULL; words++)
        if (base_slice_is(name, words->name)) {
            base_html_put(p, words->words);
            return;
        }
    base_html_value(p, value);
}

/* Writes a cell. The column's label is also an attribute of each of its cells: if a table does not
 * fit, the page's style may show cells below each other. label NULL: the label is shown before the
 * cell. */
static void put_cell(struct base_html *p, const struct base_html_column *c, const char *label,
                     struct slice value)
{
    base_html_put(p, "<td");
    if (label != NULL) {
        base_html_put(p, " data-label=\"");
        base_html_put(p, label);
        base_html_put(p, "\"");
    }
    base_html_put(p, c->kind == BASE_HTML_CODE                   ? " class=\"code\">"
                     : base_json_kind(value) == BASE_JSON_NUMBER ? " class=\"number\">"
                                                                 : ">");
    if (!base_html_is_there(value) && c->if_null != NULL)
        base_html_put(p, c->if_null);
    else if (c->kind == BASE_HTML_TIME)
        base_html_time(p, value);
    else if (c->kind == BASE_HTML_WORDS)
        put_words(p, c->words, value);
    else
        base_html_value(p, value);
    if (c->unit != NULL && base_html_is_there(value))
        base_html_put(p, c->unit);
    base_html_put(p, "</td>");
}

void base_html_facts(struct base_html *p, const struct base_html_column *facts)
{
    base_html_put(p, "<table><tbody>\n");
    for (; facts->label != NULL; facts++) {
        struct slice value = base_json_at(p->line, facts->path);
        if (!base_html_is_there(value))
            continue;
        base_html_put(p, "<tr><th scope=\"row\">");
        base_html_put(p, facts->label);
        base_html_put(p, "</th>");
        put_cell(p, facts, NULL, value);
        base_html_put(p, "</tr>\n");
    }
    base_html_put(p, "</tbody></table>\n");
}

void base_html_table(struct base_html *p, const char *path, const struct base_html_column *columns)
{
    struct slice rest = base_json_at(p->line, path);
    struct slice object;
    base_html_put(p, "<table><thead><tr>");
    for (const struct base_html_column *c = columns; c->label != NULL; c++) {
        base_html_put(p, "<th scope=\"col\">");
        base_html_put(p, c->label);
        base_html_put(p, "</th>");
    }
    base_html_put(p, "</tr></thead>\n<tbody>\n");
    while (base_json_next(&rest, &object)) {
        base_html_put(p, "<tr>");
        for (const struct base_html_column *c = columns; c->label != NULL; c++)
            put_cell(p, c, c->label, base_json_at(object, c->path));
        base_html_put(p, "</tr>\n");
    }
    base_html_put(p, "</tbody></table>\n");
}
