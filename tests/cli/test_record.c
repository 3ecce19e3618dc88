/*
 * tests/cli/test_record.c - records of exports (cli/transfer_record.h).
 */
#include <check.h>

#include "base/buf.h"
#include "base/limits.h"
#include "cli/bounds.h"
#include "cli/transfer_record.h"

#include "base/banned.h"

Suite *suite_cli_record(void);

/* JSON in a cell is such a text. A search that goes to the end of the record from each quote would
 * take longer than any timeout. */
START_TEST(a_value_of_quotes_is_read_in_one_pass)
{
    enum { LEN = 8 * 1024 * 1024 };
    struct buf value, text, holder;
    struct cli_cell read;
    struct cli_record_scan scan = {0};
    const char *why = NULL;
    size_t len = 0;
    base_buf_init(&value, LEN);
    base_buf_init(&text, 3 * LEN);
    base_buf_init(&holder, CLI_HOLDER_BYTES);
    for (int i = 0; i < LEN; i++)
        base_buf_append_byte(&value, '"');
    struct cli_cell cell = {.key = SLICE_LIT("k"),
                            .family = SLICE_LIT("f"),
                            .qualifier = SLICE_LIT("q\n"),
                            .timestamp_us = 1000,
                            .value = base_buf_slice(&value)};
    cli_record_put(&text, _i, &cell);
    ck_assert_int_eq(text.error, ERR_OK);
    for (size_t n = 0; n < text.len - 1; n += text.len / 7) /* as much as has arrived */
        ck_assert(!cli_record_end(_i, base_slice(text.ptr, n), &scan, &len));
    ck_assert(cli_record_end(_i, base_buf_slice(&text), &scan, &len));
    ck_assert_uint_eq(len, text.len - 1);
    ck_assert_msg(cli_record_read(_i, base_slice(text.ptr, len), &holder, &read, &why), "%s", why);
    ck_assert(base_slice_equal(read.value, cell.value));
    ck_assert(base_slice_equal(read.qualifier, cell.qualifier));
    base_buf_fini(&holder);
    base_buf_fini(&text);
    base_buf_fini(&value);
}
END_TEST

Suite *suite_cli_record(void)
{
    Suite *s = suite_create("cli_record");
    TCase *t = tcase_create("record");
    tcase_set_timeout(t, 10);
    tcase_add_loop_test(t, a_value_of_quotes_is_read_in_one_pass, CLI_NDJSON, CLI_CSV + 1);
    suite_add_tcase(s, t);
    return s;
}
