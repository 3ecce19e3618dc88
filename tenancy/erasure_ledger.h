/*
 * tenancy/erasure_ledger.h - which tenants are gone for good, told outside the database.
 *
 * Does:     keep one line for each tenant that was purged, and a second one when the last backup
 *           that held it is gone: a certificate (tenancy/certificate.h), signed, and chained to the
 *           line before by its hash. Whoever restores a backup learns from it what must not return.
 * Owns:     the file, and a copy of it beside the backups.
 * May use:  base/, tenancy/, jansson.
 * Knows no: what backups are, the database, whose signature counts.
 * Threads:  one at a time.
 * Blocks:   yes: every line is on disk when append returns.
 * Fails by: ERR_IO, ERR_STORAGE_FULL, ERR_CORRUPT (a line that is none, or that does not continue
 *           the chain).
 * Limits:   TEN_CERTIFICATE_MAX bytes a line.
 * Promises: 1. Lines are only appended. A torn last line, left by a crash, is cut off at open; one
 *              in the middle is an error. 2. Both files hold the same when append returns.
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
    bool is_expired; /* the second line: no backup holds it any more */
};

struct ten_erasure_ledger;

/* mirror_path: NULL: no copy. Files that are not there are made; a copy that is behind is caught
 * up, one that is ahead (the data directory came from a backup) gives its lines to the first. */
enum err ten_erasure_ledger_open(const char *path, const char *mirror_path,
                                 struct ten_erasure_ledger **out, struct errbuf *eb) MUST_CHECK;
void ten_erasure_ledger_close(struct ten_erasure_ledger *ledger);
/* The hash that the next line has to name: 64 hexadecimal digits. */
const char *ten_erasure_ledger_head(const struct ten_erasure_ledger *ledger);
/* line: a certificate as one line of JSON, without the line feed. Nothing is appended when it
 * fails; if even that cannot be made sure of, nothing ever is until it is opened again. */
enum err ten_erasure_ledger_append(struct ten_erasure_ledger *ledger, struct slice line,
                                   struct errbuf *eb) MUST_CHECK;

/* What a line says. ERR_CORRUPT when it is none. */
enum err ten_erasure_parse(struct slice line, struct ten_erasure *out,
                           struct errbuf *eb) MUST_CHECK;

typedef enum err ten_erasure_visit(void *ctx, const struct ten_erasure *erasure, struct slice line);
/* Oldest first, of a file that nobody has to have open; a file that is not there has none. Checks
 * the chain. Anything but ERR_OK from visit ends it and is returned. */
enum err ten_erasure_ledger_read(const char *path, ten_erasure_visit *visit, void *ctx,
                                 struct errbuf *eb) MUST_CHECK;

#endif
