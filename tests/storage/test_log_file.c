/*
 * tests/storage/test_log_file.c - records of logs that are whole, cut, damaged, or none.
 */
#define _GNU_SOURCE
#include <check.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "storage/rocksdb/log_file.h"
#include "tests/storage/log_maker.h"

#include "base/banned.h"

Suite *suite_storage_log_file(void);

enum { RECORDS = 40 };

static struct {
    int fd;
    char path[64];
    struct buf bytes;
    uint64_t end[RECORDS]; /* of each record */
    uint64_t sequence[RECORDS];
    bool is_cut; /* what was read last */
} made;

static void log_write(struct slice bytes)
{
    ck_assert_int_eq(ftruncate(made.fd, 0), 0);
    ck_assert_int_eq(pwrite(made.fd, bytes.ptr, bytes.len, 0), (ssize_t)bytes.len);
}

static void setup(void)
{
    made.fd = memfd_create("log", MFD_CLOEXEC);
    ck_assert_int_ge(made.fd, 0);
    (void)snprintf(made.path, sizeof made.path, "/proc/self/fd/%d", made.fd);
    base_buf_init(&made.bytes, 64 << 20);
}

static void teardown(void)
{
    base_buf_fini(&made.bytes);
    (void)close(made.fd);
}

/* Lengths that end blocks at each of the last bytes, and a record of several blocks. */
static void records_make(void)
{
    uint64_t sequence = 7;
    for (size_t i = 0; i < RECORDS; i++) {
        size_t left = MAKER_BLOCK - made.bytes.len % MAKER_BLOCK;
        size_t bytes = i % 4 == 3 ? (left + MAKER_BLOCK - MAKER_HEAD - RDB_LOG_BATCH_HEAD - i / 4) %
                                        MAKER_BLOCK
                                  : 100 * i;
        if (i == 20)
            bytes = 3 * MAKER_BLOCK;
        made.sequence[i] = sequence;
        maker_batch(&made.bytes, sequence, (uint32_t)i % 5, bytes);
        sequence += i % 5;
        made.end[i] = made.bytes.len;
    }
    log_write(base_buf_slice(&made.bytes));
}

static struct rdb_log_file *open_log(void)
{
    struct rdb_log_file *f = NULL;
    struct errbuf eb = {{0}};
    ck_assert_msg(sto_rdb_log_open(made.path, &f, &eb) == ERR_OK, "%s", eb.text);
    return f;
}

/* How many records there are, each as it was made, and what follows them. */
static size_t records_read(enum rdb_log_found *out, uint64_t *out_at)
{
    struct rdb_log_file *f = open_log();
    struct rdb_log_record record;
    size_t count = 0;
    for (;;) {
        ck_assert_int_eq(sto_rdb_log_next(f, NULL, out, &record, NULL), ERR_OK);
        if (*out != RDB_LOG_RECORD)
            break;
        ck_assert_uint_lt(count, RECORDS);
        ck_assert_uint_eq(record.sequence, made.sequence[count]);
        ck_assert_uint_eq(record.count, count % 5);
        count++;
    }
    *out_at = record.offset;
    made.is_cut = record.is_cut;
    sto_rdb_log_close(f);
    return count;
}

static bool is_later_found(uint64_t damage, uint64_t sequence, struct rdb_log_record *out)
{
    struct rdb_log_file *f = open_log();
    bool found = false;
    ck_assert_int_eq(sto_rdb_log_find_later(f, damage, sequence, &found, out, NULL), ERR_OK);
    sto_rdb_log_close(f);
    return found;
}

START_TEST(all_records_of_a_sound_log_are_returned)
{
    enum rdb_log_found end;
    uint64_t at = 0;
    records_make();
    ck_assert_uint_eq(records_read(&end, &at), RECORDS);
    ck_assert_int_eq(end, RDB_LOG_END);
    ck_assert_uint_eq(at, made.bytes.len);
}
END_TEST

