/* cli/command.c - see command.h. */
#include "cli/command.h"

#include <string.h>

#include "cli/nearest.h"

#include "base/banned.h"

static bool same_group(const struct cli_command *c, const char *group)
{
    if (group == NULL || c->group == NULL)
        return group == NULL && c->group == NULL;
    return strcmp(c->group, group) == 0;
}

const struct cli_command *cli_command_find(const char *group, const char *name)
{
    for (const struct cli_command *c = CLI_COMMANDS; c->name != NULL; c++) {
        if (same_group(c, group) && strcmp(c->name, name) == 0)
            return c;
    }
    return NULL;
}

const struct cli_option *cli_option_find(const struct cli_option *list, const char *name,
                                         size_t name_len)
{
    for (const struct cli_option *o = list; o != NULL && o->name != NULL; o++) {
        if (strlen(o->name) == name_len && memcmp(o->name, name, name_len) == 0)
            return o;
    }
    return NULL;
}

const struct cli_group *cli_group_find(const char *name)
{
    for (const struct cli_group *g = CLI_GROUPS; g->name != NULL; g++) {
        if (strcmp(g->name, name) == 0)
            return g;
    }
    return NULL;
}

const char *cli_command_nearest(const char *group, const char *word)
{
    struct cli_nearest near = cli_nearest_to(word);
    for (const struct cli_command *c = CLI_COMMANDS; c->name != NULL; c++) {
        if (same_group(c, group))
            cli_nearest_consider(&near, c->name);
    }
    for (const struct cli_group *g = CLI_GROUPS; group == NULL && g->name != NULL; g++)
        cli_nearest_consider(&near, g->name);
    return near.best;
}
