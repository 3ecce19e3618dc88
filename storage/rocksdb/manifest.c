/*
 * storage/rocksdb/manifest.c - edits, one after the other, as RocksDB 7.8.3 writes them.
 *
 *   edit    (tag, fields)*; every tag is a varint
 *   file    level, number, size, first key, last key, first and last sequence number, and
 *           (tag, length, bytes)* until tag 1; a key has its length before it, 8 bytes after it
 *
 * 1. A file that moves to another level is deleted and added in one edit, in this order. So the
 *    last event of a number decides.
 * 2. Edits of a group count if its last one exists. The first record of an unfinished group is
 *    where the MANIFEST ends.
 * 3. An unknown tag ends the reading: nothing is guessed.
 */
#include "storage/rocksdb/manifest.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "storage/rocksdb/log_file.h"

#include "base/banned.h"

#define CURRENT_NAME   "CURRENT"
#define CURRENT_BYTES  64
#define NAME_PREFIX    "MANIFEST-"
#define SEQUENCE_BYTES 8
#define CHUNK_BYTES    (64 * KIB) /* of keys */

enum tag {
    TAG_COMPARATOR = 1,
    TAG_LOG_NUMBER = 2,
    TAG_NEXT_FILE = 3,
    TAG_LAST_SEQUENCE = 4,
    TAG_COMPACT_CURSOR = 5,
    TAG_DELETED_FILE = 6,
    TAG_PREVIOUS_LOG = 9,
    TAG_LEAST_LOG = 10,
    TAG_NEW_FILE = 103,
    TAG_FAMILY = 200,
    TAG_FAMILY_ADD = 201,
    TAG_FAMILY_MAX = 203,
    TAG_IN_GROUP = 300,
    TAG_IGNORABLE = 1 << 13, /* a bit: a length and that many bytes follow */
    FIELD_END = 1
};

struct file_event {
    struct rdb_manifest_file file;
    size_t order;
    bool is_added;
};

/* Keys of files, in chunks that are freed together. */
struct chunk {
    struct chunk *next;
    size_t used;
    uint8_t bytes[];
};

/* State of the whole database, or of all files of a family, as edits set it. */
struct state {
    uint64_t logs[RDB_CF_COUNT];
    uint64_t least_log;
    uint64_t sequence;
};

struct reading {
    struct rdb_manifest *manifest;
    struct errbuf *eb;
    struct state now;
    size_t count;
    size_t capacity;
    struct file_event *events;
    struct chunk *keys;
    int family_of[RDB_CF_COUNT]; /* index: RocksDB's number of the family */
    bool has_family[RDB_CF_COUNT];
    bool in_group;
    struct state before_group;
    size_t count_before_group;
    uint64_t group_begin; /* offset of its first record */
};

/* --- fields ----------------------------------------------------------------------------------- */

static bool take_number(struct slice *in, uint64_t *out)
{
    uint64_t number = 0;
    for (unsigned i = 0; i < 10 && in->len > 0; i++) {
        uint8_t byte = in->ptr[0];
        *in = base_slice_skip(*in, 1);
        number |= (uint64_t)(byte & 127) << (7 * i);
        if (byte < 128) {
            *out = number;
            return true;
        }
    }
    return false;
}

static bool take_bytes(struct slice *in, struct slice *out)
{
    uint64_t len;
    if (!take_number(in, &len) || len > in->len)
        return false;
    *out = base_slice(in->ptr, (size_t)len);
    *in = base_slice_skip(*in, (size_t)len);
    return true;
}

/* Takes a key, without the sequence number after it. */
static bool take_key(struct slice *in, struct slice *out)
{
    if (!take_bytes(in, out) || out->len < SEQUENCE_BYTES)
        return false;
    out->len -= SEQUENCE_BYTES;
    return true;
}

/* --- events ----------------------------------------------------------------------------------- */

static struct slice key_keep(struct reading *r, struct slice key)
{
    if (r->keys == NULL || CHUNK_BYTES - r->keys->used < key.len) {
        struct chunk *chunk =
            base_new(sizeof *chunk + (key.len > CHUNK_BYTES ? key.len : CHUNK_BYTES));
        chunk->next = r->keys;
        chunk->used = 0;
        r->keys = chunk;
    }
    uint8_t *at = r->keys->bytes + r->keys->used;
    memcpy(at, key.ptr, key.len);
    r->keys->used += key.len;
    return base_slice(at, key.len);
}

static void chunks_free(struct chunk *chunk)
{
    while (chunk != NULL) {
        struct chunk *next = chunk->next;
        base_free(chunk);
        chunk = next;
    }
}