START_TEST(payloads_are_put_together)
{
    struct buf payload, wanted;
    struct rdb_log_record record;
    enum rdb_log_found found;
    base_buf_init(&payload, 1 << 20);
    base_buf_init(&wanted, 1 << 20);
    for (size_t i = 0; i < 100000; i++)
        maker_append(&wanted, i * i >> 5, 1);
    maker_record(&made.bytes, SLICE_LIT("short"));
    maker_record(&made.bytes, base_buf_slice(&wanted));
    log_write(base_buf_slice(&made.bytes));
    struct rdb_log_file *f = open_log();
    ck_assert_int_eq(sto_rdb_log_next(f, &payload, &found, &record, NULL), ERR_OK);
    ck_assert(base_slice_is(base_buf_slice(&payload), "short"));
    ck_assert_uint_eq(record.sequence, 0);
    ck_assert_int_eq(sto_rdb_log_next(f, &payload, &found, &record, NULL), ERR_OK);
    ck_assert(base_slice_equal(base_buf_slice(&payload), base_buf_slice(&wanted)));
    ck_assert_uint_eq(record.bytes, wanted.len);
    sto_rdb_log_close(f);
    f = open_log();
    base_buf_fini(&payload);
    base_buf_init(&payload, 1000);
    ck_assert_int_eq(sto_rdb_log_next(f, &payload, &found, &record, NULL), ERR_OK);
    ck_assert_int_eq(sto_rdb_log_next(f, &payload, &found, &record, NULL), ERR_TOO_BIG);
    sto_rdb_log_close(f);
    base_buf_fini(&payload);
    base_buf_fini(&wanted);
}
END_TEST

START_TEST(a_cut_is_an_end_between_records_and_damage_inside_one)
{
    records_make();
    for (size_t i = 0, cut = 0; cut < made.bytes.len; cut += cut % 97 < 10 ? 1 : 1173) {
        enum rdb_log_found end;
        uint64_t at = 0;
        while (made.end[i] < cut)
            i++;
        log_write(base_slice(made.bytes.ptr, cut));
        size_t before = records_read(&end, &at);
        uint64_t begin = i == 0 ? 0 : made.end[i - 1];
        if (cut == made.end[i]) {
            ck_assert_uint_eq(before, i + 1);
            ck_assert_int_eq(end, RDB_LOG_END);
            continue;
        }
        ck_assert_uint_eq(before, i);
        uint64_t trailer = MAKER_BLOCK - begin % MAKER_BLOCK;
        if (cut == begin || (trailer < MAKER_HEAD && cut <= begin + trailer)) {
            ck_assert_int_eq(end, RDB_LOG_END);
            continue;
        }
        struct rdb_log_record later;
        ck_assert_int_eq(end, RDB_LOG_DAMAGE);
        ck_assert(made.is_cut);
        ck_assert_uint_eq(at, trailer < MAKER_HEAD ? begin + trailer : begin);
        ck_assert(!is_later_found(at, i == 0 ? 0 : made.sequence[i - 1], &later));
    }
}
END_TEST

START_TEST(zeros_at_the_end_are_the_end_and_a_hole_is_damage)
{
    enum rdb_log_found end;
    struct rdb_log_record later;
    uint64_t at = 0;
    records_make();
    for (size_t keep = 0; keep < RECORDS; keep += 3) {
        struct buf b;
        base_buf_init(&b, 64 << 20);
        ck_assert_int_eq(base_buf_append(&b, base_buf_slice(&made.bytes)), ERR_OK);
        memset(b.ptr + made.end[keep], 0, b.len - made.end[keep]);
        log_write(base_buf_slice(&b));
        ck_assert_uint_eq(records_read(&end, &at), keep + 1);
        ck_assert_int_eq(end, RDB_LOG_END);
        if (keep + 2 < RECORDS) { /* the one behind, and not the next */
            memcpy(b.ptr + made.end[keep + 1], made.bytes.ptr + made.end[keep + 1],
                   b.len - made.end[keep + 1]);
            log_write(base_buf_slice(&b));
            ck_assert_uint_eq(records_read(&end, &at), keep + 1);
            ck_assert_int_eq(end, RDB_LOG_DAMAGE);
            ck_assert(!made.is_cut);
            ck_assert(is_later_found(at, made.sequence[keep], &later));
            ck_assert_uint_ge(later.offset, made.end[keep + 1]);
        }
        base_buf_fini(&b);
    }
}
END_TEST

