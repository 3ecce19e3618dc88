/*
 * storage/rocksdb/salvage_files.c - copies the files of a database and makes them sound one by one.
 *
 *   MANIFEST  unchanged; without it the table files in use are not known: refused
 *   logs      up to the first damage, and nothing after it: an earlier state of the database.
 *             Refused when a table file holds writes from after that place
 *   tables    blocks that do not match their checksums are overwritten in the copy by empty ones;
 *             a file that cannot be opened, or is missing, leaves the copy's MANIFEST
 *
 * 1. Bytes that the disk does not return are zeros in the copy, and so damage of a block or log.
 * 2. Metadata must be complete: a block of it may have held the revocation of a key. A damaged file
 *    of it is replaced by its copy (meta_copies.h). These files come first, so that the refusal
 *    does not come after hours of copying.
 * 3. A block of zeros has no entries (damage_io.h); a part of a filter with zeros lets all keys
 *    pass.
 */
#define _GNU_SOURCE
#include "storage/rocksdb/salvage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/text.h"
#include "storage/rocksdb/damage_io.h"
#include "storage/rocksdb/file_copy.h"
#include "storage/rocksdb/log_file.h"
#include "storage/rocksdb/manifest.h"
#include "storage/rocksdb/meta_copies.h"
#include "storage/rocksdb/table_file.h"

#include "base/banned.h"

#define TRAILER_BYTES  5
#define NAME_BYTES     32
#define CURRENT_NAME   "CURRENT"
#define IDENTITY_NAME  "IDENTITY"
#define LOG_ENDING     ".log"
#define RESTORE_BACKUP "; restore a backup (bigtentd restore)"

/* --- one file --------------------------------------------------------------------------------- */

static enum err fail_errno(struct errbuf *eb, const char *what, const char *path)
{
    int error = errno;
    return base_fail(eb, base_file_error(error), "cannot %s %s: %s", what, path,
                     strerrordesc_np(error));
}

struct places {
    const char *from;
    const char *to;
    struct errbuf *eb;
};

/* Copies a file under the same name. */
static enum err name_copy(const struct places *p, const char *name, bool fills_gaps,
                          uint64_t *out_bytes)
{
    char from[BASE_PATH_BYTES], to[BASE_PATH_BYTES];
    enum err rc = base_path_join(from, p->from, name, p->eb);
    if (rc == ERR_OK)
        rc = base_path_join(to, p->to, name, p->eb);
    return rc == ERR_OK ? sto_file_copy(from, to, 0600, fills_gaps, out_bytes, p->eb) : rc;
}

/* --- pieces ----------------------------------------------------------------------------------- */

static struct slice key_keep(struct slice key)
{
    uint8_t *bytes = base_new(key.len + 1);
    if (key.len > 0)
        memcpy(bytes, key.ptr, key.len);
    return base_slice(bytes, key.len);
}

static void piece_add(struct sto_salvage *s, const struct sto_salvage_piece *piece)
{
    if (s->piece_count == s->piece_capacity) {
        size_t capacity = s->piece_capacity == 0 ? 16 : 2 * s->piece_capacity;
        struct sto_salvage_piece *pieces = base_new_array(capacity, sizeof pieces[0]);
        if (s->piece_count > 0)
            memcpy(pieces, s->pieces, s->piece_count * sizeof pieces[0]);
        base_free(s->pieces);
        s->pieces = pieces;
        s->piece_capacity = capacity;
    }
    struct sto_salvage_piece *added = &s->pieces[s->piece_count++];
    *added = *piece;
    added->from = key_keep(piece->from);
    added->to = key_keep(piece->to);
}

/* Rule 2. */
static enum err meta_refuse(const struct rdb_manifest_file *file, const char *what,
                            struct errbuf *eb)
{
    return base_fail(eb, ERR_CORRUPT,
                     "table file %06llu.sst, with keys and schemas of all tenants, %s: a copy "
                     "without what it held could let a revoked key in" RESTORE_BACKUP,
                     (unsigned long long)file->number, what);
}

