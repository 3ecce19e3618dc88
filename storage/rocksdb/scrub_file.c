/*
 * storage/rocksdb/scrub_file.c - one pass over blocks and keys.
 */
#include "storage/rocksdb/scrub_file.h"

#include <stdio.h>

#include "base/file.h"
#include "base/share.h"
#include "storage/rocksdb/catalogue.h"
#include "storage/rocksdb/list_check.h"
#include "storage/rocksdb/rdb.h"
#include "storage/rocksdb/tenant_collector.h"

#include "base/banned.h"

#define NAME_BYTES      40
#define ENTRIES_OF_TURN 64 /* entries read between two yields */

struct reading {
    struct rdb_scrub_file *file;
    struct rdb_list_check check;
    bool has_check;
    struct rdb_tenant_count *count; /* NULL: the file has a list */
    uint32_t turn;
};

static enum err read_pass(void *ctx, uint64_t bytes)
{
    const struct reading *r = ctx;
    return r->file->pass(r->file->ctx, bytes);
}

static enum err bad_block(void *ctx, const struct rdb_bad_block *block)
{
    struct reading *r = ctx;
    r->file->block.offset = block->offset;
    r->file->block.block_bytes = block->bytes;
    return ERR_CORRUPT; /* damage.c examines the rest */
}

static enum err entry_check(void *ctx, enum rdb_entry_kind kind, struct slice key,
                            struct slice value)
{
    struct reading *r = ctx;
    struct slice range_end = kind == RDB_ENTRY_RANGE ? value : SLICE_EMPTY;
    if (r->has_check)
        sto_rdb_list_check_entry(&r->check, key, range_end);
    else
        sto_rdb_tenant_count_entry(r->count, key, range_end);
    base_yield_every(&r->turn, ENTRIES_OF_TURN);
    return ERR_OK;
}

/* Opens the file's list. A file of an earlier version has none. */
static enum err list_open(struct reading *r, const char *path)
{
    struct buf property;
    uint64_t bytes = 0;
    base_buf_init(&property, RDB_CATALOGUE_BYTES);
    enum err rc = sto_rdb_catalogue_read(path, &property, &bytes);
    if (rc == ERR_OK) {
        r->has_check = sto_rdb_list_check_init(&r->check, base_buf_slice(&property)) == ERR_OK;
        r->file->is_list_wrong = !r->has_check;
    }
    if (!r->has_check)
        r->count = sto_rdb_tenant_count_new();
    base_buf_fini(&property);
    return read_pass(r, bytes); /* whatever rc is: reading the file reports errors */
}

static void list_close(struct reading *r, enum err rc)
{
    struct buf list;
    if (r->has_check) {
        r->file->is_list_wrong = rc == ERR_OK && !sto_rdb_list_check_matches(&r->check);
        sto_rdb_list_check_fini(&r->check);
    }
    if (rc == ERR_OK && r->count != NULL) {
        if (sto_rdb_tenant_count_list(r->count, &list) == ERR_OK) /* else a search creates it */
            sto_rdb_file_lists_set(&r->file->engine->file_lists, r->file->number,
                                   base_buf_slice(&list));
        base_buf_fini(&list);
    }
    sto_rdb_tenant_count_free(r->count);
}

enum err sto_rdb_scrub_file(struct rdb_scrub_file *f)
{
    struct reading r = {.file = f};
    const struct rdb_table_scrub how = {
        .pass = read_pass, .bad = bad_block, .entry = entry_check, .ctx = &r};
    char path[BASE_PATH_BYTES];
    char name[NAME_BYTES];
    f->is_list_wrong = false;
    f->block = (struct sto_damaged_file){.number = f->number};
    (void)snprintf(name, sizeof name, "db/%06llu.sst", (unsigned long long)f->number); /* fits */
    enum err rc = base_path_join(path, f->engine->dir, name, NULL);
    if (rc != ERR_OK)
        return rc;
    rc = list_open(&r, path);
    if (rc == ERR_OK)
        rc = sto_rdb_table_scrub(path, &how);
    list_close(&r, rc);
    return rc;
}
