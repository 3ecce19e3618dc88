/*
 * gateway/serve_command.c - the command line of bigtentd serve.
 */

#include "base/limits.h"
#include "base/text.h"
#include "gateway/command.h"
#include "gateway/serve.h"

#include "base/banned.h"

#define MB_MAX      (1024UL * 1024UL) /* a tebibyte */
#define THREADS_MAX 256
#define ADDRESS_MAX 1000000
/* With shorter intervals a server would do little else. */
#define BACKUP_SECONDS_MIN 60

enum serve_option {
    DATA = GW_OPTION_FIRST,
    LISTEN,
    EMULATOR,
    CERT,
    KEY,
    ACCESS_LOG,
    MASTER_KEY_FILE,
    MASTER_KEY_COMMAND,
    BACKUPS,
    BACKUP_EVERY,
    BACKUP_KEEP,
    CACHE_MB,
    MEMTABLE_MB,
    REQUEST_MB,
    ADDRESS_CONNECTIONS,
    ADDRESS_HANDSHAKES,
    ADDRESS_FAILURES,
    PROXY_FROM,
    LOOPS,
    COMMITTERS,
    READERS,
    HEADROOM_MB,
    RECLAIM_AFTER,
    RECLAIM_MB,
    SCRUB_MB,
    ACCEPT_LOST_LEDGER,
    ALLOW_CORE_DUMPS,
};

static const struct option OPTIONS[] = {
    {"data", required_argument, NULL, DATA},
    {"listen", required_argument, NULL, LISTEN},
    {"emulator", required_argument, NULL, EMULATOR},
    {"cert", required_argument, NULL, CERT},
    {"key", required_argument, NULL, KEY},
    {"access-log", required_argument, NULL, ACCESS_LOG},
    {"master-key-file", required_argument, NULL, MASTER_KEY_FILE},
    {"master-key-command", required_argument, NULL, MASTER_KEY_COMMAND},
    {"backups", required_argument, NULL, BACKUPS},
    {"backup-every", required_argument, NULL, BACKUP_EVERY},
    {"backup-keep", required_argument, NULL, BACKUP_KEEP},
    {"cache-mb", required_argument, NULL, CACHE_MB},
    {"memtable-mb", required_argument, NULL, MEMTABLE_MB},
    {"request-mb", required_argument, NULL, REQUEST_MB},
    {"connections-per-address", required_argument, NULL, ADDRESS_CONNECTIONS},
    {"handshakes-per-address", required_argument, NULL, ADDRESS_HANDSHAKES},
    {"failures-per-address", required_argument, NULL, ADDRESS_FAILURES},
    {"proxy-from", required_argument, NULL, PROXY_FROM},
    {"loops", required_argument, NULL, LOOPS},
    {"committers", required_argument, NULL, COMMITTERS},
    {"readers", required_argument, NULL, READERS},
    {"headroom-mb", required_argument, NULL, HEADROOM_MB},
    {"reclaim-after", required_argument, NULL, RECLAIM_AFTER},
    {"reclaim-mb", required_argument, NULL, RECLAIM_MB},
    {"scrub-mb", required_argument, NULL, SCRUB_MB},
    {"accept-lost-erasure-ledger", no_argument, NULL, ACCEPT_LOST_LEDGER},
    {"allow-core-dumps", no_argument, NULL, ALLOW_CORE_DUMPS},
    {NULL, 0, NULL, 0},
};

static bool take_number(struct gw_serve_options *o, enum serve_option option, const char *name,
                        const char *text)
{
    bool is_mb = option == CACHE_MB || option == MEMTABLE_MB || option == REQUEST_MB ||
                 option == HEADROOM_MB || option == RECLAIM_MB || option == SCRUB_MB;
    uint64_t n = 0;
    if (!gw_command_number(name, text, option != SCRUB_MB, is_mb ? MB_MAX : THREADS_MAX, &n))
        return false;
    if (option == CACHE_MB)
        o->engine.cache_bytes = (size_t)n * MIB;
    else if (option == MEMTABLE_MB)
        o->engine.memtable_bytes = (size_t)n * MIB;
    else if (option == REQUEST_MB)
        o->request_bytes = (size_t)n * MIB;
    else if (option == HEADROOM_MB)
        o->engine.headroom_bytes = n * MIB;
    else if (option == RECLAIM_MB)
        o->engine.reclaim_bytes_per_s = n * MIB;
    else if (option == SCRUB_MB)
        o->engine.scrub_bytes_per_s = n * MIB;
    else if (option == LOOPS)
        o->loops = (int)n;
    else if (option == COMMITTERS)
        o->engine.committers = (int)n;
    else
        o->engine.readers = (int)n;
    return true;
}

