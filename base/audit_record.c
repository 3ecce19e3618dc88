/*
 * base/audit_record.c - lines "name=value", hashed.
 *
 * Each value is the rest of its line, and no value holds a line feed: so the text says exactly one
 * record. The names stand in it, so that a text of one kind is never one of another.
 */
#include "base/audit_record.h"

#include <openssl/sha.h>

#include "base/text.h"

#include "base/banned.h"

#define ENTRY_HEAD "bigtent audit entry 1\n"
#define CHAIN_HEAD "bigtent audit chain 1\n"

static const struct base_audit_hash NOTHING;

bool base_audit_value_is_fine(struct slice value)
{
    return base_text_check(value, BASE_AUDIT_TEXT_MAX, "a value", NULL) == ERR_OK;
}

/* --- texts ------------------------------------------------------------------------------------ */

/* Errors latch in out. */
static void put(struct buf *out, const char *name, struct slice value)
{
    (void)base_buf_append_text(out, name);
    (void)base_buf_append_byte(out, '=');
    (void)base_buf_append(out, value);
    (void)base_buf_append_byte(out, '\n');
}

static void put_number(struct buf *out, const char *name, uint64_t number)
{
    (void)base_buf_append_text(out, name);
    (void)base_buf_append_byte(out, '=');
    (void)base_buf_append_u64(out, number);
    (void)base_buf_append_byte(out, '\n');
}

static void put_hash(struct buf *out, const char *name, const struct base_audit_hash *h)
{
    char hex[BASE_AUDIT_HEX + 1];
    base_audit_hex(h, hex);
    put(out, name, base_slice(hex, BASE_AUDIT_HEX));
}

/* Takes out. */
static struct base_audit_hash digest(struct buf *out)
{
    struct base_audit_hash h;
    INVARIANT(out->error == ERR_OK); /* values are shorter than LIM_AUDIT_TEXT */
    const uint8_t *done = SHA256(out->ptr, out->len, h.bytes);
    INVARIANT(done != NULL);
    base_buf_fini(out);
    return h;
}

struct base_audit_hash base_audit_entry(const struct base_audit_record *r)
{
    struct buf text;
    base_buf_init(&text, 16 * BASE_AUDIT_TEXT_MAX);
    (void)base_buf_append_text(&text, ENTRY_HEAD); /* errors latch in text */
    put(&text, "tenant", r->tenant);
    put_number(&text, "tenant_number", r->tenant_number);
    put_hash(&text, "tenant_before", &r->tenant_before);
    put(&text, "time", r->time);
    put(&text, "key", r->key);
    put(&text, "kind", r->kind);
    put(&text, "address", r->address);
    put(&text, "action", r->action);
    put(&text, "target", r->target);
    put(&text, "detail", r->detail);
    put(&text, "outcome", r->outcome);
    return digest(&text);
}

struct base_audit_hash base_audit_chain_hash(const struct base_audit_record *r)
{
    struct buf text;
    base_buf_init(&text, BASE_AUDIT_TEXT_MAX);
    (void)base_buf_append_text(&text, CHAIN_HEAD); /* errors latch in text */
    put_number(&text, "number", r->number);
    put_hash(&text, "before", &r->before);
    put_hash(&text, "entry", &r->entry);
    return digest(&text);
}

void base_audit_seal(struct base_audit_record *r)
{
    r->entry = base_audit_entry(r);
    r->hash = base_audit_chain_hash(r);
}

/* --- chains ----------------------------------------------------------------------------------- */

static bool is_same(const struct base_audit_hash *a, const struct base_audit_hash *b)
{
    return memcmp(a->bytes, b->bytes, BASE_AUDIT_HASH) == 0;
}

static const char *check_values(const struct base_audit_record *r)
{
    const struct slice values[] = {r->tenant, r->time,   r->key,    r->kind,   r->address,
                                   r->action, r->target, r->detail, r->outcome};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        if (!base_audit_value_is_fine(values[i]))
            return "a value holds what none may hold";
    struct base_audit_hash entry = base_audit_entry(r);
    return is_same(&entry, &r->entry) ? NULL : "its entry is not the hash of its fields";
}

const char *base_audit_follow(struct base_audit_head *head, const struct base_audit_record *r)
{
    const char *wrong = check_values(r);
    struct base_audit_hash hash = base_audit_chain_hash(r);
    if (r->number != head->number + 1)
        return "its number does not follow the one before";
    if (!is_same(&r->before, &head->hash))
        return "it does not name the hash of the record before";
    if (wrong != NULL)
        return wrong;
    if (!is_same(&hash, &r->hash))
        return "its hash is not that of its number, the record before and its entry";
    *head = (struct base_audit_head){.number = r->number, .hash = r->hash};
    return NULL;
}

const char *base_audit_follow_tenant(struct base_audit_head *head,
                                     const struct base_audit_record *r)
{
    const char *wrong = check_values(r);
    if (r->tenant.len == 0)
        return r->tenant_number == 0 && is_same(&r->tenant_before, &NOTHING)
                   ? wrong
                   : "it is about no tenant, and numbered as if it were";
    if (r->tenant_number != head->number + 1)
        return "its number among the tenant's does not follow the one before";
    if (!is_same(&r->tenant_before, &head->hash))
        return "it does not name the entry of the tenant's record before";
    if (wrong != NULL)
        return wrong;
    *head = (struct base_audit_head){.number = r->tenant_number, .hash = r->entry};
    return NULL;
}

/* --- hexadecimal ------------------------------------------------------------------------------ */

static const char DIGITS[] = "0123456789abcdef";

void base_audit_hex(const struct base_audit_hash *h, char out[BASE_AUDIT_HEX + 1])
{
    for (size_t i = 0; i < BASE_AUDIT_HASH; i++) {
        out[2 * i] = DIGITS[h->bytes[i] >> 4];
        out[2 * i + 1] = DIGITS[h->bytes[i] & 15];
    }
    out[BASE_AUDIT_HEX] = '\0';
}

enum err base_audit_unhex(struct slice text, struct base_audit_hash *out)
{
    struct base_audit_hash h = {{0}};
    if (text.len != BASE_AUDIT_HEX)
        return ERR_INVALID;
    for (size_t i = 0; i < text.len; i++) {
        const char *digit = text.ptr[i] == '\0' ? NULL : strchr(DIGITS, text.ptr[i]);
        if (digit == NULL)
            return ERR_INVALID;
        h.bytes[i / 2] = (uint8_t)(h.bytes[i / 2] << 4 | (digit - DIGITS));
    }
    *out = h;
    return ERR_OK;
}
