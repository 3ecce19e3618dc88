#include "tests/support/model_draw.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "tests/support/http.h"
#include "tests/support/random.h"

#include "base/banned.h"

static struct random dice;

void model_draw_seed(uint64_t seed)
{
    dice.state = seed;
}

uint32_t model_below(uint32_t n)
{
    return random_below(&dice, n);
}

/* Pieces that are awkward in prefixes, escapes, JSON and URLs. */
static const struct slice PIECES[] = {
    {(const uint8_t *)"a", 1},        {(const uint8_t *)"b", 1},      {(const uint8_t *)"aa", 2},
    {(const uint8_t *)"#", 1},        {(const uint8_t *)"\0", 1},     {(const uint8_t *)"\xff", 1},
    {(const uint8_t *)"\xc3\xa4", 2}, {(const uint8_t *)"\0\xff", 2}, {(const uint8_t *)"/", 1},
    {(const uint8_t *)"\"", 1},       {(const uint8_t *)"\x01", 1},   {(const uint8_t *)"..", 2},
};

struct slice model_draw_bytes(uint8_t *room, uint32_t most, uint32_t least)
{
    size_t n = 0;
    for (uint32_t parts = least + model_below(most - least + 1); parts > 0; parts--) {
        struct slice piece = PIECES[model_below(sizeof(PIECES) / sizeof(PIECES[0]))];
        memcpy(room + n, piece.ptr, piece.len);
        n += piece.len;
    }
    return base_slice(room, n);
}

void model_draw(struct model_drawn *d)
{
    d->key = model_draw_bytes(d->key_room, 3, 1);
    d->qualifier = model_draw_bytes(d->qualifier_room, 2, 0);
    d->family = (int)model_below(3);
    d->timestamp = (int64_t)model_below(12) * 1000;
    uint32_t len = model_below(40) == 0 ? 1 + model_below(4000) : model_below(20);
    for (uint32_t i = 0; i < len; i++)
        d->value_room[i] =
            model_below(8) == 0 ? (uint8_t)model_below(256) : (uint8_t)('a' + model_below(26));
    d->value = base_slice(d->value_room, len);
}

json_t *model_value_new(const struct model_drawn *d, bool with_timestamp)
{
    if (!with_timestamp && model_below(2) == 0 && base_utf8_is_valid(d->value))
        return json_stringn((const char *)d->value.ptr, d->value.len);
    json_t *o = json_object();
    if (model_below(4) == 0)
        json_object_set_new(o, "value_b64", model_base64_new(d->value));
    else
        model_json_bytes(o, "value", d->value);
    if (with_timestamp) {
        char text[32];
        (void)snprintf(text, sizeof(text), "%lld", (long long)d->timestamp);
        json_object_set_new(o, "timestamp", json_string(text));
    }
    return o;
}

bool model_is_member_name(struct slice s)
{
    return base_utf8_is_valid(s) && (s.len == 0 || memchr(s.ptr, 0, s.len) == NULL);
}

bool model_body_add(json_t *body, const struct model_table *t, const struct model_drawn *d,
                    json_t *value)
{
    const char *family = t->families[d->family];
    if (!model_is_member_name(d->qualifier)) {
        json_t *binary = json_object_get(body, "$binary");
        if (binary == NULL)
            json_object_set_new(body, "$binary", json_array());
        binary = json_object_get(body, "$binary");
        json_t *entry =
            json_is_object(value) ? json_incref(value) : json_pack("{s:O}", "value", value);
        json_object_set_new(entry, "family", json_string(family));
        json_object_set_new(entry, "qualifier_b64", model_base64_new(d->qualifier));
        json_array_append_new(binary, entry);
        json_decref(value);
        return true;
    }
    json_t *columns = json_object_get(body, family);
    if (columns == NULL)
        json_object_set_new(body, family, json_object());
    columns = json_object_get(body, family);
    char name[32];
    (void)snprintf(name, sizeof(name), "%.*s", (int)d->qualifier.len,
                   (const char *)d->qualifier.ptr);
    if (!json_is_object(columns) || json_object_get(columns, name) != NULL) {
        json_decref(value);
        return false;
    }
    json_object_set_new(columns, name, value);
    return true;
}

void model_draw_range(struct model_range *r)
{
    memset(r, 0, sizeof(*r));
    uint32_t kind = model_below(4);
    if (kind == 0)
        return;
    if (kind == 1) {
        r->prefix = model_draw_bytes(r->room[0], 2, 1);
        (void)snprintf(r->query, sizeof(r->query), "&prefix=%s", pct(r->prefix.ptr, r->prefix.len));
        return;
    }
    r->start = model_draw_bytes(r->room[1], 2, 1);
    r->end = model_draw_bytes(r->room[2], 2, 1);
    if (kind == 2 || base_slice_compare(r->start, r->end) >= 0) {
        r->end = SLICE_EMPTY;
        (void)snprintf(r->query, sizeof(r->query), "&start=%s", pct(r->start.ptr, r->start.len));
    } else {
        (void)snprintf(r->query, sizeof(r->query), "&start=%s&end=%s",
                       pct(r->start.ptr, r->start.len), pct(r->end.ptr, r->end.len));
    }
}

json_t *model_range_next_new(const struct model_table *table, const struct model_range *r,
                             size_t *i)
{
    while (*i < table->count) {
        struct slice key = table->cells[*i].key;
        if (r->end.len > 0 && base_slice_compare(key, r->end) >= 0)
            return NULL;
        if (r->prefix.len > 0 && !base_slice_starts_with(key, r->prefix))
            return NULL;
        *i = model_next_row(table, *i);
        json_t *row = model_row_new(table, key);
        if (row != NULL)
            return row;
    }
    return NULL;
}
