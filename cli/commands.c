/*
 * cli/commands.c - the command table: commands, their arguments, their help.
 *
 * Dispatch, argument checks and every help page use this file. Over 500 lines because it
 * is one table, and help is text.
 */
#include "cli/command.h"

#include "cli/handlers.h"
#include "cli/help.h"
#include "cli/quota.h"

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
    {"plan", "Plans of tenants, with an operator key:"},
    {"key", "API keys, with an operator key:"},
    {"table", "Tables of a tenant:"},
    {"row", "Rows of a table:"},
    {"audit", "Who changed what, with an operator key or a tenant's:"},
    {"job", "Long work of the server, with an operator key:"},
    {"certificate", "Proof that a tenant is gone:"},
    {"backup", "Backups, with an operator key:"},
    {"migrate", "Formats of what is stored, with an operator key:"},
    {NULL, NULL},
};

static const struct cli_option TENANT_CREATE[] = {
    {"name", "N", "display name, for people", false, false},
    {"plan", "PLAN", "the plan it has; \"standard\", if there is one", false, false},
    {"no-plan", NULL, "it has no plan", false, false},
    {"encrypted", NULL, "seal what it stores with a key of its own", false, false},
    END,
};
static const struct cli_option TENANT_CHANGE[] = {
    {"name", "N", "display name, for people", false, false},
    {"plan", "PLAN", "the plan it has from now on", false, false},
    {"no-plan", NULL, "it has no plan", false, false},
    END,
};
static const struct cli_option TENANT_LIST[] = {
    {"prefix", "P", "IDs that begin with P", false, false},
    {"state", "active|suspended|delete_requested|purging|purged|expired", "in this state", false,
     false},
    {"plan", "PLAN", "tenants with this plan; \"\": without any", false, false},
    {"order", "id|-id|bytes|-bytes|rows|-rows|created|-created", "-id and so on: downwards", false,
     false},
    END,
};
static const struct cli_option PLAN_PUT[] = {
    CLI_QUOTA(CLI_QUOTA_OPTION){"name", "N", "display name, for people", false, false},
    END,
};
static const struct cli_option TENANT_SUSPEND[] = {
    {"reason", "R", "shown to the tenant with every refusal", true, false},
    {"access", "reads|writes|all", "all, which is the default", false, false},
    END,
};
static const struct cli_option TENANT_OFFBOARD[] = {
    {"confirm", "ID", "the tenant's ID once more; not for --dry-run", false, false},
    {"grace", "N", "undelete is possible for N seconds, or Nm, Nh, Nd", false, false},
    {"reason", "R", "on what ground; kept with the job", false, false},
    {"export", "DIR", "write its tables into files first", false, false},
    {"data-key-file", "FILE", "--export reads with this key: a service's, or the tenant's", false,
     false},
    {"deep", NULL, "search every file, also those that list other tenants only", false, false},
    {"dry-run", NULL, "show what would go, and do nothing", false, false},
    {"wait", NULL, "follow the job to its end", false, false},
    END,
};
static const struct cli_option TENANT_HOLD[] = {
    {"reason", "R", "why, and who can say that it is over", true, false},
    END,
};
static const struct cli_option TENANT_QUOTA[] = {
    CLI_QUOTA(CLI_QUOTA_OPTION){"none", NULL, "nothing of its own: all is inherited", false, false},
    END,
};
static const struct cli_option KEY_CREATE[] = {
    {"tenant", "ID", "works on this tenant only", false, false},
    {"service", NULL, "a backend that acts for many tenants", false, false},
    {"operator", NULL, "manages tenants and keys, reads no data", false, false},
    {"scope", "data.read|data.write|table.admin|admin.read|admin.write|ops.read",
     "what it may do; default: all of the kind", false, true},
    {"for", "ID", "with --service: only for this tenant", false, true},
    {"row-prefix", "P", "only rows whose keys begin with P; no tables", false, false},
    {"reads-per-s", "N", "read operations a second with this key", false, false},
    {"writes-per-s", "N", "write operations a second", false, false},
    {"read-bytes-per-s", "N", "bytes read in a second", false, false},
    {"write-bytes-per-s", "N", "bytes written in a second", false, false},
    {"label", "L", "a note for the list of keys", false, false},
    END,
};
static const struct cli_option KEY_OF[] = {
    {"tenant", "ID", "whose; without it the service and operator keys", false, false},
    END,
};
static const struct cli_option TABLE_CREATE[] = {
    {"protect", NULL, "refuse deleting the table, families or all rows", false, false},
    {"no-protect", NULL, "no longer refuse that", false, false},
    {"notes", "TEXT", "what to know about its row keys", false, false},
    {"split", "KEY", "divide a new table at this row key", false, true},
    {"splits-file", "FILE", "the same, a row key a line; - is standard input", false, false},
    {"change-stream-retention", "D", "keep changes from 1d to 7d, or none", false, false},
    END,
};
static const struct cli_option TABLE_CHANGE[] = {
    {"create", "FAMILY[:TERM]...", "make this family", false, true},
    {"update", "FAMILY[:TERM]...", "replace this family's rule; change its type", false, true},
    {"drop", "FAMILY", "remove this family and its cells", false, true},
    END,
};
static const struct cli_option TABLE_SAMPLES[] = {
    {"bytes", "N", "bytes between two keys; N, NK, NM, NG, NT", false, false},
    END,
};

