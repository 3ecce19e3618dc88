/*
 * tests/fuzz/fuzz_move_map.c - the mapping file of `bigtent move-in` (cli/move_map.h).
 *
 * The input is a file.
 *   - It is taken, or every error that is kept has a place and a sentence.
 *   - A database that was taken lies below its directory, a foreign table has a whole name.
 *   - No two sources that were taken can give one cell: of one table, their prefixes do not begin
 *     one another where their families may be the same.
 */
#include "cli/json_text.h"
#include "cli/move_map.h"
#include "tests/fuzz/fuzz.h"

#include "base/banned.h"

#define COMPARED 64 /* sources; all pairs of more take too long */

static void expect_errors_told(const struct cli_apply *a)
{
    for (size_t i = 0; i < a->error_count && i < CLI_APPLY_ERRORS; i++) {
        fuzz_expect_told(ERR_INVALID, &a->errors[i].why);
        INVARIANT(a->errors[i].at.line >= 1 && a->errors[i].at.column >= 1);
    }
}

static void expect_source(const struct cli_move_source *s)
{
    INVARIANT((s->database != NULL) != (s->from_table != NULL));
    INVARIANT(s->tenant[0] != '\0' && s->table[0] != '\0');
    INVARIANT(s->row_prefix.len <= LIM_ROW_KEY && s->strip_prefix.len <= LIM_ROW_KEY);
    if (s->database != NULL) {
        INVARIANT(s->database[0] != '/' && s->family[0] != '\0');
        INVARIANT(strcmp(s->database, "..") != 0 && strncmp(s->database, "../", 3) != 0);
        INVARIANT(strstr(s->database, "/../") == NULL);
        INVARIANT(s->part_count >= 1 && s->part_count <= CLI_MOVE_PARTS);
        INVARIANT(s->parts[0] == CLI_MOVE_ROW);
    } else {
        INVARIANT(strncmp(s->from_table, "projects/", 9) == 0 && s->family[0] == '\0');
        INVARIANT(strpbrk(s->from_table, " \r\n%?&#") == NULL);
    }
}

static void expect_apart(const struct cli_move_source *a, const struct cli_move_source *b)
{
    if (strcmp(a->tenant, b->tenant) != 0 || strcmp(a->table, b->table) != 0)
        return;
    bool any_family = a->from_table != NULL || b->from_table != NULL;
    if (!any_family && strcmp(a->family, b->family) != 0)
        return;
    INVARIANT((a->from_table == NULL) == (b->from_table == NULL));
    INVARIANT(!base_slice_starts_with(a->row_prefix, b->row_prefix));
    INVARIANT(!base_slice_starts_with(b->row_prefix, a->row_prefix));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cli_apply a;
    struct cli_move_map map;
    cli_json_init();
    cli_apply_init(&a);
    cli_move_map_parse(&map, &a, "f", base_slice(data, size));
    expect_errors_told(&a);
    for (size_t i = 0; i < map.count && a.error_count == 0; i++) {
        expect_source(&map.sources[i]);
        for (size_t j = 0; j < i && i < COMPARED; j++)
            expect_apart(&map.sources[i], &map.sources[j]);
    }
    cli_move_map_fini(&map);
    cli_apply_fini(&a);
    return 0;
}
