/*
 * tests/storage/test_engine_crash.c - killed, damaged, behind its witness.
 *
 * RocksDB's background threads do not survive a fork, so this process never opens an engine in the
 * kill tests: one child writes and is killed, another one looks.
 * Over 500 lines because all damage is done to what the same writers left.
 */
#include "fixture.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "storage/rocksdb/rdb.h"
#include "storage/rocksdb/witness.h"

#include "base/banned.h"

Suite *suite_storage_engine_crash(void);

#define T &fix.tables[0][0]

static struct rdb_witness witness(void)
{
    struct rdb_witness w;
    ck_assert_int_eq(sto_rdb_witness_read(fix.dir, &w, NULL), ERR_OK);
    return w;
}

/* --- kill -9 --------------------------------------------------------------------------------- */

enum { WRITERS = 63 /* a multiple of FIX_TENANTS */, CYCLES = 6 };

struct writer {
    struct sto_mutate_op op;
    struct sto_mutation mutations[2];
    char row[24];
    uint32_t number;
    bool refused; /* a slow disk may: it comes again */
    bool done;
};

static struct writer writers[WRITERS];
static int ack_fd;
static uint32_t next_number;
static int refused_count;

static void writer_go(struct writer *w);

static void writer_done(struct sto_mutate_op *op)
{
    struct writer *w = (struct writer *)op;
    if (op->result == ERR_OVERLOADED) {
        refused_count += !w->refused;
        w->refused = true;
        (void)usleep(1000);
        sto_mutate_row(fix.engine, op);
        return;
    }
    if (op->result != ERR_OK)
        _exit(100 + (int)op->result); /* tells which */
    if (write(ack_fd, &w->number, sizeof(w->number)) != sizeof(w->number))
        _exit(3);
    refused_count -= w->refused;
    w->refused = false;
    w->done = true;
    /* No delete overtakes its row: while one is refused no other begins. */
    for (int i = 0; refused_count == 0 && i < WRITERS; i++)
        if (writers[i].done)
            writer_go(&writers[i]);
}

/* Two cells in a new row; every third operation deletes an earlier row instead. */
static void writer_go(struct writer *w)
{
    w->number = next_number++;
    w->done = false;
    bool deletes = w->number % 3 == 2;
    (void)snprintf(w->row, sizeof(w->row), "%08u",
                   deletes ? w->number - 2 - 3 * WRITERS : w->number);
    w->mutations[0] = fix_set(1, "a", 1000, base_slice_text(w->row));
    w->mutations[1] = fix_set(2, "b", 1000, base_slice_text(w->row));
    if (deletes)
        w->mutations[0] = (struct sto_mutation){.kind = STO_DELETE_FROM_ROW};
    w->op = (struct sto_mutate_op){.scope = fix.tables[w->number / 3 % FIX_TENANTS][0],
                                   .row_key = base_slice_text(w->row),
                                   .mutations = w->mutations,
                                   .mutation_count = deletes ? 1 : 2,
                                   .reply_to = &fix.mailbox,
                                   .done = writer_done};
    sto_mutate_row(fix.engine, &w->op);
}

static _Noreturn void child_write(uint32_t first)
{
    fix.options.memtable_bytes = 128 * KIB; /* flushes and compactions are interrupted, too */
    fix_open();
    next_number = first;
    for (int i = 0; i < WRITERS; i++)
        writer_go(&writers[i]);
    for (;;) {
        base_mailbox_wait(&fix.mailbox, 1000);
        (void)base_mailbox_run(&fix.mailbox);
    }
}

static _Noreturn void child_look(const uint8_t *acked, uint32_t count)
{
    fix_open();
    for (uint32_t n = 0; n < count; n++) {
        bool deleted = n + 2 + 3 * WRITERS < count && acked[n + 2 + 3 * WRITERS] && n % 3 == 0;
        if (!acked[n] || n % 3 == 2)
            continue;
        if (n % 3 == 0 && !deleted)
            continue; /* its delete may or may not be there */
        char row[24], wanted[128];
        (void)snprintf(row, sizeof(row), "%08u", n);
        (void)snprintf(wanted, sizeof(wanted), "%s{f:a@1000=%s,gg:b@1000=%s,}", row, row, row);
        struct sto_read_spec spec = {.row_key = base_slice_text(row)};
        struct fix_sink s;
        fix_sink_init(&s);
        if (fix_read(&fix.tables[n / 3 % FIX_TENANTS][0], &spec, &s, true) != ERR_OK)
            _exit(4);
        if (strcmp((const char *)s.text.ptr, deleted ? "" : wanted) != 0)
            _exit(5);
        base_buf_fini(&s.text);
    }
    for (size_t i = 0; i < FIX_TENANTS; i++)
        fix_assert_no_drift(i);
    fix_close();
    _exit(0);
}

