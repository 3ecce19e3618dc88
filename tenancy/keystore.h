/*
 * tenancy/keystore.h - the data keys of encrypted tenants, outside the database and its backups.
 *
 * Does:     keeps one file for each tenant: its data keys, each wrapped by the master key and bound
 *           to tenant and version; creates, adds and destroys keys; rewraps all of them with
 *           another master key; counts the runs of the server, for nonces.
 * Owns:     the directory of files, and the master key while open.
 * May use:  base/, storage/.
 * Knows no: the registry, where the master key comes from.
 * Threads:  one at a time for one tenant's file; open and rewrap alone.
 * Blocks:   yes: a change is on disk when the call returns.
 * Fails by: ERR_NOT_FOUND (the tenant has no file), ERR_EXISTS, ERR_CONFLICT (wrapped by another
 *           master key; the text names both), ERR_CORRUPT, ERR_TOO_BIG (versions), ERR_IO,
 *           ERR_STORAGE_FULL.
 * Limits:   STO_CIPHER_VERSIONS keys of a tenant.
 * Promises: 1. A key is on disk before it encrypts anything. 2. A file to destroy is overwritten,
 *              then unlinked, both durably. Destroy may be repeated; a kill between the two leaves
 *              noise (ERR_CORRUPT). 3. A tenant's file that is another tenant's is ERR_CORRUPT. 4.
 *              Remains of a file's replacement that a kill interrupted are destroyed by open.
 */
#ifndef TENANCY_KEYSTORE_H
#define TENANCY_KEYSTORE_H

#include "base/err.h"
#include "base/file.h"
#include "base/limits.h"
#include "storage/cipher.h"

#define TEN_KEYSTORE_DIR  "keystore" /* in the data directory */
#define TEN_MASTER_KEY    32
#define TEN_MASTER_KEY_ID 16 /* hexadecimal digits of its SHA-256, which does not reveal it */

struct ten_keystore;

/* Creates dir if it is missing. ERR_CONFLICT when its keys belong to another master key. */
enum err ten_keystore_open(const char *dir, const uint8_t master[TEN_MASTER_KEY],
                           struct ten_keystore **out, struct errbuf *eb) MUST_CHECK;
/* Wipes the master key; accepts NULL. */
void ten_keystore_close(struct ten_keystore *k);
const char *ten_keystore_master_id(const struct ten_keystore *k);

/* Creates a new tenant's first key, in its file and in a cipher that the caller frees. */
enum err ten_keystore_create(struct ten_keystore *k, struct slice tenant, struct sto_cipher **out,
                             struct errbuf *eb) MUST_CHECK;
/* ERR_NOT_FOUND: the tenant has no file, and *out is a cipher without keys, which refuses
 * everything. */
enum err ten_keystore_load(struct ten_keystore *k, struct slice tenant, struct sto_cipher **out,
                           struct errbuf *eb) MUST_CHECK;
/* Adds a version, which encrypts from now on. */
enum err ten_keystore_rotate(struct ten_keystore *k, struct slice tenant, struct sto_cipher *cipher,
                             struct errbuf *eb) MUST_CHECK;
/* *out_versions: number of keys in the file; 0 when it was already gone. */
enum err ten_keystore_destroy(struct ten_keystore *k, struct slice tenant, uint32_t *out_versions,
                              struct errbuf *eb) MUST_CHECK;

/* Rewraps every file with the new master key, one after the other, and counts them. If interrupted,
 * it may be repeated: files that the new key wraps already are skipped. The keystore must not be
 * open. */
enum err ten_keystore_rewrap(const char *dir, const uint8_t from[TEN_MASTER_KEY],
                             const uint8_t to[TEN_MASTER_KEY], size_t *out_count,
                             struct errbuf *eb) MUST_CHECK;

#endif
