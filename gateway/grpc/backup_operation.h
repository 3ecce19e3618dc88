/*
 * gateway/grpc/backup_operation.h - work on backups as google.longrunning.Operation.
 *
 * Does:     tell how far it is and what became of it, with the metadata and the response that
 *           Bigtable gives of its kind.
 * Owns:     nothing; messages live in the call's arena.
 * May use:  migrations/, gateway/grpc/.
 * Knows no: who does it.
 * Threads:  the control thread.
 * Blocks:   no.
 * Fails by: ERR_NOT_FOUND (none of the call's tenant has that ID), ERR_NO_MEMORY.
 * Limits:   none.
 * Promises: 1. A failure of the server's own says what kind it is, and nothing of its disk.
 */
#ifndef GATEWAY_GRPC_BACKUP_OPERATION_H
#define GATEWAY_GRPC_BACKUP_OPERATION_H

#include <google/longrunning/operations.pb-c.h>

#include "gateway/grpc/rpc.h"
#include "migrations/tenant_backup.h"

/* The tenant's own, whatever wildcard was asked for. */
struct gw_resource gw_backup_instance(const struct gw_call *call);

enum err gw_backup_operation_to_proto(struct gw_call *call, const struct mig_operation *op,
                                      Lro__Operation **out, struct errbuf *eb) MUST_CHECK;
/* The one with that ID becomes the call's state, a Lro__Operation. */
enum err gw_backup_operation_get(struct gw_call *call, struct slice id,
                                 struct errbuf *eb) MUST_CHECK;

#endif
