/*
 * gateway/metrics/tenants.c - number of tenants, throttling, and the most active ones by name.
 *
 * A label for each of 100,000 tenants would overload every system that stores the samples. So only
 * recently active tenants have one, and of them only the most active.
 */
#include <stdio.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "gateway/metrics/exposition.h"
#include "gateway/metrics/groups.h"
#include "tenancy/activity.h"
#include "tenancy/offboard.h"
#include "tenancy/sweeper.h"

#include "base/banned.h"

#define LABEL_BYTES      (LIM_TENANT_ID + 64)
#define US_DECIMALS      6
#define JOBS_COUNTED_MAX 1000

/* One tenant as it is at the scrape. */
struct shown {
    const struct ten_tenant *tenant;
    struct ten_metered_now metered;
    struct sto_usage usage;
    struct ten_quota quota;
};

/* --- all tenants together ----------------------------------------------------------------------
 */

static void put_states(struct buf *out, const struct ten_activity *sum)
{
    struct gw_metric m = gw_metric_begin(out, "bigtent_tenants", GW_GAUGE, "Tenants, by state.");
    for (enum ten_state s = TEN_ACTIVE; s < TEN_STATES; s++) {
        char labels[LABEL_BYTES];
        (void)snprintf(labels, sizeof labels, "state=\"%s\"", ten_state_name(s));
        gw_metric_put(&m, labels, sum->states[s]);
    }
}

static void put_throttling(struct buf *out, const struct ten_activity *sum)
{
    char labels[LABEL_BYTES];
    struct gw_metric m = gw_metric_begin(
        out, "bigtent_throttled_total", GW_COUNTER,
        "Requests and rows of bulk writes refused, and waits, by what limits them.");
    for (enum ten_policy p = 0; p < TEN_POLICY_COUNT; p++) {
        (void)snprintf(labels, sizeof labels, "policy=\"%s\"", ten_policy_name(p));
        gw_metric_put(&m, labels, sum->throttled[p]);
    }
    m = gw_metric_begin(out, "bigtent_throttled_seconds_total", GW_COUNTER,
                        "The waiting that they were told.");
    for (enum ten_policy p = 0; p < TEN_POLICY_COUNT; p++) {
        (void)snprintf(labels, sizeof labels, "policy=\"%s\"", ten_policy_name(p));
        gw_metric_put_fraction(&m, labels, sum->throttled_ns[p], GW_NS_DECIMALS);
    }
}

static void put_thresholds(struct buf *out, const struct ten_activity *sum,
                           const struct ten_threshold_counts *counts)
{
    char labels[LABEL_BYTES];
    struct gw_metric m = gw_metric_begin(out, "bigtent_quota_threshold_events_total", GW_COUNTER,
                                         "Tenants that reached a part of a quota, or fell below.");
    for (size_t i = 0; i < TEN_USED_COUNT * TEN_THRESHOLDS; i++) {
        size_t what = i / TEN_THRESHOLDS, n = i % TEN_THRESHOLDS;
        const char *field = ten_threshold_field((enum ten_used)what);
        (void)snprintf(labels, sizeof labels, "field=\"%s\",percent=\"%u\",direction=\"up\"", field,
                       ten_threshold_percent(n));
        gw_metric_put(&m, labels, counts->reached[what][n]);
        (void)snprintf(labels, sizeof labels, "field=\"%s\",percent=\"%u\",direction=\"down\"",
                       field, ten_threshold_percent(n));
        gw_metric_put(&m, labels, counts->left[what][n]);
    }
    m = gw_metric_begin(out, "bigtent_tenants_at_quota_threshold", GW_GAUGE,
                        "Tenants that have used this part of a quota, or more.");
    for (size_t i = 0; i < TEN_USED_COUNT * TEN_THRESHOLDS; i++) {
        size_t what = i / TEN_THRESHOLDS, n = i % TEN_THRESHOLDS;
        (void)snprintf(labels, sizeof labels, "field=\"%s\",percent=\"%u\"",
                       ten_threshold_field((enum ten_used)what), ten_threshold_percent(n));
        gw_metric_put(&m, labels, sum->at_threshold[what][n]);
    }
}

static enum err count_job(void *ctx, const struct ten_job *job)
{
    ((uint64_t *)ctx)[job->state]++;
    return ERR_OK;
}

/* Counts jobs by state. A tenant that is being offboarded has one job that is not done: without
 * such a tenant the disk is not read. False: the jobs cannot be read. */
static bool count_jobs(struct ten_registry *registry, const struct ten_activity *sum,
                       uint64_t counts[TEN_JOB_CANCELLED + 1])
{
    if (sum->states[TEN_DELETE_REQUESTED] + sum->states[TEN_PURGING] + sum->states[TEN_PURGED] +
            sum->states[TEN_EXPIRED] ==
        0)
        return true;
    return ten_job_list(registry, SLICE_EMPTY, JOBS_COUNTED_MAX, count_job, counts, NULL) == ERR_OK;
}

