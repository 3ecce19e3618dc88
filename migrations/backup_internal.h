/*
 * migrations/backup_internal.h - what the files of backups share.
 *
 * Does:     lay out the catalogue; read lists of files; count what a backup holds.
 * Owns:     see backup.h.
 * May use:  base/, migrations/.
 * Knows no: who asks.
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

#define MIG_LISTS_NAME      "backups"
#define MIG_SCRATCH_NAME    "scratch"
#define MIG_CHECKPOINT_NAME "checkpoint" /* in the data directory */

struct mig_trace {
    char id[MIG_BACKUP_ID + 1];
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
    /* under lock; by ID, room for LIM_BACKUPS */
    struct mig_backup_entry *entries;
    size_t count;
    char verifying[MIG_BACKUP_ID + 1]; /* "": none */
    /* What is no backup, but on the disk in part: the one being made, and those that were deleted
     * since the last sweep, room for LIM_BACKUPS. */
    struct mig_trace making; /* id "": none */
    struct mig_trace *leaving;
    size_t leaving_count;
};

/* DIR/backups/ID.json. */
enum err mig_backup_list_path(const char *lists, const char *id, char out[BASE_PATH_BYTES],
                              struct errbuf *eb) MUST_CHECK;
/* The ID in "ID.json"; empty: another name. */
struct slice mig_backup_id_of(const char *name);
/* Read ID.json, with its files. ERR_NOT_FOUND, ERR_CORRUPT (also when it says another ID). */
enum err mig_backup_read(const char *lists, struct slice id, struct mig_backup *out,
                         struct errbuf *eb) MUST_CHECK;
/* Open the backup's database in a scratch directory beside its files, and count its keys. */
enum err mig_backup_count(const char *dir, const char *scratch, const struct mig_backup *backup,
                          struct mig_backup_watch *watch, struct sto_image_counts *out,
                          struct errbuf *eb) MUST_CHECK;
struct mig_trace mig_trace_of(const struct mig_backup *backup);
/* Take a made one onto the list; its files stay the caller's. */
void mig_backups_add(struct mig_backups *b, const struct mig_backup *backup);
void mig_backup_point(enum mig_backup_point point);

/* Files of the data directory that a restored server needs, besides the database. */
extern const char *const mig_backup_small_files[]; /* NULL at the end */

#endif
