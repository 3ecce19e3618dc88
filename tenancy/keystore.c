/*
 * tenancy/keystore.c - a directory of wrapped keys.
 *
 *   <tenant>   record: the master key's ID, then each version's key, encrypted by the master key
 *   RUN        record: the master key's ID, runs so far (tenant IDs have no capitals)
 *
 * 1. A key is encrypted as values are (storage/cipher.h), bound to tenant and version: nothing else
 *    is wrapped, so the master key needs no more nonces than there are keys and rewraps.
 * 2. RUN is incremented before anything is encrypted in a run, and is written last by a rewrap:
 *    while it names the old master key, a rewrap that was interrupted must be called again.
 * 3. A kill during the replacement of a file leaves NAME.*.tmp with keys that nothing else would
 *    ever destroy: open does, before anything is created.
 */
#define _GNU_SOURCE

#include "tenancy/keystore.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/record.h"
#include "base/text.h"
#include "storage/scope.h"

#include "base/banned.h"

#define RUN_FILE  "RUN"
#define FILE_MAX  (16 * KIB)
#define FILE_MODE 0600
#define DIR_MODE  0700

enum { TAG_MASTER = 1, TAG_KEY = 2, TAG_RUNS = 3 };

struct ten_keystore {
    char dir[BASE_PATH_BYTES];
    char master_id[TEN_MASTER_KEY_ID + 1];
    struct sto_cipher *master; /* its one key */
    uint32_t run;
};

/* --- master keys ------------------------------------------------------------------------------ */

static void master_id(const uint8_t master[TEN_MASTER_KEY], char out[TEN_MASTER_KEY_ID + 1])
{
    static const char label[] = "bigtent master key";
    uint8_t input[sizeof label + TEN_MASTER_KEY];
    uint8_t digest[SHA256_DIGEST_LENGTH];
    memcpy(input, label, sizeof label);
    memcpy(input + sizeof label, master, TEN_MASTER_KEY);
    (void)SHA256(input, sizeof input, digest); /* writes digest */
    OPENSSL_cleanse(input, sizeof input);
    struct buf hex;
    base_buf_init(&hex, TEN_MASTER_KEY_ID);
    enum err rc = base_hex_encode(base_slice(digest, TEN_MASTER_KEY_ID / 2), &hex);
    INVARIANT(rc == ERR_OK);
    memcpy(out, hex.ptr, TEN_MASTER_KEY_ID);
    out[TEN_MASTER_KEY_ID] = '\0';
    base_buf_fini(&hex);
}

static void master_set(struct ten_keystore *k, const uint8_t master[TEN_MASTER_KEY])
{
    _Static_assert(TEN_MASTER_KEY == STO_CIPHER_KEY, "both are AES-256 keys");
    sto_cipher_free(k->master);
    k->master = sto_cipher_new(k->run);
    enum err rc = sto_cipher_add(k->master, master);
    INVARIANT(rc == ERR_OK);
    master_id(master, k->master_id);
}

/* --- one file --------------------------------------------------------------------------------- */

struct keys {
    uint32_t count;
    uint8_t key[STO_CIPHER_VERSIONS][STO_CIPHER_KEY];
};

/* The state of reading one file. */
struct reading {
    const struct ten_keystore *keystore;
    struct slice tenant;
    struct keys *keys;
    char master_id[TEN_MASTER_KEY_ID + 1];
    uint64_t runs;
};

/* Returns the context that a wrapped key is bound to; scratch holds its bytes. */
static struct sto_seal_place place_of(struct slice tenant, uint32_t version,
                                      uint8_t scratch[LIM_TENANT_ID + 4])
{
    memcpy(scratch, tenant.ptr, tenant.len);
    for (size_t i = 0; i < 4; i++)
        scratch[tenant.len + i] = (uint8_t)(version >> (24 - 8 * i));
    return (struct sto_seal_place){SLICE_LIT("bigtent data key"),
                                   base_slice(scratch, tenant.len + 4)};
}

static void wipe_buf(struct buf *b)
{
    if (b->ptr != NULL)
        OPENSSL_cleanse(b->ptr, b->capacity);
    base_buf_fini(b);
}

