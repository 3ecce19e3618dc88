/*
 * cli/quota.h - the fields of a quota, listed once for options, help and every table that shows
 * one.
 *
 * Does:     list option, member of the server's JSON, label, kind of number, help; convert the
 *           options of a line to members.
 * Owns:     nothing.
 * May use:  cli/fields.h.
 * Knows no: how the server applies them.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: CLI_USAGE, reported on stderr.
 * Limits:   none.
 * Promises: 1. Fields are shown in this order.
 */
#ifndef CLI_QUOTA_H
#define CLI_QUOTA_H

#include "cli/fields.h"

/* X(option, member, label, kind, help) */
#define CLI_QUOTA(X)                                                                               \
    X("bytes", "stored_bytes", "stored", BYTES, "stored bytes; N, NK, NM, NG, NT, none, inherit")  \
    X("rows", "rows", "rows", COUNT, "rows")                                                       \
    X("keys", "keys", "keys", COUNT, "API keys; up to 1000")                                       \
    X("reads-per-s", "read_ops_per_s", "reads/s", COUNT, "read operations a second")               \
    X("writes-per-s", "write_ops_per_s", "writes/s", COUNT, "write operations a second")           \
    X("read-bytes-per-s", "read_bytes_per_s", "read bytes/s", BYTES, "bytes read in a second")     \
    X("write-bytes-per-s", "write_bytes_per_s", "write bytes/s", BYTES,                            \
      "bytes written in a second")                                                                 \
    X("burst-ms", "burst_ms", "burst ms", COUNT, "so much of a rate may come at once; 1000")       \
    X("concurrent", "concurrent_requests", "concurrent", COUNT,                                    \
      "requests under way at a time; 1000")                                                        \
    X("weight", "weight", "weight", COUNT, "share of a busy server; 100, up to 1000")              \
    X("reserved-per-s", "reserved_ops_per_s", "reserved/s", COUNT,                                 \
      "operations a second ahead of shares")                                                       \
    X("change-streams", "change_streams", "change streams", COUNT, "1, or 0: none are made")       \
    X("authorized-views", "authorized_views", "authorized views", COUNT, "1, or 0: none are made") \
    X("control-per-s", "control_ops_per_s", "control/s", COUNT,                                    \
      "changes of tables a second; 20, up to 1000")                                                \
    X("audit-days", "audit_days", "audit days", COUNT, "audit records are kept; 400, up to 36500") \
    X("change-bytes", "change_bytes", "changes", BYTES,                                            \
      "stored changes of change streams; as --bytes unless given")                                 \
    X("backup-bytes", "backup_bytes", "backup bytes", BYTES,                                       \
      "bytes of its backups together; 8 times --bytes")                                            \
    X("idempotency-tokens", "idempotency_tokens", "tokens", COUNT,                                 \
      "idempotency tokens remembered at a time; 1000000")                                          \
    X("schema-bytes", "schema_bytes", "schemas", BYTES,                                            \
      "memory of its schemas and authorized views; 16M, up to 1G")                                 \
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

/* Sets the members of a quota from the line's options: "none" becomes null,
 * "inherit" removes the member. */
enum cli_exit cli_quota_apply(const struct cli *cli, json_t *quota);
/* Returns whether the line has at least one option of a quota. */
bool cli_quota_is_given(const struct cli *cli);

#endif
