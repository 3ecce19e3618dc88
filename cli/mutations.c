/* cli/mutations.c - see mutations.h. */
#include "cli/mutations.h"

#include "base/text.h"
#include "cli/cells.h"
#include "cli/json_text.h"
#include "cli/out.h"

#include "base/banned.h"

/* Returns an object with the word's family and any qualifier; NULL when they do not fit. */
static json_t *column_of(const struct cli_word *w)
{
    json_t *object = json_object();
    bool fits = cli_json_set_bytes(object, "family", w->family);
    if (fits && w->has_qualifier)
        fits = cli_json_set_bytes(object, "qualifier", w->qualifier);
    if (fits)
        return object;
    json_decref(object);
    return NULL;
}

/* Sets a whole number as a number, anything else as bytes. */
static bool set_input(json_t *object, const char *name, struct slice text)
{
    int64_t number = 0;
    if (base_parse_i64(text, &number) != ERR_OK)
        return cli_json_set_bytes(object, name, text);
    return json_object_set_new(object, name, json_integer(number)) == 0;
}

static enum cli_exit too_long(const char *word)
{
    return cli_fail(CLI_USAGE, "\"%.64s\" does not fit into a request", word);
}

/* Appends a mutation. Takes fields; NULL: they did not fit. */
static enum cli_exit append(json_t *list, const char *kind, json_t *fields, const char *word)
{
    if (fields == NULL || json_array_append_new(list, json_pack("{s:o}", kind, fields)) != 0)
        return too_long(word);
    return CLI_OK;
}

/* Removes and returns the character before "=" if it is one of signs; else returns 0. */
static char take_sign(struct cli_word *w, const char *signs)
{
    size_t last = w->qualifier.len - 1;
    if (w->qualifier.len == 0 || strchr(signs, (char)w->qualifier.ptr[last]) == NULL)
        return 0;
    w->qualifier.len = last;
    return (char)w->qualifier.ptr[last];
}

static enum cli_exit setting(const char *word, json_t *list)
{
    struct cli_word w;
    enum cli_exit e = cli_word_split(base_slice_text(word), true, &w);
    if (e != CLI_OK)
        return e;
    bool adds = take_sign(&w, "+") != 0;
    json_t *fields = column_of(&w);
    bool fits = fields != NULL && (adds ? set_input(fields, "input", w.value)
                                        : cli_json_set_bytes(fields, "value", w.value));
    if (!fits) {
        json_decref(fields);
        return too_long(word);
    }
    return append(list, adds ? "add_to_cell" : "set_cell", fields, word);
}

static enum cli_exit deletion(const char *word, json_t *list)
{
    struct slice text = base_slice_text(word);
    struct cli_word w;
    text.len--;
    if (text.len == 0)
        return append(list, "delete_from_row", json_object(), word);
    enum cli_exit e = cli_word_split(text, false, &w);
    if (e != CLI_OK)
        return e;
    return append(list, w.has_qualifier ? "delete_from_column" : "delete_from_family",
                  column_of(&w), word);
}

enum cli_exit cli_mutation_from_word(const char *word, json_t *list)
{
    size_t len = strlen(word);
    if (strchr(word, '=') != NULL)
        return setting(word, list);
    if (len > 0 && word[len - 1] == '-')
        return deletion(word, list);
    return cli_fail(CLI_USAGE,
                    "\"%.64s\" is no change: FAMILY:QUAL=VALUE sets, FAMILY:QUAL+=N adds, "
                    "FAMILY:QUAL- deletes",
                    word);
}

enum cli_exit cli_rule_from_word(const char *word, json_t *list)
{
    struct cli_word w;
    enum cli_exit e = cli_word_split(base_slice_text(word), true, &w);
    if (e != CLI_OK)
        return e;
    char sign = take_sign(&w, "+.");
    int64_t number = 0;
    if (sign == 0)
        return cli_fail(
            CLI_USAGE, "\"%.64s\" is no rule: FAMILY:QUAL+=N increments, FAMILY:QUAL.=TEXT appends",
            word);
    if (sign == '+' && base_parse_i64(w.value, &number) != ERR_OK)
        return cli_fail(CLI_USAGE, "\"%.64s\": an increment is a whole number of 64 bits", word);
    json_t *rule = column_of(&w);
    bool fits = rule != NULL && (sign == '+' ? set_input(rule, "increment", w.value)
                                             : cli_json_set_bytes(rule, "append", w.value));
    if (fits && json_array_append(list, rule) != 0)
        fits = false;
    json_decref(rule);
    return fits ? CLI_OK : too_long(word);
}
