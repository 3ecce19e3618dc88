/*
 * tenancy/quota_doc.c - one number for each field that is set.
 */
#include "tenancy/quota_doc.h"

#include "base/banned.h"

void ten_quota_put(const struct ten_quota *q, struct buf *out)
{
    for (size_t i = 0; i < TEN_QUOTA_FIELDS; i++) {
        if (ten_quota_is_given(q, i))
            (void)base_record_put_u64(out, ten_quota_field(i).tag, q->each[i]); /* latches */
    }
}

enum err ten_quota_take(const struct base_field *f, struct ten_quota *q)
{
    for (size_t i = 0; i < TEN_QUOTA_FIELDS; i++) {
        if (ten_quota_field(i).tag != f->tag)
            continue;
        if (!f->is_number)
            return ERR_CORRUPT;
        ten_quota_give(q, i, f->number);
        return ERR_OK;
    }
    return ERR_OK;
}
