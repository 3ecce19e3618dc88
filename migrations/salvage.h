/*
 * migrations/salvage.h - a new data directory with all readable data of a damaged one.
 *
 * Does:     copies a data directory that no server has open, its database without the damaged parts
 *           (storage/rocksdb/salvage.h); fills lost ranges with rows from the newest backup that
 *           has them; recounts the tables; reports the missing data.
 * Owns:     nothing after the call, except the report until mig_salvaged_fini.
 * May use:  base/, storage/, tenancy/, migrations/.
 * Knows no: servers.
 * Threads:  one.
 * Blocks:   yes.
 * Fails by: ERR_EXISTS (the new directory is not empty; the backups are another server's),
 *           ERR_LOCKED, ERR_STORAGE_FULL, ERR_CORRUPT and ERR_UNSUPPORTED (the text says what
 *           cannot be salvaged), ERR_NOT_FOUND, ERR_IO.
 * Limits:   none.
 * Promises: 1. Nothing is changed in the damaged directory, nor in that of the backups.
 *           2. FORMAT is written last: a partly salvaged directory is never served.
 *           3. The rows of a range are all from the copy, or all from one backup.
 */
#ifndef MIGRATIONS_SALVAGE_H
#define MIGRATIONS_SALVAGE_H

#include "migrations/backup_manifest.h"
#include "storage/rocksdb/salvage.h"

struct mig_salvage_options {
    const char *data;
    const char *to;      /* empty or missing */
    const char *backups; /* the directory of backups; NULL: nothing is restored */
    const char *owner;   /* of backups, as mig_backups_options; NULL without backups */
    const char *report;  /* path of a new file; NULL: `to` and "-salvage.json" */
};

/* A range of a table that is missing in the copy, or was until it was restored. */
struct mig_missing {
    char tenant[LIM_TENANT_ID + 1];
    char table[LIM_TABLE_ID + 1];
    bool is_rows; /* otherwise changes of the table's stream */
    enum sto_salvage_kind kind;
    uint64_t file;
    uint64_t offset;
    uint64_t bytes;
    struct sto_span span; /* stored keys; own memory */
    struct slice record;  /* the database's record of the loss; own memory */

    char backup[MIG_BACKUP_ID + 1]; /* backup it was restored from; "": still missing */
    int64_t backup_us;              /* when that backup was made */
    uint64_t rows;                  /* restored from it, including ranges that overlap this one */
    struct errbuf why;              /* why the last tried backup could not be used */
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

/* Appends the bound of a range in readable form: a row key with \xNN for unprintable bytes, or the
 * time of a change. False: the table starts or ends there. */
bool mig_missing_bound(const struct mig_missing *m, bool is_end, struct buf *out);

#endif
