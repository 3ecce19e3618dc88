/*
 * tenancy/audit.c - actions, and the batches that carry their records.
 *
 *   begin     the thread has an action in progress
 *   commit    the first batch of documents includes the record: its number is the head's plus one,
 *             its hashes are those of the head and of the tenant's last record
 *   end       an action that acted without changing a document, or was refused, gets a batch of its
 *             own; one that found the requested state already in place, none
 *
 * 1. The head in memory advances when a batch is durable, and only then. A batch whose outcome is
 *    unknown latches the engine: nothing follows it before the next start reads the head again.
 * 2. The index document of a tenant's record is written in the record's batch, and expected to be
 *    new, like the record itself: two records with one number cannot both be written.
 */
#include "tenancy/audit.h"

#include <openssl/rand.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"
#include "tenancy/audit_cut.h"
#include "tenancy/audit_doc.h"
#include "tenancy/audit_internal.h"
#include "tenancy/doc_key.h"
#include "tenancy/internal.h"

#include "base/banned.h"

#define DONE "done"

/* The action of this thread. */
static _Thread_local struct {
    struct ten_registry *registry; /* NULL: none */
    bool is_written;
    bool is_unchanged; /* no record is written if it succeeds */
    struct ten_note note;
} under_way;

/* --- notes ------------------------------------------------------------------------------------ */

void ten_note_text(char *to, size_t room, struct slice from)
{
    size_t len = from.len < room - 1 ? from.len : room - 1;
    if (len > 0)
        memcpy(to, from.ptr, len);
    to[len] = '\0';
    if (base_audit_value_is_fine(base_slice(to, len)))
        return;
    for (size_t i = 0; i < len; i++)
        if (to[i] < 0x20 || to[i] > 0x7e)
            to[i] = '?';
}

static void take_text(char *to, size_t room, const char *from)
{
    ten_note_text(to, room, from == NULL ? SLICE_EMPTY : base_slice_text(from));
}

void ten_note_take(struct ten_note *note, const struct ten_action *action)
{
    take_text(note->key, sizeof note->key, action->actor.key_id);
    take_text(note->kind, sizeof note->kind, action->actor.key_kind);
    take_text(note->address, sizeof note->address, action->actor.address);
    take_text(note->action, sizeof note->action, action->name);
    ten_note_text(note->tenant, sizeof note->tenant, action->tenant);
    ten_note_text(note->target, sizeof note->target, action->target);
    take_text(note->detail, sizeof note->detail, action->detail);
    take_text(note->outcome, sizeof note->outcome, DONE);
}

/* --- batches ---------------------------------------------------------------------------------- */

#define DRAFT_DOCS 3

/* A record that is being added to a batch. */
struct draft {
    struct base_audit_record record;
    struct ten_doc_key keys[DRAFT_DOCS]; /* of the record, its index, its subject */
    struct buf bodies[DRAFT_DOCS];
    size_t doc_count;
};

bool ten_audit_keeps_subjects(struct ten_registry *r, struct slice tenant)
{
    const struct ten_tenant *t = ten_tenant_find(r, tenant);
    enum ten_state state = t == NULL ? TEN_ACTIVE /* about to be created */ : ten_tenant_state(t);
    return state != TEN_PURGING && state != TEN_PURGED && state != TEN_EXPIRED;
}

static enum err tenant_head(struct ten_registry *r, const struct draft *before, size_t count,
                            struct slice tenant, struct base_audit_head *out, struct errbuf *eb)
{
    while (count-- > 0) {
        const struct base_audit_record *b = &before[count].record;
        if (!base_slice_equal(b->tenant, tenant))
            continue;
        *out = (struct base_audit_head){.number = b->tenant_number, .hash = b->entry};
        return ERR_OK;
    }
    return ten_audit_head_of(r, tenant, out, eb);
}

static struct buf *doc_add(struct draft *d, struct ten_doc_key key)
{
    d->keys[d->doc_count] = key;
    return &d->bodies[d->doc_count++];
}

static enum err docs_make(struct ten_registry *r, struct draft *d)
{
    const struct base_audit_record *record = &d->record;
    enum err rc = ten_audit_encode(record, doc_add(d, ten_doc_key_audit(record->number)));
    if (record->tenant.len == 0)
        return rc;
    if (rc == ERR_OK)
        rc = ten_audit_index_encode(
            record->number, &record->entry,
            doc_add(d, ten_doc_key_audit_of(record->tenant, record->tenant_number)));
    if (rc == ERR_OK && ten_audit_is_apart(record) && ten_audit_keeps_subjects(r, record->tenant))
        rc = ten_audit_subject_encode(
            record, doc_add(d, ten_doc_key_audit_subject(record->tenant, record->tenant_number)));
    return rc;
}

