/*
 * cli/top_page.c - see top_page.h.
 *
 * Cells are formatted first. A column is as wide as its widest cell; columns are selected by rank
 * while they fit, and printed in their own order. IDs get the rest of the line.
 */
#include "cli/top_page.h"

#include <string.h>

#include "base/clock.h"
#include "cli/text.h"

#include "base/banned.h"

#define GAP              2
#define ID_MIN           14
#define ID_USUAL         24
#define CLOCK_AT         11 /* of 2026-11-20T10:00:00.000Z */
#define CLOCK_LEN        8
#define SECONDS_A_MINUTE 60
#define SECONDS_AN_HOUR  3600
#define SECONDS_A_DAY    86400

/* Wide enough for most values; 79 together without P50, STORED and ROWS. */
static const size_t WIDTHS[CLI_TOP_COLUMNS] = {
    [CLI_TOP_ID] = ID_USUAL, [CLI_TOP_READS] = 8,   [CLI_TOP_WRITES] = 8, [CLI_TOP_IN] = 10,
    [CLI_TOP_OUT] = 10,      [CLI_TOP_REFUSED] = 9, [CLI_TOP_P50] = 8,    [CLI_TOP_P99] = 8,
    [CLI_TOP_STORED] = 10,   [CLI_TOP_ROWS] = 10,
};

struct layout {
    struct buf cells; /* escaped, each ended by '\n', row by row */
    size_t count;     /* rows */
    size_t width[CLI_TOP_COLUMNS];
    bool shown[CLI_TOP_COLUMNS];
};

static void put_uptime(struct buf *out, uint64_t seconds)
{
    if (seconds >= SECONDS_A_DAY)
        base_buf_printf(out, "%llud ", (unsigned long long)(seconds / SECONDS_A_DAY));
    base_buf_printf(out, "%02u:%02u:%02u", (unsigned)(seconds % SECONDS_A_DAY / SECONDS_AN_HOUR),
                    (unsigned)(seconds % SECONDS_AN_HOUR / SECONDS_A_MINUTE),
                    (unsigned)(seconds % SECONDS_A_MINUTE));
}

static void put_title(struct buf *out, const struct cli_top_page *page)
{
    char now[BASE_TIME_TEXT];
    base_time_format(page->wall_us, now);
    base_buf_printf(out, "bigtent top by %s  %.*sZ  every %llu s  bigtentd ",
                    cli_top_order_word(page->order), CLOCK_LEN, now + CLOCK_AT,
                    (unsigned long long)page->interval_s);
    cli_text_escape(out, base_slice_text(page->top->version), CLI_ESCAPE_BACKSLASH);
    base_buf_append_text(out, " up ");
    put_uptime(out, page->top->uptime_s);
    base_buf_append_byte(out, '\n');
}

static void put_totals(struct buf *out, const struct cli_top *top)
{
    static const struct {
        size_t column;
        const char *unit;
    } parts[] = {
        {CLI_TOP_READS, " reads/s"}, {CLI_TOP_WRITES, " writes/s"},     {CLI_TOP_IN, "/s in"},
        {CLI_TOP_OUT, "/s out"},     {CLI_TOP_REFUSED, " throttled/s"},
    };
    cli_text_put_count(out, top->active);
    base_buf_append_text(out, top->active == 1 ? " tenant active" : " tenants active");
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        base_buf_append_text(out, "  ");
        cli_top_cell(out, top, &top->total, parts[i].column, true);
        base_buf_append_text(out, parts[i].unit);
    }
    base_buf_append_byte(out, '\n');
}

static void put_state(struct buf *out, const struct cli_top_page *page)
{
    if (page->is_stale)
        base_buf_printf(out, "STALE, %llu s old: %.*s\n", (unsigned long long)page->age_s,
                        SLICE_ARGS(page->trouble));
    else if (page->is_paused)
        base_buf_printf(out, "PAUSED, %llu s old: q ends, space goes on\n",
                        (unsigned long long)page->age_s);
    else
        base_buf_append_text(out,
                             "q ends, space pauses; by o ops, b bytes, t throttled, l latency\n");
}

