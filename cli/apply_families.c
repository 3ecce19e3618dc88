/*
 * cli/apply_families.c - see apply_families.h.
 *
 * Rules are traversed with a stack of open lists: first in the file's tree, then, to convert them
 * to the server's form, in the resulting JSON.
 */
#include "cli/apply_families.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/names.h"
#include "base/text.h"
#include "cli/families.h"
#include "cli/text.h"

#include "base/banned.h"

#define AGE_TEXT 48

/* --- ages ------------------------------------------------------------------------------------- */

/* Parses an age such as "1.500s": seconds with decimals, from which it removes trailing zeros. */
static json_t *decimal_age(const char *text, size_t len)
{
    const char *dot = memchr(text, '.', len);
    uint64_t number = 0;
    if (dot == NULL || len < 2 || len >= AGE_TEXT || text[len - 1] != 's')
        return NULL;
    len--;
    for (const char *p = dot + 1; p < text + len; p++)
        if (*p < '0' || *p > '9')
            return NULL;
    if (dot + 1 == text + len ||
        base_parse_u64(base_slice(text, (size_t)(dot - text)), &number) != ERR_OK)
        return NULL;
    while (text[len - 1] == '0')
        len--;
    if (text[len - 1] == '.')
        len--;
    return json_sprintf("%.*ss", (int)len, text);
}

json_t *cli_apply_age(const char *text)
{
    uint64_t seconds = 0;
    if (!cli_text_parse_seconds(text, &seconds))
        return decimal_age(text, strlen(text));
    return json_sprintf("%" PRIu64 "s", seconds);
}

/* --- the one form ----------------------------------------------------------------------------- */

static void put_age_in_form(json_t *rule)
{
    const char *age = json_string_value(json_object_get(rule, "max_age"));
    json_t *same = age != NULL ? cli_apply_age(age) : NULL;
    if (same != NULL)
        json_object_set_new(rule, "max_age", same);
}

/* Shortens {"union":[{"max_versions":N},{"max_age":"Ns"}]} to {"max_versions":N,"max_age":"Ns"},
 * the form that the server shows. */
static void shorten_union(json_t *rule)
{
    json_t *members = json_object_get(rule, "union");
    json_t *first = json_array_get(members, 0);
    json_t *second = json_array_get(members, 1);
    json_t *versions = json_object_get(first, "max_versions");
    json_t *age = json_object_get(second, "max_age");
    if (json_array_size(members) != 2 || json_object_size(first) != 1 ||
        json_object_size(second) != 1 || versions == NULL || age == NULL)
        return;
    put_age_in_form(second);
    json_object_set(rule, "max_versions", versions);
    json_object_set(rule, "max_age", json_object_get(second, "max_age"));
    json_object_del(rule, "union");
}

static json_t *members_of(const json_t *rule)
{
    json_t *members = json_object_get(rule, "union");
    return members != NULL ? members : json_object_get(rule, "intersection");
}

static void put_in_form(json_t *rule)
{
    json_t *open[LIM_FILTER_DEPTH];
    size_t next[LIM_FILTER_DEPTH];
    size_t depth = 0;
    while (rule != NULL) {
        shorten_union(rule);
        put_age_in_form(rule);
        json_t *members = members_of(rule);
        if (members != NULL && depth < LIM_FILTER_DEPTH) {
            open[depth] = members;
            next[depth++] = 0;
        }
        while (depth > 0 && next[depth - 1] == json_array_size(open[depth - 1]))
            depth--;
        rule = depth > 0 ? json_array_get(open[depth - 1], next[depth - 1]++) : NULL;
    }
}

/* --- rules in the file ------------------------------------------------------------------------ */

struct level {
    const struct cli_yaml_node *next; /* next member to read */
    json_t *list;
};

struct rule_reader {
    struct cli_apply_reader *r;
    struct level open[LIM_FILTER_DEPTH];
    size_t depth;
};

static void read_versions(struct cli_apply_reader *r, const struct cli_yaml_node *n, json_t *rule,
                          const char *name)
{
    uint64_t number = 0;
    const char *text = cli_apply_scalar(r, n, name);
    if (text == NULL)
        return;
    if (base_parse_u64(n->text, &number) != ERR_OK || number == 0 || number > INT32_MAX)
        cli_apply_wrong(r, n, "%s must be a number from 1 to %d", name, INT32_MAX);
    else
        json_object_set_new(rule, name, json_integer((json_int_t)number));
}

static void read_age(struct cli_apply_reader *r, const struct cli_yaml_node *n, json_t *rule,
                     const char *name)
{
    const char *text = cli_apply_scalar(r, n, name);
    json_t *age = text != NULL ? cli_apply_age(text) : NULL;
    if (age != NULL)
        json_object_set_new(rule, name, age);
    else if (text != NULL)
        cli_apply_wrong(r, n, "%s must be a time: Ns, Nm, Nh or Nd", name);
}