static enum err take_key(struct reading *r, struct slice wrapped)
{
    struct keys *keys = r->keys;
    if (keys == NULL || keys->count == STO_CIPHER_VERSIONS)
        return ERR_CORRUPT;
    uint8_t scratch[LIM_TENANT_ID + 4];
    struct sto_seal_place place = place_of(r->tenant, keys->count + 1, scratch);
    struct sto_sealer sealer;
    struct buf key;
    sto_sealer_init(&sealer);
    base_buf_init(&key, KIB);
    enum err rc = sto_unseal(&sealer, r->keystore->master, &place, wrapped, &key);
    if (rc == ERR_OK && key.len != STO_CIPHER_KEY)
        rc = ERR_CORRUPT;
    if (rc == ERR_OK)
        memcpy(keys->key[keys->count++], key.ptr, STO_CIPHER_KEY);
    sto_sealer_fini(&sealer);
    wipe_buf(&key);
    return rc;
}

static enum err take_field(void *ctx, const struct base_field *field)
{
    struct reading *r = ctx;
    if (field->tag == TAG_MASTER) {
        enum err rc = base_field_text(field, r->master_id, sizeof r->master_id);
        bool same = strcmp(r->master_id, r->keystore->master_id) == 0;
        return rc != ERR_OK || same ? rc : ERR_CONFLICT; /* stops the reading */
    }
    if (field->tag == TAG_RUNS)
        return base_field_number(field, &r->runs);
    return field->tag == TAG_KEY && !field->is_number ? take_key(r, field->bytes) : ERR_CORRUPT;
}

/* ERR_NOT_FOUND, ERR_CONFLICT (another master key), ERR_CORRUPT. */
static enum err read_file(struct reading *r, const char *name, struct errbuf *eb)
{
    char path[BASE_PATH_BYTES];
    struct buf bytes = {0};
    enum err rc = base_path_join(path, r->keystore->dir, name, eb);
    if (rc == ERR_OK)
        rc = base_file_read(path, FILE_MAX, &bytes, eb);
    if (rc != ERR_OK)
        return rc;
    rc = base_record_visit(base_buf_slice(&bytes), take_field, r);
    base_buf_fini(&bytes);
    if (rc == ERR_CONFLICT)
        return base_fail(eb, rc, "%s was made with the master key %s; the one given is %s", path,
                         r->master_id, r->keystore->master_id);
    if (rc != ERR_OK || r->master_id[0] == '\0')
        return base_fail(eb, ERR_CORRUPT, "%s is damaged", path);
    return ERR_OK;
}

static enum err write_file(const struct ten_keystore *k, const char *name, const struct buf *record,
                           bool is_new, struct errbuf *eb)
{
    char path[BASE_PATH_BYTES];
    if (record->error != ERR_OK)
        return base_fail(eb, record->error, "the key file %s cannot be made", name);
    enum err rc = base_path_join(path, k->dir, name, eb);
    if (rc != ERR_OK)
        return rc;
    struct slice bytes = base_buf_slice(record);
    return is_new ? base_file_create(path, bytes, FILE_MODE, eb)
                  : base_file_replace(path, bytes, FILE_MODE, eb);
}

/* --- a tenant's file -------------------------------------------------------------------------- */

static void name_of(struct slice tenant, char out[LIM_TENANT_ID + 1])
{
    INVARIANT(sto_tenant_id_check(tenant, NULL) == ERR_OK); /* it becomes a file name */
    memcpy(out, tenant.ptr, tenant.len);
    out[tenant.len] = '\0';
}

static enum err read_keys(const struct ten_keystore *k, struct slice tenant, struct keys *out,
                          struct errbuf *eb)
{
    char name[LIM_TENANT_ID + 1];
    struct reading r = {.keystore = k, .tenant = tenant, .keys = out};
    name_of(tenant, name);
    *out = (struct keys){0};
    enum err rc = read_file(&r, name, eb);
    return rc == ERR_OK && out->count == 0 ? base_fail(eb, ERR_CORRUPT, "%s holds no key", name)
                                           : rc;
}

