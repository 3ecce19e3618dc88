/*
 * tests/storage/test_engine_idempotency.c - a retry with a token that is known does nothing again.
 */
#include "fixture.h"
#include "hold.h"

#include <signal.h>
#include <sys/wait.h>

#include "storage/rocksdb/token.h"

#include "base/banned.h"

Suite *suite_storage_engine_idempotency(void);

#define T &fix.tables[0][0]

static const int64_t MINUTE = 60 * 1000000LL;

struct request {
    struct sto_mutate_op op;
    struct sto_mutation m;
};

static struct sto_mutation add_one(void)
{
    static const uint8_t one[8] = {0, 0, 0, 0, 0, 0, 0, 1};
    return (struct sto_mutation){.kind = STO_ADD_TO_CELL,
                                 .family = 3,
                                 .qualifier = SLICE_LIT("q"),
                                 .timestamp_us = 1000,
                                 .value = base_slice(one, sizeof(one))};
}

static void prepare(struct request *q, const char *token, int64_t start_us)
{
    *q = (struct request){.m = add_one()};
    q->op = (struct sto_mutate_op){
        .scope = fix.tables[0][0],
        .row_key = SLICE_LIT("row"),
        .mutations = &q->m,
        .mutation_count = 1,
        .idempotency = {.token = base_slice_text(token), .start_us = start_us}};
}

static enum err run(struct request *q)
{
    fix_submit(&q->op);
    fix_wait();
    ck_assert_int_eq(q->op.result == ERR_OK, q->op.detail.text[0] == '\0');
    return q->op.result;
}

static enum err request(struct request *q, const char *token, int64_t start_us)
{
    prepare(q, token, start_us);
    return run(q);
}

/* What the cell says after all the additions. */
static void assert_sum(char n)
{
    char wanted[] = "row{sum:q@1000=.......\x01,}";
    memset(wanted + sizeof(wanted) - 11, 0, 7);
    wanted[sizeof(wanted) - 4] = n;
    struct fix_sink s;
    fix_sink_init(&s);
    ck_assert_int_eq(fix_read(T, &(struct sto_read_spec){0}, &s, true), ERR_OK);
    ck_assert(base_slice_equal(base_buf_slice(&s.text), base_slice(wanted, sizeof(wanted))));
    base_buf_fini(&s.text);
}

/* Tokens on disk, of all tenants. */
static size_t stored_tokens(void)
{
    struct rdb_db *db = &sto_rdb_engine(fix.engine)->db;
    rocksdb_readoptions_t *options = sto_rdb_scan_options(SLICE_LIT("i/"), SLICE_LIT("i0"));
    rocksdb_iterator_t *it = rocksdb_create_iterator_cf(db->handle, options, db->meta);
    size_t count = 0;
    for (rocksdb_iter_seek_to_first(it); rocksdb_iter_valid(it); rocksdb_iter_next(it))
        count++;
    rocksdb_iter_destroy(it);
    rocksdb_readoptions_destroy(options);
    return count;
}

static void setup(void)
{
    fix.aggregates = true;
    fix_setup();
}

static void setup_closed(void)
{
    fix.aggregates = true;
    fix_prepare();
}

START_TEST(a_retry_does_nothing_again)
{
    struct request q;
    int64_t start = base_wall_us();
    ck_assert_int_eq(request(&q, "token-01", start), ERR_OK);
    ck_assert(!q.op.repeated && !q.op.row_existed);
    int64_t commit_us = q.op.commit_us;
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(request(&q, "token-01", start), ERR_OK);
        ck_assert(q.op.repeated && !q.op.row_existed);
        ck_assert_int_eq(q.op.commit_us, commit_us);
        if (i == 1)
            fix_reopen();
    }
    assert_sum(1);
    ck_assert_int_eq(request(&q, "token-02", start), ERR_OK);
    ck_assert(!q.op.repeated && q.op.row_existed);
    assert_sum(2);
    ck_assert_uint_eq(stored_tokens(), 2);
    fix_assert_no_drift(0);
}
END_TEST

START_TEST(without_a_token_nothing_is_remembered)
{
    struct request q;
    ck_assert_int_eq(request(&q, "", 0), ERR_OK);
    ck_assert_int_eq(request(&q, "", 0), ERR_OK);
    assert_sum(2);
    ck_assert_uint_eq(stored_tokens(), 0);
}
END_TEST