static uint32_t read_acks(int fd, uint8_t *acked, uint32_t max, uint32_t known)
{
    uint32_t n;
    while (read(fd, &n, sizeof(n)) == sizeof(n)) {
        ck_assert_uint_lt(n, max);
        acked[n] = 1;
        if (n + 1 > known)
            known = n + 1;
    }
    return known;
}

START_TEST(acknowledged_writes_survive_kill_9)
{
    enum { MAX = 4000000 };
    uint8_t *acked = base_new(MAX);
    uint32_t known = 3 * WRITERS + 3;
    for (int cycle = 0; cycle < CYCLES; cycle++) {
        int fds[2];
        ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
        ck_assert_int_eq(fcntl(fds[1], F_SETPIPE_SZ, 1 << 20) > 0, 1);
        uint32_t first = (known + 2 * WRITERS) / 3 * 3;
        pid_t writer = fork();
        if (writer == 0) {
            ack_fd = fds[1];
            child_write(first);
        }
        (void)close(fds[1]);
        struct pollfd acks = {.fd = fds[0], .events = POLLIN};
        ck_assert_int_eq(poll(&acks, 1, process_await_ms()), 1); /* it has begun */
        (void)usleep(50000 + 70000 * (useconds_t)cycle);
        ck_assert_int_eq(kill(writer, SIGKILL), 0);
        int status = 0;
        ck_assert_int_eq(waitpid(writer, &status, 0), writer);
        ck_assert_msg(WIFSIGNALED(status), "the writer ended by itself: %d", status);
        uint32_t before = known;
        known = read_acks(fds[0], acked, MAX, known);
        (void)close(fds[0]);
        ck_assert_uint_gt(known, before);
        pid_t looker = fork();
        if (looker == 0)
            child_look(acked, known);
        ck_assert_int_eq(waitpid(looker, &status, 0), looker);
        ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the look ended with %d",
                      WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    }
    base_free(acked);
}
END_TEST

/* --- witness --------------------------------------------------------------------------------- */

static void assert_refused(enum err wanted, const char *about)
{
    struct errbuf eb = {{0}};
    ck_assert_int_eq(fix_try_open(&eb), wanted);
    ck_assert_msg(strstr(eb.text, about) != NULL, "%s", eb.text);
    fix.engine = NULL;
}

static bool witness_reaches(void *sequence)
{
    return witness().sequence >= *(const uint64_t *)sequence;
}

static void close_only(void)
{
    fix_close();
}

START_TEST(the_witness_follows_soon_and_at_close)
{
    uint64_t at_open = witness().sequence;
    ck_assert_int_eq(fix_put(T, "row", "v"), ERR_OK);
    struct sto_health health;
    sto_health_get(fix.engine, &health);
    ck_assert_uint_gt(health.sequence, at_open);
    process_await(witness_reaches, &health.sequence, "the witness");
    ck_assert_uint_eq(witness().sequence, health.sequence);
    ck_assert_int_eq(fix_put(T, "row2", "v"), ERR_OK);
    sto_health_get(fix.engine, &health);
    close_only();
    ck_assert_uint_eq(witness().sequence, health.sequence);
    ck_assert(!witness().adopting);
    fix_open();
}
END_TEST

START_TEST(a_database_behind_its_witness_is_refused)
{
    ck_assert_int_eq(fix_put(T, "row", "v"), ERR_OK);
    close_only();
    struct rdb_witness w = witness();
    w.sequence++;
    ck_assert_int_eq(sto_rdb_witness_write(fix.dir, &w, NULL), ERR_OK);
    assert_refused(ERR_CORRUPT, "it lost writes; restore a backup");
    w.sequence--;
    ck_assert_int_eq(sto_rdb_witness_write(fix.dir, &w, NULL), ERR_OK);
    fix_open();
    fix_assert_no_drift(0);
}
END_TEST

