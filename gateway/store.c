/*
 * gateway/store.c - everything below the gateway, opened in order and closed in reverse.
 */
#include "gateway/store.h"

#include <inttypes.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>

#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "migrations/backup_copies.h"
#include "storage/gcm.h"
#include "tenancy/certificate_store.h"
#include "tenancy/erasure_ledger.h"
#include "tenancy/erasure_replay.h"
#include "tenancy/offboard.h"
#include "tenancy/threshold.h"

#include "base/banned.h"

static enum err read_pepper(struct gw_store *s, const char *dir, struct errbuf *eb)
{
    char path[BASE_PATH_BYTES];
    struct buf bytes;
    base_buf_init(&bytes, AUTH_PEPPER_BYTES + 1);
    enum err e = base_path_join(path, dir, "pepper", eb);
    if (e == ERR_OK)
        e = base_file_read(path, AUTH_PEPPER_BYTES, &bytes, eb);
    if (e == ERR_OK && bytes.len != AUTH_PEPPER_BYTES)
        e = base_fail(eb, ERR_CORRUPT, "%s has %zu bytes instead of %d", path, bytes.len,
                      AUTH_PEPPER_BYTES);
    if (e == ERR_OK)
        memcpy(s->pepper, bytes.ptr, AUTH_PEPPER_BYTES);
    if (bytes.ptr != NULL)
        OPENSSL_cleanse(bytes.ptr, bytes.capacity);
    base_buf_fini(&bytes);
    return e;
}

/* Logs a threshold. When usage rises, percent is the threshold that was reached; when it falls, the
 * one that it fell below. */
static void log_threshold(const struct ten_threshold_event *event)
{
    bool rises = event->to > event->from;
    base_log(rises ? BASE_LOG_WARN : BASE_LOG_INFO, "quota_threshold",
             "tenant=%s field=%s percent=%u direction=%s used=%" PRIu64 " limit=%" PRIu64,
             event->tenant->id, event->field, rises ? event->to : event->from,
             rises ? "up" : "down", event->used, event->limit);
}

static void log_purge_failed(const struct ten_purge_failure *failure)
{
    base_log(BASE_LOG_ERROR, "purge_failed",
             "job=%s tenant=%s failures=%u again_s=%" PRIu64 " reason=\"%s\"", failure->job,
             failure->tenant->id, failure->failures, failure->again_s, failure->error);
}

static void log_tear(void *ctx, const struct sto_rocksdb_tear *tear)
{
    (void)ctx;
    base_log(BASE_LOG_WARN, "torn_log",
             "file=%06" PRIu64 ".log offset=%" PRIu64 " dropped_bytes=%" PRIu64
             " whole_writes=0 last_change=%" PRIu64,
             tear->log, tear->offset, tear->bytes, tear->sequence);
}

static void log_mended(void *ctx, uint64_t number)
{
    (void)ctx;
    base_log(BASE_LOG_WARN, "metadata_file_mended", "file=%06" PRIu64 ".sst", number);
}

const struct sto_rocksdb_tears GW_STORE_TEARS = {.found = log_tear};

static enum err open_keystore(struct gw_store *s, const char *dir,
                              const struct gw_master_key_source *source, struct errbuf *eb)
{
    char path[BASE_PATH_BYTES];
    uint8_t master[TEN_MASTER_KEY];
    bool given = false;
    enum err e = base_path_join(path, dir, TEN_KEYSTORE_DIR, eb);
    if (e == ERR_OK)
        e = gw_master_key_read(source, master, &given, eb);
    if (e == ERR_OK && given)
        e = ten_keystore_open(path, master, &s->keystore, eb);
    if (e == ERR_OK && given)
        base_log(BASE_LOG_INFO, "encryption", "aes_gcm=%s", sto_gcm_way_name(sto_gcm_best()));
    OPENSSL_cleanse(master, sizeof master);
    return e;
}

/* Replays the ledger of erasures before any tenant is read. The copy beside the backups may have
 * more lines: the data directory may have been put in place by hand. */
static enum err replay_erasures(struct gw_store *s, const char *dir, const char *mirror_dir,
                                struct errbuf *eb)
{
    const char *const dirs[] = {dir, mirror_dir};
    enum err e = ERR_OK;
    for (size_t i = 0; e == ERR_OK && i < sizeof dirs / sizeof dirs[0]; i++) {
        char path[BASE_PATH_BYTES];
        size_t changed = 0;
        e = base_path_join(path, dirs[i], TEN_LEDGER_FILE, eb);
        if (e == ERR_OK)
            e = ten_erasure_replay(s->engine, s->epoch, path, &changed, eb);
        if (changed > 0)
            base_log(BASE_LOG_WARN, "erasures_replayed", "tenants=%zu", changed);
    }
    return e;
}

/* Computes the owner's ID from the pepper, which only directories restored from the same one
 * share. */
