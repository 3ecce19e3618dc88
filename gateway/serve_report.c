/*
 * gateway/serve_report.c - logs events that a server detects about itself.
 */
#include "gateway/serve_report.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"

#include "base/banned.h"

#define NS_PER_S 1000000000ULL

/* Logs one line for each damaged block, when it is first detected, and one for each new reason why
 * the space of drops cannot be reclaimed. */
void gw_report_damage(struct sto_engine *engine, struct sto_damage *seen)
{
    struct sto_damage now;
    sto_damage_get(engine, &now);
    for (size_t i = 0; i < now.count; i++) {
        const struct sto_damaged_file *f = &now.files[i];
        bool is_new = true;
        for (size_t k = 0; is_new && k < seen->count; k++)
            is_new = seen->files[k].number != f->number || seen->files[k].offset != f->offset;
        if (is_new)
            base_log(BASE_LOG_ERROR, "table_file_damaged",
                     "file=%06" PRIu64 ".sst family=%s offset=%" PRIu64 " bytes=%" PRIu64,
                     f->number, f->family, f->offset, f->block_bytes);
    }
    if (now.reclaim_stuck.text[0] != '\0' &&
        strcmp(now.reclaim_stuck.text, seen->reclaim_stuck.text) != 0)
        base_log(BASE_LOG_ERROR, "reclaim_stuck", "reason=\"%s\"", now.reclaim_stuck.text);
    *seen = now;
}

/* Logs one line for each kind of finding whose count has grown. Blocks have a line of their own. */
void gw_report_scrub(struct sto_engine *engine, struct sto_scrub *seen)
{
    struct sto_engine_stats stats;
    sto_engine_stats_get(engine, &stats);
    for (enum sto_scrub_kind k = STO_SCRUB_LIST; k < STO_SCRUB_KINDS; k++)
        if (stats.scrub.findings[k] != seen->findings[k])
            base_log(BASE_LOG_ERROR, "scrub_finding",
                     "kind=%s findings=%" PRIu64 " last_file=%06" PRIu64 ".sst",
                     sto_scrub_kind_name(k), stats.scrub.findings[k], stats.scrub.last_file[k]);
    *seen = stats.scrub;
}

/* Logs at most one line per second, as one tenant might cause many; /metrics counts all of them. */
void gw_report_slow(const char *name, const char *what, uint64_t ms)
{
    static uint64_t next_ns; /* used only by the watchdog's thread */
    uint64_t now_ns = base_monotonic_ns();
    if (now_ns < next_ns)
        return;
    next_ns = now_ns + NS_PER_S;
    base_log(BASE_LOG_WARN, "thread_computes_long", "thread=%s doing=\"%s\" ms=%" PRIu64, name,
             what, ms);
}