/* Writes the jobs; no samples if they cannot be read: all other metrics show that a storage engine
 * failed. */
static void put_jobs(struct buf *out, struct ten_registry *registry, const struct ten_activity *sum)
{
    uint64_t counts[TEN_JOB_CANCELLED + 1] = {0};
    if (!count_jobs(registry, sum, counts))
        return;
    struct gw_metric m = gw_metric_begin(out, "bigtent_jobs", GW_GAUGE,
                                         "Offboarding jobs, by state; of the newest 1000.");
    for (enum ten_job_state s = TEN_JOB_RUNNING; s <= TEN_JOB_WAITING; s++) {
        char labels[LABEL_BYTES];
        (void)snprintf(labels, sizeof labels, "state=\"%s\"", ten_job_state_name(s));
        gw_metric_put(&m, labels, counts[s]);
    }
}

static void put_purges(struct buf *out, struct ten_registry *registry,
                       const struct ten_activity *sum)
{
    struct ten_job_progress p;
    int64_t age_us = sum->purging_since_us == 0 ? 0 : base_wall_us() - sum->purging_since_us;
    ten_purges_get(registry, &p);
    gw_metric_one(out, "bigtent_purges_running", GW_GAUGE,
                  "Purges whose step is under way; more than one share a search of the files.",
                  p.together);
    gw_metric_one(out, "bigtent_purges_waiting", GW_GAUGE, "Purges that wait for those under way.",
                  p.waiting);
    struct gw_metric m =
        gw_metric_begin(out, "bigtent_purge_oldest_seconds", GW_GAUGE,
                        "Age of the oldest purge that is not done, since it became due, also "
                        "before a restart; 0: there is none.");
    gw_metric_put_fraction(&m, "", age_us > 0 ? (uint64_t)age_us : 0, US_DECIMALS);
    m = gw_metric_begin(out, "bigtent_purge_amount", GW_GAUGE,
                        "What the step under way counts; all 0: not known.");
    bool is_bytes = p.unit == STO_PROGRESS_BYTES;
    bool is_keys = p.unit == STO_PROGRESS_KEYS;
    gw_metric_put(&m, "unit=\"bytes\",part=\"done\"", is_bytes ? p.done : 0);
    gw_metric_put(&m, "unit=\"bytes\",part=\"all\"", is_bytes ? p.all : 0);
    gw_metric_put(&m, "unit=\"keys\",part=\"done\"", is_keys ? p.done : 0);
    gw_metric_one(out, "bigtent_purge_seconds_left", GW_GAUGE,
                  "Of what the step under way counts, at the speed so far; 0 also when not known.",
                  p.has_estimate ? p.seconds_left : 0);
}

static void put_sweeps(struct buf *out, const struct ten_registry *registry)
{
    struct ten_sweep_stats s = ten_sweep_stats_of(registry);
    gw_metric_one(out, "bigtent_swept_keys_total", GW_COUNTER,
                  "Stored keys that were looked at for garbage by the tables' rules.", s.keys);
    gw_metric_one(out, "bigtent_swept_bytes_total", GW_COUNTER,
                  "Bytes of usage that were garbage by the tables' rules, and were removed.",
                  s.bytes);
    gw_metric_one(out, "bigtent_uncollected_bytes", GW_GAUGE,
                  "Bytes of usage that are garbage by the tables' rules and were not removed yet, "
                  "an estimate of the last round over all tables.",
                  s.uncollected_bytes);
}

/* --- by name -----------------------------------------------------------------------------------
 */

/* Writes samples of one tenant. labels: the tenant's own; others may be appended. */
typedef void put_tenant(const struct gw_metric *m, const char *labels, const struct shown *t);

static void put_operations(const struct gw_metric *m, const char *labels, const struct shown *t)
{
    static const struct {
        enum ten_metered what;
        const char *kind;
    } KINDS[] = {{TEN_METER_READ_OPS, "read"},
                 {TEN_METER_WRITE_OPS, "write"},
                 {TEN_METER_OTHER_OPS, "other"}};
    for (size_t i = 0; i < sizeof KINDS / sizeof KINDS[0]; i++) {
        char text[LABEL_BYTES];
        (void)snprintf(text, sizeof text, "%s,kind=\"%s\"", labels, KINDS[i].kind);
        gw_metric_put(m, text, t->metered.each[KINDS[i].what]);
    }
}

