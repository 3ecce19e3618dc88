/* cli/progress.c - see progress.h. */
#include "cli/progress.h"

#include <pthread.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/clock.h"
#include "cli/bounds.h"
#include "cli/interrupt.h"
#include "cli/out.h"
#include "cli/text.h"

#include "base/banned.h"

#define BAR_CELLS 16

/* Streams of an export print messages while the main thread draws. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool drawn;
static uint64_t drawn_ns;

bool cli_progress_due(void)
{
    return cli_err_is_terminal() &&
           base_monotonic_ns() - drawn_ns >= CLI_BAR_PERIOD_MS * UINT64_C(1000000);
}

void cli_progress_draw(uint64_t done, uint64_t total, const char *text)
{
    if (!cli_err_is_terminal() || cli_interrupted())
        return;
    struct buf line;
    base_buf_init(&line, 4096);
    if (total > 0) {
        double part = done >= total ? 1.0 : (double)done / (double)total;
        unsigned full = (unsigned)(part * BAR_CELLS);
        base_buf_append_byte(&line, '[');
        for (unsigned i = 0; i < BAR_CELLS; i++)
            base_buf_append_byte(&line, i < full ? '#' : i == full ? '>' : ' ');
        base_buf_printf(&line, "] %3u%%  ", (unsigned)(part * 100));
    }
    base_buf_append_text(&line, text);
    /* The last column stays free: writing to it makes some terminals wrap. */
    struct slice shown = cli_text_cut(base_buf_slice(&line), cli_err_columns() - 1);
    (void)fflush(stdout); /* keeps the order on a terminal */
    pthread_mutex_lock(&lock);
    cli_interrupt_bar(true);
    (void)fprintf(stderr, "\r%.*s\033[K", SLICE_ARGS(shown)); /* a lost bar is no loss */
    drawn = true;
    drawn_ns = base_monotonic_ns();
    pthread_mutex_unlock(&lock);
    base_buf_fini(&line);
}

void cli_progress_hide(void)
{
    pthread_mutex_lock(&lock);
    if (drawn) {
        (void)fputs("\r\033[K", stderr); /* a lost bar is no loss */
        drawn = false;
        drawn_ns = 0;
        cli_interrupt_bar(false);
    }
    pthread_mutex_unlock(&lock);
}
