/*
 * migrations/backup_manifest.h - the manifest of a backup: the list of its files, and their
 * contents.
 *
 * Does:     writes and reads the JSON of a backup, with a checksum over it.
 * Owns:     the list of files, from decode (or its maker) to mig_backup_fini.
 * May use:  base/, storage/, tenancy/, jansson.
 * Knows no: where it is stored.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_CORRUPT (not as it was written), ERR_UNSUPPORTED (from a later version).
 * Limits:   LIM_BACKUP_MANIFEST_BYTES, LIM_BACKUP_FILES, LIM_BACKUP_NOTE.
 * Promises: 1. decode(encode(x)) = x. 2. A single changed byte is ERR_CORRUPT, or changes nothing.
 *           3. No path in a decoded manifest leads out of the target directory.
 */
#ifndef MIGRATIONS_BACKUP_MANIFEST_H
#define MIGRATIONS_BACKUP_MANIFEST_H

#include "base/limits.h"
#include "migrations/backup_files.h"
#include "storage/rocksdb/image.h"

#define MIG_BACKUP_FORMAT  4 /* older programs ignore later ones: backup_manifest.c */
#define MIG_BACKUP_ID      16
#define MIG_BACKUP_PATH    64
#define MIG_BACKUP_DB      "db/" /* prefix of the paths of the database's files */
#define MIG_BACKUP_RELEASE 32
#define MIG_VIEWS_NAME     "views" /* of a tenant's backup: its authorized views, if it has any */

/* The owner and extent of a backup. A tenant's backup holds no database, only data stored for its
 * tables. */
struct mig_backup_scope {
    char tenant[LIM_TENANT_ID + 1];   /* "": whole server */
    char table[LIM_TABLE_ID + 1];     /* "": all tables of the tenant */
    char name[LIM_BACKUP_NAME + 1];   /* unique in the tenant; "": none */
    char source[LIM_BACKUP_NAME + 1]; /* the name of the backup it was copied from; "": none */
};

struct mig_backup_file {
    char path[MIG_BACKUP_PATH]; /* in the data directory */
    uint32_t mode;
    struct mig_content content;
    /* Of the file it was copied from: a file with the same values is not read again. */
    uint64_t inode;
    int64_t modified_ns;
    /* Of a part of a tenant's backup (storage/rocksdb/part_file.h); otherwise empty. */
    char part[MIG_SHA256_TEXT + 1];
    uint64_t keys; /* of a part; of a table file of the database: entries, 0: not counted */
};

struct mig_backup {
    char id[MIG_BACKUP_ID + 1];
    struct mig_backup_scope scope;
    int64_t created_us;
    int64_t made_us;    /* of a tenant: when it was complete; otherwise 0 */
    int64_t expires_us; /* 0: never */
    char note[LIM_BACKUP_NOTE + 1];
    uint64_t sequence;    /* all writes acknowledged up to it are included */
    uint32_t data_format; /* of the data directory */
    char software[MIG_BACKUP_RELEASE];
    char rocksdb[MIG_BACKUP_RELEASE];
    struct sto_image_counts counts; /* documents: tenants, or the tables of one */
    bool is_by_entries; /* counts.keys are entries of table files and logs, not keys read */
    uint64_t bytes;     /* of all its files */
    uint64_t new_bytes; /* of files that no earlier backup had */
    size_t file_count;
    struct mig_backup_file *files;
};

/* Returns whether it is of one tenant, or of one of its tables. */
static inline bool mig_backup_is_scoped(const struct mig_backup *b)
{
    return b->scope.tenant[0] != '\0';
}

void mig_backup_fini(struct mig_backup *b);
enum err mig_backup_encode(const struct mig_backup *b, struct buf *out,
                           struct errbuf *eb) MUST_CHECK;
enum err mig_backup_decode(struct slice text, struct mig_backup *out, struct errbuf *eb) MUST_CHECK;
/* Returns whether the ID has 16 characters of the alphabet of tenancy's job IDs. */
bool mig_backup_id_is_valid(struct slice id);

#endif
