/*
 * cli/top.h - current load of tenants: one answer of /v1/admin/top, as numbers and as cells.
 *
 * Does:     parse an answer, sort its tenants, format cells: rates per second, latencies, sizes.
 * Owns:     the answer's document, until cli_top_fini.
 * May use:  base/, cli/.
 * Knows no: screens, tables.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: false for a document that is not such an answer.
 * Limits:   LIM_TOP_TENANTS.
 * Promises: 1. Tenants are sorted as by the server: largest first, ties by ID.
 */
#ifndef CLI_TOP_H
#define CLI_TOP_H

#include <jansson.h>

#include "base/buf.h"
#include "cli/bounds.h"
#include "cli/table.h"

enum cli_top_order { CLI_TOP_OPS, CLI_TOP_BYTES, CLI_TOP_THROTTLED, CLI_TOP_LATENCY };

struct cli_top_row {
    const char *id; /* not escaped */
    uint64_t value; /* sort key */
    uint64_t read_ops;
    uint64_t write_ops;
    uint64_t bytes_in;
    uint64_t bytes_out;
    uint64_t throttled;
    uint64_t p50_us; /* 0: no request about rows */
    uint64_t p99_us;
    uint64_t stored_bytes;
    uint64_t rows;
};

struct cli_top {
    json_t *doc;
    const char *version; /* of the server, not escaped */
    uint64_t uptime_s;
    uint64_t interval_ms;
    uint64_t active;
    struct cli_top_row total;
    struct cli_top_row rows[LIM_TOP_TENANTS];
    size_t count;
};

/* The columns, in their order. */
enum {
    CLI_TOP_ID,
    CLI_TOP_READS,
    CLI_TOP_WRITES,
    CLI_TOP_IN,
    CLI_TOP_OUT,
    CLI_TOP_REFUSED,
    CLI_TOP_P50,
    CLI_TOP_P99,
    CLI_TOP_STORED,
    CLI_TOP_ROWS,
    CLI_TOP_COLUMNS,
};
extern const struct cli_column CLI_TOP_HEADERS[CLI_TOP_COLUMNS];

/* Returns the name of an order, as the server and --order use it; NULL after the last order. */
const char *cli_top_order_word(enum cli_top_order order);
bool cli_top_order_parse(const char *word, enum cli_top_order *out);

/* Parses doc and takes it, also when it returns false; frees the previous document. */
bool cli_top_read(struct cli_top *top, json_t *doc);
void cli_top_fini(struct cli_top *top);
void cli_top_sort(struct cli_top *top, enum cli_top_order order);

/* Appends one cell, not escaped; nothing when there is no value. readable: with units; else plain
 * numbers, rates with one decimal, latencies in microseconds. */
void cli_top_cell(struct buf *out, const struct cli_top *top, const struct cli_top_row *row,
                  size_t column, bool readable);

#endif
