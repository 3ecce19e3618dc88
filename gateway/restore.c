/*
 * gateway/restore.c - bigtentd restore: a new data directory from a backup.
 */
#include "migrations/restore.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "gateway/command.h"

#include "base/banned.h"

enum { DATA = GW_OPTION_FIRST, BACKUPS, BACKUP, ERASURES };

static const struct option OPTIONS[] = {
    {"data", required_argument, NULL, DATA},
    {"backups", required_argument, NULL, BACKUPS},
    {"backup", required_argument, NULL, BACKUP},
    {"erasures", required_argument, NULL, ERASURES},
    {NULL, 0, NULL, 0},
};

static int parse(int argc, char **argv, struct mig_restore_options *o)
{
    struct gw_options given = {.argc = argc, .argv = argv, .table = OPTIONS};
    int option;
    while ((option = gw_options_next(&given)) != -1) {
        if (option == DATA)
            o->data = optarg;
        else if (option == BACKUPS)
            o->backups = optarg;
        else if (option == BACKUP)
            o->backup = optarg;
        else if (option == ERASURES)
            o->erasures = optarg;
        else
            return GW_EXIT_USAGE;
    }
    if (optind < argc)
        return gw_command_usage("restore does not know \"%.60s\"", argv[optind]);
    if (o->data == NULL || o->backups == NULL)
        return gw_command_usage("restore needs --data NEWDIR and --backups DIR");
    return GW_EXIT_OK;
}

int gw_command_restore(int argc, char **argv)
{
    struct mig_restore_options options = {.data = NULL};
    struct mig_backup backup;
    struct errbuf eb = {{0}};
    char created[BASE_TIME_TEXT];
    int exit_code = parse(argc, argv, &options);
    if (exit_code != GW_EXIT_OK)
        return exit_code;
    enum err e = mig_restore(&options, &backup, &eb);
    if (e != ERR_OK)
        return gw_command_failed(e, &eb);
    base_time_format(backup.created_us, created);
    (void)printf("restored the backup %s of %s into %s: %" PRIu64 " tenants, %" PRIu64 " bytes\n"
                 "now run: bigtentd serve --data %s\n",
                 backup.id, created, options.data, backup.counts.documents, backup.bytes,
                 options.data); /* printing may fail: nothing depends on it */
    return GW_EXIT_OK;
}
