/*
 * gateway/api/admin_audit.c - the audit trail: a page as JSON, or as lines until its end; its head.
 *
 * Records are read on the helper, a portion at a time. Lines end at the record that was the newest
 * when the reading started, so that reading ends even while new records are written.
 *
 * A trail whose oldest records were removed starts with a sealed statement of the last of them
 * (tenancy/audit_cut.h): "cut" of a page, the first line of lines.
 *
 * A tenant reads its own chain: records are numbered and hashed within it. Number, before and hash
 * of the whole trail are left out, because they count the actions of others. Key, address and salt
 * are left out where the acting key was not one of the tenant's: who runs the server, and from
 * where, is not disclosed to tenants.
 */
#include "gateway/api/admin.h"
#include "gateway/api/handlers.h"
#include "gateway/api/json_out.h"
#include "gateway/api/portions.h"
#include "tenancy/audit.h"
#include "tenancy/audit_cut.h"

#include "base/banned.h"

#define PORTION_RECORDS 500
/* Attempts at a first portion; a batch of removals lasts longer than one. */
#define BEGINNINGS 16

const char *const gw_audit_query[] = {"tenant", "from", "limit", NULL};
const char *const gw_own_audit_query[] = {"from", "limit", NULL};

struct audit {
    struct gw_portions portions;
    bool is_begun;
    struct slice tenant; /* empty: all */
    bool is_own;         /* the tenant's view */
    bool as_lines;
    uint64_t next;
    uint64_t last; /* the last record to read */
    struct ten_audit_cut cut;
    bool tells_cut; /* some or all of the requested records were removed */
    uint64_t left;  /* records that may still be written */
    size_t given;   /* written in this portion */
    struct gw_json json;
};

/* --- a record ----------------------------------------------------------------------------------
 */

static void put_text(struct gw_json *j, const char *name, struct slice text)
{
    gw_json_name(j, name);
    if (text.len == 0)
        gw_json_null(j);
    else
        gw_json_text(j, text);
}

static void put_hash(struct gw_json *j, const char *name, const struct base_audit_hash *h)
{
    char hex[BASE_AUDIT_HEX + 1];
    base_audit_hex(h, hex);
    gw_json_name_text(j, name, hex);
}

static void put_actor(struct gw_json *j, const struct base_audit_record *r, bool is_withheld)
{
    char salt[BASE_AUDIT_SALT_HEX + 1];
    put_text(j, "key", is_withheld ? SLICE_EMPTY : r->key);
    put_text(j, "kind", r->kind);
    put_text(j, "address", is_withheld ? SLICE_EMPTY : r->address);
    if (r->form < BASE_AUDIT_ACTOR)
        return;
    base_audit_salt_hex(r->salt, salt);
    put_hash(j, "actor", &r->actor);
    put_text(j, "salt", is_withheld ? SLICE_EMPTY : base_slice_text(salt));
}

/* Writes the subject; null where it was erased with its tenant; the hash stays. */
static void put_subject(struct gw_json *j, const struct base_audit_record *r)
{
    char salt[BASE_AUDIT_SALT_HEX + 1];
    put_text(j, "target", r->target);
    put_text(j, "detail", r->detail);
    if (r->form < BASE_AUDIT_SUBJECT)
        return;
    base_audit_salt_hex(r->subject_salt, salt);
    put_hash(j, "subject", &r->subject);
    put_text(j, "subject_salt", r->is_erased ? SLICE_EMPTY : base_slice_text(salt));
}

static void put_record(struct gw_json *j, const struct base_audit_record *r, bool is_own)
{
    gw_json_open(j, '{');
    if (!is_own)
        gw_json_name_u64(j, "number", r->number);
    put_text(j, "time", r->time);
    put_text(j, "action", r->action);
    put_text(j, "outcome", r->outcome);
    put_text(j, "tenant", r->tenant);
    put_subject(j, r);
    put_actor(j, r, is_own && !base_audit_kind_is_told(r->kind));
    gw_json_name_u64(j, "tenant_number", r->tenant_number);
    put_hash(j, "tenant_before", &r->tenant_before);
    put_hash(j, "entry", &r->entry);
    if (!is_own) {
        put_hash(j, "before", &r->before);
        put_hash(j, "hash", &r->hash);
    }
    gw_json_close(j, '}');
}

