/*
 * tests/isolation/erased_files.c - all files of the data directory and both logs, against the table
 * of places.
 *
 * Table files are compressed: they are decoded, every version of every entry. A mark in one is
 * allowed where the key's kind of document keeps it; the same bytes in the file itself are
 * explained by that entry and by nothing else. Logs and MANIFEST are cut in pieces of 32 KiB: a
 * mark is searched in each of their records, and in the file as it is. A file that no place lists
 * is a finding, with or without a mark.
 */
#define _GNU_SOURCE
#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "storage/rocksdb/log_file.h"
#include "storage/rocksdb/manifest.h"
#include "storage/rocksdb/table_file.h"
#include "tests/isolation/erased.h"

#include "base/banned.h"

#define FILE_MAX (512 * MIB)
#define DATABASE "db/"

struct searching {
    const char *path;    /* in the data directory */
    const char *wanted;  /* NULL: all marks */
    bool is_there;       /* the wanted one */
    bool in_entry[64];   /* of a table file: the mark is in some entry that may hold it */
    const char *finding; /* NULL: none yet */
};

static bool holds(struct slice bytes, const char *text)
{
    return bytes.len > 0 && memmem(bytes.ptr, bytes.len, text, strlen(text)) != NULL;
}

static void add_finding(struct searching *s, const struct erased_mark *mark, const char *where)
{
    static char text[1024];
    if (s->finding != NULL)
        return;
    (void)snprintf(text, sizeof text, "%s (%s) is in %s, %s", mark->text, mark->what, s->path,
                   where);
    s->finding = text;
}

/* --- entries of a table file ------------------------------------------------------------------ */

static bool entry_may_hold(struct slice key, const struct erased_mark *mark)
{
    const struct sto_doc_place *place =
        key.len > 2 && key.ptr[1] == '/' ? sto_doc_place_of(key.ptr[0]) : NULL;
    if (place == NULL)
        return false;
    bool is_anothers =
        place->kind == STO_DOC_TENANT && !base_slice_is(base_slice_skip(key, 2), ERASED_TENANT);
    if (place->fate == STO_PLACE_FREE || is_anothers)
        return (mark->may_stay & ERASED_IN(ERASED_FREE)) != 0;
    return (mark->may_stay & ERASED_IN(place->remainder)) != 0; /* no mark stays in none */
}

static enum err look_entry(void *ctx, enum rdb_entry_kind kind, struct slice key,
                           struct slice value)
{
    struct searching *s = ctx;
    char where[128];
    (void)kind;
    if (s->wanted != NULL) {
        s->is_there |= holds(key, s->wanted) || holds(value, s->wanted);
        return ERR_OK;
    }
    for (size_t i = 0; i < ERASED_MARK_COUNT; i++) {
        const struct erased_mark *mark = &ERASED_MARKS[i];
        if (!holds(key, mark->text) && !holds(value, mark->text))
            continue;
        if (entry_may_hold(key, mark)) {
            s->in_entry[i] = true;
            continue;
        }
        (void)snprintf(where, sizeof where, "in an entry whose key begins \"%.*s\"",
                       (int)(key.len < 40 ? key.len : 40), (const char *)key.ptr);
        add_finding(s, mark, where);
    }
    return ERR_OK;
}

/* Or the copy of one (storage/rocksdb/meta_copies.h). */
static bool is_table(const char *path)
{
    return strncmp(path, DATABASE, strlen(DATABASE)) == 0 && strstr(path, ".sst") != NULL;
}

/* --- any file --------------------------------------------------------------------------------- */

static const struct sto_other_place *place_of(const char *path)
{
    const struct sto_other_place *place;
    for (size_t i = 0; (place = sto_other_place_at(i)) != NULL; i++) {
        size_t len = place->path == NULL ? 0 : strlen(place->path);
        if (len > 0 && (strcmp(path, place->path) == 0 ||
                        (place->path[len - 1] == '/' && strncmp(path, place->path, len) == 0)))
            return place;
    }
    return NULL;
}

/* A backup's files, and the ledger beside backups, are what the place of backups keeps. */
static bool file_may_hold(const struct sto_other_place *place, const struct erased_mark *mark)
{
    return place->remainder == STO_REMAINS_BACKUPS ||
           (mark->may_stay & ERASED_IN(place->remainder)) != 0; /* no mark stays in none */
}

static void look_bytes(struct searching *s, struct slice bytes, const struct sto_other_place *place,
                       const char *how)
{
    if (s->wanted != NULL) {
        s->is_there |= holds(bytes, s->wanted);
        return;
    }
    for (size_t i = 0; i < ERASED_MARK_COUNT; i++)
        if (!s->in_entry[i] && !file_may_hold(place, &ERASED_MARKS[i]) &&
            holds(bytes, ERASED_MARKS[i].text))
            add_finding(s, &ERASED_MARKS[i], how);
}

