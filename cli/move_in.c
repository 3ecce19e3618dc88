/*
 * cli/move_in.c - see move_in.h.
 *
 * Each stream takes a source, reads it to its end and takes the next. Behind every CLI_MOVE_STEP
 * bytes what is pending is written, and then the notes of the source move on under the lock: the
 * key and the content up to it, together. The file of notes is written twice a second at most, and
 * at the end of a run, however it ended.
 */
#include "cli/move_in.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "cli/move_pairs.h"
#include "cli/out.h"
#include "cli/progress.h"
#include "cli/text.h"
#include "cli/transfer_manifest.h"
#include "cli/transfer_scan.h"
#include "cli/transfer_write.h"

#include "base/banned.h"

#define NS_PER_MS 1000000U
#define KEY_SHOWN 80 /* bytes of a key in a message */

enum cli_exit cli_move_in_open(struct cli_move_in *m)
{
    cli_crew_init(&m->crew);
    m->started_ns = base_monotonic_ns();
    m->now_us = base_wall_us() / 1000 * 1000;
    m->lock_fd = open(m->map_path, O_RDONLY | O_CLOEXEC);
    if (m->lock_fd < 0)
        return cli_fail(CLI_USAGE, "cannot open %s: %s", m->map_path, strerror(errno));
    if (flock(m->lock_fd, LOCK_EX | LOCK_NB) != 0)
        return cli_fail(CLI_USAGE, "%s is in use by another move", m->map_path);
    enum cli_exit e = cli_move_map_read(&m->map, m->map_path);
    if (e != CLI_OK)
        return e;
    m->moves = base_new_array(m->map.count, sizeof *m->moves);
    for (size_t i = 0; i < m->map.count; i++)
        m->moves[i].source = &m->map.sources[i];
    return CLI_OK;
}

void cli_move_in_fini(struct cli_move_in *m)
{
    for (size_t i = 0; m->moves != NULL && i < m->map.count; i++) {
        json_decref(m->moves[i].families);
        cli_slice_free(&m->moves[i].after);
    }
    base_free(m->moves);
    cli_move_map_fini(&m->map);
    if (m->lock_fd >= 0)
        (void)close(m->lock_fd); /* gives the lock back */
    cli_crew_fini(&m->crew);
}

static void draw(void *ctx)
{
    struct cli_move_in *m = ctx;
    struct buf text;
    if (!cli_progress_due())
        return;
    double seconds = (double)(base_monotonic_ns() - m->started_ns) / 1e9;
    uint64_t bytes = atomic_load(&m->bytes);
    base_buf_init(&text, 1024);
    base_buf_append_text(&text, m->verb);
    base_buf_append_text(&text, "  ");
    cli_text_put_count(&text, atomic_load(&m->rows));
    base_buf_append_text(&text, " rows  ");
    cli_text_put_bytes(&text, bytes);
    base_buf_append_text(&text, "  ");
    cli_text_put_bytes(&text, (uint64_t)((double)bytes / (seconds > 0.001 ? seconds : 0.001)));
    base_buf_append_text(&text, "/s");
    base_buf_append_byte(&text, '\0');
    cli_progress_draw(bytes, 0, (const char *)text.ptr);
    base_buf_fini(&text);
}

/* The next source; NULL: there is none. */
static struct cli_move *take_source(struct cli_move_in *m, bool unfinished)
{
    struct cli_move *v = NULL;
    pthread_mutex_lock(&m->crew.lock);
    while (m->next < m->map.count && v == NULL) {
        v = &m->moves[m->next++];
        if (unfinished && v->is_done)
            v = NULL;
    }
    pthread_mutex_unlock(&m->crew.lock);
    return v;
}

static void begin_stage(struct cli_move_in *m, const char *verb)
{
    m->verb = verb;
    m->next = 0;
    m->started_ns = base_monotonic_ns();
    atomic_store(&m->rows, 0);
    atomic_store(&m->bytes, 0);
}

/* --- a source ---------------------------------------------------------------------------------
 */

struct stream {
    struct cli_move_in *m;
    struct cli_move *move;
    struct cli_writer *writer;
    struct cli_pairs pairs;
    struct cli_tally tally; /* content of the source so far */
    struct buf row;         /* of this pair */
    struct buf last_row;
    struct buf last_key; /* the last pair that fitted */
    uint64_t unfit;      /* up to the last pair */
    uint64_t last_unfit; /* up to the last pair that fitted */
    uint64_t noted_bytes;
};

