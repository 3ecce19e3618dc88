/*
 * tests/grpc/test_chunk_sink.c - rows in engine order become CellChunks that a strict reader takes.
 *
 * Over 500 lines because whatever is given to the sink is written down beside it and compared at
 * the end: all tests share that, from a single cell to random rows.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "gateway/grpc/chunk_sink.h"
#include "gateway/grpc/rpc.h"
#include "tests/support/chunk_reader.h"
#include "tests/support/random.h"

#include "base/banned.h"

static const struct sto_family FAMILIES[] = {
    {.number = 1, .name = "stats", .name_len = 5},
    {.number = 2, .name = "raw", .name_len = 3},
    {.number = 3, .name = "f", .name_len = 1},
};
#define FAMILY_COUNT 3
#define STATS        (&FAMILIES[0])
#define RAW          (&FAMILIES[1])

static struct buf out;
static struct gw_chunk_sink sink;
static struct chunk_reader reader;
static struct buf expected;
static size_t expected_row; /* where the row under way begins there */

static void set_up(void)
{
    base_buf_init(&out, 512 * MIB);
    base_buf_init(&expected, CHUNK_ROWS_MAX);
    gw_chunk_sink_init(&sink, &out);
    chunk_reader_init(&reader);
}

static void tear_down(void)
{
    gw_chunk_sink_fini(&sink);
    chunk_reader_fini(&reader);
    base_buf_fini(&expected);
    base_buf_fini(&out);
}

/* Of a chunk that says time and value alone, some hundreds of bytes of them: tags, lengths, the
 * time; and commit_row. */
#define LAST_CELL (3 + 3 + 3 + 2)

/* --- driving ----------------------------------------------------------------------------------
 */

static void read_out(void)
{
    ck_assert_int_eq(gw_chunk_sink_error(&sink), ERR_OK);
    ck_assert_uint_eq(chunk_reader_feed(&reader, base_buf_slice(&out)), out.len);
    ck_assert_msg(reader.error == NULL, "%s", reader.error);
}

static void slice_end(void)
{
    struct buf taken = {0};
    gw_chunk_sink_end_slice(&sink);
    read_out();
    base_buf_take(&taken, &out); /* as sending does */
    base_buf_fini(&taken);
    gw_chunk_sink_next_slice(&sink);
}

static void begin(struct slice key)
{
    expected_row = expected.len;
    chunk_rows_begin(&expected, key);
    sink.sink.row_begin(&sink.sink, key);
}

static void labelled(const struct sto_family *family, struct slice qualifier, int64_t timestamp_us,
                     struct slice value, struct slice label)
{
    struct sto_cell c = {family, qualifier, timestamp_us, value, label};
    chunk_rows_cell(&expected, base_slice(family->name, family->name_len), qualifier, timestamp_us,
                    value, label);
    sink.sink.cell(&sink.sink, &c);
}

static void cell(const struct sto_family *family, struct slice qualifier, int64_t timestamp_us,
                 struct slice value)
{
    labelled(family, qualifier, timestamp_us, value, SLICE_EMPTY);
}

static void end(void)
{
    sink.sink.row_end(&sink.sink);
}

static void undo(void)
{
    sink.sink.row_undo(&sink.sink);
    base_buf_truncate(&expected, expected_row);
}

static void small_row(const char *key)
{
    begin(base_slice_text(key));
    cell(STATS, SLICE_LIT("q"), 1000, SLICE_LIT("v"));
    end();
}

/* Everything put in came out. */
static void finish(void)
{
    gw_chunk_sink_end_slice(&sink);
    read_out();
    const char *error = chunk_reader_end(&reader);
    ck_assert_msg(error == NULL, "%s", error);
    ck_assert_uint_eq(reader.row_count, sink.rows);
    ck_assert_uint_eq(reader.rows.len, expected.len);
    ck_assert(base_slice_equal(base_buf_slice(&reader.rows), base_buf_slice(&expected)));
}

/* The first len of always the same random bytes; made when first asked for. */
static struct slice value_of(size_t len)
{
    static uint64_t *words;
    static size_t made;
    static struct random dice = {1};
    if (words == NULL)
        words = base_new_array(LIM_CELL_BYTES_HARD / sizeof(uint64_t), sizeof(uint64_t));
    for (; made * sizeof(uint64_t) < len; made++)
        words[made] = random_next(&dice);
    return base_slice(words, len);
}

/* --- rows --------------------------------------------------------------------------------------
 */

