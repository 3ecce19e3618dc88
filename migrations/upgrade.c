/*
 * migrations/upgrade.c - the table of steps.
 */
#include "migrations/upgrade.h"

#include "migrations/datadir.h"

#include "base/banned.h"

static const struct mig_upgrade STEPS[] = {
    {2, "plant canaries in tenants made before there were any", mig_upgrade_2},
};
_Static_assert(sizeof STEPS / sizeof STEPS[0] == MIG_FORMAT_VERSION - 1, "a step for each format");

const struct mig_upgrade *mig_upgrade_to(uint32_t format)
{
    return format >= 2 && format <= MIG_FORMAT_VERSION ? &STEPS[format - 2] : NULL;
}
