/*
 * tests/fuzz/fuzz_transfer.c - what an import reads: manifests (cli/transfer_manifest.h) and
 * records (cli/transfer_record.h).
 *
 * The first byte says which of them the rest is.
 *   - A manifest is taken, or refused with a sentence; what was taken names no path.
 *   - Records end where a whole buffer says, also when it comes in two pieces.
 *   - A record that was read and written in either encoding is read as the same cell.
 */
#include "cli/json_text.h"
#include "cli/transfer_manifest.h"
#include "tests/fuzz/fuzz.h"

#include "base/banned.h"

#define HOLDER_BYTES (1 * MIB)

static void read_manifest(struct slice text)
{
    struct cli_manifest m;
    struct errbuf why = {0};
    bool good = cli_manifest_parse(text, &m, &why);
    fuzz_expect_told(good ? ERR_OK : ERR_INVALID, &why);
    if (!good)
        return;
    for (size_t i = 0; i < m.table_count; i++) {
        INVARIANT(m.tables[i].id[0] != '\0' && m.tables[i].id[0] != '.');
        INVARIANT(strchr(m.tables[i].id, '/') == NULL);
        for (size_t j = 1; j < m.tables[i].file_count; j++)
            INVARIANT(m.tables[i].files[j - 1].number < m.tables[i].files[j].number);
    }
    cli_manifest_fini(&m);
}

static void expect_cell(const struct cli_cell *cell, enum cli_encoding encoding)
{
    struct buf text;
    struct buf holder;
    struct cli_cell again;
    struct cli_record_scan scan = {0};
    const char *why = NULL;
    size_t len = 0;
    base_buf_init(&text, HOLDER_BYTES);
    base_buf_init(&holder, HOLDER_BYTES);
    cli_record_put(&text, encoding, cell);
    INVARIANT(text.error == ERR_OK);
    INVARIANT(cli_record_end(encoding, base_buf_slice(&text), &scan, &len) && len == text.len - 1);
    INVARIANT(cli_record_read(encoding, base_slice(text.ptr, len), &holder, &again, &why));
    INVARIANT(base_slice_equal(cell->key, again.key) && base_slice_equal(cell->value, again.value));
    INVARIANT(base_slice_equal(cell->family, again.family));
    INVARIANT(base_slice_equal(cell->qualifier, again.qualifier));
    INVARIANT(cell->timestamp_us == again.timestamp_us);
    base_buf_fini(&holder);
    base_buf_fini(&text);
}

/* Names of the server need no quotes in CSV; others are not written. */
static bool is_plain_family(struct slice family)
{
    return memchr(family.ptr, ',', family.len) == NULL &&
           memchr(family.ptr, '"', family.len) == NULL &&
           memchr(family.ptr, '\n', family.len) == NULL &&
           memchr(family.ptr, '\r', family.len) == NULL;
}

static void read_record(enum cli_encoding encoding, struct slice bytes, size_t cut)
{
    struct cli_record_scan whole = {0};
    struct cli_record_scan pieces = {0};
    size_t len = 0;
    size_t same = 0;
    bool ends = cli_record_end(encoding, bytes, &whole, &len);
    cut = cut < bytes.len ? cut : bytes.len;
    bool early = cli_record_end(encoding, base_slice(bytes.ptr, cut), &pieces, &same);
    INVARIANT((early || cli_record_end(encoding, bytes, &pieces, &same)) == ends);
    INVARIANT(same == len);
    if (!ends)
        return;
    struct buf holder;
    struct cli_cell cell;
    const char *why = NULL;
    base_buf_init(&holder, HOLDER_BYTES);
    bool good = cli_record_read(encoding, base_slice(bytes.ptr, len), &holder, &cell, &why);
    INVARIANT(good || why != NULL);
    if (good)
        expect_cell(&cell, CLI_NDJSON);
    if (good && is_plain_family(cell.family))
        expect_cell(&cell, CLI_CSV);
    base_buf_fini(&holder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {base_slice(data, size)};
    unsigned kind = fuzz_below(&in, 3);
    cli_json_init();
    if (kind == 0) {
        read_manifest(in.rest);
    } else {
        size_t cut = fuzz_byte(&in);
        read_record(kind == 1 ? CLI_NDJSON : CLI_CSV, in.rest, cut);
    }
    return 0;
}
