/* cli/service_call.c - addresses, credentials and statuses of a service; see service.h. */
#include "cli/service.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/text.h"
#include "cli/bounds.h"
#include "cli/out.h"
#include "cli/transfer_scan.h"

#include "base/banned.h"

/* The only service with different addresses for schemas and rows. */
#define GOOGLE_DATA  "https://bigtable.googleapis.com"
#define GOOGLE_ADMIN "https://bigtableadmin.googleapis.com"

enum cli_exit cli_service_init(struct cli_service *s, const char *url, const char *admin_url,
                               const char *cacert, const char *key_path)
{
    *s = (struct cli_service){.cacert = cacert, .key_path = key_path};
    s->url = cli_config_foreign_url(url);
    if (s->url == NULL)
        return cli_fail(CLI_USAGE,
                        "--from-service takes https://HOST[:PORT], or http://HOST:PORT for an "
                        "emulator, not \"%s\"",
                        url);
    if (admin_url == NULL)
        admin_url = strcmp(s->url, GOOGLE_DATA) == 0 ? GOOGLE_ADMIN : s->url;
    s->admin_url = cli_config_foreign_url(admin_url);
    if (s->admin_url == NULL)
        return cli_fail(CLI_USAGE, "--from-admin takes a URL as --from-service does, not \"%s\"",
                        admin_url);
    const struct cli_config data = {.url = s->url, .is_foreign = true};
    const struct cli_config admin = {.url = s->admin_url, .is_foreign = true};
    if (key_path != NULL && (cli_config_is_plain(&data) || cli_config_is_plain(&admin)))
        return cli_fail(CLI_USAGE, "--from-key-file goes with https only: nothing hides a "
                                   "credential on the way to http://");
    return CLI_OK;
}

void cli_service_fini(struct cli_service *s)
{
    base_free(s->url);
    base_free(s->admin_url);
    memset(s, 0, sizeof *s);
}

enum cli_exit cli_service_config(const struct cli_service *service, bool is_admin,
                                 struct cli_config *out)
{
    const struct cli_config config = {
        .url = is_admin ? service->admin_url : service->url,
        .cacert = service->cacert,
        .is_foreign = true,
    };
    *out = cli_transfer_config(&config);
    return service->key_path != NULL ? cli_config_read_key(service->key_path, out) : CLI_OK;
}

/* Frees the configuration, but not url, which the service owns. */
void cli_service_config_fini(struct cli_config *config)
{
    config->url = NULL;
    cli_config_fini(config);
}

bool cli_service_renew(const struct cli_service *service, struct cli_config *config)
{
    struct cli_config fresh = {0};
    if (service->key_path == NULL || cli_config_read_key(service->key_path, &fresh) != CLI_OK ||
        strcmp(fresh.key, config->key) == 0) {
        cli_config_fini(&fresh);
        return false;
    }
    char *old = config->key;
    config->key = fresh.key;
    base_free_secret(old, strlen(old));
    return true;
}

static enum cli_exit explain(const struct cli_config *config, const struct cli_answer *answer,
                             const char *table, const char *name, enum cli_exit code)
{
    const char *text = answer->grpc_message[0] != '\0' ? answer->grpc_message : "no reason given";
    if (config->key != NULL && strstr(text, config->key) != NULL)
        text = "(its reason repeats the credential)";
    return cli_fail(code, "%s: %s: %s (status %d%s): %s; trying again will not help", config->url,
                    table, name, answer->grpc_status,
                    answer->grpc_status == CLI_CALL_UNAUTHENTICATED && config->key == NULL
                        ? ", no --from-key-file was given"
                        : "",
                    text);
}

enum cli_exit cli_service_judge(const struct cli_config *config, const struct cli_answer *answer,
                                const char *table)
{
    switch (answer->grpc_status) {
    case CLI_CALL_NONE:
    case CLI_CALL_DEADLINE:
    case CLI_CALL_EXHAUSTED:
    case CLI_CALL_ABORTED:
    case CLI_CALL_UNAVAILABLE:
        return CLI_UNREACHABLE;
    case CLI_CALL_NOT_FOUND:
        return explain(config, answer, table, "it is not there", CLI_NOT_FOUND);
    case CLI_CALL_DENIED:
        return explain(config, answer, table, "the credential does not reach it", CLI_REFUSED);
    case CLI_CALL_UNAUTHENTICATED:
        return explain(config, answer, table, "the credential is none, or has ended", CLI_REFUSED);
    case CLI_CALL_UNIMPLEMENTED:
        return explain(config, answer, table, "this is no Bigtable-compatible service",
                       CLI_REFUSED);
    default:
        return explain(config, answer, table, "the service refuses", CLI_REFUSED);
    }
}

void cli_service_resource(const char *field, const char *table, struct buf *out)
{
    base_buf_append_text(out, field);
    base_buf_append_byte(out, '=');
    (void)base_percent_encode(base_slice_text(table), out); /* a name is short */
    base_buf_append_byte(out, '\0');
}