START_TEST(a_token_stands_for_one_request)
{
    struct request q;
    int64_t start = base_wall_us();
    struct sto_check check = {0};
    ck_assert_int_eq(request(&q, "token-01", start), ERR_OK);
    for (int i = 0; i < 10; i++) {
        prepare(&q, "token-01", start);
        if (i == 0)
            q.op.row_key = SLICE_LIT("other");
        else if (i == 1)
            q.op.scope = fix.tables[0][1];
        else if (i == 2)
            q.m.value = SLICE_LIT("12345678");
        else if (i == 3)
            q.m.qualifier = SLICE_LIT("qq");
        else if (i == 4)
            q.m.timestamp_us = 2000;
        else if (i == 5)
            q.m.family = 4;
        else if (i == 6)
            q.m.kind = STO_MERGE_TO_CELL;
        else if (i == 7)
            q.op.mutation_count = 0;
        else if (i == 8)
            q.op.must_exist = true;
        else
            q.op.check = &check;
        ck_assert_int_eq(run(&q), ERR_CONFLICT);
        ck_assert_str_eq(q.op.detail.text, "the token was used for another request");
    }
    prepare(&q, "token-01", start);
    q.op.scope = fix.tables[1][0]; /* another tenant's tokens are its own */
    ck_assert_int_eq(run(&q), ERR_OK);
    ck_assert(!q.op.repeated);
    assert_sum(1);
    fix_assert_no_drift(0);
    fix_assert_no_drift(1);
}
END_TEST

START_TEST(tokens_and_starts_have_limits)
{
    char token[LIM_IDEMPOTENCY_TOKEN + 2];
    memset(token, 't', sizeof(token));
    token[sizeof(token) - 1] = '\0';
    struct request q;
    int64_t now = base_wall_us();
    ck_assert_int_eq(request(&q, token, now), ERR_INVALID);
    ck_assert_int_eq(request(&q, token + 1, now), ERR_OK);
    ck_assert_int_eq(request(&q, "1234567", now), ERR_INVALID);
    ck_assert_int_eq(request(&q, "12345678", now), ERR_OK);
    ck_assert_int_eq(request(&q, "too-old-1", now - 15 * MINUTE - 2000), ERR_CONFLICT);
    ck_assert_int_eq(request(&q, "old-enough", now - 15 * MINUTE + MINUTE / 4), ERR_OK);
    ck_assert_int_eq(request(&q, "too-new-1", now + 5 * MINUTE + MINUTE), ERR_CONFLICT);
    ck_assert_int_eq(request(&q, "new-enough", now + 5 * MINUTE - 1000), ERR_OK); /* whole ms */
    ck_assert_int_eq(request(&q, "new-enough", now + 5 * MINUTE - 1000), ERR_OK); /* whole ms */
    ck_assert(q.op.repeated);
    assert_sum(4);
    ck_assert_uint_eq(stored_tokens(), 4);
}
END_TEST

START_TEST(a_refused_operation_leaves_no_token)
{
    struct request q;
    int64_t start = base_wall_us();
    prepare(&q, "token-01", start);
    q.op.must_exist = true;
    ck_assert_int_eq(run(&q), ERR_PRECONDITION);
    atomic_store(&fix.accounts[0].bytes_max, 1);
    ck_assert_int_eq(request(&q, "token-01", start), ERR_QUOTA);
    ck_assert_uint_eq(stored_tokens(), 0);
    atomic_store(&fix.accounts[0].bytes_max, STO_NO_CEILING);
    ck_assert_int_eq(request(&q, "token-01", start), ERR_OK);
    ck_assert(!q.op.repeated);
    atomic_store(&fix.accounts[0].bytes_max, 1); /* what was done is not refused later */
    ck_assert_int_eq(request(&q, "token-01", start), ERR_OK);
    ck_assert(q.op.repeated);
    fix_assert_no_drift(0);
}
END_TEST

START_TEST(a_retry_tells_what_the_first_attempt_said)
{
    struct request q;
    int64_t start = base_wall_us();
    for (int i = 0; i < 2; i++) {
        prepare(&q, "create-01", start);
        q.op.must_not_exist = true;
        ck_assert_int_eq(run(&q), ERR_OK);
        ck_assert_int_eq(q.op.repeated, i);
        ck_assert(!q.op.row_existed);
    }
    for (int i = 0; i < 2; i++) {
        struct sto_check check = {0};
        prepare(&q, "check-001", start);
        q.op.check = &check;
        ck_assert_int_eq(run(&q), ERR_OK);
        ck_assert_int_eq(q.op.repeated, i);
        ck_assert(check.matched && q.op.row_existed);
        if (i == 0)
            ck_assert_int_eq(fix_delete_row(T, "row"), ERR_OK);
    }
    fix_assert_usage(0, 0, 0, 0);
    for (int i = 0; i < 2; i++) {
        struct arena arena;
        base_arena_init(&arena, KIB);
        struct sto_modified modified = {.arena = &arena};
        prepare(&q, "modify-01", start);
        q.m = fix_append(1, "q", SLICE_LIT("v"));
        q.op.modified = &modified;
        ck_assert_int_eq(run(&q), ERR_OK);
        ck_assert_int_eq(q.op.repeated, i);
        ck_assert_uint_eq(modified.count, 1);
        ck_assert(base_slice_is(modified.cells[0].value, "v"));
        base_arena_fini(&arena);
    }
}
END_TEST

