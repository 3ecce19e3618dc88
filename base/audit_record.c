/*
 * base/audit_record.c - lines "name=value", hashed.
 *
 * Each value is the rest of its line, and no value holds a line feed: so a text represents exactly
 * one record. The first line names the kind, so a text of one kind is never one of another.
 */
#include "base/audit_record.h"

#include <openssl/sha.h>

#include "base/text.h"

#include "base/banned.h"

#define ACTOR_HEAD   "bigtent audit actor 1\n"
#define SUBJECT_HEAD "bigtent audit subject 1\n"
#define CHAIN_HEAD   "bigtent audit chain 1\n"

static const char *const ENTRY_HEADS[] = {
    [BASE_AUDIT_PLAIN] = "bigtent audit entry 1\n",
    [BASE_AUDIT_ACTOR] = "bigtent audit entry 2\n",
    [BASE_AUDIT_SUBJECT] = "bigtent audit entry 3\n",
};

static const struct base_audit_hash NOTHING;

bool base_audit_value_is_fine(struct slice value)
{
    return base_text_check(value, BASE_AUDIT_TEXT_MAX, "a value", NULL) == ERR_OK;
}

bool base_audit_kind_is_told(struct slice kind)
{
    return base_slice_is(kind, "tenant") || base_slice_is(kind, "server");
}

bool base_audit_is_apart(struct slice action)
{
    static const char *const KEPT[] = {"tenant.", "purge.", "key."};
    for (size_t i = 0; i < sizeof KEPT / sizeof KEPT[0]; i++)
        if (base_slice_starts_with(action, base_slice_text(KEPT[i])))
            return false;
    return true;
}

/* --- texts ------------------------------------------------------------------------------------ */

/* Appends a line. Errors latch in out. */
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

/* Hashes and frees out. */
static struct base_audit_hash digest(struct buf *out)
{
    struct base_audit_hash h;
    INVARIANT(out->error == ERR_OK); /* values are shorter than LIM_AUDIT_TEXT */
    const uint8_t *done = SHA256(out->ptr, out->len, h.bytes);
    INVARIANT(done != NULL);
    base_buf_fini(out);
    return h;
}

/* Starts a commitment: a salted hash that replaces two values. */
static void commitment_begin(struct buf *out, const char *head, const uint8_t salt[BASE_AUDIT_SALT])
{
    char hex[BASE_AUDIT_SALT_HEX + 1];
    base_audit_salt_hex(salt, hex);
    base_buf_init(out, 4 * BASE_AUDIT_TEXT_MAX);
    (void)base_buf_append_text(out, head); /* errors latch in out */
    put(out, "salt", base_slice(hex, BASE_AUDIT_SALT_HEX));
}

struct base_audit_hash base_audit_actor(const struct base_audit_record *r)
{
    struct buf text;
    commitment_begin(&text, ACTOR_HEAD, r->salt);
    put(&text, "key", r->key);
    put(&text, "address", r->address);
    return digest(&text);
}

struct base_audit_hash base_audit_subject(const struct base_audit_record *r)
{
    struct buf text;
    commitment_begin(&text, SUBJECT_HEAD, r->subject_salt);
    put(&text, "target", r->target);
    put(&text, "detail", r->detail);
    return digest(&text);
}

struct base_audit_hash base_audit_entry(const struct base_audit_record *r)
{
    struct buf text;
    base_buf_init(&text, 16 * BASE_AUDIT_TEXT_MAX);
    /* errors latch in text */
    (void)base_buf_append_text(&text, ENTRY_HEADS[r->form]);
    put(&text, "tenant", r->tenant);
    put_number(&text, "tenant_number", r->tenant_number);
    put_hash(&text, "tenant_before", &r->tenant_before);
    put(&text, "time", r->time);
    if (r->form == BASE_AUDIT_PLAIN)
        put(&text, "key", r->key);
    put(&text, "kind", r->kind);
    if (r->form == BASE_AUDIT_PLAIN)
        put(&text, "address", r->address);
    else
        put_hash(&text, "actor", &r->actor);
    put(&text, "action", r->action);
    if (r->form == BASE_AUDIT_SUBJECT) {
        put_hash(&text, "subject", &r->subject);
    } else {
        put(&text, "target", r->target);
        put(&text, "detail", r->detail);
    }
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
    if (r->form >= BASE_AUDIT_ACTOR)
        r->actor = base_audit_actor(r);
    if (r->form == BASE_AUDIT_SUBJECT)
        r->subject = base_audit_subject(r);
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
    if (r->is_erased && (r->tenant.len == 0 || !base_audit_is_apart(r->action)))
        return "its target and detail are missing";
    struct base_audit_hash actor = r->actor;
    struct base_audit_hash subject = r->subject;
    if (r->form >= BASE_AUDIT_ACTOR && !r->is_withheld)
        actor = base_audit_actor(r);
    if (!is_same(&actor, &r->actor))
        return "its actor is not the hash of its salt, key and address";
    if (r->form == BASE_AUDIT_SUBJECT && !r->is_erased)
        subject = base_audit_subject(r);
    if (!is_same(&subject, &r->subject))
        return "its subject is not the hash of its salt, target and detail";
    if (r->is_withheld && r->form == BASE_AUDIT_PLAIN)
        return NULL;
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

static void hex_of(const uint8_t *bytes, size_t count, char *out)
{
    for (size_t i = 0; i < count; i++) {
        out[2 * i] = DIGITS[bytes[i] >> 4];
        out[2 * i + 1] = DIGITS[bytes[i] & 15];
    }
    out[2 * count] = '\0';
}

/* Decodes exactly 2 * count digits. */
static enum err unhex(struct slice text, uint8_t *out, size_t count)
{
    if (text.len != 2 * count)
        return ERR_INVALID;
    for (size_t i = 0; i < text.len; i++) {
        const char *digit = text.ptr[i] == '\0' ? NULL : strchr(DIGITS, text.ptr[i]);
        if (digit == NULL)
            return ERR_INVALID;
        out[i / 2] = (uint8_t)(out[i / 2] << 4 | (digit - DIGITS));
    }
    return ERR_OK;
}

void base_audit_hex(const struct base_audit_hash *h, char out[BASE_AUDIT_HEX + 1])
{
    hex_of(h->bytes, sizeof h->bytes, out);
}

void base_audit_salt_hex(const uint8_t salt[BASE_AUDIT_SALT], char out[BASE_AUDIT_SALT_HEX + 1])
{
    hex_of(salt, BASE_AUDIT_SALT, out);
}

enum err base_audit_unhex(struct slice text, struct base_audit_hash *out)
{
    struct base_audit_hash h = {{0}};
    enum err rc = unhex(text, h.bytes, sizeof h.bytes);
    if (rc == ERR_OK)
        *out = h;
    return rc;
}

enum err base_audit_salt_unhex(struct slice text, uint8_t out[BASE_AUDIT_SALT])
{
    return unhex(text, out, BASE_AUDIT_SALT);
}
