/* cli/move_database.c - imports the pairs of a database as cells; see move_stream.h. */
#include <inttypes.h>

#include "base/file.h"
#include "cli/move_stream.h"
#include "cli/out.h"

#include "base/banned.h"

static enum cli_exit take_pair(struct cli_move_stream *s, const struct cli_pair *pair)
{
    struct cli_cell cell;
    struct cli_move *v = s->move;
    v->longest_key = pair->key.len > v->longest_key ? pair->key.len : v->longest_key;
    v->largest_value = pair->value.len > v->largest_value ? pair->value.len : v->largest_value;
    s->number = s->pairs.count;
    const char *why = "its key or value is longer than any cell can be";
    if (!pair->is_long)
        why = cli_move_cell(v->source, &v->limits, s->m->now_us, pair->key, pair->value, &s->row,
                            &cell);
    if (why != NULL)
        return cli_move_stream_refuse(s, pair->key, why);
    enum cli_exit e = cli_move_stream_cell(s, &cell);
    return e == CLI_OK ? cli_move_stream_key(s, pair->key) : e;
}

static enum cli_exit take_pairs(struct cli_move_stream *s)
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
            return cli_move_stream_end(s);
    }
}

/* Continues after the last recorded pair, and restores that pair's row. */
static enum cli_exit go_on(struct cli_move_stream *s)
{
    const struct cli_move *v = s->move;
    struct cli_cell cell;
    cli_move_stream_begin(s);
    if (v->content.cells == 0)
        return CLI_OK;
    if (cli_move_cell(v->source, &v->limits, s->m->now_us, v->after, SLICE_EMPTY, &s->row, &cell) !=
        NULL)
        return cli_fail(CLI_CHECK_FAILED, "%s: the key in %s does not fit any more",
                        v->source->name, s->m->state_path);
    base_buf_append(&s->last_row, cell.key);
    return CLI_OK;
}

static enum cli_exit check_sequence(struct cli_move_stream *s)
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
                    v->source->name, v->sequence, s->pairs.sequence);
}

enum cli_exit cli_move_database(struct cli_move_stream *s)
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
    enum cli_exit e = go_on(s);
    if (e != CLI_OK)
        return e;
    e = cli_pairs_open(&s->pairs, &request, v->source->name, &s->m->crew.stop);
    if (e == CLI_OK)
        e = check_sequence(s);
    if (e == CLI_OK)
        e = take_pairs(s);
    cli_pairs_close(&s->pairs);
    return e;
}
