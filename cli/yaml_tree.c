/*
 * cli/yaml_tree.c - builds a tree from libyaml's events with a stack of open lists and mappings.
 *
 * The parser is driven one event at a time, so that refused syntax cannot grow first: an alias is
 * refused before it is followed, a level before it is entered.
 */
#include "cli/yaml_tree.h"

#include <stdlib.h>
#include <yaml.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "base/text.h"
#include "cli/bounds.h"

#include "base/banned.h"

#define FEW_KEYS 8 /* up to this number, each key is compared with each */

struct level {
    struct cli_yaml_node *node;
    struct cli_yaml_node **tail;
    size_t count;
};

struct building {
    struct cli_yaml *tree;
    struct cli_yaml_error *error;
    struct cli_yaml_node **document_tail;
    struct level open[LIM_JSON_DEPTH];
    size_t depth;
    size_t nodes;
    bool ended;
};

/* --- places ----------------------------------------------------------------------------------- */

static uint32_t place(size_t from_zero)
{
    return from_zero < UINT32_MAX ? (uint32_t)from_zero + 1 : UINT32_MAX;
}

static enum err refuse(struct building *b, const yaml_mark_t *at, enum err e, const char *why)
{
    b->error->line = place(at->line);
    b->error->column = place(at->column);
    return base_fail(&b->error->why, e, "%s", why);
}

/* Converts an offset to line and column; libyaml's reader reports offsets in bytes only. */
static void place_of_offset(struct slice text, size_t offset, struct cli_yaml_error *error)
{
    size_t end = offset < text.len ? offset : text.len;
    size_t line = 0;
    size_t begin = 0;
    for (size_t i = 0; i < end; i++) {
        if (text.ptr[i] != '\n')
            continue;
        line++;
        begin = i + 1;
    }
    error->line = place(line);
    error->column = place(end - begin);
}

/* Returns whether a tab precedes other text on the line, the usual cause of an obscure error. */
static bool is_tabbed(struct slice text, size_t line)
{
    const uint8_t *at = text.ptr;
    const uint8_t *end = text.ptr + text.len;
    for (size_t i = 0; i < line && at != NULL; i++) {
        at = memchr(at, '\n', (size_t)(end - at));
        at = at != NULL ? at + 1 : NULL;
    }
    while (at != NULL && at < end && *at == ' ')
        at++;
    return at != NULL && at < end && *at == '\t';
}

static enum err library_error(const yaml_parser_t *p, struct slice text,
                              struct cli_yaml_error *error)
{
    const char *problem = p->problem != NULL ? p->problem : "it is no YAML";
    if (p->error == YAML_MEMORY_ERROR)
        return base_fail(&error->why, ERR_NO_MEMORY, "out of memory");
    if (p->error == YAML_READER_ERROR) {
        place_of_offset(text, p->problem_offset, error);
        return base_fail(&error->why, ERR_INVALID, "%s", problem);
    }
    error->line = place(p->problem_mark.line);
    error->column = place(p->problem_mark.column);
    return base_fail(&error->why, ERR_INVALID, "%s%s%s%s", p->context != NULL ? p->context : "",
                     p->context != NULL ? ": " : "", problem,
                     is_tabbed(text, p->problem_mark.line)
                         ? "; the line begins with a tab, and only spaces indent"
                         : "");
}

/* --- keys of a mapping ------------------------------------------------------------------------ */

static int compare_keys(const void *a, const void *b)
{
    const struct cli_yaml_node *x = *(struct cli_yaml_node *const *)a;
    const struct cli_yaml_node *y = *(struct cli_yaml_node *const *)b;
    int order = base_slice_compare(x->text, y->text);
    if (order != 0)
        return order;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    return x->column < y->column ? -1 : x->column > y->column ? 1 : 0;
}

