/* cli/cmd_migrate.c - formats of the server's data directory: /v1/admin/formats. */
#include "cli/fields.h"
#include "cli/handlers.h"
#include "cli/target.h"

#include "base/banned.h"

static const struct cli_field FORMAT_COLUMNS[] = {
    {"FORMAT", "format", CLI_FIELD_COUNT, NULL},  {"STATE", "state", CLI_FIELD_TEXT, NULL},
    {"AT", "at", CLI_FIELD_TEXT, NULL},           {"BIGTENT", "software", CLI_FIELD_TEXT, NULL},
    {"UPGRADE", "upgrade", CLI_FIELD_TEXT, NULL}, {NULL, NULL, CLI_FIELD_TEXT, NULL},
};

enum cli_exit cli_migrate_status(struct cli *cli)
{
    struct buf target;
    cli_target1(&target, "/v1/admin/formats", NULL);
    return cli_fields_list(cli, FORMAT_COLUMNS, &target, "formats");
}
