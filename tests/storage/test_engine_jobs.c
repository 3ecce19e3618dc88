/*
 * tests/storage/test_engine_jobs.c - drops, recounts, documents, counters.
 */
#include "fixture.h"

#include "storage/rocksdb/docs.h"

#include "hold.h"
#include "storage/rocksdb/rdb.h"

#include "base/banned.h"

Suite *suite_storage_engine_jobs(void);

#define T &fix.tables[0][0]

static void put_many(const struct sto_table_scope *scope, const char *row, size_t columns)
{
    struct sto_mutation *m = base_new_array(columns, sizeof(*m));
    char(*names)[24] = base_new_array(columns, sizeof(*names));
    for (size_t i = 0; i < columns; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "c%06zu", i);
        m[i] = fix_set((uint16_t)(1 + i % 2), names[i], 1000, SLICE_LIT("value"));
    }
    ck_assert_int_eq(fix_mutate(scope, row, m, columns), ERR_OK);
    base_free(m);
    base_free(names);
}

/* Store something into the cells behind the engine's back. */
static void damage(const char *key, size_t key_len, const char *value, size_t value_len)
{
    struct rdb_db *db = &sto_rdb_engine(fix.engine)->db;
    char *error = NULL;
    rocksdb_put_cf(db->handle, db->synced, db->cells, key, key_len, value, value_len, &error);
    ck_assert_ptr_null(error);
}

START_TEST(a_dropped_range_is_gone_and_counted)
{
    static const char *const rows[] = {"a", "b", "ba", "bb", "c"};
    for (size_t i = 0; i < 5; i++)
        put_many(T, rows[i], 3);
    ck_assert_int_eq(fix_put(&fix.tables[0][1], "b", "other table"), ERR_OK);
    ck_assert_int_eq(fix_put(&fix.tables[1][0], "b", "other tenant"), ERR_OK);
    struct sto_usage before = sto_counters_read(&fix.accounts[0].total), removed;
    uint8_t end[LIM_ROW_KEY];
    ck_assert_int_eq(fix_drop(T, sto_range_of_prefix(SLICE_LIT("b"), end), 0, &removed), ERR_OK);
    ck_assert_uint_eq(removed.rows, 3);
    ck_assert_uint_eq(removed.cells, 9);
    struct sto_usage after = sto_counters_read(&fix.accounts[0].total);
    ck_assert_uint_eq(before.bytes - after.bytes, removed.bytes);
    fix_assert_rows(
        T, &(struct sto_read_spec){.versions = 1, .narrowed = true, .projection = fix_family(2)},
        "a{gg:c000001@1000=value,}c{gg:c000001@1000=value,}");
    fix_assert_rows(&fix.tables[0][1], &(struct sto_read_spec){0}, "b{f:q@1000=other table,}");
    fix_assert_rows(&fix.tables[1][0], &(struct sto_read_spec){0}, "b{f:q@1000=other tenant,}");
    ck_assert_int_eq(fix_drop(T, (struct sto_row_range){0}, 0, &removed), ERR_OK);
    ck_assert_uint_eq(removed.rows, 2);
    ck_assert_int_eq(fix_drop(T, (struct sto_row_range){0}, 0, &removed), ERR_OK);
    ck_assert_uint_eq(removed.rows + removed.cells + removed.bytes, 0);
    fix_assert_no_drift(0);
    fix_assert_no_drift(1);
}
END_TEST

