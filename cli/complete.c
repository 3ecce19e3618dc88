/*
 * cli/complete.c - see complete.h.
 *
 * One pass over the words before the last one, as in args.c, but nothing is refused: after a word
 * that is in no table, the line has no completions.
 */
#include "cli/complete.h"

#include <string.h>

#include "base/alloc.h"

#include "base/banned.h"

struct line {
    struct cli_complete *out;
    const char *const *words;
    size_t count; /* of the words before the last one */
    const struct cli_group *group;
    const struct cli_command *command;
    const struct cli_option *pending; /* option whose value is next */
    size_t word_count;                /* of words after the command */
    const char *first_word;           /* after the command */
    bool options_ended;
    bool is_lost; /* a word is in no table */
};

void cli_complete_put(struct cli_complete *c, struct slice word, const char *what)
{
    if (!base_slice_starts_with(word, base_slice_text(c->typed)))
        return;
    base_buf_append(c->lines, c->before);
    base_buf_append(c->lines, word);
    if (what != NULL)
        base_buf_printf(c->lines, "\t%.*s", (int)strcspn(what, "\n"), what);
    base_buf_append_byte(c->lines, '\n');
}

/* --- the words before the last one -------------------------------------------------------------
 */

static bool is_option(const struct line *l, const char *word)
{
    return !l->options_ended && word[0] == '-' && word[1] != '\0';
}

static const struct cli_option *option_of(const struct line *l, const char *word)
{
    const char *name = word + 2;
    size_t len = strcspn(name, "=");
    const struct cli_option *o = cli_option_find(CLI_GLOBAL_OPTIONS, name, len);
    if (o == NULL && l->command != NULL)
        o = cli_option_find(l->command->options, name, len);
    return o;
}

static void note_value(struct line *l, const struct cli_option *o, const char *value)
{
    static const char *const elsewhere[] = {"url", "key", "key-file", "cacert"};
    if (strcmp(o->name, "tenant") == 0)
        l->out->tenant = value;
    for (size_t i = 0; i < sizeof elsewhere / sizeof elsewhere[0]; i++) {
        if (strcmp(o->name, elsewhere[i]) == 0)
            l->out->elsewhere = true;
    }
}

static void follow_option(struct line *l, const char *word)
{
    if (word[1] != '-')
        return; /* -h */
    if (word[2] == '\0') {
        l->options_ended = true;
        return;
    }
    const struct cli_option *o = option_of(l, word);
    const char *value = strchr(word, '=');
    if (o == NULL)
        l->is_lost = true;
    else if (o->value != NULL && value == NULL)
        l->pending = o;
    else if (o->value != NULL)
        note_value(l, o, value + 1);
}

static void follow_word(struct line *l, const char *word)
{
    if (l->command != NULL) {
        if (l->word_count++ == 0)
            l->first_word = word;
        return;
    }
    l->command = cli_command_find(l->group != NULL ? l->group->name : NULL, word);
    if (l->command == NULL && l->group == NULL)
        l->group = cli_group_find(word);
    else if (l->command == NULL)
        l->is_lost = true;
    if (l->command == NULL && l->group == NULL)
        l->is_lost = true;
}

static void follow(struct line *l)
{
    for (size_t i = 0; i < l->count; i++) {
        const char *word = l->words[i];
        if (l->pending != NULL) {
            note_value(l, l->pending, word);
            l->pending = NULL;
        } else if (is_option(l, word)) {
            follow_option(l, word);
        } else {
            follow_word(l, word);
        }
    }
}

/* --- the last word -----------------------------------------------------------------------------
 */

static void put_commands(struct cli_complete *c, const char *group)
{
    for (const struct cli_command *k = CLI_COMMANDS; k->name != NULL; k++) {
        bool is_here =
            group == NULL || k->group == NULL ? group == k->group : strcmp(group, k->group) == 0;
        if (is_here)
            cli_complete_put(c, base_slice_text(k->name), k->summary);
    }
    for (const struct cli_group *g = CLI_GROUPS; group == NULL && g->name != NULL; g++)
        cli_complete_put(c, base_slice_text(g->name), g->about);
}

static bool was_given(const struct line *l, const struct cli_option *o)
{
    size_t len = strlen(o->name);
    for (size_t i = 0; i < l->count; i++) {
        const char *word = l->words[i];
        if (strncmp(word, "--", 2) == 0 && strncmp(word + 2, o->name, len) == 0 &&
            (word[2 + len] == '\0' || word[2 + len] == '='))
            return true;
    }
    return false;
}

static void put_options(const struct line *l, const struct cli_option *list)
{
    for (const struct cli_option *o = list; o != NULL && o->name != NULL; o++) {
        char name[64] = "--";
        size_t len = strlen(o->name);
        INVARIANT(len < sizeof name - 2);
        memcpy(name + 2, o->name, len + 1);
        if (o->repeated || !was_given(l, o))
            cli_complete_put(l->out, base_slice(name, len + 2), o->help);
    }
}

