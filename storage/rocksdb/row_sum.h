/*
 * storage/rocksdb/row_sum.h - adds up stored keys in their order, and checks each row against its
 * header.
 *
 * Does:     counts rows, cells and bytes of keys that are added one by one.
 * Owns:     nothing.
 * May use:  base/, storage/.
 * Knows no: the source of the keys, the use of the sum.
 * Threads:  one at a time.
 * Blocks:   no.
 * Fails by: ERR_CORRUPT: a key, header or cell that does not decode, a cell outside its row, a row
 *           whose cells differ from its header.
 * Limits:   none.
 * Promises: 1. After close, every row that was started agreed with its header.
 */
#ifndef STORAGE_ROCKSDB_ROW_SUM_H
#define STORAGE_ROCKSDB_ROW_SUM_H

#include "storage/keycodec.h"
#include "storage/value.h"

/* All zero before the first key. */
struct rdb_row_sum {
    struct sto_usage usage;
    size_t row_len; /* 0: no row is open */
    size_t row_key_len;
    struct sto_row_head head;
    struct sto_row_head seen;
    uint8_t row[STO_KEY_ROW_MAX];
};

enum err sto_rdb_row_sum_add(struct rdb_row_sum *s, struct slice stored_key, struct slice value,
                             struct errbuf *eb) MUST_CHECK;
/* Call after the last key. */
enum err sto_rdb_row_sum_close(struct rdb_row_sum *s, struct errbuf *eb) MUST_CHECK;

#endif
