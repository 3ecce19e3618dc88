/* cli/apply_show.c - see apply_show.h. */
#include "cli/apply_show.h"

#include <string.h>

#include "base/buf.h"
#include "cli/families.h"
#include "cli/json_text.h"
#include "cli/out.h"
#include "cli/text.h"

#include "base/banned.h"

#define FAMILIES "families."

struct cli_apply_counts cli_apply_count(const struct cli_apply *a)
{
    struct cli_apply_counts counts = {0};
    for (size_t i = 0; i < a->count; i++) {
        counts.each[a->items[i].verb]++;
        counts.unresolved += a->items[i].waits || a->items[i].unlike != NULL;
    }
    return counts;
}

/* --- values ----------------------------------------------------------------------------------- */

/* Formats a number as in the file. */
static void put_number(struct buf *out, const char *field, json_int_t number)
{
    static const char UNITS[] = "KMGT";
    size_t unit = 0;
    if (strstr(field, "bytes") != NULL)
        for (; unit < 4 && number != 0 && number % 1024 == 0; unit++)
            number /= 1024;
    base_buf_printf(out, "%lld", (long long)number);
    if (unit > 0)
        base_buf_append_byte(out, (uint8_t)UNITS[unit - 1]);
}

static void put_value(struct buf *out, const char *field, const json_t *value)
{
    if (json_is_string(value))
        base_buf_append_text(out,
                             json_string_length(value) > 0 ? json_string_value(value) : "\"\"");
    else if (json_is_integer(value))
        put_number(out, field, json_integer_value(value));
    else if (json_is_null(value))
        base_buf_append_text(out, "none");
    else
        (void)cli_json_append(out, value, 0); /* the caller checks the buf's error */
}

/* Appends a family as "stats:max_versions=3". */
static void put_family(struct buf *out, const char *name, const json_t *family)
{
    if (!json_is_object(family)) {
        put_value(out, name, family);
        return;
    }
    json_t *families = json_object();
    json_object_set(families, name, (json_t *)(uintptr_t)family);
    cli_families_put(out, families);
    json_decref(families);
}

/* Appends a suspension as "writes: unpaid". */
static void put_suspension(struct buf *out, const json_t *value)
{
    const char *access = json_string_value(json_object_get(value, "access"));
    const char *reason = json_string_value(json_object_get(value, "reason"));
    if (access == NULL)
        base_buf_append_text(out, "no");
    else
        base_buf_printf(out, "%s: %s", access, reason != NULL ? reason : "");
}

/* Appends a value of this field. */
static void put_field(struct buf *out, const char *field, const json_t *value)
{
    bool is_family = strncmp(field, FAMILIES, strlen(FAMILIES)) == 0;
    if (is_family)
        put_family(out, field + strlen(FAMILIES), value);
    else if (strcmp(field, "suspended") == 0)
        put_suspension(out, value);
    else
        put_value(out, field, value);
}

static void put_change(struct buf *out, const json_t *change)
{
    const char *field = json_string_value(json_object_get(change, "field"));
    const json_t *from = json_object_get(change, "from");
    const json_t *to = json_object_get(change, "to");
    bool is_family = strncmp(field, FAMILIES, strlen(FAMILIES)) == 0;
    base_buf_printf(out, "%s ", is_family ? "family" : field);
    if (from != NULL) {
        put_field(out, field, from);
        base_buf_append_text(out, " -> ");
    }
    put_field(out, field, to);
}

/* --- lines ------------------------------------------------------------------------------------ */

static void print_line(struct buf *line)
{
    struct buf safe;
    base_buf_init(&safe, CLI_TEXT_BYTES);
    cli_text_escape(&safe, base_buf_slice(line), CLI_ESCAPE_CONTROLS);
    base_buf_append_byte(&safe, '\n');
    cli_out_bytes(base_buf_slice(&safe));
    base_buf_fini(&safe);
    base_buf_truncate(line, 0);
}

static void put_subject(struct buf *out, const struct cli_apply_item *item)
{
    base_buf_printf(out, "%c %s ", " +~-"[item->verb], cli_apply_kind_name(item));
    if (item->tenant != NULL)
        base_buf_printf(out, "%s/", item->tenant);
    base_buf_append_text(out, item->id);
}

static void show_item(const struct cli_apply_item *item, struct buf *line)
{
    size_t i;
    json_t *change;
    put_subject(line, item);
    if (item->verb == CLI_APPLY_CHANGE && json_array_size(item->changes) == 1) {
        base_buf_append_byte(line, ' ');
        put_change(line, json_array_get(item->changes, 0));
        print_line(line);
        return;
    }
    print_line(line);
    json_array_foreach(item->changes, i, change)
    {
        base_buf_append_text(line, "    ");
        put_change(line, change);
        print_line(line);
    }
}

static void print_json(json_t *line)
{
    cli_json_print(line);
    json_decref(line);
}

static void show_item_json(const struct cli_apply_item *item)
{
    static const char *const VERBS[] = {"keep", "create", "change", "remove"};
    print_json(json_pack("{s:s, s:s, s:s*, s:s, s:s, s:i, s:O}", "action", VERBS[item->verb],
                         "kind", cli_apply_kind_name(item), "tenant", item->tenant, "id", item->id,
                         "file", item->at.file, "line", (int)item->at.line, "fields",
                         item->changes));
}

void cli_apply_show(const struct cli_apply *a, bool as_json)
{
    struct cli_apply_counts n = cli_apply_count(a);
    struct buf line;
    base_buf_init(&line, CLI_TEXT_BYTES);
    for (size_t i = 0; i < a->count; i++) {
        if (a->items[i].verb == CLI_APPLY_KEEP)
            continue;
        if (as_json)
            show_item_json(&a->items[i]);
        else
            show_item(&a->items[i], &line);
    }
    base_buf_fini(&line);
    if (as_json)
        print_json(json_pack(
            "{s:{s:I, s:I, s:I, s:I, s:I}}", "summary", "create",
            (json_int_t)n.each[CLI_APPLY_CREATE], "change", (json_int_t)n.each[CLI_APPLY_CHANGE],
            "remove", (json_int_t)n.each[CLI_APPLY_REMOVE], "unchanged",
            (json_int_t)n.each[CLI_APPLY_KEEP], "unresolved", (json_int_t)n.unresolved));
    else
        cli_out_printf("%zu to create, %zu to change, %zu to remove, %zu unchanged\n",
                       n.each[CLI_APPLY_CREATE], n.each[CLI_APPLY_CHANGE], n.each[CLI_APPLY_REMOVE],
                       n.each[CLI_APPLY_KEEP]);
}

void cli_apply_show_unresolved(const struct cli_apply *a)
{
    for (size_t i = 0; i < a->count; i++) {
        const struct cli_apply_item *item = &a->items[i];
        if (item->unseen)
            cli_say("%s:%u:%u: tenant \"%s\" is suspended: its tables cannot be compared%s",
                    item->at.file, item->at.line, item->at.column, item->tenant,
                    item->waits ? "; run it again when it is resumed" : "");
        else if (item->unlike != NULL)
            cli_say("%s:%u:%u: %s \"%s\" has other %s than the file says, and keys never change: "
                    "revoke it, or give the new one another label",
                    item->at.file, item->at.line, item->at.column, cli_apply_kind_name(item),
                    item->id, item->unlike);
    }
}