static enum err file_leave_out(struct sto_salvage *s, const struct rdb_manifest_file *file,
                               enum sto_salvage_kind kind, struct errbuf *eb)
{
    const struct sto_salvage_piece piece = {.kind = kind,
                                            .family = file->family,
                                            .file = file->number,
                                            .bytes = file->bytes,
                                            .from = file->first,
                                            .to = file->last};
    if (file->family == RDB_CF_META)
        return meta_refuse(file, kind == STO_SALVAGE_FILE ? "cannot be opened" : "is missing", eb);
    piece_add(s, &piece);
    return ERR_OK;
}

/* --- table files ------------------------------------------------------------------------------ */

struct mending {
    struct sto_salvage *salvage;
    const struct rdb_manifest_file *file;
    const char *path; /* of the copy */
    int fd;
    struct errbuf *eb;
};

static enum err block_empty(const struct mending *m, const struct rdb_bad_block *block)
{
    uint8_t *zeros = base_new((size_t)block->bytes + TRAILER_BYTES);
    uint32_t sum = sto_rdb_block_checksum(block->checksum_type, zeros, block->bytes + 1);
    for (int i = 0; i < 4; i++)
        zeros[block->bytes + 1 + (uint64_t)i] = (uint8_t)(sum >> (8 * i));
    enum err rc = sto_bytes_write(m->fd, m->path, zeros, (size_t)block->bytes + TRAILER_BYTES,
                                  block->offset, m->eb);
    base_free(zeros);
    return rc;
}

static enum err bad_block(void *ctx, const struct rdb_bad_block *block)
{
    const struct mending *m = ctx;
    const struct rdb_manifest_file *file = m->file;
    bool has_keys = block->kind == RDB_BLOCK_DATA || block->kind == RDB_BLOCK_INDEX;
    const struct sto_salvage_piece piece = {
        .kind = STO_SALVAGE_BLOCK,
        .family = file->family,
        .file = file->number,
        .offset = block->offset,
        .bytes = block->bytes,
        .from = block->from.len > 0 ? block->from : file->first,
        .to = base_slice_compare(block->to, file->last) < 0 ? block->to : file->last};
    if (has_keys && file->family == RDB_CF_META)
        return meta_refuse(file, "is damaged", m->eb);
    if (has_keys)
        piece_add(m->salvage, &piece);
    return block->kind == RDB_BLOCK_FILTERS ? ERR_OK : block_empty(m, block);
}

/* Overwrites damaged blocks of the copy. *out_opens: RocksDB can open it. */
static enum err table_mend(struct sto_salvage *s, const struct rdb_manifest_file *file,
                           const char *path, bool *out_opens, struct errbuf *eb)
{
    struct mending m = {.salvage = s, .file = file, .path = path, .eb = eb};
    size_t before = s->piece_count;
    m.fd = open(path, O_WRONLY | O_CLOEXEC);
    if (m.fd < 0)
        return fail_errno(eb, "open", path);
    eb->text[0] = '\0';
    enum err rc = sto_rdb_table_check(path, bad_block, &m);
    *out_opens = rc == ERR_OK;
    if (rc == ERR_CORRUPT && eb->text[0] == '\0') { /* the file's range includes its blocks' keys */
        while (s->piece_count > before) {
            struct sto_salvage_piece *last = &s->pieces[--s->piece_count];
            base_free((void *)(uintptr_t)last->from.ptr);
            base_free((void *)(uintptr_t)last->to.ptr);
        }
        rc = ERR_OK;
    } else if (rc != ERR_OK && eb->text[0] == '\0') {
        rc = base_fail(eb, rc, "%s cannot be checked: %s", path, base_err_name(rc));
    }
    if (fsync(m.fd) != 0 && rc == ERR_OK)
        rc = fail_errno(eb, "sync", path);
    if (close(m.fd) != 0 && rc == ERR_OK)
        rc = fail_errno(eb, "close", path);
    return rc;
}

