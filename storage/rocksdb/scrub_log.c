/*
 * storage/rocksdb/scrub_log.c - "bigtent scrub 1\n", then records of 40 bytes, the newest last.
 *
 *   record   number 8, bytes 8, wall clock in microseconds 8, result 8, check 8
 *
 * Numbers are big endian; the check is the SipHash-1-3 of the others with key 0. Records are
 * appended without fsync: a lost one costs another scrub of that file.
 */
#define _GNU_SOURCE

#include "storage/rocksdb/scrub_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "base/siphash.h"
#include "storage/keycodec.h"

#include "base/banned.h"

#define FILE_NAME       "scrub"
#define HEAD            "bigtent scrub 1\n"
#define NUMBERS         4
#define RECORD_BYTES    ((NUMBERS + 1) * 8)
#define SCRUB_LOG_BYTES (64 * MIB)
#define COUNT_FIRST     64

static uint64_t check_of(const uint8_t *record)
{
    return base_siphash13((struct base_siphash_key){0}, base_slice(record, 8 * NUMBERS));
}

static void record_encode(const struct rdb_scrubbed *r, uint8_t out[RECORD_BYTES])
{
    sto_put_be64(out, r->number);
    sto_put_be64(out + 8, r->bytes);
    sto_put_be64(out + 16, (uint64_t)r->at_us);
    sto_put_be64(out + 24, (uint64_t)r->result);
    sto_put_be64(out + 32, check_of(out));
}

static bool record_decode(const uint8_t *in, struct rdb_scrubbed *out)
{
    uint64_t result = sto_get_be64(in + 24);
    if (sto_get_be64(in + 32) != check_of(in) || result >= RDB_SCRUB_RESULTS)
        return false;
    *out = (struct rdb_scrubbed){.number = sto_get_be64(in),
                                 .bytes = sto_get_be64(in + 8),
                                 .at_us = (int64_t)sto_get_be64(in + 16),
                                 .result = (enum rdb_scrub_result)result};
    return true;
}

/* --- in memory -------------------------------------------------------------------------------- */

/* Returns the index of the first record that is not below the number. */
static size_t place_of(const struct rdb_scrub_log *log, uint64_t number)
{
    size_t low = 0;
    size_t high = log->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (log->of[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct rdb_scrubbed *sto_rdb_scrub_log_find(const struct rdb_scrub_log *log, uint64_t number,
                                                  uint64_t bytes)
{
    size_t at = place_of(log, number);
    bool is_there = at < log->count && log->of[at].number == number && log->of[at].bytes == bytes;
    return is_there ? &log->of[at] : NULL;
}

void sto_rdb_scrub_log_set(struct rdb_scrub_log *log, const struct rdb_scrubbed *record)
{
    size_t at = place_of(log, record->number);
    if (at < log->count && log->of[at].number == record->number) {
        log->of[at] = *record;
        return;
    }
    if (log->count == log->capacity) {
        log->capacity = log->capacity == 0 ? COUNT_FIRST : 2 * log->capacity;
        struct rdb_scrubbed *of = base_new_array(log->capacity, sizeof of[0]);
        if (log->count > 0)
            memcpy(of, log->of, log->count * sizeof of[0]);
        base_free(log->of);
        log->of = of;
    }
    memmove(&log->of[at + 1], &log->of[at], (log->count - at) * sizeof log->of[0]);
    log->of[at] = *record;
    log->count++;
}

void sto_rdb_scrub_log_keep(struct rdb_scrub_log *log, const uint64_t *numbers, size_t count)
{
    size_t kept = 0;
    size_t at = 0;
    for (size_t i = 0; i < log->count; i++) {
        while (at < count && numbers[at] < log->of[i].number)
            at++;
        if (at < count && numbers[at] == log->of[i].number)
            log->of[kept++] = log->of[i];
    }
    log->count = kept;
}

/* --- on the disk ------------------------------------------------------------------------------ */

enum err sto_rdb_scrub_log_open(struct rdb_scrub_log *log, const char *dir, struct errbuf *eb)
{
    struct buf text = {0};
    struct rdb_scrubbed record;
    *log = (struct rdb_scrub_log){.count = 0};
    enum err rc = base_path_join(log->path, dir, FILE_NAME, eb);
    if (rc != ERR_OK)
        return rc;
    rc = base_file_read(log->path, SCRUB_LOG_BYTES, &text, NULL);
    struct slice rest = base_buf_slice(&text);
    const struct slice head = SLICE_LIT(HEAD);
    rest = base_slice_starts_with(rest, head) ? base_slice_skip(rest, head.len) : SLICE_EMPTY;
    for (; rest.len >= RECORD_BYTES && record_decode(rest.ptr, &record);
         rest = base_slice_skip(rest, RECORD_BYTES))
        sto_rdb_scrub_log_set(log, &record);
    base_buf_fini(&text);
    if (rc == ERR_IO)
        return base_fail(eb, rc, "the file of what was scrubbed cannot be read");
    return ERR_OK; /* none, or too long: everything is scrubbed again */
}

void sto_rdb_scrub_log_close(struct rdb_scrub_log *log)
{
    base_free(log->of);
    *log = (struct rdb_scrub_log){.count = 0};
}

enum err sto_rdb_scrub_log_remove(const char *dir, struct errbuf *eb)
{
    char path[BASE_PATH_BYTES];
    enum err rc = base_path_join(path, dir, FILE_NAME, eb);
    if (rc == ERR_OK && unlink(path) != 0 && errno != ENOENT)
        rc = base_fail(eb, base_file_error(errno), "cannot remove %s: %s", path,
                       strerrordesc_np(errno));
    return rc;
}

static enum err append_failed(const struct rdb_scrub_log *log, int error, struct errbuf *eb)
{
    return base_fail(eb, base_file_error(error), "cannot write to %s: %s", log->path,
                     strerrordesc_np(error));
}

/* Appends with one write: a crash leaves all of it, or a part that does not match its check. */
enum err sto_rdb_scrub_log_append(struct rdb_scrub_log *log, const struct rdb_scrubbed *record,
                                  struct errbuf *eb)
{
    uint8_t bytes[RECORD_BYTES];
    record_encode(record, bytes);
    int fd = open(log->path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd < 0)
        return append_failed(log, errno, eb);
    ssize_t n = write(fd, bytes, sizeof bytes);
    bool is_whole = n == (ssize_t)sizeof bytes; /* a partial write: the disk became full */
    enum err rc = is_whole ? ERR_OK : append_failed(log, n < 0 ? errno : ENOSPC, eb);
    (void)close(fd); /* the write's result counts */
    /* records after a partial one are not read */
    log->stored = is_whole ? log->stored + 1 : SIZE_MAX;
    return rc;
}

enum err sto_rdb_scrub_log_encode(const struct rdb_scrub_log *log, struct buf *out)
{
    const struct slice head = SLICE_LIT(HEAD);
    base_buf_init(out, head.len + log->count * RECORD_BYTES);
    enum err rc = base_buf_append(out, head);
    for (size_t i = 0; rc == ERR_OK && i < log->count; i++) {
        uint8_t bytes[RECORD_BYTES];
        record_encode(&log->of[i], bytes);
        rc = base_buf_append(out, base_slice(bytes, sizeof bytes));
    }
    return rc;
}

enum err sto_rdb_scrub_log_rewrite(struct rdb_scrub_log *log, struct slice bytes, struct errbuf *eb)
{
    enum err rc = base_file_replace(log->path, bytes, 0600, eb);
    if (rc == ERR_OK)
        log->stored = bytes.len / RECORD_BYTES; /* the head is shorter than a record */
    return rc;
}