START_TEST(a_row_larger_than_a_slice_is_dropped_exactly)
{
    size_t columns = 2 * LIM_DROP_SLICE_CELLS + 77;
    put_many(T, "huge", columns);
    put_many(T, "next", 2);
    /* While it is dropped others write to it: in front of the position and behind it. */
    struct sto_drop_op drop = {.scope = *T, .reply_to = &fix.mailbox, .done = fix_drop_done};
    drop.range = (struct sto_row_range){.start = SLICE_LIT("huge"), .end = SLICE_LIT("hugf")};
    fix.outstanding++;
    sto_drop_rows(fix.engine, &drop);
    struct sto_mutation m[2] = {fix_set(1, "c000000x", 1000, SLICE_LIT("early")),
                                fix_set(2, "z", 1000, SLICE_LIT("late"))};
    struct sto_mutate_op op = {
        .scope = *T, .row_key = SLICE_LIT("huge"), .mutations = m, .mutation_count = 2};
    fix_submit(&op);
    fix_wait();
    ck_assert_int_eq(drop.result, ERR_OK);
    ck_assert_uint_ge(drop.removed.cells, columns);
    ck_assert_int_eq(op.result, ERR_OK);
    fix_assert_no_drift(0);
    struct sto_usage removed;
    ck_assert_int_eq(fix_drop(T, drop.range, 0, &removed), ERR_OK);
    fix_assert_rows(T, &(struct sto_read_spec){0},
                    "next{f:c000000@1000=value,gg:c000001@1000=value,}");
    fix_assert_no_drift(0);
}
END_TEST

START_TEST(many_rows_are_dropped_over_slices)
{
    for (int i = 0; i < 60; i++) {
        char row[24];
        (void)snprintf(row, sizeof(row), "row%03d", i);
        put_many(T, row, 300);
    }
    struct sto_usage removed;
    ck_assert_int_eq(fix_drop(T, (struct sto_row_range){.start = SLICE_LIT("row001")}, 0, &removed),
                     ERR_OK);
    ck_assert_uint_eq(removed.rows, 59);
    ck_assert_uint_eq(removed.cells, 59 * 300);
    fix_assert_no_drift(0);
    ck_assert_uint_eq(sto_counters_read(&fix.accounts[0].total).rows, 1);
}
END_TEST

START_TEST(one_family_can_be_dropped)
{
    put_many(T, "a", 5000);
    put_many(T, "b", 4);
    struct sto_mutation only = fix_set(2, "q", 1000, SLICE_LIT("v"));
    ck_assert_int_eq(fix_mutate(T, "c", &only, 1), ERR_OK);
    struct sto_usage removed;
    ck_assert_int_eq(fix_drop(T, (struct sto_row_range){0}, 2, &removed), ERR_OK);
    ck_assert_uint_eq(removed.cells, 2500 + 2 + 1);
    ck_assert_uint_eq(removed.rows, 1);
    fix_assert_rows(T, &(struct sto_read_spec){.rows = FIX_RANGE(.start = SLICE_LIT("b"))},
                    "b{f:c000000@1000=value,f:c000002@1000=value,}");
    fix_assert_no_drift(0);
}
END_TEST

START_TEST(a_drop_passes_a_full_quota_and_a_full_disk_but_not_the_gate)
{
    put_many(T, "a", 3);
    atomic_store(&fix.accounts[0].bytes_max, 1);
    sto_rocksdb_test_disk_free(fix.engine, 0);
    atomic_store(&fix.accounts[0].gate, STO_GATE_NO_WRITES);
    ck_assert_int_eq(fix_drop(T, (struct sto_row_range){0}, 0, NULL), ERR_SUSPENDED);
    atomic_store(&fix.accounts[0].gate, 0);
    ck_assert_int_eq(fix_drop(T, (struct sto_row_range){0}, 0, NULL), ERR_OK);
    fix_assert_usage(0, 0, 0, 0);
    static uint8_t bytes[LIM_ROW_KEY + 1];
    struct sto_row_range bad = {.start = {bytes, sizeof(bytes)}};
    ck_assert_int_eq(fix_drop(T, bad, 0, NULL), ERR_INVALID);
}
END_TEST

START_TEST(a_drop_that_may_ignores_the_gate)
{
    put_many(T, "a", 3);
    atomic_store(&fix.accounts[0].gate, STO_GATE_NO_WRITES);
    struct sto_drop_op op = {
        .scope = *T, .ignore_gate = true, .reply_to = &fix.mailbox, .done = fix_drop_done};
    fix.outstanding++;
    sto_drop_rows(fix.engine, &op);
    fix_wait();
    ck_assert_int_eq(op.result, ERR_OK);
    ck_assert_uint_eq(op.removed.cells, 3);
}
END_TEST

