/*
 * tests/storage/test_engine_sealed.c - tenants with keys: the same results, and nothing of them in
 * any file.
 *
 * That results are the same is what storage_engine_model and storage_change_replay look at, half of
 * whose programs have keys.
 */
#include "changes.h"
#include "fixture.h"

#include "base/banned.h"

Suite *suite_storage_engine_sealed(void);

#define T     &fix.tables[0][0]
#define OTHER &fix.tables[1][0]

static const char SECRET[] = "a secret that stands in no file";

static void set_up(void)
{
    fix.sealed = true;
    fix_setup();
}

/* --- files ------------------------------------------------------------------------------------ */

static size_t found;

static int look_into(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    struct buf bytes = {0};
    struct errbuf eb;
    (void)st;
    (void)ftw;
    if (type != FTW_F)
        return 0;
    ck_assert_msg(base_file_read(path, 64 * MIB, &bytes, &eb) == ERR_OK, "%s", eb.text);
    found += bytes.len > 0 && memmem(bytes.ptr, bytes.len, SECRET, sizeof SECRET - 1) != NULL;
    base_buf_fini(&bytes);
    return 0;
}

static size_t files_with_secret(void)
{
    found = 0;
    ck_assert_int_eq(nftw(fix.dir, look_into, 16, FTW_PHYS), 0);
    return found;
}

static void write_in_every_way(void)
{
    struct sto_mutation set = fix_set(1, "q", 1000, base_slice_text(SECRET));
    struct sto_mutation append = fix_append(1, "q", base_slice_text(SECRET));
    char large[6000] = "";
    memcpy(large + 3000, SECRET, sizeof SECRET);
    struct sto_mutation long_one = fix_set(2, "l", 1000, base_slice(large, sizeof large));
    ck_assert_int_eq(fix_mutate(T, "row", &set, 1), ERR_OK);
    ck_assert_int_eq(fix_mutate(T, "row", &append, 1), ERR_OK);
    ck_assert_int_eq(fix_mutate(T, "row", &long_one, 1), ERR_OK);
}

START_TEST(no_value_is_in_any_file)
{
    changes_set(T, RETENTION_S);
    write_in_every_way();
    ck_assert_uint_eq(files_with_secret(), 0); /* the log */
    ck_assert_int_eq(sto_rdb_flush(sto_rdb_engine(fix.engine)), ERR_OK);
    ck_assert_uint_eq(files_with_secret(), 0); /* tables, of cells and of changes */
}
END_TEST

START_TEST(without_keys_it_would_be)
{
    fix.sealed = false;
    fix_reopen();
    write_in_every_way();
    ck_assert_uint_gt(files_with_secret(), 0);
}
END_TEST

/* --- places ----------------------------------------------------------------------------------- */

static size_t cell_key(const struct sto_table_scope *scope, const char *row, const char *qualifier,
                       int64_t timestamp_us, uint8_t out[STO_KEY_MAX])
{
    size_t n = sto_key_row(scope, base_slice_text(row), out);
    n = sto_key_column(out, n, 1, base_slice_text(qualifier));
    return sto_key_version(out, n, timestamp_us);
}

/* What is stored for one cell is put in the place of another. */
static void move(const struct sto_table_scope *from, const char *from_row,
                 const struct sto_table_scope *to, const char *to_row, const char *qualifier,
                 int64_t timestamp_us)
{
    struct rdb_db *db = &sto_rdb_engine(fix.engine)->db;
    uint8_t source[STO_KEY_MAX], target[STO_KEY_MAX];
    size_t source_len = cell_key(from, from_row, "q", 1000, source);
    size_t target_len = cell_key(to, to_row, qualifier, timestamp_us, target);
    char *error = NULL;
    size_t len = 0;
    char *value = rocksdb_get_cf(db->handle, db->point, db->cells, (const char *)source, source_len,
                                 &len, &error);
    ck_assert_ptr_null(error);
    ck_assert_ptr_nonnull(value);
    char *there = rocksdb_get_cf(db->handle, db->point, db->cells, (const char *)target, target_len,
                                 &(size_t){0}, &error);
    ck_assert_ptr_nonnull(there); /* there is a cell to replace */
    rocksdb_put_cf(db->handle, db->synced, db->cells, (const char *)target, target_len, value, len,
                   &error);
    ck_assert_ptr_null(error);
    rocksdb_free(value);
    rocksdb_free(there);
}

static void assert_read(const struct sto_table_scope *scope, enum err expected)
{
    struct fix_sink s;
    fix_sink_init(&s);
    ck_assert_int_eq(fix_read(scope, &(struct sto_read_spec){0}, &s, false), expected);
    base_buf_fini(&s.text);
}

