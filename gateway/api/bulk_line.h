/*
 * gateway/api/bulk_line.h - one line of a bulk write: from its text to an operation to a verdict.
 *
 * Does:     parses and checks a line into a ready sto_mutate_op; writes its verdict.
 * Owns:     the line's memory (arena, copy of its text, JSON) and table scope, until clear.
 * May use:  base/, storage/, tenancy/, gateway/problem.h, gateway/api/.
 * Knows no: source of lines, order of the verdicts.
 * Threads:  one at a time: the loop or the helper.
 * Blocks:   no.
 * Fails by: the errors of input, table and mutations, with detail in op.detail.
 * Limits:   LIM_BULK_LINE_BYTES.
 * Promises: 1. A line that was built can be submitted as it is.
 */
#ifndef GATEWAY_API_BULK_LINE_H
#define GATEWAY_API_BULK_LINE_H

#include <jansson.h>

#include "gateway/api/json_in.h"
#include "gateway/api/row_body.h"
#include "storage/engine.h"
#include "tenancy/admission.h"

struct gw_bulk;

struct gw_bulk_line {
    struct sto_mutate_op op;
    struct gw_bulk *bulk;
    struct gw_bulk_line *next;
    uint64_t number;            /* from 1 */
    size_t bytes;               /* of its text */
    struct ten_refusal refusal; /* name NULL: admission did not refuse it */
    int64_t unit_us;            /* of its timestamps: time_unit.h */
    bool done;                  /* op.result is its verdict */
    bool has_scope;
    struct arena arena;
    struct buf text; /* a copy, when it is a long one */
    json_t *json;    /* of a line with "mutations", else NULL */
    struct gw_json_charge json_charge;
    struct sto_mutation delete_row;
};

void gw_bulk_line_init(struct gw_bulk_line *l, struct gw_bulk *bulk, uint64_t number, size_t bytes);
void gw_bulk_line_clear(struct gw_bulk_line *l);

/* Acquires the scope of the table; releases the scope that the line had. */
enum err gw_bulk_line_enter(struct gw_bulk_line *l, struct ten_tenant *t,
                            struct slice table) MUST_CHECK;
/* Turns text into a checked operation; the line must have a scope, and the text must live until
 * clear. */
enum err gw_bulk_line_build(struct gw_bulk_line *l, const struct sto_account *account,
                            struct slice text) MUST_CHECK;
/* Appends {"line":N,"status":S,...} and a line feed; the buf latches. */
void gw_bulk_line_put_verdict(struct buf *out, const struct gw_bulk_line *l);

#endif
