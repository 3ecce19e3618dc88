/*
 * gateway/api/admin_backups.c - backups of everything: create, list; any: describe, verify, delete.
 *
 * A backup that is in progress, or the last one that failed, is shown beside those on the list. A
 * backup that is listed, but whose end is not recorded yet, is still in progress.
 */
#include "base/alloc.h"
#include "gateway/api/admin.h"
#include "gateway/api/handlers.h"
#include "gateway/api/json_out.h"
#include "migrations/backup_service.h"

#include "base/banned.h"

struct backup_wanted {
    struct slice note;
    uint64_t keep_s;
};

/* --- describing ------------------------------------------------------------------------------- */

static const char *work_state(const struct mig_work *work)
{
    switch (work->state) {
    case MIG_WORK_NONE:
        return "none";
    case MIG_WORK_RUNNING:
        return work->kind == MIG_WORK_CREATE ? "creating" : "running";
    case MIG_WORK_DONE:
        return "ok";
    case MIG_WORK_FAILED:
        return "failed";
    }
    return "unknown";
}

static void put_progress(struct gw_json *j, const struct mig_work *work)
{
    gw_json_name(j, "progress");
    gw_json_open(j, '{');
    gw_json_name_u64(j, "done_bytes", work->done_bytes);
    gw_json_name_u64(j, "all_bytes", work->all_bytes);
    gw_json_close(j, '}');
}

/* Returns the verification that the catalogue recorded, unless one is in progress or did not
 * finish. */
static struct mig_work verified_work(const struct mig_verified *found)
{
    struct mig_work work = {
        .state = MIG_WORK_NONE, .finished_us = found->finished_us, .result = found->result};
    if (found->finished_us != 0)
        work.state = found->result == ERR_OK ? MIG_WORK_DONE : MIG_WORK_FAILED;
    memcpy(work.error, found->error, sizeof work.error);
    return work;
}

static void put_verified(struct gw_json *j, const struct mig_work *work,
                         const struct mig_backup_entry *entry)
{
    const struct mig_work remembered = verified_work(&entry->verified);
    const struct mig_work *own = strcmp(work->id, entry->backup.id) == 0 ? work : &remembered;
    gw_json_name(j, "verified");
    gw_json_open(j, '{');
    gw_json_name_text(j, "state", work_state(own));
    gw_json_name_time(j, "finished", own->finished_us);
    put_progress(j, own);
    gw_json_name_text(j, "error", own->error);
    gw_json_close(j, '}');
}

static void put_note(struct gw_json *j, const char *note)
{
    gw_json_name(j, "note");
    gw_json_text(j, base_slice_text(note));
}

static void put_content(struct gw_json *j, const struct mig_backup *b)
{
    gw_json_name_u64(j, "bytes", b->bytes);
    gw_json_name_u64(j, "new_bytes", b->new_bytes);
    gw_json_name_u64(j, "files", b->file_count);
    gw_json_name_u64(j, mig_backup_is_scoped(b) ? "tables" : "tenants", b->counts.documents);
    gw_json_name_u64(j, "sequence", b->sequence);
    gw_json_name_text(j, "software", b->software);
    gw_json_name_text(j, "rocksdb", b->rocksdb);
    gw_json_name(j, "keys");
    gw_json_open(j, '{');
    for (size_t i = 0; i < STO_IMAGE_FAMILIES; i++)
        gw_json_name_u64(j, sto_image_family_name(i), b->counts.keys[i]);
    gw_json_close(j, '}');
}

static void describe(struct gw_json *j, const struct mig_backup_entry *entry,
                     const struct mig_work *verify)
{
    const struct mig_backup *b = &entry->backup;
    gw_json_open(j, '{');
    gw_json_name_text(j, "id", b->id);
    gw_json_name_text(j, "state", entry->is_damaged ? "damaged" : "ready");
    if (mig_backup_is_scoped(b)) {
        gw_json_name_text(j, "tenant", b->scope.tenant);
        gw_json_name_text(j, "table", b->scope.table);
        gw_json_name_text(j, "name", b->scope.name);
    }
    gw_json_name_time(j, "created", b->created_us);
    gw_json_name_time(j, "expires", b->expires_us);
    put_note(j, b->note);
    if (!entry->is_damaged)
        put_content(j, b);
    put_verified(j, verify, entry);
    gw_json_close(j, '}');
}

void gw_admin_describe_backup(struct gw_call *call, struct gw_json *j,
                              const struct mig_backup_entry *entry)
{
    struct mig_work verify;
    mig_service_work(call->api->backups, MIG_WORK_VERIFY, &verify);
    describe(j, entry, &verify);
}

