/*
 * cli/tenant_rows.c - rows and changes of a tenant that moves; see tenant_move.h.
 *
 * Of a change only its key matters: the row is removed over there and copied as it is now. That is
 * right whatever the change was, in any order, once or twice; a change that comes behind the
 * reading of the row is told again later.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "cli/json_text.h"
#include "cli/out.h"
#include "cli/progress.h"
#include "cli/tenant_move.h"
#include "cli/text.h"
#include "cli/transfer_manifest.h"
#include "cli/transfer_scan.h"
#include "cli/transfer_write.h"

#include "base/banned.h"

struct stream {
    struct cli_tenant_move *m;
    struct cli_tenant_table *table;
    struct cli_transfer_scan scan;
    struct cli_writer *writer; /* NULL: rows are only counted */
    struct cli_tally tally;
    uint64_t noted_bytes;
    bool is_noted; /* rows come in their order, and what was copied is noted */
};

static void draw(struct cli_tenant_move *m)
{
    struct buf text;
    if (!cli_progress_due())
        return;
    base_buf_init(&text, 1024);
    base_buf_append_text(&text, m->verb);
    base_buf_append_text(&text, "  ");
    cli_text_put_count(&text, m->rows);
    base_buf_append_text(&text, " rows  ");
    cli_text_put_bytes(&text, m->bytes);
    base_buf_append_byte(&text, '\0');
    cli_progress_draw(m->bytes, 0, (const char *)text.ptr);
    base_buf_fini(&text);
}

static void begin_table(struct stream *s)
{
    const struct cli_writer_target target = {
        .table = s->table->id,
        .families = s->table->families,
        .has_aggregates = s->table->has_aggregates,
        .line_cells = s->m->line_cells,
        .source = s->table->id,
        .unit = "row",
    };
    cli_writer_begin(s->writer, &target);
}

/* A family may come while rows are copied; it is made over there before its first cell. */
static enum cli_exit know_family(struct stream *s, struct slice family)
{
    if (json_object_getn(s->table->families, (const char *)family.ptr, family.len) != NULL)
        return CLI_OK;
    enum cli_exit e = cli_writer_flush(s->writer);
    if (e == CLI_OK)
        e = cli_moving_renew(s->m, s->table);
    begin_table(s);
    return e;
}

static enum cli_exit take_cell(void *ctx, const struct cli_cell *cell)
{
    struct stream *s = ctx;
    uint64_t before = s->tally.content.bytes;
    cli_tally_add(&s->tally, cell);
    s->m->bytes += s->tally.content.bytes - before;
    if (s->writer == NULL)
        return CLI_OK;
    enum cli_exit e = know_family(s, cell->family);
    return e == CLI_OK ? cli_writer_cell(s->writer, cell, s->tally.content.rows + 1) : e;
}

static enum cli_exit note(struct stream *s, struct slice key)
{
    enum cli_exit e = cli_writer_flush(s->writer);
    if (e != CLI_OK)
        return e;
    s->noted_bytes = s->tally.content.bytes;
    cli_slice_free(&s->table->after);
    s->table->after = cli_slice_copy(key);
    return cli_moving_save(s->m);
}

static enum cli_exit take_row(void *ctx, struct slice key)
{
    struct stream *s = ctx;
    s->tally.content.rows++;
    s->m->rows++;
    draw(s->m);
    bool is_due = s->is_noted && s->tally.content.bytes - s->noted_bytes >= CLI_MOVE_STEP;
    return is_due ? note(s, key) : CLI_OK;
}

static enum cli_exit init_stream(struct stream *s, struct cli_tenant_move *m,
                                 struct cli_tenant_table *t, const struct cli_config *from)
{
    *s = (struct stream){.m = m, .table = t};
    cli_tally_init(&s->tally);
    enum cli_exit e = cli_transfer_scan_init(&s->scan, from, &m->stop);
    s->scan.on_cell = take_cell;
    s->scan.on_row = take_row;
    s->scan.ctx = s;
    return e;
}

static enum cli_exit begin_writer(struct stream *s)
{
    s->writer = cli_writer_new(&s->m->to.data_config, &s->m->stop);
    begin_table(s);
    return cli_writer_open(s->writer);
}

static void fini_stream(struct stream *s)
{
    if (s->writer != NULL)
        cli_writer_free(s->writer);
    cli_transfer_scan_fini(&s->scan);
    cli_tally_fini(&s->tally);
}

/* --- copying ----------------------------------------------------------------------------------
 */