static enum err wrap(const struct ten_keystore *k, struct slice tenant, uint32_t version,
                     const uint8_t *key, struct buf *record)
{
    uint8_t scratch[LIM_TENANT_ID + 4];
    struct sto_seal_place place = place_of(tenant, version, scratch);
    struct sto_sealer sealer;
    struct buf sealed;
    sto_sealer_init(&sealer);
    base_buf_init(&sealed, KIB);
    enum err rc = sto_seal(&sealer, k->master, &place, base_slice(key, STO_CIPHER_KEY), &sealed);
    if (rc == ERR_OK)
        rc = base_record_put_bytes(record, TAG_KEY,
                                   base_slice_skip(base_buf_slice(&sealed), place.head.len));
    sto_sealer_fini(&sealer);
    base_buf_fini(&sealed);
    return rc;
}

static enum err write_keys(const struct ten_keystore *k, struct slice tenant,
                           const struct keys *keys, bool is_new, struct errbuf *eb)
{
    char name[LIM_TENANT_ID + 1];
    struct buf record;
    name_of(tenant, name);
    base_buf_init(&record, FILE_MAX);
    enum err rc = base_record_put_bytes(&record, TAG_MASTER, base_slice_text(k->master_id));
    for (uint32_t i = 0; rc == ERR_OK && i < keys->count; i++)
        rc = wrap(k, tenant, i + 1, keys->key[i], &record);
    rc = rc == ERR_OK ? write_file(k, name, &record, is_new, eb)
                      : base_fail(eb, rc, "the keys of a tenant cannot be wrapped");
    base_buf_fini(&record);
    return rc;
}

/* Adds a new key after the existing ones. */
static enum err add_key(struct keys *keys, struct errbuf *eb)
{
    if (keys->count == STO_CIPHER_VERSIONS)
        return base_fail(eb, ERR_TOO_BIG, "the tenant has %d keys; more are not kept",
                         STO_CIPHER_VERSIONS);
    INVARIANT(RAND_priv_bytes(keys->key[keys->count++], STO_CIPHER_KEY) == 1);
    return ERR_OK;
}

static void fill_cipher(struct sto_cipher *cipher, const struct keys *keys)
{
    for (uint32_t i = sto_cipher_versions(cipher); i < keys->count; i++) {
        enum err rc = sto_cipher_add(cipher, keys->key[i]);
        INVARIANT(rc == ERR_OK);
    }
}

enum err ten_keystore_create(struct ten_keystore *k, struct slice tenant, struct sto_cipher **out,
                             struct errbuf *eb)
{
    struct keys keys = {0};
    enum err rc = add_key(&keys, eb);
    if (rc == ERR_OK)
        rc = write_keys(k, tenant, &keys, true, eb);
    if (rc == ERR_OK) {
        *out = sto_cipher_new(k->run);
        fill_cipher(*out, &keys);
    }
    OPENSSL_cleanse(&keys, sizeof keys);
    return rc;
}

enum err ten_keystore_load(struct ten_keystore *k, struct slice tenant, struct sto_cipher **out,
                           struct errbuf *eb)
{
    struct keys keys;
    enum err rc = read_keys(k, tenant, &keys, eb);
    if (rc == ERR_OK || rc == ERR_NOT_FOUND)
        *out = sto_cipher_new(k->run);
    if (rc == ERR_OK)
        fill_cipher(*out, &keys);
    OPENSSL_cleanse(&keys, sizeof keys);
    return rc;
}

enum err ten_keystore_rotate(struct ten_keystore *k, struct slice tenant, struct sto_cipher *cipher,
                             struct errbuf *eb)
{
    struct keys keys;
    enum err rc = read_keys(k, tenant, &keys, eb);
    if (rc == ERR_OK)
        rc = add_key(&keys, eb);
    if (rc == ERR_OK)
        rc = write_keys(k, tenant, &keys, false, eb);
    if (rc == ERR_OK)
        fill_cipher(cipher, &keys);
    OPENSSL_cleanse(&keys, sizeof keys);
    return rc;
}

/* --- destroying ------------------------------------------------------------------------------- */

