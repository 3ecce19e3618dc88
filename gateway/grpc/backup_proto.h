/*
 * gateway/grpc/backup_proto.h - a tenant's backups as messages, and names of backups and tables in
 * requests.
 *
 * Does:     translate a backup; check when one may expire; take names apart that stand beside the
 *           one that a request is about.
 * Owns:     nothing; what is made lies in the arena.
 * May use:  base/, storage/, tenancy/, migrations/, gateway/grpc/.
 * Knows no: calls.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID, ERR_UNSUPPORTED naming the field; ERR_NOT_FOUND; ERR_NO_MEMORY.
 * Limits:   GW_BACKUP_KEEP_MIN_S, GW_BACKUP_KEEP_MAX_S, GW_BACKUP_CLOCKS_S.
 * Promises: 1. All times of a Backup are there: Go's client refuses one without. A time that is not
 *              known yet is the epoch, one that never comes the last that protobuf has.
 *           2. A name of another project or instance is refused without a look at what it names.
 */
#ifndef GATEWAY_GRPC_BACKUP_PROTO_H
#define GATEWAY_GRPC_BACKUP_PROTO_H

#include <google/bigtable/admin/v2/table.pb-c.h>

#include "base/arena.h"
#include "gateway/grpc/resource.h"
#include "migrations/tenant_backup.h"

/* As Bigtable: from the time it is made. */
#define GW_BACKUP_KEEP_MIN_S (6 * 60 * 60)
#define GW_BACKUP_KEEP_MAX_S (90 * 24 * 60 * 60)
/* How far the client's clock, by which it computes expire_time, may differ from the server's. */
#define GW_BACKUP_CLOCKS_S (5 * 60)

/* instance: whose project and instance stand in the names. */
enum err gw_backup_to_proto(const struct mig_tenant_backup *backup,
                            const struct gw_resource *instance, struct arena *arena,
                            Bta__Backup **out, struct errbuf *eb) MUST_CHECK;
/* The same in short, as tables and operations tell where they come from. */
enum err gw_backup_info_to_proto(const struct mig_tenant_backup *backup,
                                 const struct gw_resource *instance, struct arena *arena,
                                 Bta__BackupInfo **out, struct errbuf *eb) MUST_CHECK;

/* Where a table was restored from (storage/schema.h, origin); empty: NULL. */
enum err gw_restore_info_to_proto(struct slice origin, const struct gw_resource *instance,
                                  struct arena *arena, Bta__RestoreInfo **out,
                                  struct errbuf *eb) MUST_CHECK;

/* made_us: since when it is there; what has passed at now_us is refused. message NULL: ERR_INVALID.
 */
enum err gw_backup_expiry_from_proto(const Google__Protobuf__Timestamp *message, int64_t made_us,
                                     int64_t now_us, int64_t *out_us, struct errbuf *eb) MUST_CHECK;

/* There is one cluster. */
enum err gw_backup_cluster_check(struct slice cluster, struct errbuf *eb) MUST_CHECK;
/* The ID at the end of a backup's or table's (kind) name, which must be of that instance; field:
 * where it stands. */
enum err gw_backup_name_of(const char *name, enum gw_resource_kind kind, const char *field,
                           const struct gw_resource *instance, struct slice *out,
                           struct errbuf *eb) MUST_CHECK;

#endif
