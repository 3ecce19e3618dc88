/*
 * gateway/grpc/backup_proto.h - a tenant's backups as messages, and names of backups and tables in
 * requests.
 *
 * Does:     translates a backup; checks when a backup may expire; parses names in a request other
 *           than the name that the request is about.
 * Owns:     nothing; new messages are in the arena.
 * May use:  base/, storage/, tenancy/, migrations/, gateway/grpc/.
 * Knows no: calls.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_INVALID, ERR_UNSUPPORTED naming the field; ERR_NOT_FOUND; ERR_NO_MEMORY.
 * Limits:   GW_BACKUP_KEEP_MIN_S, GW_BACKUP_KEEP_MAX_S, GW_BACKUP_CLOCKS_S.
 * Promises: 1. All times of a Backup are set: Go's client refuses one without. A time that is not
 *              known yet is the epoch; a time that never comes is the last that protobuf has.
 *           2. A name of another project or instance is refused without a lookup of the object that
 *              it names.
 */
#ifndef GATEWAY_GRPC_BACKUP_PROTO_H
#define GATEWAY_GRPC_BACKUP_PROTO_H

#include <google/bigtable/admin/v2/table.pb-c.h>

#include "base/arena.h"
#include "gateway/grpc/resource.h"
#include "migrations/tenant_backup.h"

/* Bounds of the time to keep a backup, as in Bigtable: from its creation. */
#define GW_BACKUP_KEEP_MIN_S (6 * 60 * 60)
#define GW_BACKUP_KEEP_MAX_S (90 * 24 * 60 * 60)
/* Allowed difference between the server's clock and the client's, by which the client computes
 * expire_time. */
#define GW_BACKUP_CLOCKS_S (5 * 60)

/* Translates a backup. instance: project and instance for the names. */
enum err gw_backup_to_proto(const struct mig_tenant_backup *backup,
                            const struct gw_resource *instance, struct arena *arena,
                            Bta__Backup **out, struct errbuf *eb) MUST_CHECK;
/* Translates a backup into the short form in which tables and operations name their source. */
enum err gw_backup_info_to_proto(const struct mig_tenant_backup *backup,
                                 const struct gw_resource *instance, struct arena *arena,
                                 Bta__BackupInfo **out, struct errbuf *eb) MUST_CHECK;

/* Describes the backup that a table was restored from (storage/schema.h, origin); empty: NULL. */
enum err gw_restore_info_to_proto(struct slice origin, const struct gw_resource *instance,
                                  struct arena *arena, Bta__RestoreInfo **out,
                                  struct errbuf *eb) MUST_CHECK;

/* Reads an expiry. made_us: creation of the backup; a time that has passed at now_us is refused.
 * message NULL: ERR_INVALID. */
enum err gw_backup_expiry_from_proto(const Google__Protobuf__Timestamp *message, int64_t made_us,
                                     int64_t now_us, int64_t *out_us, struct errbuf *eb) MUST_CHECK;

/* Checks the name of the only cluster. */
enum err gw_backup_cluster_check(struct slice cluster, struct errbuf *eb) MUST_CHECK;
/* Returns the ID at the end of the name of a backup or table (kind), which must be of that
 * instance; field: where the name was found. */
enum err gw_backup_name_of(const char *name, enum gw_resource_kind kind, const char *field,
                           const struct gw_resource *instance, struct slice *out,
                           struct errbuf *eb) MUST_CHECK;

#endif
