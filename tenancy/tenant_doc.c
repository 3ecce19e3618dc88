/*
 * tenancy/tenant_doc.c - fields by tag; a limit that is left out means "none".
 *
 * 1. Tags are stored: append only, never give one a new meaning.
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
    TAG_STORED_BYTES = 6,
    TAG_ROWS = 7,
    TAG_READ_OPS = 8,
    TAG_WRITE_OPS = 9,
    TAG_CELL_BYTES = 10,
    TAG_JOB = 11,
};

static void put_limit(struct buf *out, uint32_t tag, uint64_t limit)
{
    if (limit != UINT64_MAX)
        (void)base_record_put_u64(out, tag, limit); /* errors latch in out */
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
    put_limit(out, TAG_STORED_BYTES, d->quota.stored_bytes);
    put_limit(out, TAG_ROWS, d->quota.rows);
    put_limit(out, TAG_READ_OPS, d->quota.read_ops_per_s);
    put_limit(out, TAG_WRITE_OPS, d->quota.write_ops_per_s);
    put_limit(out, TAG_CELL_BYTES, d->quota.cell_bytes);
    put_text(out, TAG_JOB, d->job);
    return out->error;
}

/* Where a number of this tag goes; NULL for tags that are not plain numbers. */
static uint64_t *number_of(struct ten_quota *q, uint32_t tag)
{
    switch (tag) {
    case TAG_STORED_BYTES:
        return &q->stored_bytes;
    case TAG_ROWS:
        return &q->rows;
    case TAG_READ_OPS:
        return &q->read_ops_per_s;
    case TAG_WRITE_OPS:
        return &q->write_ops_per_s;
    case TAG_CELL_BYTES:
        return &q->cell_bytes;
    default:
        return NULL;
    }
}

static enum err take_number(const struct base_field *f, struct ten_details *d, uint64_t *out_state)
{
    if (!f->is_number)
        return ERR_CORRUPT;
    if (f->tag == TAG_STATE)
        *out_state = f->number;
    else if (f->tag == TAG_CREATED)
        d->created_us = (int64_t)f->number;
    else if (f->tag == TAG_STATE_SINCE)
        d->state_since_us = (int64_t)f->number;
    else
        *number_of(&d->quota, f->tag) = f->number;
    return ERR_OK;
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
    case TAG_STATE:
    case TAG_CREATED:
    case TAG_STATE_SINCE:
    case TAG_STORED_BYTES:
    case TAG_ROWS:
    case TAG_READ_OPS:
    case TAG_WRITE_OPS:
    case TAG_CELL_BYTES:
        return take_number(f, d, out_state);
    default:
        return ERR_OK; /* from a newer program */
    }
}

enum err ten_tenant_decode(struct slice body, enum ten_state *out_state, struct ten_details *out)
{
    struct ten_details d = {.quota = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}};
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
    if (state == 0 || d.quota.cell_bytes > LIM_CELL_BYTES_HARD)
        return ERR_CORRUPT;
    if (!ten_state_is_known(state))
        return ERR_UNSUPPORTED;
    *out_state = (enum ten_state)state;
    *out = d;
    return ERR_OK;
}