/* clang-format off */
#define WHAT_OF_A_ROW                                                                              \
    {"family", "F", "only this family", false, false},                                             \
    {"column", "QUAL", "with --family: only this column", false, false},                           \
    {"versions", "N", "the newest N cells of each column", false, false},                          \
    {"since", "T", "cells with a timestamp (microseconds) from T on", false, false},               \
    {"until", "T", "cells with a timestamp before T", false, false},                               \
    {"filter", "JSON", "what the filter gives; instead of these", false, false},                   \
    {"form", "full|flat", "with --json: flat is each column's newest value", false, false},        \
    {"values", "text|base64", "with --json: base64 shows every value so", false, false}
/* clang-format on */

static const struct cli_option TABLE_DELETE[] = {
    {"yes", NULL, "do not ask", false, false},
    END,
};
static const struct cli_option ROW_GET[] = {
    WHAT_OF_A_ROW,
    END,
};
static const struct cli_option ROW_DROP[] = {
    {"prefix", "P", "rows whose key begins with P", false, false},
    {"all", NULL, "every row of the table", false, false},
    {"dry-run", NULL, "only say what would go", false, false},
    {"yes", NULL, "with --all: do not ask", false, false},
    END,
};
static const struct cli_option ROW_LOAD[] = {
    {"timestamps", "us|ms", "unit of the lines' timestamps (default: us)", false, false},
    END,
};
static const struct cli_option ROW_CHECK[] = {
    {"filter", "JSON", "the condition; without it: the row exists", false, false},
    {"then", "CHANGE", "a change when the filter gives a cell", false, true},
    {"else", "CHANGE", "a change when it gives none", false, true},
    END,
};
static const struct cli_option EXPORT[] = {
    {"table", "T", "only this table", false, true},
    {"prefix", "P", "rows whose key begins with P", false, false},
    {"start", "S", "first key, inclusive", false, false},
    {"end", "E", "last key, exclusive", false, false},
    {"format", "ndjson|csv", "of the files, default ndjson", false, false},
    {"compress", "zstd|none", "default zstd", false, false},
    {"rows-per-file", "N", "at most N rows in a file, default 1000000", false, false},
    {"resume", NULL, "go on with an export that was cut", false, false},
    END,
};
static const struct cli_option IMPORT[] = {
    {"table", "T", "only this table of the export", false, false},
    {"into", "NAME", "with --table: into this table", false, false},
    {"create", NULL, "make tables that are not there", false, false},
    {"resume", NULL, "go on with an import that was cut", false, false},
    {"state", "FILE", "where to note progress, default in DIR", false, false},
    {"dry-run", NULL, "check every file and record, write nothing", false, false},
    {"verify", NULL, "read back, compare counts and content", false, false},
    END,
};
static const struct cli_option TENANT_MOVE[] = {
    {"to", "URL", "the other server", true, false},
    {"to-cacert", "FILE", "CA of the other server, default as here", false, false},
    {"data-key-file", "FILE", "file with a service key of this server", true, false},
    {"to-key-file", "FILE", "file with an operator key of the other server", true, false},
    {"to-data-key-file", "FILE", "file with a service key of the other server", true, false},
    {"state", "FILE", "where to note progress, default ID.move", false, false},
    {"dry-run", NULL, "show what would move, and which keys would not", false, false},
    {"issue-keys", "DIR", "make new keys over there, a file for each", false, false},
    {"resume", NULL, "go on with a move that was cut", false, false},
    {"abort", NULL, "the tenant stays here, as before", false, false},
    END,
};
static const struct cli_option MOVE_IN[] = {
    {"from", "DIR", "the directory below which databases are", false, false},
    {"from-service", "URL", "a Bigtable-compatible service with tables", false, false},
    {"from-key-file", "FILE", "its credential: an access token, or a key", false, false},
    {"from-cacert", "FILE", "the CA of its certificate, default the system's", false, false},
    {"from-admin", "URL", "where its tables are described, if elsewhere", false, false},
    {"dry-run", NULL, "read all, say what would come and would not fit", false, false},
    {"resume", NULL, "go on with a move that was cut", false, false},
    {"state", "FILE", "where to note progress, default MAP.state", false, false},
    {"verify", NULL, "read back, compare counts and content", false, false},
    {"reader", "PROGRAM", "reads the databases, default bigtentd", false, false},
    END,
};
static const struct cli_option SCAN[] = {
    {"prefix", "P", "rows whose key begins with P", false, false},
    {"start", "S", "first key, inclusive", false, false},
    {"end", "E", "last key, exclusive", false, false},
    {"limit", "N", "at most N rows", false, false},
    {"reverse", NULL, "the last row first", false, false},
    WHAT_OF_A_ROW,
    {"stats", NULL, "say at the end what the scan went through", false, false},
    END,
};
static const struct cli_option USAGE[] = {
    {"tenant", "ID", "whose (service and operator keys)", false, false},
    {"recount", NULL, "count what is stored and compare (operator key)", false, false},
    END,
};
static const struct cli_option METERING[] = {
    {"tenant", "ID", "only this tenant (operator key)", false, false},
    {"from", "TIME", "the first hour, as 2026-11-20T10:00:00Z", false, false},
    {"until", "TIME", "the hour behind the last one", false, false},
    {"format", "ndjson|csv", "ndjson is the default", false, false},
    END,
};
static const struct cli_option TOP[] = {
    {"interval", "S", "seconds between two looks; 2, up to 1h", false, false},
    {"count", "N", "at most N tenants; up to 100", false, false},
    {"order", "ops|bytes|throttled|latency", "what most means; ops without it", false, false},
    {"once", NULL, "one look, as a table", false, false},
    END,
};
static const struct cli_option APPLY[] = {
    {"file", "FILE", "also -f: YAML; - is standard input", true, true},
    {"dry-run", NULL, "only say what would change; 5 when something would", false, false},
    {"yes", NULL, "do not ask", false, false},
    {"keys-out", "FILE", "a new file that new keys are written into", false, false},
    {"tables-key-file", "FILE", "file with a service key, for the tables", false, false},
    END,
};
static const struct cli_option BACKUP_CREATE[] = {
    {"tenant", "ID", "only this tenant's tables", false, false},
    {"table", "TABLE", "only this one of the tenant's", false, false},
    {"name", "NAME", "by which the tenant finds it", false, false},
    {"note", "TEXT", "what it is for", false, false},
    {"keep", "TIME", "how long it is kept, such as 7d, or ever; as the server was told without it",
     false, false},
    {"wait", NULL, "follow it to its end", false, false},
    END,
};
static const struct cli_option BACKUP_LIST[] = {
    {"tenant", "ID", "those of this tenant, instead of those of everything", false, false},
    END,
};
static const struct cli_option BACKUP_RESTORE[] = {
    {"tenant", "ID", "whose", true, false},
    {"table", "TABLE", "only this one, as it is called in the backup", false, false},
    {"to", "TABLE", "the new table, that there is not yet", false, false},
    {"confirm", "ID", "the tenant's ID once more, when all its tables are replaced", false, false},
    {"dry-run", NULL, "show which tables would be replaced, and do nothing", false, false},
    {"wait", NULL, "follow it to its end", false, false},
    END,
};
static const struct cli_option BACKUP_OPERATIONS[] = {
    {"tenant", "ID", "whose", true, false},
    END,
};
static const struct cli_option BACKUP_VERIFY[] = {
    {"wait", NULL, "follow it to its end", false, false},
    END,
};
static const struct cli_option JOB_SHOW[] = {
    {"wait", NULL, "follow the job to its end", false, false},
    END,
};

