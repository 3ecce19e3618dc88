/*
 * gateway/init.c - creates a new data directory, ready to serve.
 */
#include "gateway/init.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <stdio.h>

#include "gateway/certs.h"
#include "gateway/command.h"
#include "gateway/store.h"
#include "tenancy/audit.h"

#include "base/banned.h"

#define INIT_CACHE_BYTES (8 * MIB) /* almost nothing is read */

static enum err write_secret(const char *dir, const char *name, struct slice bytes,
                             struct errbuf *eb)
{
    char path[BASE_PATH_BYTES];
    enum err e = base_path_join(path, dir, name, eb);
    return e == ERR_OK ? base_file_create(path, bytes, 0600, eb) : e;
}

static enum err make_pepper(const char *dir, struct errbuf *eb)
{
    uint8_t pepper[AUTH_PEPPER_BYTES];
    if (RAND_bytes(pepper, sizeof pepper) != 1)
        return base_fail(eb, ERR_IO, "the system gives no random bytes");
    enum err e = write_secret(dir, "pepper", base_slice(pepper, sizeof pepper), eb);
    OPENSSL_cleanse(pepper, sizeof pepper);
    return e;
}

struct first_things {
    struct gw_store *store;
    char key[AUTH_KEY_TEXT + 2]; /* and a line feed */
    enum err result;
    struct errbuf *eb;
};

static void create_first_key(void *ctx)
{
    struct first_things *k = ctx;
    const struct ten_action action = {.actor = TEN_ACTOR_SERVER, .name = "key.create"};
    struct auth_key_wanted wanted = {.kind = AUTH_OPERATOR,
                                     .scopes = AUTH_SCOPES_OPERATOR,
                                     .label = SLICE_LIT("made by bigtentd init")};
    ten_audit_begin(k->store->registry, &action);
    k->result = auth_key_create(k->store->keyring, &wanted, k->key, k->eb);
    k->result = ten_audit_end(k->store->registry, k->result, k->eb);
}

static void create_first_plan(void *ctx)
{
    struct first_things *k = ctx;
    const struct ten_action action = {.actor = TEN_ACTOR_SERVER, .name = "plan.put"};
    ten_audit_begin(k->store->registry, &action);
    k->result = ten_plan_put_standard(k->store->registry, k->eb);
    k->result = ten_audit_end(k->store->registry, k->result, k->eb);
}

static enum err make_first_things(const struct mig_datadir *datadir, struct errbuf *eb)
{
    struct sto_rocksdb_options options;
    struct gw_store store;
    sto_rocksdb_options_default(&options);
    options.cache_bytes = INIT_CACHE_BYTES;
    enum err e = gw_store_open(&store, datadir, NULL, &options, eb);
    if (e != ERR_OK)
        return e;
    struct first_things first = {.store = &store, .eb = eb};
    gw_store_on_control(&store, create_first_key, &first);
    if (first.result == ERR_OK)
        gw_store_on_control(&store, create_first_plan, &first);
    e = first.result;
    first.key[AUTH_KEY_TEXT] = '\n';
    if (e == ERR_OK)
        e = write_secret(datadir->path, "operator.key", base_slice(first.key, AUTH_KEY_TEXT + 1),
                         eb);
    OPENSSL_cleanse(first.key, sizeof first.key);
    gw_store_close(&store);
    return e;
}

enum err gw_init(const char *dir, const char *const *hosts, size_t host_count, struct errbuf *eb)
{
    struct mig_datadir datadir;
    for (size_t i = 0; i < host_count; i++) {
        enum err bad = gw_cert_host_check(hosts[i], eb);
        if (bad != ERR_OK)
            return bad;
    }
    enum err e = mig_datadir_create(dir, &datadir, eb);
    if (e != ERR_OK)
        return e;
    e = make_pepper(dir, eb);
    if (e == ERR_OK)
        e = gw_certs_make(dir, hosts, host_count, eb);
    if (e == ERR_OK)
        e = make_first_things(&datadir, eb);
    if (e == ERR_OK)
        e = mig_datadir_seal(&datadir, eb);
    mig_datadir_close(&datadir);
    return e;
}

/* --- the command -------------------------------------------------------------------------------
 */

static void say_what_was_made(const char *dir)
{
    (void)printf("made the data directory %s\n"
                 "  ca.pem        the development CA: give it to clients as the one to trust\n"
                 "  server.pem    the server's certificate, signed by it\n"
                 "  operator.key  the first operator key: keep it secret\n"
                 "now run: bigtentd serve --data %s\n",
                 dir, dir); /* printing may fail: nothing depends on it */
}

int gw_command_init(int argc, char **argv)
{
    enum { DATA = GW_OPTION_FIRST, HOST = GW_OPTION_REPEATED };
    static const struct option options[] = {{"data", required_argument, NULL, DATA},
                                            {"host", required_argument, NULL, HOST},
                                            {NULL, 0, NULL, 0}};
    const char *data = NULL;
    const char *hosts[GW_CERT_HOSTS];
    size_t host_count = 0;
    struct gw_options given = {.argc = argc, .argv = argv, .table = options};
    int option;
    while ((option = gw_options_next(&given)) != -1) {
        if (option == DATA)
            data = optarg;
        else if (option == HOST && host_count == GW_CERT_HOSTS)
            return gw_command_usage("at most %d times --host", GW_CERT_HOSTS);
        else if (option == HOST)
            hosts[host_count++] = optarg;
        else
            return GW_EXIT_USAGE;
    }
    if (optind < argc)
        return gw_command_usage("init does not know \"%.60s\"", argv[optind]);
    if (data == NULL)
        return gw_command_usage("init needs --data DIR");
    struct errbuf eb = {{0}};
    enum err e = gw_init(data, hosts, host_count, &eb);
    if (e != ERR_OK)
        return gw_command_failed(e, &eb);
    say_what_was_made(data);
    return GW_EXIT_OK;
}
