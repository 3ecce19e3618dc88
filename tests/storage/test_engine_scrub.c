/*
 * tests/storage/test_engine_scrub.c - all table files are read, in time, and what is found is said.
 * Over 500 lines because what is read, found and remembered is of the same files.
 */
#include "damaged.h"

#include <errno.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#include "base/text.h"
#include "storage/rocksdb/live_files.h"
#include "storage/rocksdb/ranges.h"
#include "storage/rocksdb/scrub.h"
#include "storage/rocksdb/tenant_collector.h"

#include "base/banned.h"

Suite *suite_storage_engine_scrub(void);

enum { ROWS = 1500, HIT = 700, RATE = 4 * (int)MIB, WINDOW = 256 * (int)KIB };

static void setup_on(enum bed bed)
{
    sto_rdb_test_catalogue(RDB_CATALOGUE_TRUE);
    sto_rdb_test_scrub_by_hand(true);
    fix_prepare_on(bed);
    fix.options.scrub_bytes_per_s = RATE;
    fix_open();
}

static void setup(void)
{
    setup_on(BED_OLD_ROWS);
}

/* One more file of level 0 is no reason for a compaction. */
static void setup_alone(void)
{
    setup_on(BED_NONE);
}

/* Some in meta and changes as well. */
static void fill(void)
{
    damaged_put(0, 0, ROWS, 1);
    damaged_put(1, 0, ROWS, 1);
    ck_assert_int_eq(sto_rdb_flush(sto_rdb_engine(fix.engine)), ERR_OK);
}

/* Until the files stay as they are. */
static void settle(void)
{
    process_await(fix_is_settled, NULL, "flushes and compactions");
}

static struct sto_scrub scrub_all(void)
{
    struct sto_engine_stats stats;
    sto_rdb_test_scrub(sto_rdb_engine(fix.engine), UINT64_MAX);
    sto_engine_stats_get(fix.engine, &stats);
    return stats.scrub;
}

static uint64_t live_bytes(uint64_t *out_files)
{
    struct rdb_live_files live;
    uint64_t bytes = 0;
    sto_rdb_live_files_open(sto_rdb_engine(fix.engine)->db.handle, &live);
    for (size_t i = 0; i < live.count; i++)
        bytes += (uint64_t)rocksdb_livefiles_size(live.list, (int)i);
    *out_files = live.count;
    sto_rdb_live_files_close(&live);
    return bytes;
}

static void assert_no_findings(const struct sto_scrub *s)
{
    for (size_t i = 0; i < STO_SCRUB_KINDS; i++)
        ck_assert_uint_eq(s->findings[i], 0);
}

/* --- what it reads ---------------------------------------------------------------------------- */

START_TEST(every_live_file_is_read_once_and_rests)
{
    uint64_t files = 0;
    fill();
    settle();
    uint64_t bytes = live_bytes(&files);
    ck_assert_uint_gt(files, 20);
    struct sto_scrub first = scrub_all();
    assert_no_findings(&first);
    ck_assert_uint_eq(first.files, files);
    ck_assert_uint_ge(first.bytes, bytes);
    struct sto_scrub second = scrub_all();
    ck_assert_uint_eq(second.files, files);
    ck_assert_uint_eq(second.bytes, first.bytes);
    damaged_put(2, 0, 3, 1);
    fix_flush();
    settle();
    ck_assert_uint_gt(scrub_all().files, files);
}
END_TEST

static void file_path(char out[BASE_PATH_BYTES], const char *name)
{
    ck_assert_int_eq(base_path_join(out, fix.dir, name, NULL), ERR_OK);
}

static uint64_t number_of(const char *name)
{
    uint64_t number = 0;
    size_t zeros = strspn(name, "0");
    ck_assert_int_eq(
        base_parse_u64(base_slice(name + zeros, strspn(name, "0123456789") - zeros), &number),
        ERR_OK);
    return number;
}