/* Returns the first duplicate key in the file's order; NULL: none. */
static struct cli_yaml_node *second_of_a_kind(struct cli_yaml_node **keys, size_t count)
{
    struct cli_yaml_node *found = NULL;
    qsort(keys, count, sizeof(struct cli_yaml_node *), compare_keys);
    for (size_t i = 1; i < count; i++) {
        struct cli_yaml_node *k = keys[i];
        if (!base_slice_equal(k->text, keys[i - 1]->text))
            continue;
        if (found == NULL || k->line < found->line ||
            (k->line == found->line && k->column < found->column))
            found = k;
    }
    return found;
}

static enum err check_keys(struct building *b, const struct level *l)
{
    struct cli_yaml_node *few[FEW_KEYS];
    size_t count = l->count / 2;
    size_t i = 0;
    struct cli_yaml_node **keys =
        count <= FEW_KEYS ? few : base_new_array(count, sizeof(struct cli_yaml_node *));
    for (struct cli_yaml_node *k = l->node->first; k != NULL; k = k->next->next)
        keys[i++] = k;
    struct cli_yaml_node *second = second_of_a_kind(keys, count);
    if (keys != few)
        base_free(keys);
    if (second == NULL)
        return ERR_OK;
    b->error->line = second->line;
    b->error->column = second->column;
    return base_fail(&b->error->why, ERR_INVALID, "\"%.64s\" stands here a second time",
                     (const char *)second->text.ptr);
}

/* --- nodes ------------------------------------------------------------------------------------ */

static bool is_key(const struct building *b)
{
    return b->depth > 0 && b->open[b->depth - 1].node->kind == CLI_YAML_MAP &&
           b->open[b->depth - 1].count % 2 == 0;
}

/* Adds a node of the file at its place in the tree. */
static enum err add(struct building *b, const yaml_event_t *event, enum cli_yaml_kind kind,
                    struct cli_yaml_node **out)
{
    if (is_key(b) && kind != CLI_YAML_SCALAR)
        return refuse(b, &event->start_mark, ERR_INVALID, "a key must be a plain name");
    if (b->nodes == CLI_YAML_NODES)
        return refuse(b, &event->start_mark, ERR_TOO_BIG, "the file has too many parts");
    struct cli_yaml_node *n = base_arena_zalloc(&b->tree->arena, sizeof *n);
    if (n == NULL)
        return refuse(b, &event->start_mark, ERR_NO_MEMORY, "out of memory");
    b->nodes++;
    n->kind = kind;
    n->line = place(event->start_mark.line);
    n->column = place(event->start_mark.column);
    struct cli_yaml_node ***tail = b->depth > 0 ? &b->open[b->depth - 1].tail : &b->document_tail;
    **tail = n;
    *tail = &n->next;
    if (b->depth > 0)
        b->open[b->depth - 1].count++;
    *out = n;
    return ERR_OK;
}

static enum err check_plain(struct building *b, const yaml_event_t *event, const void *anchor,
                            const void *tag)
{
    if (anchor != NULL)
        return refuse(b, &event->start_mark, ERR_INVALID,
                      "anchors and aliases (& and *) are not taken: write it out");
    if (tag != NULL)
        return refuse(b, &event->start_mark, ERR_INVALID, "tags (!) are not taken");
    return ERR_OK;
}

static enum err scalar(struct building *b, const yaml_event_t *event)
{
    struct cli_yaml_node *n = NULL;
    struct slice text = base_slice(event->data.scalar.value, event->data.scalar.length);
    enum err e = check_plain(b, event, event->data.scalar.anchor, event->data.scalar.tag);
    if (e == ERR_OK && (memchr(text.ptr, '\0', text.len) != NULL || !base_utf8_is_valid(text)))
        e = refuse(b, &event->start_mark, ERR_INVALID, "the text holds NUL or is not UTF-8");
    bool is_plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    if (e == ERR_OK && is_plain && is_key(b) && base_slice_is(text, "<<"))
        e = refuse(b, &event->start_mark, ERR_INVALID, "merge keys (<<) are not taken");
    if (e == ERR_OK)
        e = add(b, event, CLI_YAML_SCALAR, &n);
    if (e != ERR_OK)
        return e;
    n->is_plain = is_plain;
    char *copy = base_arena_text(&b->tree->arena, text);
    if (copy == NULL)
        return refuse(b, &event->start_mark, ERR_NO_MEMORY, "out of memory");
    n->text = base_slice(copy, text.len);
    return ERR_OK;
}