static bool take_address_limit(const char *name, const char *text, uint64_t *out)
{
    return gw_command_number(name, text, false, ADDRESS_MAX, out);
}

/* Parses a number of seconds. bounds: least_s and most_s as text. */
static bool take_seconds(const char *name, const char *text, uint64_t least_s, uint64_t most_s,
                         const char *bounds, uint64_t *out)
{
    uint64_t seconds = 0;
    if (base_parse_seconds(base_slice_text(text), &seconds) == ERR_OK && seconds >= least_s &&
        seconds <= most_s) {
        *out = seconds;
        return true;
    }
    (void)gw_command_usage("--%s must be a time %s, such as 24h or 7d, not \"%.60s\"", name, bounds,
                           text);
    return false;
}

static bool take_backup_seconds(const char *name, const char *text, uint64_t *out)
{
    return take_seconds(name, text, BACKUP_SECONDS_MIN, LIM_BACKUP_KEEP_S, "of 1m or more", out);
}

/* Applies one option; false after printing an error. */
static bool take(struct gw_serve_options *o, int option, int index)
{
    struct errbuf eb = {{0}};
    switch (option) {
    case DATA:
        o->data = optarg;
        return true;
    case CERT:
        o->cert = optarg;
        return true;
    case MASTER_KEY_FILE:
        o->master_key.file = optarg;
        return true;
    case MASTER_KEY_COMMAND:
        o->master_key.command = optarg;
        return true;
    case KEY:
        o->key = optarg;
        return true;
    case ACCESS_LOG:
        o->access_log = optarg;
        return true;
    case BACKUPS:
        o->backups = optarg;
        return true;
    case BACKUP_EVERY:
        return take_backup_seconds("backup-every", optarg, &o->backup_every_s);
    case BACKUP_KEEP:
        return take_backup_seconds("backup-keep", optarg, &o->backup_keep_s);
    case RECLAIM_AFTER:
        return take_seconds("reclaim-after", optarg, 1, LIM_RECLAIM_AFTER_S_MAX, "from 1s to 30d",
                            &o->engine.reclaim_after_s);
    case ADDRESS_CONNECTIONS:
        return take_address_limit(OPTIONS[index].name, optarg, &o->address_connections);
    case ADDRESS_HANDSHAKES:
        return take_address_limit(OPTIONS[index].name, optarg, &o->address_handshakes);
    case ADDRESS_FAILURES:
        return take_address_limit(OPTIONS[index].name, optarg, &o->address_failures);
    case ACCEPT_LOST_LEDGER:
        o->accept_lost_ledger = true;
        return true;
    case ALLOW_CORE_DUMPS:
        o->allow_core_dumps = true;
        return true;
    case LISTEN:
        if (gw_serve_parse_address(optarg, &o->listen, &eb) == ERR_OK)
            return true;
        (void)gw_command_usage("--listen: %s", eb.text);
        return false;
    case PROXY_FROM:
        if (gw_proxy_nets_parse(optarg, &o->proxies, &eb) == ERR_OK)
            return true;
        (void)gw_command_usage("--proxy-from: %s", eb.text);
        return false;
    case EMULATOR:
        if (gw_serve_parse_loopback(optarg, &o->emulator, &eb) == ERR_OK)
            return true;
        (void)gw_command_usage("--emulator: %s", eb.text);
        return false;
    case 0:
        return false;
    default:
        return take_number(o, (enum serve_option)option, OPTIONS[index].name, optarg);
    }
}

int gw_command_serve(int argc, char **argv)
{
    struct gw_serve_options o;
    struct gw_options given = {.argc = argc, .argv = argv, .table = OPTIONS};
    int option;
    gw_serve_options_default(&o);
    while ((option = gw_options_next(&given)) != -1) {
        if (!take(&o, option, given.index))
            return GW_EXIT_USAGE;
    }
    if (optind < argc)
        return gw_command_usage("serve does not know \"%.60s\"", argv[optind]);
    if (o.data == NULL)
        return gw_command_usage("serve needs --data DIR");
    if (o.request_bytes < LIM_REQUEST_BYTES_MIN)
        return gw_command_usage("--request-mb must be %lu or more", LIM_REQUEST_BYTES_MIN / MIB);
    if ((o.cert == NULL) != (o.key == NULL))
        return gw_command_usage("--cert and --key go together");
    return gw_serve(&o);
}
