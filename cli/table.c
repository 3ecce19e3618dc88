/*
 * cli/table.c - see table.h.
 *
 * Escaped text cannot contain '\n', so '\n' separates held cells.
 */
#include "cli/table.h"

#include "cli/out.h"
#include "cli/text.h"

#include "base/banned.h"

#define GAP        "  "
#define CELL_BYTES (8UL * CLI_CELL_COLUMNS) /* of raw text: always enough to fill the columns */

void cli_table_begin(struct cli_table *t, const struct cli_column *columns, size_t column_count)
{
    INVARIANT(column_count > 0 && column_count <= CLI_TABLE_COLUMNS);
    memset(t, 0, sizeof *t);
    t->columns = columns;
    t->column_count = column_count;
    t->terminal = cli_out_is_terminal();
    base_buf_init(&t->held, CLI_TEXT_BYTES);
    for (size_t i = 0; i < column_count; i++)
        t->width[i] = (unsigned)strlen(columns[i].header);
}

static void print_padding(unsigned count)
{
    static const char spaces[] = "                                ";
    while (count > 0) {
        unsigned n = count < sizeof spaces - 1 ? count : (unsigned)sizeof spaces - 1;
        cli_out_bytes(base_slice(spaces, n));
        count -= n;
    }
}

static void print_cell(const struct cli_table *t, size_t column, struct slice text)
{
    bool last = column + 1 == t->column_count;
    unsigned used = (unsigned)cli_text_columns(text);
    unsigned pad = used < t->width[column] ? t->width[column] - used : 0;
    if (t->columns[column].right)
        print_padding(pad);
    cli_out_bytes(text);
    if (!t->columns[column].right && !last)
        print_padding(pad);
    cli_out_text(last ? "\n" : GAP);
}

static void print_held(struct cli_table *t)
{
    struct slice rest = base_buf_slice(&t->held);
    INVARIANT(t->column_count > 0);
    for (size_t column = 0; rest.len > 0; column = (column + 1) % t->column_count) {
        const uint8_t *end = memchr(rest.ptr, '\n', rest.len);
        size_t len = (size_t)(end - rest.ptr);
        print_cell(t, column, base_slice(rest.ptr, len));
        rest = base_slice_skip(rest, len + 1);
    }
    base_buf_truncate(&t->held, 0);
    t->held_rows = 0;
}

static void flow(struct cli_table *t)
{
    for (size_t i = 0; i < t->column_count; i++)
        print_cell(t, i, base_slice_text(t->columns[i].header));
    print_held(t);
    t->flowing = true;
}

static void hold_cell(struct cli_table *t, size_t column, struct slice cell)
{
    size_t begin = t->held.len;
    struct slice shown = cell;
    if (shown.len > CELL_BYTES)
        shown.len = CELL_BYTES;
    cli_text_escape(&t->held, shown, CLI_ESCAPE_BACKSLASH);
    INVARIANT(t->held.error == ERR_OK);
    struct slice text = base_slice(t->held.ptr + begin, t->held.len - begin);
    struct slice cut = cli_text_cut(text, CLI_CELL_COLUMNS);
    if (cut.len < text.len || shown.len < cell.len) {
        base_buf_truncate(&t->held, begin + cut.len);
        base_buf_printf(&t->held, "... (%zu bytes)", cell.len);
        text = base_slice(t->held.ptr + begin, t->held.len - begin);
    }
    size_t columns = cli_text_columns(text);
    if (columns > t->width[column] && columns <= CLI_TABLE_PAD_MAX)
        t->width[column] = (unsigned)columns;
    base_buf_append_byte(&t->held, '\n');
}

static void print_plain(struct cli_table *t, const struct slice *cells)
{
    base_buf_truncate(&t->held, 0);
    for (size_t i = 0; i < t->column_count; i++) {
        bool last = i + 1 == t->column_count;
        unsigned how = CLI_ESCAPE_BACKSLASH | (last ? 0U : CLI_ESCAPE_SPACE);
        if (cells[i].len == 0)
            base_buf_append_byte(&t->held, '-');
        cli_text_escape(&t->held, cells[i], how);
        base_buf_append_byte(&t->held, last ? '\n' : ' ');
    }
    INVARIANT(t->held.error == ERR_OK);
    cli_out_bytes(base_buf_slice(&t->held));
}

void cli_table_row(struct cli_table *t, const struct slice *cells)
{
    if (!t->terminal) {
        print_plain(t, cells);
        return;
    }
    for (size_t i = 0; i < t->column_count; i++)
        hold_cell(t, i, cells[i].len == 0 ? SLICE_LIT("-") : cells[i]);
    t->held_rows++;
    if (t->flowing)
        print_held(t);
    else if (t->held_rows >= CLI_TABLE_WINDOW_ROWS || t->held.len >= CLI_TABLE_WINDOW_BYTES)
        flow(t);
}

void cli_table_end(struct cli_table *t)
{
    if (t->terminal && !t->flowing && t->held_rows > 0)
        flow(t);
    base_buf_fini(&t->held);
}
