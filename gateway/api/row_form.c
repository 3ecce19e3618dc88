/*
 * gateway/api/row_form.c - two fields of two values each.
 */
#include "gateway/api/row_form.h"

#include "base/banned.h"

/* Reads a field with two values. An absent one (ptr NULL) has the usual value. */
static enum err take_word(struct slice text, const char *name, const char *usual, const char *other,
                          bool *out, struct errbuf *eb)
{
    *out = text.ptr != NULL && base_slice_is(text, other);
    if (text.ptr == NULL || *out || base_slice_is(text, usual))
        return ERR_OK;
    return base_fail(eb, ERR_INVALID, "\"%s\" must be \"%s\" or \"%s\"", name, usual, other);
}

enum err gw_row_form_from_query(const struct gw_query *query, struct gw_row_form *out,
                                struct errbuf *eb)
{
    enum err e = take_word(gw_query_get(query, "form"), "form", "full", "flat", &out->flat, eb);
    if (e == ERR_OK)
        e = take_word(gw_query_get(query, "values"), "values", "text", "base64", &out->base64, eb);
    return e;
}

enum err gw_row_form_from_json(const json_t *object, struct gw_row_form *out, struct errbuf *eb)
{
    struct slice form = SLICE_EMPTY;
    struct slice values = SLICE_EMPTY;
    enum err e = gw_json_get_text(object, "form", &form, eb);
    if (e == ERR_OK)
        e = gw_json_get_text(object, "values", &values, eb);
    if (e == ERR_OK)
        e = take_word(form, "form", "full", "flat", &out->flat, eb);
    if (e == ERR_OK)
        e = take_word(values, "values", "text", "base64", &out->base64, eb);
    return e;
}
