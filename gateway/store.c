/*
 * gateway/store.c - everything behind the gateway, opened in order and closed in reverse.
 */
#include "gateway/store.h"

#include <inttypes.h>
#include <openssl/crypto.h>
#include <semaphore.h>

#include "base/file.h"
#include "base/log.h"
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

/* Upwards the line says what was reached, downwards below what it fell. */
static void log_threshold(const struct ten_threshold_event *event)
{
    bool rises = event->to > event->from;
    base_log(rises ? BASE_LOG_WARN : BASE_LOG_INFO, "quota_threshold",
             "tenant=%s field=%s percent=%u direction=%s used=%" PRIu64 " limit=%" PRIu64,
             event->tenant->id, event->field, rises ? event->to : event->from,
             rises ? "up" : "down", event->used, event->limit);
}

enum err gw_store_open(struct gw_store *s, const struct mig_datadir *datadir,
                       struct sto_rocksdb_options *options, struct errbuf *eb)
{
    *s = (struct gw_store){.epoch = base_epoch_new()};
    options->dir = datadir->path;
    enum err e = read_pepper(s, datadir->path, eb);
    if (e == ERR_OK)
        e = sto_rocksdb_open(options, &s->engine, eb);
    if (e == ERR_OK)
        e = ten_registry_open(s->engine, s->epoch, &s->registry, eb);
    if (e == ERR_OK)
        e = auth_keyring_open(s->registry, s->epoch, s->pepper, &s->keyring, eb);
    if (e == ERR_OK)
        ten_threshold_listen(s->registry, log_threshold);
    else
        gw_store_close(s);
    return e;
}

void gw_store_close(struct gw_store *s)
{
    auth_keyring_close(s->keyring);
    ten_registry_close(s->registry);
    sto_engine_close(s->engine);
    base_epoch_free(s->epoch);
    OPENSSL_cleanse(s, sizeof *s);
}

struct control_work {
    struct base_msg msg; /* first */
    void (*work)(void *ctx);
    void *ctx;
    sem_t finished;
};

static void run_work(struct base_msg *msg)
{
    struct control_work *w = (struct control_work *)(void *)msg;
    w->work(w->ctx);
    (void)sem_post(&w->finished); /* cannot overflow: it is posted once */
}

void gw_store_on_control(struct gw_store *s, void (*work)(void *ctx), void *ctx)
{
    struct control_work w = {.msg = {.run = run_work}, .work = work, .ctx = ctx};
    int rc = sem_init(&w.finished, 0, 0);
    INVARIANT(rc == 0);
    ten_control_post(s->registry, &w.msg);
    while (sem_wait(&w.finished) != 0) /* only a signal interrupts it */
        continue;
    (void)sem_destroy(&w.finished); /* nobody waits on it */
}
