/*
 * gateway/store.h - everything behind the gateway, opened in order and closed in reverse.
 *
 * Does:     open the engine, the backups, the registry and the keyring of a locked data directory;
 *           run one piece of work on the control thread and wait for it; wait for an operation.
 * Owns:     engine, epoch, backups, keystore, registry, keyring, pepper; not the data directory.
 * May use:  base/, storage/, tenancy/, auth/, migrations/.
 * Knows no: HTTP, loops.
 * Threads:  main.
 * Blocks:   yes.
 * Fails by: what the rooms below say.
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

/* What lies elsewhere. */
struct gw_store_places {
    const char *backups; /* a directory; NULL: "backups" in the data directory */
    const struct gw_master_key_source *master_key; /* NULL, or none given: there is no keystore */
    struct base_memory *memory;                    /* of requests; NULL: not counted */
    bool accept_lost_ledger; /* lines that the ledger of erasures lost are written again */
};

/* An event in the log for each torn end of one of the engine's logs. */
extern const struct sto_rocksdb_tears GW_STORE_TEARS;

/* places NULL: nothing does. options: dir and tears are set here. The pepper file must be there. */
enum err gw_store_open(struct gw_store *s, const struct mig_datadir *datadir,
                       const struct gw_store_places *places, struct sto_rocksdb_options *options,
                       struct errbuf *eb) MUST_CHECK;
void gw_store_close(struct gw_store *s);
/* When the engine failed while something was opened: its reason is the one behind all others. */
void gw_store_explain(const struct gw_store *s, struct errbuf *eb);

/* What tells the data directory's server from others in its backups (mig_backups_options.owner). */
enum err gw_store_owner(const char *data, char out[MIG_OWNER + 1], struct errbuf *eb) MUST_CHECK;

/* Run work(ctx) on the control thread and wait until it returned. */
void gw_store_on_control(struct gw_store *s, void (*work)(void *ctx), void *ctx);

#endif
