/* cli/cmd_apply.c - apply: files that declare plans, tenants, tables and keys. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cli/apply_compare.h"
#include "cli/apply_fetch.h"
#include "cli/apply_read.h"
#include "cli/apply_send.h"
#include "cli/apply_show.h"
#include "cli/ask.h"
#include "cli/handlers.h"
#include "cli/interrupt.h"
#include "cli/out.h"

#include "base/banned.h"

/* --- files ------------------------------------------------------------------------------------ */

static enum cli_exit read_all(int fd, const char *name, struct buf *out)
{
    for (;;) {
        if (base_buf_reserve(out, CLI_READ_BYTES) != ERR_OK)
            return cli_fail(CLI_USAGE, "%s has more than %lu MiB", name, CLI_YAML_BYTES / MIB);
        ssize_t n = read(fd, base_buf_end(out), CLI_READ_BYTES);
        if (n == 0)
            return CLI_OK;
        if (cli_interrupted())
            return CLI_INTERRUPTED;
        if (n < 0 && errno != EINTR)
            return cli_fail(CLI_USAGE, "cannot read %s: %s", name, strerror(errno));
        out->len += n > 0 ? (size_t)n : 0;
    }
}

static enum cli_exit read_file(struct cli_apply *a, const char *path)
{
    bool is_stdin = strcmp(path, "-") == 0;
    const char *name = is_stdin ? "standard input" : path;
    int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return cli_fail(CLI_USAGE, "cannot open %s: %s", name, strerror(errno));
    struct buf text;
    base_buf_init(&text, CLI_YAML_BYTES + CLI_READ_BYTES);
    enum cli_exit e = read_all(fd, name, &text);
    if (e == CLI_OK)
        cli_apply_read(a, name, base_buf_slice(&text));
    base_buf_fini(&text);
    if (!is_stdin)
        (void)close(fd); /* it was read */
    return e;
}

static enum cli_exit read_files(const struct cli *cli, struct cli_apply *a)
{
    enum cli_exit e = CLI_OK;
    for (size_t i = 0; e == CLI_OK && i < cli->args.given_count; i++)
        if (strcmp(cli->args.given[i].option->name, "file") == 0)
            e = read_file(a, cli->args.given[i].value);
    if (e == CLI_OK)
        cli_apply_sort(a);
    return e == CLI_OK ? cli_apply_say_errors(a) : e;
}

/* --- consent ---------------------------------------------------------------------------------- */

static enum cli_exit ask(const struct cli *cli)
{
    char line[CLI_ANSWER_LINE_BYTES];
    struct slice answer;
    if (cli_args_flag(&cli->args, "yes"))
        return CLI_OK;
    if (!cli_ask_possible())
        return cli_fail(CLI_CHECK_FAILED, "nothing was changed: add --yes to do it");
    enum cli_exit e = cli_ask("apply this? [y/N]", line, &answer);
    if (e != CLI_OK || base_slice_is(answer, "y") || base_slice_is(answer, "yes"))
        return e;
    return cli_fail(CLI_CHECK_FAILED, "nothing was changed");
}

static size_t new_keys(const struct cli_apply *a)
{
    size_t count = 0;
    for (size_t i = 0; i < a->count; i++)
        count += a->items[i].kind >= CLI_APPLY_KEY && a->items[i].verb == CLI_APPLY_CREATE;
    return count;
}

/* --- apply ------------------------------------------------------------------------------------ */

static enum cli_exit carry_out(struct cli *cli, struct cli_apply_server *s, struct cli_apply *a)
{
    struct cli_apply_secrets secrets;
    const char *path = cli_args_value(&cli->args, "keys-out");
    size_t keys = new_keys(a);
    if (keys > 0 && path == NULL)
        return cli_fail(CLI_USAGE,
                        "new keys (%zu) need a place: --keys-out FILE; nothing was changed", keys);
    enum cli_exit e = cli_out_flush(); /* the plan is printed before anything is changed */
    if (e == CLI_OK)
        e = ask(cli);
    if (e != CLI_OK)
        return e;
    e = cli_apply_secrets_open(&secrets, keys > 0 ? path : NULL);
    if (e == CLI_OK)
        e = cli_apply_send(s, a, &secrets);
    if (secrets.count > 0)
        cli_say("new keys: %zu, in %s", secrets.count, path);
    cli_apply_secrets_close(&secrets);
    return e;
}

static enum cli_exit plan_and_apply(struct cli *cli, struct cli_apply_server *s,
                                    struct cli_apply *a)
{
    json_t *plans = NULL;
    enum cli_exit e = cli_apply_fetch(s, a, &plans);
    if (e == CLI_OK) {
        cli_apply_compare(a, plans);
        e = cli_apply_say_errors(a);
    }
    json_decref(plans);
    if (e != CLI_OK)
        return e;
    struct cli_apply_counts n = cli_apply_count(a);
    cli_apply_show(a, cli->config.json);
    cli_apply_show_unresolved(a);
    bool is_same = n.each[CLI_APPLY_KEEP] == a->count;
    if (!is_same && cli_args_flag(&cli->args, "dry-run"))
        return CLI_CHECK_FAILED;
    if (!is_same)
        e = carry_out(cli, s, a);
    if (e == CLI_OK && !is_same && !cli->config.json)
        cli_out_text("done\n");
    return e == CLI_OK && n.unresolved > 0 ? CLI_CHECK_FAILED : e;
}

enum cli_exit cli_apply_run(struct cli *cli)
{
    static struct cli_apply a; /* too large for a stack */
    struct cli_apply_server server = {0};
    cli_apply_init(&a);
    enum cli_exit e = read_files(cli, &a);
    if (e == CLI_OK && a.count == 0) {
        cli_apply_show(&a, cli->config.json);
    } else if (e == CLI_OK) {
        e = cli_apply_server_open(&server, cli, &a);
        if (e == CLI_OK)
            e = plan_and_apply(cli, &server, &a);
        cli_apply_server_close(&server);
    }
    cli_apply_fini(&a);
    return e;
}
