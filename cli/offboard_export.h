/*
 * cli/offboard_export.h - a tenant's tables into files, as the last thing before it is deleted.
 *
 * Does:     suspend the tenant's writes, export all its tables, read every file back against its
 *           hash, see that writes stayed suspended.
 * Owns:     nothing behind the call.
 * May use:  base/, cli/.
 * Knows no: how a tenant is deleted.
 * Threads:  one, which has others work for it (cli/export.h).
 * Blocks:   on the network and the disk.
 * Fails by: CLI_REFUSED (a tenant that cannot be read, or is held), CLI_CHECK_FAILED (a file that
 *           is not what was written, writes that went on), what cli/export.h returns; all said.
 * Limits:   CLI_TRANSFER_*.
 * Promises: 1. CLI_OK means that every row that was acknowledged is in whole, synced files.
 *           2. After a failure nothing is deleted, and writes stay suspended: the export may go on.
 */
#ifndef CLI_OFFBOARD_EXPORT_H
#define CLI_OFFBOARD_EXPORT_H

#include "cli/cli.h"

/* dir: is made, or empty. key_file: of the tenant, or of a service. has_grace: a hold is no
 * obstacle. */
enum cli_exit cli_offboard_export(struct cli *cli, const char *tenant, const char *dir,
                                  const char *key_file, bool has_grace);

#endif
