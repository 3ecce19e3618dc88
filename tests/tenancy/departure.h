/*
 * tests/tenancy/departure.h - an offboarded tenant, and a neighbour with almost the same name.
 *
 * Does:     fill both with the same tables and rows; check that one is erased and the other
 *           complete.
 * Owns:     the fixture of the test that includes it.
 * May use:  base/, storage/, tenancy/, tests/tenancy/tent_rows.h, libcheck.
 * Knows no: HTTP.
 * Threads:  the test's main thread.
 * Blocks:   yes.
 * Fails by: ck_abort_msg.
 * Limits:   none.
 * Promises: 1. All values of the offboarded tenant contain CANARY; no others do.
 */
#ifndef TESTS_TENANCY_DEPARTURE_H
#define TESTS_TENANCY_DEPARTURE_H

#include "tests/tenancy/tent_rows.h"

#define ROWS_EACH 200
#define CANARY    "canary-6f1d2b-of-altostrat"

static struct tent tent;

static inline void setup(void)
{
    tent_make(&tent);
    tent_open(&tent);
}

static inline void teardown(void)
{
    tent_close(&tent);
    tent_remove(&tent);
}

/* --- two tenants with the same tables and rows --------------------------------------------------
 */

/* Enables a change stream. Both tables store values in rows; one also in its change stream. */
static inline void stream_on(struct ten_tenant *t, const char *table)
{
    struct sto_family_spec f = {.name = SLICE_LIT("f")};
    struct ten_table_wanted wanted = {.families = &f,
                                      .family_count = 1,
                                      .has_change_retention = true,
                                      .change_retention_s = LIM_CHANGES_KEPT_MIN_S};
    ck_assert_int_eq(tent_put_table(&tent, t, table, &wanted), ERR_OK);
}

static inline void fill(const char *id, const char *value)
{
    struct ten_tenant *t = tent_create(&tent, id);
    tent_table(&tent, t, "devices");
    stream_on(t, "devices");
    tent_table(&tent, t, "alarms");
    for (int i = 0; i < ROWS_EACH; i++) {
        char row[32];
        (void)snprintf(row, sizeof row, "row%03d", i);
        tent_write(&tent, t, i % 4 == 0 ? "alarms" : "devices", row, value);
    }
}

static inline void fill_both(void)
{
    fill("altostrat", CANARY);
    fill("altostrat2", "neighbour");
}

static inline void check_neighbour(void)
{
    struct ten_tenant *t = tent_find(&tent, "altostrat2");
    struct tent_sink sink;
    ck_assert_int_eq(atomic_load(&t->state), TEN_ACTIVE);
    ck_assert_uint_eq(ten_tenant_tables(t)->count, 2);
    tent_sink_init(&sink);
    ck_assert_int_eq(tent_scan(&tent, t, "devices", &sink), ERR_OK);
    ck_assert_uint_eq(sink.rows, ROWS_EACH * 3 / 4);
    ck_assert_int_eq(tent_scan(&tent, t, "alarms", &sink), ERR_OK);
    ck_assert_uint_eq(sink.rows, ROWS_EACH);
    tent_sink_fini(&sink);
    ck_assert_uint_eq(tent_recount(&tent, t).rows, ROWS_EACH);
}

static inline enum err count_doc(void *ctx, struct slice key, uint64_t version, struct slice body)
{
    (void)key;
    (void)version;
    (void)body;
    ++*(size_t *)ctx;
    return ERR_OK;
}

static inline size_t docs_under(const char *prefix)
{
    size_t count = 0;
    ck_assert_int_eq(
        sto_docs_scan(tent.engine, base_slice_text(prefix), count_doc, &count, &tent.eb), ERR_OK);
    return count;
}

struct certificates_seen {
    const char *tenant;
    int count;
};

static inline enum err see_certificate(void *ctx, const struct ten_erasure *erasure,
                                       struct slice line)
{
    struct certificates_seen *seen = ctx;
    (void)line;
    seen->count += strcmp(erasure->tenant, seen->tenant) == 0;
    return ERR_OK;
}

