/*
 * tenancy/certificate_store.h - the certificates of a server: its signing key, its ledger, finding.
 *
 * Does:     open or make the key; issue the certificate of a purge, once for each job; issue the
 *           second one; find those of a tenant.
 * Owns:     the key, the ledger, an index of it.
 * May use:  base/, tenancy/, OpenSSL.
 * Knows no: states of tenants.
 * Threads:  any.
 * Blocks:   yes.
 * Fails by: ERR_IO, ERR_CORRUPT (key, ledger), ERR_NOT_FOUND.
 * Limits:   TEN_CERTIFICATE_MAX.
 * Promises: 1. One line for each job and event, whatever is repeated. 2. The private key is a file
 *              of mode 0600 and leaves this room nowhere else.
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
    ten_copies_visit *copies; /* NULL: there are none */
    void *copies_ctx;
};

enum err ten_certificates_open(const struct ten_certificates_options *options,
                               struct ten_certificates **out, struct errbuf *eb) MUST_CHECK;
void ten_certificates_close(struct ten_certificates *c);

/* PEM of the public key, appended. */
enum err ten_certificates_public_key(struct ten_certificates *c, struct buf *out,
                                     struct errbuf *eb) MUST_CHECK;

/* Something else than a certificate, signed with the same key; object is gone then. */
enum err ten_certificates_seal_take(struct ten_certificates *c, json_t *object, struct buf *out,
                                    struct errbuf *eb) MUST_CHECK;

#define TEN_COPIES_LISTED 20
/* Copies that hold a tenant, those that last longest first: without an end, then the latest end. */
struct ten_copies {
    uint64_t count;
    size_t listed; /* of them here */
    struct ten_copy of[TEN_COPIES_LISTED];
};
/* Those that hold the tenant now: made before its purge, if that is certified, else all. */
enum err ten_certificates_copies(struct ten_certificates *c, struct slice tenant,
                                 struct ten_copies *out, struct errbuf *eb) MUST_CHECK;
/* Issue job's certificate, if there is none yet. audit_days: records about the tenant are kept so
 * long from now on. out_has_copies: it names copies. */
enum err ten_certificates_issue(struct ten_certificates *c, const struct ten_job *job,
                                uint64_t audit_days, struct slice range_begin,
                                struct slice range_end, bool *out_has_copies,
                                struct errbuf *eb) MUST_CHECK;
/* The tenants whose first line names copies, one after the other; *place begins as 0. False: that
 * were all. */
bool ten_certificates_next_with_copies(struct ten_certificates *c, size_t *place,
                                       char out_tenant[LIM_TENANT_ID + 1]) MUST_CHECK;
/* Issue the second line, if no copy from before the purge is left and there is none yet; *out_done:
 * there is one now. ERR_NOT_FOUND: the tenant has no first line. */
enum err ten_certificates_expire(struct ten_certificates *c, struct slice tenant, bool *out_done,
                                 struct errbuf *eb) MUST_CHECK;

/* A first line that is to be written again, for the ledger lost it. */
struct ten_certificates_lost {
    char tenant[LIM_TENANT_ID + 1];
    char job_id[TEN_JOB_ID + 1];
    const struct ten_job *job; /* NULL: nothing is known but its ID */
    int64_t purged_us;
    uint64_t audit_days;
    struct slice range_begin;
    struct slice range_end;
};
/* Before anybody else issues one. */
enum err ten_certificates_reissue(struct ten_certificates *c,
                                  const struct ten_certificates_lost *lost,
                                  struct errbuf *eb) MUST_CHECK;
/* The second line, of a tenant that has a first one. */
enum err ten_certificates_reissue_expired(struct ten_certificates *c, struct slice tenant,
                                          int64_t expired_us, struct errbuf *eb) MUST_CHECK;
/* What each line says, one after the other; *place begins as 0. False: that were all. */
bool ten_certificates_next(struct ten_certificates *c, size_t *place,
                           struct ten_erasure *out) MUST_CHECK;
/* Of the ledger. */
const char *ten_certificates_path(const struct ten_certificates *c);

/* The tenant's line, appended to out; ERR_NOT_FOUND. */
enum err ten_certificates_find(struct ten_certificates *c, struct slice tenant, bool is_expired,
                               struct buf *out, struct errbuf *eb) MUST_CHECK;
/* The same as a page for people, once its signature was checked. ERR_CONFLICT: it does not verify
 * with the present key. */
enum err ten_certificates_page(struct ten_certificates *c, struct slice tenant, bool is_expired,
                               struct buf *out, struct errbuf *eb) MUST_CHECK;

#endif
