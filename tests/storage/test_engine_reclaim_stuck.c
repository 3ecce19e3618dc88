/*
 * tests/storage/test_engine_reclaim_stuck.c - a damaged file that cannot be rewritten keeps its own
 * bytes, and nobody else's.
 *
 * The files stay open, so a footer that is damaged under them is no error of reads. But the thread
 * that examines a damaged file reads all of it, and with such a footer it leaves no block out
 * (damage.c, 3): the compactions of that file fail.
 */
#include "fixture.h"

#include "storage/rocksdb/ranges.h"
#include "tests/storage/damaged.h"
#include "tests/storage/drops.h"

#include "base/banned.h"

Suite *suite_storage_engine_reclaim_stuck(void);

enum { ROWS = 300, HIT = 150 };

/* The file of row HIT of the first tenant, and rows at both ends of it. */
static struct stuck_file {
    char path[600];
    off_t data; /* of a byte in the block of its first row */
    off_t footer;
    int first;
    int last;
} stuck;

static void stuck_file_find(void)
{
    char db[300], value[DAMAGED_VALUE + 1];
    struct stat st;
    (void)snprintf(db, sizeof db, "%.250s/db", fix.dir);
    damaged_file_of(db, 0, HIT, 1, stuck.path);
    ck_assert_int_eq(stat(stuck.path, &st), 0);
    stuck.footer = st.st_size - 1;
    stuck.first = ROWS;
    for (int i = 0; i < ROWS; i++) {
        damaged_value(value, 0, i, 1);
        off_t at = damaged_find(stuck.path, value);
        if (at < 0)
            continue;
        if (stuck.first == ROWS) {
            stuck.first = i;
            stuck.data = at + DAMAGED_VALUE / 2;
        }
        stuck.last = i;
    }
    ck_assert_int_ge(stuck.last - stuck.first, 20); /* in other blocks */
}

/* Damages the file, or repairs it. */
static void stuck_file_flip(void)
{
    damaged_byte_flip(stuck.path, stuck.data);
    damaged_byte_flip(stuck.path, stuck.footer);
}

static void setup_after(uint64_t reclaim_after_s)
{
    fix_prepare_beside(); /* all stored keys of the tables are counted */
    fix.options.reclaim_after_s = reclaim_after_s;
    fix_open();
    damaged_put(0, 0, ROWS, 1);
    damaged_put(1, 0, ROWS, 1);
    fix_flush();
    sto_rdb_range_compact(engine(), RDB_CF_CELLS, SLICE_LIT("ab#"), SLICE_LIT("b-0$"));
    ck_assert_int_eq(sto_rdb_compactions_check(engine(), NULL), ERR_OK);
    wait_until_idle();
    engine()->options.drop_range_cells = 0; /* everything goes as a range */
    stuck_file_find();
}

static void setup(void)
{
    setup_after(3600);
}

static void setup_impatient(void)
{
    setup_after(1);
}

/* Rows [from, to). */
static void drop(size_t tenant, int from, int to)
{
    char start[16], end[16];
    struct sto_usage removed;
    damaged_row_key(start, from);
    damaged_row_key(end, to);
    const struct sto_row_range range = {.start = base_slice_text(start),
                                        .end = base_slice_text(end)};
    ck_assert_int_eq(fix_drop(&fix.tables[tenant][0], range, 0, &removed), ERR_OK);
    ck_assert_int_eq((int)removed.rows, to - from);
}

static struct sto_damage damage_now(void)
{
    struct sto_damage damage;
    sto_damage_get(fix.engine, &damage);
    return damage;
}

static bool has_tombstones(void)
{
    struct sto_engine_stats stats;
    sto_engine_stats_get(fix.engine, &stats);
    return stats.range_tombstones;
}

/* A round was over that left a note. */
static bool is_kept(void *arg)
{
    (void)arg;
    damaged_assert_sound();
    return notes_due().now == 0 && notes_due().later == 1 &&
           damage_now().reclaim_stuck.text[0] != '\0';
}

static bool is_stored(size_t tenant, int row)
{
    char value[DAMAGED_VALUE + 1];
    damaged_value(value, tenant, row, 1);
    return files_hold(fix.dir, value);
}

/* Of the second tenant. */
static bool is_gone(void *row)
{
    return !is_stored(1, *(int *)row);
}

START_TEST(the_notes_of_other_files_are_worked_on)
{
    char wanted[100];
    stuck_file_flip();
    drop(0, stuck.last, stuck.last + 1);
    process_await(is_kept, NULL, "the note of the damaged file to be kept");
    (void)snprintf(wanted, sizeof wanted, "table file %s is damaged and cannot be rewritten",
                   strrchr(stuck.path, '/') + 1);
    ck_assert_str_eq(damage_now().reclaim_stuck.text, wanted);
    for (int row = 100; row < 150; row += 20) {
        drop(1, row, row + 10);
        process_await(is_gone, &row, "bytes in sound files to go");
        process_await(is_kept, NULL, "the one note to be left");
    }
    ck_assert_uint_eq(physical_keys(&fix.tables[1][0]), 2 * (ROWS - 30));
    ck_assert(is_stored(0, stuck.last));
    fix_assert_no_drift(1);
}
END_TEST

