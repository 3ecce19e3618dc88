/*
 * cli/tenant_rows.c - rows and changes of a moving tenant; see tenant_move.h.
 *
 * Only the key of a change matters: the row is removed at the destination and its current state is
 * copied. This is correct for any change, in any order, once or twice; a change made after the row
 * was read is emitted later.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "cli/json_text.h"
#include "cli/out.h"
#include "cli/tenant_crew.h"
#include "cli/transfer_manifest.h"

#include "base/banned.h"

static void begin_table(struct cli_moving_hand *h)
{
    const struct cli_writer_target target = {
        .table = h->table->id,
        .families = h->table->families,
        .has_aggregates = h->table->has_aggregates,
        .line_cells = h->m->line_cells,
        .source = h->table->id,
        .unit = "row",
    };
    cli_writer_begin(h->writer, &target);
}

/* Creates a family at the destination that was added at the source during the copy,
 * before its first cell is written. */
static enum cli_exit know_family(struct cli_moving_hand *h, struct slice family)
{
    if (json_object_getn(h->table->families, (const char *)family.ptr, family.len) != NULL)
        return CLI_OK;
    enum cli_exit e = cli_writer_flush(h->writer);
    if (e != CLI_OK)
        return e;
    pthread_mutex_lock(&h->m->lock); /* guards connections that workers share */
    e = cli_moving_renew(h->m, h->table);
    pthread_mutex_unlock(&h->m->lock);
    begin_table(h);
    return e;
}

static enum cli_exit take_cell(void *ctx, const struct cli_cell *cell)
{
    struct cli_moving_hand *h = ctx;
    uint64_t before = h->tally.content.bytes;
    cli_tally_add(&h->tally, cell);
    atomic_fetch_add(&h->m->bytes, h->tally.content.bytes - before);
    if (!h->is_writing)
        return CLI_OK;
    enum cli_exit e = know_family(h, cell->family);
    return e == CLI_OK ? cli_writer_cell(h->writer, cell, h->tally.content.rows + 1) : e;
}

static enum cli_exit note(struct cli_moving_hand *h, struct slice key, bool is_end)
{
    enum cli_exit e = cli_writer_flush(h->writer);
    if (e != CLI_OK)
        return e;
    h->noted_bytes = h->tally.content.bytes;
    pthread_mutex_lock(&h->m->lock);
    cli_slice_free(&h->table->after);
    h->table->after = cli_slice_copy(key);
    h->table->is_copied = is_end;
    e = cli_moving_save(h->m);
    pthread_mutex_unlock(&h->m->lock);
    return e;
}

static enum cli_exit take_row(void *ctx, struct slice key)
{
    struct cli_moving_hand *h = ctx;
    h->tally.content.rows++;
    atomic_fetch_add(&h->m->rows, 1);
    bool is_due = h->is_noted && h->tally.content.bytes - h->noted_bytes >= CLI_MOVE_STEP;
    return is_due ? note(h, key, false) : CLI_OK;
}

static void begin_piece(struct cli_moving_hand *h, struct cli_transfer_scan *scan, size_t table,
                        bool writes)
{
    h->table = &h->m->tables[table];
    h->is_writing = writes;
    h->is_noted = false;
    h->noted_bytes = 0;
    scan->on_cell = take_cell;
    scan->on_row = take_row;
    scan->ctx = h;
    if (writes)
        begin_table(h);
}

/* --- copying ----------------------------------------------------------------------------------
 */

static enum cli_exit copy(struct cli_moving_hand *h, size_t piece)
{
    if (h->m->tables[piece].is_copied)
        return CLI_OK;
    begin_piece(h, &h->here, piece, true);
    h->is_noted = true;
    struct slice after = cli_slice_copy(h->table->after); /* a copy: table->after advances */
    enum cli_exit e =
        cli_transfer_scan_run(&h->here, h->table->id, SLICE_EMPTY, SLICE_EMPTY, after);
    if (e == CLI_OK)
        e = note(h, after, true);
    cli_slice_free(&after);
    return e;
}

enum cli_exit cli_moving_copy(struct cli_tenant_move *m)
{
    return cli_moving_each(m, "copying", m->count, copy);
}

/* --- following --------------------------------------------------------------------------------
 */

struct keys {
    struct slice *list;
    size_t count;
    size_t capacity;
};

static enum cli_exit take_key(void *ctx, struct slice key)
{
    struct keys *k = ctx;
    if (k->count == k->capacity) {
        size_t capacity = k->capacity > 0 ? 2 * k->capacity : CLI_TENANT_ROWS;
        struct slice *longer = base_new_array(capacity, sizeof *longer);
        if (k->count > 0)
            memcpy(longer, k->list, k->count * sizeof *longer);
        base_free(k->list);
        k->list = longer;
        k->capacity = capacity;
    }
    k->list[k->count++] = cli_slice_copy(key);
    return CLI_OK;
}

static void fini_keys(struct keys *k)
{
    for (size_t i = 0; i < k->count; i++)
        cli_slice_free(&k->list[i]);
    base_free(k->list);
}

static int by_bytes(const void *a, const void *b)
{
    return base_slice_compare(*(const struct slice *)a, *(const struct slice *)b);
}