/* The record of each live file; returns how many have one. */
static size_t records(struct rdb_scrubbed *out, size_t max)
{
    struct rdb_live_files live;
    size_t count = 0;
    sto_rdb_live_files_open(sto_rdb_engine(fix.engine)->db.handle, &live);
    ck_assert_uint_le(live.count, max);
    for (size_t i = 0; i < live.count; i++)
        count += sto_rdb_scrub_find(
            &sto_rdb_engine(fix.engine)->scrub, number_of(live.names[i].name),
            (uint64_t)rocksdb_livefiles_size(live.list, live.names[i].index), &out[count]);
    sto_rdb_live_files_close(&live);
    return count;
}

static struct rdb_scrubbed before[2000];
static struct rdb_scrubbed after[2000];

START_TEST(off_is_off)
{
    char path[BASE_PATH_BYTES];
    struct sto_engine_stats stats;
    fill();
    fix.options.scrub_bytes_per_s = 0;
    fix_reopen();
    ck_assert(!sto_rdb_engine(fix.engine)->scrub.started);
    sto_engine_stats_get(fix.engine, &stats);
    ck_assert_uint_eq(stats.scrub.bytes_per_s, 0);
    ck_assert_uint_eq(stats.scrub.bytes, 0);
    ck_assert_int_eq(stats.scrub.oldest_us, 0);
    file_path(path, "scrub");
    ck_assert_int_ne(access(path, F_OK), 0);
}
END_TEST

/* In each quantum a quarter of a second's bytes, and what one read has too many is paid back. */
START_TEST(the_rate_is_kept)
{
    struct sto_scrub seen;
    uint64_t files = 0;
    fix.options.scrub_bytes_per_s = MIB;
    fix_reopen();
    fill();
    settle();
    uint64_t bytes = live_bytes(&files);
    ck_assert_uint_gt(bytes, 8 * WINDOW);
    struct rdb_engine *e = sto_rdb_engine(fix.engine);
    sto_rdb_test_scrub(e, 1); /* which starts it */
    for (uint64_t quanta = 1; quanta <= 6; quanta++) {
        sto_rdb_test_scrub(e, 1);
        sto_rdb_scrub_get(&e->scrub, &seen);
        ck_assert_uint_eq(seen.bytes_per_s, MIB);
        ck_assert_uint_eq(atomic_load(&e->scrub.quanta), quanta);
        ck_assert_uint_gt(seen.bytes, (quanta - 1) * WINDOW);
        ck_assert_uint_le(seen.bytes, (quanta + 1) * WINDOW);
    }
    ck_assert_uint_lt(seen.files, files);
}
END_TEST

START_TEST(the_default_rate_reads_all_within_a_week)
{
    struct sto_scrub seen;
    fix.options.scrub_bytes_per_s = STO_SCRUB_AUTO;
    fix_reopen();
    sto_rdb_test_scrub(sto_rdb_engine(fix.engine), 1);
    sto_rdb_scrub_get(&sto_rdb_engine(fix.engine)->scrub, &seen);
    ck_assert_uint_eq(seen.bytes_per_s, 4 * MIB);
    ck_assert_uint_eq(sto_rdb_scrub_rate(STO_SCRUB_AUTO, 700000 * 4 * MIB),
                      700000 * 4 * MIB / 604800);
    ck_assert_uint_eq(sto_rdb_scrub_rate(7 * MIB, 700000 * 4 * MIB), 7 * MIB);
    ck_assert_uint_eq(sto_rdb_scrub_rate(0, 700000 * 4 * MIB), 0);
}
END_TEST

/* Pages of a file that nobody else reads, in memory. */
static size_t resident(const char *path, size_t *out_pages)
{
    static unsigned char pages[4096];
    struct stat st;
    int fd = open(path, O_RDONLY);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(fstat(fd, &st), 0);
    *out_pages = ((size_t)st.st_size + 4095) / 4096;
    ck_assert_uint_le(*out_pages, sizeof pages);
    void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(map, MAP_FAILED);
    ck_assert_int_eq(mincore(map, (size_t)st.st_size, pages), 0);
    size_t count = 0;
    for (size_t i = 0; i < *out_pages; i++)
        count += pages[i] & 1;
    ck_assert_int_eq(munmap(map, (size_t)st.st_size), 0);
    ck_assert_int_eq(close(fd), 0);
    return count;
}

