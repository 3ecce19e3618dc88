/*
 * tests/storage/test_engine_meta_copies.c - the metadata is on the disk twice, and one sound copy
 * of each file is enough. Over 500 lines because all damage is done to the same files.
 */
#include "damaged.h"

#include <sys/stat.h>
#include <unistd.h>

#include "storage/rocksdb/file_copy.h"
#include "storage/rocksdb/heldfiles.h"
#include "storage/rocksdb/live_files.h"
#include "storage/rocksdb/meta_copies.h"
#include "storage/rocksdb/ranges.h"
#include "storage/rocksdb/rdb.h"
#include "tests/support/process.h"

#include "base/banned.h"

Suite *suite_storage_engine_meta_copies(void);

enum { DOCS = 200, DOC_BYTES = 500 };

static int mended; /* files, at the last opens */

static void count_mended(void *ctx, uint64_t number)
{
    (void)ctx;
    ck_assert_uint_ne(number, 0);
    mended++;
}

static struct rdb_engine *engine(void)
{
    return sto_rdb_engine(fix.engine);
}

/* --- documents -------------------------------------------------------------------------------- */

static void doc_make(char key[16], char body[DOC_BYTES], int i, int version)
{
    char value[DAMAGED_VALUE + 1];
    (void)snprintf(key, 16, "t/%05d", i);
    damaged_value(value, 0, i, version); /* does not compress */
    memcpy(body, value, DOC_BYTES);
}

/* All of them, and two of three in the second file. */
static void docs_put(int version)
{
    for (int i = 0; i < DOCS; i++) {
        char key[16], body[DOC_BYTES];
        doc_make(key, body, i, version);
        const struct sto_doc_change change = {.key = base_slice_text(key),
                                              .body = base_slice(body, DOC_BYTES),
                                              .expect = (uint64_t)version - 1};
        ck_assert_int_eq(sto_docs_commit(fix.engine, &change, 1, NULL), ERR_OK);
    }
    ck_assert_int_eq(sto_rdb_flush(engine()), ERR_OK);
}

static enum err doc_check(int i, int version)
{
    char key[16], body[DOC_BYTES];
    struct buf found;
    uint64_t is_version = 0;
    doc_make(key, body, i, version);
    base_buf_init(&found, KIB);
    enum err rc = sto_doc_get(fix.engine, base_slice_text(key), &is_version, &found, NULL);
    if (rc == ERR_OK) {
        ck_assert_uint_eq(is_version, (uint64_t)version);
        ck_assert(base_slice_equal(base_buf_slice(&found), base_slice(body, DOC_BYTES)));
    }
    base_buf_fini(&found);
    return rc;
}

static void docs_check(int version)
{
    for (int i = 0; i < DOCS; i++)
        ck_assert_int_eq(doc_check(i, version), ERR_OK);
}

/* --- files ------------------------------------------------------------------------------------ */

struct file {
    uint64_t number;
    char path[300];
    char copy[310];
};

/* The files of a family. Returns how many there are; the first is *out. */
static int files_of(const char *family, struct file *out)
{
    struct rdb_live_files live;
    int count = 0;
    sto_rdb_live_files_open(engine()->db.handle, &live);
    for (size_t i = 0; i < live.count; i++) {
        if (strcmp(rocksdb_livefiles_column_family_name(live.list, live.names[i].index), family) !=
            0)
            continue;
        if (count++ > 0)
            continue;
        out->number = sto_rdb_file_number(live.names[i].name);
        (void)snprintf(out->path, sizeof(out->path), "%.250s/db/%s", fix.dir, live.names[i].name);
        (void)snprintf(out->copy, sizeof(out->copy), "%s" RDB_COPY_ENDING, out->path);
    }
    sto_rdb_live_files_close(&live);
    return count;
}

static int names_that_end_with(const char *ending)
{
    char db[300];
    int count = 0;
    (void)snprintf(db, sizeof(db), "%.250s/db", fix.dir);
    DIR *d = opendir(db);
    ck_assert_ptr_nonnull(d);
    for (const struct dirent *e; (e = readdir(d)) != NULL;) {
        size_t len = strlen(e->d_name);
        count += len > strlen(ending) && strcmp(e->d_name + len - strlen(ending), ending) == 0;
    }
    (void)closedir(d);
    return count;
}

