/*
 * gateway/api/cell_scan.c - parses one cell of a row's JSON body, straight from its text.
 */
#include "gateway/api/cell_scan.h"

#include <stdio.h>

#include "gateway/api/time_unit.h"
#include "gateway/cell_fields.h"

#include "base/banned.h"

struct reader {
    struct gw_scan *scan;
    struct gw_cell_fields *f;
    struct errbuf *eb;
};

/* --- members ---------------------------------------------------------------------------------- */

static enum err refuse_both(struct reader *r, const char *name)
{
    return base_fail(r->eb, ERR_INVALID, "give \"%s\" or \"%s_b64\", once", name, name);
}

/* Reads a text member into *out; null counts as absent. */
static enum err take_text(struct reader *r, const char *name, struct slice *out)
{
    if (gw_scan_null(r->scan))
        return ERR_OK;
    if (out->ptr != NULL)
        return refuse_both(r, name);
    if (gw_scan_string(r->scan, out))
        return ERR_OK;
    return gw_scan_peek(r->scan) == '"'
               ? gw_scan_failed(r->scan, r->eb)
               : base_fail(r->eb, ERR_INVALID, "\"%s\" must be text", name);
}

static enum err take_base64(struct reader *r, const char *name, struct slice *out)
{
    struct slice text = SLICE_EMPTY;
    enum err e = take_text(r, name, &text);
    if (e != ERR_OK || text.ptr == NULL)
        return e;
    if (out->ptr != NULL)
        return refuse_both(r, name);
    return gw_scan_base64(r->scan, text, name, out, r->eb);
}

static bool is_number_next(struct reader *r)
{
    uint8_t next = gw_scan_peek(r->scan);
    return next == '-' || (next >= '0' && next <= '9');
}

static enum err take_integer(struct reader *r)
{
    int64_t number = 0;
    if (r->f->input.ptr != NULL)
        return refuse_both(r, "input");
    if (!gw_scan_integer(r->scan, &number))
        return base_fail(r->eb, ERR_INVALID, "an input must be a whole number of 64 bits");
    r->f->input_is_integer = true;
    return gw_integer_bytes(number, r->scan->arena, &r->f->input, r->eb);
}

static enum err take_input(struct reader *r)
{
    if (is_number_next(r))
        return take_integer(r);
    r->f->input_is_text = gw_scan_peek(r->scan) == '"';
    return take_text(r, "input", &r->f->input);
}

/* Reads the number that reads return beside a value or state, as 8 bytes. */
static enum err take_reading(struct reader *r, const char *name, struct slice *out)
{
    int64_t number = 0;
    r->f->has_reading = true;
    if (!gw_scan_integer(r->scan, &number))
        return base_fail(r->eb, ERR_INVALID, "\"%s\" must be a whole number of 64 bits", name);
    return gw_integer_bytes(number, r->scan->arena, out, r->eb);
}

static enum err unknown_field(struct reader *r, struct slice name)
{
    return base_fail(r->eb, ERR_INVALID, "unknown field \"%.*s\"",
                     (int)(name.len < 48 ? name.len : 48), (const char *)name.ptr);
}

static enum err take_member(struct reader *r, struct slice name, bool is_entry)
{
    struct gw_cell_fields *f = r->f;
    if (base_slice_is(name, "value")) {
        f->value_is_null = gw_scan_peek(r->scan) == 'n';
        return take_text(r, "value", &f->value);
    }
    if (base_slice_is(name, "value_b64"))
        return take_base64(r, "value", &f->value);
    if (base_slice_is(name, "timestamp"))
        return take_text(r, "timestamp", &f->timestamp);
    if (base_slice_is(name, "input"))
        return take_input(r);
    if (base_slice_is(name, "input_b64"))
        return take_base64(r, "input", &f->input);
    if (base_slice_is(name, "number"))
        return take_reading(r, "number", &f->number);
    if (base_slice_is(name, "estimate"))
        return take_reading(r, "estimate", &(struct slice){0});
    if (is_entry && base_slice_is(name, "family"))
        return take_text(r, "family", &f->family);
    if (is_entry && base_slice_is(name, "qualifier"))
        return take_text(r, "qualifier", &f->qualifier);
    if (is_entry && base_slice_is(name, "qualifier_b64"))
        return take_base64(r, "qualifier", &f->qualifier);
    return unknown_field(r, name);
}

/* Returns a bit for each name that a cell may have, to find duplicates. */
static unsigned member_bit(struct slice name)
{
    static const char *const names[] = {"value",     "value_b64",     "timestamp", "family",
                                        "qualifier", "qualifier_b64", "input",     "input_b64",
                                        "number",    "estimate"};
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (base_slice_is(name, names[i]))
            return 1u << i;
    }
    return 0;
}

/* Reads the members, after '{'. */
static enum err take_members(struct reader *r, bool is_entry)
{
    unsigned seen = 0;
    bool more = !gw_scan_take(r->scan, '}');
    while (more) {
        struct slice name;
        if (!gw_scan_name(r->scan, &name))
            return gw_scan_failed(r->scan, r->eb);
        if ((seen & member_bit(name)) != 0)
            return gw_scan_failed(r->scan, r->eb);
        seen |= member_bit(name);
        enum err e = take_member(r, name, is_entry);
        if (e != ERR_OK)
            return e;
        if (!gw_scan_next(r->scan, '}', &more))
            return gw_scan_failed(r->scan, r->eb);
    }
    return ERR_OK;
}