START_TEST(a_lost_witness_or_database_is_refused)
{
    ck_assert_int_eq(fix_put(T, "row", "v"), ERR_OK);
    close_only();
    char path[300], db[300], away[300];
    (void)snprintf(path, sizeof(path), "%s/witness", fix.dir);
    (void)snprintf(db, sizeof(db), "%s/db", fix.dir);
    (void)snprintf(away, sizeof(away), "%s/away", fix.dir);
    struct rdb_witness w = witness();
    ck_assert_int_eq(unlink(path), 0);
    assert_refused(ERR_CORRUPT, "witness file is missing");
    ck_assert_int_eq(sto_rdb_witness_write(fix.dir, &w, NULL), ERR_OK);
    ck_assert_int_eq(rename(db, away), 0);
    assert_refused(ERR_CORRUPT, "but no database");
    ck_assert_int_eq(mkdir(db, 0700), 0);
    assert_refused(ERR_CORRUPT, "but no database");
    ck_assert_int_eq(rmdir(db), 0);
    ck_assert_int_eq(rename(away, db), 0);
    ck_assert_int_eq(base_file_replace(path, SLICE_LIT("nonsense"), 0600, NULL), ERR_OK);
    assert_refused(ERR_CORRUPT, "not a witness");
    ck_assert_int_eq(sto_rdb_witness_write(fix.dir, &w, NULL), ERR_OK);
    fix_open();
}
END_TEST

START_TEST(every_flipped_bit_of_a_witness_is_noticed)
{
    close_only();
    char path[300];
    (void)snprintf(path, sizeof(path), "%s/witness", fix.dir);
    struct buf text;
    ck_assert_int_eq(base_file_read(path, 1024, &text, NULL), ERR_OK);
    for (size_t i = 0; i < text.len; i++) {
        text.ptr[i] ^= (uint8_t)(1u << (i % 8));
        ck_assert_int_eq(base_file_replace(path, base_buf_slice(&text), 0600, NULL), ERR_OK);
        struct rdb_witness w;
        ck_assert_int_eq(sto_rdb_witness_read(fix.dir, &w, NULL), ERR_CORRUPT);
        text.ptr[i] ^= (uint8_t)(1u << (i % 8));
    }
    ck_assert_int_eq(base_file_replace(path, base_buf_slice(&text), 0600, NULL), ERR_OK);
    base_buf_fini(&text);
    fix_open();
}
END_TEST

/* Acknowledged writes that are only in the log, by a child that leaves without a close. */
static void write_log_only(int rows)
{
    pid_t writer = fork();
    if (writer == 0) {
        fix_open();
        for (int i = 0; i < rows; i++) {
            char row[24];
            (void)snprintf(row, sizeof(row), "row%05d", i);
            if (fix_put(T, row, "value") != ERR_OK)
                _exit(1);
        }
        struct sto_health health;
        sto_health_get(fix.engine, &health);
        process_await(witness_reaches, &health.sequence, "the witness");
        _exit(0);
    }
    int status = 0;
    ck_assert_int_eq(waitpid(writer, &status, 0), writer);
    ck_assert_int_eq(status, 0);
}

/* The path of the largest log. */
static void log_path(char out[600])
{
    char db[300];
    (void)snprintf(db, sizeof(db), "%s/db", fix.dir);
    DIR *d = opendir(db);
    ck_assert_ptr_nonnull(d);
    off_t largest = 0;
    for (const struct dirent *e; (e = readdir(d)) != NULL;) {
        size_t len = strlen(e->d_name);
        char path[600];
        struct stat st;
        (void)snprintf(path, sizeof(path), "%s/%s", db, e->d_name);
        if (len < 4 || strcmp(e->d_name + len - 4, ".log") != 0 || stat(path, &st) != 0 ||
            st.st_size <= largest)
            continue;
        largest = st.st_size;
        memcpy(out, path, strlen(path) + 1);
    }
    (void)closedir(d);
    ck_assert_int_gt(largest, 0);
}

