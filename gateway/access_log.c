/*
 * gateway/access_log.c - lines collected by each loop and written by a separate thread.
 *
 * A loop fills a chunk and hands it to the writer when it is full, and at each tick. Waiting chunks
 * are counted. While there are too many, lines are only counted as lost, until the writer has
 * caught up: a slow or full disk costs lines and never a request.
 *
 * Nothing in a line needs an escape: IDs, names of routes, codes, numbers and numeric addresses.
 */
#include "gateway/access_log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/log.h"
#include "gateway/label.h"

#include "base/banned.h"

#define CHUNK_BYTES (64 * KIB)
#define LINE_BYTES  1024
#define CHUNKS_MAX  (LIM_ACCESS_LOG_BYTES / CHUNK_BYTES)
#define NS_PER_US   1000ul

struct chunk {
    struct base_msg msg;
    struct gw_access_log *log;
    uint64_t lines;
    struct buf text;
};

struct gw_access_log {
    struct base_worker writer;
    int fd; /* the writer's; -1: it could not be opened */
    struct base_msg reopen_msg;
    _Atomic bool is_reopening;
    _Atomic uint64_t waiting; /* chunks */
    _Atomic uint64_t lost;    /* lines */
    char path[BASE_PATH_BYTES];
};

struct gw_access_lines {
    struct gw_access_log *log;
    struct chunk *chunk; /* NULL: no line since the last chunk was handed over */
};

/* --- the writer --------------------------------------------------------------------------------
 */

static int open_path(const char *path)
{
    return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0600);
}