START_TEST(a_flipped_bit_is_damage_of_its_record_and_later_ones_are_found)
{
    records_make();
    for (size_t i = 0, byte = 0; byte < made.bytes.len; byte += byte % 89 < 4 ? 1 : 2311) {
        enum rdb_log_found end;
        struct rdb_log_record later;
        uint64_t at = 0;
        while (made.end[i] <= byte)
            i++;
        uint64_t begin = i == 0 ? 0 : made.end[i - 1];
        uint64_t trailer = MAKER_BLOCK - begin % MAKER_BLOCK;
        made.bytes.ptr[byte] ^= (uint8_t)(1u << (byte % 8));
        log_write(base_buf_slice(&made.bytes));
        made.bytes.ptr[byte] ^= (uint8_t)(1u << (byte % 8));
        size_t count = records_read(&end, &at);
        if (trailer < MAKER_HEAD && byte < begin + trailer) { /* nobody reads these */
            ck_assert_uint_eq(count, RECORDS);
            continue;
        }
        ck_assert_msg(count == i && end == RDB_LOG_DAMAGE, "byte %zu: %zu records", byte, count);
        /* A length that leads out of the last block cannot be told from a cut. */
        ck_assert(!made.is_cut || byte >= made.bytes.len / MAKER_BLOCK * MAKER_BLOCK);
        bool found = is_later_found(at, i == 0 ? 0 : made.sequence[i - 1], &later);
        ck_assert_int_eq(found, i + 1 < RECORDS);
        ck_assert(!found || later.offset >= made.end[i]);
    }
}
END_TEST

START_TEST(a_sequence_that_cannot_follow_is_no_later_record)
{
    struct rdb_log_record later;
    maker_batch(&made.bytes, 10, 1, 50);
    uint64_t damage = made.bytes.len;
    maker_append(&made.bytes, 0xffffffff, 4);
    maker_batch(&made.bytes, 10, 1, 50);
    maker_batch(&made.bytes, 1000, 1, 50);
    log_write(base_buf_slice(&made.bytes));
    ck_assert(!is_later_found(damage, 10, &later)); /* 1000 changes do not fit into the file */
    ck_assert(is_later_found(damage, 900, &later));
    ck_assert_uint_eq(later.sequence, 1000);
    ck_assert(is_later_found(damage, 0, &later));
    ck_assert_uint_eq(later.sequence, 10);
}
END_TEST

START_TEST(records_of_other_kinds_are_refused_and_not_taken_for_damage)
{
    for (uint8_t kind = 5; kind < 12; kind++) {
        struct rdb_log_record record;
        enum rdb_log_found found;
        struct errbuf eb = {{0}};
        base_buf_truncate(&made.bytes, 0);
        maker_fragment(&made.bytes, kind, SLICE_LIT("\1\0\0\0more"));
        if (kind <= 8) /* the log's number is not counted */
            made.bytes.ptr[4] -= 4;
        log_write(base_buf_slice(&made.bytes));
        struct rdb_log_file *f = open_log();
        ck_assert_int_eq(sto_rdb_log_next(f, NULL, &found, &record, &eb), ERR_UNSUPPORTED);
        ck_assert_ptr_nonnull(strstr(eb.text, "never writes"));
        sto_rdb_log_close(f);
        made.bytes.ptr[9] ^= 1; /* damage, then */
        log_write(base_buf_slice(&made.bytes));
        f = open_log();
        ck_assert_int_eq(sto_rdb_log_next(f, NULL, &found, &record, &eb), ERR_OK);
        ck_assert_int_eq(found, RDB_LOG_DAMAGE);
        sto_rdb_log_close(f);
    }
}
END_TEST

START_TEST(fragments_that_do_not_follow_are_damage)
{
    static const struct {
        uint8_t kinds[4]; /* 2 fills its block; 0: no more */
        uint64_t sound;   /* records before the damage */
        bool has_later;
    } CASES[] = {
        {{3, 1}, 0, true},    {{4, 1}, 0, true},    {{2}, 0, false},          {{2, 1}, 0, true},
        {{2, 2, 4}, 0, true}, {{1, 4, 1}, 1, true}, {{1, 3, 4, 0}, 1, false},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        static uint8_t payload[MAKER_BLOCK];
        struct rdb_log_file *f = NULL;
        struct rdb_log_record record;
        enum rdb_log_found found = RDB_LOG_RECORD;
        uint64_t sound = 0;
        base_buf_truncate(&made.bytes, 0);
        for (size_t k = 0; k < 4 && CASES[i].kinds[k] != 0; k++) {
            size_t left = MAKER_BLOCK - made.bytes.len % MAKER_BLOCK - MAKER_HEAD;
            payload[0] = (uint8_t)(k + 1); /* the sequence */
            maker_fragment(&made.bytes, CASES[i].kinds[k],
                           base_slice(payload, CASES[i].kinds[k] == 2 ? left : 20));
        }
        log_write(base_buf_slice(&made.bytes));
        f = open_log();
        while (found == RDB_LOG_RECORD) {
            ck_assert_int_eq(sto_rdb_log_next(f, NULL, &found, &record, NULL), ERR_OK);
            sound += found == RDB_LOG_RECORD;
        }
        sto_rdb_log_close(f);
        ck_assert_msg(found == RDB_LOG_DAMAGE && sound == CASES[i].sound, "case %zu", i);
        bool later = is_later_found(record.offset, sound, &record);
        ck_assert_msg(later == CASES[i].has_later, "case %zu", i);
    }
}
END_TEST

