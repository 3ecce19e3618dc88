/*
 * storage/rocksdb/checkpoint.c - RocksDB's checkpoint, kept apart from purges.
 *
 *   image_lock   held while an image is created; a step of a purge takes it to add its tenant
 *   purging      the tenants between the start of their first step and the end of their last one,
 *                or of one that fails: the next attempt starts with the first step again
 *
 * 1. The checkpoint flushes first: the log that it copies holds only later writes, and every write
 *    in it was synced before it was acknowledged.
 * 2. The acknowledged sequence is read before the flush, never after it.
 * 3. The C API does not return RocksDB's release; every database has it in its OPTIONS file.
 */
#define _GNU_SOURCE
#include "storage/rocksdb/checkpoint.h"

#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "storage/rocksdb/rdb.h"

#include "base/banned.h"

#define OPTIONS_BYTES (512 * KIB)

/* --- purges in progress ---------------------------------------------------------------------- */

static size_t purging_find(const struct rdb_engine *e, struct slice id)
{
    size_t i = 0;
    while (i < e->purging.count && !base_slice_is(id, e->purging.of[i].id))
        i++;
    return i;
}

static void purging_grow(struct rdb_purging *p)
{
    size_t capacity = p->capacity == 0 ? 8 : 2 * p->capacity;
    struct rdb_purging_tenant *of = base_new_array(capacity, sizeof of[0]);
    if (p->count > 0)
        memcpy(of, p->of, p->count * sizeof of[0]);
    base_free(p->of);
    p->of = of;
    p->capacity = capacity;
}

void sto_rdb_purge_begin(struct rdb_engine *e, const struct sto_tenant_scope *scope)
{
    struct slice id = sto_scope_tenant_id(scope);
    struct rdb_purging *p = &e->purging;
    pthread_mutex_lock(&e->image_lock);
    if (purging_find(e, id) == p->count) {
        if (p->count == p->capacity)
            purging_grow(p);
        struct rdb_purging_tenant *added = &p->of[p->count++];
        memcpy(added->id, id.ptr, id.len);
        added->id[id.len] = '\0';
    }
    pthread_mutex_unlock(&e->image_lock);
}

bool sto_rdb_purge_is_running(struct rdb_engine *e, struct slice tenant_id)
{
    pthread_mutex_lock(&e->image_lock);
    bool is_running = purging_find(e, tenant_id) < e->purging.count;
    pthread_mutex_unlock(&e->image_lock);
    return is_running;
}

void sto_rdb_purge_end(struct rdb_engine *e, const struct sto_tenant_scope *scope)
{
    struct rdb_purging *p = &e->purging;
    pthread_mutex_lock(&e->image_lock);
    size_t i = purging_find(e, sto_scope_tenant_id(scope));
    if (i < p->count)
        p->of[i] = p->of[--p->count];
    pthread_mutex_unlock(&e->image_lock);
}

/* --- creating -------------------------------------------------------------------------------- */

static enum err checkpoint(struct rdb_engine *e, const char *dir, struct errbuf *eb)
{
    char *error = NULL;
    rocksdb_checkpoint_t *object = rocksdb_checkpoint_object_create(e->db.handle, &error);
    if (error == NULL)
        rocksdb_checkpoint_create(object, dir, 0, &error);
    if (object != NULL)
        rocksdb_checkpoint_object_destroy(object);
    if (error == NULL)
        return ERR_OK;
    /* Nothing was written to the database: it continues, unless its own flush failed. */
    (void)base_fail(eb, ERR_IO, "the database's image cannot be made: %s", error);
    rocksdb_free(error);
    return ERR_IO;
}

enum err sto_rocksdb_checkpoint(struct sto_engine *engine, const char *dir, uint64_t *out_sequence,
                                struct errbuf *eb)
{
    struct rdb_engine *e = sto_rdb_engine(engine);
    pthread_mutex_lock(&e->image_lock);
    enum err rc = sto_rdb_usable(e, eb);
    if (rc == ERR_OK && access(dir, F_OK) == 0)
        rc = base_fail(eb, ERR_EXISTS, "%s is there already", dir);
    if (rc == ERR_OK && e->purging.count > 0)
        rc = base_fail(eb, ERR_CONFLICT, "the tenant %s is being purged; try again after it",
                       e->purging.of[0].id);
    uint64_t sequence = atomic_load(&e->acked_sequence);
    if (rc == ERR_OK && sto_rdb_flush(e) != ERR_OK)
        rc = base_fail(eb, ERR_UNAVAILABLE, "the flush before the database's image failed");
    if (rc == ERR_OK)
        rc = checkpoint(e, dir, eb);
    pthread_mutex_unlock(&e->image_lock);
    if (rc == ERR_OK)
        *out_sequence = sequence;
    return rc;
}

enum err sto_rocksdb_checkpoint_remove(const char *dir, struct errbuf *eb)
{
    char unfinished[BASE_PATH_BYTES]; /* RocksDB's name for an image in progress */
    int len = snprintf(unfinished, sizeof(unfinished), "%s.tmp", dir);
    if (len < 0 || (size_t)len >= sizeof(unfinished))
        return base_fail(eb, ERR_TOO_BIG, "the path of the image is too long");
    enum err rc = base_dir_remove(unfinished, eb);
    return rc == ERR_OK ? base_dir_remove(dir, eb) : rc;
}

/* --- release --------------------------------------------------------------------------------- */

static bool release_find(struct slice text, char out[STO_IMAGE_RELEASE])
{
    static const char NAME[] = "rocksdb_version=";
    const uint8_t *at = text.len == 0 ? NULL : memmem(text.ptr, text.len, NAME, sizeof(NAME) - 1);
    if (at == NULL)
        return false;
    struct slice rest = base_slice_skip(text, (size_t)(at - text.ptr) + sizeof(NAME) - 1);
    size_t len = 0;
    while (len < rest.len && len < STO_IMAGE_RELEASE - 1 && rest.ptr[len] > ' ')
        len++;
    memcpy(out, rest.ptr, len);
    out[len] = '\0';
    return len > 0;
}

enum err sto_rocksdb_image_release(const char *dir_path, char out[STO_IMAGE_RELEASE],
                                   struct errbuf *eb)
{
    DIR *dir = opendir(dir_path);
    if (dir == NULL)
        return base_fail(eb, ERR_IO, "cannot look into %s", dir_path);
    bool is_found = false;
    enum err rc = ERR_OK;
    for (const struct dirent *d; rc == ERR_OK && !is_found && (d = readdir(dir)) != NULL;) {
        char path[BASE_PATH_BYTES];
        struct buf text = {0};
        if (strncmp(d->d_name, "OPTIONS-", 8) != 0)
            continue;
        rc = base_path_join(path, dir_path, d->d_name, eb);
        if (rc == ERR_OK)
            rc = base_file_read(path, OPTIONS_BYTES, &text, eb);
        is_found = rc == ERR_OK && release_find(base_buf_slice(&text), out);
        base_buf_fini(&text);
    }
    (void)closedir(dir); /* only read from */
    if (rc == ERR_OK && !is_found)
        rc = base_fail(eb, ERR_CORRUPT, "%s does not say which RocksDB made it", dir_path);
    return rc;
}
