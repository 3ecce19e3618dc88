/*
 * cli/families.c - column families as one word each.
 *
 * Rules are read and printed level by level, without recursion: a level is the list of members of a
 * union or intersection, and the member that is being filled or printed.
 */
#include "cli/families.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/text.h"
#include "cli/json_text.h"
#include "cli/out.h"
#include "cli/text.h"

#include "base/banned.h"

#define TERM_BYTES 64 /* of a name and a value */
#define S_PER_DAY  86400U

/* --- reading ---------------------------------------------------------------------------------- */

struct reading {
    json_t *family;
    json_t *lists[LIM_FILTER_DEPTH + 1]; /* [0]: none */
    json_t *rules[LIM_FILTER_DEPTH + 1]; /* rules being filled; [0]: the family's gc */
    size_t depth;
};

static bool set_new(json_t *object, const char *name, json_t *value)
{
    if (value != NULL && json_object_get(object, name) == NULL)
        return json_object_set_new(object, name, value) == 0;
    json_decref(value);
    return false;
}

static json_t *age_value(const char *text)
{
    char seconds[32];
    uint64_t number = 0;
    if (!cli_text_parse_seconds(text, &number))
        return strchr(text, '.') != NULL ? json_string(text) : NULL; /* the server checks it */
    (void)snprintf(seconds, sizeof seconds, "%llus", (unsigned long long)number); /* fits */
    return json_string(seconds);
}

/* Reads type=T, max_versions=N or max_age=Ns. */
static bool read_leaf(struct reading *r, const char *text, size_t len)
{
    char term[TERM_BYTES];
    uint64_t number = 0;
    json_t *rule = r->rules[r->depth];
    if (len >= sizeof term)
        return false;
    (void)snprintf(term, sizeof term, "%.*s", (int)len, text);
    if (strncmp(term, "type=", 5) == 0 && term[5] != '\0' && r->depth == 0)
        return set_new(r->family, "type", json_string(term + 5));
    if (strncmp(term, "max_age=", 8) == 0)
        return set_new(rule, "max_age", age_value(term + 8));
    return strncmp(term, "max_versions=", 13) == 0 &&
           base_parse_u64(base_slice_text(term + 13), &number) == ERR_OK && number <= INT64_MAX &&
           set_new(rule, "max_versions", json_integer((json_int_t)number));
}

static json_t *next_member(struct reading *r)
{
    json_t *rule = json_object();
    json_array_append_new(r->lists[r->depth], rule);
    r->rules[r->depth] = rule;
    return rule;
}

static bool open_list(struct reading *r, const char *name, size_t len)
{
    bool is_union = len == 5 && strncmp(name, "union", len) == 0;
    if ((!is_union && !(len == 12 && strncmp(name, "intersection", len) == 0)) ||
        r->depth == LIM_FILTER_DEPTH)
        return false;
    json_t *list = json_array();
    if (!set_new(r->rules[r->depth], is_union ? "union" : "intersection", list))
        return false;
    r->lists[++r->depth] = list;
    return next_member(r) != NULL;
}

/* Reads the terms after "FAMILY:". */
static bool read_terms(struct reading *r, const char *at)
{
    for (;;) {
        size_t len = strcspn(at, "(),:");
        if (at[len] == '(') {
            if (!open_list(r, at, len))
                return false;
            at += len + 1;
            continue;
        }
        if (!read_leaf(r, at, len))
            return false;
        at += len;
        for (; *at == ')' && r->depth > 0; at++)
            r->depth--;
        if (*at == '\0')
            return r->depth == 0;
        if (*at == ',' && r->depth > 0 && next_member(r) != NULL)
            at++;
        else if (*at == ':')
            at++;
        else
            return false;
    }
}

/* Returns the family; NULL when the terms are invalid. */
static json_t *read_family(const char *terms)
{
    struct reading r = {.family = json_object(), .rules = {json_object()}};
    bool is_good = *terms == '\0' || read_terms(&r, terms + 1);
    if (is_good && json_object_size(r.rules[0]) > 0)
        is_good = json_object_set(r.family, "gc", r.rules[0]) == 0;
    json_decref(r.rules[0]);
    if (is_good)
        return r.family;
    json_decref(r.family);
    return NULL;
}

