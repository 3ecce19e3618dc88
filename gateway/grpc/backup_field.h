/*
 * gateway/grpc/backup_field.h - the fields of a Backup that lists are filtered and sorted by.
 *
 * Does:     finds a field by its name; returns its value: a text, or a number.
 * Owns:     nothing; texts stay in the message.
 * May use:  base/, gateway/grpc/.
 * Knows no: filters, orders.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID naming the fields that exist.
 * Limits:   none.
 * Promises: 1. A time is a number of microseconds; a time that is not set yet is 0.
 */
#ifndef GATEWAY_GRPC_BACKUP_FIELD_H
#define GATEWAY_GRPC_BACKUP_FIELD_H

#include <google/bigtable/admin/v2/table.pb-c.h>

#include "base/err.h"
#include "base/slice.h"

enum gw_backup_field {
    GW_BACKUP_NAME,
    GW_BACKUP_SOURCE_TABLE,
    GW_BACKUP_STATE,
    GW_BACKUP_START_TIME,
    GW_BACKUP_END_TIME,
    GW_BACKUP_EXPIRE_TIME,
    GW_BACKUP_SIZE_BYTES,
    GW_BACKUP_FIELDS,
};

struct gw_backup_value {
    struct slice text; /* of the first three */
    int64_t number;    /* of the others */
};

/* Finds a field. what: where the name was found, for the error. */
enum err gw_backup_field_find(struct slice name, const char *what, enum gw_backup_field *out,
                              struct errbuf *eb) MUST_CHECK;
struct gw_backup_value gw_backup_field_of(const Bta__Backup *backup, enum gw_backup_field field);

static inline bool gw_backup_field_is_text(enum gw_backup_field field)
{
    return field <= GW_BACKUP_STATE;
}

static inline bool gw_backup_field_is_time(enum gw_backup_field field)
{
    return field >= GW_BACKUP_START_TIME && field <= GW_BACKUP_EXPIRE_TIME;
}

/* Folds the case of one byte, for texts whose case does not matter. */
static inline uint8_t gw_backup_fold(uint8_t c)
{
    return c >= 'A' && c <= 'Z' ? (uint8_t)(c - 'A' + 'a') : c;
}

int gw_backup_text_compare(struct slice a, struct slice b);

#endif
