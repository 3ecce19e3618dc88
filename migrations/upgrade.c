/*
 * migrations/upgrade.c - the table of steps, and the speed of a disk.
 */
#define _GNU_SOURCE
#include "migrations/upgrade.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "migrations/datadir.h"

#include "base/banned.h"

#define PROBE_WRITES 8
#define PROBE_BYTES  4096

static const struct mig_upgrade STEPS[] = {
    {2, "plant canaries in tenants made before there were any", "tenants", mig_upgrade_2_measure,
     mig_upgrade_2},
};
_Static_assert(sizeof STEPS / sizeof STEPS[0] == MIG_FORMAT_VERSION - 1, "a step for each format");

const struct mig_upgrade *mig_upgrade_to(uint32_t format)
{
    return format >= 2 && format <= MIG_FORMAT_VERSION ? &STEPS[format - 2] : NULL;
}

uint64_t mig_upgrade_commit_ns(const char *dir)
{
    static const uint8_t zeros[PROBE_BYTES];
    int fd = open(dir, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0)
        return 0; /* not every file system supports this */
    uint64_t start_ns = base_monotonic_ns();
    int done = 0;
    while (done < PROBE_WRITES && write(fd, zeros, sizeof zeros) == (ssize_t)sizeof zeros &&
           fdatasync(fd) == 0)
        done++;
    uint64_t took_ns = base_monotonic_ns() - start_ns;
    (void)close(fd); /* closing removes the file */
    return done == PROBE_WRITES ? took_ns / PROBE_WRITES : 0;
}