START_TEST(families_columns_and_versions_come_as_they_were)
{
    begin(SLICE_LIT("k"));
    cell(STATS, SLICE_LIT("a"), 2000, SLICE_LIT("new"));
    cell(STATS, SLICE_LIT("a"), 1000, SLICE_LIT("old"));
    cell(STATS, SLICE_LIT("b"), 0, SLICE_EMPTY);
    cell(RAW, SLICE_LIT("b"), INT64_MAX, base_slice("\xff\0", 2));
    end();
    begin(SLICE_LIT("l"));
    cell(RAW, SLICE_LIT("b"), 0, SLICE_LIT("x"));
    end();
    finish();
}
END_TEST

START_TEST(an_empty_qualifier_is_present)
{
    begin(SLICE_LIT("k"));
    cell(STATS, SLICE_EMPTY, 1000, SLICE_LIT("1"));
    cell(RAW, SLICE_EMPTY, 1000, SLICE_LIT("2"));
    cell(RAW, SLICE_LIT("q"), 1000, SLICE_LIT("3"));
    end();
    finish();
}
END_TEST

START_TEST(copies_of_a_cell_are_cells_of_their_own)
{
    begin(SLICE_LIT("k"));
    for (int i = 0; i < 3; i++)
        cell(STATS, SLICE_LIT("q"), 0, SLICE_EMPTY);
    end();
    finish();
}
END_TEST

START_TEST(labels_stand_on_the_first_chunk_of_a_cell)
{
    begin(SLICE_LIT("k"));
    labelled(STATS, SLICE_LIT("q"), 1000, value_of(3 * MIB), SLICE_LIT("a-label"));
    labelled(STATS, SLICE_LIT("q"), 900, SLICE_LIT("v"), SLICE_LIT("other"));
    cell(STATS, SLICE_LIT("q"), 800, SLICE_LIT("v"));
    end();
    finish();
}
END_TEST

START_TEST(small_rows_share_a_message)
{
    char key[16];
    for (int i = 0; i < 1000; i++) {
        (void)snprintf(key, sizeof key, "k%04d", i);
        small_row(key);
    }
    finish();
    ck_assert_uint_eq(reader.message_count, 1);
}
END_TEST

START_TEST(keys_may_fall)
{
    reader.reversed = true;
    small_row("c");
    slice_end();
    small_row("b");
    small_row("a");
    finish();
}
END_TEST

START_TEST(nothing_gives_no_message)
{
    gw_chunk_sink_end_slice(&sink);
    ck_assert_uint_eq(out.len, 0);
    gw_chunk_sink_next_slice(&sink);
    finish();
    ck_assert_uint_eq(reader.message_count, 0);
}
END_TEST

/* --- sizes -------------------------------------------------------------------------------------
 */

/* Around every length at which a varint grows, with and without commit_row. */
START_TEST(chunks_of_any_length_can_be_committed)
{
    static const size_t from[] = {0, 16200, GW_RPC_REPLY_BYTES - 25000};
    static const size_t count[] = {300, 300, 25};
    static const size_t by[] = {1, 1, 1009};
    char key[32];
    for (size_t i = 0; i < 3; i++) {
        for (size_t n = 0; n < count[i]; n++) {
            (void)snprintf(key, sizeof key, "%zu-%04zu", i, n);
            begin(base_slice_text(key));
            cell(STATS, SLICE_LIT("q"), 1000, value_of(from[i] + n * by[i]));
            end();
            if (sink.sink.is_full(&sink.sink))
                slice_end();
        }
    }
    finish();
}
END_TEST

START_TEST(messages_end_before_they_grow_too_large)
{
    char key[16];
    for (int i = 0; i < 300; i++) { /* 30 MB in one slice */
        (void)snprintf(key, sizeof key, "k%04d", i);
        begin(base_slice_text(key));
        cell(STATS, SLICE_LIT("q"), 1000, value_of(100000));
        end();
    }
    finish();
    ck_assert_uint_eq(reader.message_count, 100);
    ck_assert_uint_le(reader.largest_message, GW_CHUNK_MESSAGE_BYTES + 100100);
}
END_TEST

START_TEST(everything_at_its_limit_fits_into_messages)
{
    char name[LIM_FAMILY_NAME + 1];
    struct sto_family family = {.number = 7, .name_len = LIM_FAMILY_NAME};
    memset(name, 'f', sizeof name);
    memcpy(family.name, name, LIM_FAMILY_NAME);
    begin(value_of(LIM_ROW_KEY));
    labelled(&family, value_of(LIM_QUALIFIER), INT64_MAX, value_of(2 * GW_RPC_REPLY_BYTES),
             SLICE_LIT("fifteen-letters"));
    end();
    finish();
}
END_TEST