static struct file_event *event_add(struct reading *r, bool is_added)
{
    if (r->count == r->capacity) {
        size_t capacity = r->capacity == 0 ? 256 : 2 * r->capacity;
        struct file_event *events = base_new_array(capacity, sizeof events[0]);
        if (r->count > 0)
            memcpy(events, r->events, r->count * sizeof events[0]);
        base_free(r->events);
        r->events = events;
        r->capacity = capacity;
    }
    struct file_event *event = &r->events[r->count];
    *event = (struct file_event){.order = r->count, .is_added = is_added};
    r->count++;
    return event;
}

static bool take_new_file(struct reading *r, struct slice *in)
{
    uint64_t level, number, bytes, first_sequence, last_sequence, field;
    struct slice first, last, ignored;
    if (!take_number(in, &level) || !take_number(in, &number) || !take_number(in, &bytes) ||
        !take_key(in, &first) || !take_key(in, &last) || !take_number(in, &first_sequence) ||
        !take_number(in, &last_sequence))
        return false;
    do {
        if (!take_number(in, &field) || (field != FIELD_END && !take_bytes(in, &ignored)))
            return false;
    } while (field != FIELD_END);
    struct file_event *event = event_add(r, true);
    event->file = (struct rdb_manifest_file){.number = number,
                                             .bytes = bytes,
                                             .last_sequence = last_sequence,
                                             .level = (int)level,
                                             .first = key_keep(r, first),
                                             .last = key_keep(r, last)};
    return true;
}

static bool take_deleted_file(struct reading *r, struct slice *in)
{
    uint64_t level, number;
    if (!take_number(in, &level) || !take_number(in, &number))
        return false;
    event_add(r, false)->file.number = number;
    return true;
}

/* --- edits ------------------------------------------------------------------------------------ */

struct edit {
    uint64_t family;
    uint64_t log; /* 0: not set */
    uint64_t least_log;
    uint64_t sequence;
    bool is_added;
    struct slice name; /* of a family that is added */
    bool in_group;
    uint64_t group_rest;
};

static enum err take_field(struct reading *r, struct edit *e, uint64_t tag, struct slice *in)
{
    uint64_t number = 0;
    struct slice bytes = SLICE_EMPTY;
    bool is_sound = false;
    switch (tag) {
    case TAG_NEXT_FILE:
    case TAG_PREVIOUS_LOG:
    case TAG_FAMILY_MAX:
        is_sound = take_number(in, &number);
        break;
    case TAG_LOG_NUMBER:
        is_sound = take_number(in, &e->log);
        break;
    case TAG_LAST_SEQUENCE:
        is_sound = take_number(in, &e->sequence);
        break;
    case TAG_LEAST_LOG:
        is_sound = take_number(in, &e->least_log);
        break;
    case TAG_FAMILY:
        is_sound = take_number(in, &e->family);
        break;
    case TAG_FAMILY_ADD:
        is_sound = e->is_added = take_bytes(in, &e->name);
        break;
    case TAG_IN_GROUP:
        is_sound = e->in_group = take_number(in, &e->group_rest);
        break;
    case TAG_COMPARATOR:
        is_sound = take_bytes(in, &bytes);
        break;
    case TAG_COMPACT_CURSOR:
        is_sound = take_number(in, &number) && take_bytes(in, &bytes);
        break;
    case TAG_DELETED_FILE:
        is_sound = take_deleted_file(r, in);
        break;
    case TAG_NEW_FILE:
        is_sound = take_new_file(r, in);
        break;
    default:
        if ((tag & TAG_IGNORABLE) == 0)
            return ERR_UNSUPPORTED;
        is_sound = take_bytes(in, &bytes);
    }
    return is_sound ? ERR_OK : ERR_CORRUPT;
}

static enum err family_add(struct reading *r, const struct edit *e)
{
    if (e->family >= RDB_CF_COUNT)
        return ERR_UNSUPPORTED;
    for (int i = 0; i < RDB_CF_COUNT; i++) {
        if (!base_slice_is(e->name, RDB_FAMILY_NAMES[i]))
            continue;
        r->family_of[e->family] = i;
        r->has_family[e->family] = true;
        return ERR_OK;
    }
    return ERR_UNSUPPORTED;
}

