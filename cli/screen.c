/*
 * cli/screen.c - see screen.h.
 *
 * Plain ANSI sequences. Ctrl-C remains a signal. In full-screen mode the suspend and quit keys are
 * read as bytes, so that the terminal is restored before the process stops. SIGWINCH is unblocked
 * only while ppoll waits: no change of size is lost, and none interrupts a write.
 */
#define _GNU_SOURCE /* ppoll */

#include "cli/screen.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/buf.h"
#include "cli/bounds.h"
#include "cli/interrupt.h"
#include "cli/out.h"
#include "cli/text.h"

#include "base/banned.h"

#define ENTER    "\033[?1049h\033[?25l" /* the alternate screen, no cursor */
#define LEAVE    "\033[?25h\033[?1049l"
#define HOME     "\033[H"
#define END_LINE "\033[K" /* erases the rest of the line */
#define END_PAGE "\033[J" /* erases the rest of the page */
#define ESCAPE   0x1b

static struct termios before;
static bool has_keys;
static volatile sig_atomic_t resized;
static uint8_t typed[32]; /* read, not yet returned */
static size_t typed_len;
static size_t typed_at;

static void on_resize(int number)
{
    (void)number; /* SIGWINCH */
    resized = 1;
}

bool cli_screen_is_possible(void)
{
    const char *type = getenv("TERM");
    return cli_out_is_terminal() && type != NULL && type[0] != '\0' && strcmp(type, "dumb") != 0;
}

static void enter(void)
{
    has_keys = tcgetattr(STDIN_FILENO, &before) == 0;
    cli_interrupt_screen(has_keys ? &before : NULL, LEAVE);
    if (has_keys) {
        struct termios modes = before;
        modes.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        modes.c_cc[VMIN] = 1;
        modes.c_cc[VTIME] = 0;
        modes.c_cc[VSUSP] = _POSIX_VDISABLE;
        modes.c_cc[VQUIT] = _POSIX_VDISABLE;
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &modes); /* on failure keys need Enter */
    }
    cli_out_text(ENTER);
    typed_len = 0;
    typed_at = 0;
}

void cli_screen_open(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_resize;
    action.sa_flags = (int)SA_RESTART;
    (void)sigaction(SIGWINCH, &action, NULL); /* cannot fail for this number */
    sigset_t only;
    (void)sigemptyset(&only);
    (void)sigaddset(&only, SIGWINCH);
    (void)sigprocmask(SIG_BLOCK, &only, NULL); /* cannot fail either */
    enter();
}

void cli_screen_close(void)
{
    (void)cli_out_flush(); /* the end of the program reports errors */
    cli_interrupt_give_back();
}

struct cli_screen_size cli_screen_size(void)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0)
        return (struct cli_screen_size){24, 80};
    return (struct cli_screen_size){size.ws_row, size.ws_col};
}

enum cli_exit cli_screen_draw(struct slice page)
{
    struct cli_screen_size size = cli_screen_size();
    struct buf frame;
    base_buf_init(&frame, CLI_SCREEN_BYTES);
    base_buf_append_text(&frame, HOME);
    for (unsigned row = 0; page.len > 0 && row < size.rows; row++) {
        const uint8_t *end = memchr(page.ptr, '\n', page.len);
        size_t len = end != NULL ? (size_t)(end - page.ptr) : page.len;
        base_buf_append_text(&frame, row > 0 ? "\r\n" : "");
        /* The last column stays free: writing to it makes some terminals wrap. */
        base_buf_append(&frame, cli_text_cut(base_slice(page.ptr, len), size.columns - 1));
        base_buf_append_text(&frame, END_LINE);
        page = base_slice_skip(page, end != NULL ? len + 1 : len);
    }
    base_buf_append_text(&frame, END_PAGE);
    if (frame.error == ERR_OK && !cli_interrupted())
        cli_out_bytes(base_buf_slice(&frame));
    base_buf_fini(&frame);
    return cli_out_flush();
}

/* Restores the terminal, raises the signal that the key normally sends, and returns to full-screen
 * mode when the process is continued. */
static void step_aside(int number)
{
    cli_screen_close();
    if (number == SIGTSTP)
        (void)kill(0, number); /* signals the whole job, as the terminal would */
    else
        (void)raise(number);
    enter();
    resized = 1;
}

static void read_keys(void)
{
    ssize_t n = read(STDIN_FILENO, typed, sizeof typed);
    typed_at = 0;
    typed_len = n > 0 ? (size_t)n : 0;
    if (n <= 0 && !cli_interrupted())
        has_keys = false; /* stdin is closed */
}

/* Returns the next key read; skips sequences of cursor keys and the like, which arrive complete. */
static int next_key(void)
{
    while (typed_at < typed_len) {
        uint8_t key = typed[typed_at++];
        if (key == ESCAPE)
            typed_at = typed_len;
        else if (key == before.c_cc[VSUSP] && key != _POSIX_VDISABLE)
            step_aside(SIGTSTP);
        else if (key == before.c_cc[VQUIT] && key != _POSIX_VDISABLE)
            step_aside(SIGQUIT);
        else
            return key;
    }
    return CLI_SCREEN_NOTHING;
}

/* Waits for a key, a signal or the timeout. Returns true when input is ready. */
static bool await(uint64_t wait_ms)
{
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
    struct pollfd in = {has_keys ? STDIN_FILENO : -1, POLLIN, 0};
    struct timespec time = {.tv_sec = (time_t)(wait_ms / 1000),
                            .tv_nsec = (long)(wait_ms % 1000) * 1000000L};
    sigset_t blocked;
    sigset_t usual;
    (void)sigemptyset(&blocked);
    for (size_t i = 0; i < sizeof ending / sizeof ending[0]; i++)
        (void)sigaddset(&blocked, ending[i]);
    (void)sigprocmask(SIG_BLOCK, &blocked, &usual); /* no signal between check and wait */
    sigset_t waiting = usual;
    (void)sigdelset(&waiting, SIGWINCH);
    bool is_there = !cli_interrupted() && ppoll(&in, 1, &time, &waiting) > 0;
    (void)sigprocmask(SIG_SETMASK, &usual, NULL);
    return is_there;
}

int cli_screen_key(uint64_t wait_ms)
{
    int key = next_key();
    if (key == CLI_SCREEN_NOTHING && !resized && await(wait_ms)) {
        read_keys();
        key = next_key();
    }
    if (key == CLI_SCREEN_NOTHING && resized) {
        resized = 0;
        return CLI_SCREEN_RESIZED;
    }
    return key;
}
