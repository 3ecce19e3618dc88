/* cli/audit_chain.c - verifies that an audit trail is complete, overall and for each tenant. */
#include "cli/audit_chain.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/sealed_line.h"
#include "base/text.h"
#include "cli/out.h"

#include "base/banned.h"

/* --- heads ------------------------------------------------------------------------------------ */

enum err cli_audit_head_parse(const char *text, struct base_audit_head *out)
{
    const char *at = strchr(text, '@');
    if (at == NULL)
        return ERR_INVALID;
    enum err e = base_audit_unhex(base_slice(text, (size_t)(at - text)), &out->hash);
    return e == ERR_OK ? base_parse_u64(base_slice_text(at + 1), &out->number) : e;
}

void cli_audit_chain_init(struct cli_audit_chain *c)
{
    *c = (struct cli_audit_chain){.tenants = json_object(),
                                  .erased_tenants = json_object(),
                                  .departed_tenants = json_object(),
                                  .from = 1};
}

void cli_audit_chain_fini(struct cli_audit_chain *c)
{
    json_decref(c->tenants);
    json_decref(c->erased_tenants);
    json_decref(c->departed_tenants);
    base_seal_key_free(c->key);
    c->tenants = NULL;
    c->erased_tenants = NULL;
    c->departed_tenants = NULL;
    c->key = NULL;
}

/* --- a record --------------------------------------------------------------------------------- */

static bool take_text(const json_t *record, const char *name, struct slice *out)
{
    const json_t *value = json_object_get(record, name);
    *out = SLICE_EMPTY;
    if (json_is_string(value))
        *out = base_slice(json_string_value(value), json_string_length(value));
    return json_is_string(value) || json_is_null(value);
}

static bool take_hash(const json_t *record, const char *name, struct base_audit_hash *out)
{
    struct slice hex;
    return take_text(record, name, &hex) && base_audit_unhex(hex, out) == ERR_OK;
}

static bool take_number(const json_t *record, const char *name, uint64_t *out)
{
    const json_t *value = json_object_get(record, name);
    *out = (uint64_t)json_integer_value(value);
    return json_is_integer(value) && json_integer_value(value) >= 0;
}

static bool take_entry(const json_t *record, struct base_audit_record *r)
{
    return take_text(record, "time", &r->time) && take_text(record, "action", &r->action) &&
           take_text(record, "outcome", &r->outcome) && take_text(record, "tenant", &r->tenant) &&
           take_text(record, "target", &r->target) && take_text(record, "detail", &r->detail) &&
           take_text(record, "key", &r->key) && take_text(record, "kind", &r->kind) &&
           take_text(record, "address", &r->address) &&
           take_number(record, "tenant_number", &r->tenant_number) &&
           take_hash(record, "tenant_before", &r->tenant_before) &&
           take_hash(record, "entry", &r->entry);
}

/* Reads the actor, which is withheld from the trail's own tenant. Operators see everything, so in
 * their trails a missing actor is an error. */
static bool take_actor(const json_t *record, bool is_own, struct base_audit_record *r)
{
    struct slice salt;
    r->form = json_object_get(record, "actor") != NULL ? BASE_AUDIT_ACTOR : BASE_AUDIT_PLAIN;
    r->is_withheld =
        is_own && !base_audit_kind_is_told(r->kind) && r->key.len == 0 && r->address.len == 0;
    if (r->form == BASE_AUDIT_PLAIN)
        return true;
    if (!take_hash(record, "actor", &r->actor) || !take_text(record, "salt", &salt))
        return false;
    r->is_withheld = r->is_withheld && salt.len == 0;
    return r->is_withheld || base_audit_salt_unhex(salt, r->salt) == ERR_OK;
}

/* Reads the subject, after the actor. An erased subject has neither target, detail nor salt: a
 * record may omit only all three together. */
static bool take_subject(const json_t *record, struct base_audit_record *r)
{
    struct slice salt;
    if (r->form == BASE_AUDIT_PLAIN || json_object_get(record, "subject") == NULL)
        return true;
    if (!take_hash(record, "subject", &r->subject) || !take_text(record, "subject_salt", &salt))
        return false;
    r->form = BASE_AUDIT_SUBJECT;
    r->is_erased = salt.len + r->target.len + r->detail.len == 0;
    return r->is_erased || base_audit_salt_unhex(salt, r->subject_salt) == ERR_OK;
}