/* Everything up to the last pair that fitted is durable. */
static enum cli_exit note(struct stream *s, bool is_end)
{
    struct cli_move_in *m = s->m;
    struct cli_move *v = s->move;
    enum cli_exit e = m->writes ? cli_writer_flush(s->writer) : CLI_OK;
    if (e != CLI_OK)
        return e;
    s->noted_bytes = s->tally.content.bytes;
    pthread_mutex_lock(&m->crew.lock);
    cli_slice_free(&v->after);
    v->after = cli_slice_copy(base_buf_slice(&s->last_key));
    v->content = s->tally.content;
    v->unfit = is_end ? s->unfit : s->last_unfit;
    v->is_done = is_end;
    if (m->writes && base_monotonic_ns() - m->noted_ns > CLI_MOVE_NOTE_MS * UINT64_C(1000000))
        e = cli_move_save_notes(m);
    pthread_mutex_unlock(&m->crew.lock);
    return e;
}

static enum cli_exit refuse_pair(struct stream *s, struct slice key, const char *why)
{
    const struct cli_move_source *source = s->move->source;
    struct slice shown = base_slice(key.ptr, key.ptr == NULL       ? 0
                                             : key.len > KEY_SHOWN ? KEY_SHOWN
                                                                   : key.len);
    bool goes_on = source->skips || !s->m->writes;
    struct buf text;
    pthread_mutex_lock(&s->m->crew.lock);
    bool is_said = s->m->said++ < CLI_MOVE_SAID || !goes_on;
    pthread_mutex_unlock(&s->m->crew.lock);
    s->unfit++;
    base_buf_init(&text, 8UL * KEY_SHOWN);
    cli_text_escape(&text, shown, CLI_ESCAPE_BACKSLASH);
    if (is_said)
        cli_say("%s, pair %" PRIu64 ", key \"%.*s\"%s: %s", source->database, s->pairs.count,
                (int)text.len, text.len > 0 ? (const char *)text.ptr : "",
                shown.len < key.len ? "..." : "", why);
    base_buf_fini(&text);
    if (goes_on)
        return CLI_OK;
    return cli_fail(CLI_CHECK_FAILED, "what does not fit ends a move; \"unfit: skip\" in the "
                                      "mapping leaves it out");
}

static void count_row(struct stream *s, struct slice row)
{
    if (s->tally.content.cells > 0 && base_slice_equal(row, base_buf_slice(&s->last_row)))
        return;
    base_buf_truncate(&s->last_row, 0);
    base_buf_append(&s->last_row, row);
    s->tally.content.rows++;
    atomic_fetch_add(&s->m->rows, 1);
}

static enum cli_exit take_pair(struct stream *s, const struct cli_pair *pair)
{
    struct cli_cell cell;
    struct cli_move *v = s->move;
    uint64_t before = s->tally.content.bytes;
    v->longest_key = pair->key.len > v->longest_key ? pair->key.len : v->longest_key;
    v->largest_value = pair->value.len > v->largest_value ? pair->value.len : v->largest_value;
    const char *why = "its key or value is longer than any cell can be";
    if (!pair->is_long)
        why = cli_move_cell(v->source, &v->limits, s->m->now_us, pair->key, pair->value, &s->row,
                            &cell);
    if (why != NULL)
        return refuse_pair(s, pair->key, why);
    count_row(s, cell.key);
    cli_tally_add(&s->tally, &cell);
    atomic_fetch_add(&s->m->bytes, s->tally.content.bytes - before);
    base_buf_truncate(&s->last_key, 0);
    base_buf_append(&s->last_key, pair->key);
    s->last_unfit = s->unfit;
    enum cli_exit e = s->m->writes ? cli_writer_cell(s->writer, &cell, s->pairs.count) : CLI_OK;
    if (e == CLI_OK && s->tally.content.bytes - s->noted_bytes >= CLI_MOVE_STEP)
        e = note(s, false);
    return e;
}

static enum cli_exit take_pairs(struct stream *s)
{
    struct cli_pair pair;
    enum cli_exit e = CLI_OK;
    for (;;) {
        e = cli_pairs_next(&s->pairs, &pair);
        if (e == CLI_OK && !pair.is_end)
            e = take_pair(s, &pair);
        if (e != CLI_OK)
            return e;
        if (pair.is_end)
            return note(s, true);
    }
}

