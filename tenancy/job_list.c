/*
 * tenancy/job_list.c - reads offboarding jobs: one of them, or the newest.
 */
#include "base/alloc.h"
#include "tenancy/doc_key.h"
#include "tenancy/internal.h"
#include "tenancy/job_doc.h"

#include "base/banned.h"

enum err ten_job_read(struct ten_registry *r, struct slice id, uint64_t *out_version,
                      struct ten_job *out, struct errbuf *eb)
{
    uint64_t wall_ms;
    if (ten_job_id_parse(id, &wall_ms) != ERR_OK)
        return base_fail(eb, ERR_NOT_FOUND, "there is no such job");
    struct ten_doc_key key = ten_doc_key_job(id);
    struct buf body;
    base_buf_init(&body, TEN_JOB_DOC_MAX);
    enum err rc = sto_doc_get(r->engine, ten_doc_key_slice(&key), out_version, &body, eb);
    if (rc == ERR_NOT_FOUND)
        rc = base_fail(eb, ERR_NOT_FOUND, "there is no such job");
    else if (rc == ERR_OK && ten_job_decode(id, base_buf_slice(&body), out) != ERR_OK)
        rc = base_fail(eb, ERR_CORRUPT, "the job's document is damaged");
    base_buf_fini(&body);
    return rc;
}

enum err ten_job_get(struct ten_registry *r, struct slice id, struct ten_job *out,
                     struct errbuf *eb)
{
    ten_control_check(r);
    uint64_t version;
    return ten_job_read(r, id, &version, out, eb);
}

struct job_scan {
    struct ten_doc_key from; /* exclusive */
    size_t left;
    struct ten_job job;
    ten_job_visit *visit;
    void *ctx;
};

static enum err visit_job(void *ctx, struct slice key, uint64_t version, struct slice body)
{
    struct job_scan *s = ctx;
    (void)version; /* only read */
    if (s->left == 0 || base_slice_equal(key, ten_doc_key_slice(&s->from)))
        return ERR_OK;
    enum err rc = ten_job_decode(base_slice_skip(key, 2), body, &s->job);
    s->left -= rc == ERR_OK;
    return rc == ERR_OK ? s->visit(s->ctx, &s->job) : rc;
}

enum err ten_job_list(struct ten_registry *r, struct slice before, size_t limit,
                      ten_job_visit *visit, void *ctx, struct errbuf *eb)
{
    struct job_scan *s = base_new(sizeof *s);
    *s = (struct job_scan){
        .from = ten_doc_key_job(before), .left = limit, .visit = visit, .ctx = ctx};
    const struct sto_docs_page page = {.prefix = sto_doc_prefix(STO_DOC_JOB),
                                       .from = before.len > 0 ? ten_doc_key_slice(&s->from)
                                                              : SLICE_EMPTY,
                                       .limit = before.len > 0 ? limit + 1 : limit,
                                       .backwards = true};
    enum err rc = sto_docs_read(r->engine, &page, visit_job, s, eb);
    base_free(s);
    return rc;
}
