/*
 * migrations/tenant_backup.c - backups of a tenant by name: listed ones, and those that operations
 * will make.
 */
#include "migrations/tenant_backup.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/text.h"
#include "migrations/service_internal.h"
#include "tenancy/audit.h"
#include "tenancy/lifecycle.h"
#include "tenancy/scope.h"

#include "base/banned.h"

#define NAMES_MAX (LIM_BACKUPS_OF_TENANT + LIM_OPERATIONS_OF_TENANT)

enum err mig_backup_name_check(struct slice name, struct errbuf *eb)
{
    static const char FIRST[] = "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    bool is_good = name.len > 0 && name.len <= LIM_BACKUP_NAME;
    for (size_t i = 0; is_good && i < name.len; i++) {
        char c = (char)name.ptr[i];
        bool is_first = c != '\0' && strchr(FIRST, c) != NULL;
        is_good = is_first || (i > 0 && (c == '-' || c == '.'));
    }
    return is_good ? ERR_OK
                   : base_fail(eb, ERR_INVALID,
                               "a backup's name is of 1 to %d letters, digits, '_', '-' and '.', "
                               "and begins with none of the last two",
                               LIM_BACKUP_NAME);
}

/* --- state ------------------------------------------------------------------------------------ */

static void describe(const struct mig_backup *backup, struct mig_tenant_backup *out)
{
    *out = (struct mig_tenant_backup){.scope = backup->scope,
                                      .is_ready = true,
                                      .started_us = backup->created_us,
                                      .finished_us = backup->made_us,
                                      .expires_us = backup->expires_us,
                                      .bytes = backup->bytes};
    memcpy(out->id, backup->id, sizeof out->id);
}

static void describe_coming(const struct mig_operation *op, struct mig_tenant_backup *out)
{
    *out = (struct mig_tenant_backup){
        .scope = op->scope, .started_us = op->requested_us, .expires_us = op->expires_us};
    memcpy(out->id, op->id, sizeof out->id);
}

static int compare_names(const void *a, const void *b)
{
    const struct mig_tenant_backup *left = a;
    const struct mig_tenant_backup *right = b;
    return strcmp(left->scope.name, right->scope.name);
}

static bool is_there(const struct mig_tenant_backup *out, size_t count, const char *id)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(out[i].id, id) == 0)
            return true;
    return false;
}

/* Reads operations first: a backup whose operation ends between the two reads is found once or
 * twice, never missed. */
size_t mig_tenant_backup_list(struct mig_service *s, struct slice tenant,
                              struct mig_tenant_backup *out, size_t limit)
{
    struct mig_tenant_backup *coming = base_new_array(LIM_OPERATIONS_WAITING, sizeof coming[0]);
    struct mig_backup_entry *entries = base_new_array(LIM_BACKUPS_SCOPED, sizeof entries[0]);
    size_t coming_count = 0, count = 0;
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->queue.count; i++) {
        const struct mig_operation *op = &s->queue.items[i];
        bool is_making = op->kind == MIG_OP_BACKUP || op->kind == MIG_OP_COPY;
        if (is_making && op->scope.name[0] != '\0' && base_slice_is(tenant, op->scope.tenant))
            describe_coming(op, &coming[coming_count++]);
    }
    pthread_mutex_unlock(&s->lock);
    size_t listed = mig_backups_list_of(s->backups, tenant, entries, LIM_BACKUPS_SCOPED);
    for (size_t i = 0; i < listed && count < limit; i++)
        if (entries[i].backup.scope.name[0] != '\0' && tenant.len > 0)
            describe(&entries[i].backup, &out[count++]);
    for (size_t i = 0; i < coming_count && count < limit; i++)
        if (!is_there(out, count, coming[i].id))
            out[count++] = coming[i];
    qsort(out, count, sizeof out[0], compare_names);
    base_free(entries);
    base_free(coming);
    return count;
}

enum err mig_tenant_backup_get(struct mig_service *s, struct slice tenant, struct slice name,
                               struct mig_tenant_backup *out, struct errbuf *eb)
{
    struct mig_tenant_backup *all = base_new_array(NAMES_MAX, sizeof all[0]);
    size_t count = mig_tenant_backup_list(s, tenant, all, NAMES_MAX);
    size_t at = 0;
    while (at < count && !base_slice_is(name, all[at].scope.name))
        at++;
    bool found = name.len > 0 && at < count;
    if (found)
        *out = all[at];
    base_free(all);
    return found ? ERR_OK : base_fail(eb, ERR_NOT_FOUND, "there is no such backup");
}

