/*
 * gateway/serve.c - the server: opens everything, answers requests, monitors, stops.
 *
 * The main thread waits for signals, and checks the engine's health once a second. Opening and
 * closing are strictly nested; a failed engine is not closed: its files are as a crash would leave
 * them, and the next start recovers from the log.
 */
#include "gateway/serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <netinet/in.h>
#include <openssl/crypto.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/share.h"
#include "base/text.h"
#include "base/watchdog.h"
#include "gateway/access_log.h"
#include "gateway/api/api.h"
#include "gateway/command.h"
#include "gateway/loop.h"
#include "gateway/serve_report.h"
#include "gateway/store.h"
#include "gateway/tls.h"
#include "migrations/backup_service.h"
#include "tenancy/audit.h"
#include "tenancy/expiry.h"

#include "base/banned.h"

#define DEFAULT_HOST "127.0.0.1"
#define DEFAULT_PORT 8443

#define DESCRIPTORS_LEAST      256
#define DESCRIPTORS_LEFT_LEAST 96
#define DESCRIPTORS_LEFT_MOST  1024

struct server {
    size_t connections_max;
    struct base_memory memory; /* of requests */
    struct gw_serve_options *options;
    struct mig_datadir datadir;
    struct gw_store store;
    struct gw_tls *tls;
    struct gw_access_log *access_log;
    struct mig_service *backups;
    struct gw_api *api;
    struct gw_loops *loops;
    sigset_t signals;
};

/* --- options -----------------------------------------------------------------------------------
 */

void gw_serve_options_default(struct gw_serve_options *o)
{
    *o = (struct gw_serve_options){.listen = {DEFAULT_HOST, DEFAULT_PORT}};
    sto_rocksdb_options_default(&o->engine);
    o->engine.scrub_bytes_per_s = STO_SCRUB_AUTO; /* only a server has the time for it */
    o->request_bytes = o->engine.cache_bytes / 2; /* an eighth of the memory: half stays free */
    if (o->request_bytes < LIM_REQUEST_BYTES_MIN)
        o->request_bytes = LIM_REQUEST_BYTES_MIN;
    o->address_connections = UINT64_MAX;
    o->address_handshakes = UINT64_MAX;
    o->address_failures = UINT64_MAX;
}

static enum err bad_listen(const char *text, struct errbuf *eb)
{
    return base_fail(eb, ERR_INVALID,
                     "\"%.80s\" is no ADDR:PORT, such as 127.0.0.1:8443 or [::1]:8443", text);
}

enum err gw_serve_parse_address(const char *text, struct gw_address *out, struct errbuf *eb)
{
    uint8_t address[16];
    uint64_t port = 0;
    const char *colon = strrchr(text, ':');
    if (colon == NULL)
        return bad_listen(text, eb);
    bool is_v6 = text[0] == '[' && colon > text && colon[-1] == ']';
    struct slice host = base_slice(text, (size_t)(colon - text));
    if (is_v6)
        host = base_slice(host.ptr + 1, host.len - 2);
    if (host.len == 0 || host.len >= sizeof out->host)
        return bad_listen(text, eb);
    memcpy(out->host, host.ptr, host.len);
    out->host[host.len] = '\0';
    if (inet_pton(is_v6 ? AF_INET6 : AF_INET, out->host, address) != 1 ||
        base_parse_u64(base_slice_text(colon + 1), &port) != ERR_OK || port > UINT16_MAX)
        return bad_listen(text, eb);
    out->port = (uint16_t)port;
    return ERR_OK;
}

