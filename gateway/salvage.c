/*
 * gateway/salvage.c - bigtentd salvage: a new data directory with the data that is still readable
 * in a damaged one.
 *
 * Standard output names keys of tenants, as the report does: it is for operators.
 */
#include "migrations/salvage.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "gateway/command.h"
#include "gateway/store.h"

#include "base/banned.h"

#define BOUND_BYTES (8 * LIM_ROW_KEY)

enum { DATA = GW_OPTION_FIRST, TO, BACKUPS, REPORT };

static const struct option OPTIONS[] = {
    {"data", required_argument, NULL, DATA},
    {"to", required_argument, NULL, TO},
    {"backups", required_argument, NULL, BACKUPS},
    {"report", required_argument, NULL, REPORT},
    {NULL, 0, NULL, 0},
};

static int parse(int argc, char **argv, struct mig_salvage_options *o)
{
    struct gw_options given = {.argc = argc, .argv = argv, .table = OPTIONS};
    int option;
    while ((option = gw_options_next(&given)) != -1) {
        if (option == DATA)
            o->data = optarg;
        else if (option == TO)
            o->to = optarg;
        else if (option == BACKUPS)
            o->backups = optarg;
        else if (option == REPORT)
            o->report = optarg;
        else
            return GW_EXIT_USAGE;
    }
    if (optind < argc)
        return gw_command_usage("salvage does not know \"%.60s\"", argv[optind]);
    if (o->data == NULL || o->to == NULL)
        return gw_command_usage("salvage needs --data DIR and --to NEWDIR");
    return GW_EXIT_OK;
}

/* Prints a bound. Printing may fail, here and below: the exit code is the result. */
static void say_bound(const struct mig_missing *m, bool is_end)
{
    struct buf text;
    base_buf_init(&text, BOUND_BYTES);
    if (mig_missing_bound(m, is_end, &text))
        (void)printf(" %s \"%.*s\"", is_end ? "before" : "from", (int)text.len,
                     (const char *)text.ptr);
    else
        (void)printf(" %s", is_end ? "to the end" : "from the beginning");
    base_buf_fini(&text);
}

static void say_place(const struct mig_missing *m)
{
    if (m->kind == STO_SALVAGE_BLOCK)
        (void)printf(" (%" PRIu64 " bytes at %" PRIu64 " of %06" PRIu64 ".sst)", m->bytes,
                     m->offset, m->file);
    else if (m->kind == STO_SALVAGE_EARLIER)
        (void)printf(" (found before, in %06" PRIu64 ".sst)", m->file);
    else
        (void)printf(" (%06" PRIu64 ".sst of %" PRIu64 " bytes, which %s)", m->file, m->bytes,
                     m->kind == STO_SALVAGE_FILE ? "cannot be opened" : "is missing");
}

static void say_missing(const struct mig_missing *m)
{
    (void)printf("%s %s: %s", m->tenant, m->table, m->is_rows ? "rows" : "changes");
    say_bound(m, false);
    say_bound(m, true);
    say_place(m);
    if (m->backup[0] != '\0') {
        char made[BASE_TIME_TEXT];
        base_time_format(m->backup_us, made);
        (void)printf(": %" PRIu64 " rows restored from backup %s of %s\n", m->rows, m->backup,
                     made);
    } else {
        (void)printf(": missing%s%s\n", m->why.text[0] != '\0' ? "; " : "", m->why.text);
    }
}

static void say_all(const struct mig_salvage_options *o, const struct mig_salvaged *s)
{
    for (size_t i = 0; i < s->count; i++)
        say_missing(&s->missing[i]);
    if (s->is_log_cut)
        (void)printf("log %06" PRIu64 ".log is damaged behind byte %" PRIu64 ": the last %" PRIu64
                     " bytes of writes, of any tenant, are missing\n",
                     s->log, s->log_offset, s->log_bytes);
    if (s->sequence < s->witnessed)
        (void)printf("the last %" PRIu64 " of %" PRIu64 " acknowledged changes are missing\n",
                     s->witnessed - s->sequence, s->witnessed);
    (void)printf("%s: %" PRIu64 " files, %" PRIu64 " bytes; %zu ranges damaged, %zu of them "
                 "restored, %zu missing; the report is %s\n"
                 "now run: bigtentd check --data %s, then bigtentd serve --data %s\n",
                 o->to, s->files, s->bytes, s->count, s->restored, s->count - s->restored,
                 s->report, o->to, o->to);
}

int gw_command_salvage(int argc, char **argv)
{
    struct mig_salvage_options options = {.data = NULL};
    struct mig_salvaged salvaged;
    struct errbuf eb = {{0}};
    char owner[MIG_OWNER + 1];
    enum err e = ERR_OK;
    int exit_code = parse(argc, argv, &options);
    if (exit_code != GW_EXIT_OK)
        return exit_code;
    options.owner = owner;
    if (options.backups != NULL)
        e = gw_store_owner(options.data, owner, &eb);
    if (e == ERR_OK)
        e = mig_salvage(&options, &salvaged, &eb);
    if (e != ERR_OK)
        return gw_command_failed(e, &eb);
    say_all(&options, &salvaged);
    mig_salvaged_fini(&salvaged);
    return GW_EXIT_OK;
}