/* Adds completions for one alternative in the table, e.g. "FILE" or "all". */
static void put_alternative(const struct line *l, struct slice takes, enum cli_complete_ids ids)
{
    struct cli_complete *c = l->out;
    bool is_itself = takes.len > 0 && !(takes.ptr[0] >= 'A' && takes.ptr[0] <= 'Z');
    if (is_itself)
        cli_complete_put(c, takes, NULL);
    else if (base_slice_is(takes, "FILE") || base_slice_is(takes, "DIR"))
        c->files = true;
    else if (base_slice_is(takes, "T"))
        c->ids = CLI_COMPLETE_TABLES;
    else if (base_slice_is(takes, "PLAN"))
        c->ids = CLI_COMPLETE_PLANS;
    else if (base_slice_is(takes, "ID"))
        c->ids = ids;
}

static void put_values(const struct line *l, struct slice takes, enum cli_complete_ids ids)
{
    while (takes.len > 0) {
        const uint8_t *bar = memchr(takes.ptr, '|', takes.len);
        size_t len = bar != NULL ? (size_t)(bar - takes.ptr) : takes.len;
        put_alternative(l, base_slice(takes.ptr, len), ids);
        takes = base_slice_skip(takes, bar != NULL ? len + 1 : len);
    }
}

/* Returns the table's entry for word number `at` after the command, without brackets. */
static struct slice positional(const struct cli_command *command, size_t at)
{
    struct slice rest = base_slice_text(command->words);
    for (;;) {
        const uint8_t *space = rest.len > 0 ? memchr(rest.ptr, ' ', rest.len) : NULL;
        struct slice word = rest;
        if (space != NULL)
            word.len = (size_t)(space - rest.ptr);
        bool goes_on = word.len > 3 && memcmp(word.ptr + word.len - 3, "...", 3) == 0;
        if (at == 0 || (space == NULL && goes_on)) {
            word.len -= goes_on ? 3 : 0;
            bool is_optional = word.len > 1 && word.ptr[0] == '[';
            return is_optional ? base_slice(word.ptr + 1, word.len - 2) : word;
        }
        if (space == NULL)
            return SLICE_EMPTY;
        at--;
        rest = base_slice_skip(rest, word.len + 1);
    }
}

static void put_words(const struct line *l)
{
    const struct cli_command *command = l->command;
    const char *group = command->group != NULL ? command->group : "";
    if (strcmp(command->name, "help") == 0 && command->group == NULL) {
        if (l->word_count == 0)
            put_commands(l->out, NULL);
        else if (l->word_count == 1 && cli_group_find(l->first_word) != NULL)
            put_commands(l->out, l->first_word);
        return;
    }
    enum cli_complete_ids ids = strcmp(group, "tenant") == 0 ? CLI_COMPLETE_TENANTS
                                : strcmp(group, "plan") == 0 ? CLI_COMPLETE_PLANS
                                                             : CLI_COMPLETE_NONE;
    put_values(l, positional(command, l->word_count), ids);
}

static void put_all_options(const struct line *l)
{
    put_options(l, l->command != NULL ? l->command->options : NULL);
    put_options(l, CLI_GLOBAL_OPTIONS);
}

static void put_last(struct line *l, const char *last)
{
    struct cli_complete *out = l->out;
    const char *value = strchr(last, '=');
    if (l->pending != NULL) {
        put_values(l, base_slice_text(l->pending->value), CLI_COMPLETE_TENANTS);
    } else if (is_option(l, last) && value != NULL) {
        const struct cli_option *o = option_of(l, last);
        out->before = base_slice(last, (size_t)(value + 1 - last));
        out->typed = value + 1;
        if (o != NULL && o->value != NULL)
            put_values(l, base_slice_text(o->value), CLI_COMPLETE_TENANTS);
    } else if (!l->options_ended && last[0] == '-') {
        put_all_options(l);
    } else if (l->command == NULL) {
        put_commands(out, l->group != NULL ? l->group->name : NULL);
    } else {
        put_words(l);
        bool is_all = out->lines->len == 0 && !out->files && out->ids == CLI_COMPLETE_NONE;
        if (is_all && last[0] == '\0' && !l->options_ended)
            put_all_options(l);
    }
}

void cli_complete(const char *const *words, size_t count, struct buf *lines,
                  struct cli_complete *out)
{
    INVARIANT(count > 0);
    struct line l = {.out = out, .words = words, .count = count - 1};
    *out = (struct cli_complete){.lines = lines, .typed = words[count - 1]};
    follow(&l);
    if (!l.is_lost)
        put_last(&l, words[count - 1]);
}
