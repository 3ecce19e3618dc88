/*
 * tests/storage/test_engine_torn_log.c - logs that are damaged where nothing was acknowledged, and
 * elsewhere.
 *
 * A child writes rows one after the other and ends without closing. So the logs hold what a crash
 * leaves; what each write added to them is known, and any of them can be called the last one that
 * the witness names. Then the files are damaged, opened, and put back, many times.
 * Over 500 lines because all damage is done to what the same writer left.
 */
#include "fixture.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/text.h"
#include "storage/rocksdb/manifest.h"
#include "storage/rocksdb/rdb.h"
#include "storage/rocksdb/witness.h"
#include "tests/support/process.h"

#include "base/banned.h"

Suite *suite_storage_engine_torn_log(void);

#define T &fix.tables[0][0]

enum { ROWS_MAX = 400, FILES_MAX = 64, LOGS_MAX = 16, VALUE_MAX = 100000 };

/* Behind each write. */
struct written {
    uint64_t sequence;
    uint64_t log; /* the newest */
    uint64_t log_bytes;
};

static struct shared { /* with the child */
    size_t rows;
    struct written of[ROWS_MAX];
} * written;

/* The database as the child left it. */
static struct {
    char name[64];
    struct buf bytes;
} files[FILES_MAX];
static size_t file_count;

static struct {
    unsigned count;
    struct sto_rocksdb_tear last;
} tears;

static void tear_found(void *ctx, const struct sto_rocksdb_tear *tear)
{
    ck_assert_ptr_eq(ctx, &tears);
    tears.count++;
    tears.last = *tear;
}

/* --- files ------------------------------------------------------------------------------------ */

static void db_path(char out[400], const char *name)
{
    (void)snprintf(out, 400, "%s/db/%s", fix.dir, name);
}

/* 0: it is no log. */
static uint64_t number_of(const char *name)
{
    uint64_t number = 0;
    size_t zeros = strspn(name, "0"), digits = strspn(name, "0123456789");
    if (strcmp(name + digits, ".log") != 0 ||
        base_parse_u64(base_slice(name + zeros, digits - zeros), &number) != ERR_OK)
        return 0;
    return number;
}

static void newest_log(uint64_t *out_number, uint64_t *out_bytes)
{
    char path[400];
    db_path(path, "");
    DIR *d = opendir(path);
    *out_number = 0;
    for (const struct dirent *e; (e = readdir(d)) != NULL;) {
        struct stat st;
        uint64_t number = number_of(e->d_name);
        db_path(path, e->d_name);
        if (number <= *out_number || stat(path, &st) != 0)
            continue;
        *out_number = number;
        *out_bytes = (uint64_t)st.st_size;
    }
    (void)closedir(d);
}

static void files_keep(void)
{
    char path[400];
    db_path(path, "");
    DIR *d = opendir(path);
    for (const struct dirent *e; (e = readdir(d)) != NULL;) {
        if (e->d_name[0] == '.' || strcmp(e->d_name, "LOCK") == 0)
            continue;
        ck_assert_uint_lt(file_count, FILES_MAX);
        (void)snprintf(files[file_count].name, sizeof files[0].name, "%.63s", e->d_name);
        db_path(path, e->d_name);
        ck_assert_int_eq(base_file_read(path, 64 * MIB, &files[file_count].bytes, NULL), ERR_OK);
        file_count++;
    }
    (void)closedir(d);
}

static void file_put(const char *name, struct slice bytes)
{
    char path[400];
    db_path(path, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, bytes.ptr, bytes.len), (ssize_t)bytes.len);
    ck_assert_int_eq(close(fd), 0);
}

static void files_put_back(void)
{
    char path[400];
    (void)snprintf(path, sizeof path, "%s/db", fix.dir);
    ck_assert_int_eq(base_dir_remove(path, NULL), ERR_OK);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    for (size_t i = 0; i < file_count; i++)
        file_put(files[i].name, base_buf_slice(&files[i].bytes));
}

static size_t log_find(uint64_t number)
{
    for (size_t i = 0; i < file_count; i++)
        if (number_of(files[i].name) == number)
            return i;
    ck_abort_msg("there is no log %llu", (unsigned long long)number);
}

