/*
 * migrations/salvage_internal.h - declarations that the files of salvaging share.
 *
 * Does:     fills lost ranges from backups; writes the report.
 * Owns:     nothing after a call.
 * May use:  base/, storage/, tenancy/, migrations/.
 * Knows no: directories, except its parameters.
 * Threads:  one.
 * Blocks:   yes.
 * Fails by: as migrations/salvage.h. A backup that cannot be read is not an error: an older one is
 *           tried.
 * Limits:   none.
 * Promises: none of its own.
 */
#ifndef MIGRATIONS_SALVAGE_INTERNAL_H
#define MIGRATIONS_SALVAGE_INTERNAL_H

#include "migrations/salvage.h"

/* scratch: a directory that does not exist before or after the call. */
enum err mig_salvage_fill(struct sto_salvage *salvage, const char *backups, const char *scratch,
                          struct mig_salvaged *s, struct errbuf *eb) MUST_CHECK;

enum err mig_salvage_report(const struct mig_salvage_options *options, const struct mig_salvaged *s,
                            struct errbuf *eb) MUST_CHECK;

#endif
