/* cli/help.c - see help.h. */
#include "cli/help.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "cli/cli.h"
#include "cli/out.h"

#include "base/banned.h"

#define SYNOPSIS_BYTES 1024
#define OPTION_PAD     22
#define COMMAND_PAD    46

static const char INTRO[] =
    "bigtent - the command line of Bigtent: one big table, many tenants\n"
    "\n"
    "Usage: bigtent [OPTION]... COMMAND [ARGUMENT]...\n"
    "\n"
    "Row keys, qualifiers and values are bytes; shown text escapes what a terminal\n"
    "would obey. On a terminal results are tables with readable sizes; elsewhere they\n"
    "are plain columns, one space apart, without header. --json gives the server's\n"
    "JSON, exactly.\n";

static const char OUTRO[] =
    "Environment:\n"
    "  BIGTENT_URL     the server, default https://127.0.0.1:8443\n"
    "  BIGTENT_KEY     the API key; a key on the command line can be seen by other\n"
    "                  users of this machine, so prefer this or --key-file\n"
    "  BIGTENT_CACERT  a CA certificate to trust instead of the system's, such as\n"
    "                  DIR/ca.pem made by bigtentd init\n"
    "\n"
    "Exit status:\n"
    "  0 done   1 refused by the server   2 wrong command line   3 server not reached\n"
    "  or not trusted   4 not found   5 a check failed: drift, a failed job, failed\n"
    "  lines of a load, a server that is not ready, or not as files say\n"
    "\n"
    "Examples:\n"
    "  export BIGTENT_CACERT=build/run/data/ca.pem\n"
    "  bigtent tenant create altostrat --key-file build/run/data/operator.key\n"
    "  bigtent key create --tenant altostrat --key-file build/run/data/operator.key\n"
    "  export BIGTENT_KEY=...            # the key that was shown\n"
    "  bigtent table create phone stats:max_versions=3\n"
    "  bigtent row put phone '4c410523#20190501' stats:os_build=PQ2A.190405.003\n"
    "  bigtent scan phone --prefix '4c410523#'\n"
    "\n"
    "More: bigtent help COMMAND, for instance: bigtent help row load\n";

/* Appends a synopsis such as "tenant suspend ID --reason R". */
static void synopsis(struct buf *out, const struct cli_command *c, bool with_optional)
{
    if (c->group != NULL)
        base_buf_printf(out, "%s ", c->group);
    base_buf_append_text(out, c->name);
    if (c->words[0] != '\0')
        base_buf_printf(out, " %s", c->words);
    for (const struct cli_option *o = c->options; o != NULL && o->name != NULL; o++) {
        if (!o->required && !with_optional)
            continue;
        base_buf_printf(out, " %s--%s", o->required ? "" : "[", o->name);
        if (o->value != NULL)
            base_buf_printf(out, " %s", o->value);
        base_buf_append_text(out, o->required ? "" : o->repeated ? "]..." : "]");
    }
}

static void print_usage_line(const struct cli_command *c)
{
    struct buf line;
    base_buf_init(&line, SYNOPSIS_BYTES);
    synopsis(&line, c, true);
    cli_out_printf("Usage: bigtent %.*s\n", SLICE_ARGS(base_buf_slice(&line)));
    base_buf_fini(&line);
}

/* Prints one line of a list of commands: the required arguments, and the summary. */
static void print_entry(const struct cli_command *c)
{
    struct buf line;
    base_buf_init(&line, SYNOPSIS_BYTES);
    synopsis(&line, c, false);
    if (line.len > COMMAND_PAD)
        cli_out_printf("  %.*s\n  %-*s%s\n", SLICE_ARGS(base_buf_slice(&line)), COMMAND_PAD, "",
                       c->summary);
    else
        cli_out_printf("  %-*.*s%s\n", COMMAND_PAD, SLICE_ARGS(base_buf_slice(&line)), c->summary);
    base_buf_fini(&line);
}

