/*
 * migrations/operation.c - fields by tag: append only.
 */
#include "migrations/operation.h"

#include "base/record.h"

#include "base/banned.h"

enum {
    TAG_KIND = 1,
    TAG_STATE = 2,
    TAG_TABLE = 3,
    TAG_NAME = 4,
    TAG_SOURCE = 5,
    TAG_BACKUP = 6,
    TAG_TARGET = 7,
    TAG_NOTE = 8,
    TAG_EXPIRES = 9,
    TAG_REQUESTED = 10,
    TAG_STARTED = 11,
    TAG_FINISHED = 12,
    TAG_ROWS = 13,
    TAG_RESULT = 14,
    TAG_ERROR = 15,
    TAG_SWITCHING = 16,
    TAG_BY_OPERATOR = 17,
};

const char *mig_op_kind_name(enum mig_op_kind kind)
{
    switch (kind) {
    case MIG_OP_BACKUP:
        return "backup";
    case MIG_OP_COPY:
        return "copy";
    case MIG_OP_RESTORE_TABLE:
        return "restore_table";
    case MIG_OP_RESTORE_TENANT:
        return "restore_tenant";
    }
    return "unknown";
}

const char *mig_op_state_name(enum mig_op_state state)
{
    switch (state) {
    case MIG_OP_WAITING:
        return "waiting";
    case MIG_OP_RUNNING:
        return "running";
    case MIG_OP_DONE:
        return "done";
    case MIG_OP_FAILED:
        return "failed";
    case MIG_OP_CANCELLED:
        return "cancelled";
    }
    return "unknown";
}

/* Errors latch in out. */
static void put_text(struct buf *out, uint32_t tag, const char *text)
{
    if (text[0] != '\0')
        (void)base_record_put_bytes(out, tag, base_slice_text(text));
}

static void put_number(struct buf *out, uint32_t tag, uint64_t number)
{
    if (number != 0)
        (void)base_record_put_u64(out, tag, number);
}

enum err mig_operation_encode(const struct mig_operation *op, struct buf *out)
{
    put_number(out, TAG_KIND, (uint64_t)op->kind);
    put_number(out, TAG_STATE, (uint64_t)op->state);
    put_text(out, TAG_TABLE, op->scope.table);
    put_text(out, TAG_NAME, op->scope.name);
    put_text(out, TAG_SOURCE, op->scope.source);
    put_text(out, TAG_BACKUP, op->backup);
    put_text(out, TAG_TARGET, op->target);
    put_text(out, TAG_NOTE, op->note);
    put_number(out, TAG_EXPIRES, (uint64_t)op->expires_us);
    put_number(out, TAG_REQUESTED, (uint64_t)op->requested_us);
    put_number(out, TAG_STARTED, (uint64_t)op->started_us);
    put_number(out, TAG_FINISHED, (uint64_t)op->finished_us);
    put_number(out, TAG_ROWS, op->rows);
    put_number(out, TAG_RESULT, (uint64_t)op->result);
    put_text(out, TAG_ERROR, op->error);
    put_number(out, TAG_SWITCHING, op->is_switching);
    put_number(out, TAG_BY_OPERATOR, op->by_operator);
    return out->error;
}

/* Reads the texts; false: another tag. */
static bool take_text(struct mig_operation *op, const struct base_field *f, enum err *out_rc)
{
    const struct {
        uint32_t tag;
        char *text;
        size_t size;
    } texts[] = {
        {TAG_TABLE, op->scope.table, sizeof op->scope.table},
        {TAG_NAME, op->scope.name, sizeof op->scope.name},
        {TAG_SOURCE, op->scope.source, sizeof op->scope.source},
        {TAG_BACKUP, op->backup, sizeof op->backup},
        {TAG_TARGET, op->target, sizeof op->target},
        {TAG_NOTE, op->note, sizeof op->note},
        {TAG_ERROR, op->error, sizeof op->error},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (texts[i].tag != f->tag)
            continue;
        *out_rc = base_field_text(f, texts[i].text, texts[i].size);
        return true;
    }
    return false;
}

static enum err take_number(const struct base_field *f, uint64_t most, uint64_t *out)
{
    enum err rc = base_field_number(f, out);
    return rc == ERR_OK && *out > most ? ERR_CORRUPT : rc;
}

static enum err take_field(void *ctx, const struct base_field *f)
{
    struct mig_operation *op = ctx;
    uint64_t number = 0;
    enum err rc = ERR_OK;
    if (take_text(op, f, &rc))
        return rc;
    switch (f->tag) {
    case TAG_KIND:
        rc = take_number(f, MIG_OP_RESTORE_TENANT, &number);
        op->kind = (enum mig_op_kind)number;
        return rc;
    case TAG_STATE:
        rc = take_number(f, MIG_OP_CANCELLED, &number);
        op->state = (enum mig_op_state)number;
        return rc;
    case TAG_RESULT:
        rc = take_number(f, ERR_COUNT - 1, &number);
        op->result = (enum err)number;
        return rc;
    case TAG_EXPIRES:
        return base_field_time(f, &op->expires_us);
    case TAG_REQUESTED:
        return base_field_time(f, &op->requested_us);
    case TAG_STARTED:
        return base_field_time(f, &op->started_us);
    case TAG_FINISHED:
        return base_field_time(f, &op->finished_us);
    case TAG_ROWS:
        return base_field_number(f, &op->rows);
    case TAG_SWITCHING:
        rc = take_number(f, 1, &number);
        op->is_switching = number != 0;
        return rc;
    case TAG_BY_OPERATOR:
        rc = take_number(f, 1, &number);
        op->by_operator = number != 0;
        return rc;
    default:
        return ERR_OK; /* from a later program */
    }
}

enum err mig_operation_decode(struct slice tenant, struct slice id, struct slice body,
                              struct mig_operation *out)
{
    struct mig_operation op = {.state = 0};
    if (tenant.len > LIM_TENANT_ID || id.len != MIG_BACKUP_ID || !mig_backup_id_is_valid(id))
        return ERR_CORRUPT;
    memcpy(op.scope.tenant, tenant.ptr, tenant.len);
    memcpy(op.id, id.ptr, id.len);
    enum err rc = base_record_visit(body, take_field, &op);
    if (rc == ERR_OK && (op.kind == 0 || op.state == 0))
        rc = ERR_CORRUPT;
    if (rc == ERR_OK)
        *out = op;
    return rc;
}
