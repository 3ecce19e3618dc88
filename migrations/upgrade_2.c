/*
 * migrations/upgrade_2.c - from the first format, which knew no certificates.
 *
 * Format 2 has canaries, states DELETE_REQUESTED and EXPIRED, holds and sealed values. A program of
 * format 1 would take sealed values for damage, write plain ones beside them, and forget holds: it
 * must not open such a directory. All but the canaries comes by itself.
 */
#include "migrations/upgrade.h"
#include "tenancy/canary.h"

#include "base/banned.h"

enum err mig_upgrade_2(struct ten_registry *r, size_t *out_left, struct errbuf *eb)
{
    return ten_canaries_plant_missing(r, MIG_UPGRADE_PART, out_left, eb);
}