static inline int certificates_of(const char *tenant)
{
    char path[300];
    struct certificates_seen seen = {.tenant = tenant};
    (void)snprintf(path, sizeof path, "%s/%s", tent.dir, TEN_LEDGER_FILE);
    enum err rc = ten_erasure_ledger_read(path, see_certificate, &seen, &tent.eb);
    ck_assert_msg(rc == ERR_OK, "%s", tent.eb.text);
    return seen.count;
}

/* Checks that the job is done and that no data of altostrat exists. */
static inline void check_purged(const struct ten_job *job)
{
    ck_assert_msg(job->state == TEN_JOB_DONE, "%s: %s", ten_job_state_name(job->state), job->error);
    ck_assert_str_eq(job->tenant, "altostrat");
    ck_assert_str_eq(job->error, "");
    ck_assert_uint_eq(job->steps_done, TEN_JOB_STEPS);
    for (int i = 0; i < TEN_JOB_STEPS; i++)
        ck_assert_int_ge(job->step_done_us[i],
                         i == 0 ? job->requested_us : job->step_done_us[i - 1]);
    ck_assert_int_ge(job->finished_us, job->step_done_us[TEN_JOB_STEPS - 1]);
    ck_assert_uint_eq(job->audit_after.physical_keys, 0);
    ck_assert_uint_eq(job->audit_after.live_files_inside, 0);
    ck_assert_uint_eq(job->audit_after.counters, 0);
    ck_assert_uint_gt(job->audit_after.sequence, job->audit_before.sequence);

    ck_assert_uint_gt(job->search_before.keys, 0);
    ck_assert_uint_eq(job->search_after.keys, 0);
    ck_assert_uint_eq(job->search_after.notes, 0);
    ck_assert_uint_eq(job->search_after.obsolete, 0);
    ck_assert_uint_gt(job->search_after.files, job->search_before.files / 2);
    ck_assert_str_ne(job->search_after.engine, "");
    ck_assert_int_eq(certificates_of("altostrat"), 1);
    ck_assert_int_eq(certificates_of("altostrat2"), 0);

    struct ten_tenant *t = tent_find(&tent, "altostrat");
    struct sto_tenant_scope scope = ten_scope_tenant(t);
    struct sto_audit audit;
    ck_assert_int_eq(sto_audit_range(tent.engine, &scope, &audit, &tent.eb), ERR_OK);
    ck_assert_uint_eq(audit.physical_keys, 0);
    ck_assert_uint_eq(audit.live_files_inside, 0);
    ck_assert_uint_eq(audit.counters, 0);
    ck_assert_int_eq(atomic_load(&t->state), TEN_PURGED);
    ck_assert_uint_eq(atomic_load(&t->account.gate), STO_GATE_GONE);
    ck_assert_uint_eq(sto_counters_read(&t->account.total).bytes, 0);
    ck_assert_uint_eq(ten_tenant_tables(t)->count, 0);
    ck_assert_str_eq(ten_tenant_details(t)->display_name, "");
    ck_assert_str_eq(ten_tenant_details(t)->reason, "");
    ck_assert_str_eq(ten_tenant_details(t)->job, job->id);
    ck_assert_int_eq(ten_tenant_details(t)->state_since_us, job->finished_us);
    ck_assert_uint_eq(docs_under("s/altostrat/"), 0);
    ck_assert_uint_eq(docs_under("s/altostrat2/"), 2);
}

static inline void check_before(const struct ten_job *job)
{
    /* "row000", "f", "q", the value, 8 */
    ck_assert_uint_eq(job->usage_before.rows, ROWS_EACH);
    ck_assert_uint_eq(job->usage_before.cells, ROWS_EACH);
    ck_assert_uint_eq(job->usage_before.bytes, ROWS_EACH * (6 + 1 + 1 + strlen(CANARY) + 8));
    /* a header and a cell each, a change of those in "devices", and the canaries */
    ck_assert_uint_eq(job->audit_before.physical_keys,
                      2 * ROWS_EACH + ROWS_EACH * 3 / 4 + STO_CANARIES);
    ck_assert_uint_eq(job->canaries, STO_CANARIES);
    ck_assert_uint_ge(job->search_before.canaries, STO_CANARIES);
    ck_assert_uint_eq(job->search_after.canaries, 0);
    ck_assert_uint_ge(job->audit_before.counters, 2);
}

#endif