/* --- cells ------------------------------------------------------------------------------------ */

static enum err wrong_cell(const struct sto_family *family, struct errbuf *eb)
{
    if (family->aggregate != STO_AGGREGATE_NONE)
        return base_fail(eb, ERR_INVALID,
                         "a cell of family \"%s\" (%s) must be %s, {\"input\":..}, "
                         "{\"value_b64\":..} or a list of those",
                         family->name, sto_aggregate_name(family->aggregate),
                         family->aggregate == STO_AGGREGATE_HLL ? "text" : "a whole number");
    return base_fail(eb, ERR_INVALID,
                     "a cell of family \"%s\" must be %stext, {\"value\":..}, {\"value_b64\":..} "
                     "or a list of those",
                     family->name, family->value_type == STO_VALUE_INT64 ? "a whole number, " : "");
}

enum err gw_cell_scan(struct gw_scan *scan, const struct sto_family *family,
                      struct gw_cell_fields *out, struct errbuf *eb)
{
    struct reader r = {scan, out, eb};
    bool is_plain = family->aggregate == STO_AGGREGATE_NONE;
    *out = (struct gw_cell_fields){.value_is_null = false};
    if (gw_scan_peek(scan) == '"') {
        out->input_is_text = true;
        return gw_scan_string(scan, is_plain ? &out->value : &out->input)
                   ? ERR_OK
                   : gw_scan_failed(scan, eb);
    }
    if (!is_plain && is_number_next(&r))
        return take_integer(&r);
    if (family->value_type == STO_VALUE_INT64 && is_number_next(&r))
        return take_reading(&r, "number", &out->number);
    return gw_scan_take(scan, '{') ? take_members(&r, false) : wrong_cell(family, eb);
}

enum err gw_cell_scan_entry(struct gw_scan *scan, struct gw_cell_fields *out, struct errbuf *eb)
{
    struct reader r = {scan, out, eb};
    *out = (struct gw_cell_fields){.value_is_null = false};
    return take_members(&r, true);
}

enum err gw_cell_fail_at(struct errbuf *eb, enum err rc, const struct sto_family *family,
                         struct slice qualifier, size_t index)
{
    char place[32] = "";
    if (rc != ERR_INVALID && rc != ERR_TOO_BIG && rc != ERR_NOT_FOUND)
        return rc;
    if (index != SIZE_MAX)
        (void)snprintf(place, sizeof place, "[%zu]", index); /* fits */
    return base_fail_at(eb, rc, "%s.%.*s%s", family->name,
                        (int)(qualifier.len < 48 ? qualifier.len : 48), (const char *)qualifier.ptr,
                        place);
}

/* --- mutations -------------------------------------------------------------------------------- */

static enum err aggregate_mutation(const struct gw_cell_fields *f, const struct sto_family *family,
                                   int64_t unit_us, struct sto_mutation *out, struct errbuf *eb)
{
    bool is_input = f->input.ptr != NULL;
    if (is_input == (f->value.ptr != NULL) || (is_input && f->has_reading))
        return base_fail(eb, ERR_INVALID,
                         "a cell of family \"%s\" (%s) needs \"input\", to be added, or the "
                         "\"value\" of another, to be merged",
                         family->name, sto_aggregate_name(family->aggregate));
    out->kind = is_input ? STO_ADD_TO_CELL : STO_MERGE_TO_CELL;
    out->value = is_input ? f->input : f->value;
    enum err e = gw_time_parse(f->timestamp, "timestamp", unit_us, GW_AGGREGATE_TIMESTAMP,
                               &out->timestamp_us, eb);
    /* Bytes may encode an integer: sto_mutations_check checks them. */
    if (e == ERR_OK && is_input && (f->input_is_integer || f->input_is_text))
        e = gw_input_check(family, f->input_is_integer, eb);
    return e;
}

enum err gw_cell_mutation(const struct gw_cell_fields *f, const struct sto_family *family,
                          struct slice qualifier, int64_t unit_us, struct sto_mutation *out,
                          struct errbuf *eb)
{
    *out = (struct sto_mutation){
        .kind = STO_SET_CELL, .family = family->number, .qualifier = qualifier, .value = f->value};
    if (family->aggregate != STO_AGGREGATE_NONE)
        return aggregate_mutation(f, family, unit_us, out, eb);
    bool is_int64 = family->value_type == STO_VALUE_INT64;
    if (f->input.ptr != NULL || (f->has_reading && !is_int64))
        return gw_input_check(family, false, eb);
    if (f->value.ptr == NULL && is_int64)
        out->value = f->number;
    if (out->value.ptr == NULL)
        return base_fail(eb, ERR_INVALID,
                         "a cell of family \"%s\" has neither \"value\" nor \"value_b64\"",
                         family->name);
    return gw_time_parse(f->timestamp, "timestamp", unit_us, STO_TIMESTAMP_SERVER,
                         &out->timestamp_us, eb);
}
