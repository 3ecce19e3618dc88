/*
 * gateway/api/row_form.h - the form in which a response shows the cells of its rows.
 *
 * Does:     reads "form" and "values", of a query or of a body.
 * Owns:     nothing.
 * May use:  base/, gateway/api/json_in.h, gateway/api/query.h.
 * Knows no: cells; gateway/api/row_sink.h writes them.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID naming the parameter or member.
 * Limits:   none of its own.
 * Promises: 1. The defaults are the full form, with text where a value is text.
 */
#ifndef GATEWAY_API_ROW_FORM_H
#define GATEWAY_API_ROW_FORM_H

#include "gateway/api/json_in.h"
#include "gateway/api/query.h"

/* Names of the fields, for a route's list of parameters and for gw_json_only. */
#define GW_ROW_FORM_FIELDS "form", "values"

struct gw_row_form {
    bool flat;   /* only the newest value of each column, as in row bodies */
    bool base64; /* every value in base64, without a number beside it */
};

enum err gw_row_form_from_query(const struct gw_query *query, struct gw_row_form *out,
                                struct errbuf *eb) MUST_CHECK;
enum err gw_row_form_from_json(const json_t *object, struct gw_row_form *out,
                               struct errbuf *eb) MUST_CHECK;

#endif
