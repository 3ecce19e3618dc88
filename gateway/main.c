/*
 * gateway/main.c - bigtentd: selects the command.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "gateway/command.h"

#include "base/banned.h"

static const char HELP[] =
    "bigtentd " BIGTENT_VERSION " - one big table under which many tenants live\n"
    "\n"
    "usage: bigtentd init  --data DIR [--host NAME]...\n"
    "           make a data directory, a development CA, a server certificate for localhost and\n"
    "           each NAME (DNS name or IP address), and the first operator key\n"
    "       bigtentd serve --data DIR [options]\n"
    "           answer requests until SIGTERM; SIGHUP reads the certificate again\n"
    "           --listen ADDR:PORT     127.0.0.1:8443; port 0 takes any free one\n"
    "           --emulator ADDR:PORT   also serve BIGTABLE_EMULATOR_HOST in plaintext, without "
    "keys,\n"
    "                                  on loopback only: projects come by their first use\n"
    "           --cert FILE --key FILE certificate chain and key (PEM) instead of the made ones\n"
    "           --access-log FILE      append a line for each request: key, tenant, what, status\n"
    "           --master-key-file FILE | --master-key-command COMMAND\n"
    "                                  the key that wraps the keys of encrypted tenants, 64\n"
    "                                  hexadecimal digits; also in BIGTENT_MASTER_KEY\n"
    "           --backups DIR          where backups are kept; default: backups/ in the data "
    "directory\n"
    "           --backup-every TIME    make one that often, such as 24h; default: when asked\n"
    "           --backup-keep TIME     how long, such as 7d; default: for ever\n"
    "           --cache-mb N           block cache; default: a quarter of the memory\n"
    "           --memtable-mb N        write buffer\n"
    "           --request-mb N         requests and answers hold together; default: an eighth of\n"
    "                                  the memory, at least 64. One tenant gets half of what "
    "others\n"
    "                                  leave\n"
    "           --connections-per-address N, --handshakes-per-address N, --failures-per-address N\n"
    "                                  what one address may have at a time, begin in a second,\n"
    "                                  and try in a second without a good key; 0: no limit. "
    "Default:\n"
    "                                  half of all, 200 and 20, and nothing for this machine's "
    "own\n"
    "           --proxy-from CIDR,...  connections from there begin with a PROXY protocol header\n"
    "           --loops N              threads that answer; default: one per core\n"
    "           --committers N         threads that write; default: half the cores\n"
    "           --readers N            threads that read from disk; default: four per core, at\n"
    "                                  least 8; as many as cores of them scan\n"
    "           --headroom-mb N        disk space to keep free: writes that grow stop below it\n"
    "           --reclaim-after TIME   the bytes of small drops leave the files so long after "
    "them;\n"
    "                                  default: 1h\n"
    "           --reclaim-mb N         files are rewritten for that, and for large drops and "
    "tenants\n"
    "                                  that leave, so fast a second while others are served, "
    "behind\n"
    "                                  the first GiB; default: 128\n"
    "           --scrub-mb N           table files are read to find damage, so fast a second at "
    "most;\n"
    "                                  0: never; default: all within a week, and at least 4\n"
    "           --accept-lost-erasure-ledger\n"
    "                                  when both copies of the ledger of erasures lack purged "
    "tenants,\n"
    "                                  write their lines again from the database and start\n"
    "           --allow-core-dumps     for debugging: they have keys and rows in them\n"
    "       bigtentd check --data DIR [--backups DIR] [--logs]\n"
    "           count what every tenant stores and compare with the counters; with --logs only "
    "read\n"
    "           the logs and say what a start would cut off them or refuse, without a change\n"
    "       bigtentd upgrade --data DIR [--dry-run] [--backups DIR]\n"
    "           bring an older data directory to this version's format, while no server runs;\n"
    "           with --dry-run say what would be done\n"
    "       bigtentd rekey --data DIR --master-key-file FILE --new-master-key-file FILE\n"
    "           wrap the keys of encrypted tenants by another master key, while no server runs;\n"
    "           also --master-key-command, --new-master-key-command COMMAND\n"
    "       bigtentd restore --data NEWDIR --backups DIR [--backup ID] [--erasures FILE]\n"
    "           make a new data directory from a backup, the newest one unless told; who left "
    "since\n"
    "           by the ledger of erasures does not return\n"
    "       bigtentd salvage --data DIR --to NEWDIR [--backups DIR] [--report FILE]\n"
    "           make a new data directory with everything that can be read of a damaged one, "
    "while\n"
    "           no server runs, and say what it lacks; with --backups the newest backup that has "
    "the\n"
    "           rows of a lost range gives them\n"
    "       bigtentd read-database DIR [--column-family NAME] [--after]\n"
    "           the keys and values of any RocksDB database, read-only, to standard output for\n"
    "           bigtent move-in; with --after those behind the key that standard input holds\n"
    "       bigtentd --version | --help\n"
    "\n"
    "A first session:\n"
    "\n"
    "    bigtentd init --data /var/lib/bigtent\n"
    "    bigtentd serve --data /var/lib/bigtent &\n"
    "    op=\"Authorization: Bearer $(cat /var/lib/bigtent/operator.key)\"\n"
    "    api=\"curl --cacert /var/lib/bigtent/ca.pem\"\n"
    "    $api -H \"$op\" https://localhost:8443/v1/admin/tenants -d '{\"id\":\"altostrat\"}'\n"
    "    $api -H \"$op\" https://localhost:8443/v1/admin/tenants/altostrat/keys -d '{}'\n"
    "\n"
    "exit codes: 0 stopped as asked, 1 could not start or run, 2 wrong command line,\n"
    "            3 the storage engine failed: start again\n";

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} COMMANDS[] = {
    {"init", gw_command_init},       {"serve", gw_command_serve},
    {"check", gw_command_check},     {"rekey", gw_command_rekey},
    {"upgrade", gw_command_upgrade}, {"restore", gw_command_restore},
    {"salvage", gw_command_salvage}, {"read-database", gw_command_read_database},
};

static int say(const char *text)
{
    return fputs(text, stdout) < 0 || fflush(stdout) != 0 ? GW_EXIT_FAILED : GW_EXIT_OK;
}

int main(int argc, char **argv)
{
    (void)umask(S_IRWXG | S_IRWXO); /* files of this process hold tenants' rows */
    if (argc < 2)
        return gw_command_usage("a command is needed: init, serve, check, upgrade, rekey, "
                                "restore, salvage or read-database");
    if (strcmp(argv[1], "--version") == 0)
        return say("bigtentd " BIGTENT_VERSION "\n");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return say(HELP);
    for (size_t i = 0; i < sizeof COMMANDS / sizeof COMMANDS[0]; i++) {
        if (strcmp(argv[1], COMMANDS[i].name) == 0)
            return COMMANDS[i].run(argc - 1, argv + 1);
    }
    return gw_command_usage("there is no command \"%.60s\"", argv[1]);
}