/* Copies and mends a table file. *out_stays: it is in the copy. */
static enum err table_take(struct sto_salvage *s, const struct places *p,
                           const struct rdb_manifest_file *file, bool *out_stays)
{
    char name[NAME_BYTES], path[BASE_PATH_BYTES];
    uint64_t bytes = 0;
    bool opens = false;
    *out_stays = false;
    (void)snprintf(name, sizeof name, "%06llu.sst", (unsigned long long)file->number); /* fits */
    enum err rc = name_copy(p, name, true, &bytes);
    bool is_missing = rc == ERR_NOT_FOUND;
    bool is_sound = false;
    if (is_missing) {
        p->eb->text[0] = '\0';
        rc = ERR_OK;
    }
    if (rc == ERR_OK && file->family == RDB_CF_META)
        rc = sto_rdb_meta_copies_take(p->from, p->to, file->number, file->bytes, &is_sound, p->eb);
    if (rc == ERR_OK && is_missing && !is_sound)
        return file_leave_out(s, file, STO_SALVAGE_MISSING_FILE, p->eb);
    if (is_sound)
        bytes = file->bytes;
    if (rc == ERR_OK)
        rc = base_path_join(path, p->to, name, p->eb);
    if (rc == ERR_OK && bytes == file->bytes)
        rc = table_mend(s, file, path, &opens, p->eb);
    if (rc != ERR_OK)
        return rc;
    s->files++;
    s->bytes += bytes;
    *out_stays = opens;
    if (opens)
        return ERR_OK;
    if (unlink(path) != 0)
        return fail_errno(p->eb, "remove", path);
    return file_leave_out(s, file, STO_SALVAGE_FILE, p->eb);
}

static enum err tables_take(struct sto_salvage *s, const struct places *p, struct rdb_manifest *m)
{
    const struct rdb_manifest_file **dropped = base_new_array(m->file_count + 1, sizeof *dropped);
    size_t count = 0;
    enum err rc = ERR_OK;
    for (int pass = 0; pass < 2; pass++) { /* rule 2 */
        for (size_t i = 0; rc == ERR_OK && i < m->file_count; i++) {
            const struct rdb_manifest_file *file = &m->files[i];
            bool stays = true;
            if ((file->family == RDB_CF_META) == (pass == 0))
                rc = table_take(s, p, file, &stays);
            if (!stays)
                dropped[count++] = file;
        }
    }
    if (rc == ERR_OK)
        rc = sto_rdb_manifest_drop(m, dropped, count, p->eb);
    base_free(dropped);
    return rc;
}

enum err sto_rdb_salvage_drop(struct sto_salvage *s, const char *to_db, uint64_t number,
                              struct errbuf *eb)
{
    struct rdb_manifest m;
    char name[NAME_BYTES], path[BASE_PATH_BYTES];
    enum err rc = sto_rdb_manifest_read(to_db, &m, eb);
    if (rc != ERR_OK)
        return rc;
    const struct rdb_manifest_file *file = NULL;
    for (size_t i = 0; i < m.file_count; i++)
        if (m.files[i].number == number)
            file = &m.files[i];
    (void)snprintf(name, sizeof name, "%06llu.sst", (unsigned long long)number); /* fits */
    rc = file == NULL ? ERR_NOT_FOUND : base_path_join(path, to_db, name, eb);
    if (rc == ERR_OK)
        rc = file_leave_out(s, file, STO_SALVAGE_FILE, eb);
    if (rc == ERR_OK)
        rc = sto_rdb_manifest_drop(&m, &file, 1, eb);
    if (rc == ERR_OK && unlink(path) != 0)
        rc = fail_errno(eb, "remove", path);
    sto_rdb_manifest_fini(&m);
    return rc;
}

/* --- logs ------------------------------------------------------------------------------------- */

struct logs {
    size_t count;
    size_t capacity;
    uint64_t *numbers;
    uint64_t sequence; /* of the last change read */
    bool is_any_read;
};

static int number_compare(const void *left, const void *right)
{
    const uint64_t *a = left;
    const uint64_t *b = right;
    return *a < *b ? -1 : *a > *b;
}