static bool write_all(int fd, struct slice bytes)
{
    while (bytes.len > 0) {
        ssize_t n = write(fd, bytes.ptr, bytes.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        bytes = base_slice_skip(bytes, (size_t)n);
    }
    return true;
}

static void lose(struct gw_access_log *log, uint64_t lines)
{
    atomic_fetch_add_explicit(&log->lost, lines, memory_order_relaxed);
}

static void run_chunk(struct base_msg *msg)
{
    struct chunk *c = (struct chunk *)msg;
    struct gw_access_log *log = c->log;
    if (!write_all(log->fd, base_buf_slice(&c->text))) {
        base_log(BASE_LOG_ERROR, "access_log_lost", "lines=%" PRIu64 " errno=%d", c->lines, errno);
        lose(log, c->lines);
    }
    base_buf_fini(&c->text);
    base_free(c);
    atomic_fetch_sub_explicit(&log->waiting, 1, memory_order_relaxed);
}

static void run_reopen(struct base_msg *msg)
{
    struct gw_access_log *log =
        (struct gw_access_log *)((char *)msg - offsetof(struct gw_access_log, reopen_msg));
    atomic_store(&log->is_reopening, false); /* requests from here on cause another reopen */
    int fd = open_path(log->path);
    if (fd < 0) {
        base_log(BASE_LOG_ERROR, "access_log_kept", "errno=%d", errno);
        return;
    }
    if (close(log->fd) != 0)
        base_log(BASE_LOG_ERROR, "access_log_close", "errno=%d", errno);
    log->fd = fd;
    base_log(BASE_LOG_INFO, "access_log_reopened", "ok=1");
}

/* --- opening and closing -----------------------------------------------------------------------
 */

enum err gw_access_log_open(const char *path, struct gw_access_log **out, struct errbuf *eb)
{
    struct gw_access_log *log = base_new(sizeof *log);
    if (strlen(path) >= sizeof log->path) {
        base_free(log);
        return base_fail(eb, ERR_TOO_BIG, "the path of the access log has more than %d bytes",
                         BASE_PATH_BYTES - 1);
    }
    memcpy(log->path, path, strlen(path));
    log->reopen_msg.run = run_reopen;
    log->fd = open_path(path);
    if (log->fd < 0) {
        base_free(log);
        return base_fail(eb, ERR_IO, "the access log %s cannot be opened: %m", path);
    }
    enum err e = base_worker_start(&log->writer, "access-log");
    if (e != ERR_OK) {
        (void)close(log->fd); /* nothing was written */
        base_free(log);
        return base_fail(eb, e, "the access log's thread cannot be made");
    }
    *out = log;
    return ERR_OK;
}

void gw_access_log_close(struct gw_access_log *log)
{
    if (log == NULL)
        return;
    base_worker_stop(&log->writer);
    if (close(log->fd) != 0)
        base_log(BASE_LOG_ERROR, "access_log_close", "errno=%d", errno);
    base_free(log);
}

void gw_access_log_reopen(struct gw_access_log *log)
{
    if (!atomic_exchange(&log->is_reopening, true))
        base_worker_post(&log->writer, &log->reopen_msg);
}

uint64_t gw_access_log_lost(const struct gw_access_log *log)
{
    return atomic_load_explicit(&log->lost, memory_order_relaxed);
}

/* --- lines -------------------------------------------------------------------------------------
 */

struct gw_access_lines *gw_access_lines_new(struct gw_access_log *log)
{
    struct gw_access_lines *lines = base_new(sizeof *lines);
    lines->log = log;
    return lines;
}

static void hand_over(struct gw_access_lines *lines)
{
    struct chunk *c = lines->chunk;
    if (c == NULL)
        return;
    lines->chunk = NULL;
    base_worker_post(&lines->log->writer, &c->msg);
}

void gw_access_lines_end(struct gw_access_lines *lines)
{
    if (lines == NULL)
        return;
    hand_over(lines);
    base_free(lines);
}

void gw_access_lines_tick(struct gw_access_lines *lines)
{
    hand_over(lines);
}

/* Returns a chunk that has memory for a line; NULL when too many wait. */
static struct chunk *chunk_of(struct gw_access_lines *lines)
{
    struct gw_access_log *log = lines->log;
    if (lines->chunk != NULL && lines->chunk->text.len + LINE_BYTES > CHUNK_BYTES)
        hand_over(lines);
    if (lines->chunk != NULL)
        return lines->chunk;
    if (atomic_fetch_add_explicit(&log->waiting, 1, memory_order_relaxed) >= CHUNKS_MAX) {
        atomic_fetch_sub_explicit(&log->waiting, 1, memory_order_relaxed);
        return NULL;
    }
    struct chunk *c = base_new(sizeof *c);
    c->msg.run = run_chunk;
    c->log = log;
    base_buf_init(&c->text, CHUNK_BYTES);
    (void)base_buf_reserve(&c->text, CHUNK_BYTES); /* an error latches, and the line is lost */
    lines->chunk = c;
    return c;
}

static void put_text(struct buf *out, const char *name, struct slice text)
{
    if (text.len == 0)
        (void)base_buf_printf(out, "\"%s\":null,", name); /* errors latch in out */
    else
        (void)base_buf_printf(out, "\"%s\":\"%.*s\",", name, SLICE_ARGS(text)); /* the same */
}

static void put_who(struct buf *out, const struct gw_call *call)
{
    bool has_key = call->who.key_id[0] != '\0';
    put_text(out, "key", base_slice_text(call->who.key_id));
    put_text(out, "kind", base_slice_text(has_key ? auth_kind_name(call->who.kind) : ""));
    put_text(out, "tenant", call->tenant == NULL ? SLICE_EMPTY : ten_tenant_id(call->tenant));
    put_text(out, "peer", base_slice_text(call->action.address));
}

static void put_what(struct buf *out, const struct gw_call *call, const struct gw_label *label)
{
    const struct gw_seen *seen = &call->seen;
    enum gw_protocol_id protocol = call->protocol->id;
    char request[GW_LABEL_TEXT];
    gw_label_text(protocol, label->what, request);
    put_text(out, "protocol", base_slice_text(gw_protocol_name(protocol)));
    put_text(out, "request", base_slice_text(request));
    if (seen->status == 0)
        put_text(out, "status", SLICE_EMPTY); /* the peer did not receive a complete response */
    else
        (void)base_buf_printf(out, "\"status\":%d,", /* errors latch in out */
                              protocol == GW_PROTOCOL_GRPC ? label->code : seen->status);
    put_text(out, "error",
             base_slice_text(seen->problem == 0 ? "" : gw_problem_get(seen->problem)->code));
    (void)base_buf_printf(out,
                          "\"bytes_in\":%" PRIu64 ",\"bytes_out\":%" PRIu64 ",\"us\":%" PRIu64
                          "}\n", /* the same */
                          seen->bytes_in, seen->bytes_out, seen->took_ns / NS_PER_US);
}

void gw_access_line(struct gw_access_lines *lines, const struct gw_call *call,
                    const struct gw_label *label)
{
    struct chunk *c = chunk_of(lines);
    if (c == NULL) {
        lose(lines->log, 1);
        return;
    }
    char time[BASE_TIME_TEXT];
    size_t before = c->text.len;
    base_time_format(base_wall_us(), time);
    (void)base_buf_printf(&c->text, "{\"time\":\"%s\",", time); /* errors latch in text */
    put_who(&c->text, call);
    put_what(&c->text, call, label);
    if (c->text.error == ERR_OK) {
        c->lines++;
        return;
    }
    base_buf_truncate(&c->text, before);
    lose(lines->log, 1);
}