static enum err draft_make(struct ten_registry *r, struct draft *drafts, size_t at,
                           const struct ten_note *note, struct base_audit_head *head,
                           struct slice time, struct errbuf *eb)
{
    struct draft *d = &drafts[at];
    struct base_audit_head of_tenant = {0};
    d->record = (struct base_audit_record){
        .number = head->number + 1,
        .time = time,
        .key = base_slice_text(note->key),
        .kind = base_slice_text(note->kind),
        .address = base_slice_text(note->address),
        .action = base_slice_text(note->action),
        .tenant = base_slice_text(note->tenant),
        .target = base_slice_text(note->target),
        .detail = base_slice_text(note->detail),
        .outcome = base_slice_text(note->outcome),
        .form = BASE_AUDIT_SUBJECT,
        .before = head->hash,
    };
    if (RAND_bytes(d->record.salt, sizeof d->record.salt) != 1 ||
        RAND_bytes(d->record.subject_salt, sizeof d->record.subject_salt) != 1)
        return base_fail(eb, ERR_IO, "there is no randomness for a record of the audit trail");
    if (d->record.tenant.len > 0) {
        enum err rc = tenant_head(r, drafts, at, d->record.tenant, &of_tenant, eb);
        if (rc != ERR_OK)
            return rc;
        d->record.tenant_number = of_tenant.number + 1;
        d->record.tenant_before = of_tenant.hash;
    }
    base_audit_seal(&d->record);
    *head = (struct base_audit_head){.number = d->record.number, .hash = d->record.hash};
    enum err rc = docs_make(r, d);
    return rc == ERR_OK ? ERR_OK : base_fail(eb, rc, "the record of an action cannot be written");
}

/* Adds the record's changes after the `count` existing ones; returns their new number. */
static size_t draft_changes(const struct draft *d, struct sto_doc_change *changes, size_t count)
{
    for (size_t i = 0; i < d->doc_count; i++)
        changes[count++] = (struct sto_doc_change){.key = ten_doc_key_slice(&d->keys[i]),
                                                   .body = base_buf_slice(&d->bodies[i]),
                                                   .expect = STO_DOC_ABSENT};
    return count;
}

/* The caller's changes come first, so a conflict names one of them. */
struct batch {
    struct sto_doc_change *changes;
    size_t change_count;
    struct draft *drafts;
    size_t draft_count;
};

static void batch_init(struct batch *b, const struct sto_doc_change *changes, size_t count,
                       size_t draft_count)
{
    b->changes = base_new_array(count + DRAFT_DOCS * draft_count, sizeof b->changes[0]);
    for (size_t i = 0; i < count; i++)
        b->changes[i] = changes[i];
    b->change_count = count;
    b->drafts = base_new_array(draft_count, sizeof b->drafts[0]);
    b->draft_count = draft_count;
    for (size_t i = 0; i < draft_count; i++)
        for (size_t k = 0; k < DRAFT_DOCS; k++)
            base_buf_init(&b->drafts[i].bodies[k], TEN_AUDIT_DOC_MAX);
}

static void batch_fini(struct batch *b)
{
    for (size_t i = 0; i < b->draft_count; i++)
        for (size_t k = 0; k < DRAFT_DOCS; k++)
            base_buf_fini(&b->drafts[i].bodies[k]);
    base_free(b->drafts);
    base_free(b->changes);
}

/* Called with the lock held. */
static enum err batch_write(struct ten_registry *r, struct batch *b, const struct ten_note *notes,
                            ten_docs_write *write, void *ctx, struct errbuf *eb)
{
    struct ten_audit *audit = r->audit;
    struct base_audit_head head = audit->head;
    char time[BASE_TIME_TEXT];
    enum err rc = ERR_OK;
    base_time_format(base_wall_us(), time);
    for (size_t i = 0; rc == ERR_OK && i < b->draft_count; i++) {
        rc = draft_make(r, b->drafts, i, &notes[i], &head, base_slice_text(time), eb);
        if (rc == ERR_OK)
            b->change_count = draft_changes(&b->drafts[i], b->changes, b->change_count);
    }
    if (rc == ERR_OK)
        rc = write(ctx, b->changes, b->change_count, eb);
    if (rc == ERR_OK) {
        audit->head = head;
        memcpy(audit->time, time, sizeof time);
    }
    return rc;
}

static enum err write_with(struct ten_registry *r, const struct ten_note *notes, size_t note_count,
                           const struct sto_doc_change *changes, size_t count,
                           ten_docs_write *write, void *ctx, struct errbuf *eb)
{
    struct batch b;
    batch_init(&b, changes, count, note_count);
    pthread_mutex_lock(&r->audit->lock);
    enum err rc = batch_write(r, &b, notes, write, ctx, eb);
    pthread_mutex_unlock(&r->audit->lock);
    batch_fini(&b);
    return rc;
}

static enum err write_docs(void *ctx, const struct sto_doc_change *changes, size_t count,
                           struct errbuf *eb)
{
    const struct ten_registry *r = ctx;
    return sto_docs_commit(r->engine, changes, count, eb);
}