START_TEST(a_recount_notices_what_was_changed_behind_its_back)
{
    ck_assert_int_eq(fix_put(T, "a", "v"), ERR_OK);
    ck_assert_int_eq(fix_put(T, "b", "v"), ERR_OK);
    fix_assert_no_drift(0);
    damage("ab#t#a\0\1\0\0", 10, "\1\2\14", 3); /* a header that says two cells */
    struct sto_recount_op op = fix_recount(0);
    ck_assert_int_eq(op.result, ERR_CORRUPT);
    ck_assert_ptr_nonnull(strstr(op.detail.text, "header"));
    damage("ab#t#a\0\1\0\0", 10, "\1\1\15", 3); /* one cell, but a byte too many */
    ck_assert_int_eq(fix_recount(0).result, ERR_CORRUPT);
    damage("ab#t#a\0\1\0\0", 10, "\1\1\14", 3);
    fix_assert_no_drift(0);
    damage("ab#t#c\0\1\0\0", 10, "\1\1\14", 3);
    damage("ab#t#c\0\1\0\1q\0\1\377\377\377\377\377\377\374\27", 21, "\1\1v", 3);
    op = fix_recount(0);
    ck_assert_int_eq(op.result, ERR_OK); /* whole, but never counted: that is drift */
    ck_assert_uint_eq(op.counted.rows, op.recorded.rows + 1);
    damage("ab#t#d\0\1\0\1q\0\1\377\377\377\377\377\377\374\27", 21, "\1\1v", 3);
    ck_assert_int_eq(fix_recount(0).result, ERR_CORRUPT); /* a cell without its row */
}
END_TEST

START_TEST(a_recount_goes_on_over_slices)
{
    for (int r = 0; r < 6; r++) {
        char row[24];
        (void)snprintf(row, sizeof(row), "row%d", r);
        put_many(T, row, LIM_SLICE_STEPS / 5);
    }
    fix_assert_no_drift(0);
    struct sto_recount_op op = fix_recount(0);
    ck_assert_uint_eq(op.counted.cells, 6 * (LIM_SLICE_STEPS / 5));
    ck_assert_uint_eq(atomic_load(&fix.accounts[0].reads_open), 0);
}
END_TEST

START_TEST(a_recount_stops_when_the_tenant_goes)
{
    ck_assert_int_eq(fix_put(T, "a", "v"), ERR_OK);
    atomic_store(&fix.accounts[0].gate, STO_GATE_GONE);
    ck_assert_int_eq(fix_recount(0).result, ERR_GONE);
    ck_assert_uint_eq(atomic_load(&fix.accounts[0].reads_open), 0);
}
END_TEST

START_TEST(damaged_rows_are_errors_not_answers)
{
    ck_assert_int_eq(fix_put(T, "a", "v"), ERR_OK);
    damage("ab#t#a\0\1\0\0", 10, "\2\1\14", 3);
    fix_reopen(); /* a row that the committer remembers would not be looked at */
    struct fix_sink s;
    fix_sink_init(&s);
    ck_assert_int_eq(fix_read(T, &(struct sto_read_spec){0}, &s, true), ERR_CORRUPT);
    base_buf_fini(&s.text);
    ck_assert_int_eq(fix_put(T, "a", "w"), ERR_CORRUPT);
    ck_assert_int_eq(fix_drop(T, (struct sto_row_range){0}, 0, NULL), ERR_CORRUPT);
    ck_assert_int_eq(fix_put(T, "b", "others go on"), ERR_OK);
    damage("ab#t#e\0\1\0\0", 10, "\1\1\14", 3);
    damage("ab#t#e\0\1\0\1q\0\1\377\377\377\377\377\377\374\27", 21, "\3\1v", 3);
    fix_sink_init(&s);
    struct sto_read_spec spec = {.row_key = SLICE_LIT("e")};
    ck_assert_int_eq(fix_read(T, &spec, &s, true), ERR_CORRUPT);
    base_buf_fini(&s.text);
    ck_assert_int_eq(fix_delete_row(T, "e"), ERR_CORRUPT);
}
END_TEST

