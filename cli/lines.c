/* cli/lines.c - see lines.h. Lines that are complete in one piece are passed on without a copy. */
#include "cli/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/limits.h"
#include "cli/out.h"

#include "base/banned.h"

#define READ_BYTES (64 * KIB)

void cli_lines_init(struct cli_lines *l, size_t max,
                    enum cli_exit (*take)(void *ctx, struct slice line), void *ctx)
{
    base_buf_init(&l->pending, max);
    l->take = take;
    l->ctx = ctx;
}

void cli_lines_fini(struct cli_lines *l)
{
    base_buf_fini(&l->pending);
}

static enum cli_exit hold(struct cli_lines *l, struct slice bytes)
{
    if (base_buf_append(&l->pending, bytes) == ERR_OK)
        return CLI_OK;
    return cli_fail(CLI_REFUSED, "a line has more than %zu bytes", l->pending.max);
}

enum cli_exit cli_lines_feed(struct cli_lines *l, struct slice bytes)
{
    while (bytes.len > 0) {
        const uint8_t *end = memchr(bytes.ptr, '\n', bytes.len);
        if (end == NULL)
            return hold(l, bytes);
        struct slice line = base_slice(bytes.ptr, (size_t)(end - bytes.ptr));
        bytes = base_slice_skip(bytes, line.len + 1);
        enum cli_exit e = CLI_OK;
        if (l->pending.len > 0) {
            e = hold(l, line);
            line = base_buf_slice(&l->pending);
        }
        if (e == CLI_OK)
            e = l->take(l->ctx, line);
        base_buf_truncate(&l->pending, 0);
        if (e != CLI_OK)
            return e;
    }
    return CLI_OK;
}

enum cli_exit cli_lines_read(struct cli_lines *l, const char *path)
{
    static char bytes[READ_BYTES];
    int fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    enum cli_exit e = CLI_OK;
    ssize_t n = -1;
    if (fd < 0)
        return cli_fail(CLI_USAGE, "%s: %m", path);
    while (e == CLI_OK && (n = read(fd, bytes, sizeof bytes)) != 0) {
        if (n > 0)
            e = cli_lines_feed(l, base_slice(bytes, (size_t)n));
        else if (errno != EINTR)
            e = cli_fail(CLI_USAGE, "%s: %m", path);
    }
    if (fd != STDIN_FILENO)
        (void)close(fd); /* it was only read */
    return e;
}