static enum err logs_list(const struct places *p, uint64_t from, struct logs *out)
{
    DIR *dir = opendir(p->from);
    if (dir == NULL)
        return fail_errno(p->eb, "look into", p->from);
    for (const struct dirent *d; (d = readdir(dir)) != NULL;) {
        struct slice name = base_slice_text(d->d_name);
        uint64_t number = 0;
        if (name.len <= sizeof LOG_ENDING - 1 ||
            strcmp(d->d_name + name.len - (sizeof LOG_ENDING - 1), LOG_ENDING) != 0)
            continue;
        name.len -= sizeof LOG_ENDING - 1;
        while (name.len > 1 && name.ptr[0] == '0')
            name = base_slice_skip(name, 1);
        if (base_parse_u64(name, &number) != ERR_OK || number < from)
            continue;
        if (out->count == out->capacity) {
            size_t capacity = out->capacity == 0 ? 16 : 2 * out->capacity;
            uint64_t *numbers = base_new_array(capacity, sizeof numbers[0]);
            if (out->count > 0)
                memcpy(numbers, out->numbers, out->count * sizeof numbers[0]);
            base_free(out->numbers);
            out->numbers = numbers;
            out->capacity = capacity;
        }
        out->numbers[out->count++] = number;
    }
    (void)closedir(dir); /* only read from */
    if (out->count > 0)
        qsort(out->numbers, out->count, sizeof out->numbers[0], number_compare);
    return ERR_OK;
}

/* Reads the copy of a log, up to its end or to the first damage. */
static enum err log_read(const char *path, struct logs *l, bool *out_is_damaged,
                         uint64_t *out_offset, struct errbuf *eb)
{
    enum rdb_log_found found = RDB_LOG_RECORD;
    struct rdb_log_record record = {.offset = 0};
    struct rdb_log_file *f = NULL;
    enum err rc = sto_rdb_log_open(path, &f, eb);
    while (rc == ERR_OK && found == RDB_LOG_RECORD) {
        rc = sto_rdb_log_next(f, NULL, &found, &record, eb);
        if (rc != ERR_OK || found != RDB_LOG_RECORD || record.count == 0)
            continue;
        l->sequence = record.sequence + record.count - 1;
        l->is_any_read = true;
    }
    sto_rdb_log_close(f);
    *out_is_damaged = found == RDB_LOG_DAMAGE && !record.is_cut;
    *out_offset = record.offset;
    return rc;
}

/* Checks that every table file is from before the damage: else families would be of different
 * moments. */
static enum err cut_check(const struct sto_salvage *s, const struct logs *l,
                          const struct rdb_manifest *m, struct errbuf *eb)
{
    for (size_t i = 0; i < m->file_count; i++) {
        const struct rdb_manifest_file *file = &m->files[i];
        bool is_before = m->logs[file->family] <= s->log ||
                         (l->is_any_read && file->last_sequence <= l->sequence);
        if (!is_before)
            return base_fail(eb, ERR_CORRUPT,
                             "log %06llu.log is damaged behind byte %llu, and table files hold "
                             "writes from after that: what is missing between them cannot be "
                             "told" RESTORE_BACKUP,
                             (unsigned long long)s->log, (unsigned long long)s->log_offset);
    }
    return ERR_OK;
}

/* Copies a log; cuts the copy off at the first damage. */
static enum err log_take(struct sto_salvage *s, const struct places *p, uint64_t number,
                         struct logs *l)
{
    char name[NAME_BYTES], path[BASE_PATH_BYTES];
    uint64_t bytes = 0, offset = 0;
    bool is_damaged = false;
    (void)snprintf(name, sizeof name, "%06llu" LOG_ENDING, (unsigned long long)number); /* fits */
    enum err rc = name_copy(p, name, true, &bytes);
    if (rc == ERR_OK)
        rc = base_path_join(path, p->to, name, p->eb);
    if (rc == ERR_OK)
        rc = log_read(path, l, &is_damaged, &offset, p->eb);
    if (rc != ERR_OK)
        return rc;
    s->files++;
    s->bytes += bytes;
    if (!is_damaged)
        return ERR_OK;
    s->is_log_cut = true;
    s->log = number;
    s->log_offset = offset;
    s->log_bytes = bytes - offset;
    return sto_rdb_log_append(path, offset, NULL, 0, p->eb);
}