static bool is_same(const char *left, const char *right)
{
    struct buf a, b;
    ck_assert_int_eq(base_file_read(left, 16 * MIB, &a, NULL), ERR_OK);
    ck_assert_int_eq(base_file_read(right, 16 * MIB, &b, NULL), ERR_OK);
    bool same = base_slice_equal(base_buf_slice(&a), base_buf_slice(&b));
    base_buf_fini(&a);
    base_buf_fini(&b);
    return same;
}

static void setup(void)
{
    fix_prepare_alone(); /* the files of the metadata are few, and known */
    fix.options.mended = (struct sto_rocksdb_mended){.file = count_mended};
    fix_open();
    docs_put(1);
    ck_assert_int_eq(fix_put(&fix.tables[0][0], "a", "b"), ERR_OK);
    ck_assert_int_eq(sto_rdb_flush(engine()), ERR_OK);
    mended = 0;
}

/* --- copies ----------------------------------------------------------------------------------- */

static void docs_rewrite(void)
{
    docs_put(2);
    sto_rdb_range_compact(engine(), RDB_CF_META, SLICE_LIT("!"), SLICE_LIT("~"));
    ck_assert_int_eq(sto_rdb_compactions_check(engine(), NULL), ERR_OK);
}

START_TEST(a_copy_comes_and_goes_with_its_file)
{
    struct file f;
    struct errbuf eb = {{0}};
    sto_rdb_meta_copies_keep(engine());
    int count = files_of("meta", &f);
    ck_assert_int_ge(count, 1);
    ck_assert_int_ge(files_of("cells", &f), 1);
    ck_assert_int_ne(access(f.copy, F_OK), 0); /* of the metadata alone */
    (void)files_of("meta", &f);
    ck_assert(is_same(f.path, f.copy));
    ck_assert_int_eq(names_that_end_with(RDB_COPY_ENDING), count);
    docs_rewrite();
    enum err rc = sto_rdb_wait_for_held_files(engine(), 60, &eb);
    ck_assert_msg(rc == ERR_OK, "%s", eb.text);
    ck_assert_int_ne(access(f.copy, F_OK), 0);
    ck_assert_int_eq(names_that_end_with(RDB_COPY_ENDING), 0);
    sto_rdb_meta_copies_keep(engine());
    ck_assert_int_eq(names_that_end_with(RDB_COPY_ENDING), files_of("meta", &f));
    ck_assert_int_eq(names_that_end_with(RDB_PART_ENDING), 0);
}
END_TEST

static bool all_have_one(void *arg)
{
    struct file f;
    (void)arg;
    return names_that_end_with(RDB_COPY_ENDING) == files_of("meta", &f);
}

START_TEST(they_are_made_by_themselves)
{
    fix.options.meta_copies_s = 1;
    fix_reopen();
    docs_put(2);
    process_await(all_have_one, NULL, "copies of all files");
}
END_TEST

START_TEST(what_a_crash_left_is_removed)
{
    struct file f;
    char part[320];
    uint64_t bytes;
    (void)files_of("meta", &f);
    (void)snprintf(part, sizeof(part), "%s" RDB_PART_ENDING, f.path);
    ck_assert_int_eq(sto_file_copy(f.path, part, 0600, false, &bytes, NULL), ERR_OK);
    sto_rdb_meta_copies_keep(engine());
    ck_assert_int_eq(names_that_end_with(RDB_PART_ENDING), 0);
    ck_assert(is_same(f.path, f.copy));
}
END_TEST

START_TEST(a_damaged_file_is_not_copied)
{
    struct sto_damage damage;
    struct file f;
    int count = files_of("meta", &f);
    damaged_byte_flip(f.path, 100);
    sto_rdb_meta_copies_keep(engine());
    ck_assert_int_eq(names_that_end_with(RDB_COPY_ENDING), count - 1);
    ck_assert_int_eq(names_that_end_with(RDB_PART_ENDING), 0);
    sto_damage_get(fix.engine, &damage);
    ck_assert_uint_eq(damage.meta_uncopied, 1);
    ck_assert_uint_ge(damage.count, 1); /* and is told */
    ck_assert_uint_eq(damage.files[0].number, f.number);
}
END_TEST

