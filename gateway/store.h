/*
 * gateway/store.h - everything below the gateway, opened in order and closed in reverse.
 *
 * Does:     opens the engine, the backups, the registry and the keyring of a locked data directory;
 *           runs one piece of work on the control thread and waits for it; waits for an operation.
 * Owns:     engine, epoch, backups, keystore, registry, keyring, pepper; not the data directory.
 * May use:  base/, storage/, tenancy/, auth/, migrations/.
 * Knows no: HTTP, loops.
 * Threads:  main.
 * Blocks:   yes.
 * Fails by: the errors of the lower modules.
 * Limits:   none here.
 * Promises: 1. Nothing is left open when open failed.
 */
#ifndef GATEWAY_STORE_H
#define GATEWAY_STORE_H

#include "auth/keyring.h"
#include "gateway/master_key.h"
#include "migrations/backup.h"
#include "migrations/datadir.h"
#include "storage/rocksdb/rocksdb_engine.h"
#include "tenancy/registry.h"

struct gw_store {
    struct base_epoch *epoch;
    struct sto_engine *engine;
    struct ten_keystore *keystore; /* NULL: no master key */
    struct mig_backups *backups;
    struct ten_registry *registry;
    struct auth_keyring *keyring;
    uint8_t pepper[AUTH_PEPPER_BYTES];
};

/* Parts that are outside the data directory. */
struct gw_store_places {
    const char *backups; /* a directory; NULL: "backups" in the data directory */
    const struct gw_master_key_source *master_key; /* NULL, or no key found: there is no keystore */
    struct base_memory *memory;                    /* of requests; NULL: not counted */
    bool accept_lost_ledger; /* lines that the ledger of erasures lost are rewritten */
};

/* Callbacks that log an event for each torn end of one of the engine's logs. */
extern const struct sto_rocksdb_tears GW_STORE_TEARS;

/* Opens everything. places NULL: all defaults. options: dir and tears are set here. The pepper file
 * must exist. */
enum err gw_store_open(struct gw_store *s, const struct mig_datadir *datadir,
                       const struct gw_store_places *places, struct sto_rocksdb_options *options,
                       struct errbuf *eb) MUST_CHECK;
void gw_store_close(struct gw_store *s);
/* If the engine failed while something was opened, replaces the error by the engine's reason, which
 * caused all others. */
void gw_store_explain(const struct gw_store *s, struct errbuf *eb);

/* Returns the ID that distinguishes the data directory's server from other servers in its backups
 * (mig_backups_options.owner). */
enum err gw_store_owner(const char *data, char out[MIG_OWNER + 1], struct errbuf *eb) MUST_CHECK;

/* Runs work(ctx) on the control thread and waits until it has returned. */
void gw_store_on_control(struct gw_store *s, void (*work)(void *ctx), void *ctx);

#endif