static enum err enter(struct building *b, const yaml_event_t *event, enum cli_yaml_kind kind)
{
    bool is_map = kind == CLI_YAML_MAP;
    struct cli_yaml_node *n = NULL;
    enum err e = check_plain(
        b, event, is_map ? event->data.mapping_start.anchor : event->data.sequence_start.anchor,
        is_map ? event->data.mapping_start.tag : event->data.sequence_start.tag);
    if (e == ERR_OK && b->depth == LIM_JSON_DEPTH)
        e = refuse(b, &event->start_mark, ERR_TOO_BIG, "it is nested too deep");
    if (e == ERR_OK)
        e = add(b, event, kind, &n);
    if (e == ERR_OK)
        b->open[b->depth++] = (struct level){.node = n, .tail = &n->first};
    return e;
}

static enum err leave(struct building *b)
{
    INVARIANT(b->depth > 0); /* the library pairs its events */
    struct level *l = &b->open[--b->depth];
    return l->node->kind == CLI_YAML_MAP ? check_keys(b, l) : ERR_OK;
}

static enum err take(struct building *b, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        if (event->data.document_start.tag_directives.start !=
            event->data.document_start.tag_directives.end)
            return refuse(b, &event->start_mark, ERR_INVALID, "directives (%) are not taken");
        return ERR_OK;
    case YAML_ALIAS_EVENT:
        return check_plain(b, event, event->data.alias.anchor, NULL);
    case YAML_SCALAR_EVENT:
        return scalar(b, event);
    case YAML_SEQUENCE_START_EVENT:
        return enter(b, event, CLI_YAML_LIST);
    case YAML_MAPPING_START_EVENT:
        return enter(b, event, CLI_YAML_MAP);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return leave(b);
    case YAML_STREAM_END_EVENT:
        b->ended = true;
        return ERR_OK;
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_DOCUMENT_END_EVENT:
        return ERR_OK;
    }
    return ERR_OK;
}

enum err cli_yaml_parse(struct slice text, struct cli_yaml *out, struct cli_yaml_error *error)
{
    memset(out, 0, sizeof *out);
    *error = (struct cli_yaml_error){.line = 1, .column = 1};
    base_arena_init(&out->arena, CLI_YAML_MEMORY);
    if (text.len > CLI_YAML_BYTES)
        return base_fail(&error->why, ERR_TOO_BIG, "it has more than %lu MiB",
                         CLI_YAML_BYTES / MIB);
    if (text.len == 0)
        return ERR_OK;
    yaml_parser_t parser;
    if (yaml_parser_initialize(&parser) == 0)
        return base_fail(&error->why, ERR_NO_MEMORY, "out of memory");
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, text.ptr, text.len);
    struct building b = {.tree = out, .error = error, .document_tail = &out->documents};
    enum err e = ERR_OK;
    while (e == ERR_OK && !b.ended) {
        yaml_event_t event;
        if (yaml_parser_parse(&parser, &event) == 0) {
            e = library_error(&parser, text, error);
            break;
        }
        e = take(&b, &event);
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    return e;
}

void cli_yaml_fini(struct cli_yaml *y)
{
    base_arena_fini(&y->arena);
    y->documents = NULL;
}

bool cli_yaml_is_empty(const struct cli_yaml_node *n)
{
    return n->kind == CLI_YAML_SCALAR && n->is_plain && n->text.len == 0;
}

bool cli_yaml_is_null(const struct cli_yaml_node *n)
{
    return n->kind == CLI_YAML_SCALAR && n->is_plain &&
           (n->text.len == 0 || base_slice_is(n->text, "null") || base_slice_is(n->text, "~"));
}

const char *cli_yaml_kind_name(const struct cli_yaml_node *n)
{
    return n->kind == CLI_YAML_LIST  ? "a list"
           : n->kind == CLI_YAML_MAP ? "a mapping"
           : cli_yaml_is_empty(n)    ? "nothing"
                                     : "a single value";
}