static bool take_place(const json_t *record, struct base_audit_record *r)
{
    return take_number(record, "number", &r->number) && take_hash(record, "before", &r->before) &&
           take_hash(record, "hash", &r->hash);
}

/* Returns false when the record has members that no hash covers: they are not from the server. */
static bool is_exact(const json_t *record, const struct base_audit_record *r, bool is_own)
{
    enum { OWN_MEMBERS = 12, PLACE_MEMBERS = 3, FORM_MEMBERS = 2 }; /* each form adds two */
    size_t members = OWN_MEMBERS + (is_own ? 0 : PLACE_MEMBERS);
    return json_object_size(record) == members + (r->form - BASE_AUDIT_PLAIN) * FORM_MEMBERS;
}

/* --- the beginning ----------------------------------------------------------------------------
 */

#define CUT_FORMAT "bigtent.audit.cut.1"

bool cli_audit_is_cut(const json_t *line)
{
    const char *format = json_string_value(json_object_get(line, "format"));
    return format != NULL && strcmp(format, CUT_FORMAT) == 0;
}

/* Checks the cut's signature with the given key, or else with the key that the cut names, which
 * only readers who recorded that key earlier can judge. */
static enum err seal_check(const struct cli_audit_chain *c, struct slice line, struct errbuf *eb)
{
    struct slice text;
    EVP_PKEY *key = NULL;
    if (c->key != NULL)
        return base_seal_check(c->key, line, eb);
    enum err e = base_line_text(line, "public_key", &text);
    if (e == ERR_OK)
        e = base_seal_public_decode(text, &key);
    if (e != ERR_OK)
        return base_fail(eb, e, "it names no key");
    e = base_seal_check(key, line, eb);
    base_seal_key_free(key);
    return e;
}

enum cli_exit cli_audit_chain_begin(struct cli_audit_chain *c, struct slice line, const json_t *cut)
{
    struct errbuf eb = {{0}};
    struct base_audit_head head = {0};
    struct slice tenant;
    bool is_cut = take_number(cut, "number", &head.number) && head.number > 0 &&
                  take_hash(cut, "hash", &head.hash) && take_text(cut, "tenant", &tenant);
    if (!is_cut || c->is_begun || c->records > 0 || c->cut > 0)
        return cli_fail(CLI_CHECK_FAILED, "what follows record %" PRIu64 " is no record",
                        c->head.number);
    if (seal_check(c, line, &eb) != ERR_OK)
        return cli_fail(CLI_CHECK_FAILED, "the beginning of the trail is not sealed: %s", eb.text);
    c->cut = head.number;
    cli_say("records up to %" PRIu64 " were removed when they were old enough", c->cut);
    if (c->tenant != NULL && tenant.len == 0) {
        c->from = 0; /* the cut does not state where this tenant's chain continues */
        return CLI_OK;
    }
    c->head = head;
    c->is_noted_found = c->has_noted && c->noted.number == head.number &&
                        memcmp(head.hash.bytes, c->noted.hash.bytes, BASE_AUDIT_HASH) == 0;
    if (c->from <= head.number)
        c->from = head.number + 1;
    return CLI_OK;
}

/* --- following -------------------------------------------------------------------------------- */

static bool follows_tenants_only(const struct cli_audit_chain *c)
{
    return c->is_own || c->tenant != NULL;
}

static enum cli_exit broken(const struct cli_audit_chain *c, const struct base_audit_record *r,
                            const char *what)
{
    bool is_tenants = follows_tenants_only(c);
    return cli_fail(CLI_CHECK_FAILED, "broken at record %" PRIu64 "%s: %s",
                    is_tenants ? r->tenant_number : r->number, is_tenants ? " of the tenant" : "",
                    what);
}

/* Returns the previous head of the tenant's chain. A part of a trail starts
 * with the head that its first record names. */
