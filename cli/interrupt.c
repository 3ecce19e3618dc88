/*
 * cli/interrupt.c - see interrupt.h.
 *
 * The handler sets a flag and erases the bar with one write(2); the rest happens where the flag is
 * checked. SA_RESETHAND makes the second signal fatal; without SA_RESTART, reads and sleeps return.
 * In full-screen mode the handler is installed again, so that it restores the terminal before the
 * second signal ends the process.
 */
#include "cli/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/banned.h"

#define NAP_MS 50

static volatile sig_atomic_t caught_signal;
static volatile sig_atomic_t bar_drawn;
static const struct termios *volatile screen_before;
static const char *volatile screen_text; /* NULL: not in full-screen mode */

static void arm(int number);
static void give_back(bool may_wait);

static void on_signal(int number)
{
    int saved = errno;
    if (screen_text != NULL && caught_signal != 0) {
        give_back(false);
        (void)raise(number); /* fatal as soon as the handler returns */
    } else if (screen_text != NULL) {
        arm(number);
    }
    caught_signal = number;
    if (bar_drawn) {
        static const char wipe[] = "\r\033[K";
        ssize_t n = write(STDERR_FILENO, wipe, sizeof wipe - 1);
        (void)n; /* nothing to do about a terminal that is gone */
        bar_drawn = 0;
    }
    errno = saved;
}

static void arm(int number)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    action.sa_flags = (int)SA_RESETHAND;
    (void)sigaction(number, &action, NULL); /* cannot fail for these numbers */
}

void cli_interrupt_install(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct sigaction old;
        if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler == SIG_IGN)
            continue; /* nohup and background jobs ignore it on purpose */
        arm(numbers[i]);
    }
    (void)signal(SIGPIPE, SIG_IGN); /* cannot fail; writes report EPIPE instead */
}

bool cli_interrupted(void)
{
    return caught_signal != 0;
}

void cli_interrupt_bar(bool drawn)
{
    bar_drawn = drawn;
}

void cli_interrupt_screen(const struct termios *before, const char *text)
{
    screen_before = before;
    screen_text = text;
}

/* Writes to the terminal; a blocked terminal must not keep a process from ending. */
static void write_now(const char *text, bool may_wait)
{
    int flags = fcntl(STDOUT_FILENO, F_GETFL);
    if (!may_wait && flags >= 0)
        (void)fcntl(STDOUT_FILENO, F_SETFL, flags | O_NONBLOCK); /* else the write may block */
    ssize_t n = write(STDOUT_FILENO, text, strlen(text));
    (void)n; /* nothing to do about a terminal that is gone, or full */
    if (!may_wait && flags >= 0)
        (void)fcntl(STDOUT_FILENO, F_SETFL, flags); /* other processes share the descriptor */
}

static void give_back(bool may_wait)
{
    const char *text = screen_text;
    if (text == NULL)
        return;
    screen_text = NULL;
    if (caught_signal != 0)
        (void)signal((int)caught_signal, SIG_DFL); /* cannot fail; the handler was reinstalled */
    if (screen_before != NULL)
        (void)tcsetattr(STDIN_FILENO, TCSANOW, screen_before); /* fails when the terminal is gone */
    write_now(text, may_wait);
}

void cli_interrupt_give_back(void)
{
    give_back(true);
}

bool cli_sleep_ms(uint64_t ms)
{
    /* Sleeps in steps, because a signal wakes only the main thread, and other threads sleep,
     * too. */
    for (uint64_t left = ms; left > 0 && !cli_interrupted();) {
        uint64_t nap = left < NAP_MS ? left : NAP_MS;
        struct timespec time = {.tv_nsec = (long)nap * 1000000L};
        left = nanosleep(&time, NULL) == 0 ? left - nap : left;
    }
    return !cli_interrupted();
}

void cli_end_by_signal(enum cli_exit code)
{
    int number = 0;
    if (code == CLI_BROKEN_PIPE)
        number = SIGPIPE;
    else if (code == CLI_INTERRUPTED)
        number = caught_signal != 0 ? (int)caught_signal : SIGINT;
    if (number == 0)
        return;
    (void)signal(number, SIG_DFL); /* cannot fail */
    (void)raise(number);           /* does not return unless blocked */
}
