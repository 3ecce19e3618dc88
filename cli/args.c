/*
 * cli/args.c - see args.h.
 *
 * One pass from left to right. Until the command is known, only global options can be distinguished
 * from their values; therefore a command's own options must follow the command.
 */
#include "cli/args.h"

#include <string.h>

#include "base/alloc.h"
#include "cli/out.h"

#include "base/banned.h"

static const char *command_group(const struct cli_command *c)
{
    return c->group != NULL ? c->group : "";
}

static const char *group_gap(const struct cli_command *c)
{
    return c->group != NULL ? " " : "";
}

static enum cli_exit bad_option(const struct cli_args *a, const char *argument, int name_len)
{
    if (a->command == NULL)
        return cli_fail(CLI_USAGE,
                        "no option %.*s before the command; see bigtent --help, and put a "
                        "command's own options behind it",
                        name_len, argument);
    return cli_fail(CLI_USAGE, "%s%s%s has no option %.*s; see bigtent help %s%s%s",
                    command_group(a->command), group_gap(a->command), a->command->name, name_len,
                    argument, command_group(a->command), group_gap(a->command), a->command->name);
}

static enum cli_exit take_option(struct cli_args *a, int argc, char **argv, int *i)
{
    const char *argument = argv[*i];
    const char *name = strcmp(argument, "-f") == 0 ? "file" : argument + 2;
    size_t name_len = strcspn(name, "=");
    const struct cli_option *o = cli_option_find(CLI_GLOBAL_OPTIONS, name, name_len);
    if (o == NULL && a->command != NULL)
        o = cli_option_find(a->command->options, name, name_len);
    if (o == NULL)
        return bad_option(a, argument, (int)name_len + 2);
    const char *value = name[name_len] == '=' ? name + name_len + 1 : NULL;
    if (o->value == NULL && value != NULL)
        return cli_fail(CLI_USAGE, "--%s takes no value", o->name);
    if (o->value != NULL && value == NULL) {
        if (*i + 1 >= argc)
            return cli_fail(CLI_USAGE, "--%s needs a value: --%s %s", o->name, o->name, o->value);
        value = argv[++*i];
    }
    for (size_t n = 0; n < a->given_count; n++) {
        if (a->given[n].option == o && o->value != NULL && !o->repeated)
            return cli_fail(CLI_USAGE, "--%s was given twice", o->name);
    }
    a->given[a->given_count++] = (struct cli_given){o, value};
    a->help = a->help || strcmp(o->name, "help") == 0;
    a->version = a->version || strcmp(o->name, "version") == 0;
    return CLI_OK;
}

static enum cli_exit unknown_word(const struct cli_args *a, const char *word)
{
    const char *group = a->group != NULL ? a->group->name : NULL;
    const char *nearest = cli_command_nearest(group, word);
    const char *gap = group != NULL ? " " : "";
    group = group != NULL ? group : "";
    if (nearest != NULL)
        return cli_fail(CLI_USAGE, "no command \"%s%s%s\"; did you mean \"%s%s%s\"?", group, gap,
                        word, group, gap, nearest);
    return cli_fail(CLI_USAGE, "no command \"%s%s%s\"; see bigtent%s%s --help", group, gap, word,
                    gap, group);
}

static enum cli_exit take_word(struct cli_args *a, const char *word)
{
    if (a->command != NULL) {
        a->words[a->word_count++] = word;
        return CLI_OK;
    }
    if (a->group == NULL) {
        a->command = cli_command_find(NULL, word);
        a->group = a->command == NULL ? cli_group_find(word) : NULL;
        return a->command != NULL || a->group != NULL ? CLI_OK : unknown_word(a, word);
    }
    a->command = cli_command_find(a->group->name, word);
    return a->command != NULL ? CLI_OK : unknown_word(a, word);
}

static enum cli_exit take_all(struct cli_args *a, int argc, char **argv)
{
    bool options_ended = false;
    for (int i = 1; i < argc; i++) {
        enum cli_exit e = CLI_OK;
        if (options_ended || argv[i][0] != '-' || argv[i][1] == '\0')
            e = take_word(a, argv[i]);
        else if (strcmp(argv[i], "--") == 0)
            options_ended = true;
        else if (strcmp(argv[i], "-h") == 0)
            a->help = true;
        else if (argv[i][1] == '-' || strcmp(argv[i], "-f") == 0)
            e = take_option(a, argc, argv, &i);
        else
            e = cli_fail(CLI_USAGE,
                         "no option %s; options begin with \"--\", and \"--\" alone "
                         "says that words beginning with \"-\" follow",
                         argv[i]);
        if (e != CLI_OK)
            return e;
    }
    return CLI_OK;
}

static enum cli_exit check(const struct cli_args *a)
{
    const struct cli_command *c = a->command;
    if (c == NULL)
        return CLI_OK; /* the caller shows help */
    size_t max = c->words_max < 0 ? a->word_count : (size_t)c->words_max;
    if (a->word_count < (size_t)c->words_min || a->word_count > max)
        return cli_fail(CLI_USAGE, "%s arguments: %s%s%s takes %s; see bigtent help %s%s%s",
                        a->word_count > max ? "too many" : "too few", command_group(c),
                        group_gap(c), c->name, c->words[0] != '\0' ? c->words : "none",
                        command_group(c), group_gap(c), c->name);
    for (const struct cli_option *o = c->options; o != NULL && o->name != NULL; o++) {
        if (o->required && cli_args_value(a, o->name) == NULL)
            return cli_fail(CLI_USAGE, "%s%s%s needs --%s %s; see bigtent help %s%s%s",
                            command_group(c), group_gap(c), c->name, o->name, o->value,
                            command_group(c), group_gap(c), c->name);
    }
    return CLI_OK;
}

enum cli_exit cli_args_parse(int argc, char **argv, struct cli_args *out)
{
    memset(out, 0, sizeof *out);
    size_t slots = argc > 0 ? (size_t)argc : 1;
    out->words = base_new_array(slots, sizeof *out->words);
    out->given = base_new_array(slots, sizeof *out->given);
    enum cli_exit e = take_all(out, argc, argv);
    if (e == CLI_OK && !out->help && !out->version)
        e = check(out);
    return e;
}

void cli_args_fini(struct cli_args *a)
{
    base_free(a->words);
    base_free(a->given);
    memset(a, 0, sizeof *a);
}

static const struct cli_given *find_given(const struct cli_args *a, const char *name)
{
    for (size_t i = 0; i < a->given_count; i++) {
        if (strcmp(a->given[i].option->name, name) == 0)
            return &a->given[i];
    }
    return NULL;
}

const char *cli_args_value(const struct cli_args *a, const char *name)
{
    const struct cli_given *g = find_given(a, name);
    return g != NULL ? g->value : NULL;
}

bool cli_args_flag(const struct cli_args *a, const char *name)
{
    return find_given(a, name) != NULL;
}
