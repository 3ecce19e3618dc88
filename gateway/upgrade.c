/*
 * gateway/upgrade.c - bigtentd upgrade: bring a data directory to this program's format.
 *
 * 1. FORMAT rises behind each step, so a run that is killed is repeated from the step it was in.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>

#include "gateway/command.h"
#include "gateway/store.h"
#include "migrations/upgrade.h"
#include "tenancy/audit.h"

#include "base/banned.h"

enum upgrade_option { DATA = GW_OPTION_FIRST, BACKUPS, DRY_RUN };

static const struct option OPTIONS[] = {
    {"data", required_argument, NULL, DATA},
    {"backups", required_argument, NULL, BACKUPS},
    {"dry-run", no_argument, NULL, DRY_RUN},
    {NULL, 0, NULL, 0},
};

struct upgrade {
    const char *data;
    const char *backups;
    bool dry_run;
    struct mig_datadir datadir;
    struct gw_store store;
    const struct mig_upgrade *step;
    size_t left;
    enum err result;
    struct errbuf *eb;
};

static bool take_options(struct upgrade *u, int argc, char **argv)
{
    int option;
    optind = 1;
    while ((option = getopt_long(argc, argv, "", OPTIONS, NULL)) != -1) {
        if (option == DATA)
            u->data = optarg;
        else if (option == BACKUPS)
            u->backups = optarg;
        else if (option == DRY_RUN)
            u->dry_run = true;
        else {
            (void)gw_command_bad_option(argv); /* says it; the exit code is the caller's */
            return false;
        }
    }
    if (optind == argc && u->data != NULL)
        return true;
    (void)gw_command_usage("upgrade needs --data DIR");
    return false;
}

/* --- one step --------------------------------------------------------------------------------- */

static void run_part(void *ctx)
{
    struct upgrade *u = ctx;
    const struct ten_action action = {.actor = TEN_ACTOR_SERVER, .name = "server.upgrade"};
    ten_audit_begin(u->store.registry, &action);
    u->result = u->step->run(u->store.registry, &u->left, u->eb);
    u->result = ten_audit_end(u->store.registry, u->result, u->eb);
}

static enum err run_step(struct upgrade *u)
{
    do {
        gw_store_on_control(&u->store, run_part, u);
        if (u->result == ERR_OK && u->left > 0) {
            (void)printf("format %" PRIu32 ": %zu left\n", u->step->to, u->left);
            (void)fflush(stdout); /* the exit code is what counts */
        }
    } while (u->result == ERR_OK && u->left > 0);
    return u->result;
}

/* --- all of them ------------------------------------------------------------------------------ */

static void say_plan(const struct upgrade *u)
{
    (void)printf("%s: format %" PRIu32 "; this program works on %d\n", u->data, u->datadir.format,
                 MIG_FORMAT_VERSION); /* the exit code is what counts, here and below */
    for (uint32_t to = u->datadir.format + 1; to <= MIG_FORMAT_VERSION; to++)
        (void)printf("format %" PRIu32 ": %s\n", to, mig_upgrade_to(to)->title);
    if (u->datadir.format == MIG_FORMAT_VERSION)
        (void)printf("nothing to do\n");
}

static enum err run_all(struct upgrade *u)
{
    struct sto_rocksdb_options options;
    const struct gw_store_places places = {.backups = u->backups};
    sto_rocksdb_options_default(&options);
    enum err e = gw_store_open(&u->store, &u->datadir, &places, &options, u->eb);
    if (e != ERR_OK)
        return e;
    while (e == ERR_OK && u->datadir.format < MIG_FORMAT_VERSION) {
        u->step = mig_upgrade_to(u->datadir.format + 1);
        e = run_step(u);
        if (e == ERR_OK)
            e = mig_datadir_raise(&u->datadir, u->step->to, u->eb);
        if (e == ERR_OK)
            (void)printf("format %" PRIu32 ": done\n", u->step->to);
    }
    gw_store_close(&u->store);
    return e;
}

int gw_command_upgrade(int argc, char **argv)
{
    struct errbuf eb = {{0}};
    struct upgrade u = {.eb = &eb};
    if (!take_options(&u, argc, argv))
        return GW_EXIT_USAGE;
    enum err e = mig_datadir_open_any(u.data, &u.datadir, &eb);
    if (e != ERR_OK)
        return gw_command_failed(e, &eb);
    say_plan(&u);
    if (!u.dry_run && u.datadir.format < MIG_FORMAT_VERSION)
        e = run_all(&u);
    mig_datadir_close(&u.datadir);
    return e == ERR_OK ? GW_EXIT_OK : gw_command_failed(e, &eb);
}
