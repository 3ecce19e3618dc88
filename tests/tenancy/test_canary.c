/*
 * tests/tenancy/test_canary.c - canaries are in the files while the tenant is there, in no answer
 * ever, and in no file afterwards.
 */
#define _GNU_SOURCE

#include <openssl/sha.h>

#include "storage/rocksdb/rdb.h"
#include "tests/tenancy/departure.h"

#include "tenancy/canary.h"

#include "base/banned.h"

enum { FILE_KINDS = 5 };

static void canary_bytes(const struct ten_tenant *t, uint8_t number, uint8_t out[STO_CANARY_BYTES])
{
    struct sto_tenant_scope scope = ten_scope_tenant(tent_find(&tent, t->id));
    struct sto_range range = sto_range_of_tenant(&scope);
    uint8_t key[STO_RANGE_KEY_MAX + 2];
    size_t len = sto_canary_key(&range, number, key);
    struct rdb_engine *e = sto_rdb_engine(tent.engine);
    char *error = NULL;
    size_t value_len = 0;
    char *value = rocksdb_get_cf(e->db.handle, e->db.point, e->db.cells, (const char *)key, len,
                                 &value_len, &error);
    ck_assert_ptr_null(error);
    ck_assert_uint_eq(value_len, STO_CANARY_BYTES);
    memcpy(out, value, STO_CANARY_BYTES);
    rocksdb_free(value);
}

START_TEST(a_new_tenant_has_its_own_and_the_document_their_hashes)
{
    uint8_t seen[2 * STO_CANARIES][STO_CANARY_BYTES];
    (void)tent_create(&tent, "altostrat");
    (void)tent_create(&tent, "altostrat2");
    tent_reopen(&tent); /* as they are stored */
    for (size_t i = 0; i < 2 * STO_CANARIES; i++) {
        const struct ten_tenant *t =
            tent_find(&tent, i < STO_CANARIES ? "altostrat" : "altostrat2");
        const struct ten_details *d = ten_tenant_details(t);
        struct sto_canary stored[STO_CANARIES];
        uint8_t hash[32];
        ck_assert_uint_eq(d->canary_count, STO_CANARIES);
        ck_assert_ptr_null(d->canaries);
        ck_assert_int_eq(ten_canaries_read(tent.registry, t, STO_CANARIES, stored, &tent.eb),
                         ERR_OK);
        canary_bytes(t, (uint8_t)(i % STO_CANARIES), seen[i]);
        ck_assert_mem_eq(seen[i], STO_CANARY_HEAD, 8);
        (void)SHA256(seen[i], STO_CANARY_BYTES, hash);
        ck_assert_mem_eq(hash, stored[i % STO_CANARIES].hash, sizeof hash);
        for (size_t j = 0; j < i; j++)
            ck_assert_mem_ne(seen[i], seen[j], STO_CANARY_BYTES);
    }
}
END_TEST

START_TEST(nothing_that_counts_or_reads_sees_them)
{
    struct ten_tenant *t = tent_create(&tent, "altostrat");
    struct tent_sink sink;
    tent_sink_init(&sink);
    struct sto_usage counted = tent_recount(&tent, t);
    ck_assert_uint_eq(counted.rows + counted.cells + counted.bytes, 0);
    struct sto_usage total = sto_counters_read(&t->account.total);
    ck_assert_uint_eq(total.rows + total.cells + total.bytes, 0);
    tent_table(&tent, t, "a"); /* the first and the last that a table can be called */
    tent_table(&tent, t, "0");
    tent_table(&tent, t, "zzz");
    tent_write(&tent, t, "0", "row", "value");
    ck_assert_int_eq(tent_scan(&tent, t, "0", &sink), ERR_OK);
    ck_assert_uint_eq(sink.rows, 1);
    ck_assert_int_eq(tent_scan(&tent, t, "a", &sink), ERR_OK);
    ck_assert_uint_eq(sink.rows, 1); /* none more */
    counted = tent_recount(&tent, t);
    ck_assert_uint_eq(counted.rows, 1);
    ck_assert_uint_eq(counted.cells, 1);
    struct sto_usage removed;
    ck_assert_int_eq(tent_delete_table(&tent, t, "0", &removed), ERR_OK);
    ck_assert_uint_eq(removed.rows, 1);
    for (uint8_t i = 0; i < STO_CANARIES; i++) { /* a drop leaves them */
        uint8_t bytes[STO_CANARY_BYTES];
        canary_bytes(t, i, bytes);
    }
    tent_sink_fini(&sink);
}
END_TEST

START_TEST(a_search_finds_them_before_and_not_after)
{
    char id[TEN_JOB_ID + 1];
    struct ten_job job;
    fill_both();
    ck_assert_int_eq(tent_offboard(&tent, tent_find(&tent, "altostrat"), id), ERR_OK);
    tent_await_job(&tent, id, &job);
    check_purged(&job);
    check_before(&job);
    ck_assert_uint_eq(job.search_after.outside, 0); /* nor in the logs, nor in the new MANIFEST */
    uint8_t bytes[STO_CANARY_BYTES];
    canary_bytes(tent_find(&tent, "altostrat2"), 0, bytes); /* the neighbour keeps its own */
}
END_TEST