static void tenant_head_get(const struct cli_audit_chain *c, const struct base_audit_record *r,
                            struct base_audit_head *out)
{
    const json_t *known = json_object_getn(c->tenants, (const char *)r->tenant.ptr, r->tenant.len);
    *out = (struct base_audit_head){0};
    if (known != NULL) {
        const json_t *hex = json_array_get(known, 1);
        out->number = (uint64_t)json_integer_value(json_array_get(known, 0));
        enum err e = base_audit_unhex(base_slice(json_string_value(hex), json_string_length(hex)),
                                      &out->hash);
        INVARIANT(e == ERR_OK); /* it was put there by tenant_head_set */
    } else if (c->cut > 0 && follows_tenants_only(c) && c->records == 0 && c->from > 0) {
        *out = c->head; /* the tenant's own cut */
    } else if (c->first > 1 && r->tenant_number > 0) {
        *out = (struct base_audit_head){.number = r->tenant_number - 1, .hash = r->tenant_before};
    }
}

static void set_of_tenant(json_t *object, struct slice tenant, json_t *value_take)
{
    int rc = json_object_setn_new(object, (const char *)tenant.ptr, tenant.len, value_take);
    INVARIANT(rc == 0); /* the ID is valid UTF-8: jansson read it */
}

static void tenant_head_set(struct cli_audit_chain *c, struct slice tenant,
                            const struct base_audit_head *head)
{
    char hex[BASE_AUDIT_HEX + 1];
    base_audit_hex(&head->hash, hex);
    set_of_tenant(c->tenants, tenant, json_pack("[I,s]", (json_int_t)head->number, hex));
}

static enum cli_exit follow_tenant(struct cli_audit_chain *c, const struct base_audit_record *r)
{
    struct base_audit_head head;
    tenant_head_get(c, r, &head);
    const char *wrong = base_audit_follow_tenant(&head, r);
    if (wrong != NULL)
        return broken(c, r, wrong);
    if (r->tenant.len > 0)
        tenant_head_set(c, r->tenant, &head);
    if (c->is_own && json_object_size(c->tenants) != 1)
        return broken(c, r, "it is about another tenant, and the chain of all is missing");
    if (follows_tenants_only(c))
        c->head = head;
    return CLI_OK;
}

static enum cli_exit follow_all(struct cli_audit_chain *c, const struct base_audit_record *r)
{
    if (c->records == 0 && r->number > 1 && r->number != c->cut + 1)
        c->head = (struct base_audit_head){.number = r->number - 1, .hash = r->before};
    const char *wrong = base_audit_follow(&c->head, r);
    return wrong == NULL ? CLI_OK : broken(c, r, wrong);
}

static enum cli_exit compare_noted(struct cli_audit_chain *c, const struct base_audit_record *r)
{
    if (!c->has_noted || c->head.number != c->noted.number)
        return CLI_OK;
    c->is_noted_found = true;
    if (memcmp(c->head.hash.bytes, c->noted.hash.bytes, BASE_AUDIT_HASH) == 0)
        return CLI_OK;
    return broken(c, r, "it is not the one whose hash was noted: the trail was written anew");
}

/* Returns whether the record states its tenant's offboarding,
 * which erases subjects of its records. */
static bool is_departure(const struct base_audit_record *r)
{
    static const char *const ACTIONS[] = {"tenant.offboard", "purge.start", "tenant.tombstone"};
    for (size_t i = 0; i < sizeof ACTIONS / sizeof ACTIONS[0]; i++)
        if (base_slice_is(r->action, ACTIONS[i]))
            return base_slice_is(r->outcome, "done");
    return false;
}

static void note_erasure(struct cli_audit_chain *c, const struct base_audit_record *r,
                         uint64_t place)
{
    if (is_departure(r))
        set_of_tenant(c->departed_tenants, r->tenant, json_true());
    if (!r->is_erased)
        return;
    c->erased++;
    if (json_object_getn(c->erased_tenants, (const char *)r->tenant.ptr, r->tenant.len) == NULL)
        set_of_tenant(c->erased_tenants, r->tenant, json_integer((json_int_t)place));
}

/* Returns whether the trail is a part, in which the record of an offboarding may be missing. */
static bool is_part(const struct cli_audit_chain *c)
{
    return c->cut > 0 || c->first > 1;
}

static enum cli_exit check_erasures(const struct cli_audit_chain *c)
{
    const char *tenant;
    json_t *place;
    if (is_part(c))
        return CLI_OK;
    json_object_foreach(c->erased_tenants, tenant, place)
    {
        if (json_object_get(c->departed_tenants, tenant) != NULL)
            continue;
        return cli_fail(CLI_CHECK_FAILED,
                        "broken at record %" JSON_INTEGER_FORMAT
                        ": its target and detail are missing, and no record says that the tenant "
                        "%s left; if it left since, export the trail again",
                        json_integer_value(place), tenant);
    }
    return CLI_OK;
}

