/*
 * cli/cmd_metering.c - bills: GET /v1/admin/metering, or /v1/metering with a tenant's key.
 *
 * Lines are printed as they arrive.
 */
#include <string.h>

#include "cli/handlers.h"
#include "cli/http.h"
#include "cli/out.h"
#include "cli/target.h"

#include "base/banned.h"

static enum cli_exit print_bytes(void *ctx, struct slice bytes)
{
    (void)ctx; /* unchanged */
    cli_out_bytes(bytes);
    return cli_out_state();
}

enum cli_exit cli_metering(struct cli *cli)
{
    struct buf target;
    struct cli_answer answer;
    struct cli_request request = {
        .method = "GET", .target = &target, .repeatable = true, .on_bytes = print_bytes};
    const char *format = cli_args_value(&cli->args, "format");
    if (format != NULL && strcmp(format, "ndjson") != 0 && strcmp(format, "csv") != 0)
        return cli_fail(CLI_USAGE, "--format is ndjson or csv");
    enum cli_key_kind kind = cli_config_key_kind(&cli->config);
    bool is_own = kind == CLI_KEY_TENANT || kind == CLI_KEY_SERVICE;
    cli_target1(&target, is_own ? "/v1/metering" : "/v1/admin/metering", NULL);
    cli_target_query(&target, "tenant", is_own ? NULL : cli_args_value(&cli->args, "tenant"));
    cli_target_query(&target, "from", cli_args_value(&cli->args, "from"));
    cli_target_query(&target, "until", cli_args_value(&cli->args, "until"));
    cli_target_query(&target, "format", format);
    enum cli_exit e = cli_http_run(cli->http, &request, &answer);
    base_buf_fini(&answer.body);
    base_buf_fini(&target);
    return e;
}
