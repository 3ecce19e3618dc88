/*
 * migrations/upgrade.h - the numbered steps from each format of the data directory to the next.
 *
 * Does:     describes a step and its amount of work; executes it, a part at a time; measures how
 *           long a commit takes on a directory's disk.
 * Owns:     nothing.
 * May use:  base/, storage/, tenancy/.
 * Knows no: its callers, how progress is shown, FORMAT (migrations/datadir.h).
 * Threads:  run: the registry's control thread. measure: while no process has the database open.
 * Blocks:   yes.
 * Fails by: the step's errors.
 * Limits:   MIG_UPGRADE_PART per call; tests make it smaller by BIGTENT_TEST_UPGRADE_PART.
 * Promises: 1. There is a step for every format from 2 to ours. 2. The work of a part is durable
 *              when run returns, and an interrupted step continues where it was: FORMAT is raised
 *              when the step is complete, so until then the older program can read the directory.
 *              3. Measuring changes nothing that is stored.
 */
#ifndef MIGRATIONS_UPGRADE_H
#define MIGRATIONS_UPGRADE_H

#include "tenancy/registry.h"

#define MIG_UPGRADE_PART 1000

/* The amount of work of a step. */
struct mig_upgrade_amount {
    uint64_t all; /* number of existing items */
    uint64_t due; /* number of items to change */
    uint64_t read_bytes;
    uint64_t write_keys;
    uint64_t commits; /* synced ones */
};

struct mig_upgrade {
    uint32_t to;
    const char *title;
    const char *things; /* items that are changed one by one: "tenants" */
    /* db: the database's directory. */
    enum err (*measure)(const char *db, struct mig_upgrade_amount *out, struct errbuf *eb);
    /* Executes a part; *out_left: remaining work, 0: complete. */
    enum err (*run)(struct ten_registry *r, size_t *out_left, struct errbuf *eb);
};

/* Returns the step that produces that format; NULL: there is none. */
const struct mig_upgrade *mig_upgrade_to(uint32_t format);

/* Measures how long a synced write takes on the file system of dir, from a few writes to an unnamed
 * file; 0: cannot be measured there. */
uint64_t mig_upgrade_commit_ns(const char *dir);

/* upgrade_2.c */
enum err mig_upgrade_2_measure(const char *db, struct mig_upgrade_amount *out,
                               struct errbuf *eb) MUST_CHECK;
enum err mig_upgrade_2(struct ten_registry *r, size_t *out_left, struct errbuf *eb) MUST_CHECK;

#endif