static bool is_log(const char *path)
{
    size_t len = strlen(path);
    return strncmp(path, DATABASE, strlen(DATABASE)) == 0 &&
           (strcmp(path + (len < 4 ? 0 : len - 4), ".log") == 0 ||
            strstr(path, "/MANIFEST-") != NULL);
}

/* Up to the first byte that is of no record. */
static void look_records(struct searching *s, const char *full, const struct sto_other_place *place)
{
    struct rdb_log_file *f = NULL;
    enum rdb_log_found found = RDB_LOG_RECORD;
    struct buf payload;
    base_buf_init(&payload, RDB_MANIFEST_RECORD_MAX);
    enum err rc = sto_rdb_log_open(full, &f, NULL);
    while (rc == ERR_OK && found == RDB_LOG_RECORD) {
        struct rdb_log_record record;
        rc = sto_rdb_log_next(f, &payload, &found, &record, NULL);
        if (rc == ERR_OK && found == RDB_LOG_RECORD)
            look_bytes(s, base_buf_slice(&payload), place, "in a record");
    }
    bool may_change = s->wanted != NULL;
    ck_assert_msg(may_change || rc == ERR_OK, "%s cannot be read", s->path);
    sto_rdb_log_close(f);
    base_buf_fini(&payload);
}

static void look_file(struct searching *s, const char *full, const char *path)
{
    static const struct sto_other_place nowhere = {.what = "no place"};
    const struct sto_other_place *place = place_of(path);
    struct buf bytes;
    uint64_t read;
    s->path = path;
    memset(s->in_entry, 0, sizeof s->in_entry);
    if (place == NULL && s->wanted == NULL && s->finding == NULL) {
        static char text[1024];
        (void)snprintf(text, sizeof text, "%s is a file that storage/places.c does not list", path);
        s->finding = text;
    }
    enum err rc = is_table(path) ? sto_rdb_table_visit(full, look_entry, s, &read, NULL) : ERR_OK;
    enum err rc_bytes = base_file_read(full, FILE_MAX, &bytes, NULL);
    bool may_change = s->wanted != NULL; /* a server runs: files are being written, and go */
    ck_assert_msg(may_change || (rc == ERR_OK && rc_bytes == ERR_OK), "%s cannot be read", path);
    if (place == NULL)
        place = &nowhere;
    look_bytes(s, base_buf_slice(&bytes), place, "as bytes");
    if (is_log(path))
        look_records(s, full, place);
    base_buf_fini(&bytes);
}

static void look_dir(struct searching *s, const char *dir, const char *path)
{
    DIR *d = opendir(dir);
    ck_assert_ptr_nonnull(d);
    for (const struct dirent *e; (e = readdir(d)) != NULL;) {
        char full[1200], below[600];
        (void)snprintf(full, sizeof full, "%s/%s", dir, e->d_name);
        (void)snprintf(below, sizeof below, "%s%s%s", path, e->d_name,
                       e->d_type == DT_DIR ? "/" : "");
        if (e->d_type != DT_DIR)
            look_file(s, full, below);
        else if (e->d_name[0] != '.')
            look_dir(s, full, below);
    }
    (void)closedir(d);
}

/* Outside of the data directory. */
static void look_log(struct searching *s, const char *full, enum sto_remainder remainder)
{
    const struct sto_other_place place = {.fate = STO_PLACE_KEPT, .remainder = remainder};
    struct buf bytes;
    s->path = full;
    memset(s->in_entry, 0, sizeof s->in_entry);
    ck_assert_int_eq(base_file_read(full, FILE_MAX, &bytes, NULL), ERR_OK);
    ck_assert_uint_gt(bytes.len, 0);
    look_bytes(s, base_buf_slice(&bytes), &place, "as bytes");
    base_buf_fini(&bytes);
}

const char *erased_find(const struct erased *x)
{
    struct searching s = {.finding = NULL};
    ck_assert_uint_le(ERASED_MARK_COUNT, sizeof s.in_entry);
    look_dir(&s, x->server.data, "");
    look_log(&s, x->access_log, STO_REMAINS_ACCESS_LOG);
    look_log(&s, x->server.log, STO_REMAINS_SERVER_LOG);
    return s.finding;
}

bool erased_is_somewhere(const struct erased *x, const char *text)
{
    struct searching s = {.wanted = text};
    look_dir(&s, x->server.data, "");
    return s.is_there;
}
