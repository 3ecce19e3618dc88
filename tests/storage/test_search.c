/*
 * tests/storage/test_search.c - the search of a purge finds what the blocks of a log or of a
 * MANIFEST cut in two.
 */
#include "fixture.h"

#include <openssl/sha.h>

#include "storage/canary.h"
#include "storage/rocksdb/rdb.h"
#include "tests/storage/log_maker.h"

#include "base/banned.h"

Suite *suite_storage_search(void);

#define PREFIX     "ab#" /* of the first tenant */
#define PREFIXES   40000
#define LATER_LOG  "999999.log" /* no log that a start would leave out */
#define OLD_LIST   "MANIFEST-000001"
#define ROOM       (MAKER_BLOCK - MAKER_HEAD) /* of a block for one fragment */
#define FILE_BYTES (256 * KIB)

static struct sto_search search_for(const struct sto_canary *canary)
{
    struct errbuf eb = {{0}};
    struct sto_search_spec spec = {.deep = false};
    struct sto_search_target target = {
        .scope = &fix.tenants[0], .canaries = canary, .canary_count = canary != NULL};
    enum err rc = sto_search_files(fix.engine, &target, 1, &spec, &eb);
    ck_assert_msg(rc == ERR_OK, "%s", eb.text);
    return target.found;
}

static void write_value(struct slice value)
{
    struct sto_mutation m = fix_set(1, "q", 1000, value);
    ck_assert_int_eq(fix_mutate(&fix.tables[2][0], "row", &m, 1), ERR_OK);
}

/* Three bytes do not divide what a fragment of a full block holds: of three cuts two are inside. */
START_TEST(a_prefix_that_a_log_cuts_is_found)
{
    static uint8_t value[PREFIXES * (sizeof PREFIX - 1)];
    ck_assert_uint_gt(sizeof value, 3 * MAKER_BLOCK);
    ck_assert_uint_eq(ROOM % (sizeof PREFIX - 1), 1);
    for (size_t i = 0; i < sizeof value; i++)
        value[i] = (uint8_t)PREFIX[i % (sizeof PREFIX - 1)];
    uint64_t before = search_for(NULL).outside;
    write_value(base_slice(value, sizeof value));
    ck_assert_uint_eq(search_for(NULL).outside, before + PREFIXES);
}
END_TEST

/* It would be what a certificate says of the engine. */
START_TEST(the_engine_s_version_is_nobody_s_value)
{
    write_value(SLICE_LIT("rocksdb_version=of-a-tenant "));
    struct sto_search found = search_for(NULL);
    ck_assert_str_ne(found.engine, "");
    ck_assert_str_ne(found.engine, "of-a-tenant");
}
END_TEST

/* --- files that are made ---------------------------------------------------------------------- */

static void fill(struct buf *out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ck_assert_int_eq(base_buf_append_byte(out, 'x'), ERR_OK);
}

/* A record with the bytes in the middle: one fragment holds the first half, another the rest. */
static void add_cut(struct buf *file, struct slice bytes)
{
    struct buf record;
    base_buf_init(&record, FILE_BYTES);
    fill(&record, ROOM - file->len % MAKER_BLOCK - bytes.len / 2);
    ck_assert_int_eq(base_buf_append(&record, bytes), ERR_OK);
    fill(&record, 100);
    maker_record(file, base_buf_slice(&record));
    base_buf_fini(&record);
}

/* In a file that has never been a log, the bytes are where two blocks meet. */
static void add_over_blocks(struct buf *file, struct slice bytes)
{
    fill(file, MAKER_BLOCK - file->len % MAKER_BLOCK - 1);
    ck_assert_int_eq(base_buf_append(file, bytes), ERR_OK);
    fill(file, 100);
}

/* Behind a fragment that does not check out, blocks are read as ever. */
static void add_behind_damage(struct buf *file, struct slice bytes)
{
    add_cut(file, SLICE_LIT("nothing"));
    file->ptr[MAKER_HEAD + 20] ^= 1;
    fill(file, MAKER_BLOCK - file->len % MAKER_BLOCK);
    add_cut(file, bytes);
}