/* In a value of somebody else's: only the leaving tenant could have known it. A table that lists
 * others alone is read by a deep search only. */
START_TEST(a_canary_that_got_out_keeps_a_deep_certificate_back)
{
    char id[TEN_JOB_ID + 1];
    struct ten_job job;
    fill_both();
    struct sto_tenant_scope scope = ten_scope_tenant(tent_find(&tent, "altostrat2"));
    uint8_t stolen[1][STO_CANARY_BYTES];
    canary_bytes(tent_find(&tent, "altostrat"), 2, stolen[0]);
    ck_assert_int_eq(sto_canaries_plant(tent.engine, &scope, stolen, 1, NULL, 0, &tent.eb), ERR_OK);
    tent.deep = _i == 1;
    ck_assert_int_eq(tent_offboard(&tent, tent_find(&tent, "altostrat"), id), ERR_OK);
    tent_await_job(&tent, id, &job);
    tent.deep = false;
    if (_i == 0) {
        ck_assert_int_eq(job.state, TEN_JOB_DONE);
        ck_assert_uint_gt(job.search_after.listed_files, 0); /* which the certificate says */
        return;
    }
    ck_assert_int_eq(job.state, TEN_JOB_FAILED);
    ck_assert_msg(strstr(job.error, "step files") != NULL, "%s", job.error);
    ck_assert_uint_gt(job.search_after.canaries, 0);
    ck_assert_int_eq(certificates_of("altostrat"), 0);
}
END_TEST

static struct sto_search search_now(const struct ten_tenant *t, const uint8_t *canary)
{
    struct sto_canary hash;
    struct sto_search_spec spec = {.only_its_own = false};
    struct sto_tenant_scope scope = ten_scope_tenant(tent_find(&tent, t->id));
    struct sto_search_target target = {.scope = &scope, .canaries = &hash, .canary_count = 1};
    (void)SHA256(canary, STO_CANARY_BYTES, hash.hash);
    ck_assert_int_eq(sto_search_files(tent.engine, &target, 1, &spec, &tent.eb), ERR_OK);
    return target.found;
}

/* A prefix and a canary in a file of each kind. What is not in use any more has to go yet; what
 * never holds keys or values is a note. A log that RocksDB forgot goes when it is looked for. */
START_TEST(no_kind_of_file_is_left_out)
{
    static const struct {
        const char *name;
        uint64_t canaries, notes, obsolete;
    } FILES[FILE_KINDS] = {{"LOG.old.7", 1, 1, 0},
                           {"OPTIONS-000001", 1, 1, 0},
                           {"left-over", 1, 1, 0},
                           {"MANIFEST-000001", 1, 0, 1},
                           {"000001.log", 0, 0, 0}};
    fill_both();
    const struct ten_tenant *t = tent_find(&tent, "altostrat");
    char path[300];
    struct buf planted;
    uint8_t canary[STO_CANARY_BYTES];
    canary_bytes(t, 1, canary);
    ck_assert_int_eq(sto_rdb_flush(sto_rdb_engine(tent.engine)), ERR_OK); /* as purges do */
    base_buf_init(&planted, KIB);
    ck_assert_int_eq(base_buf_append(&planted, SLICE_LIT("here altostrat# was, and ")), ERR_OK);
    ck_assert_int_eq(base_buf_append(&planted, base_slice(canary, sizeof canary)), ERR_OK);
    struct sto_search before = search_now(t, canary);
    (void)snprintf(path, sizeof path, "%s/db/%s", tent.dir, FILES[_i].name);
    ck_assert_int_eq(base_file_replace(path, base_buf_slice(&planted), 0600, NULL), ERR_OK);
    struct sto_search after = search_now(t, canary);
    ck_assert_uint_eq(after.canaries, before.canaries + FILES[_i].canaries);
    ck_assert_uint_eq(after.notes, before.notes + FILES[_i].notes);
    ck_assert_uint_eq(after.obsolete, before.obsolete + FILES[_i].obsolete);
    base_buf_fini(&planted);
}
END_TEST

Suite *suite_tenancy_canary(void);
Suite *suite_tenancy_canary(void)
{
    Suite *s = suite_create("tenancy_canary");
    TCase *c = tcase_create("canary");
    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, a_new_tenant_has_its_own_and_the_document_their_hashes);
    tcase_add_test(c, nothing_that_counts_or_reads_sees_them);
    tcase_add_test(c, a_search_finds_them_before_and_not_after);
    tcase_add_loop_test(c, a_canary_that_got_out_keeps_a_deep_certificate_back, 0, 2);
    tcase_add_loop_test(c, no_kind_of_file_is_left_out, 0, FILE_KINDS);
    suite_add_tcase(s, c);
    return s;
}