START_TEST(a_deleted_log_is_noticed)
{
    char path[600];
    write_log_only(20);
    log_path(path);
    ck_assert_int_eq(unlink(path), 0);
    assert_refused(ERR_CORRUPT, "it lost writes");
    ck_assert_int_eq(sto_rocksdb_adopt(fix.dir, NULL), ERR_OK); /* on purpose, then */
    fix_open();
    ck_assert(!witness().adopting);
}
END_TEST

START_TEST(damage_in_the_middle_of_the_log_is_refused)
{
    char path[600];
    struct buf b;
    write_log_only(200);
    log_path(path);
    ck_assert_int_eq(base_file_read(path, 64 * MIB, &b, NULL), ERR_OK);
    b.ptr[b.len / 2] ^= 4;
    ck_assert_int_eq(base_file_replace(path, base_buf_slice(&b), 0600, NULL), ERR_OK);
    base_buf_fini(&b);
    ck_assert_int_eq(sto_rocksdb_adopt(fix.dir, NULL), ERR_OK); /* not by the witness, then */
    assert_refused(ERR_CORRUPT, "a later write follows");
}
END_TEST

START_TEST(a_torn_tail_is_accepted_when_nothing_acknowledged_was_in_it)
{
    char path[600];
    struct stat st;
    write_log_only(200);
    log_path(path);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_int_eq(truncate(path, st.st_size - 3), 0);
    assert_refused(ERR_CORRUPT, "it lost writes"); /* this one was */
    struct rdb_witness w = witness();
    w.sequence -= 3; /* header, cell and counters of the last one */
    ck_assert_int_eq(sto_rdb_witness_write(fix.dir, &w, NULL), ERR_OK);
    fix_open();
    ck_assert_uint_eq(sto_counters_read(&fix.accounts[0].total).rows, 199);
    fix_assert_no_drift(0);
}
END_TEST