static enum err logs_take(struct sto_salvage *s, const struct places *p,
                          const struct rdb_manifest *m)
{
    struct logs l = {.count = 0};
    enum err rc = logs_list(p, m->oldest_log, &l);
    for (size_t i = 0; rc == ERR_OK && i < l.count; i++) {
        char name[NAME_BYTES];
        struct stat st;
        if (!s->is_log_cut) {
            rc = log_take(s, p, l.numbers[i], &l);
            continue;
        }
        char path[BASE_PATH_BYTES];
        (void)snprintf(name, sizeof name, "%06llu" LOG_ENDING,
                       (unsigned long long)l.numbers[i]); /* fits */
        rc = base_path_join(path, p->from, name, p->eb);
        if (rc == ERR_OK && stat(path, &st) == 0)
            s->log_bytes += (uint64_t)st.st_size;
    }
    if (rc == ERR_OK && s->is_log_cut)
        rc = cut_check(s, &l, m, p->eb);
    base_free(l.numbers);
    return rc;
}

/* --- all -------------------------------------------------------------------------------------- */

static enum err manifest_read(const char *db, struct rdb_manifest *out, struct errbuf *eb)
{
    struct errbuf detail = {{0}};
    enum err rc = sto_rdb_manifest_read(db, out, &detail);
    if (rc == ERR_CORRUPT || rc == ERR_UNSUPPORTED)
        return base_fail(
            eb, rc,
            "%s: without it nobody knows which table files are in use, and with all of "
            "them deleted rows would return" RESTORE_BACKUP,
            detail.text);
    return rc == ERR_OK ? rc : base_fail(eb, rc, "%s", detail.text);
}

static enum err head_copy(const struct places *p, const char *manifest)
{
    uint64_t bytes = 0;
    enum err rc = name_copy(p, manifest, false, &bytes);
    if (rc == ERR_OK)
        rc = name_copy(p, CURRENT_NAME, false, &bytes);
    if (rc == ERR_OK)
        rc = name_copy(p, IDENTITY_NAME, false, &bytes);
    if (rc != ERR_NOT_FOUND)
        return rc;
    p->eb->text[0] = '\0'; /* RocksDB creates it */
    return ERR_OK;
}

enum err sto_rdb_salvage_files(struct sto_salvage *s, const char *from_db, const char *to_db,
                               struct errbuf *eb)
{
    const struct places p = {.from = from_db, .to = to_db, .eb = eb};
    struct rdb_manifest m;
    enum err rc = manifest_read(from_db, &m, eb);
    if (rc != ERR_OK)
        return rc;
    rc = head_copy(&p, m.name);
    if (rc == ERR_OK)
        rc = base_path_join(m.path, to_db, m.name, eb); /* changes go to the copy */
    if (rc == ERR_OK)
        rc = logs_take(s, &p, &m);
    if (rc == ERR_OK)
        rc = tables_take(s, &p, &m);
    sto_rdb_manifest_fini(&m);
    return rc == ERR_OK ? base_dir_sync(to_db, eb) : rc;
}

enum err sto_salvage_measure(const char *from, uint64_t *out, struct errbuf *eb)
{
    char db[BASE_PATH_BYTES];
    struct rdb_manifest m;
    enum err rc = base_path_join(db, from, "db", eb);
    if (rc == ERR_OK)
        rc = manifest_read(db, &m, eb);
    if (rc != ERR_OK)
        return rc;
    *out = 0;
    for (size_t i = 0; i < m.file_count; i++)
        *out += m.files[i].bytes;
    sto_rdb_manifest_fini(&m);
    return ERR_OK;
}
