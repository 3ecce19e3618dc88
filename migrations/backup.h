/*
 * migrations/backup.h - backups of the whole server and of single tenants, in a directory of their
 * own.
 *
 * Does:     backs up a database that is in use, copying only files that no backup has yet; lists,
 *           verifies, deletes and expires backups; removes files that no backup needs any more.
 * Owns:     the directory, from mig_backups_open to mig_backups_close, by a lock in it.
 * May use:  base/, storage/, tenancy/, migrations/.
 * Knows no: the threads that call it, HTTP, the audit trail.
 * Threads:  make, copy, verify and sweep on one thread; the others on any.
 * Blocks:   yes; make and verify for minutes.
 * Fails by: ERR_NOT_FOUND (no such backup, no such table), ERR_CONFLICT (it is being read; a purge
 *           is in progress), ERR_STORAGE_FULL (the detail names the needed and the free bytes),
 *           ERR_CORRUPT (damage), ERR_CANCELLED, ERR_LOCKED (a running server has it), ERR_EXISTS
 *           (it is another server's), ERR_TOO_BIG, ERR_IO.
 * Limits:   LIM_BACKUPS, LIM_BACKUPS_SCOPED, LIM_BACKUP_NOTE, LIM_BACKUP_BYTES_PER_S.
 * Promises: 1. Writes acknowledged before make started are in the backup. 2. A backup is listed
 *              once it is complete, on disk, opened and counted; never earlier, even if the process
 *              dies at any point. 3. Deleting or sweeping never removes a file that a backup names.
 *              4. Two servers never share a directory: the ledger of erased tenants, which must not
 *              return, is stored beside the backups (tenancy/erasure_ledger.h), and tenants of two
 *              servers may have the same name.
 * Holds:    DIR/LOCK, DIR/OWNER, DIR/files/HASH, DIR/backups/ID.json, DIR/verified/ID; DIR/scratch
 *           while a backup is counted, DATA/checkpoint while files are copied.
 */
#ifndef MIGRATIONS_BACKUP_H
#define MIGRATIONS_BACKUP_H

#include "migrations/backup_manifest.h"
#include "migrations/backup_verified.h"
#include "storage/engine.h"

struct mig_backups;

#define MIG_OWNER       64
#define MIG_BACKUPS_MAX (LIM_BACKUPS + LIM_BACKUPS_SCOPED)

struct mig_backups_options {
    const char *dir;   /* created if it is missing */
    const char *data;  /* the data directory, locked by us */
    const char *owner; /* the server's identity, unchanged by a restore; MIG_OWNER digits */
    uint32_t data_format;
    const char *software;     /* version of this program */
    uint64_t keep_free_bytes; /* to keep free on the disk of dir after a backup */
    struct sto_engine *engine;
};

enum err mig_backups_open(const struct mig_backups_options *options, struct mig_backups **out,
                          struct errbuf *eb) MUST_CHECK;
void mig_backups_close(struct mig_backups *b);

/* --- any thread ------------------------------------------------------------------------------- */

/* An entry without its files (NULL, but file_count is right). is_damaged: its list cannot be read;
 * only id and created_us are valid. */
struct mig_backup_entry {
    struct mig_backup backup;
    bool is_damaged;
    struct mig_verified verified; /* by the last verification, also before a restart */
};

/* Lists backups, oldest first, at most limit. */
size_t mig_backups_list(struct mig_backups *b, struct mig_backup_entry *out, size_t limit);
/* Lists one tenant's backups only; tenant empty: backups of the whole server, and damaged ones. */
size_t mig_backups_list_of(struct mig_backups *b, struct slice tenant, struct mig_backup_entry *out,
                           size_t limit);
/* Returns the ID of the newest backup; "" when there is none. */
void mig_backups_last_id(struct mig_backups *b, char out_id[MIG_BACKUP_ID + 1]);
enum err mig_backups_get(struct mig_backups *b, struct slice id, struct mig_backup_entry *out,
                         struct errbuf *eb) MUST_CHECK;