/* Copies the rows of the next keys from *at on, each key once, at most CLI_TENANT_ROWS. */
static enum cli_exit copy_some(struct cli_moving_hand *h, const struct keys *k, size_t *at)
{
    json_t *body = json_object();
    enum cli_exit e = CLI_OK;
    bool fits = true;
    for (size_t n = 0; n < CLI_TENANT_ROWS && *at < k->count && e == CLI_OK && fits; ++*at) {
        if (*at > 0 && base_slice_equal(k->list[*at - 1], k->list[*at]))
            continue;
        fits = cli_json_append_bytes(body, "keys", k->list[*at]);
        e = cli_writer_delete_row(h->writer, k->list[*at], ++n);
    }
    if (!fits)
        e = cli_fail(CLI_REFUSED, "out of memory for a request");
    if (e == CLI_OK && json_object_size(body) > 0)
        e = cli_transfer_scan_keys(&h->here, h->table->id, body);
    json_decref(body);
    return e == CLI_OK ? cli_writer_flush(h->writer) : e;
}

static enum cli_exit copy_keys(struct cli_moving_hand *h, struct keys *k)
{
    size_t at = 0;
    enum cli_exit e = CLI_OK;
    if (k->count > 0)
        qsort(k->list, k->count, sizeof *k->list, by_bytes);
    while (e == CLI_OK && at < k->count)
        e = copy_some(h, k, &at);
    return e;
}

/* Reads the table's changes once. */
static enum cli_exit follow(struct cli_moving_hand *h, struct keys *keys)
{
    struct cli_tenant_move *m = h->m;
    struct cli_feed *feed = &h->feed;
    struct cli_tenant_table *t = h->table;
    memcpy(feed->token, t->token, sizeof feed->token);
    feed->on_key = take_key;
    feed->ctx = keys;
    enum cli_exit e = cli_feed_read(feed, m->tenant, m->from.instance, t->id, CLI_TENANT_CHANGES);
    if (e == CLI_OK)
        e = copy_keys(h, keys);
    if (e != CLI_OK)
        return e;
    pthread_mutex_lock(&m->lock);
    memcpy(t->token, feed->token, sizeof t->token);
    t->is_near = feed->is_near;
    t->behind_s = feed->behind_s;
    t->changes = feed->changes;
    m->changes += feed->changes;
    e = cli_moving_save(m);
    pthread_mutex_unlock(&m->lock);
    return e;
}

static enum cli_exit follow_piece(struct cli_moving_hand *h, size_t piece)
{
    struct keys keys = {0};
    begin_piece(h, &h->here, piece, true);
    enum cli_exit e = h->m->is_marking == (h->table->token[0] == '\0') ? follow(h, &keys) : CLI_OK;
    fini_keys(&keys);
    return e;
}

enum cli_exit cli_moving_mark(struct cli_tenant_move *m)
{
    m->is_marking = true;
    enum cli_exit e = cli_moving_each(m, "preparing", m->count, follow_piece);
    m->is_marking = false;
    return e;
}

enum cli_exit cli_moving_follow(struct cli_tenant_move *m, bool *out_left, uint64_t *out_changes)
{
    *out_left = false;
    *out_changes = 0;
    m->behind_s = 0;
    for (size_t i = 0; i < m->count; i++) {
        m->tables[i].is_near = true;
        m->tables[i].behind_s = 0;
        m->tables[i].changes = 0;
    }
    enum cli_exit e = cli_moving_each(m, "catching up", m->count, follow_piece);
    for (size_t i = 0; i < m->count; i++) {
        *out_left = *out_left || !m->tables[i].is_near;
        *out_changes += m->tables[i].changes;
        if (m->tables[i].behind_s > m->behind_s)
            m->behind_s = m->tables[i].behind_s;
    }
    return e;
}

/* --- comparing --------------------------------------------------------------------------------
 */

/* Counts a table on one server: each table is two pieces. */
static enum cli_exit count(struct cli_moving_hand *h, size_t piece)
{
    bool is_here = piece % 2 == 0;
    struct cli_transfer_scan *scan = is_here ? &h->here : &h->there;
    begin_piece(h, scan, piece / 2, false);
    enum cli_exit e =
        cli_transfer_scan_run(scan, h->table->id, SLICE_EMPTY, SLICE_EMPTY, SLICE_EMPTY);
    *(is_here ? &h->table->content : &h->table->content_there) = h->tally.content;
    return e;
}

enum cli_exit cli_moving_compare(struct cli_tenant_move *m)
{
    enum cli_exit e = cli_moving_each(m, "comparing", 2 * m->count, count);
    if (e != CLI_OK)
        return e;
    for (size_t i = 0; i < m->count; i++) {
        const struct cli_content *here = &m->tables[i].content;
        const struct cli_content *there = &m->tables[i].content_there;
        if (cli_content_equal(here, there))
            continue;
        e = cli_fail(
            CLI_CHECK_FAILED,
            "the table %s differs: %llu rows and %llu cells here, %llu and %llu over there",
            m->tables[i].id, (unsigned long long)here->rows, (unsigned long long)here->cells,
            (unsigned long long)there->rows, (unsigned long long)there->cells);
    }
    return e;
}
