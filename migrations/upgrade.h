/*
 * migrations/upgrade.h - the numbered steps from each format of the data directory to the next.
 *
 * Does:     say what a step does; do it, a part at a time.
 * Owns:     nothing.
 * May use:  base/, tenancy/.
 * Knows no: who asks, how progress is shown, FORMAT (migrations/datadir.h).
 * Threads:  run: the registry's control thread.
 * Blocks:   yes.
 * Fails by: what a step fails by.
 * Limits:   MIG_UPGRADE_PART a call.
 * Promises: 1. There is a step for every format from 2 to ours. 2. What a part did is durable when
 *              run returns, and a step that was interrupted goes on where it was: FORMAT is raised
 *              when it is over, so until then the older program reads the directory.
 */
#ifndef MIGRATIONS_UPGRADE_H
#define MIGRATIONS_UPGRADE_H

#include "tenancy/registry.h"

#define MIG_UPGRADE_PART 1000

struct mig_upgrade {
    uint32_t to;
    const char *title;
    /* A part; *out_left: what remains to be done, 0: it is over. */
    enum err (*run)(struct ten_registry *r, size_t *out_left, struct errbuf *eb);
};

/* The step that makes that format; NULL: there is none. */
const struct mig_upgrade *mig_upgrade_to(uint32_t format);

/* upgrade_2.c */
enum err mig_upgrade_2(struct ten_registry *r, size_t *out_left, struct errbuf *eb) MUST_CHECK;

#endif
