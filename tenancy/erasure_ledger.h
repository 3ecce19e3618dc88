/*
 * tenancy/erasure_ledger.h - the record of erased tenants, outside the database.
 *
 * Does:     keeps one line for each purged tenant, and a second one when the last backup that held
 *           the tenant is gone: a signed certificate (tenancy/certificate.h), chained to the
 *           previous line by its hash. A restore of a backup reads from it which tenants must not
 *           return.
 * Owns:     the file, and a copy of it beside the backups.
 * May use:  base/, tenancy/, jansson.
 * Knows no: backups, the database, which signatures are valid.
 * Threads:  one at a time.
 * Blocks:   yes: every line is on disk when append returns.
 * Fails by: ERR_IO, ERR_STORAGE_FULL, ERR_CORRUPT (a malformed line, or one that does not continue
 *           the chain).
 * Limits:   TEN_CERTIFICATE_MAX bytes a line.
 * Promises: 1. Lines are only appended. A torn last line, left by a crash, is cut off at open; a
 *              torn line in the middle is an error. 2. Both files hold the same lines when append
 *              returns.
 */
#ifndef TENANCY_ERASURE_LEDGER_H
#define TENANCY_ERASURE_LEDGER_H

#include "base/err.h"
#include "base/limits.h"
#include "base/slice.h"
#include "tenancy/offboard.h"

#define TEN_CERTIFICATE_MAX LIM_CERTIFICATE_BYTES

#define TEN_LEDGER_FILE "erasures.ndjson" /* in the data directory and beside the backups */

struct ten_erasure {
    char tenant[LIM_TENANT_ID + 1];
    char job[TEN_JOB_ID + 1];
    int64_t purged_us;
    bool is_expired; /* the second line: no backup holds the tenant any more */
};

struct ten_erasure_ledger;

/* mirror_path: NULL: no copy. Creates missing files. A copy with fewer lines is brought up to date;
 * one with more lines (the data directory came from a backup) adds its lines to the first file. */
enum err ten_erasure_ledger_open(const char *path, const char *mirror_path,
                                 struct ten_erasure_ledger **out, struct errbuf *eb) MUST_CHECK;
void ten_erasure_ledger_close(struct ten_erasure_ledger *ledger);
/* Returns the hash that the next line must name: 64 hexadecimal digits. */
const char *ten_erasure_ledger_head(const struct ten_erasure_ledger *ledger);
/* Appends a line. line: a certificate as one line of JSON, without the line feed. On failure
 * nothing is appended; if that cannot be ensured, every append fails until the ledger is opened
 * again. */
enum err ten_erasure_ledger_append(struct ten_erasure_ledger *ledger, struct slice line,
                                   struct errbuf *eb) MUST_CHECK;

/* Parses a line. ERR_CORRUPT when it is malformed. */
enum err ten_erasure_parse(struct slice line, struct ten_erasure *out,
                           struct errbuf *eb) MUST_CHECK;

typedef enum err ten_erasure_visit(void *ctx, const struct ten_erasure *erasure, struct slice line);
/* Reads a file, oldest line first, and checks the chain. The file need not be open; a missing file
 * has no lines. Any result but ERR_OK from visit stops the reading and is returned. */
enum err ten_erasure_ledger_read(const char *path, ten_erasure_visit *visit, void *ctx,
                                 struct errbuf *eb) MUST_CHECK;

#endif
