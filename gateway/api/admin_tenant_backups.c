/*
 * gateway/api/admin_tenant_backups.c - backups of one tenant, restores from them, and the
 * operations that execute both.
 */
#include "base/alloc.h"
#include "gateway/api/admin.h"
#include "gateway/api/describe.h"
#include "gateway/api/handlers.h"
#include "migrations/tenant_backup.h"
#include "tenancy/audit.h"
#include "tenancy/tenant.h"

#include "base/banned.h"

struct wanted {
    struct ten_tenant *tenant;
    struct slice backup;
    struct slice table;
    struct slice new_table;
    struct slice name;
    struct slice note;
    struct slice confirm;
    uint64_t keep_s;
    bool dry_run;
};

/* Allocates the state of a call about the path's tenant; NULL when it was answered. names: NULL: no
 * body. */
static struct wanted *begin(struct gw_call *call, const char *const *names)
{
    struct ten_tenant *t = gw_admin_tenant(call);
    if (t == NULL || (names != NULL && !gw_admin_parse(call, names)))
        return NULL;
    struct wanted *w = gw_call_new_state(call, sizeof *w, NULL);
    w->tenant = t;
    w->keep_s = UINT64_MAX;
    return w;
}

/* Reads a name. Absent or null: empty. An empty text is refused: it must not mean everything. */
static bool get_name(struct gw_call *call, const char *name, bool required, struct slice *out)
{
    if (!gw_admin_get_text(call, name, required, out))
        return false;
    if (out->ptr == NULL || out->len > 0)
        return true;
    struct errbuf eb;
    (void)base_fail(&eb, ERR_INVALID, "\"%s\" must not be empty", name);
    gw_call_problem(call, ERR_INVALID, eb.text);
    return false;
}

/* --- operations ------------------------------------------------------------------------------- */

static void put_progress(struct gw_json *j, const struct mig_operation *op)
{
    gw_json_name(j, "progress");
    gw_json_open(j, '{');
    gw_json_name_u64(j, "done_bytes", op->done_bytes);
    gw_json_name_u64(j, "all_bytes", op->all_bytes);
    gw_json_close(j, '}');
}

static void describe(struct gw_json *j, const struct mig_operation *op)
{
    gw_json_open(j, '{');
    gw_json_name_text(j, "id", op->id);
    gw_json_name_text(j, "kind", mig_op_kind_name(op->kind));
    gw_json_name_text(j, "state", mig_op_state_name(op->state));
    gw_json_name_text(j, "tenant", op->scope.tenant);
    gw_json_name_text(j, "backup", op->backup[0] != '\0' ? op->backup : op->id);
    gw_json_name_text(j, "table", op->scope.table);
    gw_json_name_text(j, "new_table", op->target);
    gw_json_name_text(j, "name", op->scope.name);
    gw_json_name_time(j, "requested", op->requested_us);
    gw_json_name_time(j, "started", op->started_us);
    gw_json_name_time(j, "finished", op->finished_us);
    gw_json_name_time(j, "expires", op->expires_us);
    gw_json_name_u64(j, "rows", op->rows);
    put_progress(j, op);
    gw_json_name_text(j, "error", op->error);
    gw_json_close(j, '}');
}

static enum err describe_id(struct gw_call *call, struct slice id, struct errbuf *eb)
{
    const struct wanted *w = call->state;
    struct mig_operation op;
    enum err e = mig_operation_get(call->api->backups, ten_tenant_id(w->tenant), id, &op, eb);
    if (e != ERR_OK)
        return e;
    struct gw_json j = gw_json_start(&call->out);
    describe(&j, &op);
    return ERR_OK;
}

static enum err list_operations(struct gw_call *call, struct errbuf *eb)
{
    const struct wanted *w = call->state;
    struct mig_operation *ops = base_new_array(LIM_OPERATIONS_KEPT, sizeof ops[0]);
    size_t count =
        mig_operation_list(call->api->backups, ten_tenant_id(w->tenant), ops, LIM_OPERATIONS_KEPT);
    struct gw_json j = gw_json_start(&call->out);
    (void)eb; /* lists the existing ones, which cannot fail */
    gw_json_open(&j, '{');
    gw_json_name(&j, "operations");
    gw_json_open(&j, '[');
    for (size_t i = 0; i < count; i++)
        describe(&j, &ops[i]);
    gw_json_close(&j, ']');
    gw_json_close(&j, '}');
    base_free(ops);
    return ERR_OK;
}

void gw_tenant_operation_list(struct gw_call *call)
{
    if (begin(call, NULL) != NULL)
        gw_rest_on_control(call, 200, list_operations);
}

static enum err get_operation(struct gw_call *call, struct errbuf *eb)
{
    return describe_id(call, gw_rest_param(call, 1), eb);
}

void gw_tenant_operation_get(struct gw_call *call)
{
    if (begin(call, NULL) != NULL)
        gw_rest_on_control(call, 200, get_operation);
}

static enum err cancel_operation(struct gw_call *call, struct errbuf *eb)
{
    const struct wanted *w = call->state;
    struct slice id = gw_rest_param(call, 1);
    ten_audit_set_target(id);
    enum err e = mig_operation_cancel(call->api->backups, w->tenant, id, eb);
    return e == ERR_OK ? describe_id(call, id, eb) : e;
}

void gw_tenant_operation_cancel(struct gw_call *call)
{
    static const char *const names[] = {NULL};
    if (begin(call, names) != NULL)
        gw_rest_on_control(call, 202, cancel_operation);
}

/* --- backups ---------------------------------------------------------------------------------- */

