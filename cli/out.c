/* cli/out.c - see out.h. stdout is fully buffered unless it is a terminal, stderr is not. */
#include "cli/out.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/text.h"

#include "base/banned.h"

#define SAY_BYTES 4096

static bool out_terminal;
static bool err_terminal;
static int out_errno;
static struct buf *held_messages; /* NULL: messages are written to stderr */

void cli_out_init(void)
{
    out_terminal = isatty(STDOUT_FILENO) == 1;
    err_terminal = isatty(STDERR_FILENO) == 1;
    static char buffer[64 * 1024];
    (void)setvbuf(stdout, buffer, out_terminal ? _IOLBF : _IOFBF, sizeof buffer);
}

bool cli_out_is_terminal(void)
{
    return out_terminal;
}

bool cli_err_is_terminal(void)
{
    return err_terminal;
}

unsigned cli_err_columns(void)
{
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return 80;
}

void cli_say_hold(struct buf *held)
{
    held_messages = held;
}

void cli_out_bytes(struct slice bytes)
{
    if (out_errno != 0 || bytes.len == 0)
        return;
    if (out_terminal)
        cli_progress_hide();
    errno = 0;
    if (fwrite(bytes.ptr, 1, bytes.len, stdout) != bytes.len)
        out_errno = errno != 0 ? errno : EIO;
}

void cli_out_text(const char *text)
{
    cli_out_bytes(base_slice_text(text));
}

void cli_out_printf(const char *format, ...)
{
    if (out_errno != 0)
        return;
    if (out_terminal)
        cli_progress_hide();
    va_list args;
    va_start(args, format);
    errno = 0;
    if (vfprintf(stdout, format, args) < 0)
        out_errno = errno != 0 ? errno : EIO;
    va_end(args);
}

enum cli_exit cli_out_state(void)
{
    if (out_errno == 0)
        return CLI_OK;
    if (out_errno == EPIPE)
        return CLI_BROKEN_PIPE;
    return out_errno == EINTR && cli_interrupted() ? CLI_INTERRUPTED : CLI_REFUSED;
}

enum cli_exit cli_out_flush(void)
{
    errno = 0;
    if (out_errno == 0 && fflush(stdout) != 0)
        out_errno = errno != 0 ? errno : EIO;
    enum cli_exit state = cli_out_state();
    if (state == CLI_REFUSED)
        cli_say("cannot write the output: %s", strerror(out_errno));
    return state;
}

static void say(const char *format, va_list args)
{
    char line[SAY_BYTES];
    int n = vsnprintf(line, sizeof line, format, args);
    if (n < 0)
        return;
    size_t len = (size_t)n < sizeof line ? (size_t)n : sizeof line - 1;
    struct buf out;
    base_buf_init(&out, 4 * SAY_BYTES + 16);
    base_buf_append_text(&out, "bigtent: ");
    cli_text_escape(&out, base_slice(line, len), CLI_ESCAPE_CONTROLS);
    base_buf_append_byte(&out, '\n');
    if (held_messages != NULL) {
        (void)base_buf_append(held_messages, base_buf_slice(&out)); /* the rest is lost */
        base_buf_fini(&out);
        return;
    }
    cli_progress_hide();
    (void)fflush(stdout); /* keeps the order on a terminal; failures show at the end */
    (void)fwrite(out.ptr, 1, out.len, stderr); /* an error cannot be reported */
    base_buf_fini(&out);
}

void cli_say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(format, args);
    va_end(args);
}

enum cli_exit cli_fail(enum cli_exit code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(format, args);
    va_end(args);
    return code;
}