/* Where the notes say: nothing, or the pair that was the last, with its row. */
static enum cli_exit go_on(struct stream *s)
{
    struct cli_move *v = s->move;
    struct cli_cell cell;
    s->tally.content = v->content;
    s->unfit = s->last_unfit = v->unfit;
    s->noted_bytes = v->content.bytes;
    base_buf_truncate(&s->last_row, 0);
    base_buf_truncate(&s->last_key, 0);
    if (v->content.cells == 0)
        return CLI_OK;
    base_buf_append(&s->last_key, v->after);
    if (cli_move_cell(v->source, &v->limits, s->m->now_us, v->after, SLICE_EMPTY, &s->row, &cell) !=
        NULL)
        return cli_fail(CLI_CHECK_FAILED, "%s: the key in %s does not fit any more",
                        v->source->database, s->m->state_path);
    base_buf_append(&s->last_row, cell.key);
    return CLI_OK;
}

static enum cli_exit check_sequence(struct stream *s)
{
    struct cli_move *v = s->move;
    bool is_other = v->is_begun && v->sequence != s->pairs.sequence;
    pthread_mutex_lock(&s->m->crew.lock);
    if (!v->is_begun)
        v->sequence = s->pairs.sequence;
    v->is_begun = true;
    pthread_mutex_unlock(&s->m->crew.lock);
    if (!is_other)
        return CLI_OK;
    return cli_fail(CLI_CHECK_FAILED,
                    "%s was written to since its move began (change %" PRIu64 ", now %" PRIu64
                    "): drop what was moved and begin anew",
                    v->source->database, v->sequence, s->pairs.sequence);
}

static void begin_table(struct stream *s)
{
    const struct cli_move *v = s->move;
    const struct cli_writer_target target = {
        .tenant = v->source->tenant,
        .table = v->source->table,
        .families = v->families,
        .has_aggregates = v->has_aggregates,
        .line_cells = v->line_cells,
        .source = v->source->database,
        .unit = "pair",
    };
    cli_writer_begin(s->writer, &target);
}

static enum cli_exit move_one(struct stream *s)
{
    const struct cli_move *v = s->move;
    char dir[BASE_PATH_BYTES];
    struct errbuf eb = {0};
    if (base_path_join(dir, s->m->from, v->source->database, &eb) != ERR_OK)
        return cli_fail(CLI_USAGE, "%s", eb.text);
    const struct cli_pairs_request request = {
        .program = s->m->program,
        .dir = dir,
        .family = v->source->column_family,
        .is_after = v->content.cells > 0,
        .after = v->after,
    };
    begin_table(s);
    enum cli_exit e = go_on(s);
    if (e != CLI_OK)
        return e;
    e = cli_pairs_open(&s->pairs, &request, v->source->database, &s->m->crew.stop);
    if (e == CLI_OK)
        e = check_sequence(s);
    if (e == CLI_OK)
        e = take_pairs(s);
    cli_pairs_close(&s->pairs);
    return e;
}

/* --- all sources ------------------------------------------------------------------------------
 */

static enum cli_exit move_sources(void *member)
{
    struct stream *s = member;
    enum cli_exit e = CLI_OK;
    while (e == CLI_OK && !atomic_load(&s->m->crew.stop)) {
        s->move = take_source(s->m, true);
        if (s->move == NULL)
            break;
        e = move_one(s);
    }
    return e;
}

static enum cli_exit init_stream(struct stream *s, struct cli_move_in *m)
{
    *s = (struct stream){.m = m, .writer = cli_writer_new(&m->cli->config, &m->crew.stop)};
    cli_tally_init(&s->tally);
    base_buf_init(&s->row, LIM_ROW_KEY);
    base_buf_init(&s->last_row, LIM_ROW_KEY);
    base_buf_init(&s->last_key, CLI_MOVE_KEY_BYTES);
    return m->writes ? cli_writer_open(s->writer) : CLI_OK;
}

static void fini_stream(struct stream *s)
{
    cli_writer_free(s->writer);
    cli_tally_fini(&s->tally);
    base_buf_fini(&s->row);
    base_buf_fini(&s->last_row);
    base_buf_fini(&s->last_key);
}