static enum err create_work(struct gw_call *call, struct errbuf *eb)
{
    const struct wanted *w = call->state;
    char id[MIG_BACKUP_ID + 1];
    struct mig_tenant_backup_wanted wanted = {
        .name = w->name, .table = w->table, .note = w->note, .by_operator = true};
    enum err e = mig_service_expiry(call->api->backups, w->keep_s, &wanted.expires_us, eb);
    if (e == ERR_OK)
        e = mig_tenant_backup_create(call->api->backups, w->tenant, &wanted, id, eb);
    return e == ERR_OK ? describe_id(call, base_slice_text(id), eb) : e;
}

void gw_tenant_backup_create(struct gw_call *call)
{
    static const char *const names[] = {"table", "name", "note", "keep_seconds", NULL};
    struct wanted *w = begin(call, names);
    struct errbuf eb = {{0}};
    if (w == NULL || !get_name(call, "table", false, &w->table) ||
        !get_name(call, "name", false, &w->name) ||
        !gw_admin_get_text(call, "note", false, &w->note))
        return;
    enum err e = gw_json_get_u64(gw_rest(call)->json, "keep_seconds", &w->keep_s, &eb);
    if (e != ERR_OK)
        gw_call_problem(call, (int)e, eb.text);
    else
        gw_rest_on_control(call, 202, create_work);
}

static enum err list_work(struct gw_call *call, struct errbuf *eb)
{
    const struct wanted *w = call->state;
    struct mig_backup_entry *entries = base_new_array(LIM_BACKUPS_SCOPED, sizeof entries[0]);
    size_t count = mig_backups_list_of(mig_service_backups(call->api->backups),
                                       ten_tenant_id(w->tenant), entries, LIM_BACKUPS_SCOPED);
    struct gw_json j = gw_json_start(&call->out);
    (void)eb; /* cannot fail */
    gw_json_open(&j, '{');
    gw_json_name(&j, "backups");
    gw_json_open(&j, '[');
    while (count > 0)
        gw_admin_describe_backup(call, &j, &entries[--count]);
    gw_json_close(&j, ']');
    gw_json_close(&j, '}');
    base_free(entries);
    return ERR_OK;
}

void gw_tenant_backup_list(struct gw_call *call)
{
    if (begin(call, NULL) != NULL)
        gw_rest_on_control(call, 200, list_work);
}

/* --- restoring -------------------------------------------------------------------------------- */

static enum err restore_work(struct gw_call *call, struct errbuf *eb)
{
    const struct wanted *w = call->state;
    struct mig_service *s = call->api->backups;
    char id[MIG_BACKUP_ID + 1];
    enum err e = w->table.len > 0 ? mig_tenant_restore_table(s, w->tenant, w->backup, w->table,
                                                             w->new_table, id, eb)
                                  : mig_tenant_restore_all(s, w->tenant, w->backup, id, eb);
    return e == ERR_OK ? describe_id(call, base_slice_text(id), eb) : e;
}

/* Reports which tables would be replaced. */
static enum err look_work(struct gw_call *call, struct errbuf *eb)
{
    const struct wanted *w = call->state;
    const struct ten_tables *tables = ten_tenant_tables(w->tenant);
    ten_audit_set_detail("dry run");
    enum err e = mig_tenant_restore_check(call->api->backups, w->tenant, w->backup, eb);
    if (e != ERR_OK)
        return e;
    struct sto_usage usage = sto_counters_read(&w->tenant->account.total);
    struct gw_json j = gw_json_start(&call->out);
    gw_json_open(&j, '{');
    gw_json_name(&j, "dry_run");
    gw_json_bool(&j, true);
    gw_json_name_text(&j, "tenant", w->tenant->id);
    gw_describe_usage_members(&j, &usage);
    gw_json_name(&j, "replaced");
    gw_json_open(&j, '[');
    for (size_t i = 0; i < tables->count; i++)
        gw_json_text(&j, sto_schema_table_id(tables->schemas[i]));
    gw_json_close(&j, ']');
    gw_json_close(&j, '}');
    return ERR_OK;
}

static bool get_dry_run(struct gw_call *call, bool *out)
{
    struct errbuf eb = {{0}};
    enum err e = gw_json_get_bool(gw_rest(call)->json, "dry_run", out, &eb);
    if (e != ERR_OK)
        gw_call_problem(call, (int)e, eb.text);
    return e == ERR_OK;
}

void gw_tenant_restore(struct gw_call *call)
{
    static const char *const names[] = {"backup", "table", "new_table", "confirm", "dry_run", NULL};
    struct wanted *w = begin(call, names);
    if (w == NULL || !get_dry_run(call, &w->dry_run) ||
        !gw_admin_get_text(call, "backup", true, &w->backup) ||
        !get_name(call, "table", false, &w->table) ||
        !get_name(call, "new_table", w->table.len > 0, &w->new_table))
        return;
    bool is_all = w->table.len == 0;
    if (!gw_admin_get_text(call, "confirm", is_all && !w->dry_run, &w->confirm))
        return;
    if (is_all && w->new_table.len > 0)
        gw_call_problem(call, ERR_INVALID, "\"new_table\" is for one table: \"table\" is missing");
    else if (is_all && w->confirm.ptr != NULL &&
             !base_slice_equal(w->confirm, ten_tenant_id(w->tenant)))
        gw_call_problem(call, ERR_INVALID,
                        "\"confirm\" must repeat the tenant's ID: all its tables are replaced");
    else if (w->dry_run && !is_all)
        gw_call_problem(call, ERR_INVALID, "\"dry_run\" is for a whole tenant only");
    else if (w->dry_run)
        gw_rest_on_control(call, 200, look_work);
    else
        gw_rest_on_control(call, 202, restore_work);
}