enum cli_exit cli_moving_copy(struct cli_tenant_move *m, struct cli_tenant_table *t)
{
    struct stream s;
    struct slice after = cli_slice_copy(t->after); /* which moves on */
    enum cli_exit e = init_stream(&s, m, t, &m->from.data_config);
    if (e == CLI_OK)
        e = begin_writer(&s);
    s.is_noted = true;
    if (e == CLI_OK)
        e = cli_transfer_scan_run(&s.scan, t->id, SLICE_EMPTY, SLICE_EMPTY, after);
    if (e == CLI_OK)
        e = cli_writer_flush(s.writer);
    if (e == CLI_OK) {
        t->is_copied = true;
        e = cli_moving_save(m);
    }
    fini_stream(&s);
    cli_slice_free(&after);
    return e;
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

/* Keys from *at on, each once, as many as are copied at a time. */
static enum cli_exit copy_some(struct stream *s, const struct keys *k, size_t *at)
{
    json_t *body = json_object();
    enum cli_exit e = CLI_OK;
    bool fits = true;
    for (size_t n = 0; n < CLI_TENANT_ROWS && *at < k->count && e == CLI_OK && fits; ++*at) {
        if (*at > 0 && base_slice_equal(k->list[*at - 1], k->list[*at]))
            continue;
        fits = cli_json_append_bytes(body, "keys", k->list[*at]);
        e = cli_writer_delete_row(s->writer, k->list[*at], ++n);
    }
    if (!fits)
        e = cli_fail(CLI_REFUSED, "out of memory for a request");
    if (e == CLI_OK && json_object_size(body) > 0)
        e = cli_transfer_scan_keys(&s->scan, s->table->id, body);
    json_decref(body);
    return e == CLI_OK ? cli_writer_flush(s->writer) : e;
}

static enum cli_exit copy_keys(struct cli_tenant_move *m, struct cli_tenant_table *t,
                               struct keys *k)
{
    struct stream s;
    size_t at = 0;
    if (k->count == 0)
        return CLI_OK;
    qsort(k->list, k->count, sizeof *k->list, by_bytes);
    enum cli_exit e = init_stream(&s, m, t, &m->from.data_config);
    if (e == CLI_OK)
        e = begin_writer(&s);
    while (e == CLI_OK && at < k->count)
        e = copy_some(&s, k, &at);
    fini_stream(&s);
    return e;
}

enum cli_exit cli_moving_follow(struct cli_tenant_move *m, struct cli_tenant_table *t,
                                bool *out_left, uint64_t *out_changes)
{
    struct cli_feed feed;
    struct keys keys = {0};
    enum cli_exit e = cli_feed_init(&feed, &m->from.data_config, &m->stop);
    memcpy(feed.token, t->token, sizeof feed.token);
    feed.on_key = take_key;
    feed.ctx = &keys;
    if (e == CLI_OK)
        e = cli_feed_read(&feed, m->tenant, m->instance, t->id, CLI_TENANT_CHANGES);
    if (e == CLI_OK)
        e = copy_keys(m, t, &keys);
    if (e == CLI_OK) {
        memcpy(t->token, feed.token, sizeof t->token);
        *out_left = !feed.is_near;
        *out_changes = feed.changes;
        m->changes += feed.changes;
        e = cli_moving_save(m);
    }
    fini_keys(&keys);
    cli_feed_fini(&feed);
    return e;
}

/* --- comparing --------------------------------------------------------------------------------
 */

static enum cli_exit count(struct cli_tenant_move *m, struct cli_tenant_table *t,
                           const struct cli_config *config, struct cli_content *out)
{
    struct stream s;
    enum cli_exit e = init_stream(&s, m, t, config);
    if (e == CLI_OK)
        e = cli_transfer_scan_run(&s.scan, t->id, SLICE_EMPTY, SLICE_EMPTY, SLICE_EMPTY);
    *out = s.tally.content;
    fini_stream(&s);
    return e;
}

enum cli_exit cli_moving_compare(struct cli_tenant_move *m, struct cli_tenant_table *t)
{
    struct cli_content there = {0};
    enum cli_exit e = count(m, t, &m->from.data_config, &t->content);
    if (e == CLI_OK)
        e = count(m, t, &m->to.data_config, &there);
    if (e != CLI_OK || cli_content_equal(&t->content, &there))
        return e;
    return cli_fail(CLI_CHECK_FAILED,
                    "the table %s differs: %llu rows and %llu cells here, %llu and %llu over there",
                    t->id, (unsigned long long)t->content.rows,
                    (unsigned long long)t->content.cells, (unsigned long long)there.rows,
                    (unsigned long long)there.cells);
}