static void assert_log_is(struct slice wanted)
{
    uint8_t *is = base_new(wanted.len + 1);
    ck_assert_int_eq(pread(made.fd, is, wanted.len + 1, 0), (ssize_t)wanted.len);
    ck_assert(base_slice_equal(base_slice(is, wanted.len), wanted));
    base_free(is);
}

/* Empty ones, ones that end with a block or just before, and ones that go over several. */
START_TEST(appended_records_are_as_rocksdb_writes_them)
{
    static const size_t sizes[] = {0,     1, 100, MAKER_BLOCK - 140, MAKER_BLOCK - MAKER_HEAD,
                                   70000, 5, 300, MAKER_BLOCK};
    static uint8_t payload[70000];
    struct slice records[3] = {{NULL, 0}};
    for (size_t i = 0; i < sizeof payload; i++)
        payload[i] = (uint8_t)(i * 7 + i / 251);
    log_write(SLICE_LIT("what was there before is cut off"));
    for (size_t i = 0; i < RECORDS; i++) {
        uint64_t end = made.bytes.len;
        for (size_t k = 0; k < 3; k++) {
            records[k] =
                base_slice(payload + i, sizes[(i * 5 + k) % (sizeof sizes / sizeof *sizes)]);
            records[k].len -= records[k].len == sizeof payload ? i : 0;
            maker_record(&made.bytes, records[k]);
        }
        ck_assert_int_eq(sto_rdb_log_append(made.path, end, records, 3, NULL), ERR_OK);
        assert_log_is(base_buf_slice(&made.bytes));
    }
    base_buf_truncate(&made.bytes, made.bytes.len / 2);
    ck_assert_int_eq(sto_rdb_log_append(made.path, made.bytes.len, NULL, 0, NULL), ERR_OK);
    assert_log_is(base_buf_slice(&made.bytes));
    ck_assert_int_eq(sto_rdb_log_append("/proc/self/fd/none", 0, NULL, 0, NULL), ERR_NOT_FOUND);
}
END_TEST

START_TEST(a_missing_file_is_not_found)
{
    struct rdb_log_file *f = NULL;
    ck_assert_int_eq(sto_rdb_log_open("/proc/self/fd/none", &f, NULL), ERR_NOT_FOUND);
    log_write(SLICE_LIT(""));
    enum rdb_log_found end;
    uint64_t at = 1;
    ck_assert_uint_eq(records_read(&end, &at), 0);
    ck_assert_int_eq(end, RDB_LOG_END);
    ck_assert_uint_eq(at, 0);
}
END_TEST

Suite *suite_storage_log_file(void)
{
    Suite *s = suite_create("storage_log_file");
    TCase *t = tcase_create("log_file");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, all_records_of_a_sound_log_are_returned);
    tcase_add_test(t, payloads_are_put_together);
    tcase_add_test(t, a_cut_is_an_end_between_records_and_damage_inside_one);
    tcase_add_test(t, zeros_at_the_end_are_the_end_and_a_hole_is_damage);
    tcase_add_test(t, a_flipped_bit_is_damage_of_its_record_and_later_ones_are_found);
    tcase_add_test(t, a_sequence_that_cannot_follow_is_no_later_record);
    tcase_add_test(t, records_of_other_kinds_are_refused_and_not_taken_for_damage);
    tcase_add_test(t, fragments_that_do_not_follow_are_damage);
    tcase_add_test(t, appended_records_are_as_rocksdb_writes_them);
    tcase_add_test(t, a_missing_file_is_not_found);
    suite_add_tcase(s, t);
    return s;
}
