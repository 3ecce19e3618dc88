/*
 * tests/fuzz/fuzz_apply.c - files of `bigtent apply` (cli/apply_read.h, apply_compare.h).
 *
 * The input is a file.
 *   - It is taken, or every error that is kept has a place in the file and a sentence.
 *   - Read twice it says the same.
 *   - When all that it says was made, comparing again finds nothing to do.
 */
#include "cli/apply_compare.h"
#include "cli/apply_read.h"
#include "cli/json_text.h"
#include "tests/fuzz/fuzz.h"

#include "base/banned.h"

static void read_file(struct cli_apply *a, struct slice text)
{
    cli_apply_init(a);
    cli_apply_read(a, "f", text);
    cli_apply_sort(a);
}

static void expect_errors_told(const struct cli_apply *a, struct slice text)
{
    size_t lines = 1;
    for (size_t i = 0; i < text.len; i++)
        lines += text.ptr[i] == '\n' || text.ptr[i] == '\r' || text.ptr[i] >= 0x80;
    for (size_t i = 0; i < a->error_count && i < CLI_APPLY_ERRORS; i++) {
        fuzz_expect_told(ERR_INVALID, &a->errors[i].why);
        INVARIANT(a->errors[i].at.line >= 1 && a->errors[i].at.line <= lines + 1);
        INVARIANT(a->errors[i].at.column >= 1);
    }
}

/* What the server would show of an item that was made. */
static json_t *made(const struct cli_apply_item *item)
{
    json_t *shown = json_deep_copy(item->body);
    if (item->kind == CLI_APPLY_TENANT)
        json_object_set(shown, "own_quota", json_object_get(item->body, "quota"));
    if (item->kind == CLI_APPLY_TENANT && json_object_get(shown, "plan") == NULL)
        json_object_set_new(shown, "plan", json_null());
    if (item->kind < CLI_APPLY_KEY)
        return shown;
    json_t *list = json_array();
    json_array_append_new(list, shown);
    return list;
}

static void expect_nothing_to_do(struct slice text, const struct cli_apply *first,
                                 const json_t *plans)
{
    struct cli_apply a;
    read_file(&a, text);
    INVARIANT(a.count == first->count && a.error_count == 0);
    for (size_t i = 0; i < a.count; i++)
        if (first->items[i].verb == CLI_APPLY_CREATE)
            a.items[i].present = made(&first->items[i]);
    cli_apply_compare(&a, plans);
    for (size_t i = 0; i < a.count; i++) {
        bool suspends = json_object_get(a.items[i].doc, "suspended") != NULL;
        INVARIANT(suspends || (a.items[i].verb == CLI_APPLY_KEEP && a.items[i].unlike == NULL));
    }
    cli_apply_fini(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice text = base_slice(data, size);
    struct cli_apply a;
    cli_json_init();
    read_file(&a, text);
    expect_errors_told(&a, text);
    if (a.error_count == 0) {
        json_t *plans = json_object();
        cli_apply_compare(&a, plans);
        expect_errors_told(&a, text);
        if (a.error_count == 0)
            expect_nothing_to_do(text, &a, plans);
        json_decref(plans);
    }
    cli_apply_fini(&a);
    return 0;
}
