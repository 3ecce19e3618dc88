/*
 * gateway/grpc/backup_order.h - the order in which backups are listed: ListBackupsRequest.order_by.
 *
 * Does:     parses `expire_time desc, name`; compares two backups.
 * Owns:     nothing.
 * May use:  base/, gateway/grpc/.
 * Knows no: lists, tenants.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID naming the word.
 * Limits:   each field once.
 * Promises: 1. Two backups with different names are never equal: a page can continue after a backup
 *              that no longer exists.
 */
#ifndef GATEWAY_GRPC_BACKUP_ORDER_H
#define GATEWAY_GRPC_BACKUP_ORDER_H

#include "gateway/grpc/backup_field.h"

struct gw_backup_order {
    size_t count;
    struct {
        enum gw_backup_field field;
        bool is_descending;
    } by[GW_BACKUP_FIELDS];
};

/* Parses an order. "": the newest first. */
enum err gw_backup_order_read(struct slice text, struct gw_backup_order *out,
                              struct errbuf *eb) MUST_CHECK;
int gw_backup_order_compare(const struct gw_backup_order *order, const Bta__Backup *a,
                            const Bta__Backup *b);

#endif
