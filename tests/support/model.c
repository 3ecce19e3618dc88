/*
 * tests/support/model.c - the simplest model of a table's contents.
 */
#include "tests/support/model.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

#include "base/banned.h"

void model_init(struct model_table *t)
{
    memset(t, 0, sizeof(*t));
}

static struct slice copy(struct slice s)
{
    return base_slice(base_new_text(s.len > 0 ? (const char *)s.ptr : "", s.len), s.len);
}

static void free_bytes(struct slice s)
{
    base_free((void *)(uintptr_t)s.ptr);
}

static void free_cell(struct model_cell *c)
{
    free_bytes(c->key);
    free_bytes(c->qualifier);
    free_bytes(c->value);
}

void model_fini(struct model_table *t)
{
    for (size_t i = 0; i < t->count; i++)
        free_cell(&t->cells[i]);
    base_free(t->cells);
    model_init(t);
}

static int compare(const struct model_cell *a, const struct model_cell *b)
{
    int c = base_slice_compare(a->key, b->key);
    if (c == 0)
        c = a->family - b->family;
    if (c == 0)
        c = base_slice_compare(a->qualifier, b->qualifier);
    if (c == 0)
        c = a->timestamp > b->timestamp ? -1 : a->timestamp < b->timestamp ? 1 : 0;
    return c;
}

void model_set(struct model_table *t, struct slice key, int family, struct slice qualifier,
               int64_t timestamp, struct slice value)
{
    struct model_cell cell = {copy(key), family, copy(qualifier), timestamp, copy(value)};
    size_t at = 0;
    while (at < t->count && compare(&t->cells[at], &cell) < 0)
        at++;
    if (at < t->count && compare(&t->cells[at], &cell) == 0) {
        free_cell(&t->cells[at]);
        t->cells[at] = cell;
        return;
    }
    if (t->count == t->room) {
        t->room = t->room == 0 ? 64 : t->room * 2;
        t->cells = base_try_realloc(t->cells, t->room * sizeof(t->cells[0]));
        ck_assert_ptr_nonnull(t->cells);
    }
    memmove(&t->cells[at + 1], &t->cells[at], (t->count - at) * sizeof(t->cells[0]));
    t->cells[at] = cell;
    t->count++;
}

static int64_t cell_bytes(const struct model_table *t, const struct model_cell *c)
{
    return (int64_t)(c->key.len + strlen(t->families[c->family]) + c->qualifier.len + c->value.len +
                     8);
}

void model_delete(struct model_table *t, struct slice key, int family,
                  const struct slice *qualifier)
{
    size_t kept = 0;
    for (size_t i = 0; i < t->count; i++) {
        struct model_cell *c = &t->cells[i];
        bool goes = base_slice_equal(c->key, key) && (family == MODEL_ANY || c->family == family) &&
                    (qualifier == NULL || base_slice_equal(c->qualifier, *qualifier));
        if (goes)
            free_cell(c);
        else
            t->cells[kept++] = *c;
    }
    t->count = kept;
}

static bool begins_row(const struct model_table *t, size_t i)
{
    return i == 0 || !base_slice_equal(t->cells[i - 1].key, t->cells[i].key);
}

/* Returns the rank of the cell at index i among its column's versions; 1 is the newest. */
static int version_of(const struct model_table *t, size_t i)
{
    int version = 1;
    while (i > 0 && base_slice_equal(t->cells[i - 1].key, t->cells[i].key) &&
           t->cells[i - 1].family == t->cells[i].family &&
           base_slice_equal(t->cells[i - 1].qualifier, t->cells[i].qualifier)) {
        version++;
        i--;
    }
    return version;
}

static bool is_visible(const struct model_table *t, size_t i)
{
    int most = t->max_versions[t->cells[i].family];
    return most == 0 || version_of(t, i) <= most;
}

static struct usage count(const struct model_table *t, bool all)
{
    struct usage sum = {0, 0, 0};
    for (size_t i = 0; i < t->count; i++) {
        sum.rows += begins_row(t, i); /* the newest version of a column is always visible */
        if (!all && !is_visible(t, i))
            continue;
        sum.bytes += cell_bytes(t, &t->cells[i]);
        sum.cells++;
    }
    return sum;
}

struct usage model_usage(const struct model_table *t)
{
    return count(t, true);
}

struct usage model_usage_visible(const struct model_table *t)
{
    return count(t, false);
}

