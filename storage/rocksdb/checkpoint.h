/*
 * storage/rocksdb/checkpoint.h - creates an image of the whole database while it is being written.
 *
 * Does:     creates a directory of hard links that is a database of its own
 *           (storage/rocksdb/image.h reads it); keeps images and purges apart.
 * Owns:     nothing.
 * May use:  base/, storage/.
 * Knows no: backups, tenants' names.
 * Threads:  any, one image at a time: another one waits.
 * Blocks:   yes: a flush.
 * Fails by: ERR_CONFLICT (a tenant is being purged), ERR_EXISTS (something has that name),
 *           ERR_UNAVAILABLE (the engine failed or closes), ERR_IO, ERR_CORRUPT (release).
 * Limits:   none.
 * Promises: 1. Every write that was acknowledged before the call is in the image.
 *           2. No image shows a tenant between the first and the last step of its purge.
 *           3. Links keep the space of files that the database has deleted: remove the directory
 *              soon (sto_rocksdb_checkpoint_remove).
 */
#ifndef STORAGE_ROCKSDB_CHECKPOINT_H
#define STORAGE_ROCKSDB_CHECKPOINT_H

#include "storage/engine.h"

/* dir: on the database's file system, not existing; its parent exists. *out_sequence: the last
 * change that was acknowledged when the image was started; later ones may be in the image too. */
enum err sto_rocksdb_checkpoint(struct sto_engine *e, const char *dir, uint64_t *out_sequence,
                                struct errbuf *eb) MUST_CHECK;
/* Removes an image, complete or left by a crash; does nothing if there is none. */
enum err sto_rocksdb_checkpoint_remove(const char *dir, struct errbuf *eb) MUST_CHECK;

/* Returns the release of RocksDB that created it, such as 7.8.3. ERR_CORRUPT if the image does not
 * contain it. */
#define STO_IMAGE_RELEASE 32
enum err sto_rocksdb_image_release(const char *dir, char out[STO_IMAGE_RELEASE],
                                   struct errbuf *eb) MUST_CHECK;

/* For purge.c. begin: a step of a tenant's purge starts (waits for an image in progress); end: the
 * last step is done, or one failed. Images are created only while no tenant is between the two. */
struct rdb_engine;
void sto_rdb_purge_begin(struct rdb_engine *e, const struct sto_tenant_scope *scope);
bool sto_rdb_purge_is_running(struct rdb_engine *e, struct slice tenant_id);
void sto_rdb_purge_end(struct rdb_engine *e, const struct sto_tenant_scope *scope);

#endif
