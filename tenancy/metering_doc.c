/*
 * tenancy/metering_doc.c - numbers by tag; zeros are left out.
 *
 * 1. Tags are stored: append only. The tags of counters and policies derive from their positions in
 *    their enums, which are append only too.
 */
#include "tenancy/metering_doc.h"

#include <stdio.h>

#include "base/record.h"
#include "base/text.h"

#include "base/banned.h"

enum {
    TAG_BYTE_S = 1,
    TAG_BYTE_REST = 2,
    TAG_AT = 3,
    TAG_BYTES = 4,
    TAG_EACH = 100,
    TAG_THROTTLED = 200,
    TAG_THROTTLED_NS = 300,
};

#define US_PER_S    1000000u
#define HOUR_DIGITS 10

void ten_metering_settle(struct ten_metering_doc *d, uint64_t bytes, uint64_t at_us)
{
    INVARIANT(at_us <= TEN_HOUR_US);
    if (at_us <= d->at_us)
        return;
    unsigned __int128 sum = (unsigned __int128)bytes * (at_us - d->at_us) + d->byte_rest;
    d->byte_s += (uint64_t)(sum / US_PER_S);
    d->byte_rest = (uint64_t)(sum % US_PER_S);
    d->at_us = at_us;
}

/* --- fields ----------------------------------------------------------------------------------- */

static uint64_t *field_of(struct ten_metering_doc *d, uint32_t tag)
{
    switch (tag) {
    case TAG_BYTE_S:
        return &d->byte_s;
    case TAG_BYTE_REST:
        return &d->byte_rest;
    case TAG_AT:
        return &d->at_us;
    case TAG_BYTES:
        return &d->bytes;
    default:
        break;
    }
    if (tag >= TAG_EACH && tag - TAG_EACH < TEN_METER_COUNT &&
        tag - TAG_EACH != TEN_METER_LATENCY_NS)
        return &d->each[tag - TAG_EACH];
    if (tag >= TAG_THROTTLED && tag - TAG_THROTTLED < TEN_POLICY_COUNT)
        return &d->throttled[tag - TAG_THROTTLED];
    if (tag >= TAG_THROTTLED_NS && tag - TAG_THROTTLED_NS < TEN_POLICY_COUNT)
        return &d->throttled_ns[tag - TAG_THROTTLED_NS];
    return NULL;
}

enum err ten_metering_encode(const struct ten_metering_doc *d, struct buf *out)
{
    struct ten_metering_doc copy = *d;
    for (uint32_t tag = 1; tag < TAG_THROTTLED_NS + TEN_POLICY_COUNT; tag++) {
        const uint64_t *number = field_of(&copy, tag);
        if (number != NULL && *number != 0)
            (void)base_record_put_u64(out, tag, *number); /* errors latch in out */
    }
    return out->error;
}

static enum err take_field(void *ctx, const struct base_field *f)
{
    uint64_t *number = field_of(ctx, f->tag);
    return number == NULL ? ERR_OK : base_field_number(f, number);
}

enum err ten_metering_decode(struct slice body, struct ten_metering_doc *out)
{
    struct ten_metering_doc d = {.at_us = 0};
    enum err rc = base_record_visit(body, take_field, &d);
    if (rc != ERR_OK)
        return rc;
    if (d.at_us > TEN_HOUR_US || d.byte_rest >= US_PER_S)
        return ERR_CORRUPT;
    *out = d;
    return ERR_OK;
}

/* --- keys ------------------------------------------------------------------------------------- */

static struct ten_doc_key key_of(enum sto_doc_kind kind, uint64_t hour)
{
    struct ten_doc_key k = {0};
    int n = snprintf((char *)k.bytes, sizeof k.bytes, "%c/%0*llu", (char)kind, HOUR_DIGITS,
                     (unsigned long long)hour);
    INVARIANT(n == 2 + HOUR_DIGITS);
    k.len = (size_t)n;
    return k;
}

struct ten_doc_key ten_metering_key(uint64_t hour, struct slice tenant_id)
{
    struct ten_doc_key k = key_of(STO_DOC_BILL, hour);
    INVARIANT(tenant_id.len < sizeof k.bytes - k.len);
    k.bytes[k.len++] = '/';
    if (tenant_id.len > 0)
        memcpy(k.bytes + k.len, tenant_id.ptr, tenant_id.len);
    k.len += tenant_id.len;
    return k;
}

struct ten_doc_key ten_metering_base_key(uint64_t hour)
{
    return key_of(STO_DOC_BILL_BASE, hour);
}

enum err ten_metering_key_parts(struct slice key, uint64_t *out_hour, struct slice *out_tenant_id)
{
    uint64_t hour = 0;
    if (key.len < 2 + HOUR_DIGITS)
        return ERR_CORRUPT;
    for (size_t i = 2; i < 2 + HOUR_DIGITS; i++) {
        if (key.ptr[i] < '0' || key.ptr[i] > '9')
            return ERR_CORRUPT;
        hour = hour * 10 + (key.ptr[i] - (uint8_t)'0');
    }
    struct slice rest = base_slice_skip(key, 2 + HOUR_DIGITS);
    if (rest.len > 0 && rest.ptr[0] != '/')
        return ERR_CORRUPT;
    *out_tenant_id = rest.len == 0 ? rest : base_slice_skip(rest, 1);
    *out_hour = hour;
    return ERR_OK;
}