static enum err fail_errno(struct errbuf *eb, const char *verb, const char *path)
{
    int error = errno;
    return base_fail(eb, base_file_error(error), "cannot %s %s: %s", verb, path,
                     strerrordesc_np(error));
}

/* In place, so that the file's own blocks no longer hold the key. */
static enum err overwrite(const char *path, struct errbuf *eb)
{
    uint8_t noise[FILE_MAX];
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return errno == ENOENT ? ERR_NOT_FOUND : fail_errno(eb, "open", path);
    off_t end = lseek(fd, 0, SEEK_END);
    size_t len = end < 0 ? 0 : (size_t)end < sizeof noise ? (size_t)end : sizeof noise;
    INVARIANT(RAND_bytes(noise, (int)len) == 1);
    enum err rc = end < 0 || pwrite(fd, noise, len, 0) != (ssize_t)len || fsync(fd) != 0
                      ? fail_errno(eb, "overwrite", path)
                      : ERR_OK;
    (void)close(fd); /* synced, or failed already */
    return rc;
}

enum err ten_keystore_destroy(struct ten_keystore *k, struct slice tenant, uint32_t *out_versions,
                              struct errbuf *eb)
{
    char name[LIM_TENANT_ID + 1];
    char path[BASE_PATH_BYTES];
    struct keys keys;
    *out_versions = 0;
    name_of(tenant, name);
    enum err rc = base_path_join(path, k->dir, name, eb);
    if (rc != ERR_OK)
        return rc;
    if (read_keys(k, tenant, &keys, NULL) == ERR_OK) /* otherwise it is destroyed uncounted */
        *out_versions = keys.count;
    OPENSSL_cleanse(&keys, sizeof keys);
    rc = overwrite(path, eb);
    if (rc == ERR_NOT_FOUND)
        return base_dir_sync(k->dir, eb);
    if (rc == ERR_OK && unlink(path) != 0)
        rc = fail_errno(eb, "remove", path);
    return rc == ERR_OK ? base_dir_sync(k->dir, eb) : rc;
}

/* --- the directory ---------------------------------------------------------------------------- */

/* Applies rule 3. Of a file in use only the second name is removed; its bytes stay. */
static enum err sweep_one(const struct ten_keystore *k, const char *name, struct errbuf *eb)
{
    char path[BASE_PATH_BYTES];
    struct stat st;
    size_t len = strlen(name);
    if (len < 4 || strcmp(name + len - 4, ".tmp") != 0) /* tenant IDs have no dots */
        return ERR_OK;
    enum err rc = base_path_join(path, k->dir, name, eb);
    if (rc == ERR_OK && lstat(path, &st) != 0)
        rc = fail_errno(eb, "look at", path);
    if (rc == ERR_OK && st.st_nlink == 1)
        rc = overwrite(path, eb);
    if (rc == ERR_OK && unlink(path) != 0)
        rc = fail_errno(eb, "remove", path);
    return rc;
}

static enum err sweep(const struct ten_keystore *k, struct errbuf *eb)
{
    const struct dirent *entry;
    enum err rc = ERR_OK;
    DIR *dir = opendir(k->dir);
    if (dir == NULL)
        return fail_errno(eb, "read", k->dir);
    while (rc == ERR_OK && (entry = readdir(dir)) != NULL)
        rc = sweep_one(k, entry->d_name, eb);
    (void)closedir(dir); /* read only */
    return rc;
}

/* Returns the runs so far, from the keystore's file; 0 when the keystore is new. */
static enum err read_run(const struct ten_keystore *k, uint64_t *out, struct errbuf *eb)
{
    struct reading r = {.keystore = k};
    enum err rc = read_file(&r, RUN_FILE, eb);
    *out = r.runs;
    return rc == ERR_NOT_FOUND ? ERR_OK : rc;
}

static enum err write_run(const struct ten_keystore *k, uint64_t runs, struct errbuf *eb)
{
    struct buf record;
    base_buf_init(&record, FILE_MAX);
    /* errors latch in record */
    (void)base_record_put_bytes(&record, TAG_MASTER, base_slice_text(k->master_id));
    (void)base_record_put_u64(&record, TAG_RUNS, runs);
    enum err rc = write_file(k, RUN_FILE, &record, false, eb);
    base_buf_fini(&record);
    return rc;
}