static void make_cells(struct layout *l, const struct cli_top *top, size_t rows)
{
    struct buf raw;
    base_buf_init(&raw, CLI_SCREEN_BYTES);
    l->count = top->count < rows ? top->count : rows;
    memcpy(l->width, WIDTHS, sizeof l->width);
    for (size_t i = 0; i < l->count * CLI_TOP_COLUMNS; i++) {
        size_t column = i % CLI_TOP_COLUMNS;
        size_t begin = l->cells.len;
        base_buf_truncate(&raw, 0);
        cli_top_cell(&raw, top, &top->rows[i / CLI_TOP_COLUMNS], column, true);
        cli_text_escape(&l->cells, raw.len > 0 ? base_buf_slice(&raw) : SLICE_LIT("-"),
                        CLI_ESCAPE_BACKSLASH);
        size_t columns = cli_text_columns(base_slice(l->cells.ptr + begin, l->cells.len - begin));
        if (columns > l->width[column])
            l->width[column] = columns;
        base_buf_append_byte(&l->cells, '\n');
    }
    base_buf_fini(&raw);
}

/* Selects the columns that fit, by rank: the columns of the order come first. */
static void fit(struct layout *l, enum cli_top_order order, size_t columns)
{
    static const size_t of_order[][2] = {
        [CLI_TOP_OPS] = {CLI_TOP_READS, CLI_TOP_WRITES},
        [CLI_TOP_BYTES] = {CLI_TOP_IN, CLI_TOP_OUT},
        [CLI_TOP_THROTTLED] = {CLI_TOP_REFUSED, CLI_TOP_READS},
        [CLI_TOP_LATENCY] = {CLI_TOP_P99, CLI_TOP_P50},
    };
    static const size_t ranks[] = {CLI_TOP_READS, CLI_TOP_WRITES, CLI_TOP_REFUSED,
                                   CLI_TOP_P99,   CLI_TOP_OUT,    CLI_TOP_IN,
                                   CLI_TOP_P50,   CLI_TOP_STORED, CLI_TOP_ROWS};
    size_t used = ID_MIN;
    l->shown[CLI_TOP_ID] = true;
    for (size_t i = 0; i < 2 + sizeof ranks / sizeof ranks[0]; i++) {
        size_t c = i < 2 ? of_order[order][i] : ranks[i - 2];
        if (l->shown[c])
            continue;
        if (used + GAP + l->width[c] > columns)
            break; /* a column of lower rank could be mistaken for this one */
        used += GAP + l->width[c];
        l->shown[c] = true;
    }
    size_t left = columns > used ? columns - used : 0;
    if (ID_MIN + left < l->width[CLI_TOP_ID])
        l->width[CLI_TOP_ID] = ID_MIN + left;
}

static void put_spaces(struct buf *out, size_t count)
{
    base_buf_printf(out, "%*s", (int)count, "");
}

static void put_cell(struct buf *out, const struct layout *l, size_t column, struct slice text)
{
    if (!l->shown[column])
        return;
    size_t width = l->width[column];
    size_t columns = cli_text_columns(text);
    if (CLI_TOP_HEADERS[column].right) {
        put_spaces(out, GAP + width - columns);
        base_buf_append(out, text);
    } else if (columns <= width) {
        base_buf_append(out, text);
        put_spaces(out, width - columns);
    } else {
        struct slice cut = cli_text_cut(text, width - 1);
        base_buf_append(out, cut);
        base_buf_append_byte(out, '~');
        put_spaces(out, width - 1 - cli_text_columns(cut));
    }
}

void cli_top_page_put(struct buf *out, const struct cli_top_page *page, struct cli_screen_size size)
{
    struct layout l = {0};
    base_buf_init(&l.cells, CLI_SCREEN_BYTES);
    put_title(out, page);
    put_totals(out, page->top);
    put_state(out, page);
    size_t rows = size.rows > CLI_TOP_PAGE_HEAD ? size.rows - CLI_TOP_PAGE_HEAD : 0;
    make_cells(&l, page->top, rows);
    fit(&l, page->order, size.columns - 1);
    for (size_t c = 0; c < CLI_TOP_COLUMNS; c++)
        put_cell(out, &l, c, base_slice_text(CLI_TOP_HEADERS[c].header));
    base_buf_append_byte(out, '\n');
    struct slice rest = base_buf_slice(&l.cells);
    for (size_t column = 0; rest.len > 0; column = (column + 1) % CLI_TOP_COLUMNS) {
        const uint8_t *end = memchr(rest.ptr, '\n', rest.len);
        size_t len = (size_t)(end - rest.ptr);
        put_cell(out, &l, column, base_slice(rest.ptr, len));
        if (column + 1 == CLI_TOP_COLUMNS)
            base_buf_append_byte(out, '\n');
        rest = base_slice_skip(rest, len + 1);
    }
    base_buf_fini(&l.cells);
}