/* --- damage while the database is open -------------------------------------------------------- */

static bool is_rewritten(void *arg)
{
    const struct file *f = arg;
    struct sto_damage damage;
    sto_damage_get(fix.engine, &damage);
    return damage.count == 0 && access(f->path, F_OK) != 0;
}

START_TEST(a_block_is_read_from_the_copy)
{
    struct file f;
    sto_rdb_meta_copies_keep(engine());
    (void)files_of("meta", &f);
    if (!damaged_flip_kind(f.path, (enum rdb_block_kind)_i))
        return; /* small files have no list of parts of a filter */
    sto_rdb_damage_found(engine(), &(struct sto_damaged_file){.number = f.number});
    process_await(is_rewritten, &f, "the file to be rewritten");
    docs_check(1);
    fix_reopen();
    docs_check(1);
    ck_assert_int_eq(mended, 0);
}
END_TEST

/* Nobody waits for the file to be rewritten. */
START_TEST(a_read_that_met_damage_is_right_when_it_is_repeated)
{
    struct file f;
    char body[DOC_BYTES], key[16], value[DAMAGED_VALUE + 1];
    struct buf bytes;
    fix_close();
    fix.options.cache_bytes = KIB; /* blocks are read from the file */
    fix_open();
    sto_rdb_meta_copies_keep(engine());
    (void)files_of("meta", &f);
    doc_make(key, body, DOCS / 2, 1);
    damaged_value(value, 0, DOCS / 2, 1);
    ck_assert_int_eq(base_file_read(f.path, 16 * MIB, &bytes, NULL), ERR_OK);
    const uint8_t *at = memmem(bytes.ptr, bytes.len, value, DOC_BYTES);
    ck_assert_ptr_nonnull(at);
    damaged_byte_flip(f.path, (off_t)(at - bytes.ptr) + 100);
    base_buf_fini(&bytes);
    enum err rc = doc_check(DOCS / 2, 1);
    ck_assert(rc == ERR_CORRUPT || rc == ERR_OK); /* the block may be in memory yet */
    sto_rdb_damage_found(engine(), &(struct sto_damaged_file){.number = f.number});
    ck_assert(sto_rdb_damage_wait(engine()));
    docs_check(1);
}
END_TEST

START_TEST(a_block_that_is_damaged_twice_stays)
{
    struct sto_damage damage;
    struct file f;
    sto_rdb_meta_copies_keep(engine());
    (void)files_of("meta", &f);
    damaged_byte_flip(f.path, 100);
    damaged_byte_flip(f.copy, 101);
    sto_rdb_damage_found(engine(), &(struct sto_damaged_file){.number = f.number});
    ck_assert(sto_rdb_damage_wait(engine()));
    ck_assert_uint_ne(sto_rdb_damage_stuck(engine(), RDB_CF_META, SLICE_LIT("!"), SLICE_LIT("~")),
                      0);
    sto_damage_get(fix.engine, &damage);
    ck_assert_uint_ge(damage.count, 1);
}
END_TEST

/* --- damage before an open -------------------------------------------------------------------- */

static void flip_data(const struct file *f)
{
    damaged_byte_flip(f->path, 100);
}

static void flip_footer(const struct file *f)
{
    struct stat st;
    ck_assert_int_eq(stat(f->path, &st), 0);
    damaged_byte_flip(f->path, st.st_size - 3);
}

static void cut_off(const struct file *f)
{
    ck_assert_int_eq(truncate(f->path, 1000), 0);
}

static void take_away(const struct file *f)
{
    ck_assert_int_eq(unlink(f->path), 0);
}

static void (*const DAMAGES[])(const struct file *f) = {flip_data, flip_footer, cut_off, take_away};
enum { DAMAGE_COUNT = sizeof(DAMAGES) / sizeof(DAMAGES[0]) };

START_TEST(an_open_replaces_what_is_damaged)
{
    struct file f;
    char before[330];
    uint64_t bytes;
    sto_rdb_meta_copies_keep(engine());
    (void)files_of("meta", &f);
    (void)snprintf(before, sizeof(before), "%.250s/before", fix.dir);
    ck_assert_int_eq(sto_file_copy(f.path, before, 0600, false, &bytes, NULL), ERR_OK);
    fix_close();
    DAMAGES[_i](&f);
    fix_open();
    ck_assert_int_eq(mended, 1);
    ck_assert(is_same(f.path, before));
    docs_check(1);
    fix_reopen();
    ck_assert_int_eq(mended, 1);
    docs_check(1);
}
END_TEST