START_TEST(the_largest_cell_comes_in_parts)
{
    begin(SLICE_LIT("k"));
    cell(STATS, SLICE_LIT("q"), 1000, value_of(LIM_CELL_BYTES_HARD));
    ck_assert(sink.sink.is_full(&sink.sink));
    slice_end();
    ck_assert_uint_eq(reader.message_count, 0); /* the row is not whole */
    cell(STATS, SLICE_LIT("r"), 1000, SLICE_LIT("small"));
    end();
    finish();
    ck_assert_uint_eq(reader.message_count, 1);
    ck_assert_uint_ge(reader.chunk_count, 100);
}
END_TEST

START_TEST(an_output_that_is_full_latches)
{
    gw_chunk_sink_fini(&sink);
    base_buf_fini(&out);
    base_buf_init(&out, 10000);
    gw_chunk_sink_init(&sink, &out);
    small_row("a");
    begin(SLICE_LIT("b"));
    cell(STATS, SLICE_LIT("q"), 1000, value_of(20000));
    ck_assert(sink.sink.is_full(&sink.sink));
    cell(STATS, SLICE_LIT("r"), 1000, value_of(10));
    end();
    gw_chunk_sink_end_slice(&sink);
    ck_assert_int_eq(gw_chunk_sink_error(&sink), ERR_TOO_BIG);
}
END_TEST

/* --- rows that are taken back, slices ----------------------------------------------------------
 */

START_TEST(a_row_taken_back_leaves_nothing)
{
    small_row("a");
    size_t before = out.len;
    begin(SLICE_LIT("b"));
    cell(STATS, SLICE_LIT("q"), 1000, SLICE_LIT("v"));
    cell(RAW, SLICE_LIT("q"), 1000, value_of(3 * MIB));
    undo();
    ck_assert_uint_eq(out.len, before);
    small_row("b");
    finish();
    ck_assert_uint_eq(reader.reset_count, 0);
}
END_TEST

START_TEST(a_row_taken_back_in_a_later_slice_leaves_nothing)
{
    small_row("a");
    begin(SLICE_LIT("b"));
    cell(STATS, SLICE_LIT("q"), 1000, SLICE_LIT("v"));
    cell(STATS, SLICE_LIT("r"), 1000, value_of(3 * MIB));
    for (int i = 0; i < 3; i++) {
        slice_end();
        cell(STATS, SLICE_LIT("s"), 1000, SLICE_LIT("v"));
    }
    undo();
    small_row("b");
    finish();
    ck_assert_uint_eq(reader.message_count, 2);
}
END_TEST

/* Official clients take a row in one message only. */
START_TEST(a_row_of_many_slices_comes_whole)
{
    char qualifier[16];
    small_row("a");
    begin(SLICE_LIT("b"));
    for (int i = 0; i < 50; i++) {
        (void)snprintf(qualifier, sizeof qualifier, "%03d", i);
        cell(STATS, base_slice_text(qualifier), 1000, value_of(200000));
        if (sink.sink.is_full(&sink.sink))
            slice_end();
    }
    ck_assert_uint_eq(reader.message_count, 1); /* that of a */
    end();
    small_row("c");
    finish();
    ck_assert_uint_eq(reader.message_count, 3);
    ck_assert_uint_gt(reader.largest_message, 10000000);
}
END_TEST

START_TEST(a_row_that_no_client_takes_latches)
{
    begin(SLICE_LIT("b"));
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(gw_chunk_sink_error(&sink), ERR_OK);
        cell(STATS, SLICE_LIT("q"), 3000 - 1000 * i, value_of(LIM_CELL_BYTES_HARD));
        gw_chunk_sink_end_slice(&sink);
        gw_chunk_sink_next_slice(&sink);
    }
    ck_assert_int_eq(sink.row.error, ERR_TOO_BIG);
}
END_TEST

/* As a filter's copies of one cell come. */
START_TEST(a_row_too_large_within_its_first_slice_latches)
{
    small_row("a");
    begin(SLICE_LIT("b"));
    for (int i = 0; i < 3; i++)
        cell(STATS, SLICE_LIT("q"), 1000, value_of(LIM_CELL_BYTES_HARD));
    if (_i == 1)
        end();
    ck_assert(sink.sink.is_full(&sink.sink));
    gw_chunk_sink_end_slice(&sink);
    ck_assert_int_eq(gw_chunk_sink_error(&sink), ERR_TOO_BIG);
    ck_assert_int_eq(sink.row.error, ERR_TOO_BIG);
    ck_assert(base_slice_is(base_buf_slice(&sink.row_key), "b"));
}
END_TEST

