/*
 * storage/rocksdb/slice_cursor.c - creates, moves and frees a cursor.
 */
#include "storage/rocksdb/rdb.h"
#include "storage/rocksdb/slice.h"
#include "storage/rocksdb/slice_move.h"

#include "base/banned.h"

enum err sto_rdb_cursor_init(struct sto_read_cursor *c, struct rdb_engine *e,
                             struct sto_read_op *op)
{
    c->engine = e;
    c->op = op;
    c->on_reader = false;
    c->among_points = false;
    c->is_long = false;
    c->work_ns = 0;
    c->iterator = NULL;
    c->options = NULL;
    c->range_index = 0;
    c->is_point = false;
    c->must_move = false;
    c->moves = RDB_MOVES_BLIND;
    c->position_len = 0;
    c->row_len = 0;
    c->row_cells = ROW_CELLS_UNKNOWN;
    c->cells_left = ROW_CELLS_UNKNOWN;
    c->is_blind = false;
    c->column_len = 0;
    c->long_row.rows = NULL;
    sto_rdb_skips_init(c);
    sto_sealer_init(&c->sealer);
    base_buf_init(&c->plain, LIM_CELL_BYTES_HARD + MIB);
    uint8_t table[STO_KEY_TABLE_MAX];
    c->table_len = sto_key_table(&op->scope, table);
    return sto_visit_open(&c->visit, op->scope.schema, &op->spec, op->sink, &op->detail);
}

void sto_rdb_cursor_fini(struct sto_read_cursor *c)
{
    sto_rdb_long_row_close(&c->long_row);
    sto_visit_close(&c->visit);
    sto_sealer_fini(&c->sealer);
    base_buf_fini(&c->plain);
}

enum err sto_rdb_cursor_move(struct sto_read_cursor *to, struct sto_read_cursor *from)
{
    INVARIANT(from->iterator == NULL && from->row_len == 0);
    enum err rc = sto_rdb_cursor_init(to, from->engine, from->op);
    if (rc != ERR_OK)
        return rc;
    to->range_index = from->range_index;
    to->is_long = from->is_long;
    to->moves = from->moves;
    to->position_len = from->position_len;
    memcpy(to->position, from->position, from->position_len);
    return ERR_OK;
}