static enum err get_ready(struct mig_service *s, const struct ten_tenant *t, struct slice name,
                          struct mig_tenant_backup *out, struct errbuf *eb)
{
    enum err rc = mig_tenant_backup_get(s, ten_tenant_id(t), name, out, eb);
    if (rc == ERR_OK && !out->is_ready)
        rc = base_fail(eb, ERR_CONFLICT, "the backup is still being made");
    return rc;
}

/* --- requesting ------------------------------------------------------------------------------- */

static void put(char *out, size_t size, struct slice text)
{
    INVARIANT(text.len < size); /* checked earlier */
    if (text.len > 0)
        memcpy(out, text.ptr, text.len);
    out[text.len] = '\0';
}

static enum err tenant_check(const struct ten_tenant *t, struct errbuf *eb)
{
    enum ten_state state = (enum ten_state)atomic_load(&t->state);
    return ten_state_is_leaving(state)
               ? base_fail(eb, ERR_GONE, "the tenant is %s", ten_state_name(state))
               : ERR_OK;
}

static enum err table_check(struct ten_tenant *t, struct slice table, struct errbuf *eb)
{
    struct sto_table_scope scope;
    enum err rc = ten_scope_table(t, table, &scope, eb);
    if (rc == ERR_OK)
        sto_table_scope_release(&scope);
    return rc;
}

/* Checks that the name is unused, and that there is space for one more. */
static enum err name_check(struct mig_service *s, const struct ten_tenant *t, struct slice name,
                           struct errbuf *eb)
{
    struct mig_tenant_backup there;
    struct mig_tenant_backup *all = base_new_array(NAMES_MAX, sizeof all[0]);
    enum err rc = mig_backup_name_check(name, eb);
    if (rc == ERR_OK && mig_tenant_backup_get(s, ten_tenant_id(t), name, &there, NULL) == ERR_OK)
        rc = base_fail(eb, ERR_EXISTS, "the tenant has a backup of this name");
    size_t count = mig_tenant_backup_list(s, ten_tenant_id(t), all, NAMES_MAX);
    if (rc == ERR_OK && count >= LIM_BACKUPS_OF_TENANT)
        rc = base_fail(eb, ERR_TOO_BIG, "the tenant has %zu backups; the limit is %d", count,
                       LIM_BACKUPS_OF_TENANT);
    base_free(all);
    return rc;
}

static uint64_t sum_until_most(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Returns the bytes of existing backups, plus, for each one being made, the bytes stored now. */
static uint64_t bytes_held(struct mig_service *s, const struct ten_tenant *t)
{
    struct mig_backup_entry *entries = base_new_array(LIM_BACKUPS_SCOPED, sizeof entries[0]);
    uint64_t bytes = 0, stored = sto_counters_read(&t->account.total).bytes;
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->queue.count; i++) {
        const struct mig_operation *op = &s->queue.items[i];
        bool is_making = op->kind == MIG_OP_BACKUP || op->kind == MIG_OP_COPY;
        if (is_making && base_slice_is(ten_tenant_id(t), op->scope.tenant))
            bytes = sum_until_most(bytes, stored);
    }
    pthread_mutex_unlock(&s->lock);
    size_t listed = mig_backups_list_of(s->backups, ten_tenant_id(t), entries, LIM_BACKUPS_SCOPED);
    for (size_t i = 0; i < listed; i++)
        if (base_slice_is(ten_tenant_id(t), entries[i].backup.scope.tenant))
            bytes = sum_until_most(bytes, entries[i].backup.bytes);
    base_free(entries);
    return bytes;
}

/* Checks whether `more` bytes are within backup_bytes. */
static enum err bytes_check(struct mig_service *s, const struct ten_tenant *t, uint64_t more,
                            struct errbuf *eb)
{
    struct ten_quota q;
    ten_tenant_quota(t, &q);
    if (q.backup_bytes == UINT64_MAX)
        return ERR_OK;
    uint64_t held = bytes_held(s, t);
    if (sum_until_most(held, more) <= q.backup_bytes)
        return ERR_OK;
    return base_fail(eb, ERR_QUOTA,
                     "backup bytes quota: %" PRIu64 " used, %" PRIu64
                     " would be added, limit %" PRIu64
                     "; delete a backup, or have backup_bytes raised",
                     held, more, q.backup_bytes);
}

