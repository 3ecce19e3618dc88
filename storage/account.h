/*
 * storage/account.h - one tenant's usage, counted exactly, and the ceilings on it.
 *
 * Does:     holds the live counters of a tenant and of each of its tables, the ceilings that a
 *           write may not push them over, the tenant's limits of the data model, its share of a
 *           busy engine, its lines in the engine's queues, and the gate that stops its operations.
 * Owns:     nothing beyond itself; embedded in the tenant (tenancy/tenant.h).
 * May use:  base/.
 * Knows no: why a ceiling, a limit or a gate is set.
 * Threads:  counters are written by the tenant's committer only and read by any; ceilings, limits,
 *           share and gate are written by tenancy's control thread and read by any; a line belongs
 *           to the thread that owns its queue.
 * Blocks:   no.
 * Fails by: ERR_TOO_BIG, naming the limit, its value and the size sent.
 * Limits:   those of storage/limit.h.
 * Promises: 1. bytes = sum over stored cells of len(row key) + len(family name) + len(qualifier) +
 *              len(value) + 8; cells and rows likewise count stored cells and rows.
 *           2. The counters on disk change in the same batch as the cells and changes that they
 *              count.
 *           3. A limit is never 0 and never above the hard limit.
 */
#ifndef STORAGE_ACCOUNT_H
#define STORAGE_ACCOUNT_H

#include <stdatomic.h>

#include "base/err.h"
#include "storage/fair_queue.h"
#include "storage/limit.h"

struct base_memory_share;
struct sto_cipher;

struct sto_usage {
    uint64_t bytes;
    uint64_t rows;
    uint64_t cells;
};

struct sto_counters {
    _Atomic uint64_t bytes;
    _Atomic uint64_t rows;
    _Atomic uint64_t cells;
};

/* Number of idempotency tokens stored in one generation, since the start. */
struct sto_token_count {
    uint64_t generation;
    uint64_t count;
};

/* Stored keys and values of the changes in the tenant's streams (storage/change.h). */
struct sto_change_sum {
    _Atomic uint64_t bytes;
};

#define STO_NO_CEILING UINT64_MAX

/* Bits of gate: the operations that are refused. Checked at submission and again by committer and
 * readers. */
#define STO_GATE_NO_READS  1u /* ERR_SUSPENDED */
#define STO_GATE_NO_WRITES 2u /* ERR_SUSPENDED; deletes are writes here */
#define STO_GATE_GONE      4u /* ERR_GONE for everything */

struct sto_account {
    uint32_t shard; /* selects the committer; any number, taken modulo the number of committers */
    struct sto_counters total;
    _Atomic uint64_t bytes_max; /* STO_NO_CEILING: none */
    _Atomic uint64_t rows_max;
    _Atomic uint64_t change_bytes_max;
    _Atomic(struct sto_change_sum *) changes; /* belongs to the engine; NULL: the tenant never had
                                               * changes */
    _Atomic uint64_t tokens_max;
    _Atomic uint64_t limits[STO_LIMIT_COUNT]; /* accessed by sto_account_limit and _limit_set
                                               * only */
    _Atomic uint32_t gate;
    _Atomic uint32_t reads_open;       /* read slices in progress; a purge waits for 0 */
    _Atomic uint64_t range_tombstones; /* belongs to the engine: the tenant's last batch with a
                                        * range tombstone; 0: none so far */
    struct sto_cipher *cipher; /* set before the account is published; NULL: values are plain */
    struct base_memory_share *memory; /* set likewise; counts plans (0049) and samples; NULL: not
                                       * counted */
    struct sto_share share;           /* set by sto_account_share_set only */
    struct sto_fair_line writes;      /* at the tenant's committer */
    struct sto_token_count tokens[2]; /* the committer's; indexed by the lowest bit of the
                                       * generation */
    uint64_t writes_rest_ns;          /* the committer's; takes no expensive write before this
                                       * time */
    void *writes_held; /* the committer's; writes waiting for blocks to be read; NULL: none */
    struct sto_fair_line points; /* at the readers: reads of one row */
    struct sto_fair_line scans;  /* at the readers: reads of many rows */
};

#define STO_WEIGHT_DEFAULT 100

/* Sets all counters to 0, no ceilings, default limits, default share, gate open. The account must
 * not move afterwards. */
void sto_account_init(struct sto_account *a, uint32_t shard);
uint64_t sto_account_limit(const struct sto_account *a, enum sto_limit limit);
/* Sets a limit: 1 to the hard limit, or UINT64_MAX for the default. */
void sto_account_limit_set(struct sto_account *a, enum sto_limit limit, uint64_t value);
/* Sets the share. weight: 1 or more, relative to other tenants' weights. reserved_ops_per_s: for
 * reads and for writes each; 0: none. */
void sto_account_share_set(struct sto_account *a, uint64_t weight, uint64_t reserved_ops_per_s);
/* Checks a size against the account's limit, or against the hard limit if account is NULL. */
enum err sto_account_limit_check(const struct sto_account *a, enum sto_limit limit, uint64_t sent,
                                 struct errbuf *eb) MUST_CHECK;
struct sto_usage sto_counters_read(const struct sto_counters *c);
uint64_t sto_account_change_bytes(const struct sto_account *a);

#endif