static void owner_of(const struct gw_store *s, char out[MIG_OWNER + 1])
{
    static const char label[] = "bigtent backups of";
    uint8_t input[sizeof label + AUTH_PEPPER_BYTES];
    uint8_t digest[SHA256_DIGEST_LENGTH];
    struct buf hex;
    memcpy(input, label, sizeof label);
    memcpy(input + sizeof label, s->pepper, AUTH_PEPPER_BYTES);
    (void)SHA256(input, sizeof input, digest); /* returns digest */
    OPENSSL_cleanse(input, sizeof input);
    base_buf_init(&hex, MIG_OWNER);
    enum err e = base_hex_encode(base_slice(digest, sizeof digest), &hex);
    INVARIANT(e == ERR_OK && hex.len == MIG_OWNER);
    memcpy(out, hex.ptr, MIG_OWNER);
    out[MIG_OWNER] = '\0';
    base_buf_fini(&hex);
}

enum err gw_store_owner(const char *data, char out[MIG_OWNER + 1], struct errbuf *eb)
{
    struct gw_store s = {.epoch = NULL};
    enum err e = read_pepper(&s, data, eb);
    if (e == ERR_OK)
        owner_of(&s, out);
    OPENSSL_cleanse(&s, sizeof s);
    return e;
}

static enum err open_backups(struct gw_store *s, const struct mig_datadir *datadir,
                             const struct sto_rocksdb_options *options, const char *dir,
                             struct errbuf *eb)
{
    char owner[MIG_OWNER + 1];
    owner_of(s, owner);
    const struct mig_backups_options backups = {.dir = dir,
                                                .data = datadir->path,
                                                .owner = owner,
                                                .data_format = MIG_FORMAT_VERSION,
                                                .software = BIGTENT_VERSION,
                                                .keep_free_bytes = options->headroom_bytes,
                                                .engine = s->engine};
    return mig_backups_open(&backups, &s->backups, eb);
}

static enum err open_registry(struct gw_store *s, const char *dir, const char *backups,
                              const struct gw_store_places *places, struct errbuf *eb)
{
    size_t reissued = 0;
    const struct ten_certificates_options certificates = {.dir = dir,
                                                          .mirror_dir = backups,
                                                          .copies = mig_backup_copies_visit,
                                                          .copies_ctx = s->backups};
    const struct ten_registry_options o = {.engine = s->engine,
                                           .epoch = s->epoch,
                                           .memory = places->memory,
                                           .keystore = s->keystore,
                                           .certificates = &certificates,
                                           .reissue_erasures = places->accept_lost_ledger,
                                           .out_reissued = &reissued,
                                           .awaits_keys = true,
                                           .purge_failed = log_purge_failed};
    enum err e = replay_erasures(s, dir, backups, eb);
    if (e == ERR_OK)
        e = ten_registry_open(&o, &s->registry, eb);
    if (reissued > 0)
        base_log(BASE_LOG_WARN, "erasures_reissued", "tenants=%zu", reissued);
    return e;
}

void gw_store_explain(const struct gw_store *s, struct errbuf *eb)
{
    struct sto_health health = {.failed = false};
    if (s->engine != NULL)
        sto_health_get(s->engine, &health);
    if (health.failed)
        (void)base_fail(eb, ERR_IO, "the storage engine failed: %s", health.reason);
}

enum err gw_store_open(struct gw_store *s, const struct mig_datadir *datadir,
                       const struct gw_store_places *places, struct sto_rocksdb_options *options,
                       struct errbuf *eb)
{
    static const struct gw_store_places none;
    char own[BASE_PATH_BYTES];
    *s = (struct gw_store){.epoch = base_epoch_new()};
    options->dir = datadir->path;
    options->tears = GW_STORE_TEARS;
    options->mended = (struct sto_rocksdb_mended){.file = log_mended};
    enum err e = read_pepper(s, datadir->path, eb);
    places = places != NULL ? places : &none;
    const char *backups = places->backups != NULL ? places->backups : own;
    if (e == ERR_OK && places->backups == NULL)
        e = base_path_join(own, datadir->path, "backups", eb);
    if (e == ERR_OK && places->master_key != NULL)
        e = open_keystore(s, datadir->path, places->master_key, eb);
    if (e == ERR_OK)
        e = sto_rocksdb_open(options, &s->engine, eb);
    if (e == ERR_OK)
        e = open_backups(s, datadir, options, backups, eb);
    if (e == ERR_OK)
        e = open_registry(s, datadir->path, backups, places, eb);
    if (e == ERR_OK)
        e = auth_keyring_open(s->registry, s->epoch, s->pepper, &s->keyring, eb);
    if (e == ERR_OK)
        ten_threshold_listen(s->registry, log_threshold);
    if (e != ERR_OK) {
        gw_store_explain(s, eb);
        gw_store_close(s);
    }
    return e;
}

void gw_store_close(struct gw_store *s)
{
    auth_keyring_close(s->keyring);
    ten_registry_close(s->registry);
    ten_keystore_close(s->keystore);
    mig_backups_close(s->backups);
    sto_engine_close(s->engine);
    base_epoch_free(s->epoch);
    OPENSSL_cleanse(s, sizeof *s);
}

void gw_store_on_control(struct gw_store *s, void (*work)(void *ctx), void *ctx)
{
    ten_control_run(s->registry, work, ctx);
}
