/* cli/apply.c - see apply.h. */
#include "cli/apply.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/out.h"

#include "base/banned.h"

#define FIRST_ITEMS 64

void cli_apply_init(struct cli_apply *a)
{
    memset(a, 0, sizeof *a);
}

void cli_apply_fini(struct cli_apply *a)
{
    for (size_t i = 0; i < a->count; i++) {
        json_decref(a->items[i].doc);
        json_decref(a->items[i].present);
        json_decref(a->items[i].body);
        json_decref(a->items[i].changes);
    }
    base_free(a->items);
    memset(a, 0, sizeof *a);
}

static void grow(struct cli_apply *a)
{
    size_t capacity = a->capacity == 0 ? FIRST_ITEMS : 2 * a->capacity;
    struct cli_apply_item *items = base_new_array(capacity, sizeof *items);
    if (a->count > 0)
        memcpy(items, a->items, a->count * sizeof *items);
    base_free(a->items);
    a->items = items;
    a->capacity = capacity;
}

struct cli_apply_item *cli_apply_add(struct cli_apply *a, enum cli_apply_kind kind,
                                     struct cli_apply_place at, json_t *doc)
{
    if (a->count == a->capacity)
        grow(a);
    struct cli_apply_item *item = &a->items[a->count];
    *item = (struct cli_apply_item){
        .kind = kind,
        .at = at,
        .number = a->count,
        .doc = doc,
        .id = json_string_value(json_object_get(doc, "id")),
        .tenant = json_string_value(json_object_get(doc, "tenant")),
        .absent = json_is_true(json_object_get(doc, "absent")),
    };
    INVARIANT(item->id != NULL);
    a->count++;
    return item;
}

/* --- order ------------------------------------------------------------------------------------ */

static int compare_numbers(size_t a, size_t b)
{
    return a < b ? -1 : a > b ? 1 : 0;
}

static int by_order(const void *a, const void *b)
{
    const struct cli_apply_item *x = a;
    const struct cli_apply_item *y = b;
    int order = compare_numbers((size_t)x->kind, (size_t)y->kind);
    return order != 0 ? order : compare_numbers(x->number, y->number);
}

static int compare_names(const struct cli_apply_item *x, const struct cli_apply_item *y)
{
    int order = compare_numbers((size_t)x->kind, (size_t)y->kind);
    if (order == 0 && x->tenant != NULL)
        order = strcmp(x->tenant, y->tenant);
    if (order == 0 && x->kind == CLI_APPLY_SHARED_KEY)
        order = strcmp(cli_apply_kind_name(x), cli_apply_kind_name(y));
    return order != 0 ? order : strcmp(x->id, y->id);
}

static int by_name(const void *a, const void *b)
{
    const struct cli_apply_item *x = *(const struct cli_apply_item *const *)a;
    const struct cli_apply_item *y = *(const struct cli_apply_item *const *)b;
    int order = compare_names(x, y);
    return order != 0 ? order : compare_numbers(x->number, y->number);
}

void cli_apply_sort(struct cli_apply *a)
{
    if (a->count == 0)
        return;
    qsort(a->items, a->count, sizeof a->items[0], by_order);
    const struct cli_apply_item **named =
        base_new_array(a->count, sizeof(const struct cli_apply_item *));
    for (size_t i = 0; i < a->count; i++)
        named[i] = &a->items[i];
    qsort(named, a->count, sizeof(const struct cli_apply_item *), by_name);
    for (size_t i = 1; i < a->count; i++) {
        const struct cli_apply_place *first = &named[i - 1]->at;
        if (compare_names(named[i - 1], named[i]) == 0)
            cli_apply_complain(a, named[i]->at, "%s \"%.130s\" is described already, at %s:%u",
                               cli_apply_kind_name(named[i]), named[i]->id, first->file,
                               first->line);
    }
    base_free(named);
}

/* --- errors ----------------------------------------------------------------------------------- */

void cli_apply_complain(struct cli_apply *a, struct cli_apply_place at, const char *format, ...)
{
    if (a->error_count++ >= CLI_APPLY_ERRORS)
        return;
    struct cli_apply_error *error = &a->errors[a->error_count - 1];
    error->at = at;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(error->why.text, sizeof error->why.text, format, args); /* cut at its end */
    va_end(args);
}

enum cli_exit cli_apply_say_errors(const struct cli_apply *a)
{
    for (size_t i = 0; i < a->error_count && i < CLI_APPLY_ERRORS; i++) {
        const struct cli_apply_error *error = &a->errors[i];
        cli_say("%s:%u:%u: %s", error->at.file, error->at.line, error->at.column, error->why.text);
    }
    if (a->error_count > CLI_APPLY_ERRORS)
        cli_say("and %zu more errors", a->error_count - CLI_APPLY_ERRORS);
    return a->error_count > 0 ? CLI_USAGE : CLI_OK;
}

const char *cli_apply_kind_name(const struct cli_apply_item *item)
{
    static const char *const NAMES[] = {
        [CLI_APPLY_PLAN] = "plan",
        [CLI_APPLY_TENANT] = "tenant",
        [CLI_APPLY_TABLE] = "table",
        [CLI_APPLY_KEY] = "key",
    };
    if (item->kind != CLI_APPLY_SHARED_KEY)
        return NAMES[item->kind];
    const char *kind = json_string_value(json_object_get(item->doc, "kind"));
    return kind != NULL && strcmp(kind, "operator") == 0 ? "operator key" : "service key";
}
