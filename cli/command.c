/* cli/command.c - see command.h. */
#include "cli/command.h"

#include <string.h>

#include "base/banned.h"

#define WORD_MAX   16 /* longest word worth a suggestion */
#define NEAR_EDITS 2

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

const struct cli_group *cli_group_find(const char *name)
{
    for (const struct cli_group *g = CLI_GROUPS; g->name != NULL; g++) {
        if (strcmp(g->name, name) == 0)
            return g;
    }
    return NULL;
}

/* Levenshtein distance, two rows of the matrix at a time. */
static size_t edits_between(const char *a, const char *b)
{
    size_t a_len = strlen(a);
    size_t b_len = strlen(b);
    if (a_len > WORD_MAX || b_len > WORD_MAX)
        return WORD_MAX;
    size_t row[WORD_MAX + 1];
    for (size_t j = 0; j <= b_len; j++)
        row[j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            size_t best = diagonal + (a[i - 1] != b[j - 1]);
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[b_len];
}

static void consider(const char *word, const char *candidate, size_t *best_edits, const char **best)
{
    size_t edits = edits_between(word, candidate);
    if (edits < *best_edits) {
        *best_edits = edits;
        *best = candidate;
    }
}

const char *cli_command_nearest(const char *group, const char *word)
{
    const char *best = NULL;
    size_t best_edits = NEAR_EDITS + 1;
    for (const struct cli_command *c = CLI_COMMANDS; c->name != NULL; c++) {
        if (same_group(c, group))
            consider(word, c->name, &best_edits, &best);
    }
    for (const struct cli_group *g = CLI_GROUPS; group == NULL && g->name != NULL; g++)
        consider(word, g->name, &best_edits, &best);
    return best;
}