START_TEST(a_crash_while_the_database_is_made_is_repeated)
{
    close_only();
    char db[300], current[320];
    (void)snprintf(db, sizeof(db), "%s/db", fix.dir);
    (void)snprintf(current, sizeof(current), "%s/CURRENT", db);
    struct rdb_witness w = {.adopting = true};
    ck_assert_int_eq(nftw(db, fix_remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
    ck_assert_int_eq(sto_rdb_witness_write(fix.dir, &w, NULL), ERR_OK);
    fix_open(); /* died after the witness */
    close_only();
    ck_assert_int_eq(sto_rdb_witness_write(fix.dir, &w, NULL), ERR_OK);
    fix_open(); /* died after the database */
    ck_assert(!witness().adopting);
}
END_TEST

START_TEST(a_newer_layout_is_refused)
{
    struct rdb_db *db = &sto_rdb_engine(fix.engine)->db;
    char *error = NULL;
    rocksdb_put_cf(db->handle, db->synced, db->meta, "!layout", 7, "2", 1, &error);
    ck_assert_ptr_null(error);
    close_only();
    assert_refused(ERR_UNSUPPORTED, "newer version");
}
END_TEST

START_TEST(a_damaged_table_file_is_an_error_and_does_not_latch)
{
    static char value[2000];
    uint32_t dice = 1; /* so that it cannot be compressed */
    for (size_t i = 0; i < sizeof(value) - 1; i++) {
        dice = dice * 1664525u + 1013904223u;
        value[i] = (char)('!' + (dice >> 16) % 90);
    }
    for (int i = 0; i < 200; i++) {
        char row[24];
        (void)snprintf(row, sizeof(row), "%05d", i);
        ck_assert_int_eq(fix_put(T, row, value), ERR_OK);
    }
    close_only();
    char db[300];
    (void)snprintf(db, sizeof(db), "%s/db", fix.dir);
    DIR *d = opendir(db);
    ck_assert_ptr_nonnull(d);
    for (const struct dirent *e; (e = readdir(d)) != NULL;) {
        char path[600];
        struct buf b;
        size_t len = strlen(e->d_name);
        (void)snprintf(path, sizeof(path), "%s/%s", db, e->d_name);
        if (len < 4 || strcmp(e->d_name + len - 4, ".sst") != 0)
            continue;
        ck_assert_int_eq(base_file_read(path, 64 * MIB, &b, NULL), ERR_OK);
        if (b.len > 20000) {
            b.ptr[b.len / 2] ^= 1;
            ck_assert_int_eq(base_file_replace(path, base_buf_slice(&b), 0600, NULL), ERR_OK);
        }
        base_buf_fini(&b);
    }
    (void)closedir(d);
    fix_open();
    struct fix_sink s;
    fix_sink_init(&s);
    ck_assert_int_eq(fix_read(T, &(struct sto_read_spec){0}, &s, true), ERR_CORRUPT);
    base_buf_fini(&s.text);
    struct sto_health health;
    sto_health_get(fix.engine, &health);
    ck_assert(!health.failed);
    ck_assert_int_eq(fix_put(T, "x", "v"), ERR_OK);
}
END_TEST

static bool a_flush_has_begun(void)
{
    const struct rdb_db *db = &sto_rdb_engine(fix.engine)->db;
    uint64_t waiting = 0;
    (void)rocksdb_property_int_cf(db->handle, db->cells, "rocksdb.num-immutable-mem-table",
                                  &waiting);
    return waiting > 0;
}

/* And no write meets that. */
START_TEST(a_flush_that_fails_latches)
{
    for (int i = 5; i < 60; i++) { /* in the way of the next table files */
        char path[300];
        (void)snprintf(path, sizeof(path), "%s/db/%06d.sst", fix.dir, i);
        ck_assert_int_eq(mkdir(path, 0700), 0);
    }
    static char value[100000];
    memset(value, 'v', sizeof(value) - 1);
    struct sto_health health = {0};
    for (int i = 0; i < 400 && !a_flush_has_begun(); i++) {
        char row[24];
        (void)snprintf(row, sizeof(row), "%05d", i);
        ck_assert_int_eq(fix_put(T, row, value), ERR_OK);
    }
    fix_await_failure();
    sto_health_get(fix.engine, &health);
    ck_assert_msg(strstr(health.reason, "Is a directory") != NULL, "%s", health.reason);
    ck_assert_int_eq(fix_put(T, "x", "v"), ERR_UNAVAILABLE);
}
END_TEST

START_TEST(a_second_engine_cannot_have_the_same_directory)
{
    struct sto_engine *second = NULL;
    struct errbuf eb = {{0}};
    ck_assert_int_eq(sto_rocksdb_open(&fix.options, &second, &eb), ERR_LOCKED);
    ck_assert_ptr_null(second);
    ck_assert_int_eq(fix_put(T, "row", "v"), ERR_OK);
}
END_TEST

Suite *suite_storage_engine_crash(void)
{
    Suite *s = suite_create("storage_engine_crash");
    TCase *t = tcase_create("kill");
    tcase_add_checked_fixture(t, fix_prepare, fix_teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, acknowledged_writes_survive_kill_9);
    tcase_add_test(t, a_deleted_log_is_noticed);
    tcase_add_test(t, damage_in_the_middle_of_the_log_is_refused);
    tcase_add_test(t, a_torn_tail_is_accepted_when_nothing_acknowledged_was_in_it);
    suite_add_tcase(s, t);
    t = tcase_create("witness");
    tcase_add_checked_fixture(t, fix_setup, fix_teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, the_witness_follows_soon_and_at_close);
    tcase_add_test(t, a_database_behind_its_witness_is_refused);
    tcase_add_test(t, a_lost_witness_or_database_is_refused);
    tcase_add_test(t, every_flipped_bit_of_a_witness_is_noticed);
    tcase_add_test(t, a_crash_while_the_database_is_made_is_repeated);
    tcase_add_test(t, a_newer_layout_is_refused);
    suite_add_tcase(s, t);
    t = tcase_create("damage");
    /* Alone: all files are damaged, and the numbers of the next ones are known. */
    tcase_add_checked_fixture(t, fix_setup_alone, fix_teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_damaged_table_file_is_an_error_and_does_not_latch);
    tcase_add_test(t, a_flush_that_fails_latches);
    tcase_add_test(t, a_second_engine_cannot_have_the_same_directory);
    suite_add_tcase(s, t);
    return s;
}