static void put_failures(const struct gw_metric *m, const char *labels, const struct shown *t)
{
    char text[LABEL_BYTES];
    (void)snprintf(text, sizeof text, "%s,blame=\"server\"", labels);
    gw_metric_put(m, text, t->metered.each[TEN_METER_ERRORS]);
    (void)snprintf(text, sizeof text, "%s,blame=\"caller\"", labels);
    gw_metric_put(m, text, t->metered.each[TEN_METER_REFUSALS]);
}

static void put_throttled(const struct gw_metric *m, const char *labels, const struct shown *t)
{
    for (enum ten_policy p = 0; p < TEN_POLICY_COUNT; p++) {
        char text[LABEL_BYTES];
        (void)snprintf(text, sizeof text, "%s,policy=\"%s\"", labels, ten_policy_name(p));
        if (t->metered.throttled[p] > 0)
            gw_metric_put(m, text, t->metered.throttled[p]);
    }
}

static void put_throttled_time(const struct gw_metric *m, const char *labels, const struct shown *t)
{
    for (enum ten_policy p = 0; p < TEN_POLICY_COUNT; p++) {
        char text[LABEL_BYTES];
        (void)snprintf(text, sizeof text, "%s,policy=\"%s\"", labels, ten_policy_name(p));
        if (t->metered.throttled[p] > 0)
            gw_metric_put_fraction(m, text, t->metered.throttled_ns[p], GW_NS_DECIMALS);
    }
}

static void put_took(const struct gw_metric *m, const char *labels, const struct shown *t)
{
    uint64_t count = 0;
    for (size_t i = 0; i < TEN_METER_LATENCIES; i++)
        count += t->metered.latency[i];
    gw_metric_put_summary(m, labels, count, t->metered.each[TEN_METER_LATENCY_NS]);
}

static void put_under_way(const struct gw_metric *m, const char *labels, const struct shown *t)
{
    gw_metric_put(m, labels, atomic_load_explicit(&t->tenant->under_way, memory_order_relaxed));
}

static void put_bytes(const struct gw_metric *m, const char *labels, const struct shown *t)
{
    gw_metric_put(m, labels, t->usage.bytes);
}

static void put_rows(const struct gw_metric *m, const char *labels, const struct shown *t)
{
    gw_metric_put(m, labels, t->usage.rows);
}

static void put_changes(const struct gw_metric *m, const char *labels, const struct shown *t)
{
    gw_metric_put(m, labels, sto_account_change_bytes(&t->tenant->account));
}

static void put_schemas(const struct gw_metric *m, const char *labels, const struct shown *t)
{
    gw_metric_put(m, labels, atomic_load_explicit(&t->tenant->schema_bytes, memory_order_relaxed));
}

/* Writes the limit; no limit: no sample. */
static void put_bytes_max(const struct gw_metric *m, const char *labels, const struct shown *t)
{
    if (t->quota.stored_bytes != UINT64_MAX)
        gw_metric_put(m, labels, t->quota.stored_bytes);
}

static void put_rows_max(const struct gw_metric *m, const char *labels, const struct shown *t)
{
    if (t->quota.rows != UINT64_MAX)
        gw_metric_put(m, labels, t->quota.rows);
}

static void put_changes_max(const struct gw_metric *m, const char *labels, const struct shown *t)
{
    if (t->quota.change_bytes != UINT64_MAX)
        gw_metric_put(m, labels, t->quota.change_bytes);
}

static void put_schemas_max(const struct gw_metric *m, const char *labels, const struct shown *t)
{
    gw_metric_put(m, labels, t->quota.schema_bytes);
}

#define METERED(name, what)                                                                        \
    static void name(const struct gw_metric *m, const char *labels, const struct shown *t)         \
    {                                                                                              \
        gw_metric_put(m, labels, t->metered.each[what]);                                           \
    }
METERED(put_bytes_in, TEN_METER_BYTES_IN)
METERED(put_bytes_out, TEN_METER_BYTES_OUT)
METERED(put_rows_read, TEN_METER_READ_ROWS)
METERED(put_bytes_read, TEN_METER_READ_BYTES)
METERED(put_bytes_written, TEN_METER_WRITE_BYTES)

