/*
 * migrations/salvage_internal.h - what the files of salvaging share.
 *
 * Does:     fills lost ranges from backups; writes the report.
 * Owns:     nothing after a call.
 * May use:  base/, storage/, tenancy/, migrations/.
 * Knows no: directories, but those it is told.
 * Threads:  one.
 * Blocks:   yes.
 * Fails by: as migrations/salvage.h. A backup that cannot be read is no failure: an older one is
 *           tried.
 * Limits:   none.
 * Promises: none of its own.
 */
#ifndef MIGRATIONS_SALVAGE_INTERNAL_H
#define MIGRATIONS_SALVAGE_INTERNAL_H

#include "migrations/salvage.h"

/* scratch: a directory that is not there, and is not there afterwards. */
enum err mig_salvage_fill(struct sto_salvage *salvage, const char *backups, const char *scratch,
                          struct mig_salvaged *s, struct errbuf *eb) MUST_CHECK;

enum err mig_salvage_report(const struct mig_salvage_options *options, const struct mig_salvaged *s,
                            struct errbuf *eb) MUST_CHECK;

#endif
