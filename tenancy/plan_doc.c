/*
 * tenancy/plan_doc.c - fields by tag; quota fields have the same tags as in a tenant.
 *
 * 1. Tags are stored: append only, never reuse one. 6 to 59 are quota fields.
 */
#include "tenancy/plan_doc.h"

#include "tenancy/quota_doc.h"

#include "base/banned.h"

enum {
    TAG_DISPLAY_NAME = 1,
    TAG_CREATED = 2,
    TAG_CHANGED = 3,
};

enum err ten_plan_encode(const struct ten_plan_terms *terms, struct buf *out)
{
    /* errors latch in out */
    (void)base_record_put_bytes(out, TAG_DISPLAY_NAME, base_slice_text(terms->display_name));
    (void)base_record_put_u64(out, TAG_CREATED, (uint64_t)terms->created_us);
    (void)base_record_put_u64(out, TAG_CHANGED, (uint64_t)terms->changed_us);
    ten_quota_put(&terms->quota, out);
    return out->error;
}

static enum err take_field(void *ctx, const struct base_field *f)
{
    struct ten_plan_terms *t = ctx;
    switch (f->tag) {
    case TAG_DISPLAY_NAME:
        return base_field_text(f, t->display_name, sizeof t->display_name);
    case TAG_CREATED:
        return base_field_time(f, &t->created_us);
    case TAG_CHANGED:
        return base_field_time(f, &t->changed_us);
    default:
        return ten_quota_take(f, &t->quota);
    }
}

enum err ten_plan_decode(struct slice body, struct ten_plan_terms *out)
{
    struct ten_plan_terms t = {.doc_version = 0};
    ten_quota_default(&t.quota);
    enum err rc = base_record_visit(body, take_field, &t);
    if (rc != ERR_OK)
        return rc;
    if (t.created_us == 0 || ten_quota_check(&t.quota, NULL) != ERR_OK)
        return ERR_CORRUPT;
    *out = t;
    return ERR_OK;
}