/* --- documents ------------------------------------------------------------------------------- */

static enum err commit_doc(const char *key, const char *body, uint64_t expect)
{
    struct sto_doc_change change = {.key = base_slice_text(key), .expect = expect};
    if (body != NULL)
        change.body = base_slice_text(body);
    return sto_docs_commit(fix.engine, &change, 1, NULL);
}

static void assert_doc(const char *key, const char *body, uint64_t version)
{
    struct buf b;
    base_buf_init(&b, 1024);
    uint64_t got = 0;
    enum err rc = sto_doc_get(fix.engine, base_slice_text(key), &got, &b, NULL);
    ck_assert_int_eq(rc, body == NULL ? ERR_NOT_FOUND : ERR_OK);
    if (body != NULL) {
        ck_assert(base_slice_is(base_buf_slice(&b), body));
        ck_assert_uint_eq(got, version);
    }
    base_buf_fini(&b);
}

START_TEST(documents_are_compared_and_set)
{
    assert_doc("t/a", NULL, 0);
    ck_assert_int_eq(commit_doc("t/a", "one", 1), ERR_CONFLICT);
    ck_assert_int_eq(commit_doc("t/a", "one", STO_DOC_ABSENT), ERR_OK);
    assert_doc("t/a", "one", 1);
    ck_assert_int_eq(commit_doc("t/a", "two", STO_DOC_ABSENT), ERR_CONFLICT);
    ck_assert_int_eq(commit_doc("t/a", "two", 1), ERR_OK);
    ck_assert_int_eq(commit_doc("t/a", "three", STO_DOC_ANY), ERR_OK);
    fix_reopen();
    assert_doc("t/a", "three", 3);
    ck_assert_int_eq(commit_doc("t/a", NULL, 2), ERR_CONFLICT);
    ck_assert_int_eq(commit_doc("t/a", NULL, 3), ERR_OK);
    ck_assert_int_eq(commit_doc("t/a", NULL, STO_DOC_ABSENT), ERR_OK);
    assert_doc("t/a", NULL, 0);
    ck_assert_int_eq(commit_doc("t/a", "", STO_DOC_ABSENT), ERR_OK);
    assert_doc("t/a", "", 1);
}
END_TEST

START_TEST(documents_change_together_or_not_at_all)
{
    struct sto_doc_change changes[3] = {
        {.key = SLICE_LIT("t/a"), .body = SLICE_LIT("A"), .expect = STO_DOC_ABSENT},
        {.key = SLICE_LIT("k/b"), .body = SLICE_LIT("B"), .expect = 7},
        {.key = SLICE_LIT("s/c"), .body = SLICE_LIT("C"), .expect = STO_DOC_ANY}};
    struct errbuf eb = {{0}};
    ck_assert_int_eq(sto_docs_commit(fix.engine, changes, 3, &eb), ERR_CONFLICT);
    ck_assert_ptr_nonnull(strstr(eb.text, "k/b"));
    assert_doc("t/a", NULL, 0);
    changes[1].expect = STO_DOC_ABSENT;
    ck_assert_int_eq(sto_docs_commit(fix.engine, changes, 3, &eb), ERR_OK);
    assert_doc("s/c", "C", 1);
    changes[1].key = SLICE_LIT("t/a");
    ck_assert_int_eq(sto_docs_commit(fix.engine, changes, 3, &eb), ERR_INVALID);
}
END_TEST

