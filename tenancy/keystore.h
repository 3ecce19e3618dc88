/*
 * tenancy/keystore.h - the data keys of encrypted tenants, outside the database and its backups.
 *
 * Does:     keep one file for each tenant: its data keys, each wrapped by the master key and bound
 *           to tenant and version; make, add and destroy keys; wrap all of them by another master
 *           key; count the runs of the server, for nonces.
 * Owns:     the directory of files, and the master key while open.
 * May use:  base/, storage/.
 * Knows no: the registry, where the master key comes from.
 * Threads:  one at a time for one tenant's file; open and rewrap alone.
 * Blocks:   yes: what returned is on disk.
 * Fails by: ERR_NOT_FOUND (the tenant has no file), ERR_EXISTS, ERR_CONFLICT (wrapped by another
 *           master key; the text names both), ERR_CORRUPT, ERR_TOO_BIG (versions), ERR_IO,
 *           ERR_STORAGE_FULL.
 * Limits:   STO_CIPHER_VERSIONS keys of a tenant.
 * Promises: 1. A key is on disk before it seals anything. 2. What destroy was called for is
 *              overwritten, then unlinked, both durably; it may be called again, and a kill between
 *              leaves noise (ERR_CORRUPT). 3. Another tenant's file in the place of one's own is
 *              ERR_CORRUPT. 4. What a kill left of a file's replacement is destroyed by open.
 */
#ifndef TENANCY_KEYSTORE_H
#define TENANCY_KEYSTORE_H

#include "base/err.h"
#include "base/file.h"
#include "base/limits.h"
#include "storage/cipher.h"

#define TEN_KEYSTORE_DIR  "keystore" /* in the data directory */
#define TEN_MASTER_KEY    32
#define TEN_MASTER_KEY_ID 16 /* hexadecimal digits of its SHA-256: names it, does not tell it */

struct ten_keystore;

/* dir is made when it is not there. ERR_CONFLICT when its keys belong to another master key. */
enum err ten_keystore_open(const char *dir, const uint8_t master[TEN_MASTER_KEY],
                           struct ten_keystore **out, struct errbuf *eb) MUST_CHECK;
/* Wipes the master key; accepts NULL. */
void ten_keystore_close(struct ten_keystore *k);
const char *ten_keystore_master_id(const struct ten_keystore *k);

/* A new tenant's first key, into its file and into a cipher that the caller frees. */
enum err ten_keystore_create(struct ten_keystore *k, struct slice tenant, struct sto_cipher **out,
                             struct errbuf *eb) MUST_CHECK;
/* ERR_NOT_FOUND: there is none, and *out a cipher without keys, which refuses everything. */
enum err ten_keystore_load(struct ten_keystore *k, struct slice tenant, struct sto_cipher **out,
                           struct errbuf *eb) MUST_CHECK;
/* One more version, which seals from now on. */
enum err ten_keystore_rotate(struct ten_keystore *k, struct slice tenant, struct sto_cipher *cipher,
                             struct errbuf *eb) MUST_CHECK;
/* *out_versions: keys that the file held; 0 when it was gone already. */
enum err ten_keystore_destroy(struct ten_keystore *k, struct slice tenant, uint32_t *out_versions,
                              struct errbuf *eb) MUST_CHECK;

/* Wrap every file by the new master key, one after the other, and count them. Interrupted, it may
 * be called again: files wrapped by the new one already are passed over. Nobody has it open. */
enum err ten_keystore_rewrap(const char *dir, const uint8_t from[TEN_MASTER_KEY],
                             const uint8_t to[TEN_MASTER_KEY], size_t *out_count,
                             struct errbuf *eb) MUST_CHECK;

#endif
