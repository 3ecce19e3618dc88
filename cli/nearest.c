/* cli/nearest.c - see nearest.h. */
#include "cli/nearest.h"

#include <string.h>

#include "base/banned.h"

#define WORD_MAX   32 /* longest word worth a suggestion */
#define NEAR_EDITS 2

/* Returns the Levenshtein distance, computed with two rows of the matrix. */
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

struct cli_nearest cli_nearest_to(const char *word)
{
    return (struct cli_nearest){.word = word, .edits = NEAR_EDITS + 1};
}

void cli_nearest_consider(struct cli_nearest *n, const char *candidate)
{
    size_t edits = edits_between(n->word, candidate);
    if (edits < n->edits) {
        n->edits = edits;
        n->best = candidate;
    }
}