/* --- reading -----------------------------------------------------------------------------------
 */

/* Handles a missing next record. ERR_CONFLICT: it was removed since the reading started, and the
 * remaining records must not look complete. */
static enum err check_removed(struct gw_call *call)
{
    const struct audit *a = call->state;
    bool is_removed = false;
    enum err e = ten_audit_was_removed(call->api->registry, a->tenant, a->next, &is_removed);
    return e == ERR_OK && is_removed ? ERR_CONFLICT : e;
}

static enum err visit(void *ctx, const struct base_audit_record *r)
{
    struct gw_call *call = ctx;
    struct audit *a = call->state;
    uint64_t number = a->tenant.len > 0 ? r->tenant_number : r->number;
    if (number > a->last)
        return ERR_OK; /* a handful at most: they were written since */
    enum err e = number == a->next ? ERR_OK : check_removed(call);
    if (e != ERR_OK)
        return e;
    if (a->as_lines)
        a->json = gw_json_start(&call->out);
    put_record(&a->json, r, a->is_own);
    if (a->as_lines)
        (void)base_buf_append_byte(&call->out, '\n'); /* errors latch in out */
    a->next = number + 1;
    a->given++;
    a->left--;
    return call->out.error;
}

/* Reads a portion; on the helper. */
static enum err read_portion(struct gw_call *call, struct errbuf *eb)
{
    struct audit *a = call->state;
    uint64_t wanted = a->as_lines && a->left > PORTION_RECORDS ? PORTION_RECORDS : a->left;
    a->given = 0;
    enum err e =
        ten_audit_read(call->api->registry, a->tenant, a->next, (size_t)wanted, visit, call, eb);
    return e == ERR_OK && a->given == 0 && a->next <= a->last ? check_removed(call) : e;
}

/* --- a page ------------------------------------------------------------------------------------
 */

static enum err put_cut(struct gw_call *call, struct errbuf *eb)
{
    const struct audit *a = call->state;
    return ten_audit_cut_seal(call->api->registry, a->tenant, &a->cut, &call->out, eb);
}

/* Reads a portion of lines; on the helper. */
static enum err read_lines(struct gw_call *call, struct errbuf *eb)
{
    const struct audit *a = call->state;
    enum err e = a->tells_cut ? put_cut(call, eb) : ERR_OK;
    if (e == ERR_OK && a->tells_cut)
        e = base_buf_append_byte(&call->out, '\n');
    return e == ERR_OK ? read_portion(call, eb) : e;
}

/* Reads a page; on the helper. */
static enum err read_page(struct gw_call *call, struct errbuf *eb)
{
    struct audit *a = call->state;
    a->json = gw_json_start(&call->out);
    gw_json_open(&a->json, '{');
    if (a->tells_cut) {
        gw_json_name(&a->json, "cut");
        enum err rc = put_cut(call, eb);
        if (rc != ERR_OK)
            return rc;
        a->json.comma = true;
    }
    gw_json_name(&a->json, "records");
    gw_json_open(&a->json, '[');
    enum err e = read_portion(call, eb);
    gw_json_close(&a->json, ']');
    if (a->given > 0 && a->next <= a->last)
        gw_json_name_u64(&a->json, "next_from", a->next);
    gw_json_close(&a->json, '}');
    return e;
}

/* Finds the newest record, and the oldest. */
static enum err find_ends(struct gw_call *call, struct errbuf *eb)
{
    struct audit *a = call->state;
    struct base_audit_head head;
    char time[BASE_TIME_TEXT];
    enum err e = ERR_OK;
    if (a->tenant.len > 0)
        e = ten_audit_head_of(call->api->registry, a->tenant, &head, eb);
    else
        ten_audit_head(call->api->registry, &head, time);
    if (e == ERR_OK)
        e = ten_audit_cut_read(call->api->registry, a->tenant, &a->cut, eb);
    if (e != ERR_OK)
        return e;
    a->last = head.number;
    a->tells_cut = a->next <= a->cut.head.number;
    if (a->tells_cut)
        a->next = a->cut.head.number + 1;
    return ERR_OK;
}