/* Checks the approximate maximum size of a backup of the table, or of all: files are compressed. */
static enum err room_check(struct mig_service *s, struct ten_tenant *t, struct slice table,
                           struct errbuf *eb)
{
    struct sto_table_scope scope;
    if (table.len == 0)
        return bytes_check(s, t, sto_counters_read(&t->account.total).bytes, eb);
    enum err rc = ten_scope_table(t, table, &scope, eb);
    if (rc != ERR_OK)
        return rc;
    rc = bytes_check(s, t, sto_counters_read(&scope.schema->table->counters).bytes, eb);
    sto_table_scope_release(&scope);
    return rc;
}

static struct mig_operation new_operation(struct mig_service *s, const struct ten_tenant *t,
                                          enum mig_op_kind kind, bool by_operator)
{
    struct mig_operation op = {.kind = kind,
                               .state = MIG_OP_WAITING,
                               .requested_us = base_wall_us(),
                               .by_operator = by_operator};
    put(op.scope.tenant, sizeof op.scope.tenant, ten_tenant_id(t));
    mig_service_make_id(s, op.requested_us, op.id);
    ten_audit_set_target(base_slice_text(op.id));
    return op;
}

static enum err ask(struct mig_service *s, const struct mig_operation *op,
                    char out_operation[MIG_BACKUP_ID + 1], struct errbuf *eb)
{
    enum err rc = mig_operation_ask(s, op, eb);
    if (rc == ERR_OK)
        memcpy(out_operation, op->id, sizeof op->id);
    return rc;
}

enum err mig_tenant_backup_create(struct mig_service *s, struct ten_tenant *t,
                                  const struct mig_tenant_backup_wanted *wanted,
                                  char out_operation[MIG_BACKUP_ID + 1], struct errbuf *eb)
{
    enum err rc = tenant_check(t, eb);
    if (rc == ERR_OK && wanted->table.len > 0)
        rc = table_check(t, wanted->table, eb);
    if (rc == ERR_OK && wanted->name.len > 0)
        rc = name_check(s, t, wanted->name, eb);
    if (rc == ERR_OK)
        rc = base_text_check(wanted->note, LIM_BACKUP_NOTE, "the note", eb);
    if (rc == ERR_OK)
        rc = room_check(s, t, wanted->table, eb);
    if (rc != ERR_OK)
        return rc;
    struct mig_operation op = new_operation(s, t, MIG_OP_BACKUP, wanted->by_operator);
    put(op.scope.table, sizeof op.scope.table, wanted->table);
    put(op.scope.name, sizeof op.scope.name, wanted->name);
    put(op.note, sizeof op.note, wanted->note);
    op.expires_us = wanted->expires_us;
    return ask(s, &op, out_operation, eb);
}

enum err mig_tenant_backup_copy(struct mig_service *s, struct ten_tenant *t, struct slice from_name,
                                struct slice name, int64_t expires_us,
                                char out_operation[MIG_BACKUP_ID + 1], struct errbuf *eb)
{
    struct mig_tenant_backup from;
    enum err rc = tenant_check(t, eb);
    if (rc == ERR_OK)
        rc = get_ready(s, t, from_name, &from, eb);
    if (rc == ERR_OK)
        rc = name_check(s, t, name, eb);
    if (rc == ERR_OK)
        rc = bytes_check(s, t, from.bytes, eb);
    if (rc != ERR_OK)
        return rc;
    struct mig_operation op = new_operation(s, t, MIG_OP_COPY, false);
    memcpy(op.scope.table, from.scope.table, sizeof op.scope.table);
    put(op.scope.name, sizeof op.scope.name, name);
    put(op.scope.source, sizeof op.scope.source, from_name);
    memcpy(op.backup, from.id, sizeof op.backup);
    op.expires_us = expires_us;
    return ask(s, &op, out_operation, eb);
}

/* The new table's name is checked again when the operation starts. */
static enum err target_check(struct ten_tenant *t, struct slice target, struct errbuf *eb)
{
    enum err rc = sto_table_id_check(target, eb);
    if (rc == ERR_OK && table_check(t, target, NULL) == ERR_OK)
        rc = base_fail(eb, ERR_EXISTS, "the tenant has a table of this name");
    return rc;
}

static bool is_awaited(struct mig_service *s, const struct ten_tenant *t, struct slice target)
{
    bool found = false;
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->queue.count; i++)
        found = found || (base_slice_is(ten_tenant_id(t), s->queue.items[i].scope.tenant) &&
                          base_slice_is(target, s->queue.items[i].target));
    pthread_mutex_unlock(&s->lock);
    return found;
}