static bool is_loopback(const char *host)
{
    struct in_addr v4;
    struct in6_addr v6;
    if (inet_pton(AF_INET, host, &v4) == 1)
        return ntohl(v4.s_addr) >> 24 == IN_LOOPBACKNET;
    return inet_pton(AF_INET6, host, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

enum err gw_serve_parse_loopback(const char *text, struct gw_address *out, struct errbuf *eb)
{
    enum err e = gw_serve_parse_address(text, out, eb);
    if (e == ERR_OK && !is_loopback(out->host))
        e = base_fail(eb, ERR_INVALID,
                      "%s is no loopback address; without keys and encryption nothing else will do",
                      out->host);
    return e;
}

/* --- opening -----------------------------------------------------------------------------------
 */

/* Divides the descriptors that the process may have. The database uses half for table files
 * (storage/rocksdb/options.c). Connections use the rest, except a reserve for files that are being
 * written: without a descriptor for the witness the server would end. */
static enum err descriptors_divide(struct server *s, struct errbuf *eb)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return base_fail(eb, ERR_IO, "the descriptor limit is not known: %s", strerror(errno));
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0 && getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return base_fail(eb, ERR_IO, "the descriptor limit is not known: %s", strerror(errno));
    if (limit.rlim_cur < DESCRIPTORS_LEAST)
        return base_fail(eb, ERR_INVALID,
                         "the process may open %llu files (ulimit -n); it needs %d at least",
                         (unsigned long long)limit.rlim_cur, DESCRIPTORS_LEAST);
    uint64_t left = limit.rlim_cur / 8;
    if (left < DESCRIPTORS_LEFT_LEAST)
        left = DESCRIPTORS_LEFT_LEAST;
    if (left > DESCRIPTORS_LEFT_MOST)
        left = DESCRIPTORS_LEFT_MOST;
    uint64_t connections = limit.rlim_cur - limit.rlim_cur / 2 - left;
    s->connections_max = connections < LIM_CONNECTIONS ? (size_t)connections : LIM_CONNECTIONS;
    s->connections_max -= 2 * gw_loops_spare(s->connections_max);
    return ERR_OK;
}

/* Refuses core dumps; it also keeps other processes of the same user from reading the memory.
 * LeakSanitizer has to read it. */
static void refuse_core_dumps(void)
{
#ifndef __SANITIZE_ADDRESS__
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
        base_log(BASE_LOG_WARN, "core_dumps", "cannot be refused");
#endif
}

static enum err open_tls(struct server *s, struct errbuf *eb)
{
    char cert[BASE_PATH_BYTES];
    char key[BASE_PATH_BYTES];
    const struct gw_serve_options *o = s->options;
    enum err e = base_path_join(cert, s->datadir.path, "server.pem", eb);
    if (e == ERR_OK)
        e = base_path_join(key, s->datadir.path, "server.key", eb);
    if (e != ERR_OK)
        return e;
    return gw_tls_open(o->cert == NULL ? cert : o->cert, o->key == NULL ? key : o->key, &s->tls,
                       eb);
}

/* Returns the limits per address. Limits set by options apply to all addresses; default limits do
 * not apply to this machine. */
static struct gw_address_limits address_limits(const struct server *s)
{
    const struct gw_serve_options *o = s->options;
    bool is_standard[] = {o->address_connections == UINT64_MAX, o->address_handshakes == UINT64_MAX,
                          o->address_failures == UINT64_MAX};
    return (struct gw_address_limits){
        .connections = is_standard[0] ? s->connections_max / 2 : (size_t)o->address_connections,
        .handshakes_per_s = is_standard[1] ? LIM_ADDRESS_HANDSHAKES : o->address_handshakes,
        .failures_per_s = is_standard[2] ? LIM_ADDRESS_FAILURES : o->address_failures,
        .with_loopback = !is_standard[0] || !is_standard[1] || !is_standard[2]};
}

static enum err open_loops(struct server *s, struct errbuf *eb)
{
    struct gw_loop_options o = {
        .endpoints[GW_ENDPOINT_TLS] = {s->options->listen.host, s->options->listen.port},
        .count = s->options->loops,
        .connections_max = s->connections_max,
        .per_address = address_limits(s),
        .proxies = &s->options->proxies,
        .tls = s->tls,
        .epoch = s->store.epoch,
        .strangers = &s->api->strangers,
        .operators = &s->api->operators,
        .user = s->api,
        .thread_begin = gw_api_thread_begin,
        .thread_end = gw_api_thread_end,
        .on_request = gw_api_on_request,
        .on_tick = gw_api_tick,
    };
    const struct gw_address *emulator = &s->options->emulator;
    if (emulator->host[0] != '\0')
        o.endpoints[GW_ENDPOINT_PLAIN] = (struct gw_endpoint){emulator->host, emulator->port};
    return gw_loops_start(&o, &s->loops, eb);
}

/* Logs the end of a backup, or of a verification. */
static void log_backup(const struct mig_work *work)
{
    const char *event = work->kind == MIG_WORK_CREATE ? "backup" : "backup_verify";
    if (work->state == MIG_WORK_DONE)
        base_log(BASE_LOG_INFO, event, "id=%s bytes=%" PRIu64 " ms=%" PRId64, work->id,
                 work->done_bytes, (work->finished_us - work->started_us) / 1000);
    else
        base_log(BASE_LOG_ERROR, event, "id=%s reason=\"%s\"", work->id, work->error);
}

/* Logs the end of an operation on a tenant's backups, with details that the tenant does not see. */
static void log_operation(const struct mig_operation *op)
{
    int64_t ms = (op->finished_us - op->started_us) / 1000;
    const char *kind = mig_op_kind_name(op->kind);
    if (op->state == MIG_OP_DONE)
        base_log(BASE_LOG_INFO, "backup_operation", "id=%s kind=%s tenant=%s ms=%" PRId64, op->id,
                 kind, op->scope.tenant, ms);
    else
        base_log(op->state == MIG_OP_CANCELLED ? BASE_LOG_INFO : BASE_LOG_WARN, "backup_operation",
                 "id=%s kind=%s tenant=%s state=%s reason=\"%s\"", op->id, kind, op->scope.tenant,
                 mig_op_state_name(op->state), op->error);
}

struct expiry_look {
    struct base_msg msg; /* first */
    struct ten_registry *registry;
};

/* Runs the check; on the control thread. */
static void look_for_expiry(struct base_msg *msg)
{
    struct expiry_look *look = (struct expiry_look *)(void *)msg;
    struct errbuf eb = {{0}};
    if (ten_expiry_look(look->registry, &eb) != ERR_OK)
        base_log(BASE_LOG_ERROR, "expiry_look", "reason=\"%s\"", eb.text);
    base_free(look);
}

/* Has the registry check for expiry: the deleted backup may have been the last copy of an erased
 * tenant's data. */
static void backup_is_gone(struct ten_registry *registry)
{
    struct expiry_look *look = base_new(sizeof *look);
    *look = (struct expiry_look){.msg.run = look_for_expiry, .registry = registry};
    ten_control_post(registry, &look->msg);
}

static enum err open_backups(struct server *s, struct errbuf *eb)
{
    const struct mig_service_options options = {
        .backups = s->store.backups,
        .registry = s->store.registry,
        .every_s = s->options->backup_every_s,
        .keep_s = s->options->backup_keep_s,
        .told = log_backup,
        .ended = log_operation,
        .gone = backup_is_gone,
    };
    return mig_service_open(&options, &s->backups, eb);
}

static enum err open_api(struct server *s, struct errbuf *eb)
{
    struct gw_api_options o = {
        .registry = s->store.registry,
        .memory = &s->memory,
        .keyring = s->store.keyring,
        .pepper = base_slice(s->store.pepper, sizeof s->store.pepper),
        .access_log = s->access_log,
        .backups = s->backups,
        .datadir = &s->datadir,
    };
    return gw_api_open(&o, &s->api, eb);
}

struct start_record {
    struct server *server;
    enum err result;
    struct errbuf *eb;
};

/* Records the start; on the control thread. */
static void record_start(void *ctx)
{
    struct start_record *s = ctx;
    struct ten_registry *registry = s->server->store.registry;
    const struct ten_action action = {.actor = TEN_ACTOR_SERVER, .name = "server.start"};
    ten_audit_begin(registry, &action);
    ten_audit_set_detail("version=%s", BIGTENT_VERSION);
    s->result = ten_audit_end(registry, ERR_OK, s->eb);
}

/* Records the start, before the first request. */
static enum err say_started(struct server *s, struct errbuf *eb)
{
    struct start_record record = {.server = s, .eb = eb};
    gw_store_on_control(&s->store, record_start, &record);
    return record.result;
}

/* Closes everything in reverse order; a part that was not opened is NULL. */
static void close_all(struct server *s)
{
    base_watchdog_stop();
    gw_loops_stop(s->loops);
    gw_api_close(s->api);
    mig_service_close(s->backups);
    gw_access_log_close(s->access_log);
    gw_tls_close(s->tls);
    gw_store_close(&s->store);
}

static enum err open_store(struct server *s, struct errbuf *eb)
{
    const struct gw_store_places places = {.backups = s->options->backups,
                                           .master_key = &s->options->master_key,
                                           .memory = &s->memory,
                                           .accept_lost_ledger = s->options->accept_lost_ledger};
    return gw_store_open(&s->store, &s->datadir, &places, &s->options->engine, eb);
}

/* Opens everything, while the directory is locked. The certificate is loaded first: it is the most
 * likely to be wrong. */
static enum err open_all(struct server *s, struct errbuf *eb)
{
    enum err e = open_tls(s, eb);
    if (e == ERR_OK && s->options->access_log != NULL)
        e = gw_access_log_open(s->options->access_log, &s->access_log, eb);
    if (e == ERR_OK)
        e = open_store(s, eb);
    if (e == ERR_OK)
        e = open_backups(s, eb);
    if (e == ERR_OK)
        e = open_api(s, eb);
    if (e == ERR_OK)
        e = say_started(s, eb);
    if (e == ERR_OK)
        e = base_watchdog_start(gw_report_slow);
    if (e == ERR_OK)
        e = open_loops(s, eb);
    if (e != ERR_OK) {
        gw_store_explain(&s->store, eb);
        close_all(s);
    }
    return e;
}

static void say_one(const struct server *s, const struct gw_address *address, const char *text,
                    enum gw_endpoint_id id)
{
    bool is_v6 = strchr(address->host, ':') != NULL;
    (void)printf("%s%s%s%s:%u\n", text, is_v6 ? "[" : "", address->host, is_v6 ? "]" : "",
                 gw_loops_port(s->loops, id)); /* a failed print is ignored */
    base_log(BASE_LOG_INFO, "listening", "host=%s port=%u plaintext=%d version=%s", address->host,
             gw_loops_port(s->loops, id), id == GW_ENDPOINT_PLAIN, BIGTENT_VERSION);
}

static void look_at_nice(void *ctx)
{
    int *out = ctx;
    *out = getpriority(PRIO_PROCESS, 0); /* on Linux, of the calling thread */
}

/* Logs the nice values of serving threads and of other threads: how far they differ depends on the
 * privileges of the user that started the server. */
static void say_nice(void)
{
    int others, answering = 0;
    look_at_nice(&others);
    base_run_apart("answering", BASE_SERVE, look_at_nice, &answering);
    base_log(BASE_LOG_INFO, "threads", "nice=%d answering=%d", others, answering);
}

/* Prints the addresses; the line that scripts wait for comes last. */
static void say_listening(const struct server *s)
{
    if (s->options->emulator.host[0] != '\0')
        say_one(s, &s->options->emulator, "emulator: BIGTABLE_EMULATOR_HOST=", GW_ENDPOINT_PLAIN);
    say_one(s, &s->options->listen, "listening on https://", GW_ENDPOINT_TLS);
    (void)fflush(stdout);
}

/* --- running -----------------------------------------------------------------------------------
 */

static void reload(struct server *s)
{
    struct errbuf eb = {{0}};
    if (gw_tls_reload(s->tls, &eb) == ERR_OK)
        base_log(BASE_LOG_INFO, "certificate_reloaded", "ok=1");
    else
        base_log(BASE_LOG_ERROR, "certificate_kept", "reason=\"%s\"", eb.text);
    if (s->access_log != NULL)
        gw_access_log_reopen(s->access_log);
}

/* Runs until asked to stop (GW_EXIT_OK) or the engine failed (GW_EXIT_ENGINE). */
static int watch(struct server *s)
{
    const struct timespec second = {.tv_sec = 1};
    struct sto_damage seen = {.count = 0};
    struct sto_scrub scrub = {.files = 0};
    for (;;) {
        struct sto_health health;
        int signal_number = sigtimedwait(&s->signals, NULL, &second);
        if (signal_number == SIGHUP)
            reload(s);
        if (signal_number == SIGTERM || signal_number == SIGINT) {
            base_log(BASE_LOG_INFO, "stopping", "signal=%d connections=%zu", signal_number,
                     gw_loops_connections(s->loops));
            return GW_EXIT_OK;
        }
        gw_tls_rotate(s->tls, base_monotonic_ns());
        gw_report_damage(s->store.engine, &seen);
        gw_report_scrub(s->store.engine, &scrub);
        sto_health_get(s->store.engine, &health);
        if (health.failed) {
            base_log(BASE_LOG_ERROR, "engine_failed", "storage=%s reason=\"%s\"",
                     sto_disk_name(health.disk), health.reason);
            return GW_EXIT_ENGINE;
        }
    }
}

/* Restores the default signal actions: a second signal ends the process at once. */
static void let_signals_through(const struct server *s)
{
    (void)signal(SIGTERM, SIG_DFL);
    (void)signal(SIGINT, SIG_DFL);
    (void)signal(SIGHUP, SIG_IGN);
    (void)pthread_sigmask(SIG_UNBLOCK, &s->signals, NULL); /* cannot fail: the set is valid */
}

static int run(struct server *s)
{
    say_nice();
    say_listening(s);
    int exit_code = watch(s);
    gw_api_drain(s->api);
    let_signals_through(s);
    if (exit_code == GW_EXIT_ENGINE) {
        gw_loops_stop(s->loops);
        base_log(BASE_LOG_ERROR, "stopped", "exit=%d", exit_code);
        _exit(exit_code);
    }
    close_all(s);
    base_log(BASE_LOG_INFO, "stopped", "exit=%d", exit_code);
    return exit_code;
}

int gw_serve(struct gw_serve_options *o)
{
    struct server s = {.options = o, .memory.limit = o->request_bytes};
    struct errbuf eb = {{0}};
    (void)sigemptyset(&s.signals); /* none of these four can fail with valid arguments */
    (void)sigaddset(&s.signals, SIGTERM);
    (void)sigaddset(&s.signals, SIGINT);
    (void)sigaddset(&s.signals, SIGHUP);
    (void)pthread_sigmask(SIG_BLOCK, &s.signals, NULL);
    if (!o->allow_core_dumps)
        refuse_core_dumps();
    json_object_seed(0);
    enum err e = descriptors_divide(&s, &eb);
    if (e == ERR_OK)
        e = mig_datadir_open(o->data, &s.datadir, &eb);
    if (e != ERR_OK)
        return gw_command_failed(e, &eb);
    if ((s.datadir.mode_before & (S_IRWXG | S_IRWXO)) != 0)
        base_log(BASE_LOG_WARN, "data_directory_closed", "mode_before=%04o mode=0700",
                 (unsigned)s.datadir.mode_before);
    e = open_all(&s, &eb);
    int exit_code = e == ERR_OK ? run(&s) : gw_command_failed(e, &eb);
    mig_datadir_close(&s.datadir);
    return exit_code;
}
