/*
 * gateway/command.c - shared by the commands of bigtentd: exit codes, messages, option values.
 */
#include "gateway/command.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/slice.h"
#include "base/text.h"

#include "base/banned.h"

int gw_command_usage(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)fprintf(stderr, "bigtentd: "); /* nothing can be reported when stderr is closed */
    (void)vfprintf(stderr, format, args);
    (void)fprintf(stderr, "; see bigtentd --help\n");
    va_end(args);
    return GW_EXIT_USAGE;
}

/* Refuses a repeated option: an earlier value that is silently replaced would be missed when it
 * matters. */
static bool was_given(struct gw_options *o, int option)
{
    if (option >= GW_OPTION_REPEATED || o->table[o->index].has_arg != required_argument)
        return false;
    unsigned bit = (unsigned)option - GW_OPTION_FIRST;
    INVARIANT(bit < 64);
    bool given = (o->seen & UINT64_C(1) << bit) != 0;
    o->seen |= UINT64_C(1) << bit;
    return given;
}

int gw_options_next(struct gw_options *o)
{
    opterr = 0;
    int option = getopt_long(o->argc, o->argv, ":", o->table, &o->index);
    if (option == '?' || option == ':') {
        (void)gw_command_usage("%s does not know \"%.60s\", or it lacks its value", o->argv[0],
                               o->argv[optind - 1]);
        return 0;
    }
    if (option < 0 || !was_given(o, option))
        return option;
    (void)gw_command_usage("--%s was given twice", o->table[o->index].name);
    return 0;
}

int gw_command_failed(enum err code, const struct errbuf *eb)
{
    bool has_text = eb->text[0] != '\0';
    (void)fprintf(stderr, "bigtentd: %s\n", has_text ? eb->text : base_err_name(code));
    return GW_EXIT_FAILED;
}

bool gw_command_number(const char *name, const char *text, uint64_t min, uint64_t max,
                       uint64_t *out)
{
    uint64_t number = 0;
    if (base_parse_u64(base_slice_text(text), &number) == ERR_OK && number >= min &&
        number <= max) {
        *out = number;
        return true;
    }
    (void)gw_command_usage("--%s must be a whole number from %" PRIu64 " to %" PRIu64
                           ", not \"%.60s\"",
                           name, min, max, text);
    return false;
}

const char *gw_command_data(int argc, char **argv, const char **out_backups, bool *out_logs)
{
    enum { DATA = GW_OPTION_FIRST, BACKUPS, LOGS };
    static const struct option options[] = {{"data", required_argument, NULL, DATA},
                                            {"backups", required_argument, NULL, BACKUPS},
                                            {"logs", no_argument, NULL, LOGS},
                                            {NULL, 0, NULL, 0}};
    const char *data = NULL;
    struct gw_options given = {.argc = argc, .argv = argv, .table = options};
    int option;
    while ((option = gw_options_next(&given)) != -1) {
        if (option == DATA) {
            data = optarg;
        } else if (option == BACKUPS) {
            *out_backups = optarg;
        } else if (option == LOGS) {
            *out_logs = true;
        } else {
            return NULL;
        }
    }
    if (optind < argc) {
        (void)gw_command_usage("%s does not know \"%.60s\"", argv[0], argv[optind]);
        return NULL;
    }
    if (data == NULL)
        (void)gw_command_usage("%s needs --data DIR", argv[0]);
    return data;
}
