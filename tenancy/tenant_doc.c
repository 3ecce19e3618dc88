/*
 * tenancy/tenant_doc.c - fields by tag; of a quota only the fields that are set.
 *
 * 1. Tags are stored: append only, never reuse one. 6 to 10, 12 to 17 and 20 to 59 are those of
 *    quota fields (tenancy/quota.c).
 */
#include "tenancy/tenant_doc.h"

#include "tenancy/lifecycle.h"
#include "tenancy/quota_doc.h"

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
    TAG_PLAN = 60,
    TAG_CLOSED = 61,
    TAG_DELETE_AT = 62,
    TAG_WAS_SUSPENDED = 63,
    TAG_HOLD_SINCE = 64,
    TAG_HOLD_BY = 65,
    TAG_HOLD_REASON = 66,
    TAG_ENCRYPTED = 70,
    TAG_CANARIES = 80, /* concatenated hashes */
};

#define CLOSED_ALL (STO_GATE_NO_READS | STO_GATE_NO_WRITES)

static void put_text(struct buf *out, uint32_t tag, const char *text)
{
    if (text != NULL && text[0] != '\0')
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
    ten_quota_put(&d->quota, out);
    if (d->canaries != NULL)
        (void)base_record_put_bytes(
            out, TAG_CANARIES,
            base_slice(d->canaries, d->canary_count * sizeof(struct sto_canary)));
    put_text(out, TAG_JOB, d->job);
    if (d->is_keyless)
        (void)base_record_put_u64(out, TAG_KEYLESS, 1);
    if (d->is_encrypted)
        (void)base_record_put_u64(out, TAG_ENCRYPTED, 1);
    put_text(out, TAG_INSTANCE, d->instance);
    put_text(out, TAG_PLAN, d->plan == NULL ? NULL : d->plan->id);
    bool was_suspended = state == TEN_DELETE_REQUESTED && d->was_suspended;
    if (state == TEN_SUSPENDED || was_suspended)
        (void)base_record_put_u64(out, TAG_CLOSED, d->closed);
    if (state == TEN_DELETE_REQUESTED)
        (void)base_record_put_u64(out, TAG_DELETE_AT, (uint64_t)d->delete_at_us);
    if (was_suspended)
        (void)base_record_put_u64(out, TAG_WAS_SUSPENDED, 1);
    if (d->hold != NULL) {
        (void)base_record_put_u64(out, TAG_HOLD_SINCE, (uint64_t)d->hold->since_us);
        put_text(out, TAG_HOLD_BY, d->hold->by);
        put_text(out, TAG_HOLD_REASON, d->hold->reason);
    }
    return out->error;
}

static enum err take_closed(const struct base_field *f, uint8_t *out)
{
    uint64_t bits = 0;
    enum err rc = base_field_number(f, &bits);
    if (rc == ERR_OK && (bits == 0 || (bits & ~(uint64_t)CLOSED_ALL) != 0))
        rc = ERR_CORRUPT;
    if (rc == ERR_OK)
        *out = (uint8_t)bits;
    return rc;
}

static enum err take_flag(const struct base_field *f, bool *out)
{
    uint64_t number = 0;
    enum err rc = base_field_number(f, &number);
    if (rc == ERR_OK)
        *out = number != 0;
    return rc;
}

static enum err take_canaries(const struct base_field *f, struct ten_tenant_doc *doc)
{
    size_t each = sizeof doc->canaries[0];
    if (f->is_number || f->bytes.len == 0 || f->bytes.len % each != 0 ||
        f->bytes.len > sizeof doc->canaries)
        return ERR_CORRUPT;
    memcpy(doc->canaries, f->bytes.ptr, f->bytes.len);
    doc->details.canary_count = (uint8_t)(f->bytes.len / each);
    doc->details.canaries = doc->canaries;
    return ERR_OK;
}

struct decoding {
    struct ten_tenant_doc *doc;
    uint64_t state;
};

static enum err take_field(void *ctx, const struct base_field *f)
{
    struct decoding *decoding = ctx;
    struct ten_tenant_doc *doc = decoding->doc;
    struct ten_details *d = &doc->details;
    switch (f->tag) {
    case TAG_DISPLAY_NAME:
        return base_field_text(f, doc->display_name, sizeof doc->display_name);
    case TAG_REASON:
        return base_field_text(f, doc->reason, sizeof doc->reason);
    case TAG_JOB:
        return base_field_text(f, doc->job, sizeof doc->job);
    case TAG_INSTANCE:
        return base_field_text(f, doc->instance, sizeof doc->instance);
    case TAG_PLAN:
        return base_field_text(f, doc->plan, sizeof doc->plan);
    case TAG_CLOSED:
        return take_closed(f, &d->closed);
    case TAG_CANARIES:
        return take_canaries(f, doc);
    case TAG_KEYLESS:
        return take_flag(f, &d->is_keyless);
    case TAG_ENCRYPTED:
        return take_flag(f, &d->is_encrypted);
    case TAG_WAS_SUSPENDED:
        return take_flag(f, &d->was_suspended);
    case TAG_DELETE_AT:
        return base_field_time(f, &d->delete_at_us);
    case TAG_HOLD_SINCE:
        return base_field_time(f, &doc->hold.since_us);
    case TAG_HOLD_BY:
        return base_field_text(f, doc->hold_by, sizeof doc->hold_by);
    case TAG_HOLD_REASON:
        return base_field_text(f, doc->hold_reason, sizeof doc->hold_reason);
    case TAG_STATE:
        return base_field_number(f, &decoding->state);
    case TAG_CREATED:
        return base_field_time(f, &d->created_us);
    case TAG_STATE_SINCE:
        return base_field_time(f, &d->state_since_us);
    default:
        return ten_quota_take(f, &d->quota);
    }
}

enum err ten_tenant_decode(struct slice body, struct ten_tenant_doc *out)
{
    *out = (struct ten_tenant_doc){.details.closed = CLOSED_ALL}; /* of older documents */
    ten_quota_default(&out->details.quota);
    struct decoding d = {.doc = out};
    enum err rc = base_record_visit(body, take_field, &d);
    if (rc != ERR_OK)
        return rc;
    if (d.state == 0 || ten_quota_check(&out->details.quota, NULL) != ERR_OK)
        return ERR_CORRUPT;
    if (!ten_state_is_known(d.state))
        return ERR_UNSUPPORTED;
    out->state = (enum ten_state)d.state;
    if ((out->state == TEN_DELETE_REQUESTED) != (out->details.delete_at_us != 0))
        return ERR_CORRUPT;
    if ((out->hold.since_us != 0) != (out->hold_reason[0] != '\0'))
        return ERR_CORRUPT;
    if (out->hold.since_us != 0) {
        out->hold.by = out->hold_by;
        out->hold.reason = out->hold_reason;
        out->details.hold = &out->hold;
    }
    out->details.display_name = out->display_name;
    out->details.reason = out->reason;
    out->details.job = out->job;
    out->details.instance = out->instance;
    return ERR_OK;
}
