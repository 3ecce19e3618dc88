/* cli/main.c - bigtent: parses, configures, runs one command, exits as exit.h specifies. */
#include "cli/cli.h"
#include "cli/handlers.h"
#include "cli/help.h"
#include "cli/http.h"
#include "cli/interrupt.h"
#include "cli/json_text.h"
#include "cli/out.h"
#include "cli/progress.h"
#include "cli/text.h"

#include "base/banned.h"

static enum cli_exit run_command(struct cli *cli, int argc, char **argv)
{
    const struct cli_command *command = cli->args.command;
    if (command->run == cli_help_run || command->run == cli_completion)
        return command->run(cli);
    enum cli_exit e = cli_config_load(&cli->args, argc, argv, &cli->config);
    if (e == CLI_OK && command->needs_key && cli->config.key == NULL)
        e = cli_fail(CLI_USAGE, "no key: set BIGTENT_KEY or use --key-file FILE");
    if (e == CLI_OK)
        e = cli_http_open(&cli->config, &cli->http);
    if (e == CLI_OK)
        e = command->run(cli);
    cli_http_close(cli->http);
    cli_config_fini(&cli->config);
    return e;
}

static enum cli_exit run(struct cli *cli, int argc, char **argv)
{
    enum cli_exit e = cli_args_parse(argc, argv, &cli->args);
    if (e != CLI_OK)
        return e;
    if (cli->args.version && !cli->args.help) {
        cli_out_text("bigtent " BIGTENT_VERSION "\n");
        return CLI_OK;
    }
    if (cli->args.help) {
        cli_help_print(&cli->args);
        return CLI_OK;
    }
    if (cli->args.command != NULL)
        return run_command(cli, argc, argv);
    if (cli->args.group != NULL)
        return cli_fail(CLI_USAGE, "%s what? See bigtent %s --help", cli->args.group->name,
                        cli->args.group->name);
    return cli_fail(CLI_USAGE, "no command; see bigtent --help");
}

int main(int argc, char **argv)
{
    cli_text_init();
    cli_json_init();
    cli_out_init();
    cli_interrupt_install();
    struct cli cli = {0};
    enum cli_exit e = run(&cli, argc, argv);
    cli_args_fini(&cli.args);
    cli_progress_hide();
    enum cli_exit flushed = cli_out_flush();
    if (e == CLI_OK)
        e = flushed;
    cli_end_by_signal(e);
    return (int)e;
}