/* Both notes are there when a round begins, with rows of several files between them. */
START_TEST(a_round_with_notes_of_both_goes_round_the_file)
{
    sto_rocksdb_test_hold_at(fix.engine, STO_DIE_FORGOTTEN);
    damaged_put(0, 200, ROWS, 2);
    drop(1, 10, 12);
    fix_await_held();
    stuck_file_flip();
    drop(0, stuck.last, stuck.last + 1);
    drop(1, 200, 210);
    ck_assert_uint_eq(notes_due().now, 2);
    sto_rocksdb_test_hold_at(fix.engine, STO_DIE_NEVER);
    process_await(is_kept, NULL, "the note of the damaged file to be kept");
    int row = 205;
    process_await(is_gone, &row, "bytes in sound files to go");
}
END_TEST

/* Nothing wakes the thread after the file is sound again. */
START_TEST(the_file_is_tried_again_after_a_pause)
{
    stuck_file_flip();
    drop(0, stuck.last, stuck.last + 1);
    process_await(is_kept, NULL, "the note of the damaged file to be kept");
    stuck_file_flip();
    wait_until_idle();
    ck_assert(!is_stored(0, stuck.last));
    ck_assert_uint_eq(notes_for_later(), 0);
    ck_assert(!note_is_there());
    ck_assert(!has_tombstones());
    ck_assert_str_eq(damage_now().reclaim_stuck.text, "");
    ck_assert_uint_eq(physical_keys(&fix.tables[0][0]), 2 * (ROWS - 1));
    for (int i = 0; i < stuck.last; i++)
        ck_assert_int_eq(damaged_read(0, i, false), ERR_OK);
    fix_assert_no_drift(0);
}
END_TEST

/* A note that an earlier program wrote has no time when it is due. */
START_TEST(a_note_of_an_earlier_program_is_kept_for_later)
{
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    uint8_t sequence[8] = {0};
    stuck_file_flip();
    rocksdb_writebatch_put_cf(batch, engine()->db.meta, "r/ab/t", 6, (const char *)sequence,
                              sizeof sequence);
    (void)damaged_read(0, stuck.first, false);
    ck_assert(sto_rdb_damage_wait(engine()));
    ck_assert_int_eq(sto_rdb_write(engine(), batch), ERR_OK);
    rocksdb_writebatch_destroy(batch);
    sto_rdb_reclaim_wake(&engine()->reclaim);
    process_await(is_kept, NULL, "the note of the damaged file to be kept");
}
END_TEST

/* --- documents -------------------------------------------------------------------------------- */

enum { DOCUMENTS = 4 };

static void document_make(int number, char key[8], char body[20 * KIB])
{
    (void)snprintf(key, 8, "p/%d", number);
    for (size_t at = 0; at + DAMAGED_VALUE < 20 * KIB; at += DAMAGED_VALUE)
        damaged_value(body + at, (size_t)number, (int)at, 9);
}

/* The documents are behind the notes and before the counters: a compaction of the notes that ends
 * in their file reads them. */
static void documents_fill(void)
{
    for (int i = 0; i < DOCUMENTS; i++) {
        char key[8];
        static char body[20 * KIB];
        document_make(i, key, body);
        struct sto_doc_change doc = {
            .key = base_slice_text(key), .body = base_slice_text(body), .expect = STO_DOC_ABSENT};
        ck_assert_int_eq(sto_docs_commit(fix.engine, &doc, 1, NULL), ERR_OK);
    }
    ck_assert_int_eq(sto_rdb_flush(engine()), ERR_OK);
    sto_rdb_range_compact(engine(), RDB_CF_META, SLICE_LIT("!"), SLICE_LIT("z"));
    ck_assert_int_eq(sto_rdb_compactions_check(engine(), NULL), ERR_OK);
}

static bool clears_beside_stuck_meta(void *arg)
{
    (void)arg;
    damaged_assert_sound();
    return !has_tombstones() && damage_now().reclaim_stuck.text[0] != '\0';
}

/* The notes' own bytes cannot be rewritten: bytes of rows go all the same. */
START_TEST(damaged_documents_are_in_the_way_of_the_notes_alone)
{
    char db[300], path[600], value[DAMAGED_VALUE + 1];
    documents_fill();
    (void)snprintf(db, sizeof db, "%.250s/db", fix.dir);
    damaged_file_of(db, DOCUMENTS - 1, 10 * DAMAGED_VALUE, 9, path);
    damaged_value(value, DOCUMENTS - 1, 10 * DAMAGED_VALUE, 9);
    damaged_byte_flip(path, damaged_find(path, value) + DAMAGED_VALUE / 2);
    for (int row = 100; row < 150; row += 20) {
        drop(1, row, row + 10);
        process_await(is_gone, &row, "bytes of rows to go");
        process_await(clears_beside_stuck_meta, NULL, "range tombstones to go");
        ck_assert(!note_is_there());
        ck_assert_uint_eq(notes_for_later(), 0);
    }
}
END_TEST

Suite *suite_storage_engine_reclaim_stuck(void)
{
    Suite *s = suite_create("storage_engine_reclaim_stuck");
    TCase *t = tcase_create("stuck");
    tcase_add_checked_fixture(t, setup, fix_teardown);
    tcase_set_timeout(t, 300);
    tcase_add_test(t, the_notes_of_other_files_are_worked_on);
    tcase_add_test(t, a_round_with_notes_of_both_goes_round_the_file);
    tcase_add_test(t, a_note_of_an_earlier_program_is_kept_for_later);
    tcase_add_test(t, damaged_documents_are_in_the_way_of_the_notes_alone);
    suite_add_tcase(s, t);
    t = tcase_create("impatient");
    tcase_add_checked_fixture(t, setup_impatient, fix_teardown);
    tcase_set_timeout(t, 300);
    tcase_add_test(t, the_file_is_tried_again_after_a_pause);
    suite_add_tcase(s, t);
    return s;
}