enum err cli_families_parse(json_t *families, const char *word, struct errbuf *eb)
{
    size_t len = strcspn(word, ":");
    json_t *family = len > 0 ? read_family(word + len) : NULL;
    if (family == NULL)
        return base_fail(eb, ERR_INVALID,
                         "\"%.100s\" is no family: FAMILY[:TERM]..., TERM being "
                         "type=none|bytes|string|int64|sum|min|max|hll, max_versions=N, max_age=Ns "
                         "(also m, h, d), union(TERM,...) or "
                         "intersection(TERM,...)",
                         word);
    bool twice = json_object_getn(families, word, len) != NULL;
    if (json_object_setn_new(families, word, len, family) != 0)
        return base_fail(eb, ERR_INVALID, "\"%.100s\" is not UTF-8 text", word);
    return twice ? base_fail(eb, ERR_INVALID, "family \"%.*s\" was named twice",
                             (int)(len < 100 ? len : 100), word)
                 : ERR_OK;
}

enum cli_exit cli_families_add(json_t *families, const char *word)
{
    struct errbuf eb = {0};
    if (cli_families_parse(families, word, &eb) == ERR_OK)
        return CLI_OK;
    return cli_fail(CLI_USAGE, "%s", eb.text);
}

/* --- types ------------------------------------------------------------------------------------ */

const char *cli_family_aggregate(const json_t *family)
{
    static const char *const PLAIN[] = {"none", "bytes", "string", "int64"};
    const char *type = json_string_value(json_object_get(family, "type"));
    for (size_t i = 0; type != NULL && i < sizeof PLAIN / sizeof PLAIN[0]; i++)
        if (strcmp(type, PLAIN[i]) == 0)
            return NULL;
    return type;
}

bool cli_families_have_aggregates(json_t *families)
{
    const char *name;
    json_t *family;
    json_object_foreach(families, name, family)
    {
        if (cli_family_aggregate(family) != NULL)
            return true;
    }
    return false;
}

/* --- showing ---------------------------------------------------------------------------------- */

/* Appends an age; on a terminal in whole days, hours or minutes if possible. */
static void put_age(struct buf *out, const char *text)
{
    static const struct {
        uint64_t seconds;
        char unit;
    } UNITS[] = {{S_PER_DAY, 'd'}, {3600, 'h'}, {60, 'm'}};
    uint64_t number = 0;
    bool is_whole = cli_text_parse_seconds(text, &number) && number > 0;
    for (size_t i = 0; is_whole && cli_out_is_terminal() && i < 3; i++) {
        if (number % UNITS[i].seconds != 0)
            continue;
        base_buf_printf(out, "%llu%c", (unsigned long long)(number / UNITS[i].seconds),
                        UNITS[i].unit);
        return;
    }
    base_buf_append_text(out, text);
}

/* Appends the terms of one rule. Returns the members if the rule is a union or intersection. */
static const json_t *put_terms(struct buf *out, json_t *rule)
{
    const char *name;
    json_t *bound;
    bool is_first = true;
    json_object_foreach(rule, name, bound)
    {
        base_buf_printf(out, "%s%s", is_first ? "" : ":", name);
        is_first = false;
        if (json_is_array(bound)) {
            base_buf_append_byte(out, '(');
            return bound; /* it is the rule's only member */
        }
        base_buf_append_byte(out, '=');
        if (json_is_string(bound))
            put_age(out, json_string_value(bound));
        else
            (void)cli_json_append(out, bound, 0); /* the caller checks the buf's error */
    }
    return NULL;
}

static void put_rule(struct buf *out, json_t *rule)
{
    const json_t *lists[LIM_FILTER_DEPTH];
    size_t next[LIM_FILTER_DEPTH];
    size_t depth = 0;
    for (;;) {
        const json_t *members = put_terms(out, rule);
        if (members != NULL && depth < LIM_FILTER_DEPTH) {
            lists[depth] = members;
            next[depth++] = 0;
        }
        for (; depth > 0 && next[depth - 1] == json_array_size(lists[depth - 1]); depth--)
            base_buf_append_byte(out, ')');
        if (depth == 0)
            return;
        if (next[depth - 1] > 0)
            base_buf_append_byte(out, ',');
        rule = json_array_get(lists[depth - 1], next[depth - 1]++);
    }
}

void cli_families_put(struct buf *out, json_t *families)
{
    bool is_first = true;
    const char *name;
    json_t *family;
    json_object_foreach(families, name, family)
    {
        const char *type = json_string_value(json_object_get(family, "type"));
        json_t *rule = json_object_get(family, "gc");
        base_buf_printf(out, "%s%s", is_first ? "" : ",", name);
        is_first = false;
        if (type != NULL)
            base_buf_printf(out, ":type=%s", type);
        if (json_object_size(rule) == 0)
            continue;
        base_buf_append_byte(out, ':');
        put_rule(out, rule);
    }
}
