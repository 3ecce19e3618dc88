/*
 * tenancy/certificate.h - what is said, signed, about a tenant that is gone for good.
 *
 * Does:     make a certificate of a finished purge, and the second one for when no copy is left, as
 *           one line of JSON: names sorted, nothing between them, signed.
 * Owns:     nothing; all memory is the caller's.
 * May use:  base/, storage/, tenancy/, jansson, OpenSSL.
 * Knows no: where certificates are kept (tenancy/certificate_store.h).
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_TOO_BIG (more copies than a line holds), ERR_IO (OpenSSL), ERR_NO_MEMORY.
 * Limits:   TEN_CERTIFICATE_MAX bytes.
 * Promises: 1. Times are RFC 3339 in UTC, bounds of ranges hexadecimal. 2. No display name, no row
 *              key, no value, no secret of a key. 3. The same facts make the same line.
 * Form:     docs/operations.md; base/sealed_line.h checks it without anything of this.
 */
#ifndef TENANCY_CERTIFICATE_H
#define TENANCY_CERTIFICATE_H

#include <jansson.h>
#include <openssl/types.h>

#include "base/buf.h"
#include "tenancy/erasure_ledger.h"
#include "tenancy/offboard.h"

/* 4 did not say until when an exception lasts, and named fewer; 3 read every file; 2 had no copies
 * among its checks, 1 also no older_snapshots, no holders and no holds. Lines of all are checked
 * alike. */
#define TEN_CERTIFICATE_FORMAT "bigtent.erasure.5"
#define TEN_COPY_ID            64

/* A backup that was made before the purge, and so may hold the tenant still. */
struct ten_copy {
    char id[TEN_COPY_ID + 1];
    char tenant[LIM_TENANT_ID + 1]; /* the only tenant that is in it; "": everybody */
    int64_t created_us;
    int64_t expires_us; /* 0: nobody said when */
};

/* Anything but ERR_OK ends the visit and is returned. */
typedef enum err ten_copy_visit(void *ctx, const struct ten_copy *copy);
/* Visit every copy of the database that there is now, in any order. */
typedef enum err ten_copies_visit(void *ctx, ten_copy_visit *visit, void *visit_ctx,
                                  struct errbuf *eb);

struct ten_certificate {
    const struct ten_job *job; /* all steps done but the last one; NULL: only its ID is known */
    const char *tenant;        /* without a job: whose it is, and its ID */
    const char *job_id;
    int64_t reissued_us;  /* the ledger lost the line, and has it again since then; 0: not so */
    const char *previous; /* hash of the line before, 64 digits */
    int64_t purged_us;
    uint64_t audit_days;      /* records about the tenant are kept so long after the purge */
    struct slice range_begin; /* of the tenant's stored keys */
    struct slice range_end;
    const struct ten_copy *copies; /* that were made before purged_us */
    size_t copy_count;
};

/* Signs the object, which is gone then, and appends it to out. */
enum err ten_certificate_seal_take(json_t *object, EVP_PKEY *key, struct buf *out,
                                   struct errbuf *eb) MUST_CHECK;
/* The whole line, signed, appended to out. */
enum err ten_certificate_write(const struct ten_certificate *c, EVP_PKEY *key, struct buf *out,
                               struct errbuf *eb) MUST_CHECK;
/* The second line of a tenant: erasure is what the first one said. */
enum err ten_certificate_write_expired(const struct ten_erasure *erasure, const char *previous,
                                       int64_t expired_us, EVP_PKEY *key, struct buf *out,
                                       struct errbuf *eb) MUST_CHECK;

#endif