enum cli_exit cli_move_in_run(struct cli_move_in *m)
{
    struct stream streams[CLI_TRANSFER_STREAMS];
    void *members[CLI_TRANSFER_STREAMS];
    enum cli_exit e = CLI_OK;
    begin_stage(m, m->writes ? "moving" : "reading");
    for (size_t i = 0; i < CLI_TRANSFER_STREAMS; i++) {
        enum cli_exit opened = init_stream(&streams[i], m);
        e = e == CLI_OK ? opened : e;
        members[i] = &streams[i];
    }
    if (e == CLI_OK && m->writes)
        e = cli_move_save_notes(m);
    if (e == CLI_OK)
        e = cli_crew_run(&m->crew, move_sources, members, draw, m);
    cli_progress_hide();
    for (size_t i = 0; i < CLI_TRANSFER_STREAMS; i++)
        fini_stream(&streams[i]);
    enum cli_exit saved = m->writes ? cli_move_save_notes(m) : CLI_OK;
    return e == CLI_OK ? saved : e;
}

/* --- reading back -----------------------------------------------------------------------------
 */

struct reader {
    struct cli_move_in *m;
    const struct cli_move *move;
    struct cli_transfer_scan scan;
    struct cli_tally tally;
    bool in_row; /* the row that is being read has a cell of the family */
};

static enum cli_exit count_cell(void *ctx, const struct cli_cell *cell)
{
    struct reader *r = ctx;
    uint64_t before = r->tally.content.bytes;
    if (!base_slice_is(cell->family, r->move->source->family))
        return CLI_OK; /* another source's, or nobody's */
    cli_tally_add(&r->tally, cell);
    r->in_row = true;
    atomic_fetch_add(&r->m->bytes, r->tally.content.bytes - before);
    return CLI_OK;
}

static enum cli_exit end_row(void *ctx, struct slice key)
{
    struct reader *r = ctx;
    (void)key; /* the scan remembers it */
    r->tally.content.rows += r->in_row;
    r->in_row = false;
    atomic_fetch_add(&r->m->rows, 1);
    return CLI_OK;
}

static enum cli_exit compare(const struct cli_move *v, const struct cli_content *found)
{
    const struct cli_content *wanted = &v->content;
    if (cli_content_equal(found, wanted))
        return CLI_OK;
    return cli_fail(CLI_CHECK_FAILED,
                    "%s: the table %s of the tenant %s differs: %" PRIu64 " rows and %" PRIu64
                    " cells, %" PRIu64 " and %" PRIu64 " in the database%s",
                    v->source->database, v->source->table, v->source->tenant, found->rows,
                    found->cells, wanted->rows, wanted->cells,
                    found->cells == wanted->cells ? ", with other contents" : "");
}

static enum cli_exit read_one(struct reader *r)
{
    const struct cli_move_source *s = r->move->source;
    struct slice end = cli_move_rows_end(s);
    memset(&r->tally.content, 0, sizeof r->tally.content);
    r->scan.config.tenant = s->tenant;
    enum cli_exit e = cli_transfer_scan_run(&r->scan, s->table, s->row_prefix, end, SLICE_EMPTY);
    cli_slice_free(&end);
    return e == CLI_OK ? compare(r->move, &r->tally.content) : e;
}

/* What differs is said of every source. */
static enum cli_exit read_back(void *member)
{
    struct reader *r = member;
    enum cli_exit worst = CLI_OK;
    while (!atomic_load(&r->m->crew.stop)) {
        r->move = take_source(r->m, false);
        if (r->move == NULL)
            break;
        enum cli_exit e = read_one(r);
        if (e != CLI_OK && e != CLI_CHECK_FAILED)
            return e;
        worst = e == CLI_OK ? worst : e;
    }
    return worst;
}

enum cli_exit cli_move_in_verify(struct cli_move_in *m)
{
    struct reader readers[CLI_TRANSFER_STREAMS];
    void *members[CLI_TRANSFER_STREAMS];
    enum cli_exit e = CLI_OK;
    begin_stage(m, "verifying");
    for (size_t i = 0; i < CLI_TRANSFER_STREAMS; i++) {
        readers[i] = (struct reader){.m = m};
        cli_tally_init(&readers[i].tally);
        enum cli_exit opened =
            cli_transfer_scan_init(&readers[i].scan, &m->cli->config, &m->crew.stop);
        e = e == CLI_OK ? opened : e;
        readers[i].scan.on_cell = count_cell;
        readers[i].scan.on_row = end_row;
        readers[i].scan.ctx = &readers[i];
        members[i] = &readers[i];
    }
    if (e == CLI_OK)
        e = cli_crew_run(&m->crew, read_back, members, draw, m);
    cli_progress_hide();
    for (size_t i = 0; i < CLI_TRANSFER_STREAMS; i++) {
        cli_transfer_scan_fini(&readers[i].scan);
        cli_tally_fini(&readers[i].tally);
    }
    return e;
}