static uint64_t max_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Applies an edit at its end, because only then its family is known. */
static enum err edit_apply(struct reading *r, const struct edit *e, size_t from, uint64_t offset)
{
    enum err rc = e->is_added ? family_add(r, e) : ERR_OK;
    if (rc == ERR_OK && (e->family >= RDB_CF_COUNT || !r->has_family[e->family]))
        rc = ERR_UNSUPPORTED;
    if (rc != ERR_OK)
        return rc;
    int family = r->family_of[e->family];
    for (size_t i = from; i < r->count; i++) {
        r->events[i].file.family = family;
        r->events[i].file.family_number = e->family;
    }
    if (e->in_group && !r->in_group) {
        r->before_group = r->now;
        r->count_before_group = from;
        r->group_begin = offset;
    }
    r->now.logs[family] = max_of(r->now.logs[family], e->log);
    r->now.least_log = max_of(r->now.least_log, e->least_log);
    r->now.sequence = max_of(r->now.sequence, e->sequence);
    r->in_group = e->in_group && e->group_rest > 0;
    return ERR_OK;
}

static enum err edit_read(struct reading *r, uint64_t offset, struct slice record)
{
    struct edit e = {.family = 0};
    size_t from = r->count;
    enum err rc = ERR_OK;
    while (rc == ERR_OK && record.len > 0) {
        uint64_t tag;
        rc = take_number(&record, &tag) ? take_field(r, &e, tag, &record) : ERR_CORRUPT;
    }
    if (rc == ERR_OK)
        rc = edit_apply(r, &e, from, offset);
    if (rc == ERR_OK)
        return rc;
    return base_fail(r->eb, rc, "%s holds at byte %llu what this program does not write",
                     r->manifest->name, (unsigned long long)offset);
}

/* Reads to the end, which a crash may have cut off. */
static enum err edits_read(struct reading *r, struct rdb_log_file *f)
{
    struct rdb_manifest *m = r->manifest;
    enum rdb_log_found found = RDB_LOG_RECORD;
    struct buf payload;
    enum err rc = ERR_OK;
    base_buf_init(&payload, RDB_MANIFEST_RECORD_MAX);
    while (rc == ERR_OK && found == RDB_LOG_RECORD) {
        struct rdb_log_record record;
        rc = sto_rdb_log_next(f, &payload, &found, &record, r->eb);
        m->end = record.offset;
        if (rc == ERR_TOO_BIG)
            rc = ERR_UNSUPPORTED;
        else if (rc == ERR_OK && found == RDB_LOG_RECORD)
            rc = edit_read(r, record.offset, base_buf_slice(&payload));
        else if (rc == ERR_OK && found == RDB_LOG_DAMAGE && !record.is_cut)
            rc = base_fail(r->eb, ERR_CORRUPT, "%s is damaged at byte %llu", m->path,
                           (unsigned long long)record.offset);
    }
    base_buf_fini(&payload);
    return rc;
}

/* --- the list --------------------------------------------------------------------------------- */

static int event_compare(const void *left, const void *right)
{
    const struct file_event *a = left;
    const struct file_event *b = right;
    if (a->file.number != b->file.number)
        return a->file.number < b->file.number ? -1 : 1;
    return a->order < b->order ? -1 : 1;
}

/* Rule 1. Keys move into the list's own memory, allocated with the files. */
static void list_make(struct reading *r)
{
    struct rdb_manifest *m = r->manifest;
    size_t key_bytes = 0;
    if (r->count > 0)
        qsort(r->events, r->count, sizeof r->events[0], event_compare);
    size_t kept = 0;
    for (size_t i = 0; i < r->count; i++) {
        bool is_last =
            i + 1 == r->count || r->events[i + 1].file.number != r->events[i].file.number;
        if (!is_last || !r->events[i].is_added)
            continue;
        key_bytes += r->events[i].file.first.len + r->events[i].file.last.len;
        r->events[kept++] = r->events[i];
    }
    m->file_count = kept;
    m->files = base_new(kept * sizeof m->files[0] + key_bytes + 1);
    uint8_t *keys = (uint8_t *)(m->files + kept);
    for (size_t i = 0; i < kept; i++) {
        struct rdb_manifest_file *f = &m->files[i];
        *f = r->events[i].file;
        struct slice *const both[] = {&f->first, &f->last};
        for (size_t k = 0; k < 2; k++) {
            memcpy(keys, both[k]->ptr, both[k]->len);
            both[k]->ptr = keys;
            keys += both[k]->len;
        }
    }
}