START_TEST(documents_have_limits)
{
    static uint8_t body[STO_DOC_BODY_MAX + 1];
    char key[STO_DOC_KEY_MAX + 1];
    memset(key, STO_DOC_PLAN, sizeof(key));
    key[1] = '/';
    struct sto_doc_change c = {.key = base_slice(key, STO_DOC_KEY_MAX),
                               .body = base_slice(body, STO_DOC_BODY_MAX),
                               .expect = STO_DOC_ANY};
    ck_assert_int_eq(sto_docs_commit(fix.engine, &c, 1, NULL), ERR_OK);
    c.body.len++;
    ck_assert_int_eq(sto_docs_commit(fix.engine, &c, 1, NULL), ERR_TOO_BIG);
    c.body.len = 1;
    c.key.len++;
    ck_assert_int_eq(sto_docs_commit(fix.engine, &c, 1, NULL), ERR_INVALID);
    static const char *const bad[] = {"",       "t",       "t/",  "u/ab/t", "r/ab/t",
                                      "d/ab/t", "!layout", "T/a", "tt/",    "x/a"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        ck_assert_int_eq(commit_doc(bad[i], "x", STO_DOC_ANY), ERR_INVALID);
}
END_TEST

/* So no room can store what no purge knows. */
START_TEST(documents_are_of_kinds_that_the_table_of_places_lists)
{
    char key[] = "?/ab/t";
    size_t taken = 0;
    for (int letter = 1; letter < 256; letter++) {
        const struct sto_doc_place *place = sto_doc_place_of((uint8_t)letter);
        bool is_known = place != NULL && place->writer == STO_PLACE_ROOMS;
        key[0] = (char)letter;
        enum err wanted = is_known ? ERR_OK : ERR_INVALID;
        ck_assert_msg(commit_doc(key, "x", STO_DOC_ANY) == wanted, "letter 0x%02x", letter);
        taken += is_known;
    }
    ck_assert_uint_gt(taken, 0);
    ck_assert_uint_lt(taken, 26);
}
END_TEST

/* Orders of a batch's keys. */
enum { RISING, FALLING, MIXED, ORDERS };

/* Key number i of a batch in that order. MIXED: 7919 is prime, so each number comes once. */
static size_t number_at(size_t i, size_t count, int order)
{
    return order == RISING ? i : order == FALLING ? count - 1 - i : i * 7919 % count;
}

START_TEST(a_large_batch_is_checked_in_n_log_n_comparisons)
{
    enum { COUNT = 20000, LOG_COUNT = 15 };
    static struct sto_doc_change changes[COUNT];
    static char keys[COUNT][32];
    uint64_t compared = 0;
    for (size_t i = 0; i < COUNT; i++) {
        (void)snprintf(keys[i], sizeof keys[i], "v/ab/view-%05zu", number_at(i, COUNT, _i));
        changes[i] = (struct sto_doc_change){
            .key = base_slice_text(keys[i]), .body = SLICE_LIT("x"), .expect = STO_DOC_ABSENT};
    }
    ck_assert_int_eq(sto_rdb_docs_check(changes, COUNT, &compared, NULL), ERR_OK);
    ck_assert_uint_le(compared, _i == RISING ? COUNT : (LOG_COUNT + 3) * COUNT);
    ck_assert_int_eq(sto_docs_commit(fix.engine, changes, COUNT, NULL), ERR_OK);
    assert_doc("v/ab/view-19999", "x", 1);
    changes[0].key = changes[COUNT - 1].key;
    ck_assert_int_eq(sto_rdb_docs_check(changes, COUNT, &compared, NULL), ERR_INVALID);
    ck_assert_uint_le(compared, (LOG_COUNT + 3) * COUNT);
    ck_assert_int_eq(sto_docs_commit(fix.engine, changes, COUNT, NULL), ERR_INVALID);
}
END_TEST

static enum err collect(void *ctx, struct slice key, uint64_t version, struct slice body)
{
    struct buf *b = ctx;
    (void)base_buf_printf(b, "%.*s=%.*s@%llu,", SLICE_ARGS(key), SLICE_ARGS(body),
                          (unsigned long long)version);
    return b->len > 30 ? ERR_CANCELLED : ERR_OK;
}

START_TEST(documents_are_scanned_in_key_order)
{
    ck_assert_int_eq(commit_doc("s/ab/2", "y", STO_DOC_ANY), ERR_OK);
    ck_assert_int_eq(commit_doc("s/ab/1", "x", STO_DOC_ANY), ERR_OK);
    ck_assert_int_eq(commit_doc("s/abc/1", "z", STO_DOC_ANY), ERR_OK);
    ck_assert_int_eq(commit_doc("t/ab", "w", STO_DOC_ANY), ERR_OK);
    struct buf b;
    base_buf_init(&b, 1024);
    ck_assert_int_eq(sto_docs_scan(fix.engine, SLICE_LIT("s/ab/"), collect, &b, NULL), ERR_OK);
    ck_assert(base_slice_is(base_buf_slice(&b), "s/ab/1=x@1,s/ab/2=y@1,"));
    base_buf_truncate(&b, 0);
    ck_assert_int_eq(sto_docs_scan(fix.engine, SLICE_LIT("s/"), collect, &b, NULL), ERR_CANCELLED);
    ck_assert_int_eq(sto_docs_scan(fix.engine, SLICE_LIT("u/"), collect, &b, NULL), ERR_INVALID);
    ck_assert_int_eq(sto_docs_scan(fix.engine, SLICE_EMPTY, collect, &b, NULL), ERR_INVALID);
    base_buf_fini(&b);
}
END_TEST

START_TEST(a_table_is_forgotten_only_when_empty)
{
    ck_assert_int_eq(commit_doc("s/ab/t", "schema", STO_DOC_ABSENT), ERR_OK);
    ck_assert_int_eq(fix_put(T, "row", "v"), ERR_OK);
    ck_assert_int_eq(commit_doc("w/ab/t", "sweep", STO_DOC_ABSENT), ERR_OK);
    struct sto_doc_change docs[2] = {{.key = SLICE_LIT("s/ab/t"), .expect = 1},
                                     {.key = SLICE_LIT("w/ab/t"), .expect = STO_DOC_ANY}};
    ck_assert_int_eq(sto_table_forget(fix.engine, T, docs, 2, NULL), ERR_CONFLICT);
    assert_doc("s/ab/t", "schema", 1);
    ck_assert_int_eq(fix_drop(T, (struct sto_row_range){0}, 0, NULL), ERR_OK);
    docs[0].expect = 2;
    ck_assert_int_eq(sto_table_forget(fix.engine, T, docs, 2, NULL), ERR_CONFLICT);
    assert_doc("w/ab/t", "sweep", 1);
    docs[0].expect = 1;
    ck_assert_int_eq(sto_table_forget(fix.engine, T, docs, 2, NULL), ERR_OK);
    assert_doc("s/ab/t", NULL, 0);
    assert_doc("w/ab/t", NULL, 0);
    ck_assert_int_eq(fix_put(T, "late", "v"), ERR_NOT_FOUND); /* with the old schema in hand */
    ck_assert_int_eq(fix_put(&fix.tables[0][1], "row", "v"), ERR_OK);
    struct sto_audit audit;
    ck_assert_int_eq(sto_audit_range(fix.engine, &fix.tenants[0], &audit, NULL), ERR_OK);
    ck_assert_uint_eq(audit.counters, 2); /* of the other table, and what the drop noted */
    fix_assert_no_drift(0);
}
END_TEST

static void *forget_main(void *arg)
{
    static const struct sto_doc_change doc = {.key = SLICE_LIT("s/ab/t"), .expect = STO_DOC_ANY};
    *(enum err *)arg = sto_table_forget(fix.engine, T, &doc, 1, NULL);
    return NULL;
}

static bool schema_is_there;

static void check_schema(struct base_msg *msg)
{
    struct buf body;
    uint64_t version = 0;
    (void)msg;
    base_buf_init(&body, 1024);
    schema_is_there = sto_doc_get(fix.engine, SLICE_LIT("s/ab/t"), &version, &body, NULL) == ERR_OK;
    base_buf_fini(&body);
}

static bool forgetting_is_queued(void *last)
{
    struct rdb_engine *e = sto_rdb_engine(fix.engine);
    return atomic_load(&sto_rdb_committer_of(e, &fix.accounts[0])->mailbox.head) != last;
}

/* The control thread waits for it: a tenant that keeps its queue full must not keep it waiting. */
START_TEST(forgetting_a_table_does_not_wait_behind_queued_writes)
{
    enum { WRITES = 50 };
    static struct sto_mutate_op ops[WRITES];
    static char rows[WRITES][16];
    struct sto_mutation m = fix_set(1, "q", 1000, SLICE_LIT("v"));
    struct base_msg check = {.run = check_schema};
    enum err forgotten = ERR_INVALID;
    pthread_t thread;
    ck_assert_int_eq(commit_doc("s/ab/t", "schema", STO_DOC_ABSENT), ERR_OK);
    ck_assert_int_eq(fix_drop_table(T).result, ERR_OK);
    fix_hold_committer(0);
    for (int i = 0; i < WRITES; i++) {
        (void)snprintf(rows[i], sizeof rows[i], "row%d", i);
        ops[i] = (struct sto_mutate_op){.scope = fix.tables[0][1],
                                        .row_key = base_slice_text(rows[i]),
                                        .mutations = &m,
                                        .mutation_count = 1};
        fix_submit(&ops[i]);
    }
    ck_assert_int_eq(pthread_create(&thread, NULL, forget_main, &forgotten), 0);
    process_await(forgetting_is_queued, &ops[WRITES - 1].msg, "the message of the forgetting");
    sto_rdb_committer_post(sto_rdb_committer_of(sto_rdb_engine(fix.engine), &fix.accounts[0]),
                           &check); /* runs when the committer has seen both messages */
    fix_let_go();
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_int_eq(forgotten, ERR_OK);
    ck_assert(!schema_is_there);
    fix_assert_usage(0, sto_counters_read(&fix.accounts[0].total).bytes, WRITES, WRITES);
}
END_TEST

Suite *suite_storage_engine_jobs(void)
{
    Suite *s = suite_create("storage_engine_jobs");
    TCase *t = tcase_create("drop");
    tcase_add_checked_fixture(t, fix_setup, fix_teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_dropped_range_is_gone_and_counted);
    tcase_add_test(t, a_row_larger_than_a_slice_is_dropped_exactly);
    tcase_add_test(t, many_rows_are_dropped_over_slices);
    tcase_add_test(t, one_family_can_be_dropped);
    tcase_add_test(t, a_drop_passes_a_full_quota_and_a_full_disk_but_not_the_gate);
    tcase_add_test(t, a_drop_that_may_ignores_the_gate);
    tcase_add_test(t, a_recount_notices_what_was_changed_behind_its_back);
    tcase_add_test(t, a_recount_goes_on_over_slices);
    tcase_add_test(t, a_recount_stops_when_the_tenant_goes);
    tcase_add_test(t, damaged_rows_are_errors_not_answers);
    suite_add_tcase(s, t);
    t = tcase_create("documents");
    tcase_add_checked_fixture(t, fix_setup, fix_teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, documents_are_compared_and_set);
    tcase_add_test(t, documents_change_together_or_not_at_all);
    tcase_add_test(t, documents_have_limits);
    tcase_add_test(t, documents_are_of_kinds_that_the_table_of_places_lists);
    tcase_add_loop_test(t, a_large_batch_is_checked_in_n_log_n_comparisons, RISING, ORDERS);
    tcase_add_test(t, documents_are_scanned_in_key_order);
    tcase_add_test(t, a_table_is_forgotten_only_when_empty);
    tcase_add_test(t, forgetting_a_table_does_not_wait_behind_queued_writes);
    suite_add_tcase(s, t);
    return s;
}