void model_drop(struct model_table *t, struct slice prefix)
{
    size_t kept = 0;
    for (size_t i = 0; i < t->count; i++) {
        if (base_slice_starts_with(t->cells[i].key, prefix))
            free_cell(&t->cells[i]);
        else
            t->cells[kept++] = t->cells[i];
    }
    t->count = kept;
}

size_t model_first_row(const struct model_table *t, struct slice key)
{
    size_t i = 0;
    while (i < t->count && base_slice_compare(t->cells[i].key, key) < 0)
        i++;
    return i;
}

size_t model_next_row(const struct model_table *t, size_t i)
{
    size_t next = i;
    while (next < t->count && base_slice_equal(t->cells[next].key, t->cells[i].key))
        next++;
    return next;
}

bool model_has_row(const struct model_table *t, struct slice key)
{
    size_t i = model_first_row(t, key);
    return i < t->count && base_slice_equal(t->cells[i].key, key);
}

const struct model_cell *model_newest(const struct model_table *t, struct slice key, int family,
                                      struct slice qualifier)
{
    for (size_t i = 0; i < t->count; i++) {
        const struct model_cell *c = &t->cells[i];
        if (c->family == family && base_slice_equal(c->key, key) &&
            base_slice_equal(c->qualifier, qualifier))
            return c;
    }
    return NULL;
}

/* --- JSON --------------------------------------------------------------------------------------*/

json_t *model_base64_new(struct slice bytes)
{
    struct buf text;
    base_buf_init(&text, bytes.len * 2 + 16);
    ck_assert_int_eq(base_base64_encode(bytes, &text), ERR_OK);
    json_t *s = json_stringn((const char *)text.ptr, text.len);
    if (text.len == 0)
        s = json_string("");
    base_buf_fini(&text);
    return s;
}

void model_json_bytes(json_t *object, const char *name, struct slice bytes)
{
    char with_suffix[64];
    if (base_utf8_is_valid(bytes)) {
        json_object_set_new(object, name,
                            json_stringn(bytes.len > 0 ? (const char *)bytes.ptr : "", bytes.len));
        return;
    }
    (void)snprintf(with_suffix, sizeof(with_suffix), "%s_b64", name);
    json_object_set_new(object, with_suffix, model_base64_new(bytes));
}

static json_t *cell_new(const struct model_cell *c)
{
    char timestamp[32];
    json_t *o = json_object();
    model_json_bytes(o, "value", c->value);
    (void)snprintf(timestamp, sizeof(timestamp), "%lld", (long long)c->timestamp);
    json_object_set_new(o, "timestamp", json_string(timestamp));
    return o;
}

static void add_cell(json_t *cells, const char *family, const struct model_cell *c)
{
    json_t *o = cell_new(c);
    /* Text qualifiers are member names, which cannot contain NUL. */
    bool is_name = base_utf8_is_valid(c->qualifier) &&
                   (c->qualifier.len == 0 || memchr(c->qualifier.ptr, 0, c->qualifier.len) == NULL);
    if (!is_name) {
        json_t *binary = json_object_get(cells, "$binary");
        if (binary == NULL) {
            json_object_set_new(cells, "$binary", json_array());
            binary = json_object_get(cells, "$binary");
        }
        json_object_set_new(o, "family", json_string(family));
        json_object_set_new(o, "qualifier_b64", model_base64_new(c->qualifier));
        json_array_append_new(binary, o);
        return;
    }
    json_t *columns = json_object_get(cells, family);
    if (columns == NULL) {
        json_object_set_new(cells, family, json_object());
        columns = json_object_get(cells, family);
    }
    char name[64];
    (void)snprintf(name, sizeof(name), "%.*s", (int)c->qualifier.len,
                   c->qualifier.len > 0 ? (const char *)c->qualifier.ptr : "");
    json_t *versions = json_object_get(columns, name);
    if (versions == NULL) {
        json_object_set_new(columns, name, json_array());
        versions = json_object_get(columns, name);
    }
    json_array_append_new(versions, o);
}

json_t *model_row_new(const struct model_table *t, struct slice key)
{
    json_t *cells = json_object();
    size_t begin = model_first_row(t, key);
    for (size_t i = begin; i < t->count && base_slice_equal(t->cells[i].key, key); i++) {
        if (is_visible(t, i))
            add_cell(cells, t->families[t->cells[i].family], &t->cells[i]);
    }
    if (json_object_size(cells) == 0) {
        json_decref(cells);
        return NULL;
    }
    json_t *row = json_object();
    model_json_bytes(row, "key", key);
    json_object_set_new(row, "cells", cells);
    return row;
}
