/*
 * storage/account.h - what one tenant stores, counted exactly, and the ceilings on it.
 *
 * Does:     hold the live counters of a tenant and of each of its tables, the ceilings that a
 *           write may not push them over, the tenant's limits of the data model, its share of a
 *           busy engine and its places in the engine's queues, and the gate that stops its
 *           operations.
 * Owns:     nothing beyond itself; embedded in the tenant (tenancy/tenant.h).
 * May use:  base/.
 * Knows no: why a ceiling, a limit or a gate is set.
 * Threads:  counters are written by the tenant's committer only and read by any; ceilings, limits,
 *           share and gate are written by tenancy's control thread and read by any; a line belongs
 *           to whoever has its queue.
 * Blocks:   no.
 * Fails by: ERR_TOO_BIG, naming limit, value and what was sent.
 * Limits:   those of storage/limit.h.
 * Promises: 1. bytes = sum over stored cells of len(row key) + len(family name) + len(qualifier)
 *              + len(value) + 8; cells and rows likewise count what is stored.
 *           2. The counters on disk change in the same batch as the cells, and changes, they count.
 *           3. A limit is never 0 and never above the hard one.
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

/* Tokens of idempotency that were stored in a generation of theirs, since the start. */
struct sto_token_count {
    uint64_t generation;
    uint64_t count;
};

/* Of the changes that its tables' streams hold (storage/change.h): stored keys and values. */
struct sto_change_sum {
    _Atomic uint64_t bytes;
};

#define STO_NO_CEILING UINT64_MAX

/* Bits of gate: what is refused now. Checked at submission and again by committer and readers. */
#define STO_GATE_NO_READS  1u /* ERR_SUSPENDED */
#define STO_GATE_NO_WRITES 2u /* ERR_SUSPENDED; deletes are writes here */
#define STO_GATE_GONE      4u /* ERR_GONE for everything */

struct sto_account {
    uint32_t shard; /* which committer; any number, taken modulo the committers */
    struct sto_counters total;
    _Atomic uint64_t bytes_max; /* STO_NO_CEILING: none */
    _Atomic uint64_t rows_max;
    _Atomic uint64_t change_bytes_max;
    _Atomic(struct sto_change_sum *) changes; /* the engine's; NULL: there was never any */
    _Atomic uint64_t tokens_max;
    _Atomic uint64_t limits[STO_LIMIT_COUNT]; /* by sto_account_limit and _limit_set only */
    _Atomic uint32_t gate;
    _Atomic uint32_t reads_open;       /* read slices running now; a purge waits for 0 */
    _Atomic uint64_t range_tombstones; /* the engine's: its last batch with one; 0: none so far */
    struct sto_cipher *cipher; /* set before anybody sees the account; NULL: values are plain */
    struct base_memory_share *memory; /* likewise: of plans (0049), samples; NULL: not counted */
    struct sto_share share;           /* by sto_account_share_set only */
    struct sto_fair_line writes;      /* at its committer */
    struct sto_token_count tokens[2]; /* its committer's: by the lowest bit of the generation */
    uint64_t writes_rest_ns;          /* its committer's: nothing dear is taken until then */
    void *writes_held; /* its committer's: what waits until it was read; NULL: nothing waits */
    struct sto_fair_line points; /* at the readers: of one row */
    struct sto_fair_line scans;  /* the same: of many */
};

#define STO_WEIGHT_DEFAULT 100

/* All counters 0, no ceilings, default limits, default share, gate open. It stays where it is. */
void sto_account_init(struct sto_account *a, uint32_t shard);
uint64_t sto_account_limit(const struct sto_account *a, enum sto_limit limit);
/* 1 to the hard limit, or UINT64_MAX for the default. */
void sto_account_limit_set(struct sto_account *a, enum sto_limit limit, uint64_t value);
/* weight: 1 and more, against others' weights; reserved_ops_per_s: of reads and of writes each, 0:
 * none. */
void sto_account_share_set(struct sto_account *a, uint64_t weight, uint64_t reserved_ops_per_s);
/* What is sent against the account's limit; account NULL: against the hard one. */
enum err sto_account_limit_check(const struct sto_account *a, enum sto_limit limit, uint64_t sent,
                                 struct errbuf *eb) MUST_CHECK;
struct sto_usage sto_counters_read(const struct sto_counters *c);
uint64_t sto_account_change_bytes(const struct sto_account *a);

#endif
