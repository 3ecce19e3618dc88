/*
 * gateway/grpc/backup_field.c - the fields of a Backup that lists are filtered and sorted by.
 */
#include "gateway/grpc/backup_field.h"

#include "gateway/grpc/time_proto.h"

#include "base/banned.h"

static const char *const NAMES[GW_BACKUP_FIELDS] = {
    [GW_BACKUP_NAME] = "name",
    [GW_BACKUP_SOURCE_TABLE] = "source_table",
    [GW_BACKUP_STATE] = "state",
    [GW_BACKUP_START_TIME] = "start_time",
    [GW_BACKUP_END_TIME] = "end_time",
    [GW_BACKUP_EXPIRE_TIME] = "expire_time",
    [GW_BACKUP_SIZE_BYTES] = "size_bytes",
};

#define FIELD_TEXT_MAX 40 /* of untrusted text in an error */

int gw_backup_text_compare(struct slice a, struct slice b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    for (size_t i = 0; i < n; i++) {
        int difference = (int)gw_backup_fold(a.ptr[i]) - (int)gw_backup_fold(b.ptr[i]);
        if (difference != 0)
            return difference;
    }
    return a.len < b.len ? -1 : a.len > b.len;
}

enum err gw_backup_field_find(struct slice name, const char *what, enum gw_backup_field *out,
                              struct errbuf *eb)
{
    for (size_t i = 0; i < GW_BACKUP_FIELDS; i++)
        if (gw_backup_text_compare(name, base_slice_text(NAMES[i])) == 0) {
            *out = (enum gw_backup_field)i;
            return ERR_OK;
        }
    struct slice shown =
        base_slice(name.ptr, name.len < FIELD_TEXT_MAX ? name.len : FIELD_TEXT_MAX);
    return base_fail(eb, ERR_INVALID,
                     "%s: there is no field \"%.*s\"; fields are name, source_table, state, "
                     "start_time, end_time, expire_time, size_bytes",
                     what, SLICE_ARGS(shown));
}

static int64_t us_of(const Google__Protobuf__Timestamp *time)
{
    int64_t us = 0;
    return time != NULL && gw_time_from_proto(time, &us) ? us : 0;
}

static struct slice state_of(const Bta__Backup *b)
{
    return b->state == BTA__BACKUP__STATE__READY ? SLICE_LIT("READY") : SLICE_LIT("CREATING");
}

struct gw_backup_value gw_backup_field_of(const Bta__Backup *b, enum gw_backup_field field)
{
    switch (field) {
    case GW_BACKUP_NAME:
        return (struct gw_backup_value){.text = base_slice_text(b->name)};
    case GW_BACKUP_SOURCE_TABLE:
        return (struct gw_backup_value){.text = base_slice_text(b->source_table)};
    case GW_BACKUP_STATE:
        return (struct gw_backup_value){.text = state_of(b)};
    case GW_BACKUP_START_TIME:
        return (struct gw_backup_value){.number = us_of(b->start_time)};
    case GW_BACKUP_END_TIME:
        return (struct gw_backup_value){.number = us_of(b->end_time)};
    case GW_BACKUP_EXPIRE_TIME:
        return (struct gw_backup_value){.number = us_of(b->expire_time)};
    case GW_BACKUP_SIZE_BYTES:
        return (struct gw_backup_value){.number = b->size_bytes};
    case GW_BACKUP_FIELDS:
        break;
    }
    INVARIANT(field < GW_BACKUP_FIELDS);
    return (struct gw_backup_value){0};
}