enum err ten_audit_write(struct ten_registry *r, const struct ten_note *notes, size_t count,
                         struct errbuf *eb)
{
    return write_with(r, notes, count, NULL, 0, write_docs, r, eb);
}

enum err ten_docs_commit_by(struct ten_registry *r, const struct sto_doc_change *changes,
                            size_t count, ten_docs_write *write, void *ctx, struct errbuf *eb)
{
    if (under_way.registry != r || under_way.is_written)
        return write(ctx, changes, count, eb);
    enum err rc = write_with(r, &under_way.note, 1, changes, count, write, ctx, eb);
    under_way.is_written = rc == ERR_OK;
    return rc;
}

enum err ten_docs_commit(struct ten_registry *r, const struct sto_doc_change *changes, size_t count,
                         struct errbuf *eb)
{
    return ten_docs_commit_by(r, changes, count, write_docs, r, eb);
}

/* --- actions ---------------------------------------------------------------------------------- */

void ten_audit_begin(struct ten_registry *r, const struct ten_action *action)
{
    INVARIANT(r != NULL && r->magic == TEN_REGISTRY_MAGIC && under_way.registry == NULL);
    under_way.registry = r;
    under_way.is_written = false;
    under_way.is_unchanged = false;
    ten_note_take(&under_way.note, action);
}

/* A tenant's chain starts with the action that created it: the ID of an unknown tenant becomes the
 * target. */
static void move_unknown_tenant(struct ten_registry *r, struct ten_note *note)
{
    if (note->tenant[0] == '\0' || ten_tenant_find(r, base_slice_text(note->tenant)) != NULL)
        return;
    if (note->target[0] == '\0')
        memcpy(note->target, note->tenant, sizeof note->tenant);
    note->tenant[0] = '\0';
}

enum err ten_audit_end(struct ten_registry *r, enum err result, struct errbuf *eb)
{
    struct ten_note *note = &under_way.note;
    INVARIANT(under_way.registry == r && r != NULL);
    under_way.registry = NULL;
    if (under_way.is_written || (under_way.is_unchanged && result == ERR_OK))
        return result;
    if (result != ERR_OK && note->key[0] != '\0' && !ten_refusals_admit(&r->audit->refusals, note))
        return result;
    move_unknown_tenant(r, note);
    take_text(note->outcome, sizeof note->outcome, result == ERR_OK ? DONE : base_err_name(result));
    enum err rc = ten_audit_write(r, note, 1, result == ERR_OK ? eb : NULL);
    return result == ERR_OK ? rc : result; /* a refused action stays refused */
}

static bool may_set(void)
{
    return under_way.registry != NULL && !under_way.is_written;
}

void ten_audit_set_tenant(struct slice id)
{
    if (may_set())
        ten_note_text(under_way.note.tenant, sizeof under_way.note.tenant, id);
}

void ten_audit_set_target(struct slice id)
{
    if (may_set())
        ten_note_text(under_way.note.target, sizeof under_way.note.target, id);
}

void ten_audit_set_unchanged(void)
{
    under_way.is_unchanged = may_set();
}

void ten_audit_set_outcome(enum err outcome)
{
    if (may_set())
        take_text(under_way.note.outcome, sizeof under_way.note.outcome, base_err_name(outcome));
}

void ten_audit_set_detail(const char *format, ...)
{
    char text[LIM_AUDIT_TEXT + 1];
    va_list args;
    if (!may_set())
        return;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args); /* a truncated text is good enough */
    va_end(args);
    take_text(under_way.note.detail, sizeof under_way.note.detail, text);
}

/* --- life ------------------------------------------------------------------------------------- */

enum err ten_audit_open(struct ten_registry *r, struct errbuf *eb)
{
    r->audit = base_new(sizeof *r->audit);
    int error = pthread_mutex_init(&r->audit->lock, NULL);
    INVARIANT(error == 0);
    ten_refusals_init(&r->audit->refusals, r);
    r->audit->expire_ms = TEN_AUDIT_LOOK_MS; /* the first tick scans for old records */
    return ten_audit_last(r, &r->audit->head, r->audit->time, eb);
}

void ten_audit_close(struct ten_registry *r)
{
    if (r->audit == NULL)
        return;
    ten_refusals_fini(&r->audit->refusals);
    (void)pthread_mutex_destroy(&r->audit->lock); /* no thread holds it any more */
    base_free(r->audit);
    r->audit = NULL;
}

void ten_audit_head(struct ten_registry *r, struct base_audit_head *out,
                    char out_time[BASE_TIME_TEXT])
{
    pthread_mutex_lock(&r->audit->lock);
    *out = r->audit->head;
    memcpy(out_time, r->audit->time, sizeof r->audit->time);
    pthread_mutex_unlock(&r->audit->lock);
}
