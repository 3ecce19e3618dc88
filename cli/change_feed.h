/*
 * cli/change_feed.h - which rows of a table change, from its change stream.
 *
 * Does:     ReadChangeStream over gRPC, from a token on; tells the keys that changed and where to
 *           go on.
 * Owns:     its connection and buffers, between init and fini.
 * May use:  base/, cli/.
 * Knows no: what changed in a row.
 * Threads:  one for each feed.
 * Blocks:   on the network, and between tries.
 * Fails by: CLI_CHECK_FAILED (the server ends the stream for a reason), CLI_REFUSED (what it sends
 *           is no stream), as cli/http.h; CLI_INTERRUPTED; said.
 * Limits:   CLI_FEED_MESSAGE, CLI_FEED_TOKEN, CLI_TRANSFER_TRIES.
 * Promises: 1. After CLI_OK every change up to the token was told, some perhaps twice.
 *           2. is_near: the token stands behind what was written before the read began.
 */
#ifndef CLI_CHANGE_FEED_H
#define CLI_CHANGE_FEED_H

#include <stdatomic.h>

#include "cli/bounds.h"
#include "cli/call.h"

struct cli_feed {
    struct cli_config config; /* borrows from the one given */
    struct cli_call call;
    const atomic_bool *stop;
    enum cli_exit (*on_key)(void *ctx, struct slice key);
    void *ctx;
    char token[CLI_FEED_TOKEN]; /* where to go on; empty: now */
    uint64_t changes;           /* of this read, without garbage that was collected */
    uint64_t seen;              /* with it */
    uint64_t changes_max;
    bool is_garbage; /* the change that is being read */
    bool is_near;
    uint64_t behind_s; /* of the last change, when the read began, by the server's clock */
    bool is_enough;
};

/* In the main thread. stop lasts as long as the feed does. */
enum cli_exit cli_feed_init(struct cli_feed *f, const struct cli_config *config,
                            const atomic_bool *stop);
void cli_feed_fini(struct cli_feed *f);

/* From f->token on, or from now where it is empty, until there is nothing more or changes_max were
 * told; f->token moves on. */
enum cli_exit cli_feed_read(struct cli_feed *f, const char *tenant, const char *instance,
                            const char *table, uint64_t changes_max);
/* A message of the stream. CLI_BROKEN_PIPE: that is enough. */
enum cli_exit cli_feed_take(struct cli_feed *f, struct slice message);

#endif
