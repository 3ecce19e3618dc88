/*
 * tests/fuzz/fuzz_log_file.c - logs and MANIFESTs as they might lie on a damaged disk
 * (storage/rocksdb/log_file.h, manifest.h).
 *
 * First byte 0: the rest is a log.
 *   - Records follow each other, the same ones each time (promise 3).
 *   - A later record begins behind the damage and inside the file.
 * 1: the rest is batches by their lengths, then a hole.
 *   - All batches before the hole are returned, and none that it touches (promise 1).
 *   - A batch that begins behind the hole, in a block of its own or not, is found.
 * 2: the rest is edits by their lengths, in a MANIFEST whose checksums match; bytes are an edit,
 *    or the MANIFEST is refused.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "storage/rocksdb/log_file.h"
#include "storage/rocksdb/manifest.h"
#include "tests/fuzz/fuzz.h"
#include "tests/storage/log_maker.h"

#include "base/banned.h"

enum { BATCHES_MAX = 64, BYTES_MAX = 1 << 20 };

static int fd = -1;
static char path[64];

static void log_write(struct slice bytes)
{
    INVARIANT(ftruncate(fd, 0) == 0);
    INVARIANT(pwrite(fd, bytes.ptr, bytes.len, 0) == (ssize_t)bytes.len);
}

/* How many records; what follows them. ERR_UNSUPPORTED ends a log, too. */
static size_t log_read(struct rdb_log_record *out_end, enum rdb_log_found *out_found)
{
    struct rdb_log_file *f = NULL;
    struct rdb_log_record record;
    struct errbuf eb = {{0}};
    uint64_t next = 0;
    size_t count = 0;
    INVARIANT(sto_rdb_log_open(path, &f, &eb) == ERR_OK);
    for (;;) {
        enum err rc = sto_rdb_log_next(f, NULL, out_found, &record, &eb);
        fuzz_expect_told(rc, &eb);
        INVARIANT(rc == ERR_OK || rc == ERR_UNSUPPORTED);
        if (rc != ERR_OK)
            *out_found = RDB_LOG_END;
        if (rc != ERR_OK || *out_found != RDB_LOG_RECORD)
            break;
        INVARIANT(record.offset >= next && record.bytes < sto_rdb_log_bytes(f));
        next = record.offset + MAKER_HEAD + record.bytes;
        INVARIANT(next <= sto_rdb_log_bytes(f));
        count++;
    }
    INVARIANT(*out_found == RDB_LOG_END || record.offset >= next);
    *out_end = record;
    sto_rdb_log_close(f);
    return count;
}

static bool find_later(uint64_t damage, uint64_t sequence, struct rdb_log_record *out)
{
    struct rdb_log_file *f = NULL;
    bool found = false;
    INVARIANT(sto_rdb_log_open(path, &f, NULL) == ERR_OK);
    INVARIANT(sto_rdb_log_find_later(f, damage, sequence, &found, out, NULL) == ERR_OK);
    INVARIANT(!found || (out->offset > damage && out->offset + out->bytes < sto_rdb_log_bytes(f)));
    sto_rdb_log_close(f);
    return found;
}

static void try_bytes(struct slice bytes)
{
    struct rdb_log_record end, again, later;
    enum rdb_log_found found, found_again;
    log_write(bytes);
    size_t count = log_read(&end, &found);
    INVARIANT(count == log_read(&again, &found_again) && found == found_again);
    INVARIANT(found == RDB_LOG_END || end.offset == again.offset);
    if (found == RDB_LOG_DAMAGE) {
        (void)find_later(end.offset, 0, &later);  /* asserts */
        (void)find_later(end.offset, 10, &later); /* likewise */
    }
}