static void largest_table(char out[BASE_PATH_BYTES])
{
    struct rdb_live_files live;
    char name[64] = "";
    size_t most = 0;
    sto_rdb_live_files_open(sto_rdb_engine(fix.engine)->db.handle, &live);
    for (size_t i = 0; i < live.count; i++)
        if (rocksdb_livefiles_size(live.list, live.names[i].index) > most) {
            most = rocksdb_livefiles_size(live.list, live.names[i].index);
            (void)snprintf(name, sizeof name, "db/%s", live.names[i].name);
        }
    sto_rdb_live_files_close(&live);
    file_path(out, name);
}

static void setup_large(void)
{
    sto_rdb_test_catalogue(RDB_CATALOGUE_TRUE);
    sto_rdb_test_scrub_by_hand(true);
    fix_prepare_alone(); /* what is in the cache is counted */
    fix.options.scrub_bytes_per_s = RATE;
    fix.options.memtable_bytes = 16 * MIB;
    fix.options.file_bytes = 16 * MIB;
    fix.options.cache_bytes = 64 * MIB;
    fix_open();
}

/* But for the end of the file, where the list is, which is read as a purge reads it. A file system
 * without direct reads (tmpfs) is all memory. */
START_TEST(what_it_reads_does_not_stay_in_memory)
{
    char path[BASE_PATH_BYTES];
    size_t pages = 0;
    fill();
    largest_table(path);
    int fd = open(path, O_RDONLY | O_DIRECT);
    struct statfs fs;
    ck_assert_int_eq(statfs(path, &fs), 0);
    bool is_direct = fd >= 0 && fs.f_type != TMPFS_MAGIC; /* there all of it is memory */
    if (fd < 0)
        fd = open(path, O_RDONLY);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(fsync(fd), 0);
    ck_assert_int_eq(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
    ck_assert_int_eq(close(fd), 0);
    size_t cached = rocksdb_cache_get_usage(sto_rdb_engine(fix.engine)->db.cache);
    ck_assert_uint_gt(scrub_all().bytes, 2 * ROWS * DAMAGED_VALUE / 2);
    ck_assert_uint_lt(rocksdb_cache_get_usage(sto_rdb_engine(fix.engine)->db.cache),
                      cached + 64 * KIB); /* others read a little meanwhile */
    size_t there = resident(path, &pages);
    ck_assert_uint_gt(pages, 300);
    ck_assert(!is_direct || there < 40);
}
END_TEST

/* --- what it finds ---------------------------------------------------------------------------- */

/* Nobody has read it; and what is found is handled as if somebody had. */
START_TEST(a_flipped_byte_is_found_before_a_reader_meets_it)
{
    struct sto_damage damage;
    struct sto_engine_stats stats;
    fill();
    settle();
    fix_close();
    damaged_flip(0, HIT, 1);
    fix_open();
    sto_damage_get(fix.engine, &damage);
    ck_assert_uint_eq(damage.count + damage.lost_ranges, 0);
    struct sto_scrub seen = scrub_all();
    ck_assert_uint_ge(seen.findings[STO_SCRUB_BLOCK], 1);
    ck_assert_uint_gt(seen.last_file[STO_SCRUB_BLOCK], 0);
    ck_assert_uint_eq(seen.findings[STO_SCRUB_LIST], 0);
    ck_assert_uint_eq(seen.findings[STO_SCRUB_UNREADABLE], 0);
    damaged_await_rewritten();
    sto_engine_stats_get(fix.engine, &stats);
    ck_assert_uint_ge(stats.corrupt_reads, 1);
    ck_assert_int_eq(damaged_read(0, HIT, false), ERR_CORRUPT);
    ck_assert_int_eq(damaged_read(0, HIT + 100, false), ERR_OK);
    ck_assert_int_eq(damaged_read(1, HIT, false), ERR_OK);
    damaged_assert_sound();
}
END_TEST

/* The file is read again at every start, until it is gone. */
START_TEST(a_file_that_was_damaged_does_not_rest_over_a_restart)
{
    fill();
    settle();
    ck_assert_uint_gt(scrub_all().files, 20);
    struct rdb_engine *e = sto_rdb_engine(fix.engine);
    size_t count = records(before, 2000);
    before[count / 2].result = RDB_SCRUB_DAMAGED;
    ck_assert_int_eq(sto_rdb_scrub_log_append(&e->scrub.log, &before[count / 2], NULL), ERR_OK);
    fix_reopen();
    ck_assert_uint_eq(scrub_all().files, 1);
    ck_assert_uint_eq(records(after, 2000), count);
    ck_assert_int_eq(after[count / 2].result, RDB_SCRUB_SOUND);
    ck_assert_int_gt(after[count / 2].at_us, before[count / 2].at_us);
}
END_TEST

/* By it a read-only disk is told from one that fails. */
START_TEST(a_log_that_cannot_be_written_stops_the_engine_with_what_the_system_said)
{
    fill();
    settle();
    struct rdb_engine *e = sto_rdb_engine(fix.engine);
    ck_assert_uint_gt(scrub_all().files, 20);
    fill();
    settle();
    ck_assert_int_eq(unlink(e->scrub.log.path), 0);
    ck_assert_int_eq(mkdir(e->scrub.log.path, 0700), 0);
    (void)scrub_all();
    ck_assert(atomic_load(&e->failed));
    ck_assert_msg(strstr(e->reason, strerrordesc_np(EISDIR)) != NULL, "%s", e->reason);
}
END_TEST

/* Valid and empty; one that does not match its check value. */
START_TEST(a_wrong_list_is_found)
{
    sto_rdb_test_catalogue(_i == 0 ? RDB_CATALOGUE_ENDS : RDB_CATALOGUE_BROKEN);
    for (size_t tenant = 0; tenant < FIX_TENANTS; tenant++)
        damaged_put(tenant, 0, 3, 1);
    fix_flush();
    sto_rdb_test_catalogue(RDB_CATALOGUE_TRUE);
    struct sto_scrub seen = scrub_all();
    ck_assert_uint_ge(seen.findings[STO_SCRUB_LIST], 1);
    ck_assert_uint_gt(seen.last_file[STO_SCRUB_LIST], 0);
    ck_assert_uint_eq(seen.findings[STO_SCRUB_BLOCK], 0);
    size_t wrong = 0;
    for (size_t i = records(before, 2000); i-- > 0;)
        wrong += before[i].result == RDB_SCRUB_LIST_WRONG;
    ck_assert_uint_ge(wrong, 1);
    damaged_assert_sound();
}
END_TEST

START_TEST(a_file_of_an_earlier_version_is_read_all_the_same)
{
    uint64_t files = 0;
    sto_rdb_test_catalogue(RDB_CATALOGUE_NONE);
    fill();
    settle();
    uint64_t bytes = live_bytes(&files);
    struct sto_scrub seen = scrub_all();
    assert_no_findings(&seen);
    ck_assert_uint_eq(seen.files, files);
    ck_assert_uint_ge(seen.bytes, bytes);
}
END_TEST

START_TEST(tombstones_changes_and_documents_agree_with_the_lists)
{
    struct rdb_engine *e = sto_rdb_engine(fix.engine);
    const struct sto_range tenant = sto_range_of_tenant(&fix.tenants[1]);
    const struct sto_range table = sto_range_of_table(&fix.tables[0][0]); /* its end names it */
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    fill();
    sto_rdb_range_delete(e, batch, RDB_CF_CELLS, sto_span_of(&tenant), NULL);
    sto_rdb_range_delete(e, batch, RDB_CF_CELLS, sto_span_of(&table), NULL);
    rocksdb_writebatch_delete_cf(batch, e->db.cells, "abc#t#gone", 10);
    rocksdb_writebatch_put_cf(batch, e->db.changes, "abc#t#12345678", 14, "v", 1);
    rocksdb_writebatch_put_cf(batch, e->db.meta, "v/abc/x#y", 9, "v", 1); /* of two, by its key */
    ck_assert_int_eq(sto_rdb_write(e, batch), ERR_OK);
    rocksdb_writebatch_destroy(batch);
    ck_assert_int_eq(sto_rdb_flush(e), ERR_OK);
    struct sto_scrub seen = scrub_all();
    assert_no_findings(&seen);
    ck_assert_uint_gt(seen.files, 3);
}
END_TEST

/* A directory in the file's place fails each read, as a bad sector does: one that is larger than a
 * table's footer, for which a memory file system wants some entries. */
static void directory_put(const char *path)
{
    char entry[BASE_PATH_BYTES + 8];
    ck_assert_int_eq(mkdir(path, 0700), 0);
    for (int i = 0; i < 8; i++) {
        (void)snprintf(entry, sizeof entry, "%s/%d", path, i);
        ck_assert_int_eq(mkdir(entry, 0700), 0);
    }
}

static void directory_remove(const char *path)
{
    char entry[BASE_PATH_BYTES + 8];
    for (int i = 0; i < 8; i++) {
        (void)snprintf(entry, sizeof entry, "%s/%d", path, i);
        ck_assert_int_eq(rmdir(entry), 0);
    }
    ck_assert_int_eq(rmdir(path), 0);
}

START_TEST(a_file_that_the_disk_does_not_return_ends_nothing)
{
    char path[BASE_PATH_BYTES];
    char aside[BASE_PATH_BYTES];
    fill();
    settle();
    largest_table(path);
    file_path(aside, "aside");
    ck_assert_int_eq(rename(path, aside), 0);
    directory_put(path);
    struct sto_scrub seen = scrub_all();
    ck_assert_uint_eq(seen.findings[STO_SCRUB_UNREADABLE], 1);
    ck_assert_uint_eq(seen.findings[STO_SCRUB_BLOCK], 0);
    damaged_assert_sound();
    directory_remove(path);
    ck_assert_int_eq(rename(aside, path), 0);
}
END_TEST

/* --- what it remembers ------------------------------------------------------------------------ */

START_TEST(times_outlive_a_restart)
{
    fill();
    settle();
    struct sto_scrub first = scrub_all();
    size_t count = records(before, 2000);
    ck_assert_uint_eq(count, first.files);
    fix_reopen();
    ck_assert_uint_eq(records(after, 2000), count);
    for (size_t i = 0; i < count; i++) {
        ck_assert_uint_eq(before[i].number, after[i].number);
        ck_assert_int_eq(before[i].at_us, after[i].at_us);
        ck_assert_int_eq(before[i].result, RDB_SCRUB_SOUND);
        ck_assert_int_eq(after[i].result, RDB_SCRUB_SOUND);
    }
    struct sto_scrub second = scrub_all();
    ck_assert_uint_eq(second.files, 0);
    ck_assert_int_gt(second.oldest_us, 0);
    for (size_t i = 0; i < count; i++)
        ck_assert_int_ge(before[i].at_us, second.oldest_us);
}
END_TEST

/* Cut anywhere in its last record, or with other bytes behind it. */
START_TEST(a_damaged_record_costs_itself_alone)
{
    char path[BASE_PATH_BYTES];
    struct buf bytes;
    file_path(path, "scrub");
    fill();
    settle();
    (void)scrub_all();
    fix_close();
    ck_assert_int_eq(base_file_read(path, MIB, &bytes, NULL), ERR_OK);
    size_t count = (bytes.len - 16) / 40;
    ck_assert_uint_gt(count, 20);
    for (size_t cut = 0; cut <= 40; cut += 8) {
        struct rdb_scrub_log log;
        ck_assert_int_eq(
            base_file_replace(path, base_slice(bytes.ptr, bytes.len - cut), 0600, NULL), ERR_OK);
        ck_assert_int_eq(sto_rdb_scrub_log_open(&log, fix.dir, NULL), ERR_OK);
        ck_assert_uint_eq(log.count, count - (cut > 0));
        sto_rdb_scrub_log_close(&log);
    }
    bytes.ptr[16 + 40 * 3 + 5] ^= 1;
    ck_assert_int_eq(base_file_replace(path, base_buf_slice(&bytes), 0600, NULL), ERR_OK);
    base_buf_fini(&bytes);
    fix_open();
    ck_assert_uint_eq(records(after, 2000), 3);
    ck_assert_uint_eq(scrub_all().files, count - 3);
    fix_reopen(); /* what was appended since is behind no damage */
    ck_assert_uint_eq(records(after, 2000), count);
}
END_TEST

START_TEST(another_database_in_its_place_was_never_scrubbed)
{
    fill();
    settle();
    uint64_t files = scrub_all().files;
    fix_close();
    ck_assert_int_eq(sto_rocksdb_adopt(fix.dir, NULL), ERR_OK);
    fix_open();
    ck_assert_uint_eq(records(after, 2000), 0);
    ck_assert_uint_eq(scrub_all().files, files);
}
END_TEST

START_TEST(records_of_files_that_are_gone_go)
{
    struct rdb_engine *e = sto_rdb_engine(fix.engine);
    fill();
    settle();
    uint64_t files = scrub_all().files;
    sto_rdb_range_compact(e, RDB_CF_CELLS, SLICE_LIT("a"), SLICE_LIT("c"));
    settle();
    (void)scrub_all();
    ck_assert_uint_eq(e->scrub.log.count, records(after, 2000));
    ck_assert_uint_gt(e->scrub.log.stored, files); /* not yet on the disk, */
    fix_reopen();
    (void)scrub_all();
    e = sto_rdb_engine(fix.engine);
    ck_assert_uint_eq(e->scrub.log.stored, e->scrub.log.count); /* but behind a restart */
}
END_TEST

/* --- killed ----------------------------------------------------------------------------------- */

static void setup_directory(void)
{
    sto_rdb_test_catalogue(RDB_CATALOGUE_TRUE);
    sto_rdb_test_scrub_by_hand(true);
    fix_prepare();
    fix.options.scrub_bytes_per_s = MIB;
}

static void run_child(void (*work)(void))
{
    int status = 0;
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        work();
        _exit(0); /* as kill -9: nothing is closed */
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void fill_and_scrub_some(void)
{
    fix_open();
    fill();
    settle();
    sto_rdb_test_scrub(sto_rdb_engine(fix.engine), 8);
    struct sto_scrub seen;
    sto_rdb_scrub_get(&sto_rdb_engine(fix.engine)->scrub, &seen);
    if (seen.files < 3 || seen.files != records(before, 2000))
        _exit(1);
}

/* A file that was read in part by then is read again, and no other. */
START_TEST(a_killed_process_loses_one_file_of_progress)
{
    run_child(fill_and_scrub_some);
    fix_open();
    settle();
    size_t known = records(before, 2000);
    ck_assert_uint_ge(known, 3);
    struct sto_scrub seen = scrub_all();
    assert_no_findings(&seen);
    size_t count = records(after, 2000);
    ck_assert_uint_eq(seen.files, count - known);
}
END_TEST

Suite *suite_storage_engine_scrub(void)
{
    Suite *s = suite_create("storage_engine_scrub");
    TCase *t = tcase_create("scrub");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, setup, fix_teardown);
    tcase_add_test(t, every_live_file_is_read_once_and_rests);
    tcase_add_test(t, off_is_off);
    tcase_add_test(t, the_rate_is_kept);
    tcase_add_test(t, the_default_rate_reads_all_within_a_week);
    tcase_add_test(t, a_flipped_byte_is_found_before_a_reader_meets_it);
    tcase_add_test(t, a_file_that_was_damaged_does_not_rest_over_a_restart);
    tcase_add_test(t, a_log_that_cannot_be_written_stops_the_engine_with_what_the_system_said);
    tcase_add_test(t, a_file_of_an_earlier_version_is_read_all_the_same);
    tcase_add_test(t, tombstones_changes_and_documents_agree_with_the_lists);
    tcase_add_test(t, a_file_that_the_disk_does_not_return_ends_nothing);
    tcase_add_test(t, times_outlive_a_restart);
    tcase_add_test(t, a_damaged_record_costs_itself_alone);
    tcase_add_test(t, another_database_in_its_place_was_never_scrubbed);
    tcase_add_test(t, records_of_files_that_are_gone_go);
    suite_add_tcase(s, t);
    t = tcase_create("alone");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, setup_alone, fix_teardown);
    tcase_add_loop_test(t, a_wrong_list_is_found, 0, 2);
    suite_add_tcase(s, t);
    t = tcase_create("large");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, setup_large, fix_teardown);
    tcase_add_test(t, what_it_reads_does_not_stay_in_memory);
    suite_add_tcase(s, t);
    t = tcase_create("killed");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, setup_directory, fix_teardown);
    tcase_add_test(t, a_killed_process_loses_one_file_of_progress);
    suite_add_tcase(s, t);
    return s;
}