#define AUDIT_OF                                                                                   \
    {"tenant", "ID", "only records about this tenant", false, false},                              \
    {                                                                                              \
        "from", "N", "from record N on", false, false                                              \
    }

static const struct cli_option AUDIT_READ[] = {
    AUDIT_OF,
    {"limit", "N", "at most N records", false, false},
    END,
};
static const struct cli_option AUDIT_VERIFY[] = {
    AUDIT_OF,
    {"file", "FILE", "what export wrote, or - for standard input", false, false},
    {"head", "HASH@N", "a head noted earlier must be on the way", false, false},
    {"pubkey", "FILE", "the server's public key, that seals a cut trail's beginning", false, false},
    END,
};

static const struct cli_option CERTIFICATE_GET[] = {
    {"event", "purged|expired", "the first one, or that no copy is left", false, false},
    END,
};
static const struct cli_option CERTIFICATE_VERIFY[] = {
    {"pubkey", "FILE", "the server's public key, in PEM", true, false},
    END,
};

const struct cli_command CLI_COMMANDS[] = {
    {"tenant", "create", "ID", 1, 1, TENANT_CREATE, "make a tenant",
     "Make a tenant. The ID is 2 to 63 letters a-z, digits and dashes, begins with a\n"
     "letter or digit, and is never given out again; it should not be personal data.",
     "bigtent tenant create altostrat --name 'Altostrat Ltd'\n"
     "bigtent tenant create altostrat --plan gold",
     cli_tenant_create, true},
    {"tenant", "change", "ID", 1, 1, TENANT_CHANGE, "change a tenant's name or plan",
     "Change the display name, or the plan, which holds from the next request on. What the\n"
     "tenant has of its own (tenant quota) stays.",
     "bigtent tenant change altostrat --plan gold\nbigtent tenant change altostrat --no-plan",
     cli_tenant_change, true},
    {"tenant", "list", "", 0, 0, TENANT_LIST, "list the tenants",
     "List tenants with their state, stored bytes and rows.\n"
     "Columns: tenant, state, stored bytes, rows, created, whether the emulator's listener\n"
     "made it and takes it without a key, what Bigtable's clients call its instance, name.",
     "bigtent tenant list\nbigtent tenant list --plan gold --order -bytes\n"
     "bigtent tenant list | awk '$2 == \"suspended\" { print $1 }'",
     cli_tenant_list, true},
    {"tenant", "show", "ID", 1, 1, NULL, "show a tenant's state, usage and quota",
     "Show one tenant: state, reason of a suspension, usage, quota, offboarding job, whether\n"
     "it is used without a key, instance.",
     "bigtent tenant show altostrat", cli_tenant_show, true},
    {"tenant", "suspend", "ID", 1, 1, TENANT_SUSPEND, "refuse a tenant's requests",
     "Refuse requests for the tenant's data, or only its reads or its writes, until it is\n"
     "resumed. Nothing is deleted.",
     "bigtent tenant suspend altostrat --reason 'invoice 2026-11 unpaid'\n"
     "bigtent tenant suspend altostrat --reason 'moving to another region' --access writes",
     cli_tenant_suspend, true},
    {"tenant", "resume", "ID", 1, 1, NULL, "end a suspension", "Serve a suspended tenant again.",
     "bigtent tenant resume altostrat", cli_tenant_resume, true},
    {"tenant", "rotate-key", "ID", 1, 1, NULL, "a new data key for an encrypted tenant",
     "What the tenant writes from now on is sealed with a new key; what older keys sealed\n"
     "stays readable.",
     "bigtent tenant rotate-key altostrat", cli_tenant_rotate_key, true},
    {"tenant", "offboard", "ID", 1, 1, TENANT_OFFBOARD, "delete a tenant and prove it",
     "Delete everything of a tenant for good. Its keys stop working at once; a job drops\n"
     "the data, empties the files and audits that nothing is left. With --grace it begins\n"
     "only then, and tenant undelete takes it back before. With --wait the exit status is 5\n"
     "when the job failed. With --export its writes are suspended, and it is deleted only when\n"
     "all its tables are in files that were read back; otherwise writes stay suspended.\n"
     "Table files that list their tenants, and not this one, are not read; --deep reads them.\n"
     "Repeated when the purge has begun or is done, it succeeds and shows the purge's job.\n"
     "--dry-run and job show name the backups that hold the tenant, and until when.",
     "bigtent tenant offboard altostrat --dry-run\n"
     "bigtent tenant offboard altostrat --confirm altostrat --wait\n"
     "bigtent tenant offboard altostrat --confirm altostrat --grace 30d \\\n"
     "    --reason 'contract ended'\n"
     "bigtent tenant offboard altostrat --confirm altostrat --export /srv/altostrat \\\n"
     "    --data-key-file service.key --wait",
     cli_tenant_offboard, true},
    {"tenant", "move", "ID", 1, 1, TENANT_MOVE, "move a tenant to another server",
     "Make the tenant and its tables on the other server, copy rows while clients go on\n"
     "writing, follow the change streams, then suspend writes here, follow to the end, bring\n"
     "authorized views, and compare both sides. When they differ writes go on here, and the\n"
     "exit status is 5; when they are equal writes stay suspended: its clients get keys of the\n"
     "other server, which --issue-keys makes, and you offboard it here. A move that was cut\n"
     "goes on with --resume; --abort undoes it on both sides, unless it was done.",
     "bigtent tenant move altostrat --data-key-file service.key --to https://b.example:8443 \\\n"
     "    --to-key-file b-operator.key --to-data-key-file b-service.key",
     cli_tenant_move_command, true},
    {"tenant", "undelete", "ID", 1, 1, NULL, "take a deletion back in its grace period",
     "Make the tenant what it was before its deletion was requested.",
     "bigtent tenant undelete altostrat", cli_tenant_undelete, true},
    {"tenant", "hold", "ID", 1, 1, TENANT_HOLD, "forbid to delete a tenant: legal hold",
     "Until tenant release nothing of the tenant is deleted by offboarding. One that is held\n"
     "already gets this reason.",
     "bigtent tenant hold altostrat --reason 'file 17 O 1234, ask legal@example.com'",
     cli_tenant_hold, true},
    {"tenant", "release", "ID", 1, 1, NULL, "end a legal hold",
     "End the hold. A deletion whose grace period is over begins then. A tenant that is not\n"
     "under legal hold is refused: it may be the wrong one.",
     "bigtent tenant release altostrat", cli_tenant_release, true},
    {"tenant", "quota", "ID", 1, 1, TENANT_QUOTA, "show or change a tenant's limits",
     "Without options show the quota that holds. With options change what the tenant has of\n"
     "its own and keep the rest. A limit is a number, with K, M, G or T for powers of 1024,\n"
     "or none: no limit, or inherit: what the plan says, or else the standard.\n"
     "Over a stored quota writes are refused and deletes still pass. What is stored\n"
     "already stays readable and deletable when a limit is lowered.",
     "bigtent tenant quota altostrat\n"
     "bigtent tenant quota altostrat --bytes 10G --writes-per-s 500\n"
     "bigtent tenant quota altostrat --row-bytes 1M --families 3\n"
     "bigtent tenant quota altostrat --rows none --bytes inherit",
     cli_tenant_quota, true},

    {"plan", "put", "ID", 1, 1, PLAN_PUT, "make a plan, or replace all it says",
     "Make a plan of these limits, or replace one. A change holds for every tenant of the\n"
     "plan at once; what a tenant has of its own (tenant quota) stands above its plan, and\n"
     "what the plan does not name is the standard.",
     "bigtent plan put free --bytes 1G --rows 1M --reads-per-s 50 --change-streams 0\n"
     "bigtent plan put gold --name 'Gold' --bytes 1T --weight 300",
     cli_plan_put, true},
    {"plan", "list", "", 0, 0, NULL, "list the plans",
     "List the plans. Columns: plan, tenants, stored bytes, rows, changed, name.",
     "bigtent plan list", cli_plan_list, true},
    {"plan", "show", "ID", 1, 1, NULL, "show what a plan says",
     "Show one plan: how many tenants have it, and the limits it names.", "bigtent plan show gold",
     cli_plan_show, true},
    {"plan", "delete", "ID", 1, 1, NULL, "delete a plan that no tenant has",
     "Delete a plan. While a tenant has it this is refused.", "bigtent plan delete free",
     cli_plan_delete, true},

    {"key", "create", "", 0, 0, KEY_CREATE, "make an API key, shown once",
     "Make an API key for a tenant (--tenant ID), a service or an operator. The key is\n"
     "printed now and never again; the server keeps only a digest.",
     "bigtent key create --tenant altostrat --scope data.read --label dashboard\n"
     "bigtent key create --tenant altostrat --row-prefix 'phone#' --label handsets\n"
     "bigtent key create --service --for altostrat --for brightleaf --reads-per-s 500\n"
     "bigtent key create --operator --scope ops.read --label prometheus\n"
     "(umask 077; bigtent key create --tenant altostrat | awk '$1 == \"key\" { print $2 }' > key)",
     cli_key_create, true},
    {"key", "list", "", 0, 0, KEY_OF, "list a tenant's keys, or the others",
     "List the keys of --tenant ID, or without it the service and operator keys. The\n"
     "keys themselves are not stored and cannot be shown.\n"
     "Columns: id, kind, scopes, created, tenants of a service key, label.",
     "bigtent key list --tenant altostrat\nbigtent key list", cli_key_list, true},
    {"key", "revoke", "KEYID", 1, 1, KEY_OF, "make a key stop working, at once",
     "Revoke the key with this ID (see key list): of --tenant ID, or without it a\n"
     "service or operator key.",
     "bigtent key revoke 4fGh67kPq2Xa --tenant altostrat", cli_key_revoke, true},

    {"table", "list", "", 0, 0, NULL, "list the tables",
     "List the tenant's tables. Columns: table, stored bytes, rows, cells, families.",
     "bigtent table list\nbigtent table list --tenant altostrat     # with a service key",
     cli_table_list, true},
    {"table", "create", "T FAMILY[:TERM]...", 2, -1, TABLE_CREATE,
     "make a table, or add and change families",
     "Make a table with these column families, or add and change families of one that\n"
     "exists (naming all it has). Terms say which old cells are no longer read:\n"
     "  max_versions=N                 those with N newer ones in their column\n"
     "  max_age=Ns (Nm, Nh, Nd)        those older than that\n"
     "  union(TERM,...)                those of any of the terms\n"
     "  intersection(TERM,...)         those of all of the terms\n"
     "and what the family holds: type=sum, min, max or hll (a count of distinct inputs)\n"
     "makes its cells aggregates, for good; type=bytes, string or int64 (8 bytes,\n"
     "big-endian) says how plain cells are shown, and may change; type=none: nothing.",
     "bigtent table create phone stats:max_versions=3 location:max_age=30d raw\n"
     "bigtent table create phone 'log:intersection(max_versions=2,max_age=1d)' hits:type=sum\n"
     "bigtent table create phone raw --protect --notes 'phone#day'\n"
     "bigtent table create phone raw --split 4 --split 8 --change-stream-retention 7d",
     cli_table_create, true},
    {"table", "change", "T", 1, 1, TABLE_CHANGE, "create, update and drop families at once",
     "Create families, replace the rules of families, and drop families with their\n"
     "cells, in this order: all of it or nothing. Dropped families are gone at once;\n"
     "what they stored goes, and is counted off, in the background.",
     "bigtent table change phone --create hits:type=sum --drop raw\n"
     "bigtent table change phone --update stats:max_versions=5\n"
     "bigtent table change phone --update raw:type=int64",
     cli_table_change, true},
    {"table", "show", "T", 1, 1, NULL, "show a table's families and size",
     "Show one table: version, families with their types and rules, protection, notes, for\n"
     "how long changes are kept, stored bytes, rows, cells.",
     "bigtent table show phone", cli_table_show, true},
    {"table", "samples", "T", 1, 1, TABLE_SAMPLES, "show keys that divide a table evenly",
     "Show row keys that divide the table into parts of about the same size, to scan it in\n"
     "parallel or to see where its bytes are; the last one, \"-\", is the table's end.\n"
     "Columns: stored bytes in front of the key, key.",
     "bigtent table samples phone\nbigtent table samples phone --bytes 64M", cli_table_samples,
     true},
    {"table", "delete", "T", 1, 1, TABLE_DELETE, "delete a table and its rows",
     "Delete a table. It is invisible at once; the command returns when its rows are gone.\n"
     "It asks first, for the table's name; where nobody can be asked, it needs --yes.",
     "bigtent table delete phone\nbigtent table delete phone --yes", cli_table_delete, true},

    {"row", "get", "T KEY", 2, 2, ROW_GET, "show a row",
     "Show the cells of one row, newest version first.\n"
     "Columns: key, column, timestamp (microseconds), value. The filter is that of POST\n"
     ":read; a row of which it gives no cell is not found.",
     "bigtent row get phone '4c410523#20190501'\n"
     "bigtent row get phone '4c410523#20190501' --family stats --versions 1\n"
     "bigtent row get phone '4c410523#20190501' --json --form flat",
     cli_row_get, true},
    {"row", "put", "T KEY FAMILY:QUAL=VALUE...", 3, -1, NULL, "replace a row",
     "Replace the row by these cells. The qualifier ends at the first \"=\". In a family of\n"
     "type int64 a whole number is written as one, elsewhere as text.",
     "bigtent row put phone '4c410523#20190501' stats:os_build=PQ2A.190405.003 stats:wifi=1",
     cli_row_put, true},
    {"row", "set", "T KEY FAMILY:QUAL=VALUE...", 3, -1, NULL, "write cells of a row, keep others",
     "Write these cells and keep the row's others. In a family of type int64 a whole number\n"
     "is written as one, elsewhere as text.",
     "bigtent row set phone '4c410523#20190501' stats:battery=83", cli_row_set, true},
    {"row", "delete", "T KEY [FAMILY:QUAL|FAMILY]...", 2, -1, NULL,
     "delete a row, columns or families",
     "Delete the row, or only these columns and families of it. It is no error when it\n"
     "is not there.",
     "bigtent row delete phone '4c410523#20190501'\n"
     "bigtent row delete phone '4c410523#20190501' stats:battery location",
     cli_row_delete, true},
    {"row", "mutate", "T KEY CHANGE...", 3, -1, NULL, "apply changes in order, all or nothing",
     "Apply changes to a row, in their order, all of them or none:\n"
     "  FAMILY:QUAL=VALUE    write a cell\n"
     "  FAMILY:QUAL+=INPUT   add to an aggregate: a whole number, or text\n"
     "  FAMILY:QUAL-         delete the column\n"
     "  FAMILY-              delete the family\n"
     "  -                    delete the row",
     "bigtent row mutate phone '4c410523#20190501' stats:wifi- stats:battery=83\n"
     "bigtent row mutate pages home hits:total+=1 visitors:today+=user17",
     cli_row_mutate, true},
    {"row", "modify", "T KEY FAMILY:QUAL+=N|FAMILY:QUAL.=TEXT...", 3, -1, NULL,
     "increment and append to cells",
     "Add N to the integer in the newest cell of a column (8 bytes, big-endian), or put\n"
     "TEXT behind its value; a missing cell is 0, or empty. Shows the new cells.",
     "bigtent row modify phone '4c410523#20190501' stats:starts+=1 'stats:log.= ok'",
     cli_row_modify, true},
    {"row", "check", "T KEY", 2, 2, ROW_CHECK, "change a row if a filter matches it",
     "Apply the changes of --then when the filter gives a cell of the row, else those of\n"
     "--else; nobody writes in between. Changes are those of row mutate, in their order.",
     "bigtent row check phone '4c410523#20190501' --filter '{\"value_regex\":\"17\"}' \\\n"
     "    --then stats:os=18 --else stats:failed=1\n"
     "bigtent row check phone '4c410523#20190501' --else stats:made=1   # unless it exists",
     cli_row_check, true},
    {"row", "load", "T [FILE|-]", 1, 2, ROW_LOAD, "write many rows from NDJSON",
     "Read one row per line, as scan --json prints them, from a file or standard input:\n"
     "  {\"key\":\"k1\",\"cells\":{\"stats\":{\"os\":\"17\"}}}              add cells, like row "
     "set\n"
     "  {\"op\":\"put\",\"key\":\"k2\",\"cells\":{\"stats\":{\"os\":\"17\"}}}   like row put\n"
     "  {\"op\":\"delete\",\"key\":\"k3\"}\n"
     "Lines are independent; the first 20 that fail are reported on stderr with their\n"
     "numbers, all are counted, and the exit status is 5. A rate limit slows the load down.\n"
     "When it stops it says from which line to go on. Timestamps are microseconds, or with\n"
     "--timestamps ms milliseconds.",
     "bigtent row load phone rows.ndjson\n"
     "zcat rows.ndjson.gz | bigtent row load phone - --timestamps ms\n"
     "bigtent scan phone --json | bigtent row load phone2 -",
     cli_row_load, true},
    {"row", "drop", "T", 1, 1, ROW_DROP, "delete rows by key prefix",
     "Delete every row whose key begins with P, or with --all every row of the table.\n"
     "With --dry-run count what would go, and change nothing.",
     "bigtent row drop phone --prefix '4c410523#' --dry-run\n"
     "bigtent row drop phone --prefix '4c410523#'\nbigtent row drop phone --all --yes",
     cli_row_drop, true},

    {NULL, "apply", "", 0, 0, APPLY, "make plans, tenants, tables, keys as files say",
     "Compare YAML files with the server, print what differs, ask, and change the server:\n"
     "plans, tenants with plan, quota and suspension, tables with families, keys. What the\n"
     "files do not name stays as it is; only \"absent: true\" removes something, and tenants\n"
     "are never removed. Operator keys manage no tables: for these give a service key with\n"
     "table.admin. New keys are written to --keys-out alone.\n"
     "The exit status is 0 when the server is as the files say, 5 when it is not yet.",
     "bigtent apply -f tenants.yaml --dry-run\n"
     "bigtent apply -f plans.yaml -f tenants.yaml --tables-key-file service.key \\\n"
     "    --keys-out new-keys.ndjson --yes",
     cli_apply_run, true},
    {NULL, "scan", "T", 1, 1, SCAN, "show rows in key order",
     "Show rows in key order as they stream from the server.\n"
     "Columns: key, column, timestamp (microseconds), value. Control characters and \"\\\"\n"
     "in keys and values are escaped; spaces too, in all columns but the last. With\n"
     "--json one row per line, exactly as the server sent it. The filter is that of POST\n"
     ":read; --stats goes to stderr, with --json it is the last line. With --form flat each\n"
     "column is its newest value alone, as row load and row bodies take it.",
     "bigtent scan phone --prefix '4c410523#'\n"
     "bigtent scan phone --start a --end n --limit 100\n"
     "bigtent scan phone --reverse --limit 1 --family stats --versions 1\n"
     "bigtent scan phone --filter '{\"value_regex\":\"PQ2A.*\"}' --stats\n"
     "bigtent scan phone --json > phone.ndjson",
     cli_scan, true},
    {NULL, "export", "DIR", 1, 1, EXPORT, "write tables into a directory of files",
     "Write every table of the tenant, or those named, into DIR: files of NDJSON or CSV, a\n"
     "record for each cell, and manifest.json with schemas, counts and hashes. See\n"
     "docs/export-format.md. Files are whole or end in .part; an export that was cut goes on\n"
     "with --resume, which takes everything else from the manifest. A scan that breaks goes\n"
     "on by itself. Each row is as it was at one moment; rows written meanwhile may be in it.",
     "bigtent export backup/\n"
     "bigtent export phones/ --table phone --prefix '4c410523#' --format csv\n"
     "bigtent export backup/ --resume",
     cli_export_command, true},
    {NULL, "import", "DIR", 1, 1, IMPORT, "write an export's rows into tables",
     "Check the hashes of an export's files, then write its cells with their timestamps:\n"
     "doing it again changes nothing. Cells of aggregates replace what is there. Progress is\n"
     "noted in DIR/import.json; an import that was cut, or ran into a full quota, goes on with\n"
     "--resume. --verify reads the rows back: the exit status is 5 when they differ.",
     "bigtent import backup/ --create --verify\n"
     "bigtent import backup/ --table phone --into phone2 --create\n"
     "bigtent import backup/ --dry-run",
     cli_import_command, false},
    {NULL, "move-in", "MAP", 1, 1, MOVE_IN, "bring databases and foreign tables into tables",
     "Write the keys and values of RocksDB databases below DIR, and the rows of a\n"
     "Bigtable-compatible service's tables, into the tables that MAP, a YAML file, names for\n"
     "each: see docs/moving-in.md. Sources are only read: databases by bigtentd read-database\n"
     "on this machine, the service through its API, with all versions and timestamps; tables\n"
     "are made with its families and rules where they are not there. Nothing is written where\n"
     "cells are already. Progress is noted in MAP.state, where it stays; a move that was cut\n"
     "goes on with --resume, and with --verify counts and content are compared, also later\n"
     "once more. The exit status is 5 when something does not fit, rows are taken, or contents\n"
     "differ.",
     "bigtent move-in map.yaml --from /srv/databases --dry-run\n"
     "bigtent move-in map.yaml --from /srv/databases --verify\n"
     "bigtent move-in map.yaml --from /srv/databases --resume --verify\n"
     "bigtent move-in map.yaml --from-service http://127.0.0.1:8086 --verify\n"
     "bigtent move-in map.yaml --from-service https://bigtable.googleapis.com \\\n"
     "    --from-key-file access.token --verify",
     cli_move_in_command, true},
    {NULL, "usage", "", 0, 0, USAGE, "show what a tenant stores",
     "Show stored bytes, rows, cells and quota of the key's tenant, or of --tenant ID.\n"
     "With --recount everything is counted anew and compared with the counters; the\n"
     "exit status is 5 when they differ.",
     "bigtent usage\nbigtent usage --tenant altostrat --recount", cli_usage, true},
    {NULL, "metering", "", 0, 0, METERING, "print what tenants are billed for, by the hour",
     "Print a line for each tenant and hour: operations, bytes, throttling, and stored\n"
     "bytes times seconds. Hours are UTC; without --from the last 24. A tenant's key sees\n"
     "its own. Bills are kept for 400 days.",
     "bigtent metering --tenant altostrat --from 2026-11-01T00:00:00Z \\\n"
     "    --until 2026-12-01T00:00:00Z --format csv > november.csv",
     cli_metering, true},
    {NULL, "top", "", 0, 0, TOP, "show who does most at this moment, like top(1)",
     "Show what tenants do at this moment, most first, with an operator key: reads, writes,\n"
     "bytes in and out and throttled requests a second, the latencies that half and 99 in\n"
     "100 requests do not pass, and what they store. On a terminal this is a screen of as\n"
     "many columns as fit; o, b, t and l order by operations, bytes, throttling and\n"
     "latency, space pauses, q ends. When the server is gone the last figures stay, marked.\n"
     "Elsewhere, and with --once, it is one table (latencies in microseconds), with --json\n"
     "a document for each look. Columns: tenant, reads, writes, in, out, throttled, p50,\n"
     "p99, stored bytes, rows.",
     "bigtent top\nbigtent top --order throttled --interval 5\n"
     "bigtent top --once --order bytes --count 3\nbigtent top --json > top.ndjson",
     cli_top, true},
    {"audit", "list", "", 0, 0, AUDIT_READ, "list who changed what",
     "List administrative actions, oldest first: what was done or refused, about whom, by\n"
     "which key, from where.\n"
     "Columns: number, time, action, outcome, tenant, target, key, address, detail.",
     "bigtent audit list --from 1000\nbigtent audit list --tenant altostrat\n"
     "BIGTENT_KEY=$tenants_key bigtent audit list",
     cli_audit_list, true},
    {"audit", "verify", "", 0, 0, AUDIT_VERIFY, "check that the audit trail is whole",
     "Recompute the hash of every record and follow both chains, of all records and of\n"
     "each tenant's. The first record that does not follow is named, and the exit status\n"
     "is 5. The trail begins at record 1; a part of it, where --from says: records that lack\n"
     "there are found. One whose oldest records were removed begins with a sealed statement\n"
     "of the last of them; --pubkey FILE is the key that must have sealed it (certificate\n"
     "key). Prints the head; noted elsewhere and given as --head later, it shows "
     "whether\n"
     "the end was cut off or all of it written anew.",
     "bigtent audit verify\nbigtent audit verify --head \"$(cat noted)\"\n"
     "bigtent audit verify --file trail.ndjson",
     cli_audit_verify, false},
    {"audit", "export", "", 0, 0, AUDIT_READ, "print the audit trail as NDJSON",
     "Print one record per line, exactly as the server sent it.",
     "bigtent audit export > trail.ndjson", cli_audit_export, true},
    {"job", "list", "", 0, 0, NULL, "list jobs, newest first",
     "List offboarding jobs. Columns: job, tenant, state, steps, requested, finished.",
     "bigtent job list", cli_job_list, true},
    {"job", "show", "ID", 1, 1, JOB_SHOW, "show a job and what it proved",
     "Show one job: state, steps, the audit before and after, the backups that hold the tenant.\n"
     "The exit status is 5 when the job failed.",
     "bigtent job show 5kQ0aZ81mVb3XyTw --wait", cli_job_show, true},
    {"certificate", "get", "TENANT", 1, 1, CERTIFICATE_GET, "print the certificate of an erasure",
     "Print the signed certificate of a tenant that is gone for good, exactly as it was signed:\n"
     "what was there, what was done, what was looked for and not found, what copies were left.",
     "bigtent certificate get altostrat > altostrat.json\n"
     "bigtent certificate get altostrat --event expired",
     cli_certificate_get, true},
    {"certificate", "verify", "FILE", 1, 1, CERTIFICATE_VERIFY, "check certificates, offline",
     "Check the signature of every certificate in the file, one a line, and when there are\n"
     "several, that each names the hash of the one before. Needs no server and no API key.\n"
     "The exit status is 5 when a line was changed, was signed by another key or does not\n"
     "follow; - is standard input.",
     "bigtent certificate verify altostrat.json --pubkey certificate.pub\n"
     "bigtent certificate verify erasures.ndjson --pubkey certificate.pub",
     cli_certificate_verify, false},
    {"certificate", "html", "FILE", 1, 1, CERTIFICATE_VERIFY, "make a page of a certificate",
     "Check the certificate in the file, as verify does, and print an HTML page for people: the\n"
     "verdict, who, what, when, how much, how it was checked, what remains where and until when.\n"
     "It loads nothing and prints on A4. - is standard input. Needs no server and no API key. The\n"
     "exit status is 5, and there is no page, when the certificate was changed, was signed by\n"
     "another key, or has a format that this version does not know.",
     "bigtent certificate html altostrat.json --pubkey certificate.pub > altostrat.html",
     cli_certificate_html, false},
    {"certificate", "key", "", 0, 0, NULL, "print the key to check certificates with",
     "Print the server's public key in PEM. Keep a copy where nobody who can write here can.",
     "bigtent certificate key > certificate.pub", cli_certificate_key, true},
    {"backup", "create", "", 0, 0, BACKUP_CREATE, "begin a backup of everything, or of a tenant",
     "Begin a backup of all tenants, keys and settings, beside the server's work; with --tenant\n"
     "of what is in that tenant's tables, or in one of them. What was acknowledged before is\n"
     "in it; files that some backup has already are not stored again. With --wait the exit\n"
     "status is 5 when it failed.",
     "bigtent backup create --note 'before the upgrade' --keep 7d --wait\n"
     "bigtent backup create --tenant altostrat --table phone --name phones-monday",
     cli_backup_create, true},
    {"backup", "list", "", 0, 0, BACKUP_LIST, "list backups, newest first",
     "List backups of everything, or of a tenant. Columns: backup, state, created, expires, size,\n"
     "new bytes, tenants, verified, note; of a tenant also name and table.",
     "bigtent backup list\nbigtent backup list --tenant altostrat", cli_backup_list, true},
    {"backup", "restore", "ID", 1, 1, BACKUP_RESTORE, "restore a table or a tenant, in service",
     "Restore one table of a tenant into a new one, or all its tables in place of those it has;\n"
     "the server goes on meanwhile. The backup is the tenant's or one of everything. A table is\n"
     "seen when all of it is there. To restore everything, see bigtentd restore. With --wait the\n"
     "exit status is 5 when it failed.",
     "bigtent backup restore 0k5q8zr2vmpc4x7e --tenant altostrat --table phone --to phone-then\n"
     "bigtent backup restore 0k5q8zr2vmpc4x7e --tenant altostrat --dry-run\n"
     "bigtent backup restore 0k5q8zr2vmpc4x7e --tenant altostrat --confirm altostrat --wait",
     cli_backup_restore, true},
    {"backup", "operations", "[ID]", 0, 1, BACKUP_OPERATIONS,
     "list what is or was done with a tenant's backups",
     "List a tenant's operations, newest first, or show one: backups, copies and restores that\n"
     "wait, run, or ended. The exit status is 5 when the one that is shown failed.",
     "bigtent backup operations --tenant altostrat", cli_backup_operations, true},
    {"backup", "get", "ID", 1, 1, NULL, "show a backup, or how far it is",
     "Show one backup. The exit status is 5 when it failed or is damaged.",
     "bigtent backup get 0k5q8zr2vmpc4x7e", cli_backup_get, true},
    {"backup", "verify", "ID", 1, 1, BACKUP_VERIFY, "read a backup again, every byte",
     "Have the server compare every file of a backup with its hash, open it as a database and\n"
     "count its keys. With --wait the exit status is 5 when damage was found.",
     "bigtent backup verify 0k5q8zr2vmpc4x7e --wait", cli_backup_verify, true},
    {"backup", "delete", "ID", 1, 1, NULL, "delete a backup",
     "Delete a backup. Files that no other backup shares are removed soon after.",
     "bigtent backup delete 0k5q8zr2vmpc4x7e", cli_backup_delete, true},
    {"migrate", "status", "", 0, 0, NULL, "list the formats of the server's data directory",
     "List every format that the server knows, and whether its data directory has it: made,\n"
     "restored or upgraded, when and by which version; done when that was not recorded. due:\n"
     "bigtentd upgrade has to be run. Columns: format, state, at, bigtent, upgrade.",
     "bigtent migrate status", cli_migrate_status, true},
    {NULL, "health", "", 0, 0, NULL, "ask whether the server is ready",
     "Ask the server whether it answers and is ready; no key is needed or sent.\n"
     "The exit status is 5 when it answers but is not ready.",
     "bigtent health\nuntil bigtent health; do sleep 1; done", cli_health, false},
    {NULL, "completion", "bash|zsh|fish|candidates [WORD]...", 1, -1, NULL,
     "print what completes words in a shell",
     "Print the script with which bash, zsh or fish completes commands, options, their words\n"
     "and file names. It asks this program what fits, which looks into its own table; IDs of\n"
     "tenants, plans and tables come from the server, within a second, when BIGTENT_URL and\n"
     "BIGTENT_KEY are set.\n"
     "candidates is what the scripts ask: lines of what could stand for the last WORD, a tab\n"
     "and what it is; \":files\" stands for the names of files.",
     "source <(bigtent completion bash)\n"
     "bigtent completion zsh > ~/.zfunc/_bigtent\n"
     "bigtent completion fish > ~/.config/fish/completions/bigtent.fish\n"
     "bigtent completion candidates -- tenant list --order \"\"",
     cli_completion, false},
    {NULL, "help", "[GROUP] [COMMAND]", 0, 2, NULL, "explain a command",
     "Explain a group of commands or one command.", "bigtent help row load", cli_help_run, false},
    {NULL, NULL, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, false},
};