/* A backup's file is what its manifest says, whatever becomes of the database's. */
START_TEST(a_link_to_the_damaged_file_is_not_written_to)
{
    struct file f;
    char linked[330], damaged[330];
    uint64_t bytes;
    sto_rdb_meta_copies_keep(engine());
    (void)files_of("meta", &f);
    (void)snprintf(linked, sizeof(linked), "%.250s/linked", fix.dir);
    (void)snprintf(damaged, sizeof(damaged), "%.250s/damaged", fix.dir);
    fix_close();
    ck_assert_int_eq(link(f.path, linked), 0);
    flip_data(&f);
    ck_assert_int_eq(sto_file_copy(f.path, damaged, 0600, false, &bytes, NULL), ERR_OK);
    fix_open();
    ck_assert_int_eq(mended, 1);
    ck_assert(is_same(linked, damaged));
}
END_TEST

START_TEST(what_is_damaged_twice_is_left_as_it_is)
{
    struct file f;
    struct errbuf eb = {{0}};
    sto_rdb_meta_copies_keep(engine());
    (void)files_of("meta", &f);
    fix_close();
    flip_footer(&f);
    damaged_byte_flip(f.copy, 100);
    ck_assert_int_eq(fix_try_open(&eb), ERR_CORRUPT);
    ck_assert_int_eq(mended, 0);
    flip_footer(&f); /* as it was */
    fix_open();
    docs_check(1);
}
END_TEST

/* --- the scrub -------------------------------------------------------------------------------- */

static void setup_scrub(void)
{
    sto_rdb_test_scrub_by_hand(true);
    setup();
    fix.options.scrub_bytes_per_s = 16 * MIB;
    fix_reopen();
}

static struct sto_scrub scrub_all(void)
{
    struct sto_engine_stats stats;
    sto_rdb_test_scrub(engine(), UINT64_MAX);
    sto_engine_stats_get(fix.engine, &stats);
    return stats.scrub;
}

static uint64_t findings_of(const struct sto_scrub *s)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < STO_SCRUB_KINDS; i++)
        sum += s->findings[i];
    return sum;
}

START_TEST(a_scrub_reads_copies)
{
    struct file f;
    struct stat st;
    struct rdb_live_files live;
    uint64_t bytes = 0;
    sto_rdb_meta_copies_keep(engine());
    (void)files_of("meta", &f);
    ck_assert_int_eq(stat(f.copy, &st), 0);
    sto_rdb_live_files_open(engine()->db.handle, &live);
    for (size_t i = 0; i < live.count; i++)
        bytes += (uint64_t)rocksdb_livefiles_size(live.list, live.names[i].index);
    struct sto_scrub seen = scrub_all();
    ck_assert_uint_eq(findings_of(&seen), 0);
    ck_assert_uint_eq(seen.files, live.count); /* a copy is no file of its own */
    ck_assert_uint_ge(seen.bytes, bytes + (uint64_t)st.st_size);
    sto_rdb_live_files_close(&live);
}
END_TEST

START_TEST(a_scrub_finds_a_damaged_copy_and_it_is_made_again)
{
    struct sto_damage damage;
    struct file f, copy;
    sto_rdb_meta_copies_keep(engine());
    (void)files_of("meta", &f);
    (void)snprintf(copy.path, sizeof(copy.path), "%.299s", f.copy);
    DAMAGES[_i](&copy);
    struct sto_scrub seen = scrub_all();
    uint64_t expected = DAMAGES[_i] != take_away; /* that is missing, not damaged */
    ck_assert_uint_eq(findings_of(&seen), expected);
    ck_assert_uint_eq(seen.findings[STO_SCRUB_COPY], expected);
    ck_assert_uint_eq(seen.last_file[STO_SCRUB_COPY], expected * f.number);
    if (expected == 1)
        ck_assert(is_same(f.path, f.copy));
    sto_rdb_meta_copies_keep(engine());
    ck_assert(is_same(f.path, f.copy));
    ck_assert_int_eq(names_that_end_with(RDB_PART_ENDING), 0);
    sto_damage_get(fix.engine, &damage);
    ck_assert_uint_eq(damage.count, 0);
}
END_TEST

