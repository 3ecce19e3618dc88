/*
 * storage/rocksdb/checkpoint.h - an image of the whole database, made while it is being written.
 *
 * Does:     make a directory of hard links that is a database of its own (storage/rocksdb/image.h
 *           reads it); keep images and purges apart.
 * Owns:     nothing.
 * May use:  base/, storage/.
 * Knows no: backups, tenants' names.
 * Threads:  any, one image at a time: another one waits.
 * Blocks:   yes: a flush.
 * Fails by: ERR_CONFLICT (a tenant is being purged), ERR_EXISTS (something has that name),
 *           ERR_UNAVAILABLE (the engine failed or closes), ERR_IO, ERR_CORRUPT (release).
 * Limits:   none.
 * Promises: 1. Everything that was acknowledged before the call is in the image.
 *           2. No image shows a tenant between the first and the last step of its purge.
 *           3. Links keep the space of files that the database gave up: remove the directory soon
 *              (sto_rocksdb_checkpoint_remove).
 */
#ifndef STORAGE_ROCKSDB_CHECKPOINT_H
#define STORAGE_ROCKSDB_CHECKPOINT_H

#include "storage/engine.h"

/* dir: of the database's file system, its parent is there, itself not. *out_sequence: the last
 * change that was acknowledged when it began; later ones may be in the image too. */
enum err sto_rocksdb_checkpoint(struct sto_engine *e, const char *dir, uint64_t *out_sequence,
                                struct errbuf *eb) MUST_CHECK;
/* Remove an image, whole or left behind by a crash; of one that is not there nothing. */
enum err sto_rocksdb_checkpoint_remove(const char *dir, struct errbuf *eb) MUST_CHECK;

/* The release of RocksDB that made it, such as 7.8.3. ERR_CORRUPT when the image does not say. */
#define STO_IMAGE_RELEASE 32
enum err sto_rocksdb_image_release(const char *dir, char out[STO_IMAGE_RELEASE],
                                   struct errbuf *eb) MUST_CHECK;

/* For purge.c: a step of a tenant's purge starts (waits for an image that is being made); the last
 * step is done, or one failed. Images are made when no tenant is in between. */
struct rdb_engine;
void sto_rdb_purge_begin(struct rdb_engine *e, const struct sto_tenant_scope *scope);
bool sto_rdb_purge_is_running(struct rdb_engine *e, struct slice tenant_id);
void sto_rdb_purge_end(struct rdb_engine *e, const struct sto_tenant_scope *scope);

#endif