/* Describes a backup that is not complete yet, or that failed. */
static void describe_work(struct gw_json *j, const struct mig_work *work)
{
    gw_json_open(j, '{');
    gw_json_name_text(j, "id", work->id);
    gw_json_name_text(j, "state", work_state(work));
    gw_json_name_time(j, "created", work->started_us);
    gw_json_name_time(j, "expires", work->expires_us);
    put_note(j, work->note);
    put_progress(j, work);
    gw_json_name_text(j, "error", work->error);
    gw_json_close(j, '}');
}

static bool is_shown(const struct mig_work *create)
{
    return create->state == MIG_WORK_RUNNING || create->state == MIG_WORK_FAILED;
}

static enum err describe_id(struct gw_call *call, struct slice id, struct errbuf *eb)
{
    struct mig_service *service = call->api->backups;
    struct gw_json j = gw_json_start(&call->out);
    struct mig_backup_entry entry;
    struct mig_work create, verify;
    mig_service_work(service, MIG_WORK_CREATE, &create);
    mig_service_work(service, MIG_WORK_VERIFY, &verify);
    if (is_shown(&create) && base_slice_is(id, create.id)) {
        describe_work(&j, &create);
        return ERR_OK;
    }
    enum err e = mig_backups_get(mig_service_backups(service), id, &entry, eb);
    if (e == ERR_OK)
        describe(&j, &entry, &verify);
    return e;
}

/* --- handlers --------------------------------------------------------------------------------- */

static enum err create_work(struct gw_call *call, struct errbuf *eb)
{
    const struct backup_wanted *wanted = call->state;
    char id[MIG_BACKUP_ID + 1];
    enum err e = mig_service_ask(call->api->backups, wanted->note, wanted->keep_s, id, eb);
    return e == ERR_OK ? describe_id(call, base_slice_text(id), eb) : e;
}

void gw_backup_create(struct gw_call *call)
{
    static const char *const names[] = {"note", "keep_seconds", NULL};
    if (!gw_admin_parse(call, names))
        return;
    struct backup_wanted *wanted = gw_call_new_state(call, sizeof *wanted, NULL);
    struct errbuf eb = {{0}};
    enum err e = gw_json_get_text(gw_rest(call)->json, "note", &wanted->note, &eb);
    if (e == ERR_OK)
        e = gw_json_get_u64(gw_rest(call)->json, "keep_seconds", &wanted->keep_s, &eb);
    if (e != ERR_OK)
        gw_call_problem(call, (int)e, eb.text);
    else
        gw_rest_on_control(call, 202, create_work);
}

static enum err list_work(struct gw_call *call, struct errbuf *eb)
{
    struct mig_service *service = call->api->backups;
    struct mig_backup_entry *entries = base_new_array(LIM_BACKUPS, sizeof entries[0]);
    struct mig_work create, verify;
    struct gw_json j = gw_json_start(&call->out);
    (void)eb; /* cannot fail */
    mig_service_work(service, MIG_WORK_CREATE, &create);
    mig_service_work(service, MIG_WORK_VERIFY, &verify);
    size_t count =
        mig_backups_list_of(mig_service_backups(service), SLICE_EMPTY, entries, LIM_BACKUPS);
    bool is_listed = count > 0 && strcmp(entries[count - 1].backup.id, create.id) == 0;
    if (is_listed && is_shown(&create))
        count--;
    gw_json_open(&j, '{');
    gw_json_name(&j, "backups");
    gw_json_open(&j, '[');
    if (is_shown(&create))
        describe_work(&j, &create);
    while (count > 0)
        describe(&j, &entries[--count], &verify);
    gw_json_close(&j, ']');
    gw_json_close(&j, '}');
    base_free(entries);
    return ERR_OK;
}

void gw_backup_list(struct gw_call *call)
{
    gw_rest_on_control(call, 200, list_work);
}

static enum err get_work(struct gw_call *call, struct errbuf *eb)
{
    return describe_id(call, gw_rest_param(call, 0), eb);
}

void gw_backup_get(struct gw_call *call)
{
    gw_rest_on_control(call, 200, get_work);
}

static enum err verify_work(struct gw_call *call, struct errbuf *eb)
{
    struct slice id = gw_rest_param(call, 0);
    enum err e = mig_service_ask_verify(call->api->backups, id, eb);
    return e == ERR_OK ? describe_id(call, id, eb) : e;
}

void gw_backup_verify(struct gw_call *call)
{
    static const char *const names[] = {NULL};
    if (gw_admin_parse(call, names))
        gw_rest_on_control(call, 202, verify_work);
}

static enum err delete_work(struct gw_call *call, struct errbuf *eb)
{
    return mig_service_remove(call->api->backups, gw_rest_param(call, 0), eb);
}

void gw_backup_delete(struct gw_call *call)
{
    gw_rest_on_control(call, 204, delete_work);
}
