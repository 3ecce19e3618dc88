/* cli/apply_values.c - see apply_values.h. */
#include "cli/apply_values.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/nearest.h"
#include "cli/quota.h"
#include "cli/text.h"

#include "base/banned.h"

struct cli_apply_place cli_apply_place(const struct cli_apply_reader *r,
                                       const struct cli_yaml_node *n)
{
    return (struct cli_apply_place){.file = r->file, .line = n->line, .column = n->column};
}

void cli_apply_wrong(struct cli_apply_reader *r, const struct cli_yaml_node *n, const char *format,
                     ...)
{
    struct errbuf why;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(why.text, sizeof why.text, format, args); /* cut at its end */
    va_end(args);
    cli_apply_complain(r->apply, cli_apply_place(r, n), "%s%s%s", r->about.text,
                       r->about.text[0] != '\0' ? ": " : "", why.text);
}

bool cli_apply_expect(struct cli_apply_reader *r, const struct cli_yaml_node *n,
                      enum cli_yaml_kind kind, const char *name)
{
    static const char *const WANTED[] = {
        [CLI_YAML_SCALAR] = "a single value",
        [CLI_YAML_LIST] = "a list (\"- ...\")",
        [CLI_YAML_MAP] = "a mapping (\"name: value\")",
    };
    if (n->kind == kind && !cli_yaml_is_empty(n))
        return true;
    cli_apply_wrong(r, n, "%s must be %s, and there is %s", name, WANTED[kind],
                    cli_yaml_kind_name(n));
    return false;
}

/* --- mappings --------------------------------------------------------------------------------- */

/* Returns the member of a quota that has this option's name. */
static const char *member_of_option(const char *word)
{
#define IS_OPTION(option, member, label, kind, help)                                               \
    if (strcmp(word, option) == 0)                                                                 \
        return member;
    CLI_QUOTA(IS_OPTION)
#undef IS_OPTION
    return NULL;
}

static void unknown_field(struct cli_apply_reader *r, const struct cli_yaml_node *key,
                          const struct cli_apply_field *fields)
{
    const char *word = (const char *)key->text.ptr;
    if (r->apply->error_count >= CLI_APPLY_ERRORS) {
        cli_apply_wrong(r, key, "unknown field"); /* counted, not printed */
        return;
    }
    struct cli_nearest near = cli_nearest_to(word);
    const char *member = member_of_option(word);
    for (const struct cli_apply_field *f = fields; f->name != NULL; f++) {
        cli_nearest_consider(&near, f->name);
        if (member != NULL && strcmp(f->name, member) == 0)
            near = (struct cli_nearest){.word = word, .best = member};
    }
    if (near.best != NULL)
        cli_apply_wrong(r, key, "unknown field \"%.64s\"; did you mean \"%s\"?", word, near.best);
    else
        cli_apply_wrong(r, key, "unknown field \"%.64s\"", word);
}

void cli_apply_read_map(struct cli_apply_reader *r, const struct cli_yaml_node *map,
                        const struct cli_apply_field *fields, json_t *doc)
{
    for (const struct cli_yaml_node *key = map->first; key != NULL; key = key->next->next) {
        const struct cli_apply_field *f = fields;
        while (f->name != NULL && !base_slice_is(key->text, f->name))
            f++;
        if (f->name == NULL)
            unknown_field(r, key, fields);
        else if (f->read != NULL)
            f->read(r, key->next, doc, f->name);
    }
}

const struct cli_yaml_node *cli_apply_member(const struct cli_yaml_node *map, const char *name)
{
    if (map->kind != CLI_YAML_MAP)
        return NULL;
    for (const struct cli_yaml_node *key = map->first; key != NULL; key = key->next->next)
        if (base_slice_is(key->text, name))
            return key->next;
    return NULL;
}

/* --- single values ---------------------------------------------------------------------------- */

const char *cli_apply_scalar(struct cli_apply_reader *r, const struct cli_yaml_node *n,
                             const char *name)
{
    return cli_apply_expect(r, n, CLI_YAML_SCALAR, name) ? (const char *)n->text.ptr : NULL;
}

void cli_apply_text(struct cli_apply_reader *r, const struct cli_yaml_node *n, json_t *doc,
                    const char *name, size_t max)
{
    struct errbuf eb = {0};
    const char *text = cli_apply_scalar(r, n, name);
    if (text == NULL)
        return;
    if (cli_yaml_is_null(n))
        cli_apply_wrong(r, n, "%s must be text; in quotes \"%s\" is text as well", name, text);
    else if (base_text_check(n->text, max, name, &eb) != ERR_OK)
        cli_apply_wrong(r, n, "%s", eb.text);
    else
        json_object_set_new(doc, name, json_stringn(text, n->text.len));
}