/* A hole of bytes that are all wrong, so that each record it touches is damaged. */
static void try_hole(struct fuzz_input *in)
{
    struct buf log;
    uint64_t end[BATCHES_MAX], begin[BATCHES_MAX];
    struct rdb_log_record stop, later;
    enum rdb_log_found found;
    size_t count = 1 + fuzz_below(in, BATCHES_MAX);
    base_buf_init(&log, BYTES_MAX * 8);
    for (size_t i = 0; i < count; i++) {
        size_t left = MAKER_BLOCK - log.len % MAKER_BLOCK;
        size_t bytes = (size_t)fuzz_number(in, 2) % (BYTES_MAX / BATCHES_MAX);
        begin[i] = log.len + (left < MAKER_HEAD ? left : 0);
        maker_batch(&log, 100 + i, 1, bytes);
        end[i] = log.len;
    }
    uint64_t at = fuzz_number(in, 4) % log.len;
    uint64_t len = 1 + fuzz_number(in, 2);
    uint64_t behind = at + len < log.len ? at + len : log.len;
    for (uint64_t i = at; i < behind; i++)
        log.ptr[i] ^= 0xa5;
    log_write(base_buf_slice(&log));
    size_t sound = 0;
    while (sound < count && end[sound] <= at)
        sound++;
    size_t got = log_read(&stop, &found);
    bool in_trailer = sound < count && at < begin[sound] && behind <= begin[sound];
    INVARIANT(in_trailer ? got == count : got == sound && found == RDB_LOG_DAMAGE);
    if (!in_trailer) {
        INVARIANT(stop.offset == begin[sound]);
        bool follows = false;
        for (size_t i = sound + 1; i < count; i++)
            follows |= begin[i] >= behind && begin[i] + MAKER_HEAD + RDB_LOG_BATCH_HEAD <= log.len;
        bool is_later = find_later(stop.offset, 99 + sound, &later);
        INVARIANT(is_later || !follows);
        INVARIANT(!is_later || later.sequence == 0 || later.sequence > 99 + sound);
    }
    base_buf_fini(&log);
}

static char dir[] = "/tmp/bigtent-fuzz-manifest-XXXXXX";

static void dir_file(char out[64], const char *name)
{
    (void)snprintf(out, 64, "%s/%s", dir, name);
}

static void dir_remove(void)
{
    static const char *const names[] = {"CURRENT", "MANIFEST-000005"};
    char file[64];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        dir_file(file, names[i]);
        (void)unlink(file);
    }
    (void)rmdir(dir);
}

static void try_manifest(struct fuzz_input *in)
{
    static bool is_made;
    char file[64];
    struct buf log;
    struct rdb_manifest m;
    struct errbuf eb = {{0}};
    if (!is_made) {
        INVARIANT(mkdtemp(dir) != NULL);
        INVARIANT(atexit(dir_remove) == 0);
        dir_file(file, "CURRENT");
        INVARIANT(base_file_create(file, SLICE_LIT("MANIFEST-000005\n"), 0600, NULL) == ERR_OK);
        dir_file(file, "MANIFEST-000005");
        INVARIANT(symlink(path, file) == 0);
        is_made = true;
    }
    base_buf_init(&log, BYTES_MAX);
    while (in->rest.len > 0)
        maker_record(&log, fuzz_bytes(in, 255));
    log_write(base_buf_slice(&log));
    enum err rc = sto_rdb_manifest_read(dir, &m, &eb);
    fuzz_expect_told(rc, &eb);
    INVARIANT(rc == ERR_OK || rc == ERR_CORRUPT || rc == ERR_UNSUPPORTED);
    if (rc == ERR_OK) {
        INVARIANT(m.end <= log.len);
        sto_rdb_manifest_fini(&m);
    }
    base_buf_fini(&log);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (fd < 0) {
        fd = memfd_create("log", MFD_CLOEXEC);
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    struct fuzz_input in = {base_slice(data, size)};
    switch (fuzz_below(&in, 3)) {
    case 0:
        try_bytes(in.rest);
        break;
    case 1:
        try_hole(&in);
        break;
    default:
        try_manifest(&in);
    }
    return 0;
}