/* Checks the trail's first record: the verifier determines the start, not the trail. */
static enum cli_exit begin(struct cli_audit_chain *c, const struct base_audit_record *r,
                           uint64_t place)
{
    char missing[64];
    c->first = place;
    if (place == c->from || c->from == 0)
        return CLI_OK;
    (void)snprintf(missing, sizeof missing, "record %" PRIu64 " should stand here", c->from);
    return broken(c, r, missing);
}

static enum cli_exit follow(struct cli_audit_chain *c, const struct base_audit_record *r)
{
    uint64_t place = follows_tenants_only(c) ? r->tenant_number : r->number;
    if (c->records == 0 && place < c->from)
        return CLI_OK;
    if (r->is_erased && c->is_own)
        return broken(c, r, "its target and detail are missing");
    if (r->form < c->form)
        return broken(c, r, "it has an earlier form than the one before it");
    c->form = r->form;
    c->unchecked += r->is_withheld && r->form == BASE_AUDIT_PLAIN;
    enum cli_exit e = c->records == 0 ? begin(c, r, place) : CLI_OK;
    if (e == CLI_OK && !follows_tenants_only(c))
        e = follow_all(c, r);
    if (e == CLI_OK)
        e = follow_tenant(c, r);
    if (e == CLI_OK)
        e = compare_noted(c, r);
    note_erasure(c, r, place);
    c->records++;
    return e;
}

enum cli_exit cli_audit_chain_take(struct cli_audit_chain *c, const json_t *record)
{
    struct base_audit_record r = {0};
    bool is_record = take_entry(record, &r);
    if (!c->is_begun)
        c->is_own = is_record && json_object_get(record, "number") == NULL;
    c->is_begun = true;
    is_record = is_record && take_actor(record, c->is_own, &r) && take_subject(record, &r);
    if (!is_record || (!c->is_own && !take_place(record, &r)) || !is_exact(record, &r, c->is_own))
        return cli_fail(CLI_CHECK_FAILED, "what follows record %" PRIu64 " is no record",
                        c->head.number);
    if (c->tenant != NULL && !base_slice_is(r.tenant, c->tenant))
        return CLI_OK;
    return follow(c, &r);
}

enum cli_exit cli_audit_chain_end(const struct cli_audit_chain *c)
{
    char hex[BASE_AUDIT_HEX + 1];
    if (c->records == 0 && c->from == 1)
        return cli_fail(CLI_CHECK_FAILED, "there is no record, and so nothing that could be whole");
    if (c->has_noted && !c->is_noted_found && c->noted.number > c->head.number)
        return cli_fail(CLI_CHECK_FAILED,
                        "the trail ends at record %" PRIu64 ", and %" PRIu64
                        " was noted: its end was cut off",
                        c->head.number, c->noted.number);
    if (c->has_noted && !c->is_noted_found && c->noted.number < c->cut)
        return cli_fail(CLI_CHECK_FAILED,
                        "the noted record %" PRIu64 " was removed with all up to %" PRIu64
                        ": note a newer head in time",
                        c->noted.number, c->cut);
    if (c->has_noted && !c->is_noted_found)
        return cli_fail(CLI_CHECK_FAILED,
                        "the noted record %" PRIu64 " is not in this part of the trail",
                        c->noted.number);
    if (check_erasures(c) != CLI_OK)
        return CLI_CHECK_FAILED;
    base_audit_hex(&c->head.hash, hex);
    if (c->erased > 0)
        cli_say("the names in %" PRIu64 " records went with their tenants: of these, hashes were "
                "checked, %s",
                c->erased,
                is_part(c) ? "not that the tenants left, which only a whole trail says"
                           : "and that a record says that the tenant left");
    if (c->unchecked > 0)
        cli_say("%" PRIu64 " records of earlier versions name keys that are not shown to a tenant: "
                "of them, numbers and hashes were checked, not the words",
                c->unchecked);
    if (c->first > 1 && c->first != c->cut + 1)
        cli_say("the part begins at record %" PRIu64 "; what is before it was not looked at",
                c->first);
    cli_out_printf("%" PRIu64 " records, whole; head %s@%" PRIu64 "\n", c->records, hex,
                   c->head.number);
    return CLI_OK;
}