void cli_apply_flag(struct cli_apply_reader *r, const struct cli_yaml_node *n, json_t *doc,
                    const char *name)
{
    const char *text = cli_apply_scalar(r, n, name);
    if (text == NULL)
        return;
    bool is_true = strcmp(text, "true") == 0;
    if (n->is_plain && (is_true || strcmp(text, "false") == 0))
        json_object_set_new(doc, name, json_boolean(is_true));
    else
        cli_apply_wrong(r, n, "%s must be true or false, not \"%.64s\"", name, text);
}

static bool is_none(const struct cli_yaml_node *n)
{
    return cli_yaml_is_null(n) || base_slice_is(n->text, "none");
}

/* Reads a limit, or null. */
static void read_number(struct cli_apply_reader *r, const struct cli_yaml_node *n, json_t *doc,
                        const char *name, bool may_inherit)
{
    uint64_t number = 0;
    const char *text = cli_apply_scalar(r, n, name);
    if (text == NULL)
        return;
    if (is_none(n))
        json_object_set_new(doc, name, json_null());
    else if (may_inherit && strcmp(text, "inherit") == 0)
        json_object_set_new(doc, name, json_string(text));
    else if (cli_text_parse_size(text, &number) && number <= INT64_MAX)
        json_object_set_new(doc, name, json_integer((json_int_t)number));
    else
        cli_apply_wrong(
            r, n, "%s must be a number, optionally with K, M, G or T, or none%s; not \"%.64s\"",
            name, may_inherit ? ", or inherit" : "", text);
}

static void read_limit(struct cli_apply_reader *r, const struct cli_yaml_node *n, json_t *doc,
                       const char *name)
{
    read_number(r, n, doc, name, true);
}

static void read_rate(struct cli_apply_reader *r, const struct cli_yaml_node *n, json_t *doc,
                      const char *name)
{
    read_number(r, n, doc, name, false);
}

/* --- mappings and lists of them --------------------------------------------------------------- */

static void read_inner(struct cli_apply_reader *r, const struct cli_yaml_node *n, json_t *doc,
                       const char *name, const struct cli_apply_field *fields)
{
    if (!cli_apply_expect(r, n, CLI_YAML_MAP, name))
        return;
    json_t *inner = json_object();
    cli_apply_read_map(r, n, fields, inner);
    json_object_set_new(doc, name, inner);
}

void cli_apply_quota(struct cli_apply_reader *r, const struct cli_yaml_node *n, json_t *doc,
                     const char *name)
{
#define QUOTA_FIELD(option, member, label, kind, help) {member, read_limit},
    static const struct cli_apply_field fields[] = {CLI_QUOTA(QUOTA_FIELD){NULL, NULL}};
#undef QUOTA_FIELD
    read_inner(r, n, doc, name, fields);
}

void cli_apply_rates(struct cli_apply_reader *r, const struct cli_yaml_node *n, json_t *doc,
                     const char *name)
{
    static const struct cli_apply_field fields[] = {{"read_ops_per_s", read_rate},
                                                    {"write_ops_per_s", read_rate},
                                                    {"read_bytes_per_s", read_rate},
                                                    {"write_bytes_per_s", read_rate},
                                                    {NULL, NULL}};
    read_inner(r, n, doc, name, fields);
}

void cli_apply_names(struct cli_apply_reader *r, const struct cli_yaml_node *n, json_t *doc,
                     const char *name, size_t max,
                     enum err (*check)(struct slice name, struct errbuf *eb))
{
    if (!cli_apply_expect(r, n, CLI_YAML_LIST, name))
        return;
    json_t *list = json_array();
    for (const struct cli_yaml_node *m = n->first; m != NULL; m = m->next) {
        struct errbuf eb = {0};
        const char *text = cli_apply_scalar(r, m, name);
        if (text == NULL)
            continue;
        if (check != NULL && check(m->text, &eb) != ERR_OK)
            cli_apply_wrong(r, m, "%s: %s", name, eb.text);
        else
            json_array_append_new(list, json_stringn(text, m->text.len));
    }
    if (n->first == NULL)
        cli_apply_wrong(r, n, "%s is empty; leave it out instead", name);
    if (json_array_size(list) > max)
        cli_apply_wrong(r, n, "%s has %zu entries; the limit is %zu", name, json_array_size(list),
                        max);
    json_object_set_new(doc, name, list);
}
