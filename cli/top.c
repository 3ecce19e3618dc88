/* cli/top.c - see top.h. */
#include "cli/top.h"

#include <stdlib.h>
#include <string.h>

#include "cli/text.h"

#include "base/banned.h"

#define MS_PER_S  1000
#define US_PER_MS 1000
#define US_PER_S  1000000

const struct cli_column CLI_TOP_HEADERS[CLI_TOP_COLUMNS] = {
    [CLI_TOP_ID] = {"TENANT", false},      [CLI_TOP_READS] = {"READS/S", true},
    [CLI_TOP_WRITES] = {"WRITES/S", true}, [CLI_TOP_IN] = {"IN/S", true},
    [CLI_TOP_OUT] = {"OUT/S", true},       [CLI_TOP_REFUSED] = {"THROTTLED", true},
    [CLI_TOP_P50] = {"P50", true},         [CLI_TOP_P99] = {"P99", true},
    [CLI_TOP_STORED] = {"STORED", true},   [CLI_TOP_ROWS] = {"ROWS", true},
};

static const char *const ORDERS[] = {
    [CLI_TOP_OPS] = "ops",
    [CLI_TOP_BYTES] = "bytes",
    [CLI_TOP_THROTTLED] = "throttled",
    [CLI_TOP_LATENCY] = "latency",
};
#define ORDER_COUNT (sizeof ORDERS / sizeof ORDERS[0])

const char *cli_top_order_word(enum cli_top_order order)
{
    return (size_t)order < ORDER_COUNT ? ORDERS[order] : NULL;
}

bool cli_top_order_parse(const char *word, enum cli_top_order *out)
{
    for (size_t i = 0; i < ORDER_COUNT; i++) {
        if (strcmp(word, ORDERS[i]) != 0)
            continue;
        *out = (enum cli_top_order)i;
        return true;
    }
    return false;
}

/* --- reading ------------------------------------------------------------------------------------
 */

static uint64_t number(const json_t *object, const char *name)
{
    json_int_t n = json_integer_value(json_object_get(object, name));
    return n > 0 ? (uint64_t)n : 0;
}

static struct cli_top_row row_of(const json_t *object)
{
    return (struct cli_top_row){
        .id = json_string_value(json_object_get(object, "id")),
        .read_ops = number(object, "read_ops"),
        .write_ops = number(object, "write_ops"),
        .bytes_in = number(object, "bytes_in"),
        .bytes_out = number(object, "bytes_out"),
        .throttled = number(object, "throttled"),
        .p50_us = number(object, "latency_p50_us"),
        .p99_us = number(object, "latency_p99_us"),
        .stored_bytes = number(object, "bytes"),
        .rows = number(object, "rows"),
    };
}

bool cli_top_read(struct cli_top *top, json_t *doc)
{
    const json_t *list = json_object_get(doc, "tenants");
    const json_t *server = json_object_get(doc, "server");
    const char *version = json_string_value(json_object_get(server, "version"));
    uint64_t interval_ms = number(doc, "interval_ms");
    size_t count = json_array_size(list);
    bool good = json_is_array(list) && count <= LIM_TOP_TENANTS && interval_ms > 0;
    for (size_t i = 0; good && i < count; i++)
        good = json_is_string(json_object_get(json_array_get(list, i), "id"));
    if (!good) {
        json_decref(doc);
        return false;
    }
    json_decref(top->doc);
    top->doc = doc;
    top->version = version != NULL ? version : "";
    top->uptime_s = number(server, "uptime_s");
    top->interval_ms = interval_ms;
    top->active = number(doc, "active");
    top->total = row_of(json_object_get(doc, "total"));
    top->count = count;
    for (size_t i = 0; i < count; i++)
        top->rows[i] = row_of(json_array_get(list, i));
    return true;
}

void cli_top_fini(struct cli_top *top)
{
    json_decref(top->doc);
    top->doc = NULL;
}

/* --- orders -------------------------------------------------------------------------------------
 */

static uint64_t value_of(const struct cli_top_row *r, enum cli_top_order order)
{
    switch (order) {
    case CLI_TOP_BYTES:
        return r->bytes_in + r->bytes_out;
    case CLI_TOP_THROTTLED:
        return r->throttled;
    case CLI_TOP_LATENCY:
        return r->p99_us;
    case CLI_TOP_OPS:
    default:
        return r->read_ops + r->write_ops;
    }
}

static int compare(const void *a, const void *b)
{
    const struct cli_top_row *x = a;
    const struct cli_top_row *y = b;
    if (x->value != y->value)
        return x->value > y->value ? -1 : 1;
    return strcmp(x->id, y->id);
}

void cli_top_sort(struct cli_top *top, enum cli_top_order order)
{
    for (size_t i = 0; i < top->count; i++)
        top->rows[i].value = value_of(&top->rows[i], order);
    if (top->count > 0)
        qsort(top->rows, top->count, sizeof top->rows[0], compare);
}

/* --- cells --------------------------------------------------------------------------------------
 */

static void put_rate(struct buf *out, const struct cli_top *top, uint64_t amount, bool readable)
{
    double rate = (double)amount * MS_PER_S / (double)top->interval_ms;
    if (readable && rate >= 99.95)
        cli_text_put_count(out, (uint64_t)(rate + 0.5));
    else
        base_buf_printf(out, "%.1f", rate);
}

static void put_byte_rate(struct buf *out, const struct cli_top *top, uint64_t bytes, bool readable)
{
    if (readable)
        cli_text_put_bytes(out,
                           (uint64_t)((double)bytes * MS_PER_S / (double)top->interval_ms + 0.5));
    else
        put_rate(out, top, bytes, false);
}

static void put_latency(struct buf *out, uint64_t us, bool readable)
{
    if (us == 0)
        return;
    if (!readable)
        base_buf_append_u64(out, us);
    else if (us < US_PER_MS)
        base_buf_printf(out, "%u us", (unsigned)us);
    else if (us < US_PER_S)
        base_buf_printf(out, "%.1f ms", (double)us / US_PER_MS);
    else
        base_buf_printf(out, "%.1f s", (double)us / US_PER_S);
}

static void put_amount(struct buf *out, uint64_t amount, bool is_bytes, bool readable)
{
    if (!readable)
        base_buf_append_u64(out, amount);
    else if (is_bytes)
        cli_text_put_bytes(out, amount);
    else
        cli_text_put_count(out, amount);
}

void cli_top_cell(struct buf *out, const struct cli_top *top, const struct cli_top_row *row,
                  size_t column, bool readable)
{
    switch (column) {
    case CLI_TOP_ID:
        base_buf_append_text(out, row->id);
        break;
    case CLI_TOP_READS:
        put_rate(out, top, row->read_ops, readable);
        break;
    case CLI_TOP_WRITES:
        put_rate(out, top, row->write_ops, readable);
        break;
    case CLI_TOP_IN:
        put_byte_rate(out, top, row->bytes_in, readable);
        break;
    case CLI_TOP_OUT:
        put_byte_rate(out, top, row->bytes_out, readable);
        break;
    case CLI_TOP_REFUSED:
        put_rate(out, top, row->throttled, readable);
        break;
    case CLI_TOP_P50:
        put_latency(out, row->p50_us, readable);
        break;
    case CLI_TOP_P99:
        put_latency(out, row->p99_us, readable);
        break;
    case CLI_TOP_STORED:
        put_amount(out, row->stored_bytes, true, readable);
        break;
    default:
        put_amount(out, row->rows, false, readable);
    }
}