static void print_options(const struct cli_option *list)
{
    for (const struct cli_option *o = list; o != NULL && o->name != NULL; o++) {
        char left[128];
        int n = snprintf(left, sizeof left, "--%s%s%s", o->name, o->value != NULL ? " " : "",
                         o->value != NULL ? o->value : "");
        if (n >= OPTION_PAD)
            cli_out_printf("  %s\n  %-*s%s\n", left, OPTION_PAD, "", o->help);
        else
            cli_out_printf("  %-*s%s\n", OPTION_PAD, left, o->help);
    }
}

static void print_indented(const char *lines)
{
    while (*lines != '\0') {
        size_t len = strcspn(lines, "\n");
        cli_out_printf("  %.*s\n", (int)len, lines);
        lines += len + (lines[len] == '\n');
    }
}

static void print_overview(void)
{
    cli_out_text(INTRO);
    for (const struct cli_group *g = CLI_GROUPS; g->name != NULL; g++) {
        cli_out_printf("\n%s\n", g->about);
        for (const struct cli_command *c = CLI_COMMANDS; c->name != NULL; c++) {
            if (c->group != NULL && strcmp(c->group, g->name) == 0)
                print_entry(c);
        }
    }
    cli_out_text("\nOther commands:\n");
    for (const struct cli_command *c = CLI_COMMANDS; c->name != NULL; c++) {
        if (c->group == NULL)
            print_entry(c);
    }
    cli_out_text("\nOptions, before or after the command:\n");
    print_options(CLI_GLOBAL_OPTIONS);
    cli_out_text("\n");
    cli_out_text(OUTRO);
}

static void print_group(const struct cli_group *g)
{
    cli_out_printf("Usage: bigtent %s COMMAND [ARGUMENT]...\n\n%s\n", g->name, g->about);
    for (const struct cli_command *c = CLI_COMMANDS; c->name != NULL; c++) {
        if (c->group != NULL && strcmp(c->group, g->name) == 0)
            print_entry(c);
    }
    cli_out_text("\nExamples:\n");
    for (const struct cli_command *c = CLI_COMMANDS; c->name != NULL; c++) {
        if (c->group != NULL && strcmp(c->group, g->name) == 0)
            print_indented(c->examples);
    }
    cli_out_printf("\nMore: bigtent help %s COMMAND; options for every command: bigtent --help\n",
                   g->name);
}

static void print_command(const struct cli_command *c)
{
    print_usage_line(c);
    cli_out_printf("\n%s\n", c->about);
    if (c->options != NULL) {
        cli_out_text("\nOptions:\n");
        print_options(c->options);
    }
    cli_out_text("\nExamples:\n");
    print_indented(c->examples);
    cli_out_text("\nOptions for every command (--url, --key-file, --json, ...): bigtent --help\n");
}

void cli_help_print(const struct cli_args *a)
{
    if (a->command != NULL)
        print_command(a->command);
    else if (a->group != NULL)
        print_group(a->group);
    else
        print_overview();
}

enum cli_exit cli_help_run(struct cli *cli)
{
    const struct cli_args *asked = &cli->args;
    struct cli_args found = {0};
    if (asked->word_count > 0) {
        const char *word = asked->words[0];
        found.command = cli_command_find(NULL, word);
        found.group = cli_group_find(word);
        if (found.command == NULL && found.group == NULL)
            return cli_fail(CLI_USAGE, "no command \"%s\"; see bigtent --help", word);
    }
    if (asked->word_count > 1) {
        if (found.group != NULL)
            found.command = cli_command_find(found.group->name, asked->words[1]);
        if (found.group == NULL || found.command == NULL)
            return cli_fail(CLI_USAGE, "no command \"%s %s\"; see bigtent --help", asked->words[0],
                            asked->words[1]);
    }
    cli_help_print(&found);
    return CLI_OK;
}
