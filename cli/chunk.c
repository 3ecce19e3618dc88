/* cli/chunk.c - see chunk.h. */
#include "cli/chunk.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/hashmap.h"
#include "base/text.h"
#include "cli/bounds.h"
#include "cli/interrupt.h"
#include "cli/json_text.h"
#include "cli/out.h"

#include "base/banned.h"

enum cli_exit cli_input_open(struct cli_input *in, const char *path)
{
    memset(in, 0, sizeof *in);
    bool is_stdin = strcmp(path, "-") == 0;
    in->name = is_stdin ? "standard input" : path;
    in->fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (in->fd < 0 || fstat(in->fd, &st) != 0)
        return cli_fail(CLI_USAGE, "cannot read %s: %s", in->name, strerror(errno));
    if (S_ISDIR(st.st_mode)) {
        cli_input_close(in);
        return cli_fail(CLI_USAGE, "cannot read %s: it is a directory", path);
    }
    off_t at = S_ISREG(st.st_mode) ? lseek(in->fd, 0, SEEK_CUR) : -1;
    if (at >= 0 && st.st_size > at)
        in->total_bytes = (uint64_t)(st.st_size - at);
    base_buf_init(&in->bytes, LIM_BULK_LINE_BYTES + CLI_READ_BYTES);
    return CLI_OK;
}

void cli_input_close(struct cli_input *in)
{
    if (in->fd > STDIN_FILENO)
        (void)close(in->fd); /* it was only read */
    in->fd = -1;
    base_buf_fini(&in->bytes);
}

void cli_chunk_init(struct cli_chunk *c)
{
    memset(c, 0, sizeof *c);
    /* One line may be longer than a chunk; then it is the whole chunk. */
    base_buf_init(&c->bytes, CLI_CHUNK_BYTES + LIM_BULK_LINE_BYTES + 1);
    c->lines = base_new_array(CLI_CHUNK_LINES, sizeof *c->lines);
}

void cli_chunk_fini(struct cli_chunk *c)
{
    base_buf_fini(&c->bytes);
    base_free(c->lines);
    memset(c, 0, sizeof *c);
}

static void fail_input(struct cli_input *in)
{
    in->failed = CLI_CHECK_FAILED;
    in->ended = true;
}

/* Waits for input; *out_ready is false when the input paused. */
static enum cli_exit wait_for(struct cli_input *in, bool may_pause, bool *out_ready)
{
    for (;;) {
        if (cli_interrupted())
            return CLI_INTERRUPTED;
        struct pollfd p = {.fd = in->fd, .events = POLLIN};
        int n = poll(&p, 1, may_pause ? CLI_INPUT_WAIT_MS : -1);
        if (n < 0 && errno == EINTR)
            continue;
        *out_ready = n != 0;
        return CLI_OK;
    }
}

static void refuse_line(struct cli_input *in)
{
    cli_say("%s: line %llu is longer than %lu bytes; it and what follows were not loaded", in->name,
            (unsigned long long)in->line_number + 1, LIM_BULK_LINE_BYTES);
    fail_input(in);
}

/* Reads more bytes; called when the buffer holds no complete line. */
static enum cli_exit read_some(struct cli_input *in)
{
    if (in->bytes.len > LIM_BULK_LINE_BYTES) {
        refuse_line(in);
        return CLI_OK;
    }
    if (base_buf_reserve(&in->bytes, CLI_READ_BYTES) != ERR_OK)
        return cli_fail(CLI_CHECK_FAILED, "out of memory");
    ssize_t n = read(in->fd, base_buf_end(&in->bytes), CLI_READ_BYTES);
    if (n < 0 && errno == EINTR)
        return CLI_OK; /* the caller waits again and detects the signal */
    if (n < 0) {
        cli_say("cannot read on from %s: %s", in->name, strerror(errno));
        fail_input(in);
    } else if (n == 0) {
        in->ended = true;
    } else {
        in->bytes.len += (size_t)n;
    }
    return CLI_OK;
}

static bool is_full(const struct cli_chunk *c)
{
    return c->count >= CLI_CHUNK_LINES || c->bytes.len >= CLI_CHUNK_BYTES;
}

static void add_line(struct cli_chunk *c, struct cli_input *in, struct slice line)
{
    in->line_number++;
    if (line.len == 0 || base_slice_is(line, "\r"))
        return;
    c->lines[c->count++] = (struct cli_line){c->bytes.len, line.len, in->line_number, 0};
    base_buf_append(&c->bytes, line);
    base_buf_append_byte(&c->bytes, '\n');
    INVARIANT(c->bytes.error == ERR_OK);
}

/* Moves complete lines to the chunk; at the end of the input also a last line
 * without a line feed. */
static void take_lines(struct cli_chunk *c, struct cli_input *in)
{
    size_t taken = 0;
    while (!is_full(c) && taken < in->bytes.len) {
        const uint8_t *from = in->bytes.ptr + (in->scanned > taken ? in->scanned : taken);
        const uint8_t *behind = in->bytes.ptr + in->bytes.len;
        const uint8_t *end = memchr(from, '\n', (size_t)(behind - from));
        if (end == NULL)
            break;
        size_t len = (size_t)(end - in->bytes.ptr) - taken;
        if (len > LIM_BULK_LINE_BYTES) {
            refuse_line(in);
            break;
        }
        add_line(c, in, base_slice(in->bytes.ptr + taken, len));
        taken += len + 1;
        in->scanned = taken;
    }
    if (!is_full(c))
        in->scanned = in->bytes.len;
    if (taken > 0) {
        base_buf_consume(&in->bytes, taken);
        in->scanned = in->scanned > taken ? in->scanned - taken : 0;
    }
    if (in->ended && in->failed == CLI_OK && !is_full(c) && in->bytes.len > 0) {
        add_line(c, in, base_buf_slice(&in->bytes));
        base_buf_consume(&in->bytes, in->bytes.len);
        in->scanned = 0;
    }
}

enum cli_exit cli_chunk_fill(struct cli_chunk *c, struct cli_input *in)
{
    base_buf_truncate(&c->bytes, 0);
    c->count = 0;
    for (;;) {
        take_lines(c, in);
        if (is_full(c) || in->ended)
            return CLI_OK;
        bool ready = false;
        enum cli_exit e = wait_for(in, c->count > 0, &ready);
        if (e == CLI_OK && !ready)
            return CLI_OK;
        if (e == CLI_OK)
            e = read_some(in);
        if (e != CLI_OK)
            return e;
    }
}

struct slice cli_chunk_line(const struct cli_chunk *c, size_t index)
{
    return base_slice(c->bytes.ptr + c->lines[index].begin, c->lines[index].len);
}

bool cli_chunk_row(const struct cli_chunk *c, size_t index, uint64_t *out)
{
    json_t *doc = cli_json_parse(cli_chunk_line(c, index));
    const json_t *key = json_object_get(doc, "key");
    const json_t *key_b64 = json_object_get(doc, "key_b64");
    struct buf bytes;
    base_buf_init(&bytes, CLI_TARGET_BYTES);
    bool found = json_is_string(key);
    if (found) {
        *out = base_hash(base_slice(json_string_value(key), json_string_length(key)));
    } else if (json_is_string(key_b64)) {
        struct slice text = base_slice(json_string_value(key_b64), json_string_length(key_b64));
        found = base_base64_decode(text, &bytes) == ERR_OK;
        *out = base_hash(base_buf_slice(&bytes));
    }
    base_buf_fini(&bytes);
    json_decref(doc);
    return found;
}
