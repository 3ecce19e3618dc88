/*
 * migrations/table_origin.c - fields by tag: append only.
 */
#include "migrations/table_origin.h"

#include "base/record.h"

#include "base/banned.h"

enum {
    TAG_NAME = 1,
    TAG_TABLE = 2,
    TAG_SOURCE = 3,
    TAG_STARTED = 4,
    TAG_FINISHED = 5,
};

enum err mig_table_origin_encode(const struct mig_tenant_backup *from, struct buf *out)
{
    const struct mig_backup_scope *scope = &from->scope;
    (void)base_record_put_bytes(out, TAG_NAME, base_slice_text(scope->name)); /* errors latch */
    (void)base_record_put_bytes(out, TAG_TABLE, base_slice_text(scope->table));
    (void)base_record_put_bytes(out, TAG_SOURCE, base_slice_text(scope->source));
    (void)base_record_put_u64(out, TAG_STARTED, (uint64_t)from->started_us);
    (void)base_record_put_u64(out, TAG_FINISHED, (uint64_t)from->finished_us);
    return out->error;
}

static enum err take_field(void *ctx, const struct base_field *f)
{
    struct mig_tenant_backup *from = ctx;
    switch (f->tag) {
    case TAG_NAME:
        return base_field_text(f, from->scope.name, sizeof from->scope.name);
    case TAG_TABLE:
        return base_field_text(f, from->scope.table, sizeof from->scope.table);
    case TAG_SOURCE:
        return base_field_text(f, from->scope.source, sizeof from->scope.source);
    case TAG_STARTED:
        return base_field_time(f, &from->started_us);
    case TAG_FINISHED:
        return base_field_time(f, &from->finished_us);
    default:
        return ERR_OK; /* from a later program */
    }
}

enum err mig_table_origin_decode(struct slice origin, struct mig_tenant_backup *out)
{
    struct mig_tenant_backup from = {.is_ready = true};
    enum err rc = base_record_visit(origin, take_field, &from);
    if (rc == ERR_OK)
        *out = from;
    return rc;
}