static bool file_is(const char *name, struct slice bytes)
{
    char path[400];
    struct buf b;
    db_path(path, name);
    ck_assert_int_eq(base_file_read(path, 64 * MIB, &b, NULL), ERR_OK);
    bool same = base_slice_equal(base_buf_slice(&b), bytes);
    base_buf_fini(&b);
    return same;
}

static void witness_put(uint64_t sequence)
{
    const struct rdb_witness w = {.sequence = sequence};
    ck_assert_int_eq(sto_rdb_witness_write(fix.dir, &w, NULL), ERR_OK);
}

/* --- writing ---------------------------------------------------------------------------------- */

static uint32_t dice(uint32_t *seed, uint32_t below)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)*seed * below >> 32);
}

static void value_make(uint32_t seed, size_t len, char *out)
{
    for (size_t i = 0; i < len; i++)
        out[i] = (char)(1 + dice(&seed, 255));
    out[len] = '\0';
}

static void row_name(size_t i, char out[24])
{
    (void)snprintf(out, 24, "row%05zu", i);
}

/* bytes: of values, at most; the last one is of that length. */
static _Noreturn void child_write(size_t rows, uint32_t bytes)
{
    static char value[VALUE_MAX + 1];
    uint32_t seed = bytes;
    fix_open();
    for (size_t i = 0; i < rows; i++) {
        char row[24];
        struct sto_health health;
        row_name(i, row);
        value_make((uint32_t)i, i + 1 == rows ? bytes : dice(&seed, bytes), value);
        if (fix_put(T, row, value) != ERR_OK)
            _exit(1);
        sto_health_get(fix.engine, &health);
        written->of[i].sequence = health.sequence;
        newest_log(&written->of[i].log, &written->of[i].log_bytes);
        written->rows++;
    }
    _exit(0);
}

static void write_rows(size_t rows, uint32_t bytes)
{
    int status = 0;
    ck_assert_uint_le(bytes, VALUE_MAX);
    written->rows = 0;
    pid_t child = fork();
    if (child == 0)
        child_write(rows, bytes);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_uint_eq(written->rows, rows);
    files_keep();
    fix.options.tears = (struct sto_rocksdb_tears){.found = tear_found, .ctx = &tears};
}

