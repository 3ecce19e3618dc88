/*
 * migrations/upgrade.h - the numbered steps from each format of the data directory to the next.
 *
 * Does:     say what a step does, and how much it has to do; do it, a part at a time; say how
 *           long a commit takes on a directory's disk.
 * Owns:     nothing.
 * May use:  base/, storage/, tenancy/.
 * Knows no: who asks, how progress is shown, FORMAT (migrations/datadir.h).
 * Threads:  run: the registry's control thread. measure: while nobody has the database open.
 * Blocks:   yes.
 * Fails by: what a step fails by.
 * Limits:   MIG_UPGRADE_PART a call; tests make it smaller by BIGTENT_TEST_UPGRADE_PART.
 * Promises: 1. There is a step for every format from 2 to ours. 2. What a part did is durable when
 *              run returns, and a step that was interrupted goes on where it was: FORMAT is raised
 *              when it is over, so until then the older program reads the directory. 3. Measuring
 *              changes nothing that is stored.
 */
#ifndef MIGRATIONS_UPGRADE_H
#define MIGRATIONS_UPGRADE_H

#include "tenancy/registry.h"

#define MIG_UPGRADE_PART 1000

/* What a step has to do. */
struct mig_upgrade_amount {
    uint64_t all; /* things there are */
    uint64_t due; /* of which so many have to be changed */
    uint64_t read_bytes;
    uint64_t write_keys;
    uint64_t commits; /* synced ones */
};

struct mig_upgrade {
    uint32_t to;
    const char *title;
    const char *things; /* that are changed one by one: "tenants" */
    /* db: the database's directory. */
    enum err (*measure)(const char *db, struct mig_upgrade_amount *out, struct errbuf *eb);
    /* A part; *out_left: what remains to be done, 0: it is over. */
    enum err (*run)(struct ten_registry *r, size_t *out_left, struct errbuf *eb);
};

/* The step that makes that format; NULL: there is none. */
const struct mig_upgrade *mig_upgrade_to(uint32_t format);

/* What a synced write takes on the file system of dir, of a few that are made into a file without a
 * name; 0: that cannot be said there. */
uint64_t mig_upgrade_commit_ns(const char *dir);

/* upgrade_2.c */
enum err mig_upgrade_2_measure(const char *db, struct mig_upgrade_amount *out,
                               struct errbuf *eb) MUST_CHECK;
enum err mig_upgrade_2(struct ten_registry *r, size_t *out_left, struct errbuf *eb) MUST_CHECK;

#endif
