/*
 * gateway/rekey.c - bigtentd rekey: wraps the tenants' data keys with another master key.
 *
 * Data keys, and data encrypted with them, do not change. The directory is locked: no server uses
 * it.
 */
#include <openssl/crypto.h>
#include <stdio.h>

#include "gateway/command.h"
#include "gateway/master_key.h"
#include "migrations/datadir.h"

#include "base/banned.h"

enum rekey_option {
    DATA = GW_OPTION_FIRST,
    MASTER_KEY_FILE,
    MASTER_KEY_COMMAND,
    NEW_FILE,
    NEW_COMMAND
};

static const struct option OPTIONS[] = {
    {"data", required_argument, NULL, DATA},
    {"master-key-file", required_argument, NULL, MASTER_KEY_FILE},
    {"master-key-command", required_argument, NULL, MASTER_KEY_COMMAND},
    {"new-master-key-file", required_argument, NULL, NEW_FILE},
    {"new-master-key-command", required_argument, NULL, NEW_COMMAND},
    {NULL, 0, NULL, 0},
};

struct rekey {
    const char *data;
    struct gw_master_key_source from;
    struct gw_master_key_source to;
    uint8_t old[TEN_MASTER_KEY];
    uint8_t new[TEN_MASTER_KEY];
};

static bool take_options(struct rekey *r, int argc, char **argv)
{
    struct gw_options given = {.argc = argc, .argv = argv, .table = OPTIONS};
    int option;
    while ((option = gw_options_next(&given)) != -1) {
        const char **place = option == DATA                 ? &r->data
                             : option == MASTER_KEY_FILE    ? &r->from.file
                             : option == MASTER_KEY_COMMAND ? &r->from.command
                             : option == NEW_FILE           ? &r->to.file
                             : option == NEW_COMMAND        ? &r->to.command
                                                            : NULL;
        if (place == NULL)
            return false;
        *place = optarg;
    }
    if (optind < argc || r->data == NULL || (r->to.file == NULL) == (r->to.command == NULL)) {
        (void)gw_command_usage("rekey needs --data DIR, the master key, and --new-master-key-file "
                               "FILE or --new-master-key-command COMMAND");
        return false;
    }
    return true;
}

static enum err read_keys(struct rekey *r, struct errbuf *eb)
{
    bool given = false;
    /* The variable holds the old key, and is removed from the environment here. */
    enum err e = gw_master_key_read(&r->from, r->old, &given, eb);
    if (e == ERR_OK && !given)
        e = base_fail(eb, ERR_INVALID,
                      "the master key that holds now is needed: "
                      "--master-key-file, --master-key-command or " GW_MASTER_KEY_VARIABLE);
    return e == ERR_OK ? gw_master_key_read(&r->to, r->new, &given, eb) : e;
}

static enum err rewrap(const struct rekey *r, const char *dir, struct errbuf *eb)
{
    char path[BASE_PATH_BYTES];
    size_t count = 0;
    enum err e = base_path_join(path, dir, TEN_KEYSTORE_DIR, eb);
    if (e == ERR_OK)
        e = ten_keystore_rewrap(path, r->old, r->new, &count, eb);
    if (e == ERR_OK)
        (void)printf("%zu tenants' keys are wrapped by the new master key\n",
                     count); /* printing may fail: the exit code is the result */
    return e;
}

int gw_command_rekey(int argc, char **argv)
{
    struct rekey r = {.data = NULL};
    struct errbuf eb = {{0}};
    struct mig_datadir datadir;
    if (!take_options(&r, argc, argv))
        return GW_EXIT_USAGE;
    enum err e = mig_datadir_open(r.data, &datadir, &eb);
    if (e != ERR_OK)
        return gw_command_failed(e, &eb);
    e = read_keys(&r, &eb);
    if (e == ERR_OK)
        e = rewrap(&r, datadir.path, &eb);
    OPENSSL_cleanse(&r, sizeof r);
    mig_datadir_close(&datadir);
    return e == ERR_OK ? GW_EXIT_OK : gw_command_failed(e, &eb);
}