START_TEST(retries_meet_in_one_batch)
{
    enum { OPS = 40 };
    static struct request q[OPS];
    int64_t start = base_wall_us();
    fix_hold_committer(0);
    for (size_t i = 0; i < OPS; i++) {
        prepare(&q[i], i % 4 == 3 ? "token-02" : "token-01", start);
        if (i % 10 == 9)
            q[i].m.value = SLICE_LIT("another.");
        fix_submit(&q[i].op);
    }
    fix_let_go();
    for (size_t i = 0; i < OPS; i++) {
        ck_assert_int_eq(q[i].op.result, i % 10 == 9 ? ERR_CONFLICT : ERR_OK);
        ck_assert_int_eq(q[i].op.repeated, i % 10 != 9 && i != 0 && i != 3);
    }
    assert_sum(2);
    ck_assert_uint_eq(stored_tokens(), 2);
    fix_assert_no_drift(0);
}
END_TEST

/* --- after a crash ------------------------------------------------------------------------------
 */

static _Noreturn void child(int64_t start, bool repeats)
{
    static struct request q;
    fix_open();
    if (request(&q, "token-01", start) != ERR_OK || q.op.repeated != repeats)
        _exit(1);
    assert_sum(1);
    fix_assert_no_drift(0);
    (void)raise(SIGKILL);
    _exit(2);
}

/* RocksDB's threads do not survive a fork: every engine has a process of its own. */
START_TEST(tokens_survive_kill_9)
{
    int64_t start = base_wall_us();
    for (int i = 0; i < 3; i++) {
        pid_t pid = fork();
        if (pid == 0)
            child(start, i > 0);
        int status = 0;
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    }
}
END_TEST

/* --- leaving ------------------------------------------------------------------------------------
 */

/* Tokens of all tenants, made through the engine, many in flight. */
static void make_tokens(size_t count)
{
    static struct many {
        struct request q;
        char token[32];
    } many[512];
    for (size_t done = 0; done < count; done += 512) {
        for (size_t i = 0; i < 512 && done + i < count; i++) {
            struct many *one = &many[i];
            (void)snprintf(one->token, sizeof(one->token), "token-%08zu", done + i);
            prepare(&one->q, one->token, base_wall_us());
            one->q.op.scope = fix.tables[(done + i) % FIX_TENANTS][0];
            fix_submit(&one->q.op);
        }
        fix_wait();
    }
}

START_TEST(expired_tokens_are_removed_in_portions)
{
    enum { COUNT = 2 * LIM_TOKENS_PER_SWEEP + 1000 };
    struct rdb_engine *e = sto_rdb_engine(fix.engine);
    struct rdb_token_sweep sweep = {0};
    bool more = true;
    make_tokens(COUNT);
    ck_assert_uint_eq(stored_tokens(), COUNT);
    int64_t now = base_wall_us();
    while (more) /* while retries are accepted, nothing goes */
        ck_assert_int_eq(sto_rdb_tokens_sweep(e, &sweep, now + 20 * MINUTE, &more), ERR_OK);
    ck_assert_uint_eq(stored_tokens(), COUNT);
    size_t left = COUNT;
    for (int portions = 0; left > 0; portions++) {
        ck_assert_int_lt(portions, 5);
        ck_assert_int_eq(sto_rdb_tokens_sweep(e, &sweep, now + 61 * MINUTE, &more), ERR_OK);
        size_t now_left = stored_tokens();
        ck_assert(now_left < left && left - now_left <= LIM_TOKENS_PER_SWEEP);
        left = now_left;
    }
    while (more)
        ck_assert_int_eq(sto_rdb_tokens_sweep(e, &sweep, now + 61 * MINUTE, &more), ERR_OK);
    ck_assert_int_eq(sto_rdb_tokens_sweep(e, &sweep, now + 61 * MINUTE, &more), ERR_OK);
    ck_assert(!more);
}
END_TEST

static bool one_token_is_stored(void *arg)
{
    (void)arg;
    return stored_tokens() == 1;
}

