/*
 * tenancy/audit_cut.c - a document for each chain whose first records were removed.
 *
 * 1. Tags are stored: append only, never reuse one.
 */
#include "tenancy/audit_cut.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/record.h"
#include "base/text.h"
#include "tenancy/audit.h"
#include "tenancy/certificate_store.h"
#include "tenancy/doc_key.h"
#include "tenancy/internal.h"
#include "tenancy/purge.h"

#include "base/banned.h"

enum { TAG_NUMBER = 1, TAG_HASH = 2, TAG_TIME = 3, TAG_HOLD = 4 };

/* A hold as text: "h" or "r", number, time, key; none of them contains a blank. */
#define HOLD_TEXT 160

/* --- holds ------------------------------------------------------------------------------------ */

static void copy_text(char *to, size_t size, struct slice from)
{
    size_t len = from.len < size ? from.len : size - 1;
    if (len > 0)
        memcpy(to, from.ptr, len);
    to[len] = '\0';
}

static struct ten_hold_event *event_new(struct ten_holds *holds)
{
    if (holds->count == TEN_HOLD_EVENTS)
        memmove(holds->of, holds->of + 1, --holds->count * sizeof holds->of[0]);
    return &holds->of[holds->count++];
}

void ten_holds_take(struct ten_holds *holds, const struct base_audit_record *record)
{
    bool is_release = base_slice_is(record->action, "tenant.release");
    if ((!is_release && !base_slice_is(record->action, "tenant.hold")) ||
        !base_slice_is(record->outcome, "done"))
        return;
    struct ten_hold_event *event = event_new(holds);
    event->is_release = is_release;
    event->record = record->tenant_number;
    copy_text(event->time, sizeof event->time, record->time);
    copy_text(event->by, sizeof event->by, record->key);
}

static enum err take_hold(void *ctx, const struct base_audit_record *record)
{
    ten_holds_take(ctx, record);
    return ERR_OK;
}

enum err ten_holds_read(struct ten_registry *r, struct slice tenant, struct ten_holds *out,
                        struct errbuf *eb)
{
    struct ten_audit_cut cut;
    enum err rc = ten_audit_cut_read(r, tenant, &cut, eb);
    if (rc != ERR_OK)
        return rc;
    *out = cut.holds;
    return ten_audit_read(r, tenant, cut.head.number + 1, SIZE_MAX, take_hold, out, eb);
}

/* --- documents -------------------------------------------------------------------------------- */

enum err ten_audit_cut_encode(const struct ten_audit_cut *cut, struct buf *out)
{
    char text[HOLD_TEXT];
    /* errors latch in out */
    (void)base_record_put_u64(out, TAG_NUMBER, cut->head.number);
    (void)base_record_put_bytes(out, TAG_HASH,
                                base_slice(cut->head.hash.bytes, sizeof cut->head.hash.bytes));
    (void)base_record_put_bytes(out, TAG_TIME, base_slice_text(cut->time));
    for (size_t i = 0; i < cut->holds.count; i++) {
        const struct ten_hold_event *h = &cut->holds.of[i];
        int len = snprintf(text, sizeof text, "%c %" PRIu64 " %s %s", h->is_release ? 'r' : 'h',
                           h->record, h->time, h->by);
        INVARIANT(len > 0 && (size_t)len < sizeof text);
        (void)base_record_put_bytes(out, TAG_HOLD, base_slice(text, (size_t)len));
    }
    return out->error;
}

/* Returns the text before the next blank, and skips both. */
static struct slice word_take(struct slice *rest)
{
    const uint8_t *blank = rest->len == 0 ? NULL : memchr(rest->ptr, ' ', rest->len);
    size_t len = blank == NULL ? rest->len : (size_t)(blank - rest->ptr);
    struct slice word = base_slice(rest->ptr, len);
    *rest = base_slice_skip(*rest, blank == NULL ? len : len + 1);
    return word;
}

static enum err hold_decode(struct slice text, struct ten_holds *holds)
{
    struct ten_hold_event *event = event_new(holds);
    event->is_release = base_slice_is(word_take(&text), "r");
    enum err rc = base_parse_u64(word_take(&text), &event->record);
    copy_text(event->time, sizeof event->time, word_take(&text));
    copy_text(event->by, sizeof event->by, text);
    return rc == ERR_OK ? ERR_OK : ERR_CORRUPT;
}

static enum err take_field(void *ctx, const struct base_field *f)
{
    struct ten_audit_cut *cut = ctx;
    switch (f->tag) {
    case TAG_NUMBER:
        return base_field_number(f, &cut->head.number);
    case TAG_HASH:
        if (f->is_number || f->bytes.len != sizeof cut->head.hash.bytes)
            return ERR_CORRUPT;
        memcpy(cut->head.hash.bytes, f->bytes.ptr, sizeof cut->head.hash.bytes);
        return ERR_OK;
    case TAG_TIME:
        return base_field_text(f, cut->time, sizeof cut->time);
    case TAG_HOLD:
        return f->is_number ? ERR_CORRUPT : hold_decode(f->bytes, &cut->holds);
    default:
        return ERR_OK; /* from a newer program */
    }
}

enum err ten_audit_cut_decode(struct slice body, struct ten_audit_cut *out)
{
    memset(out, 0, sizeof *out);
    enum err rc = base_record_visit(body, take_field, out);
    return rc == ERR_OK && out->head.number == 0 ? ERR_CORRUPT : rc;
}

enum err ten_audit_cut_read(struct ten_registry *r, struct slice tenant, struct ten_audit_cut *out,
                            struct errbuf *eb)
{
    struct ten_doc_key key =
        tenant.len > 0 ? ten_doc_key_audit_of(tenant, 0) : ten_doc_key_audit(0);
    struct buf body;
    uint64_t version;
    memset(out, 0, sizeof *out);
    base_buf_init(&body, TEN_AUDIT_CUT_DOC_MAX);
    enum err rc = sto_doc_get(r->engine, ten_doc_key_slice(&key), &version, &body, eb);
    if (rc == ERR_OK && ten_audit_cut_decode(base_buf_slice(&body), out) != ERR_OK)
        rc = base_fail(eb, ERR_CORRUPT, "the beginning of the audit trail is damaged");
    base_buf_fini(&body);
    return rc == ERR_NOT_FOUND ? ERR_OK : rc;
}

enum err ten_audit_was_removed(struct ten_registry *r, struct slice tenant, uint64_t number,
                               bool *out)
{
    struct ten_audit_cut cut;
    enum err rc = ten_audit_cut_read(r, tenant, &cut, NULL);
    *out = rc == ERR_OK && number <= cut.head.number;
    return rc;
}

enum err ten_audit_cut_seal(struct ten_registry *r, struct slice tenant,
                            const struct ten_audit_cut *cut, struct buf *out, struct errbuf *eb)
{
    char hash[BASE_AUDIT_HEX + 1];
    base_audit_hex(&cut->head.hash, hash);
    json_t *of = tenant.len > 0 ? json_stringn((const char *)tenant.ptr, tenant.len) : json_null();
    json_t *line = json_pack("{s:s,s:s,s:I,s:s,s:s,s:o}", "action", "audit.cut", "format",
                             TEN_AUDIT_CUT_FORMAT, "number", (json_int_t)cut->head.number, "hash",
                             hash, "time", cut->time, "tenant", of);
    return ten_certificates_seal_take(r->certificates, line, out, eb);
}