START_TEST(a_value_that_was_moved_does_not_decrypt)
{
    struct sto_mutation two[] = {fix_set(1, "q", 1000, SLICE_LIT("mine")),
                                 fix_set(1, "r", 1000, SLICE_LIT("mine"))};
    struct sto_mutation later = fix_set(1, "q", 2000, SLICE_LIT("mine"));
    ck_assert_int_eq(fix_mutate(T, "a", two, 2), ERR_OK);
    ck_assert_int_eq(fix_mutate(T, "a", &later, 1), ERR_OK);
    ck_assert_int_eq(fix_put(T, "b", "mine"), ERR_OK);
    ck_assert_int_eq(fix_put(OTHER, "a", "mine"), ERR_OK);
    ck_assert_int_eq(fix_put(&fix.tables[0][1], "a", "mine"), ERR_OK);
    assert_read(T, ERR_OK);
    switch (_i) {
    case 0: /* another row */
        move(T, "b", T, "a", "q", 1000);
        break;
    case 1: /* another column */
        move(T, "a", T, "a", "r", 1000);
        break;
    case 2: /* another version */
        move(T, "a", T, "a", "q", 2000);
        break;
    case 3: /* another tenant */
        move(OTHER, "a", T, "a", "q", 1000);
        break;
    default: /* another table */
        move(&fix.tables[0][1], "a", T, "a", "q", 1000);
        break;
    }
    assert_read(T, ERR_CORRUPT);
    ck_assert_ptr_nonnull(strstr(fix_detail.text, "not where it was written"));
    ck_assert_ptr_null(strstr(fix_detail.text, "mine"));
    struct sto_mutation append = fix_append(1, _i == 1 ? "r" : "q", SLICE_LIT("more"));
    enum err rc = fix_mutate(T, "a", &append, 1);
    ck_assert_int_eq(rc, _i == 1 || _i == 2 ? ERR_CORRUPT : ERR_OK); /* it looks at the newest */
    assert_read(OTHER, ERR_OK);
}
END_TEST

/* --- keys ------------------------------------------------------------------------------------- */

START_TEST(old_and_new_keys_open_what_they_sealed)
{
    uint8_t key[STO_CIPHER_KEY];
    fix_key(0, 2, key);
    ck_assert_int_eq(fix_put(T, "a", "old"), ERR_OK);
    ck_assert_int_eq(sto_cipher_add(fix.accounts[0].cipher, key), ERR_OK);
    ck_assert_int_eq(fix_put(T, "b", "new"), ERR_OK);
    fix_assert_rows(T, &(struct sto_read_spec){0}, "a{f:q@1000=old,}b{f:q@1000=new,}");
    fix_reopen(); /* with the first key alone */
    assert_read(T, ERR_UNAVAILABLE);
    ck_assert_int_eq(sto_cipher_add(fix.accounts[0].cipher, key), ERR_OK);
    fix_assert_rows(T, &(struct sto_read_spec){0}, "a{f:q@1000=old,}b{f:q@1000=new,}");
    fix_assert_no_drift(0);
}
END_TEST

START_TEST(without_its_keys_a_tenant_is_refused_and_others_are_not)
{
    struct sto_mutation set = fix_set(1, "q", 1000, SLICE_LIT("v"));
    ck_assert_int_eq(fix_put(T, "a", "mine"), ERR_OK);
    ck_assert_int_eq(fix_put(OTHER, "a", "theirs"), ERR_OK);
    sto_cipher_wipe(fix.accounts[0].cipher);
    ck_assert_int_eq(fix_mutate(T, "a", &set, 1), ERR_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(fix_detail.text, "encryption key"));
    assert_read(T, ERR_UNAVAILABLE);
    fix_assert_rows(OTHER, &(struct sto_read_spec){0}, "a{f:q@1000=theirs,}");
    fix_assert_no_drift(0); /* counting needs no values */
    struct sto_usage removed;
    ck_assert_int_eq(fix_drop(T, (struct sto_row_range){0}, 0, &removed), ERR_OK);
    ck_assert_uint_eq(removed.cells, 1);
}
END_TEST

START_TEST(plain_values_from_before_are_read_and_replaced)
{
    fix.sealed = false;
    fix_reopen();
    ck_assert_int_eq(fix_put(T, "a", "plain"), ERR_OK);
    fix.sealed = true;
    fix_reopen();
    ck_assert_int_eq(fix_put(T, "b", "sealed"), ERR_OK);
    fix_assert_rows(T, &(struct sto_read_spec){0}, "a{f:q@1000=plain,}b{f:q@1000=sealed,}");
    fix_assert_no_drift(0);
}
END_TEST

Suite *suite_storage_engine_sealed(void)
{
    Suite *s = suite_create("storage_engine_sealed");
    TCase *t = tcase_create("sealed");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, set_up, fix_teardown);
    tcase_add_test(t, no_value_is_in_any_file);
    tcase_add_test(t, without_keys_it_would_be);
    tcase_add_loop_test(t, a_value_that_was_moved_does_not_decrypt, 0, 5);
    tcase_add_test(t, old_and_new_keys_open_what_they_sealed);
    tcase_add_test(t, without_its_keys_a_tenant_is_refused_and_others_are_not);
    tcase_add_test(t, plain_values_from_before_are_read_and_replaced);
    suite_add_tcase(s, t);
    return s;
}