static enum err open_dir(struct ten_keystore *k, const char *dir, struct errbuf *eb)
{
    uint64_t runs = 0;
    size_t len = strnlen(dir, sizeof k->dir);
    if (len == sizeof k->dir)
        return base_fail(eb, ERR_TOO_BIG, "the keystore's path is over %d bytes", BASE_PATH_BYTES);
    memcpy(k->dir, dir, len + 1);
    enum err rc = base_dir_make(dir, DIR_MODE, eb);
    if (rc == ERR_OK || rc == ERR_EXISTS)
        rc = sweep(k, eb);
    if (rc == ERR_OK)
        rc = read_run(k, &runs, eb);
    if (rc == ERR_OK && runs >= UINT32_MAX)
        rc =
            base_fail(eb, ERR_TOO_BIG, "the keystore counted %u runs; rotate its keys", UINT32_MAX);
    if (rc == ERR_OK)
        rc = write_run(k, runs + 1, eb);
    k->run = (uint32_t)runs + 1;
    return rc;
}

enum err ten_keystore_open(const char *dir, const uint8_t master[TEN_MASTER_KEY],
                           struct ten_keystore **out, struct errbuf *eb)
{
    struct ten_keystore *k = base_new(sizeof *k);
    master_set(k, master); /* reading compares its ID */
    enum err rc = open_dir(k, dir, eb);
    if (rc != ERR_OK) {
        ten_keystore_close(k);
        return rc;
    }
    master_set(k, master); /* with the number of this run */
    *out = k;
    return ERR_OK;
}

void ten_keystore_close(struct ten_keystore *k)
{
    if (k == NULL)
        return;
    sto_cipher_free(k->master);
    base_free(k);
}

const char *ten_keystore_master_id(const struct ten_keystore *k)
{
    return k->master_id;
}

/* --- another master key ----------------------------------------------------------------------- */

static enum err rewrap_one(const struct ten_keystore *from, const struct ten_keystore *to,
                           struct slice tenant, struct errbuf *eb)
{
    struct keys keys;
    enum err rc = read_keys(from, tenant, &keys, eb);
    if (rc == ERR_OK)
        rc = write_keys(to, tenant, &keys, false, eb);
    else if (rc == ERR_CONFLICT) /* an interrupted rewrap already did this file */
        rc = read_keys(to, tenant, &keys, eb);
    OPENSSL_cleanse(&keys, sizeof keys);
    return rc;
}

static enum err rewrap_all(const struct ten_keystore *from, const struct ten_keystore *to,
                           size_t *out_count, struct errbuf *eb)
{
    DIR *dir = opendir(from->dir);
    if (dir == NULL)
        return fail_errno(eb, "read", from->dir);
    enum err rc = ERR_OK;
    const struct dirent *entry;
    while (rc == ERR_OK && (entry = readdir(dir)) != NULL) {
        struct slice tenant = base_slice_text(entry->d_name);
        if (sto_tenant_id_check(tenant, NULL) != ERR_OK)
            continue;
        rc = rewrap_one(from, to, tenant, eb);
        *out_count += rc == ERR_OK;
    }
    (void)closedir(dir); /* read only */
    return rc;
}

enum err ten_keystore_rewrap(const char *dir, const uint8_t from[TEN_MASTER_KEY],
                             const uint8_t to[TEN_MASTER_KEY], size_t *out_count, struct errbuf *eb)
{
    struct ten_keystore *old = NULL;
    *out_count = 0;
    enum err rc = ten_keystore_open(dir, from, &old, eb); /* counts a run: new nonces */
    if (rc != ERR_OK)
        return rc;
    struct ten_keystore new = *old;
    new.master = NULL;
    master_set(&new, to);
    rc = rewrap_all(old, &new, out_count, eb);
    if (rc == ERR_OK)
        rc = write_run(&new, new.run, eb);
    sto_cipher_free(new.master);
    ten_keystore_close(old);
    return rc;
}