static enum err restore_table(struct mig_service *s, struct ten_tenant *t, struct slice id,
                              struct slice table, struct slice new_table, bool by_operator,
                              char out_operation[MIG_BACKUP_ID + 1], struct errbuf *eb)
{
    struct mig_backup_entry entry;
    enum err rc = tenant_check(t, eb);
    if (rc == ERR_OK)
        rc = mig_service_usable_for(s, t, id, &entry, eb);
    if (rc == ERR_OK)
        rc = sto_table_id_check(table, eb);
    if (rc == ERR_OK)
        rc = target_check(t, new_table, eb);
    if (rc == ERR_OK && is_awaited(s, t, new_table))
        rc = base_fail(eb, ERR_EXISTS, "a table of this name is being restored");
    if (rc != ERR_OK)
        return rc;
    struct mig_operation op = new_operation(s, t, MIG_OP_RESTORE_TABLE, by_operator);
    memcpy(op.scope.name, entry.backup.scope.name, sizeof op.scope.name);
    put(op.scope.table, sizeof op.scope.table, table);
    put(op.target, sizeof op.target, new_table);
    put(op.backup, sizeof op.backup, id);
    return ask(s, &op, out_operation, eb);
}

enum err mig_tenant_restore_table(struct mig_service *s, struct ten_tenant *t, struct slice id,
                                  struct slice table, struct slice new_table,
                                  char out_operation[MIG_BACKUP_ID + 1], struct errbuf *eb)
{
    return restore_table(s, t, id, table, new_table, true, out_operation, eb);
}

enum err mig_tenant_backup_restore(struct mig_service *s, struct ten_tenant *t, struct slice name,
                                   struct slice new_table, char out_operation[MIG_BACKUP_ID + 1],
                                   struct errbuf *eb)
{
    struct mig_tenant_backup from;
    enum err rc = tenant_check(t, eb);
    if (rc == ERR_OK)
        rc = get_ready(s, t, name, &from, eb);
    if (rc != ERR_OK)
        return rc;
    return restore_table(s, t, base_slice_text(from.id), base_slice_text(from.scope.table),
                         new_table, false, out_operation, eb);
}

enum err mig_tenant_restore_check(struct mig_service *s, const struct ten_tenant *t,
                                  struct slice id, struct errbuf *eb)
{
    struct mig_backup_entry entry;
    enum err rc = tenant_check(t, eb);
    if (rc == ERR_OK)
        rc = mig_service_usable_for(s, t, id, &entry, eb);
    if (rc == ERR_OK && entry.backup.scope.table[0] != '\0')
        rc = base_fail(eb, ERR_INVALID,
                       "the backup holds one table; a tenant is restored from all of its tables");
    return rc;
}

enum err mig_tenant_restore_all(struct mig_service *s, struct ten_tenant *t, struct slice id,
                                char out_operation[MIG_BACKUP_ID + 1], struct errbuf *eb)
{
    enum err rc = mig_tenant_restore_check(s, t, id, eb);
    if (rc != ERR_OK)
        return rc;
    struct mig_operation op = new_operation(s, t, MIG_OP_RESTORE_TENANT, true);
    put(op.backup, sizeof op.backup, id);
    return ask(s, &op, out_operation, eb);
}

/* --- changing --------------------------------------------------------------------------------- */

enum err mig_tenant_backup_set_expiry(struct mig_service *s, struct ten_tenant *t,
                                      struct slice name, int64_t expires_us, struct errbuf *eb)
{
    struct mig_tenant_backup found;
    enum err rc = tenant_check(t, eb);
    if (rc == ERR_OK)
        rc = get_ready(s, t, name, &found, eb);
    if (rc != ERR_OK)
        return rc;
    ten_audit_set_target(base_slice_text(found.id));
    return mig_backups_set_expiry(s->backups, base_slice_text(found.id), expires_us, eb);
}

enum err mig_tenant_backup_delete(struct mig_service *s, struct ten_tenant *t, struct slice name,
                                  struct errbuf *eb)
{
    struct mig_tenant_backup found;
    enum err rc = tenant_check(t, eb);
    if (rc == ERR_OK)
        rc = get_ready(s, t, name, &found, eb);
    if (rc != ERR_OK)
        return rc;
    ten_audit_set_target(base_slice_text(found.id));
    return mig_service_remove(s, base_slice_text(found.id), eb);
}
