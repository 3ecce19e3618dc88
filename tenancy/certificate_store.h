/*
 * tenancy/certificate_store.h - a server's certificates: its signing key, its ledger, look-up.
 *
 * Does:     opens or creates the key; issues the certificate of a purge, once per job; issues the
 *           second certificate; finds a tenant's certificates.
 * Owns:     the key, the ledger, an index of it.
 * May use:  base/, tenancy/, OpenSSL.
 * Knows no: states of tenants.
 * Threads:  any.
 * Blocks:   yes.
 * Fails by: ERR_IO, ERR_CORRUPT (key, ledger), ERR_NOT_FOUND.
 * Limits:   TEN_CERTIFICATE_MAX.
 * Promises: 1. One line for each job and event, even if a step is repeated. 2. The private key is
 *              stored in a file of mode 0600 and never leaves tenancy/ in any other form.
 * Stored:   certificate.key, certificate.pub (PEM), erasures.ndjson in the directory.
 */
#ifndef TENANCY_CERTIFICATE_STORE_H
#define TENANCY_CERTIFICATE_STORE_H

#include "tenancy/certificate.h"

#define TEN_CERTIFICATE_KEY_FILE    "certificate.key"
#define TEN_CERTIFICATE_PUBLIC_FILE "certificate.pub"

struct ten_certificates;

struct ten_certificates_options {
    const char *dir;          /* the data directory */
    const char *mirror_dir;   /* beside the backups; NULL: no copy of the ledger */
    ten_copies_visit *copies; /* NULL: no copies exist */
    void *copies_ctx;
};

enum err ten_certificates_open(const struct ten_certificates_options *options,
                               struct ten_certificates **out, struct errbuf *eb) MUST_CHECK;
void ten_certificates_close(struct ten_certificates *c);

/* Appends the PEM of the public key to out. */
enum err ten_certificates_public_key(struct ten_certificates *c, struct buf *out,
                                     struct errbuf *eb) MUST_CHECK;

/* Signs an object other than a certificate with the same key; frees the object. */
enum err ten_certificates_seal_take(struct ten_certificates *c, json_t *object, struct buf *out,
                                    struct errbuf *eb) MUST_CHECK;

#define TEN_COPIES_LISTED 20
/* Copies that hold a tenant, those kept longest first: copies without an expiry, then the latest
 * expiry. */
struct ten_copies {
    uint64_t count;
    size_t listed; /* number of copies in `of` */
    struct ten_copy of[TEN_COPIES_LISTED];
};
/* Returns the copies that hold the tenant now: those made before its purge, if the purge is
 * certified, otherwise all. */
enum err ten_certificates_copies(struct ten_certificates *c, struct slice tenant,
                                 struct ten_copies *out, struct errbuf *eb) MUST_CHECK;
/* Issues the job's certificate, if there is none yet. audit_days: days from now that records about
 * the tenant are kept. out_has_copies: the certificate names copies. */
enum err ten_certificates_issue(struct ten_certificates *c, const struct ten_job *job,
                                uint64_t audit_days, struct slice range_begin,
                                struct slice range_end, bool *out_has_copies,
                                struct errbuf *eb) MUST_CHECK;
/* Iterates over the tenants whose first line names copies; *place starts at 0. False: there are no
 * more. */
bool ten_certificates_next_with_copies(struct ten_certificates *c, size_t *place,
                                       char out_tenant[LIM_TENANT_ID + 1]) MUST_CHECK;
/* Issues the second line, if no copy from before the purge is left and there is no second line yet;
 * *out_done: there is one now. ERR_NOT_FOUND: the tenant has no first line. */
enum err ten_certificates_expire(struct ten_certificates *c, struct slice tenant, bool *out_done,
                                 struct errbuf *eb) MUST_CHECK;

/* A first line to be written again because the ledger lost it. */
struct ten_certificates_lost {
    char tenant[LIM_TENANT_ID + 1];
    char job_id[TEN_JOB_ID + 1];
    const struct ten_job *job; /* NULL: only its ID is known */
    int64_t purged_us;
    uint64_t audit_days;
    struct slice range_begin;
    struct slice range_end;
};
/* Writes a lost first line again. Must be called before any other certificate is issued. */
enum err ten_certificates_reissue(struct ten_certificates *c,
                                  const struct ten_certificates_lost *lost,
                                  struct errbuf *eb) MUST_CHECK;
/* Writes the second line of a tenant that has a first one again. */
enum err ten_certificates_reissue_expired(struct ten_certificates *c, struct slice tenant,
                                          int64_t expired_us, struct errbuf *eb) MUST_CHECK;
/* Iterates over the contents of the lines; *place starts at 0. False: there are no more. */
bool ten_certificates_next(struct ten_certificates *c, size_t *place,
                           struct ten_erasure *out) MUST_CHECK;
/* Returns the path of the ledger. */
const char *ten_certificates_path(const struct ten_certificates *c);

/* Appends the tenant's line to out; ERR_NOT_FOUND. */
enum err ten_certificates_find(struct ten_certificates *c, struct slice tenant, bool is_expired,
                               struct buf *out, struct errbuf *eb) MUST_CHECK;
/* Appends the same as a page for people, after its signature was verified. ERR_CONFLICT: it does
 * not verify with the present key. */
enum err ten_certificates_page(struct ten_certificates *c, struct slice tenant, bool is_expired,
                               struct buf *out, struct errbuf *eb) MUST_CHECK;

#endif
