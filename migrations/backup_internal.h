/*
 * migrations/backup_internal.h - declarations that the files of backups share.
 *
 * Does:     lays out the catalogue; reads lists of files; counts the contents of a backup.
 * Owns:     see backup.h.
 * May use:  base/, storage/, migrations/.
 * Knows no: its callers.
 * Threads:  as said.
 * Blocks:   yes.
 * Fails by: as backup.h.
 * Limits:   as backup.h.
 * Promises: none of its own.
 */
#ifndef MIGRATIONS_BACKUP_INTERNAL_H
#define MIGRATIONS_BACKUP_INTERNAL_H

#include <pthread.h>

#include "migrations/backup.h"
#include "storage/rocksdb/checkpoint.h"

#define MIG_LISTS_NAME      "backups"
#define MIG_SCRATCH_NAME    "scratch"
#define MIG_CHECKPOINT_NAME "checkpoint" /* in the data directory */

struct mig_trace {
    char id[MIG_BACKUP_ID + 1];
    char tenant[LIM_TENANT_ID + 1]; /* the only tenant whose data is in it; "": all tenants */
    int64_t created_us;
    int64_t expires_us;
};

struct mig_backups {
    char dir[BASE_PATH_BYTES];
    char lists[BASE_PATH_BYTES]; /* DIR/backups */
    char scratch[BASE_PATH_BYTES];
    char checkpoint[BASE_PATH_BYTES]; /* DATA/checkpoint */
    char data[BASE_PATH_BYTES];
    char software[MIG_BACKUP_RELEASE];
    uint32_t data_format;
    uint64_t keep_free_bytes;
    struct sto_engine *engine;
    int lock_fd;

    pthread_mutex_t lock;
    /* under lock; by ID, space for MIG_BACKUPS_MAX */
    struct mig_backup_entry *entries;
    size_t count;
    char reading[MIG_BACKUP_ID + 1]; /* ID of the backup being verified or restored; "": none */
    /* Copies that are not backups but partly on the disk: the one being made, and backups deleted
     * since the last sweep; space for MIG_BACKUPS_MAX. */
    struct mig_trace making; /* id "": none */
    struct mig_trace *leaving;
    size_t leaving_count;
};

/* Returns DIR/backups/ID.json. */
enum err mig_backup_list_path(const char *lists, const char *id, char out[BASE_PATH_BYTES],
                              struct errbuf *eb) MUST_CHECK;
/* Returns the ID in "ID.json"; empty: another name. */
struct slice mig_backup_id_of(const char *name);
/* Reads ID.json, with its files. ERR_NOT_FOUND, ERR_CORRUPT (also when it contains another ID). */
enum err mig_backup_read(const char *lists, struct slice id, struct mig_backup *out,
                         struct errbuf *eb) MUST_CHECK;
/* Opens the backup's database in a scratch directory beside its files, and counts its keys. */
enum err mig_backup_count(const char *dir, const char *scratch, const struct mig_backup *backup,
                          struct mig_backup_watch *watch, struct sto_image_counts *out,
                          struct errbuf *eb) MUST_CHECK;
/* Counts the entries of its table files and of its logs. A table file without a known number is
 * read, and the number is stored in `backup` (files are sorted). ERR_CORRUPT also when the database
 * names a table file that the backup lacks. is_known: no number may be missing. */
enum err mig_backup_count_entries(const char *dir, const char *scratch, struct mig_backup *backup,
                                  bool is_known, struct mig_backup_watch *watch,
                                  struct sto_image_counts *out, struct errbuf *eb) MUST_CHECK;
/* Links the files of its database into the scratch directory. */
enum err mig_backup_lay_out(const char *dir, const char *scratch, const struct mig_backup *backup,
                            struct errbuf *eb) MUST_CHECK;
struct mig_trace mig_trace_of(const struct mig_backup *backup);
/* Protects a backup from deletion while it is read; id "": ends that. */
void mig_backups_set_reading(struct mig_backups *b, const char *id);
void mig_backups_set_making(struct mig_backups *b, const struct mig_trace *trace);
/* Appends a file, all zero but for its path; its address is valid until the next call. */
enum err mig_backup_add_file(struct mig_backup *backup, const char *path,
                             struct mig_backup_file **out, struct errbuf *eb) MUST_CHECK;
/* Stores its list and adds it to the list in memory: this makes it a backup. */
enum err mig_backups_put(struct mig_backups *b, const struct mig_backup *backup,
                         struct errbuf *eb) MUST_CHECK;

/* --- backups of one tenant: backup_tenant.c --------------------------------------------------- */

/* The files of schemas and views, and the parts of the i-th table. */
#define MIG_SCHEMAS_NAME "schemas"
#define MIG_TABLE_PREFIX "t%05zu-"
#define MIG_PART_NAME    MIG_TABLE_PREFIX "%06zu"

/* Copies the tenant's data from the image, which exists; backup's head is already set. */
enum err mig_backup_take_tenant(struct mig_backups *b, const struct mig_backup_wanted *wanted,
                                struct mig_backup *backup, struct mig_backup_watch *watch,
                                struct errbuf *eb) MUST_CHECK;
/* Reads all its parts and checks that keys ascend, are the tenant's, and are as many as listed. */
enum err mig_backup_count_parts(const char *dir, const struct mig_backup *backup,
                                struct mig_backup_watch *watch, struct errbuf *eb) MUST_CHECK;
void mig_backup_point(enum mig_backup_point point);

/* Files of the data directory that a restored server needs, besides the database. */
extern const char *const mig_backup_small_files[]; /* terminated by NULL */

#endif