/* --- departures ------------------------------------------------------------------------------- */

static struct sto_search search(bool deep)
{
    struct sto_search_target target = {.scope = &fix.tenants[0]};
    struct sto_search_spec spec = {.deep = deep};
    struct errbuf eb = {{0}};
    enum err rc = sto_search_files(fix.engine, &target, 1, &spec, &eb);
    ck_assert_msg(rc == ERR_OK, "%s", eb.text);
    return target.found;
}

START_TEST(a_search_reads_copies_and_a_purge_leaves_none)
{
    struct sto_search without = search(_i != 0);
    sto_rdb_meta_copies_keep(engine());
    struct sto_search with = search(_i != 0);
    ck_assert_uint_gt(without.keys, 0);
    ck_assert_uint_gt(with.keys, without.keys); /* its counters, once more */
    atomic_store(&fix.accounts[0].gate, STO_GATE_GONE);
    for (enum sto_purge_step s = STO_PURGE_FENCE; s < STO_PURGE_STEP_COUNT; s++) {
        struct errbuf eb = {{0}};
        enum err rc = sto_purge_run(fix.engine, &fix.tenants[0], s, NULL, 0, &eb);
        ck_assert_msg(rc == ERR_OK, "%s: %s", sto_purge_step_name(s), eb.text);
    }
    struct file f;
    ck_assert_int_eq(names_that_end_with(RDB_COPY_ENDING), 0);
    sto_rdb_meta_copies_keep(engine());
    ck_assert_int_eq(names_that_end_with(RDB_COPY_ENDING), files_of("meta", &f));
    struct sto_search gone = search(_i != 0);
    ck_assert_uint_eq(gone.keys, 0);
    ck_assert_uint_eq(gone.obsolete, 0);
    docs_check(1);
}
END_TEST

START_TEST(a_search_does_not_end_at_a_damaged_copy)
{
    struct file f;
    sto_rdb_meta_copies_keep(engine());
    (void)files_of("meta", &f);
    damaged_byte_flip(f.copy, 100);
    ck_assert_uint_gt(search(true).keys, 0);
    ck_assert_int_ne(access(f.copy, F_OK), 0);
    sto_rdb_meta_copies_keep(engine());
    ck_assert(is_same(f.path, f.copy));
}
END_TEST

Suite *suite_storage_engine_meta_copies(void)
{
    Suite *s = suite_create("storage_engine_meta_copies");
    TCase *t = tcase_create("meta_copies");
    tcase_set_timeout(t, 240);
    tcase_add_checked_fixture(t, setup, fix_teardown);
    tcase_add_test(t, a_copy_comes_and_goes_with_its_file);
    tcase_add_test(t, they_are_made_by_themselves);
    tcase_add_test(t, what_a_crash_left_is_removed);
    tcase_add_test(t, a_damaged_file_is_not_copied);
    tcase_add_loop_test(t, a_block_is_read_from_the_copy, RDB_BLOCK_DATA, RDB_BLOCK_FILTERS + 1);
    tcase_add_test(t, a_read_that_met_damage_is_right_when_it_is_repeated);
    tcase_add_test(t, a_block_that_is_damaged_twice_stays);
    tcase_add_loop_test(t, an_open_replaces_what_is_damaged, 0, DAMAGE_COUNT);
    tcase_add_test(t, a_link_to_the_damaged_file_is_not_written_to);
    tcase_add_test(t, what_is_damaged_twice_is_left_as_it_is);
    tcase_add_loop_test(t, a_search_reads_copies_and_a_purge_leaves_none, 0, 2);
    tcase_add_test(t, a_search_does_not_end_at_a_damaged_copy);
    suite_add_tcase(s, t);
    t = tcase_create("scrub");
    tcase_set_timeout(t, 240);
    tcase_add_checked_fixture(t, setup_scrub, fix_teardown);
    tcase_add_test(t, a_scrub_reads_copies);
    tcase_add_loop_test(t, a_scrub_finds_a_damaged_copy_and_it_is_made_again, 0, DAMAGE_COUNT);
    suite_add_tcase(s, t);
    return s;
}
