/*
 * tenancy/tenant_doc.c - fields by tag; of a quota, those that are not the default.
 *
 * 1. Tags are stored: append only, never give one a new meaning. 6 to 10 and 12 to 17 are those of
 *    quota fields (tenancy/quota.c).
 */
#include "tenancy/tenant_doc.h"

#include "base/record.h"
#include "tenancy/lifecycle.h"

#include "base/banned.h"

enum {
    TAG_STATE = 1,
    TAG_DISPLAY_NAME = 2,
    TAG_REASON = 3,
    TAG_CREATED = 4,
    TAG_STATE_SINCE = 5,
    TAG_JOB = 11,
    TAG_KEYLESS = 18,
    TAG_INSTANCE = 19,
};

static void put_quota(struct buf *out, const struct ten_quota *q)
{
    for (size_t i = 0; i < TEN_QUOTA_FIELDS; i++) {
        struct ten_quota_field f = ten_quota_field(i);
        if (q->each[i] != f.standard)
            (void)base_record_put_u64(out, f.tag, q->each[i]); /* errors latch in out */
    }
}

static void put_text(struct buf *out, uint32_t tag, const char *text)
{
    if (text[0] != '\0')
        (void)base_record_put_bytes(out, tag, base_slice_text(text)); /* errors latch in out */
}

enum err ten_tenant_encode(enum ten_state state, const struct ten_details *d, struct buf *out)
{
    /* errors latch in out */
    (void)base_record_put_u64(out, TAG_STATE, state);
    put_text(out, TAG_DISPLAY_NAME, d->display_name);
    put_text(out, TAG_REASON, d->reason);
    (void)base_record_put_u64(out, TAG_CREATED, (uint64_t)d->created_us);
    (void)base_record_put_u64(out, TAG_STATE_SINCE, (uint64_t)d->state_since_us);
    put_quota(out, &d->quota);
    put_text(out, TAG_JOB, d->job);
    if (d->is_keyless)
        (void)base_record_put_u64(out, TAG_KEYLESS, 1);
    put_text(out, TAG_INSTANCE, d->instance);
    return out->error;
}

/* The field of the quota that has this tag, or NULL. */
static uint64_t *quota_field(struct ten_quota *q, uint32_t tag)
{
    for (size_t i = 0; i < TEN_QUOTA_FIELDS; i++)
        if (ten_quota_field(i).tag == tag)
            return &q->each[i];
    return NULL;
}

static enum err take_number(const struct base_field *f, uint64_t *out)
{
    if (!f->is_number)
        return ERR_CORRUPT;
    *out = f->number;
    return ERR_OK;
}

static enum err take_time(const struct base_field *f, int64_t *out)
{
    uint64_t number = 0;
    enum err rc = take_number(f, &number);
    if (rc == ERR_OK)
        *out = (int64_t)number;
    return rc;
}

static enum err take_field(const struct base_field *f, struct ten_details *d, uint64_t *out_state)
{
    switch (f->tag) {
    case TAG_DISPLAY_NAME:
        return base_field_text(f, d->display_name, sizeof d->display_name);
    case TAG_REASON:
        return base_field_text(f, d->reason, sizeof d->reason);
    case TAG_JOB:
        return base_field_text(f, d->job, sizeof d->job);
    case TAG_INSTANCE:
        return base_field_text(f, d->instance, sizeof d->instance);
    case TAG_KEYLESS:
        d->is_keyless = f->is_number && f->number != 0;
        return f->is_number ? ERR_OK : ERR_CORRUPT;
    case TAG_STATE:
        return take_number(f, out_state);
    case TAG_CREATED:
        return take_time(f, &d->created_us);
    case TAG_STATE_SINCE:
        return take_time(f, &d->state_since_us);
    default:
        break;
    }
    uint64_t *number = quota_field(&d->quota, f->tag);
    return number == NULL ? ERR_OK : take_number(f, number); /* NULL: from a newer program */
}

enum err ten_tenant_decode(struct slice body, enum ten_state *out_state, struct ten_details *out)
{
    struct ten_details d = {.doc_version = 0};
    ten_quota_default(&d.quota);
    uint64_t state = 0;
    for (;;) {
        struct base_field field;
        bool end = false;
        enum err rc = base_record_next(&body, &field, &end);
        if (rc == ERR_OK && end)
            break;
        if (rc == ERR_OK)
            rc = take_field(&field, &d, &state);
        if (rc != ERR_OK)
            return rc;
    }
    if (state == 0 || ten_quota_settle(&d.quota, NULL) != ERR_OK)
        return ERR_CORRUPT;
    if (!ten_state_is_known(state))
        return ERR_UNSUPPORTED;
    *out_state = (enum ten_state)state;
    *out = d;
    return ERR_OK;
}
