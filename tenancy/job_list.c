/*
 * tenancy/job_list.c - reading offboarding jobs: one of them, or the newest.
 */
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

/* The last `limit` jobs of an ascending scan, in a ring. */
struct job_scan {
    struct ten_job *out;
    size_t limit;
    size_t seen;
};

static enum err visit_job(void *ctx, struct slice key, uint64_t version, struct slice body)
{
    struct job_scan *s = ctx;
    (void)version; /* only read */
    return ten_job_decode(base_slice_skip(key, 2), body, &s->out[s->seen++ % s->limit]);
}

static void reverse(struct ten_job *jobs, size_t from, size_t to)
{
    while (from + 1 < to) {
        struct ten_job swap = jobs[from];
        jobs[from++] = jobs[--to];
        jobs[to] = swap;
    }
}

enum err ten_job_list(struct ten_registry *r, struct ten_job *out, size_t limit, size_t *out_count,
                      struct errbuf *eb)
{
    ten_control_check(r);
    struct job_scan s = {.out = out, .limit = limit};
    enum err rc =
        limit == 0 ? ERR_OK : sto_docs_scan(r->engine, SLICE_LIT("j/"), visit_job, &s, eb);
    if (rc != ERR_OK)
        return rc;
    size_t count = s.seen < limit ? s.seen : limit;
    /* The ring's oldest is at split; two parts reversed each make it newest first. */
    size_t split = s.seen > limit ? s.seen % limit : 0;
    reverse(out, 0, split);
    reverse(out, split, count);
    *out_count = count;
    return ERR_OK;
}
