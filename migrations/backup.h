/*
 * migrations/backup.h - backups of everything and of single tenants, in a directory of their own.
 *
 * Does:     make a backup of a database that is in use, copying only what no backup has yet; list,
 *           verify, delete and expire backups; remove what no backup needs any more.
 * Owns:     the directory, from mig_backups_open to mig_backups_close, by a lock in it.
 * May use:  base/, storage/, tenancy/, migrations/.
 * Knows no: threads that call it, HTTP, the audit trail.
 * Threads:  make, verify and sweep are one thread's; the others any.
 * Blocks:   yes; make and verify for minutes.
 * Fails by: ERR_NOT_FOUND (no such backup, no such table), ERR_CONFLICT (it is being read; a purge
 *           is under way), ERR_STORAGE_FULL (the detail says what is needed and what is free),
 *           ERR_CORRUPT (damage), ERR_CANCELLED, ERR_LOCKED (a running server has it), ERR_EXISTS
 *           (it is another server's), ERR_TOO_BIG, ERR_IO.
 * Limits:   LIM_BACKUPS, LIM_BACKUPS_SCOPED, LIM_BACKUP_NOTE, LIM_BACKUP_BYTES_PER_S.
 * Promises: 1. What was acknowledged before make began is in the backup. 2. A backup is listed when
 *              it is whole, on disk, and was opened and counted; never before, and whenever the
 *              process ends. 3. Deleting or sweeping never takes a file that a backup names. 4. Two
 *              servers never share a directory: beside the backups lies who left, and must not
 *              return (tenancy/erasure_ledger.h), and tenants of two servers may have one name.
 * Holds:    DIR/LOCK, DIR/OWNER, DIR/files/HASH, DIR/backups/ID.json, DIR/verified/ID;
 *           DIR/scratch while something is counted, DATA/checkpoint while something is copied.
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
    const char *dir;   /* made when it is not there */
    const char *data;  /* the data directory, locked by us */
    const char *owner; /* what tells the directory's server from others, the same after a restore;
                        * MIG_OWNER digits */
    uint32_t data_format;
    const char *software;     /* version of this program */
    uint64_t keep_free_bytes; /* on the disk of dir, behind a backup */
    struct sto_engine *engine;
};

enum err mig_backups_open(const struct mig_backups_options *options, struct mig_backups **out,
                          struct errbuf *eb) MUST_CHECK;
void mig_backups_close(struct mig_backups *b);

/* --- any thread ------------------------------------------------------------------------------- */

/* Without files (NULL, but file_count is true). is_damaged: its list cannot be read; only id and
 * created_us say something. */
struct mig_backup_entry {
    struct mig_backup backup;
    bool is_damaged;
    struct mig_verified verified; /* the last time, also before a restart */
};

/* Oldest first, at most limit. */
size_t mig_backups_list(struct mig_backups *b, struct mig_backup_entry *out, size_t limit);
/* Those of one tenant only; tenant empty: those of everything, and damaged ones. */
size_t mig_backups_list_of(struct mig_backups *b, struct slice tenant, struct mig_backup_entry *out,
                           size_t limit);
/* Of the newest there is; "" when there is none. */
void mig_backups_last_id(struct mig_backups *b, char out_id[MIG_BACKUP_ID + 1]);
enum err mig_backups_get(struct mig_backups *b, struct slice id, struct mig_backup_entry *out,
                         struct errbuf *eb) MUST_CHECK;
/* Off the list, on disk when it returns; its files go with the next sweep. */
enum err mig_backups_delete(struct mig_backups *b, struct slice id, struct errbuf *eb) MUST_CHECK;
/* On disk when it returns. */
enum err mig_backups_set_expiry(struct mig_backups *b, struct slice id, int64_t expires_us,
                                struct errbuf *eb) MUST_CHECK;
/* What a verification found; on disk when it returns. ERR_NOT_FOUND: the backup is gone. */
enum err mig_backups_set_verified(struct mig_backups *b, struct slice id,
                                  const struct mig_verified *verified,
                                  struct errbuf *eb) MUST_CHECK;
/* A backup of a tenant for which is_left(ctx, tenant) is true. */
bool mig_backups_find_left(struct mig_backups *b, bool (*is_left)(void *ctx, const char *tenant),
                           void *ctx, char out_id[MIG_BACKUP_ID + 1]);
/* The oldest one that is due at now_us. Never the newest of everything that can be restored. */
bool mig_backups_expired(struct mig_backups *b, int64_t now_us, char out_id[MIG_BACKUP_ID + 1]);

/* --- one thread ------------------------------------------------------------------------------- */

/* How far it is; read by any thread. */
struct mig_backup_watch {
    bool (*stop)(void *ctx); /* NULL: it goes to its end */
    void *ctx;
    _Atomic uint64_t done_bytes;    /* copied or read */
    _Atomic uint64_t all_bytes;     /* 0: not known yet */
    _Atomic uint64_t counted_bytes; /* of table files that were read to be counted */
};

struct mig_backup_wanted {
    char id[MIG_BACKUP_ID + 1]; /* larger than those that are there */
    int64_t now_us;
    int64_t expires_us;                    /* 0: never */
    const char *note;                      /* UTF-8, LIM_BACKUP_NOTE */
    struct mig_backup_scope scope;         /* all "": of everything */
    const struct sto_tenant_scope *tenant; /* of scope.tenant */
};

enum err mig_backups_make(struct mig_backups *b, const struct mig_backup_wanted *wanted,
                          struct mig_backup_watch *watch, struct errbuf *eb) MUST_CHECK;
/* The backup `from` under another ID and name: its files are shared. wanted: its scope's name and
 * source, ID, times and note. */
enum err mig_backups_copy(struct mig_backups *b, struct slice from,
                          const struct mig_backup_wanted *wanted, struct errbuf *eb) MUST_CHECK;
/* Read every file and compare its hash; open it all, read every key, compare how many entries there
 * are. */
enum err mig_backups_verify(struct mig_backups *b, struct slice id, struct mig_backup_watch *watch,
                            struct errbuf *eb) MUST_CHECK;
/* Remove files that no backup names. Does nothing while a list is damaged: what it named is not
 * known. */
enum err mig_backups_sweep(struct mig_backups *b, struct errbuf *eb) MUST_CHECK;

/* Test tool: the process ends (_exit 137) when that point is reached. The environment variable
 * BIGTENT_TEST_DIE_IN_BACKUP, a number, does the same. */
enum mig_backup_point {
    MIG_POINT_IMAGE_MADE,
    MIG_POINT_FILE_COPIED, /* the first */
    MIG_POINT_ALL_COPIED,
    MIG_POINT_COUNTED,
    MIG_POINT_LISTED,
    MIG_POINT_UNLISTED,    /* deleted, files still there */
    MIG_POINT_TABLE_BEGUN, /* one that is restored, hidden */
    MIG_POINT_TABLE_FILLED,
    MIG_POINT_TABLE_PUBLISHED, /* or all of a tenant */
    MIG_POINT_TABLES_HIDDEN,   /* those that make way for a tenant's restore */
    MIG_POINT_TABLES_FILLED,   /* all of a tenant, with their views */
    MIG_POINT_COUNT,
};
void mig_backup_test_die_at(int point); /* negative: off */
/* Test tool: parts of tenants' backups are so large at least, and about so on average behind. */
void mig_backup_test_part_bytes(uint64_t min, uint64_t mean);

#endif