static void open_list(struct rule_reader *w, const struct cli_yaml_node *n, json_t *rule,
                      const char *name)
{
    if (!cli_apply_expect(w->r, n, CLI_YAML_LIST, name))
        return;
    if (n->first == NULL || w->depth == LIM_FILTER_DEPTH) {
        cli_apply_wrong(w->r, n, n->first == NULL ? "%s is empty" : "%s is nested too deep", name);
        return;
    }
    json_t *list = json_array();
    json_object_set_new(rule, name, list);
    w->open[w->depth++] = (struct level){.next = n->first, .list = list};
}

static void read_rule(struct rule_reader *w, const struct cli_yaml_node *n, json_t *rule)
{
    static const struct cli_apply_field FIELDS[] = {{"max_versions", read_versions},
                                                    {"max_age", read_age},
                                                    {"union", NULL},
                                                    {"intersection", NULL},
                                                    {NULL, NULL}};
    if (!cli_apply_expect(w->r, n, CLI_YAML_MAP, "a rule"))
        return;
    cli_apply_read_map(w->r, n, FIELDS, rule);
    const struct cli_yaml_node *united = cli_apply_member(n, "union");
    const struct cli_yaml_node *crossed = cli_apply_member(n, "intersection");
    if (united == NULL && crossed == NULL) {
        if (n->first == NULL && w->depth > 0)
            cli_apply_wrong(w->r, n, "a rule inside another says nothing");
        return;
    }
    if (n->first->next->next != NULL)
        cli_apply_wrong(w->r, n, "union and intersection stand alone in their rule");
    else if (united != NULL)
        open_list(w, united, rule, "union");
    else
        open_list(w, crossed, rule, "intersection");
}

static void read_gc(struct cli_apply_reader *r, const struct cli_yaml_node *n, json_t *family,
                    const char *name)
{
    struct rule_reader w = {.r = r};
    json_t *gc = json_object();
    read_rule(&w, n, gc);
    while (w.depth > 0) {
        struct level *l = &w.open[w.depth - 1];
        const struct cli_yaml_node *member = l->next;
        if (member == NULL) {
            w.depth--;
            continue;
        }
        l->next = member->next;
        json_t *rule = json_object();
        json_array_append_new(l->list, rule);
        read_rule(&w, member, rule);
    }
    if (json_object_size(gc) > 0)
        json_object_set(family, name, gc);
    json_decref(gc);
}

/* --- families --------------------------------------------------------------------------------- */

static void read_type(struct cli_apply_reader *r, const struct cli_yaml_node *n, json_t *family,
                      const char *name)
{
    static const char *const TYPES[] = {"none", "bytes", "string", "int64",
                                        "sum",  "min",   "max",    "hll"};
    const char *text = cli_apply_scalar(r, n, name);
    for (size_t i = 0; text != NULL && i < sizeof TYPES / sizeof TYPES[0]; i++) {
        if (strcmp(text, TYPES[i]) != 0)
            continue;
        json_object_set_new(family, name, json_string(text));
        return;
    }
    if (text != NULL)
        cli_apply_wrong(
            r, n, "%s must be none, bytes, string, int64, sum, min, max or hll, not \"%.64s\"",
            name, text);
}

static void add_family(struct cli_apply_reader *r, const struct cli_yaml_node *key,
                       json_t *families)
{
    static const struct cli_apply_field FIELDS[] = {
        {"gc", read_gc}, {"type", read_type}, {"absent", cli_apply_flag}, {NULL, NULL}};
    struct errbuf eb = {0};
    const struct cli_yaml_node *value = key->next;
    if (base_family_name_check(key->text, &eb) != ERR_OK) {
        cli_apply_wrong(r, key, "%s", eb.text);
        return;
    }
    json_t *family = json_object();
    if (!cli_yaml_is_empty(value) && cli_apply_expect(r, value, CLI_YAML_MAP, "a family"))
        cli_apply_read_map(r, value, FIELDS, family);
    json_object_setn_new(families, (const char *)key->text.ptr, key->text.len, family);
}

static void add_word(struct cli_apply_reader *r, const struct cli_yaml_node *n, json_t *families)
{
    struct errbuf eb = {0};
    const char *word = cli_apply_scalar(r, n, "a family");
    if (word == NULL)
        return;
    size_t len = strcspn(word, ":");
    enum err e = base_family_name_check(base_slice(word, len), &eb);
    if (e == ERR_OK)
        e = cli_families_parse(families, word, &eb);
    if (e != ERR_OK)
        cli_apply_wrong(r, n, "%s", eb.text);
}

void cli_apply_families(struct cli_apply_reader *r, const struct cli_yaml_node *n, json_t *doc,
                        const char *name)
{
    json_t *families = json_object();
    const char *key;
    json_t *family;
    if (n->kind == CLI_YAML_MAP) {
        for (const struct cli_yaml_node *k = n->first; k != NULL; k = k->next->next)
            add_family(r, k, families);
    } else if (cli_apply_expect(r, n, CLI_YAML_LIST, name)) {
        for (const struct cli_yaml_node *m = n->first; m != NULL; m = m->next)
            add_word(r, m, families);
    }
    json_object_foreach(families, key, family) put_in_form(json_object_get(family, "gc"));
    if (json_object_size(families) > LIM_FAMILIES)
        cli_apply_wrong(r, n, "a table has at most %d families", LIM_FAMILIES);
    json_object_set_new(doc, name, families);
}