static const struct {
    const char *name;
    enum gw_metric_type type;
    const char *help;
    put_tenant *put;
} BY_NAME[] = {
    {"bigtent_tenant_operations_total", GW_COUNTER,
     "Requests that read, rows written, and requests about tables.", put_operations},
    {"bigtent_tenant_errors_total", GW_COUNTER,
     "Requests, and rows of bulk writes, that failed, by who is to blame.", put_failures},
    {"bigtent_tenant_throttled_total", GW_COUNTER, "As bigtent_throttled_total, of a tenant.",
     put_throttled},
    {"bigtent_tenant_throttled_seconds_total", GW_COUNTER,
     "As bigtent_throttled_seconds_total, of a tenant.", put_throttled_time},
    {"bigtent_tenant_request_duration_seconds", GW_SUMMARY,
     "Requests about rows, from the head to the last byte.", put_took},
    {"bigtent_tenant_requests_under_way", GW_GAUGE, "Requests under way.", put_under_way},
    {"bigtent_tenant_request_bytes_total", GW_COUNTER, "Bytes of request bodies.", put_bytes_in},
    {"bigtent_tenant_response_bytes_total", GW_COUNTER, "Bytes of response bodies.", put_bytes_out},
    {"bigtent_tenant_read_rows_total", GW_COUNTER, "Rows visited by reads.", put_rows_read},
    {"bigtent_tenant_read_bytes_total", GW_COUNTER, "Bytes of cells visited by reads.",
     put_bytes_read},
    {"bigtent_tenant_written_bytes_total", GW_COUNTER,
     "Bytes of keys and values sent to be stored.", put_bytes_written},
    {"bigtent_tenant_stored_bytes", GW_GAUGE, "Bytes stored.", put_bytes},
    {"bigtent_tenant_stored_rows", GW_GAUGE, "Rows stored.", put_rows},
    {"bigtent_tenant_quota_bytes", GW_GAUGE, "Bytes that may be stored; no sample: no limit.",
     put_bytes_max},
    {"bigtent_tenant_quota_rows", GW_GAUGE, "Rows that may be stored; no sample: no limit.",
     put_rows_max},
    {"bigtent_tenant_change_bytes", GW_GAUGE, "Bytes of stored changes, of change streams.",
     put_changes},
    {"bigtent_tenant_quota_change_bytes", GW_GAUGE,
     "Bytes of changes that may be stored; no sample: no limit.", put_changes_max},
    {"bigtent_tenant_schema_bytes", GW_GAUGE, "Bytes of memory of schemas and authorized views.",
     put_schemas},
    {"bigtent_tenant_quota_schema_bytes", GW_GAUGE,
     "Bytes of memory that schemas and authorized views may take.", put_schemas_max},
};

static void put_by_name(struct buf *out, const struct shown *all, size_t count)
{
    for (size_t i = 0; i < sizeof BY_NAME / sizeof BY_NAME[0]; i++) {
        struct gw_metric m =
            gw_metric_begin(out, BY_NAME[i].name, BY_NAME[i].type, BY_NAME[i].help);
        for (size_t t = 0; t < count; t++) {
            char labels[LABEL_BYTES];
            (void)snprintf(labels, sizeof labels, "tenant=\"%s\"", all[t].tenant->id);
            BY_NAME[i].put(&m, labels, &all[t]);
        }
    }
}

static void look_at(struct shown *t, const struct ten_tenant *tenant)
{
    t->tenant = tenant;
    ten_meter_read(tenant, &t->metered);
    t->usage = sto_counters_read(&tenant->account.total);
    ten_tenant_quota(tenant, &t->quota);
}

static void put_schema_memory(struct buf *out, const struct base_memory *memory)
{
    gw_metric_one(out, "bigtent_schema_memory_bytes", GW_GAUGE,
                  "What tenants' schemas and authorized views take beyond 64 KiB of each.",
                  atomic_load_explicit(&memory->used, memory_order_relaxed));
    gw_metric_one(out, "bigtent_schema_memory_limit_bytes", GW_GAUGE,
                  "What they may take (--request-mb).", memory->limit);
    gw_metric_one(out, "bigtent_schema_memory_refused_total", GW_COUNTER,
                  "Times that a change of a schema or view was refused more of it.",
                  atomic_load_explicit(&memory->refused, memory_order_relaxed));
}

void gw_metrics_tenants(struct buf *out, struct ten_registry *registry)
{
    struct ten_activity sum;
    struct ten_active *active = base_new_array(LIM_METRICS_TENANTS, sizeof active[0]);
    size_t count =
        ten_activity_look(registry, base_monotonic_ns(), active, LIM_METRICS_TENANTS, &sum);
    put_states(out, &sum);
    put_throttling(out, &sum);
    put_thresholds(out, &sum, ten_threshold_counts(registry));
    put_schema_memory(out, ten_registry_schema_memory(registry));
    gw_metric_one(out, "bigtent_tenants_seen", GW_GAUGE, "Tenants that did something lately.",
                  sum.active);
    gw_metric_one(out, "bigtent_tenants_left_out", GW_GAUGE,
                  "Of those, how many are not shown by name.", sum.active - count);
    struct shown *all = base_new_array(LIM_METRICS_TENANTS, sizeof all[0]);
    for (size_t i = 0; i < count; i++)
        look_at(&all[i], active[i].tenant);
    put_by_name(out, all, count);
    base_free(all);
    base_free(active);
    put_purges(out, registry, &sum);
    put_sweeps(out, registry);
    put_jobs(out, registry, &sum);
}
