/*
 * cli/commands.c - the command table: what exists, what it takes, what help says about it.
 *
 * Dispatch, argument checks and every help page are made from this file.
 */
#include "cli/command.h"

#include "cli/handlers.h"
#include "cli/help.h"

#include "base/banned.h"

#define END                                                                                        \
    {                                                                                              \
        NULL, NULL, NULL, false, false                                                             \
    }

const struct cli_option CLI_GLOBAL_OPTIONS[] = {
    {"url", "URL", "the server (BIGTENT_URL)", false, false},
    {"key-file", "FILE", "file whose first line is the API key", false, false},
    {"key", "KEY", "the API key itself; visible to other users", false, false},
    {"cacert", "FILE", "CA certificate to trust (BIGTENT_CACERT)", false, false},
    {"tenant", "ID", "act for this tenant (service and operator keys)", false, false},
    {"json", NULL, "print the server's JSON", false, false},
    {"retry", "N", "tries after \"too fast\" or \"busy\", default 3", false, false},
    {"help", NULL, "explain the command (also -h)", false, false},
    {"version", NULL, "print the version", false, false},
    END,
};

const struct cli_group CLI_GROUPS[] = {
    {"tenant", "Tenants, with an operator key:"},
    {"key", "API keys, with an operator key:"},
    {"table", "Tables of a tenant:"},
    {"row", "Rows of a table:"},
    {"job", "Long work of the server, with an operator key:"},
    {NULL, NULL},
};

static const struct cli_option TENANT_CREATE[] = {
    {"name", "N", "display name, for people", false, false},
    END,
};
static const struct cli_option TENANT_SUSPEND[] = {
    {"reason", "R", "shown to the tenant with every refusal", true, false},
    END,
};
static const struct cli_option TENANT_OFFBOARD[] = {
    {"confirm", "ID", "the tenant's ID once more", true, false},
    {"wait", NULL, "follow the job to its end", false, false},
    END,
};
static const struct cli_option TENANT_QUOTA[] = {
    {"bytes", "N", "stored bytes; N, NK, NM, NG, NT or none", false, false},
    {"rows", "N", "rows", false, false},
    {"reads-per-s", "N", "read operations a second", false, false},
    {"writes-per-s", "N", "write operations a second", false, false},
    {"cell-bytes", "N", "largest value of a cell", false, false},
    {"none", NULL, "lift every limit", false, false},
    END,
};
static const struct cli_option KEY_CREATE[] = {
    {"tenant", "ID", "works on this tenant only", false, false},
    {"service", NULL, "a backend that acts for many tenants", false, false},
    {"operator", NULL, "manages tenants and keys, reads no data", false, false},
    {"scope", "S",
     "data.read, data.write, table.admin, admin.read or\n"
     "                        admin.write; default: all of the kind",
     false, true},
    {"label", "L", "a note for the list of keys", false, false},
    END,
};
static const struct cli_option KEY_OF[] = {
    {"tenant", "ID", "whose; without it the service and operator keys", false, false},
    END,
};
static const struct cli_option ROW_DROP[] = {
    {"prefix", "P", "rows whose key begins with P", false, false},
    {"all", NULL, "every row of the table", false, false},
    {"yes", NULL, "with --all: do not ask", false, false},
    END,
};
static const struct cli_option SCAN[] = {
    {"prefix", "P", "rows whose key begins with P", false, false},
    {"start", "S", "first key, inclusive", false, false},
    {"end", "E", "last key, exclusive", false, false},
    {"limit", "N", "at most N rows", false, false},
    END,
};
static const struct cli_option USAGE[] = {
    {"tenant", "ID", "whose (service and operator keys)", false, false},
    {"recount", NULL, "count what is stored and compare (operator key)", false, false},
    END,
};
static const struct cli_option JOB_SHOW[] = {
    {"wait", NULL, "follow the job to its end", false, false},
    END,
};