static void setup(void)
{
    fix_prepare_alone(); /* all files are kept in memory, and written again for each tear */
    file_count = 0;
    written =
        mmap(NULL, sizeof *written, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(written, MAP_FAILED);
}

static void teardown(void)
{
    for (size_t i = 0; i < file_count; i++)
        base_buf_fini(&files[i].bytes);
    (void)munmap(written, sizeof *written);
    fix_teardown();
}

/* Where the record of a row begins in its log. */
static uint64_t record_begin(size_t row)
{
    return row > 0 && written->of[row - 1].log == written->of[row].log
               ? written->of[row - 1].log_bytes
               : 0;
}

/* --- opening ---------------------------------------------------------------------------------- */

/* How many rows there are: the first ones, without a gap. */
static size_t rows_count(void)
{
    size_t count = 0;
    bool is_there = true;
    for (size_t i = 0; i < written->rows; i++) {
        char row[24];
        struct fix_sink s;
        row_name(i, row);
        struct sto_read_spec spec = {.row_key = base_slice_text(row)};
        fix_sink_init(&s);
        ck_assert_int_eq(fix_read(T, &spec, &s, true), ERR_OK);
        bool found = s.text.len > 1;
        ck_assert_msg(is_there || !found, "%s is there, and one before it is not", row);
        is_there = found;
        count += found;
        base_buf_fini(&s.text);
    }
    return count;
}

/* As an open judges, without a change to any file. */
static enum err logs_judge(struct errbuf *eb)
{
    const struct sto_rocksdb_tears on_tear = {.found = tear_found, .ctx = &tears};
    tears.count = 0;
    return sto_rocksdb_logs_read(fix.dir, &on_tear, eb);
}

/* The same verdict by both; what a refused open leaves, and what an accepted one shows. */
static enum err open_and_count(size_t *out_rows)
{
    struct errbuf eb = {{0}}, again = {{0}};
    enum err judged = logs_judge(&eb);
    unsigned judged_tears = tears.count;
    tears.count = 0;
    enum err rc = fix_try_open(&again);
    ck_assert_msg(judged == ERR_OK || rc == judged, "%s; %s", eb.text, again.text);
    if (rc != ERR_OK) {
        fix.engine = NULL;
        ck_assert_msg(rc == ERR_CORRUPT, "%s", again.text);
        return rc;
    }
    ck_assert_uint_eq(tears.count, judged_tears);
    fix_scopes_make();
    for (size_t i = 0; i < FIX_TENANTS; i++)
        for (size_t k = 0; k < FIX_TABLES; k++)
            ck_assert_int_eq(sto_counters_load(fix.engine, &fix.tables[i][k], NULL), ERR_OK);
    *out_rows = rows_count();
    fix_assert_no_drift(0);
    fix_close();
    return ERR_OK;
}

/* --- damage ----------------------------------------------------------------------------------- */

enum damage { HOLE, PAGE, ZEROS_TO_END, CHANCE, CHANCE_TO_END, CUT, DAMAGES };

/* Of the file's bytes from `at`; returns how many are left. */
static size_t damage_do(struct buf *b, enum damage damage, uint64_t at, uint32_t seed)
{
    size_t end = b->len;
    if (damage == CUT)
        return (size_t)at;
    if (damage == HOLE || damage == CHANCE)
        end = (size_t)at + 512;
    if (damage == PAGE)
        end = (size_t)(at - at % 4096) + 4096;
    if (end > b->len)
        end = b->len;
    for (size_t i = (size_t)at; i < end; i++)
        b->ptr[i] = damage == CHANCE || damage == CHANCE_TO_END ? (uint8_t)dice(&seed, 256) : 0;
    return b->len;
}

/* The copy of the file that is damaged. */
static struct buf copy_of(size_t file)
{
    struct buf b;
    base_buf_init(&b, 64 * MIB);
    ck_assert_int_eq(base_buf_append(&b, base_buf_slice(&files[file].bytes)), ERR_OK);
    return b;
}

START_TEST(damage_of_the_last_write_is_cut_off_unless_it_was_acknowledged)
{
    fix.options.memtable_bytes = 4 * MIB; /* one log */
    write_rows(30, 70000);
    size_t last = written->rows - 1;
    const struct written *before = &written->of[last - 1];
    uint64_t begin = record_begin(last);
    size_t file = log_find(written->of[last].log);
    ck_assert_uint_eq(files[file].bytes.len, written->of[last].log_bytes);
    unsigned tried = 0;
    for (uint64_t at = begin; at < files[file].bytes.len; at += 512 - at % 512)
        for (int damage = 0; damage < DAMAGES; damage++, tried++) {
            struct errbuf eb = {{0}};
            struct buf b = copy_of(file);
            b.len = damage_do(&b, (enum damage)damage, at, tried);
            bool is_nothing = at == begin && (damage == ZEROS_TO_END || damage == CUT);
            file_put(files[file].name, base_buf_slice(&b));
            witness_put(before->sequence);
            ck_assert_msg(logs_judge(&eb) == ERR_OK, "%d at %llu: %s", damage,
                          (unsigned long long)at, eb.text);
            ck_assert_uint_eq(tears.count, !is_nothing);
            if (!is_nothing) {
                ck_assert_uint_eq(tears.last.log, written->of[last].log);
                ck_assert_uint_eq(tears.last.offset, begin);
                ck_assert_uint_eq(tears.last.bytes, b.len - begin);
                ck_assert_uint_eq(tears.last.sequence, before->sequence);
            }
            witness_put(before->sequence + 1);
            ck_assert_int_eq(logs_judge(&eb), is_nothing ? ERR_OK : ERR_CORRUPT);
            if (tried % 67 == 0) {
                size_t rows = 0;
                ck_assert_int_eq(open_and_count(&rows), ERR_CORRUPT);
                ck_assert(is_nothing || file_is(files[file].name, base_buf_slice(&b)));
                files_put_back();
                file_put(files[file].name, base_buf_slice(&b));
                witness_put(before->sequence);
                ck_assert_int_eq(open_and_count(&rows), ERR_OK);
                ck_assert_uint_eq(rows, last);
                files_put_back();
            }
            base_buf_fini(&b);
        }
    ck_assert_uint_gt(tried, 100 * DAMAGES);
}
END_TEST

START_TEST(damage_of_an_earlier_write_is_refused_whatever_the_witness_says)
{
    fix.options.memtable_bytes = 4 * MIB;
    write_rows(40, 3000);
    uint64_t begin = record_begin(written->rows - 1);
    size_t file = log_find(written->of[0].log);
    unsigned tried = 0;
    witness_put(0);
    for (uint64_t at = 0; at + 512 < begin; at += 512)
        for (int damage = 0; damage < DAMAGES; damage++, tried++) {
            struct errbuf eb = {{0}};
            struct buf b = copy_of(file);
            b.len = damage_do(&b, (enum damage)damage, at, tried);
            if (b.len == files[file].bytes.len && damage != ZEROS_TO_END &&
                damage != CHANCE_TO_END && (damage != PAGE || at - at % 4096 + 4096 < begin)) {
                file_put(files[file].name, base_buf_slice(&b));
                ck_assert_msg(logs_judge(&eb) == ERR_CORRUPT, "%d at %llu", damage,
                              (unsigned long long)at);
                ck_assert_ptr_nonnull(strstr(eb.text, "a later write follows"));
                ck_assert_uint_eq(tears.count, 0);
            }
            base_buf_fini(&b);
        }
    ck_assert_uint_gt(tried, 50 * DAMAGES);
}
END_TEST

/* One random thing that happens to one log, from some byte on. */
static size_t random_damage(struct buf *b, uint32_t *seed, uint64_t from)
{
    uint64_t at = from + dice(seed, (uint32_t)(b->len - from));
    uint32_t len = 1 + dice(seed, dice(seed, 2) == 0 ? 8 : 9000);
    size_t end = at + len < b->len ? (size_t)at + len : b->len;
    switch (dice(seed, 4)) {
    case 0:
        b->ptr[at] ^= (uint8_t)(1u << dice(seed, 8));
        return b->len;
    case 1:
        memset(b->ptr + at, 0, end - (size_t)at);
        return b->len;
    case 2:
        for (size_t i = (size_t)at; i < end; i++)
            b->ptr[i] = (uint8_t)dice(seed, 256);
        return b->len;
    default:
        return (size_t)at;
    }
}

/* Rows that the witness names. */
static size_t rows_at(uint64_t sequence)
{
    size_t rows = 0;
    while (rows < written->rows && written->of[rows].sequence <= sequence)
        rows++;
    return rows;
}

START_TEST(no_acknowledged_row_is_missing_from_a_database_that_opens)
{
    uint32_t seed = (uint32_t)base_monotonic_ns() | 1;
    unsigned opened = 0;
    write_rows(90, 9000); /* several logs, and tables */
    ck_assert_uint_gt(written->of[written->rows - 1].log, written->of[0].log);
    int rounds = process_rounds(60);
    for (int round = 0; round < rounds || (opened == 0 && round < 1000); round++) {
        uint32_t began = seed;
        size_t last = written->rows - 1;
        size_t witnessed = dice(&seed, 3) == 0 ? last : dice(&seed, (uint32_t)written->rows);
        bool in_last_write = dice(&seed, 2) == 0;
        uint64_t number = in_last_write ? written->of[last].log
                                        : written->of[dice(&seed, (uint32_t)written->rows)].log;
        bool is_there = false;
        for (size_t i = 0; i < file_count; i++)
            is_there |= number_of(files[i].name) == number;
        if (!is_there)
            continue;
        size_t file = log_find(number);
        struct buf b = copy_of(file);
        b.len = random_damage(&b, &seed, in_last_write ? record_begin(last) : 0);
        files_put_back();
        file_put(files[file].name, base_buf_slice(&b));
        witness_put(written->of[witnessed].sequence);
        size_t rows = 0;
        enum err rc = open_and_count(&rows);
        if (rc == ERR_OK)
            ck_assert_msg(rows >= rows_at(written->of[witnessed].sequence),
                          "SEED=%u: %zu rows, but %zu were acknowledged", began, rows,
                          witnessed + 1);
        if (in_last_write && witnessed < last)
            ck_assert_msg(rc == ERR_OK && rows >= last, "SEED=%u: it does not open", began);
        opened += rc == ERR_OK;
        base_buf_fini(&b);
    }
    ck_assert_uint_gt(opened, 0);
}
END_TEST

/* Of the logs that an open reads. */
static uint64_t oldest_log(void)
{
    char path[400];
    struct rdb_manifest m;
    uint64_t oldest = UINT64_MAX;
    (void)snprintf(path, sizeof path, "%s/db", fix.dir);
    ck_assert_int_eq(sto_rdb_manifest_read(path, &m, NULL), ERR_OK);
    for (size_t i = 0; i < file_count; i++) {
        uint64_t number = number_of(files[i].name);
        if (number >= m.oldest_log && number != 0 && number < oldest)
            oldest = number;
    }
    sto_rdb_manifest_fini(&m);
    return oldest;
}

START_TEST(a_log_that_is_missing_between_others_is_refused)
{
    size_t logs = 0, rows = 0;
    write_rows(90, 9000);
    witness_put(0); /* it says nothing */
    for (size_t i = 0; i < file_count; i++)
        logs += number_of(files[i].name) != 0 && files[i].bytes.len > 0;
    ck_assert_uint_gt(logs, 2);
    uint64_t oldest = oldest_log();
    ck_assert_uint_eq(oldest, written->of[0].log); /* metadata was not flushed */
    for (size_t i = 0; i < file_count; i++) {
        char path[400];
        struct errbuf eb = {{0}};
        db_path(path, files[i].name);
        uint64_t number = number_of(files[i].name);
        if (number <= oldest || number >= written->of[written->rows - 1].log)
            continue;
        ck_assert_int_eq(unlink(path), 0);
        ck_assert_int_eq(logs_judge(&eb), ERR_CORRUPT);
        ck_assert_ptr_nonnull(strstr(eb.text, "acknowledged writes are lost"));
        ck_assert_int_eq(open_and_count(&rows), ERR_CORRUPT);
        files_put_back();
    }
    ck_assert_int_eq(open_and_count(&rows), ERR_OK);
    ck_assert_uint_eq(rows, written->rows);
}
END_TEST

START_TEST(an_older_log_that_is_cut_is_refused_although_rocksdb_would_open)
{
    size_t rows = 0;
    write_rows(90, 9000);
    witness_put(0);
    size_t file = log_find(written->of[0].log);
    struct buf b = copy_of(file);
    for (int whole = 0; whole < 2; whole++) { /* inside a record, and between two */
        struct errbuf eb = {{0}};
        b.len = (size_t)written->of[3].log_bytes + (whole == 0 ? 100 : 0);
        file_put(files[file].name, base_buf_slice(&b));
        ck_assert_int_eq(logs_judge(&eb), ERR_CORRUPT);
        ck_assert_ptr_nonnull(strstr(eb.text, "goes on with change"));
        ck_assert_int_eq(open_and_count(&rows), ERR_CORRUPT);
        ck_assert(file_is(files[file].name, base_buf_slice(&b)));
    }
    base_buf_fini(&b);
}
END_TEST

START_TEST(a_log_that_goes_on_where_a_torn_one_ended_is_no_loss)
{
    size_t rows = 0;
    write_rows(20, 3000);
    size_t last = written->rows - 1;
    size_t file = log_find(written->of[last].log);
    struct buf b = copy_of(file);
    witness_put(written->of[last].sequence);
    ck_assert_int_eq(base_buf_append_text(&b, "torn by a crash, and a start was killed"), ERR_OK);
    file_put(files[file].name, base_buf_slice(&b));
    file_put("009000.log", SLICE_LIT("")); /* the start had made its own log */
    ck_assert_int_eq(open_and_count(&rows), ERR_OK);
    ck_assert_uint_eq(tears.count, 1);
    ck_assert_uint_eq(tears.last.bytes, 39);
    ck_assert_uint_eq(rows, written->rows);
    tears.count = 0;
    ck_assert_int_eq(open_and_count(&rows), ERR_OK);
    ck_assert_uint_eq(tears.count, 0); /* it was cut off */
    ck_assert_uint_eq(rows, written->rows);
    base_buf_fini(&b);
}
END_TEST

START_TEST(a_log_that_rocksdb_does_not_read_is_not_judged)
{
    size_t rows = 0;
    write_rows(20, 3000);
    witness_put(written->of[written->rows - 1].sequence);
    ck_assert_int_eq(open_and_count(&rows), ERR_OK); /* all is in tables */
    file_put("000001.log", SLICE_LIT("this was a log once"));
    ck_assert_int_eq(open_and_count(&rows), ERR_OK);
    ck_assert_uint_eq(tears.count, 0);
    ck_assert_uint_eq(rows, written->rows);
}
END_TEST

START_TEST(an_open_database_is_left_alone)
{
    write_rows(3, 100);
    witness_put(0);
    fix_open();
    ck_assert_int_eq(logs_judge(NULL), ERR_LOCKED);
    ck_assert_int_eq(fix_put(T, "row", "v"), ERR_OK);
    fix_close();
    ck_assert_int_eq(logs_judge(NULL), ERR_OK);
}
END_TEST

START_TEST(the_manifest_says_what_rocksdb_knows)
{
    fix_open();
    for (int i = 0; i < 6; i++) {
        static char value[60001];
        char path[400], row[24];
        struct rdb_manifest m;
        struct sto_health health;
        uint64_t oldest = 0, used = 0, sequence = 0;
        for (size_t k = 0; k < 5; k++) {
            row_name(k, row);
            value_make((uint32_t)i, 60000, value);
            ck_assert_int_eq(fix_put(T, row, value), ERR_OK);
        }
        if (i % 3 == 2)
            ck_assert_int_eq(sto_rdb_flush(sto_rdb_engine(fix.engine)), ERR_OK);
        if (i == 4)
            fix_reopen();
        (void)snprintf(path, sizeof path, "%s/db", fix.dir);
        sto_health_get(fix.engine, &health);
        do { /* a flush may be in its middle */
            ck_assert_int_eq(rocksdb_property_int(sto_rdb_engine(fix.engine)->db.handle,
                                                  "rocksdb.min-log-number-to-keep", &oldest),
                             0);
            ck_assert_int_eq(sto_rdb_manifest_read(path, &m, NULL), ERR_OK);
            ck_assert_uint_le(m.sequence, health.sequence);
            used = m.oldest_log;
            sequence = m.sequence;
            sto_rdb_manifest_fini(&m);
        } while (used < oldest);
        if (i % 3 == 2)
            ck_assert_uint_eq(sequence, health.sequence);
    }
    fix_close();
    fix.engine = NULL;
}
END_TEST

START_TEST(a_manifest_that_is_no_manifest_is_rocksdbs_to_refuse)
{
    struct rdb_manifest m;
    char path[400];
    write_rows(3, 100);
    (void)snprintf(path, sizeof path, "%s/db", fix.dir);
    ck_assert_int_eq(sto_rdb_manifest_read(path, &m, NULL), ERR_OK);
    sto_rdb_manifest_fini(&m);
    for (size_t i = 0; i < file_count; i++) {
        if (strcmp(files[i].name, "CURRENT") != 0)
            continue;
        static const char *const texts[] = {"", "\n", "MANIFEST-777777\n", "../CURRENT\n",
                                            "CURRENT"};
        for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++) {
            file_put("CURRENT", base_slice_text(texts[k]));
            ck_assert_int_eq(sto_rdb_manifest_read(path, &m, NULL), ERR_CORRUPT);
        }
    }
}
END_TEST

Suite *suite_storage_engine_torn_log(void)
{
    Suite *s = suite_create("storage_engine_torn_log");
    TCase *t = tcase_create("torn_log");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, damage_of_the_last_write_is_cut_off_unless_it_was_acknowledged);
    tcase_add_test(t, damage_of_an_earlier_write_is_refused_whatever_the_witness_says);
    tcase_add_test(t, no_acknowledged_row_is_missing_from_a_database_that_opens);
    tcase_add_test(t, a_log_that_is_missing_between_others_is_refused);
    tcase_add_test(t, an_older_log_that_is_cut_is_refused_although_rocksdb_would_open);
    tcase_add_test(t, a_log_that_goes_on_where_a_torn_one_ended_is_no_loss);
    tcase_add_test(t, a_log_that_rocksdb_does_not_read_is_not_judged);
    tcase_add_test(t, an_open_database_is_left_alone);
    tcase_add_test(t, the_manifest_says_what_rocksdb_knows);
    tcase_add_test(t, a_manifest_that_is_no_manifest_is_rocksdbs_to_refuse);
    suite_add_tcase(s, t);
    return s;
}
