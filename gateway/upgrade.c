/*
 * gateway/upgrade.c - bigtentd upgrade: upgrades a data directory to this program's format.
 *
 * 1. FORMAT is increased after each step, so a killed run is repeated from the step it was in.
 * 2. The amount of work is measured before each step, whether the step is then executed or not.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/file.h"
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
    struct mig_upgrade_amount amount; /* of the step */
    uint64_t start_ns;                /* when the step started */
    size_t left;
    enum err result;
    struct errbuf *eb;
};

static bool take_options(struct upgrade *u, int argc, char **argv)
{
    struct gw_options given = {.argc = argc, .argv = argv, .table = OPTIONS};
    int option;
    while ((option = gw_options_next(&given)) != -1) {
        if (option == DATA)
            u->data = optarg;
        else if (option == BACKUPS)
            u->backups = optarg;
        else if (option == DRY_RUN)
            u->dry_run = true;
        else
            return false;
    }
    if (optind == argc && u->data != NULL)
        return true;
    (void)gw_command_usage("upgrade needs --data DIR");
    return false;
}

/* --- how much there is to do ------------------------------------------------------------------ */

static enum err measure(struct upgrade *u, const struct mig_upgrade *step)
{
    char db[BASE_PATH_BYTES];
    enum err e = base_path_join(db, u->datadir.path, "db", u->eb);
    u->step = step;
    return e == ERR_OK ? step->measure(db, &u->amount, u->eb) : e;
}

/* Prints the amount. Printing may fail, here and below: the exit code is the result. */
static void say_amount(const struct upgrade *u)
{
    const struct mig_upgrade_amount *a = &u->amount;
    uint64_t commit_ns = a->commits > 0 ? mig_upgrade_commit_ns(u->datadir.path) : 0;
    (void)printf("format %" PRIu32 ": %" PRIu64 " of %" PRIu64 " %s: %" PRIu64
                 " bytes to be read, %" PRIu64 " keys to be written in %" PRIu64 " commits",
                 u->step->to, a->due, a->all, u->step->things, a->read_bytes, a->write_keys,
                 a->commits);
    if (commit_ns > 0)
        (void)printf("; about %" PRIu64 " s on this disk (%" PRIu64 " us a commit)",
                     a->commits * commit_ns / 1000000000 + 1, commit_ns / 1000);
    (void)printf("\n");
    (void)fflush(stdout);
}

static void say_progress(const struct upgrade *u)
{
    uint64_t all = u->amount.due;
    uint64_t done = all > u->left ? all - u->left : 0;
    double seconds = (double)(base_monotonic_ns() - u->start_ns) / 1e9;
    double rate = seconds > 0 ? (double)done / seconds : 0;
    (void)printf("format %" PRIu32 ": %" PRIu64 " of %" PRIu64 " %s, %" PRIu64 "%%", u->step->to,
                 done, all, u->step->things, all > 0 ? done * 100 / all : 100);
    if (rate > 0)
        (void)printf(", %.0f a second, %.0f s left", rate, (double)u->left / rate);
    (void)printf("\n");
    (void)fflush(stdout);
}

static enum err measure_all(struct upgrade *u)
{
    enum err e = ERR_OK;
    for (uint32_t to = u->datadir.format + 1; e == ERR_OK && to <= MIG_FORMAT_VERSION; to++) {
        e = measure(u, mig_upgrade_to(to));
        if (e == ERR_OK)
            say_amount(u);
    }
    return e;
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

static enum err run_parts(struct upgrade *u)
{
    u->start_ns = base_monotonic_ns();
    do {
        gw_store_on_control(&u->store, run_part, u);
        if (u->result == ERR_OK)
            say_progress(u);
    } while (u->result == ERR_OK && u->left > 0);
    return u->result;
}

static enum err run_step(struct upgrade *u, const struct mig_upgrade *step)
{
    struct sto_rocksdb_options options;
    const struct gw_store_places places = {.backups = u->backups};
    sto_rocksdb_options_default(&options);
    enum err e = measure(u, step);
    if (e != ERR_OK)
        return e;
    say_amount(u);
    e = gw_store_open(&u->store, &u->datadir, &places, &options, u->eb);
    if (e != ERR_OK)
        return e;
    e = run_parts(u);
    gw_store_close(&u->store);
    if (e == ERR_OK)
        e = mig_datadir_raise(&u->datadir, step->to, u->eb);
    if (e == ERR_OK)
        (void)printf("format %" PRIu32 ": done\n", step->to);
    return e;
}

/* --- all of them ------------------------------------------------------------------------------ */

static void say_plan(const struct upgrade *u)
{
    (void)printf("%s: format %" PRIu32 "; this program works on %d\n", u->data, u->datadir.format,
                 MIG_FORMAT_VERSION);
    for (uint32_t to = u->datadir.format + 1; to <= MIG_FORMAT_VERSION; to++)
        (void)printf("format %" PRIu32 ": %s\n", to, mig_upgrade_to(to)->title);
    if (u->datadir.format == MIG_FORMAT_VERSION)
        (void)printf("nothing to do\n");
}

static enum err run_all(struct upgrade *u)
{
    enum err e = ERR_OK;
    while (e == ERR_OK && u->datadir.format < MIG_FORMAT_VERSION)
        e = run_step(u, mig_upgrade_to(u->datadir.format + 1));
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
    e = u.dry_run ? measure_all(&u) : run_all(&u);
    mig_datadir_close(&u.datadir);
    return e == ERR_OK ? GW_EXIT_OK : gw_command_failed(e, &eb);
}