/* An old generation that lies there when the engine is opened goes by itself. */
START_TEST(old_tokens_go_by_themselves)
{
    struct rdb_db *db = &sto_rdb_engine(fix.engine)->db;
    struct request q;
    char *error = NULL;
    static const char *const keys[] = {"i/ab/\0\0\0\0\0\0\0\x01token-00",
                                       "i/abc/\0\0\0\0\0\0\0\x05token-00"};
    rocksdb_put_cf(db->handle, db->synced, db->meta, keys[0], 21, "x", 1, &error);
    rocksdb_put_cf(db->handle, db->synced, db->meta, keys[1], 22, "x", 1, &error);
    ck_assert_ptr_null(error);
    ck_assert_int_eq(request(&q, "token-01", base_wall_us()), ERR_OK);
    fix_reopen();
    process_await(one_token_is_stored, NULL, "old tokens to go");
}
END_TEST

START_TEST(a_purge_takes_the_tenants_tokens)
{
    struct sto_audit a;
    make_tokens(3 * (LIM_TOKENS_PER_SWEEP + 10));
    ck_assert_int_eq(sto_audit_range(fix.engine, &fix.tenants[0], &a, NULL), ERR_OK);
    ck_assert_uint_eq(a.counters, 1 + LIM_TOKENS_PER_SWEEP + 10);
    atomic_store(&fix.accounts[0].gate, STO_GATE_GONE);
    for (int s = 0; s < STO_PURGE_STEP_COUNT; s++)
        ck_assert_int_eq(
            sto_purge_run(fix.engine, &fix.tenants[0], (enum sto_purge_step)s, NULL, 0, NULL),
            ERR_OK);
    ck_assert_int_eq(sto_audit_range(fix.engine, &fix.tenants[0], &a, NULL), ERR_OK);
    ck_assert_uint_eq(a.counters, 0);
    ck_assert_uint_eq(a.physical_keys, 0);
    ck_assert_uint_eq(stored_tokens(), 2 * (LIM_TOKENS_PER_SWEEP + 10));
}
END_TEST

START_TEST(tokens_are_not_documents)
{
    struct sto_doc_change change = {
        .key = SLICE_LIT("i/ab/x"), .body = SLICE_LIT("b"), .expect = STO_DOC_ANY};
    ck_assert_int_eq(sto_docs_commit(fix.engine, &change, 1, NULL), ERR_INVALID);
}
END_TEST

START_TEST(a_damaged_token_is_reported)
{
    struct rdb_db *db = &sto_rdb_engine(fix.engine)->db;
    struct request q;
    char *error = NULL;
    int64_t start = base_wall_us();
    ck_assert_int_eq(request(&q, "token-01", start), ERR_OK);
    rocksdb_readoptions_t *options = sto_rdb_scan_options(SLICE_LIT("i/"), SLICE_LIT("i0"));
    rocksdb_iterator_t *it = rocksdb_create_iterator_cf(db->handle, options, db->meta);
    rocksdb_iter_seek_to_first(it);
    size_t len = 0;
    const char *key = rocksdb_iter_key(it, &len);
    rocksdb_put_cf(db->handle, db->synced, db->meta, key, len, "\x01", 1, &error);
    ck_assert_ptr_null(error);
    rocksdb_iter_destroy(it);
    rocksdb_readoptions_destroy(options);
    ck_assert_int_eq(request(&q, "token-01", start), ERR_CORRUPT);
    assert_sum(1);
}
END_TEST

Suite *suite_storage_engine_idempotency(void)
{
    Suite *s = suite_create("storage_engine_idempotency");
    TCase *t = tcase_create("retries");
    tcase_add_checked_fixture(t, setup, fix_teardown);
    tcase_set_timeout(t, 30);
    tcase_add_test(t, a_retry_does_nothing_again);
    tcase_add_test(t, without_a_token_nothing_is_remembered);
    tcase_add_test(t, a_token_stands_for_one_request);
    tcase_add_test(t, tokens_and_starts_have_limits);
    tcase_add_test(t, a_refused_operation_leaves_no_token);
    tcase_add_test(t, a_retry_tells_what_the_first_attempt_said);
    tcase_add_test(t, retries_meet_in_one_batch);
    tcase_add_test(t, tokens_are_not_documents);
    tcase_add_test(t, a_damaged_token_is_reported);
    suite_add_tcase(s, t);
    t = tcase_create("leaving");
    tcase_add_checked_fixture(t, setup, fix_teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, expired_tokens_are_removed_in_portions);
    tcase_add_test(t, old_tokens_go_by_themselves);
    tcase_add_test(t, a_purge_takes_the_tenants_tokens);
    suite_add_tcase(s, t);
    t = tcase_create("crash");
    tcase_add_checked_fixture(t, setup_closed, fix_teardown);
    tcase_set_timeout(t, 30);
    tcase_add_test(t, tokens_survive_kill_9);
    suite_add_tcase(s, t);
    return s;
}
