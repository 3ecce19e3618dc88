/*
 * cli/move_in.c - see move_in.h.
 *
 * Each stream takes a source, reads it to its end and takes the next. The state file is written at
 * most twice a second, and at the end of every run, also after a failure.
 */
#include "cli/move_in.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "cli/move_stream.h"
#include "cli/out.h"
#include "cli/progress.h"
#include "cli/text.h"
#include "cli/transfer_manifest.h"

#include "base/banned.h"

/* Checks that the command line names the directory or service of the source. */
static enum cli_exit check_given(const struct cli_move_in *m, const struct cli_move_source *s)
{
    bool is_database = s->database != NULL;
    if (is_database ? m->from != NULL : m->service.url != NULL)
        return CLI_OK;
    return cli_fail(CLI_USAGE, "%s:%" PRIu32 ": %s needs %s", s->at.file, s->at.line,
                    is_database ? "a database" : "a table of a service",
                    is_database ? "--from DIR" : "--from-service URL");
}

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
    for (size_t i = 0; i < m->map.count && e == CLI_OK; i++) {
        m->moves[i].source = &m->map.sources[i];
        e = check_given(m, &m->map.sources[i]);
    }
    return e;
}

void cli_move_in_fini(struct cli_move_in *m)
{
    for (size_t i = 0; m->moves != NULL && i < m->map.count; i++) {
        json_decref(m->moves[i].families);
        json_decref(m->moves[i].schema);
        cli_slice_free(&m->moves[i].after);
    }
    base_free(m->moves);
    cli_move_map_fini(&m->map);
    cli_service_fini(&m->service);
    if (m->lock_fd >= 0)
        (void)close(m->lock_fd); /* releases the lock */
    cli_crew_fini(&m->crew);
}

void cli_move_draw(void *ctx)
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

struct cli_move *cli_move_take_source(struct cli_move_in *m, bool unfinished)
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

void cli_move_begin_stage(struct cli_move_in *m, const char *verb)
{
    m->verb = verb;
    m->next = 0;
    m->started_ns = base_monotonic_ns();
    atomic_store(&m->rows, 0);
    atomic_store(&m->bytes, 0);
}

/* --- all sources ------------------------------------------------------------------------------
 */

static enum cli_exit move_sources(void *member)
{
    struct cli_move_stream *s = member;
    enum cli_exit e = CLI_OK;
    while (e == CLI_OK && !atomic_load(&s->m->crew.stop)) {
        s->move = cli_move_take_source(s->m, true);
        if (s->move == NULL)
            break;
        e = s->move->source->database != NULL ? cli_move_database(s) : cli_move_service(s);
    }
    return e;
}

enum cli_exit cli_move_in_run(struct cli_move_in *m)
{
    struct cli_move_stream streams[CLI_TRANSFER_STREAMS];
    void *members[CLI_TRANSFER_STREAMS];
    enum cli_exit e = CLI_OK;
    cli_move_begin_stage(m, m->writes ? "moving" : "reading");
    for (size_t i = 0; i < CLI_TRANSFER_STREAMS; i++) {
        enum cli_exit opened = cli_move_stream_init(&streams[i], m);
        e = e == CLI_OK ? opened : e;
        members[i] = &streams[i];
    }
    if (e == CLI_OK && m->writes)
        e = cli_move_save_notes(m);
    if (e == CLI_OK)
        e = cli_crew_run(&m->crew, move_sources, members, cli_move_draw, m);
    cli_progress_hide();
    for (size_t i = 0; i < CLI_TRANSFER_STREAMS; i++)
        cli_move_stream_fini(&streams[i]);
    enum cli_exit saved = m->writes ? cli_move_save_notes(m) : CLI_OK;
    return e == CLI_OK ? saved : e;
}