static enum err read_beginning(struct gw_call *call, struct errbuf *eb)
{
    const struct audit *a = call->state;
    enum err e = find_ends(call, eb);
    if (e != ERR_OK)
        return e;
    return a->as_lines ? read_lines(call, eb) : read_page(call, eb);
}

/* Reads the first portion before the head is sent, so that a failure has a status; on the helper.
 * Records removed during the reading are no failure: it restarts after them. */
static enum err read_first(struct gw_call *call, struct errbuf *eb)
{
    struct audit *a = call->state;
    const struct audit asked = *a;
    enum err e = read_beginning(call, eb);
    for (int tries = 1; e == ERR_CONFLICT && tries < BEGINNINGS; tries++) {
        *a = asked;
        base_buf_truncate(&call->out, 0);
        e = read_beginning(call, eb);
    }
    if (e == ERR_CONFLICT)
        e = base_fail(eb, ERR_UNAVAILABLE, "old records are being removed; try again");
    return e;
}

/* Reads the next portion; on the helper. */
static enum err work(struct gw_call *call, struct errbuf *eb)
{
    struct audit *a = call->state;
    bool is_first = !a->is_begun;
    a->is_begun = true;
    enum err e = is_first ? read_first(call, eb) : read_portion(call, eb);
    a->portions.is_last = !a->as_lines || a->given == 0 || a->left == 0 || a->next > a->last;
    return e;
}

static void start(struct gw_call *call, struct audit *a)
{
    const struct gw_query *query = &gw_rest(call)->query;
    struct errbuf eb;
    eb.text[0] = '\0';
    a->as_lines = gw_rest_accepts(call, "application/x-ndjson");
    uint64_t most = a->as_lines ? UINT64_MAX : LIM_PAGE_ROWS_DEFAULT;
    enum err e = gw_query_number(query, "from", 1, INT64_MAX, 1, &a->next, &eb);
    if (e == ERR_OK)
        e = gw_query_number(query, "limit", 1, most, most, &a->left, &eb);
    if (e != ERR_OK) {
        gw_call_problem(call, (int)e, eb.text);
        return;
    }
    a->portions = (struct gw_portions){
        .work = work, .content_type = a->as_lines ? "application/x-ndjson" : "application/json"};
    gw_portions_start(call);
}

/* --- routes ------------------------------------------------------------------------------------
 */

void gw_audit_list(struct gw_call *call)
{
    struct audit *a = gw_call_new_state(call, sizeof *a, NULL);
    struct slice id = gw_query_get(&gw_rest(call)->query, "tenant");
    const struct ten_tenant *t = NULL;
    if (id.ptr != NULL && (t = ten_tenant_find(call->api->registry, id)) == NULL) {
        gw_call_problem(call, ERR_NOT_FOUND, "there is no such tenant");
        return;
    }
    a->tenant = t == NULL ? SLICE_EMPTY : ten_tenant_id(t);
    start(call, a);
}

void gw_own_audit_list(struct gw_call *call)
{
    struct audit *a = gw_call_new_state(call, sizeof *a, NULL);
    a->tenant = ten_tenant_id(call->tenant);
    a->is_own = true;
    start(call, a);
}

/* Describes the head; on the helper, because the head is locked while a record becomes durable. */
static enum err describe_head(struct gw_call *call, struct errbuf *eb)
{
    struct base_audit_head head;
    char time[BASE_TIME_TEXT];
    struct gw_json j = gw_json_start(&call->out);
    (void)eb; /* no failure: it is in memory */
    ten_audit_head(call->api->registry, &head, time);
    gw_json_open(&j, '{');
    gw_json_name_u64(&j, "number", head.number);
    put_hash(&j, "hash", &head.hash);
    gw_json_name_text(&j, "time", time);
    gw_json_close(&j, '}');
    return ERR_OK;
}

static void head_described(struct gw_call *call)
{
    gw_rest_send_json(call, 200);
}

void gw_audit_head(struct gw_call *call)
{
    gw_task_on_helper(call, describe_head, head_described);
}
