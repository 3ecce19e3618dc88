/*
 * cli/quota.h - the fields of a quota, once for options, help and every table that shows one.
 *
 * Does:     list option, member of the server's JSON, label, kind of number, help.
 * Owns:     nothing.
 * May use:  cli/fields.h.
 * Knows no: what the server does with them.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: does not fail.
 * Limits:   none.
 * Promises: 1. Fields are shown in this order.
 */
#ifndef CLI_QUOTA_H
#define CLI_QUOTA_H

#include "cli/fields.h"

/* X(option, member, label, kind, help) */
#define CLI_QUOTA(X)                                                                               \
    X("bytes", "stored_bytes", "stored", BYTES, "stored bytes; N, NK, NM, NG, NT or none")         \
    X("rows", "rows", "rows", COUNT, "rows")                                                       \
    X("reads-per-s", "read_ops_per_s", "reads/s", COUNT, "read operations a second")               \
    X("writes-per-s", "write_ops_per_s", "writes/s", COUNT, "write operations a second")           \
    X("row-key-bytes", "row_key_bytes", "row key", BYTES, "longest row key; up to 4K")             \
    X("qualifier-bytes", "qualifier_bytes", "qualifier", BYTES, "longest qualifier; up to 16K")    \
    X("cell-bytes", "cell_bytes", "cell", BYTES, "largest value of a cell; 10M, up to 100M")       \
    X("row-bytes", "row_bytes", "row", BYTES, "largest row; up to 256M")                           \
    X("mutations-per-row", "mutations_per_row", "mutations", COUNT,                                \
      "changes to one row at once; up to 100000")                                                  \
    X("families", "families", "families", COUNT, "column families of a table; up to 100")          \
    X("tables", "tables", "tables", COUNT, "tables; up to 1000")

/* Entries of a struct cli_field list: of the quota alone, and of a document that holds one. */
#define CLI_QUOTA_FIELD(option, member, label, kind, help)                                         \
    {label, member, CLI_FIELD_LIMIT_##kind, NULL},
#define CLI_QUOTA_MEMBER_FIELD(option, member, label, kind, help)                                  \
    {"quota: " label, "quota." member, CLI_FIELD_LIMIT_##kind, NULL},
/* Entry of a struct cli_option list. */
#define CLI_QUOTA_OPTION(option, member, label, kind, help) {option, "N", help, false, false},

#endif
