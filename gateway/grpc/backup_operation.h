/*
 * gateway/grpc/backup_operation.h - work on backups as google.longrunning.Operation.
 *
 * Does:     describes the progress and result of an operation, with the metadata and the response
 *           that Bigtable returns for its kind.
 * Owns:     nothing; messages are in the call's arena.
 * May use:  migrations/, gateway/grpc/.
 * Knows no: executor of the operation.
 * Threads:  the control thread.
 * Blocks:   no.
 * Fails by: ERR_NOT_FOUND (the call's tenant has no operation of that ID), ERR_NO_MEMORY.
 * Limits:   none.
 * Promises: 1. An internal failure of the server is reported by its kind, without details of its
 *              disk.
 */
#ifndef GATEWAY_GRPC_BACKUP_OPERATION_H
#define GATEWAY_GRPC_BACKUP_OPERATION_H

#include <google/longrunning/operations.pb-c.h>

#include "gateway/grpc/rpc.h"
#include "migrations/tenant_backup.h"

/* Returns the tenant's own instance, whatever wildcard was requested. */
struct gw_resource gw_backup_instance(const struct gw_call *call);

enum err gw_backup_operation_to_proto(struct gw_call *call, const struct mig_operation *op,
                                      Lro__Operation **out, struct errbuf *eb) MUST_CHECK;
/* Makes the operation with that ID the call's state, a Lro__Operation. */
enum err gw_backup_operation_get(struct gw_call *call, struct slice id,
                                 struct errbuf *eb) MUST_CHECK;

#endif
