/*
 * cli/interrupt.c - see interrupt.h.
 *
 * The handler sets a flag and wipes the bar with one write(2); everything else happens where the
 * flag is looked at. SA_RESETHAND makes the second signal deadly; no SA_RESTART, so that reads and
 * sleeps return.
 */
#include "cli/interrupt.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/banned.h"

static volatile sig_atomic_t caught_signal;
static volatile sig_atomic_t bar_drawn;

static void on_signal(int number)
{
    int saved = errno;
    caught_signal = number;
    if (bar_drawn) {
        static const char wipe[] = "\r\033[K";
        ssize_t n = write(STDERR_FILENO, wipe, sizeof wipe - 1);
        (void)n; /* nothing to do about a terminal that is gone */
        bar_drawn = 0;
    }
    errno = saved;
}

void cli_interrupt_install(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct sigaction old;
        if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler == SIG_IGN)
            continue; /* nohup and background jobs asked for that */
        struct sigaction action;
        memset(&action, 0, sizeof action);
        action.sa_handler = on_signal;
        action.sa_flags = (int)SA_RESETHAND;
        (void)sigaction(numbers[i], &action, NULL); /* cannot fail for these numbers */
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

bool cli_sleep_ms(uint64_t ms)
{
    struct timespec left = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000L};
    while (!cli_interrupted()) {
        if (nanosleep(&left, &left) == 0)
            return !cli_interrupted();
    }
    return false;
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
