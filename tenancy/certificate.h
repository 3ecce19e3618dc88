/*
 * tenancy/certificate.h - the signed statements about an erased tenant.
 *
 * Does:     makes the certificate of a finished purge, and the second one when no copy is left: one
 *           line of JSON with sorted names and no white space, signed.
 * Owns:     nothing; all memory is the caller's.
 * May use:  base/, storage/, tenancy/, jansson, OpenSSL.
 * Knows no: where certificates are stored (tenancy/certificate_store.h).
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_TOO_BIG (more copies than fit in a line), ERR_IO (OpenSSL), ERR_NO_MEMORY.
 * Limits:   TEN_CERTIFICATE_MAX bytes.
 * Promises: 1. Times are RFC 3339 in UTC, bounds of ranges hexadecimal. 2. No display name, no row
 *              key, no value, no secret of a key. 3. The same facts produce the same line.
 * Form:     docs/operations.md; base/sealed_line.h verifies it without any of this code.
 */
#ifndef TENANCY_CERTIFICATE_H
#define TENANCY_CERTIFICATE_H

#include <jansson.h>
#include <openssl/types.h>

#include "base/buf.h"
#include "tenancy/erasure_ledger.h"
#include "tenancy/offboard.h"

/* Format 4 did not say until when an exception lasts, and named fewer exceptions; 3 read every
 * file; 2 had no copies among its checks; 1 also lacked older_snapshots, holders and holds. Lines
 * of all formats are verified alike. */
#define TEN_CERTIFICATE_FORMAT "bigtent.erasure.5"
#define TEN_COPY_ID            64

/* A backup created before the purge, which may still hold the tenant. */
struct ten_copy {
    char id[TEN_COPY_ID + 1];
    char tenant[LIM_TENANT_ID + 1]; /* the only tenant in it; "": all tenants */
    int64_t created_us;
    int64_t expires_us; /* 0: no expiry is set */
};

/* Receives a copy. Any result but ERR_OK stops the iteration and is returned. */
typedef enum err ten_copy_visit(void *ctx, const struct ten_copy *copy);
/* Calls `visit` for every copy of the database that exists now, in any order. */
typedef enum err ten_copies_visit(void *ctx, ten_copy_visit *visit, void *visit_ctx,
                                  struct errbuf *eb);

struct ten_certificate {
    const struct ten_job *job; /* all steps done but the last; NULL: only the job's ID is known */
    const char *tenant;        /* without a job: the tenant's ID, and the job's */
    const char *job_id;
    int64_t reissued_us;  /* when the lost line was written again; 0: it was not lost */
    const char *previous; /* hash of the previous line, 64 digits */
    int64_t purged_us;
    uint64_t audit_days;      /* days that records about the tenant are kept after the purge */
    struct slice range_begin; /* of the tenant's stored keys */
    struct slice range_end;
    const struct ten_copy *copies; /* created before purged_us */
    size_t copy_count;
};

/* Signs the object, frees it, and appends the line to out. */
enum err ten_certificate_seal_take(json_t *object, EVP_PKEY *key, struct buf *out,
                                   struct errbuf *eb) MUST_CHECK;
/* Appends the whole signed line to out. */
enum err ten_certificate_write(const struct ten_certificate *c, EVP_PKEY *key, struct buf *out,
                               struct errbuf *eb) MUST_CHECK;
/* Appends the second line of a tenant to out; `erasure` is the content of the first line. */
enum err ten_certificate_write_expired(const struct ten_erasure *erasure, const char *previous,
                                       int64_t expired_us, EVP_PKEY *key, struct buf *out,
                                       struct errbuf *eb) MUST_CHECK;

#endif
