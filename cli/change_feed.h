/*
 * cli/change_feed.h - the keys of changed rows, from a table's change stream.
 *
 * Does:     call ReadChangeStream over gRPC from a token on; emit the keys that changed and the
 *           token at which to continue.
 * Owns:     its connection and buffers, between init and fini.
 * May use:  base/, cli/.
 * Knows no: which cells changed.
 * Threads:  one for each feed.
 * Blocks:   on the network, and between tries.
 * Fails by: CLI_CHECK_FAILED (the server closes the stream with an error), CLI_REFUSED (the
 *           response is not a change stream), as cli/http.h; CLI_INTERRUPTED; reported.
 * Limits:   CLI_FEED_MESSAGE, CLI_FEED_TOKEN, CLI_TRANSFER_TRIES.
 * Promises: 1. After CLI_OK every change up to the token was emitted, some perhaps twice.
 *           2. is_near: the token is later than everything written before the read started.
 */
#ifndef CLI_CHANGE_FEED_H
#define CLI_CHANGE_FEED_H

#include <stdatomic.h>

#include "cli/bounds.h"
#include "cli/call.h"

struct cli_feed {
    struct cli_config config; /* borrows from the configuration passed to init */
    struct cli_call call;
    const atomic_bool *stop;
    enum cli_exit (*on_key)(void *ctx, struct slice key);
    void *ctx;
    char token[CLI_FEED_TOKEN]; /* position at which to continue; empty: now */
    uint64_t changes;           /* count in this read, without garbage collection */
    uint64_t seen;              /* count in this read, with garbage collection */
    uint64_t changes_max;
    bool is_garbage; /* the change that is being read is a garbage collection */
    bool is_near;
    uint64_t behind_s; /* age of the last change when the read started, by the server's clock */
    bool is_enough;
};

/* Initializes f; call it in the main thread. stop must live as long as f. */
enum cli_exit cli_feed_init(struct cli_feed *f, const struct cli_config *config,
                            const atomic_bool *stop);
void cli_feed_fini(struct cli_feed *f);

/* Reads from f->token on, or from now if the token is empty, until no change is left or changes_max
 * changes were seen; advances f->token. */
enum cli_exit cli_feed_read(struct cli_feed *f, const char *tenant, const char *instance,
                            const char *table, uint64_t changes_max);
/* Handles one message of the stream. CLI_BROKEN_PIPE: the read is complete. */
enum cli_exit cli_feed_take(struct cli_feed *f, struct slice message);

#endif
