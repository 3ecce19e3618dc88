/*
 * migrations/salvage.h - a new data directory with everything that can be read of a damaged one.
 *
 * Does:     copies a data directory that no server has open, its database without what is damaged
 *           (storage/rocksdb/salvage.h); replaces the rows of lost ranges by those of the newest
 *           backup that has them; counts the tables again; reports what is missing.
 * Owns:     nothing afterwards, but the report until mig_salvaged_fini.
 * May use:  base/, storage/, tenancy/, migrations/.
 * Knows no: servers.
 * Threads:  one.
 * Blocks:   yes.
 * Fails by: ERR_EXISTS (the new directory is not empty; the backups are another server's),
 *           ERR_LOCKED, ERR_STORAGE_FULL, ERR_CORRUPT and ERR_UNSUPPORTED (the text says what
 *           cannot be salvaged), ERR_NOT_FOUND, ERR_IO.
 * Limits:   none.
 * Promises: 1. Nothing in the damaged directory is changed, and nothing in that of the backups.
 *           2. FORMAT is written last: what was salvaged in part is served by nobody.
 *           3. The rows of a range are all of the copy, or all of one backup.
 */
#ifndef MIGRATIONS_SALVAGE_H
#define MIGRATIONS_SALVAGE_H

#include "migrations/backup_manifest.h"
#include "storage/rocksdb/salvage.h"

struct mig_salvage_options {
    const char *data;
    const char *to;      /* empty or not there */
    const char *backups; /* the directory of backups; NULL: nothing is restored */
    const char *owner;   /* of backups, as mig_backups_options; NULL without backups */
    const char *report;  /* a file that is not there; NULL: `to` and "-salvage.json" */
};

/* One range of one table that the copy lacks, or lacked before it was restored. */
struct mig_missing {
    char tenant[LIM_TENANT_ID + 1];
    char table[LIM_TABLE_ID + 1];
    bool is_rows; /* else changes of the table's stream */
    enum sto_salvage_kind kind;
    uint64_t file;
    uint64_t offset;
    uint64_t bytes;
    struct sto_span span; /* stored keys; own memory */
    struct slice record;  /* of the database, that it is lost; own memory */

    char backup[MIG_BACKUP_ID + 1]; /* "": it is still missing */
    int64_t backup_us;              /* when that was made */
    uint64_t rows;                  /* from it, with those of ranges that overlap this one */
    struct errbuf why;              /* why the last backup that was tried did not do */
};

struct mig_salvaged {
    size_t count;
    size_t capacity;
    struct mig_missing *missing;
    size_t restored; /* of these */
    uint64_t files;
    uint64_t bytes;
    bool is_log_cut;
    uint64_t log;
    uint64_t log_offset;
    uint64_t log_bytes;
    uint64_t sequence;
    uint64_t witnessed;
    char report[BASE_PATH_BYTES];
};

enum err mig_salvage(const struct mig_salvage_options *options, struct mig_salvaged *out,
                     struct errbuf *eb) MUST_CHECK;
void mig_salvaged_fini(struct mig_salvaged *s);

/* Appends the bound of a range for people: a row key with \xNN for bytes that do not print, or the
 * time of a change. False: the table begins or ends there. */
bool mig_missing_bound(const struct mig_missing *m, bool is_end, struct buf *out);

#endif