START_TEST(a_row_too_large_that_is_taken_back_is_no_error)
{
    small_row("a");
    begin(SLICE_LIT("b"));
    for (int i = 0; i < 3; i++)
        cell(STATS, SLICE_LIT("q"), 1000, value_of(LIM_CELL_BYTES_HARD));
    undo();
    ck_assert_int_eq(gw_chunk_sink_error(&sink), ERR_OK);
    small_row("c");
    finish();
}
END_TEST

/* What is counted is the message: its head, and all of its row. */
START_TEST(a_row_may_have_as_many_bytes_as_clients_take)
{
    const size_t around = 8 * KIB; /* the head, tags, lengths, the pieces of large cells */
    size_t left = GW_CHUNK_ROW_BYTES - around;
    begin(SLICE_LIT("b"));
    for (int i = 0; left > 0; i++) {
        size_t len = left < LIM_CELL_BYTES_HARD ? left : LIM_CELL_BYTES_HARD;
        cell(STATS, SLICE_LIT("q"), 9000 - 1000 * i, value_of(len));
        left -= len;
    }
    ck_assert_int_eq(gw_chunk_sink_error(&sink), ERR_OK);
    size_t room = GW_CHUNK_ROW_BYTES - out.len;
    ck_assert_uint_lt(room, around);
    cell(STATS, SLICE_LIT("q"), 1000, value_of(room - LAST_CELL + (size_t)_i));
    ck_assert_int_eq(sink.row.error, _i == 0 ? ERR_OK : ERR_TOO_BIG);
    if (_i == 1)
        return;
    end();
    ck_assert_uint_eq(out.len, GW_CHUNK_ROW_BYTES);
    finish();
}
END_TEST

START_TEST(the_last_cell_waits_for_its_commit_over_slices)
{
    begin(SLICE_LIT("a"));
    cell(STATS, SLICE_LIT("q"), 1000, SLICE_LIT("v"));
    for (int i = 0; i < 3; i++)
        slice_end();
    ck_assert_uint_eq(reader.message_count, 0);
    end();
    finish();
}
END_TEST

/* --- at random ---------------------------------------------------------------------------------
 */

struct cells {
    struct sto_cell cell[40];
    size_t count;
};

static size_t random_len(struct random *dice)
{
    switch (random_below(dice, 200)) {
    case 0:
        return random_below(dice, 3 * MIB);
    case 1:
        return 16300 + random_below(dice, 100);
    case 2:
        return GW_RPC_REPLY_BYTES - random_below(dice, 40000);
    case 3:
        return 0;
    default:
        return random_below(dice, 300);
    }
}

/* In the order of the engine, duplicates and all. */
static void random_cells(struct random *dice, struct cells *cells)
{
    size_t count = 1 + random_below(dice, 40);
    size_t family = random_below(dice, FAMILY_COUNT);
    size_t qualifier = 0;
    cells->count = 0;
    while (cells->count < count) {
        cells->cell[cells->count++] = (struct sto_cell){
            .family = &FAMILIES[family],
            .qualifier = value_of(qualifier),
            .timestamp_us = random_below(dice, 3) == 0 ? 0 : (int64_t)(random_next(dice) >> 1),
            .value = value_of(random_len(dice)),
            .label = random_below(dice, 5) == 0 ? SLICE_LIT("label") : SLICE_EMPTY};
        if (random_below(dice, 2) == 0)
            qualifier = qualifier == 63 ? 63 : qualifier + 1;
        if (random_below(dice, 4) == 0 && family + 1 < FAMILY_COUNT) {
            family++;
            qualifier = random_below(dice, 2);
        }
    }
}

static void random_break(struct random *dice)
{
    if (sink.sink.is_full(&sink.sink) || random_below(dice, 12) == 0)
        slice_end();
}

/* The first `count` cells, slices ending anywhere. */
static void give(struct random *dice, const struct cells *cells, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct sto_cell *c = &cells->cell[i];
        labelled(c->family, c->qualifier, c->timestamp_us, c->value, c->label);
        random_break(dice);
    }
}

