/* cli/ask.c - see ask.h. */
#include "cli/ask.h"

#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/interrupt.h"
#include "cli/out.h"

#include "base/banned.h"

#define ASK_POLL_MS 200

bool cli_ask_possible(void)
{
    return isatty(STDIN_FILENO) == 1 && cli_err_is_terminal();
}

/* Waits for a line; returns false when interrupted, also by a signal that
 * arrived before the wait. */
static bool wait_for_line(void)
{
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    while (!cli_interrupted() && poll(&in, 1, ASK_POLL_MS) <= 0) {
    }
    return !cli_interrupted();
}

enum cli_exit cli_ask(const char *question, char line[CLI_ANSWER_LINE_BYTES],
                      struct slice *out_answer)
{
    cli_say("%s", question);
    if (!wait_for_line())
        return CLI_INTERRUPTED;
    ssize_t n = read(STDIN_FILENO, line, CLI_ANSWER_LINE_BYTES);
    struct slice answer = base_slice(line, n > 0 ? (size_t)n : 0);
    while (answer.len > 0 && answer.ptr[answer.len - 1] == '\n')
        answer.len--;
    *out_answer = answer;
    return CLI_OK;
}

enum cli_exit cli_ask_table(const char *loss, const char *table)
{
    char question[512];
    char line[CLI_ANSWER_LINE_BYTES];
    struct slice answer;
    if (!cli_ask_possible())
        return cli_fail(CLI_USAGE,
                        "%s of table %s will be gone; add --yes to do it without a question", loss,
                        table);
    (void)snprintf(question, sizeof question,
                   "%s of table %s will be gone. Type the table's name to go on:", loss, table);
    enum cli_exit e = cli_ask(question, line, &answer);
    if (e == CLI_OK && !base_slice_is(answer, table))
        e = cli_fail(CLI_USAGE, "that is not its name; nothing was deleted");
    return e;
}
