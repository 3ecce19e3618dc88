/*
 * migrations/operation.h - a requested operation on a tenant's backups.
 *
 * Does:     describes an operation; encodes and decodes it as a stored document.
 * Owns:     nothing; an operation is a value.
 * May use:  base/, tenancy/, migrations/.
 * Knows no: which code executes it, HTTP, gRPC.
 * Threads:  any.
 * Blocks:   no.
 * Fails by: ERR_CORRUPT.
 * Limits:   MIG_OPERATION_DOC_MAX.
 * Promises: 1. decode(encode(x)) = x, except tenant and ID, which are in the key, and progress.
 * Stored:   "o/<tenant>/<operation>" (base/record.h).
 */
#ifndef MIGRATIONS_OPERATION_H
#define MIGRATIONS_OPERATION_H

#include "base/buf.h"
#include "migrations/backup_manifest.h"

#define MIG_OPERATION_DOC_MAX 2048

/* Stored as numbers: append only. */
enum mig_op_kind {
    MIG_OP_BACKUP = 1,         /* of one table, or of all the tenant's tables */
    MIG_OP_COPY = 2,           /* of a backup, under another name */
    MIG_OP_RESTORE_TABLE = 3,  /* into a new table */
    MIG_OP_RESTORE_TENANT = 4, /* all the tenant's tables, replacing its present ones */
};
enum mig_op_state {
    MIG_OP_WAITING = 1,
    MIG_OP_RUNNING = 2,
    MIG_OP_DONE = 3,
    MIG_OP_FAILED = 4,    /* result and error say why; it left nothing */
    MIG_OP_CANCELLED = 5, /* the same */
};
#define MIG_OP_KINDS  (MIG_OP_RESTORE_TENANT + 1) /* size of an array indexed by kind */
#define MIG_OP_STATES (MIG_OP_CANCELLED + 1)
const char *mig_op_kind_name(enum mig_op_kind kind);    /* "backup", "copy", ... */
const char *mig_op_state_name(enum mig_op_state state); /* "waiting", ... */

struct mig_operation {
    char id[MIG_BACKUP_ID + 1]; /* for a backup or a copy also the ID of the new backup */
    enum mig_op_kind kind;
    enum mig_op_state state;
    struct mig_backup_scope scope;  /* BACKUP, COPY: of the new backup; table: to be read. RESTORE:
                                     * of the backup that is read, with its table */
    char backup[MIG_BACKUP_ID + 1]; /* COPY, RESTORE: the backup that is read */
    char target[LIM_TABLE_ID + 1];  /* RESTORE_TABLE: the new table */
    char note[LIM_BACKUP_NOTE + 1]; /* BACKUP */
    int64_t expires_us;             /* BACKUP, COPY: of the new backup; 0: never */
    int64_t requested_us;
    int64_t started_us;  /* 0: not started */
    int64_t finished_us; /* 0: not finished */
    uint64_t done_bytes; /* while it runs: written or read; not stored */
    uint64_t all_bytes;  /* 0: unknown */
    uint64_t rows;       /* RESTORE: number written */
    bool is_switching;   /* RESTORE_TENANT: the old tables are gone, the new ones not published; it
                          * continues until they are, also after a restart */
    bool by_operator;    /* requested by an operator, not by the tenant */
    uint64_t not_before_ns;   /* postponed until then, by the monotonic clock; not stored */
    uint32_t delay_s;         /* length of the last postponement; not stored */
    uint64_t round;           /* of the queue in which it runs; not stored */
    enum err result;          /* of FAILED and CANCELLED */
    char error[ERRBUF_BYTES]; /* also of WAITING: why it was postponed */
};

enum err mig_operation_encode(const struct mig_operation *op, struct buf *out) MUST_CHECK;
/* id: of the document's key. */
enum err mig_operation_decode(struct slice tenant, struct slice id, struct slice body,
                              struct mig_operation *out) MUST_CHECK;

#endif