/* Removes a backup from the list, durably; the next sweep removes its files. */
enum err mig_backups_delete(struct mig_backups *b, struct slice id, struct errbuf *eb) MUST_CHECK;
/* Changes the expiry, durably. */
enum err mig_backups_set_expiry(struct mig_backups *b, struct slice id, int64_t expires_us,
                                struct errbuf *eb) MUST_CHECK;
/* Stores the result of a verification, durably. ERR_NOT_FOUND: the backup is gone. */
enum err mig_backups_set_verified(struct mig_backups *b, struct slice id,
                                  const struct mig_verified *verified,
                                  struct errbuf *eb) MUST_CHECK;
/* Finds a backup of a tenant for which is_left(ctx, tenant) is true. */
bool mig_backups_find_left(struct mig_backups *b, bool (*is_left)(void *ctx, const char *tenant),
                           void *ctx, char out_id[MIG_BACKUP_ID + 1]);
/* Finds the oldest backup that has expired at now_us. Never the newest restorable backup of the
 * whole server. */
bool mig_backups_expired(struct mig_backups *b, int64_t now_us, char out_id[MIG_BACKUP_ID + 1]);

/* --- one thread ------------------------------------------------------------------------------- */

/* Progress; read by any thread. */
struct mig_backup_watch {
    bool (*stop)(void *ctx); /* NULL: runs to completion */
    void *ctx;
    _Atomic uint64_t done_bytes;    /* copied or read */
    _Atomic uint64_t all_bytes;     /* 0: unknown */
    _Atomic uint64_t counted_bytes; /* of table files read for counting */
};

struct mig_backup_wanted {
    char id[MIG_BACKUP_ID + 1]; /* larger than all existing IDs */
    int64_t now_us;
    int64_t expires_us;                    /* 0: never */
    const char *note;                      /* UTF-8, LIM_BACKUP_NOTE */
    struct mig_backup_scope scope;         /* all "": whole server */
    const struct sto_tenant_scope *tenant; /* of scope.tenant */
};

enum err mig_backups_make(struct mig_backups *b, const struct mig_backup_wanted *wanted,
                          struct mig_backup_watch *watch, struct errbuf *eb) MUST_CHECK;
/* Adds the backup `from` under another ID and name; both share the files. wanted: its scope's name
 * and source, ID, times and note. */
enum err mig_backups_copy(struct mig_backups *b, struct slice from,
                          const struct mig_backup_wanted *wanted, struct errbuf *eb) MUST_CHECK;
/* Reads every file and compares its hash; opens the whole, reads every key, compares the number of
 * entries. */
enum err mig_backups_verify(struct mig_backups *b, struct slice id, struct mig_backup_watch *watch,
                            struct errbuf *eb) MUST_CHECK;
/* Removes files that no backup names. Does nothing while a list is damaged, because the names in it
 * are unknown. */
enum err mig_backups_sweep(struct mig_backups *b, struct errbuf *eb) MUST_CHECK;

/* Test tool: the process ends (_exit 137) when it reaches that point. The environment variable
 * BIGTENT_TEST_DIE_IN_BACKUP, a number, does the same. */
enum mig_backup_point {
    MIG_POINT_IMAGE_MADE,
    MIG_POINT_FILE_COPIED, /* the first */
    MIG_POINT_ALL_COPIED,
    MIG_POINT_COUNTED,
    MIG_POINT_LISTED,
    MIG_POINT_UNLISTED,    /* deleted, files still exist */
    MIG_POINT_TABLE_BEGUN, /* of a restored table, hidden */
    MIG_POINT_TABLE_FILLED,
    MIG_POINT_TABLE_PUBLISHED, /* or all tables of a tenant */
    MIG_POINT_TABLES_HIDDEN,   /* tables replaced by a tenant's restore */
    MIG_POINT_TABLES_FILLED,   /* all of a tenant, with their views */
    MIG_POINT_COUNT,
};
void mig_backup_test_die_at(int point); /* negative: off */
/* Test tool: sets the minimum size of parts of tenants' backups, and the average size beyond the
 * minimum. */
void mig_backup_test_part_bytes(uint64_t min, uint64_t mean);

#endif