static void random_row(struct random *dice, const char *key)
{
    struct cells cells;
    random_cells(dice, &cells);
    while (random_below(dice, 4) == 0) {
        begin(base_slice_text(key));
        give(dice, &cells, 1 + random_below(dice, (uint32_t)cells.count));
        undo();
        if (random_below(dice, 2) == 0)
            slice_end();
    }
    if (random_below(dice, 20) == 0)
        return; /* it is not there any more */
    begin(base_slice_text(key));
    give(dice, &cells, cells.count);
    end();
    random_break(dice);
}

START_TEST(what_goes_in_comes_out)
{
    struct random dice = {(uint64_t)_i + 100};
    uint32_t rows = 1 + random_below(&dice, 60);
    reader.reversed = _i % 2 == 1;
    for (uint32_t i = 0; i < rows; i++) {
        char key[32];
        (void)snprintf(key, sizeof key, "row%05u", reader.reversed ? 99999 - i : i);
        random_row(&dice, key);
    }
    finish();
}
END_TEST

/* --- other messages ----------------------------------------------------------------------------
 */

START_TEST(last_scanned_keys_and_statistics_have_messages_of_their_own)
{
    Bt__RequestStats stats = BT__REQUEST_STATS__INIT;
    uint8_t bytes[8];
    small_row("a");
    gw_chunk_sink_end_slice(&sink);
    gw_chunk_sink_put_message(&sink, GW_READ_ROWS_LAST_SCANNED, SLICE_LIT("b"));
    read_out();
    ck_assert_uint_eq(reader.scanned_count, 1);
    base_buf_truncate(&out, 0);
    gw_chunk_sink_next_slice(&sink);
    small_row("c");
    finish();
    ck_assert_uint_eq(reader.message_count, 3);
    base_buf_truncate(&out, 0);
    size_t len = bt__request_stats__pack(&stats, bytes);
    gw_chunk_sink_put_message(&sink, GW_READ_ROWS_STATS, base_slice(bytes, len));
    (void)chunk_reader_feed(&reader, base_buf_slice(&out));
    ck_assert_str_eq(reader.error, "statistics that are not full");
}
END_TEST

static TCase *add_case(Suite *s, const char *name)
{
    TCase *tc = tcase_create(name);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_set_timeout(tc, 120);
    suite_add_tcase(s, tc);
    return tc;
}

Suite *suite_grpc_chunk_sink(void);
Suite *suite_grpc_chunk_sink(void);
Suite *suite_grpc_chunk_sink(void)
{
    Suite *s = suite_create("grpc_chunk_sink");
    TCase *tc = add_case(s, "rows");
    tcase_add_test(tc, families_columns_and_versions_come_as_they_were);
    tcase_add_test(tc, an_empty_qualifier_is_present);
    tcase_add_test(tc, copies_of_a_cell_are_cells_of_their_own);
    tcase_add_test(tc, labels_stand_on_the_first_chunk_of_a_cell);
    tcase_add_test(tc, small_rows_share_a_message);
    tcase_add_test(tc, keys_may_fall);
    tcase_add_test(tc, nothing_gives_no_message);
    tcase_add_test(tc, last_scanned_keys_and_statistics_have_messages_of_their_own);
    tc = add_case(s, "sizes");
    tcase_add_test(tc, chunks_of_any_length_can_be_committed);
    tcase_add_test(tc, messages_end_before_they_grow_too_large);
    tcase_add_test(tc, everything_at_its_limit_fits_into_messages);
    tcase_add_test(tc, the_largest_cell_comes_in_parts);
    tcase_add_test(tc, an_output_that_is_full_latches);
    tc = add_case(s, "slices");
    tcase_add_test(tc, a_row_taken_back_leaves_nothing);
    tcase_add_test(tc, a_row_taken_back_in_a_later_slice_leaves_nothing);
    tcase_add_test(tc, a_row_of_many_slices_comes_whole);
    tcase_add_test(tc, a_row_that_no_client_takes_latches);
    tcase_add_loop_test(tc, a_row_too_large_within_its_first_slice_latches, 0, 2);
    tcase_add_test(tc, a_row_too_large_that_is_taken_back_is_no_error);
    tcase_add_loop_test(tc, a_row_may_have_as_many_bytes_as_clients_take, 0, 2);
    tcase_add_test(tc, the_last_cell_waits_for_its_commit_over_slices);
    tc = add_case(s, "random");
    tcase_add_loop_test(tc, what_goes_in_comes_out, 0, 60);
    return s;
}