const struct cli_command CLI_COMMANDS[] = {
    {"tenant", "create", "ID", 1, 1, TENANT_CREATE, "make a tenant",
     "Make a tenant. The ID is 2 to 63 letters a-z, digits and dashes, begins with a\n"
     "letter or digit, and is never given out again; it should not be personal data.",
     "bigtent tenant create altostrat --name 'Altostrat Ltd'", cli_tenant_create, true},
    {"tenant", "list", "", 0, 0, NULL, "list the tenants",
     "List every tenant with its state, stored bytes and rows.\n"
     "Columns: tenant, state, stored bytes, rows, created, name.",
     "bigtent tenant list\nbigtent tenant list | awk '$2 == \"suspended\" { print $1 }'",
     cli_tenant_list, true},
    {"tenant", "show", "ID", 1, 1, NULL, "show a tenant's state, usage and quota",
     "Show one tenant: state, reason of a suspension, usage, quota, offboarding job.",
     "bigtent tenant show altostrat", cli_tenant_show, true},
    {"tenant", "suspend", "ID", 1, 1, TENANT_SUSPEND, "refuse a tenant's requests",
     "Refuse every request for the tenant's data until it is resumed. Nothing is deleted.",
     "bigtent tenant suspend altostrat --reason 'invoice 2026-11 unpaid'", cli_tenant_suspend,
     true},
    {"tenant", "resume", "ID", 1, 1, NULL, "end a suspension", "Serve a suspended tenant again.",
     "bigtent tenant resume altostrat", cli_tenant_resume, true},
    {"tenant", "offboard", "ID", 1, 1, TENANT_OFFBOARD, "delete a tenant and prove it",
     "Delete everything of a tenant for good. Its keys stop working at once; a job drops\n"
     "its range, compacts the files and audits that no key of it is left.\n"
     "With --wait the exit status is 5 when the job failed.",
     "bigtent tenant offboard altostrat --confirm altostrat --wait", cli_tenant_offboard, true},
    {"tenant", "quota", "ID", 1, 1, TENANT_QUOTA, "show or change a tenant's limits",
     "Without options show the quota. With options change those limits and keep the\n"
     "others. A limit is a number, with K, M, G or T for powers of 1024, or none.\n"
     "Over a stored quota writes are refused and deletes still pass.",
     "bigtent tenant quota altostrat\n"
     "bigtent tenant quota altostrat --bytes 10G --writes-per-s 500\n"
     "bigtent tenant quota altostrat --rows none",
     cli_tenant_quota, true},

    {"key", "create", "", 0, 0, KEY_CREATE, "make an API key, shown once",
     "Make an API key for a tenant (--tenant ID), a service or an operator. The key is\n"
     "printed now and never again; the server keeps only a digest.",
     "bigtent key create --tenant altostrat --scope data.read --label dashboard\n"
     "bigtent key create --service --label backend\n"
     "(umask 077; bigtent key create --tenant altostrat | awk '$1 == \"key\" { print $2 }' > key)",
     cli_key_create, true},
    {"key", "list", "", 0, 0, KEY_OF, "list a tenant's keys, or the others",
     "List the keys of --tenant ID, or without it the service and operator keys. The\n"
     "keys themselves are not stored and cannot be shown.\n"
     "Columns: id, kind, scopes, created, label.",
     "bigtent key list --tenant altostrat\nbigtent key list", cli_key_list, true},
    {"key", "revoke", "KEYID", 1, 1, KEY_OF, "make a key stop working, at once",
     "Revoke the key with this ID (see key list): of --tenant ID, or without it a\n"
     "service or operator key.",
     "bigtent key revoke 4fGh67kPq2Xa --tenant altostrat", cli_key_revoke, true},

    {"table", "list", "", 0, 0, NULL, "list the tables",
     "List the tenant's tables. Columns: table, stored bytes, rows, cells, families.",
     "bigtent table list\nbigtent table list --tenant altostrat     # with a service key",
     cli_table_list, true},
    {"table", "create", "T FAMILY[:max_versions=N|:max_age=Ns]...", 2, -1, NULL,
     "make a table, or change its families",
     "Make a table with these column families, or add and change families of one that\n"
     "exists (naming all it has). Old versions beyond max_versions, or older than\n"
     "max_age (Ns, Nm, Nh, Nd), are no longer read.",
     "bigtent table create phone stats:max_versions=3 location:max_age=30d raw", cli_table_create,
     true},
    {"table", "show", "T", 1, 1, NULL, "show a table's families and size",
     "Show one table: families with their rules, stored bytes, rows, cells.",
     "bigtent table show phone", cli_table_show, true},
    {"table", "delete", "T", 1, 1, NULL, "delete a table and its rows",
     "Delete a table. It is invisible at once; the command returns when its rows are gone.",
     "bigtent table delete phone", cli_table_delete, true},

    {"row", "get", "T KEY", 2, 2, NULL, "show a row",
     "Show the cells of one row, newest version first.\n"
     "Columns: key, column, timestamp (microseconds), value.",
     "bigtent row get phone '4c410523#20190501'\n"
     "bigtent row get phone '4c410523#20190501' --json",
     cli_row_get, true},
    {"row", "put", "T KEY FAMILY:QUAL=VALUE...", 3, -1, NULL, "replace a row",
     "Replace the row by these cells. The qualifier ends at the first \"=\".",
     "bigtent row put phone '4c410523#20190501' stats:os_build=PQ2A.190405.003 stats:wifi=1",
     cli_row_put, true},
    {"row", "set", "T KEY FAMILY:QUAL=VALUE...", 3, -1, NULL, "write cells of a row, keep others",
     "Write these cells and keep the row's others.",
     "bigtent row set phone '4c410523#20190501' stats:battery=83", cli_row_set, true},
    {"row", "delete", "T KEY [FAMILY:QUAL|FAMILY]...", 2, -1, NULL,
     "delete a row, columns or families",
     "Delete the row, or only these columns and families of it. It is no error when it\n"
     "is not there.",
     "bigtent row delete phone '4c410523#20190501'\n"
     "bigtent row delete phone '4c410523#20190501' stats:battery location",
     cli_row_delete, true},
    {"row", "load", "T [FILE|-]", 1, 2, NULL, "write many rows from NDJSON",
     "Read one row per line, as scan --json prints them, from a file or standard input:\n"
     "  {\"key\":\"k1\",\"cells\":{\"stats\":{\"os\":\"17\"}}}              add cells, like row "
     "set\n"
     "  {\"op\":\"put\",\"key\":\"k2\",\"cells\":{\"stats\":{\"os\":\"17\"}}}   like row put\n"
     "  {\"op\":\"delete\",\"key\":\"k3\"}\n"
     "Lines are independent; a failed one is reported on stderr with its number, and the\n"
     "exit status is 5. A rate limit slows the load down. When it stops it says from\n"
     "which line to go on.",
     "bigtent row load phone rows.ndjson\n"
     "zcat rows.ndjson.gz | bigtent row load phone -\n"
     "bigtent scan phone --json | bigtent row load phone2 -",
     cli_row_load, true},
    {"row", "drop", "T", 1, 1, ROW_DROP, "delete rows by key prefix",
     "Delete every row whose key begins with P, or with --all every row of the table.",
     "bigtent row drop phone --prefix '4c410523#'\nbigtent row drop phone --all --yes",
     cli_row_drop, true},

    {NULL, "scan", "T", 1, 1, SCAN, "show rows in key order",
     "Show rows in key order as they stream from the server.\n"
     "Columns: key, column, timestamp (microseconds), value. Control characters and \"\\\"\n"
     "in keys and values are escaped; spaces too, in all columns but the last. With\n"
     "--json one row per line, exactly as the server sent it.",
     "bigtent scan phone --prefix '4c410523#'\n"
     "bigtent scan phone --start a --end n --limit 100\n"
     "bigtent scan phone --json > phone.ndjson",
     cli_scan, true},
    {NULL, "usage", "", 0, 0, USAGE, "show what a tenant stores",
     "Show stored bytes, rows, cells and quota of the key's tenant, or of --tenant ID.\n"
     "With --recount everything is counted anew and compared with the counters; the\n"
     "exit status is 5 when they differ.",
     "bigtent usage\nbigtent usage --tenant altostrat --recount", cli_usage, true},
    {"job", "list", "", 0, 0, NULL, "list jobs, newest first",
     "List offboarding jobs. Columns: job, tenant, state, steps, requested, finished.",
     "bigtent job list", cli_job_list, true},
    {"job", "show", "ID", 1, 1, JOB_SHOW, "show a job and what it proved",
     "Show one job: state, steps, and the audit before and after.\n"
     "The exit status is 5 when the job failed.",
     "bigtent job show 5kQ0aZ81mVb3XyTw --wait", cli_job_show, true},
    {NULL, "health", "", 0, 0, NULL, "ask whether the server is ready",
     "Ask the server whether it answers and is ready; no key is needed or sent.\n"
     "The exit status is 5 when it answers but is not ready.",
     "bigtent health\nuntil bigtent health; do sleep 1; done", cli_health, false},
    {NULL, "help", "[GROUP] [COMMAND]", 0, 2, NULL, "explain a command",
     "Explain a group of commands or one command.", "bigtent help row load", cli_help_run, false},
    {NULL, NULL, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, false},
};