/* In the same block as such a fragment, and behind it. */
static void add_beside_damage(struct buf *file, struct slice bytes)
{
    maker_record(file, SLICE_LIT("damaged"));
    file->ptr[MAKER_HEAD] ^= 1;
    maker_record(file, bytes);
}

/* Behind a block of zeros. */
static void add_behind_zeros(struct buf *file, struct slice bytes)
{
    maker_record(file, SLICE_LIT("a record"));
    maker_append(file, 0, 8);
    while (file->len % MAKER_BLOCK != 0)
        maker_append(file, 0, 1);
    add_cut(file, bytes);
}

/* Of a kind that only recycled logs have: four bytes more in its head. */
static void add_of_other_kind(struct buf *file, struct slice bytes)
{
    const uint8_t kind = 5;
    maker_append(file, maker_crc(kind, bytes), 4);
    maker_append(file, bytes.len - 4, 2);
    maker_append(file, kind, 1);
    ck_assert_int_eq(base_buf_append(file, bytes), ERR_OK);
}

static const struct {
    void (*add)(struct buf *file, struct slice bytes);
} MADE[] = {{add_cut},           {add_over_blocks},  {add_behind_damage},
            {add_beside_damage}, {add_behind_zeros}, {add_of_other_kind}};
#define MADE_COUNT (int)(sizeof MADE / sizeof MADE[0])

static void plant(const char *name, int made, struct slice bytes)
{
    char path[300];
    struct buf file;
    base_buf_init(&file, FILE_BYTES);
    MADE[made].add(&file, bytes);
    (void)snprintf(path, sizeof path, "%s/db/%s", fix.dir, name);
    ck_assert_int_eq(base_file_replace(path, base_buf_slice(&file), 0600, NULL), ERR_OK);
    base_buf_fini(&file);
}

START_TEST(a_prefix_in_a_log_is_counted_once)
{
    struct sto_search before = search_for(NULL);
    plant(LATER_LOG, _i, SLICE_LIT("---" PREFIX "--"));
    struct sto_search after = search_for(NULL);
    ck_assert_uint_eq(after.outside, before.outside + 1);
    ck_assert_uint_eq(after.obsolete, before.obsolete);
}
END_TEST

START_TEST(a_canary_in_a_log_is_counted_once)
{
    struct sto_canary hash;
    uint8_t canary[STO_CANARY_BYTES] = STO_CANARY_HEAD "as nobody else has it";
    (void)SHA256(canary, sizeof canary, hash.hash);
    ck_assert_uint_eq(search_for(&hash).canaries, 0);
    plant(LATER_LOG, _i, base_slice(canary, sizeof canary));
    ck_assert_uint_eq(search_for(&hash).canaries, 1);
}
END_TEST

/* It keeps a certificate back. */
START_TEST(a_prefix_in_an_old_manifest_is_something_that_has_to_go)
{
    ck_assert_uint_eq(search_for(NULL).obsolete, 0);
    plant(OLD_LIST, _i, SLICE_LIT("---" PREFIX "--"));
    ck_assert_uint_eq(search_for(NULL).obsolete, 1);
}
END_TEST

Suite *suite_storage_search(void)
{
    Suite *s = suite_create("storage_search");
    TCase *t = tcase_create("search");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, fix_setup_in_memory, fix_teardown);
    tcase_add_test(t, a_prefix_that_a_log_cuts_is_found);
    tcase_add_test(t, the_engine_s_version_is_nobody_s_value);
    tcase_add_loop_test(t, a_prefix_in_a_log_is_counted_once, 0, MADE_COUNT);
    tcase_add_loop_test(t, a_canary_in_a_log_is_counted_once, 0, MADE_COUNT);
    tcase_add_loop_test(t, a_prefix_in_an_old_manifest_is_something_that_has_to_go, 0, MADE_COUNT);
    suite_add_tcase(s, t);
    return s;
}
