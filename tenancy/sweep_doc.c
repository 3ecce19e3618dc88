/*
 * tenancy/sweep_doc.c - fields by tag; a pass that does not exist is left out.
 *
 * 1. Tags are stored: append only.
 */
#include "tenancy/sweep_doc.h"

#include "base/record.h"

#include "base/banned.h"

enum {
    TAG_SWEPT = 1, /* and the next two: version, additions, expiry */
    TAG_SWEEPING = 4,
    TAG_ROW = 7,
    TAG_GARBAGE_BYTES = 8,
    TAG_GARBAGE_MADE_BY = 9,
    TAG_REMOVED_BYTES = 10, /* by the pass in progress */
};

static void put_pass(struct buf *out, uint32_t tag, const struct sto_sweep_pass *pass)
{
    if (pass->version == 0)
        return;
    /* errors latch in out */
    (void)base_record_put_u64(out, tag, pass->version);
    (void)base_record_put_u64(out, tag + 1, pass->additions);
    (void)base_record_put_u64(out, tag + 2, (uint64_t)pass->expires_us);
}

static void put_amount(struct buf *out, uint32_t tag, uint64_t amount)
{
    if (amount > 0)
        (void)base_record_put_u64(out, tag, amount); /* errors latch in out */
}

enum err ten_sweep_encode(const struct ten_sweep_doc *d, struct buf *out)
{
    put_pass(out, TAG_SWEPT, &d->swept);
    if (d->row.len > 0) {
        put_pass(out, TAG_SWEEPING, &d->sweeping);
        (void)base_record_put_bytes(out, TAG_ROW, d->row); /* errors latch in out */
        put_amount(out, TAG_REMOVED_BYTES, d->sweeping.removed_bytes);
    }
    put_amount(out, TAG_GARBAGE_BYTES, d->garbage_bytes);
    put_amount(out, TAG_GARBAGE_MADE_BY, d->garbage_made_by);
    return out->error;
}

static enum err take_number(const struct base_field *f, uint32_t which, struct sto_sweep_pass *pass)
{
    if (!f->is_number)
        return ERR_CORRUPT;
    if (which == 0)
        pass->version = f->number;
    else if (which == 1)
        pass->additions = f->number;
    else
        pass->expires_us = (int64_t)f->number;
    return ERR_OK;
}

static enum err take_amount(const struct base_field *f, uint64_t *out)
{
    if (!f->is_number)
        return ERR_CORRUPT;
    *out = f->number;
    return ERR_OK;
}

static enum err take_field(void *ctx, const struct base_field *f)
{
    struct ten_sweep_doc *d = ctx;
    if (f->tag >= TAG_SWEPT && f->tag < TAG_SWEEPING)
        return take_number(f, f->tag - TAG_SWEPT, &d->swept);
    if (f->tag >= TAG_SWEEPING && f->tag < TAG_ROW)
        return take_number(f, f->tag - TAG_SWEEPING, &d->sweeping);
    if (f->tag == TAG_GARBAGE_BYTES)
        return take_amount(f, &d->garbage_bytes);
    if (f->tag == TAG_GARBAGE_MADE_BY)
        return take_amount(f, &d->garbage_made_by);
    if (f->tag == TAG_REMOVED_BYTES)
        return take_amount(f, &d->sweeping.removed_bytes);
    if (f->tag != TAG_ROW)
        return ERR_OK; /* from a newer program */
    if (f->is_number || f->bytes.len == 0 || f->bytes.len > LIM_ROW_KEY)
        return ERR_CORRUPT;
    d->row = f->bytes;
    return ERR_OK;
}

enum err ten_sweep_decode(struct slice body, struct ten_sweep_doc *out)
{
    struct ten_sweep_doc d = {0};
    enum err rc = base_record_visit(body, take_field, &d);
    if (rc != ERR_OK)
        return rc;
    if ((d.sweeping.version == 0) != (d.row.len == 0))
        return ERR_CORRUPT;
    *out = d;
    return ERR_OK;
}
