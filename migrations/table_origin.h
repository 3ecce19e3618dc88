/*
 * migrations/table_origin.h - the backup that a table was restored from, as stored in its schema.
 *
 * Does:     encodes and decodes a table's record of its backup, which outlives the backup.
 * Owns:     nothing.
 * May use:  base/, migrations/.
 * Knows no: where it is stored (storage/schema.h, origin).
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_CORRUPT.
 * Limits:   LIM_TABLE_ORIGIN.
 * Promises: 1. decode(encode(x)) = x in name, table and source of the scope, and in both times.
 */
#ifndef MIGRATIONS_TABLE_ORIGIN_H
#define MIGRATIONS_TABLE_ORIGIN_H

#include "base/buf.h"
#include "migrations/tenant_backup.h"

enum err mig_table_origin_encode(const struct mig_tenant_backup *from, struct buf *out) MUST_CHECK;
enum err mig_table_origin_decode(struct slice origin, struct mig_tenant_backup *out) MUST_CHECK;

#endif
