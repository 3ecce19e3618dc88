/*
 * migrations/backup_schedule.c - when the next scheduled backup is due.
 *
 * The schedule uses the monotonic clock: a wall clock that jumps causes neither a series of backups
 * nor a pause. Only the first one is due by the age of the newest backup.
 *
 * Backups lag once the newest is older than the schedule requires: fully when it is twice as old.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "base/share.h"
#include "base/text.h"
#include "migrations/service_internal.h"
#include "tenancy/audit.h"

#include "base/banned.h"

#define US_PER_S 1000000LL
#define NS_PER_S 1000000000ULL

#define LAG_LOOK_NS 250000000ULL /* mig_schedule_lag is called as often as for each restored key */

uint64_t mig_service_hurry(void)
{
    const char *text = getenv("BIGTENT_TEST_BACKUP_HURRY");
    uint64_t number = 1;
    if (text == NULL || base_parse_u64(base_slice_text(text), &number) != ERR_OK || number == 0)
        return 1;
    return number;
}

static uint64_t every_ns(const struct mig_service *s)
{
    return s->every_s * NS_PER_S / mig_service_hurry();
}

void mig_schedule_lag(struct mig_service *s)
{
    uint64_t now_ns = base_monotonic_ns();
    if (s->every_s == 0 || now_ns < s->lag_look_ns)
        return;
    s->lag_look_ns = now_ns + LAG_LOOK_NS;
    double late = now_ns < s->late_ns ? 0 : (double)(now_ns - s->late_ns) / (double)every_ns(s);
    base_class_lag(BASE_BACKUP, late < 1 ? (uint32_t)(late * BASE_LAG_FULL) : BASE_LAG_FULL);
}

void mig_schedule_made(struct mig_service *s)
{
    s->late_ns = base_monotonic_ns() + every_ns(s);
    s->lag_look_ns = 0;
    mig_schedule_lag(s);
    mig_schedule_next(s, true);
}

void mig_schedule_next(struct mig_service *s, bool is_good)
{
    uint64_t wait_s = is_good || s->every_s < MIG_RETRY_S ? s->every_s : MIG_RETRY_S;
    if (s->every_s > 0)
        s->due_ns = base_monotonic_ns() + wait_s * NS_PER_S / mig_service_hurry();
}

void mig_schedule_first(struct mig_service *s)
{
    struct mig_service_figures figures;
    if (s->every_s == 0)
        return;
    mig_service_figures(s, &figures);
    int64_t every_us = (int64_t)s->every_s * US_PER_S;
    int64_t left_us = figures.newest_us + every_us - base_wall_us();
    uint64_t late_ns = figures.newest_us == 0 || left_us > 0 ? 0 : (uint64_t)-left_us * 1000;
    if (figures.newest_us == 0 || left_us < 0)
        left_us = 0;
    if (left_us > every_us)
        left_us = every_us;
    s->due_ns = base_monotonic_ns() + (uint64_t)left_us * 1000;
    s->late_ns = s->due_ns > late_ns ? s->due_ns - late_ns : 0;
}

void mig_schedule_look(struct mig_service *s)
{
    char id[MIG_BACKUP_ID + 1];
    mig_schedule_lag(s);
    if (s->due_ns == 0 || base_monotonic_ns() < s->due_ns)
        return;
    const struct ten_action action = {
        .actor = TEN_ACTOR_SERVER, .name = "backup.create", .detail = "scheduled"};
    ten_audit_begin(s->registry, &action);
    enum err rc = mig_service_ask(s, SLICE_LIT("scheduled"), UINT64_MAX, id, NULL);
    rc = ten_audit_end(s->registry, rc, NULL);
    mig_schedule_next(s, rc == ERR_OK); /* mig_schedule_made sets it again */
}