static enum err current_read(const char *db, struct rdb_manifest *m, struct errbuf *eb)
{
    char path[BASE_PATH_BYTES];
    struct buf text = {0};
    enum err rc = base_path_join(path, db, CURRENT_NAME, eb);
    if (rc == ERR_OK)
        rc = base_file_read(path, CURRENT_BYTES, &text, eb);
    struct slice name = base_buf_slice(&text);
    if (rc == ERR_OK && name.len > 0 && name.ptr[name.len - 1] == '\n' &&
        name.len <= sizeof m->name && base_slice_starts_with(name, SLICE_LIT(NAME_PREFIX)) &&
        memchr(name.ptr, '/', name.len) == NULL) {
        memcpy(m->name, name.ptr, name.len - 1);
        m->name[name.len - 1] = '\0';
    } else if (rc == ERR_OK || rc == ERR_NOT_FOUND || rc == ERR_TOO_BIG) {
        rc = base_fail(eb, ERR_CORRUPT, "%s is missing or damaged", path);
    }
    base_buf_fini(&text);
    return rc == ERR_OK ? base_path_join(m->path, db, m->name, eb) : rc;
}

/* A log is in use while any family has not flushed it. */
static void state_settle(struct reading *r)
{
    struct rdb_manifest *m = r->manifest;
    uint64_t lowest = UINT64_MAX;
    for (size_t i = 0; i < RDB_CF_COUNT; i++) {
        m->logs[i] = r->now.logs[i];
        if (r->has_family[i] && r->now.logs[r->family_of[i]] < lowest)
            lowest = r->now.logs[r->family_of[i]];
    }
    m->oldest_log = max_of(lowest, r->now.least_log);
    m->sequence = r->now.sequence;
}

static enum err manifest_read(struct reading *r, const char *db)
{
    struct rdb_manifest *m = r->manifest;
    struct rdb_log_file *f = NULL;
    enum err rc = current_read(db, m, r->eb);
    if (rc == ERR_OK)
        rc = sto_rdb_log_open(m->path, &f, r->eb);
    if (rc == ERR_NOT_FOUND)
        rc = base_fail(r->eb, ERR_CORRUPT, "%s is missing", m->path);
    if (rc == ERR_OK)
        rc = edits_read(r, f);
    sto_rdb_log_close(f);
    if (rc == ERR_OK && r->in_group) {
        m->end = r->group_begin;
        r->count = r->count_before_group;
        r->now = r->before_group;
    }
    return rc;
}

enum err sto_rdb_manifest_read(const char *db, struct rdb_manifest *out, struct errbuf *eb)
{
    struct rdb_manifest m = {.files = NULL};
    struct reading r = {.manifest = &m, .eb = eb};
    r.has_family[0] = true; /* RocksDB's default has number 0 and is never added */
    r.family_of[0] = RDB_CF_DEFAULT;
    enum err rc = manifest_read(&r, db);
    if (rc == ERR_OK) {
        state_settle(&r);
        list_make(&r);
        *out = m;
    }
    base_free(r.events);
    chunks_free(r.keys);
    return rc;
}

void sto_rdb_manifest_fini(struct rdb_manifest *m)
{
    base_free(m->files);
    *m = (struct rdb_manifest){.files = NULL};
}

/* --- dropping --------------------------------------------------------------------------------- */

static enum err put_number(struct buf *out, uint64_t number)
{
    enum err rc = ERR_OK;
    for (; rc == ERR_OK && number >= 128; number >>= 7)
        rc = base_buf_append_byte(out, (uint8_t)(number | 128));
    return rc == ERR_OK ? base_buf_append_byte(out, (uint8_t)number) : rc;
}

static enum err edit_make(struct buf *out, const struct rdb_manifest_file *file)
{
    const uint64_t numbers[] = {TAG_DELETED_FILE, (uint64_t)file->level, file->number, TAG_FAMILY,
                                file->family_number};
    enum err rc = ERR_OK;
    for (size_t i = 0; rc == ERR_OK && i < sizeof numbers / sizeof numbers[0]; i++)
        rc = put_number(out, numbers[i]);
    return rc;
}

enum err sto_rdb_manifest_drop(struct rdb_manifest *m, const struct rdb_manifest_file *const *files,
                               size_t count, struct errbuf *eb)
{
    struct buf *edits = base_new_array(count + 1, sizeof edits[0]);
    struct slice *records = base_new_array(count + 1, sizeof records[0]);
    enum err rc = ERR_OK;
    for (size_t i = 0; rc == ERR_OK && i < count; i++) {
        base_buf_init(&edits[i], 64);
        rc = edit_make(&edits[i], files[i]);
        records[i] = base_buf_slice(&edits[i]);
    }
    if (rc == ERR_OK && count > 0)
        rc = sto_rdb_log_append(m->path, m->end, records, count, eb);
    for (size_t i = 0; i < count; i++)
        base_buf_fini(&edits[i]);
    base_free(edits);
    base_free(records);
    return rc;
}
