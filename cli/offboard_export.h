/*
 * cli/offboard_export.h - exports a tenant's tables into files before the tenant is deleted.
 *
 * Does:     suspend the tenant's writes, export all its tables, verify every file against its hash,
 *           check that writes stayed suspended.
 * Owns:     nothing after the call.
 * May use:  base/, cli/.
 * Knows no: how a tenant is deleted.
 * Threads:  one, which starts workers (cli/export.h).
 * Blocks:   on the network and the disk.
 * Fails by: CLI_REFUSED (a tenant that cannot be read, or is held), CLI_CHECK_FAILED (a file that
 *           differs from the written bytes, writes that continued), as cli/export.h; all reported.
 * Limits:   CLI_TRANSFER_*.
 * Promises: 1. CLI_OK means that every acknowledged row is in complete, synced files.
 *           2. After a failure nothing is deleted, and writes stay suspended, so that the export
 *              can continue.
 */
#ifndef CLI_OFFBOARD_EXPORT_H
#define CLI_OFFBOARD_EXPORT_H

#include "cli/cli.h"

/* Exports the tenant. dir: created, or empty. key_file: the tenant's key, or a service key.
 * has_grace: a hold is no obstacle. */
enum cli_exit cli_offboard_export(struct cli *cli, const char *tenant, const char *dir,
                                  const char *key_file, bool has_grace);

#endif
