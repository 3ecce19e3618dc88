/*
 * storage/rocksdb/token.h - idempotency tokens: recognizes operations that were done before.
 *
 * Does:     finds an operation's token, stores it in the batch of the operation, removes expired
 *           ones.
 * Owns:     nothing.
 * May use:  base/, storage/.
 * Knows no: the purpose of the operations.
 * Threads:  find and put: a committer's; the rest: any that may block.
 * Blocks:   on reads; removing on the disk.
 * Fails by: ERR_INVALID (length), ERR_CONFLICT (time, or another request), ERR_NO_MEMORY,
 *           ERR_CORRUPT, ERR_IO.
 * Limits:   LIM_IDEMPOTENCY_TOKEN_MIN, LIM_IDEMPOTENCY_TOKEN, LIM_IDEMPOTENCY_US,
 *           LIM_IDEMPOTENCY_AHEAD_US.
 * Promises: 1. A token is on disk exactly when its operation is.
 *           2. While a retry's start is accepted, its token is found.
 *           3. A removed token will never be looked up or written again: no lock is needed between
 *              removing and committing.
 */
#ifndef STORAGE_ROCKSDB_TOKEN_H
#define STORAGE_ROCKSDB_TOKEN_H

#include "storage/engine.h"
#include "storage/rocksdb/batch.h"

#define RDB_TOKEN_DIGEST_BYTES 16
#define RDB_TOKEN_KEY_MAX      (2 + LIM_TENANT_ID + 1 + 8 + LIM_IDEMPOTENCY_TOKEN)

/* One operation's token, between find and put. */
struct rdb_token {
    int64_t expiry_us;
    uint8_t digest[RDB_TOKEN_DIGEST_BYTES]; /* of the requested operation */
};

/* If the operation was done before: sets *out_repeated, and commit_us, row_existed and
 * check->matched of op to the values of that time. */
enum err sto_rdb_token_find(struct rdb_batch *b, struct sto_mutate_op *op, int64_t now_us,
                            struct rdb_token *out, bool *out_repeated,
                            struct errbuf *eb) MUST_CHECK;
enum err sto_rdb_token_put(struct rdb_batch *b, const struct sto_mutate_op *op,
                           const struct rdb_token *token) MUST_CHECK;

/* A walk over all tenants' tokens, continued from call to call; starts zeroed. */
struct rdb_token_sweep {
    uint64_t clean_below; /* a walk removed all generations before this one */
    uint64_t generation;  /* the same, for the walk in progress */
    size_t at_len;
    uint8_t at[RDB_TOKEN_KEY_MAX + 1];
};
/* Removes at most LIM_TOKENS_PER_SWEEP expired tokens. *out_more: there may be more. */
enum err sto_rdb_tokens_sweep(struct rdb_engine *e, struct rdb_token_sweep *sweep, int64_t now_us,
                              bool *out_more) MUST_CHECK;
/* Removes at most LIM_TOKENS_PER_SWEEP tokens of a tenant, whatever their age. */
enum err sto_rdb_tokens_purge(struct rdb_engine *e, const struct sto_tenant_scope *tenant,
                              bool *out_more) MUST_CHECK;

#endif
