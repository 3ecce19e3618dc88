/* cli/config.c - see config.h. Options override the environment;
 * an empty variable counts as unset. */
#include "cli/config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/bounds.h"
#include "cli/out.h"

#include "base/banned.h"

#define HTTPS       "https://"
#define HTTP        "http://"
#define DEFAULT_URL HTTPS "127.0.0.1:8443"

static const char *from_environment(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

static const char *setting(const struct cli_args *args, const char *option, const char *variable)
{
    const char *value = cli_args_value(args, option);
    return value != NULL ? value : from_environment(variable);
}

/* Checks header values: only visible ASCII, so that a value cannot add headers to the request. */
static bool is_visible_ascii(const char *text)
{
    for (const char *p = text; *p != '\0'; p++) {
        if (*p <= 0x20 || *p >= 0x7f)
            return false;
    }
    return text[0] != '\0';
}

/* Returns a copy of the URL; NULL when it is not a server's URL. */
static char *new_url(const char *url, const char *scheme)
{
    size_t len = strlen(url);
    size_t scheme_len = strlen(scheme);
    if (strncmp(url, scheme, scheme_len) != 0 || url[scheme_len] == '\0' ||
        url[scheme_len] == '/' || !is_visible_ascii(url) || strpbrk(url, "?#@") != NULL)
        return NULL;
    while (url[len - 1] == '/')
        len--;
    return base_new_text(url, len);
}

static enum cli_exit load_url(const struct cli_args *args, struct cli_config *out)
{
    const char *url = setting(args, "url", "BIGTENT_URL");
    if (url == NULL)
        url = DEFAULT_URL;
    out->url = new_url(url, HTTPS);
    if (out->url == NULL)
        return cli_fail(CLI_USAGE, "\"%s\" is not a server's URL; it looks like " DEFAULT_URL, url);
    return CLI_OK;
}

enum cli_exit cli_config_read_key(const char *path, struct cli_config *out)
{
    struct stat st;
    if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & 077) != 0)
        cli_say("warning: %s holds a key and can be read by others; chmod 600 it", path);
    struct buf text;
    struct errbuf eb = {0};
    base_buf_init(&text, CLI_KEY_BYTES);
    if (base_file_read(path, CLI_KEY_BYTES, &text, &eb) != ERR_OK) {
        base_buf_fini(&text);
        return cli_fail(CLI_USAGE, "cannot read the key file: %s", eb.text);
    }
    struct slice key = base_buf_slice(&text);
    while (key.len > 0 && (key.ptr[key.len - 1] == '\n' || key.ptr[key.len - 1] == '\r'))
        key.len--;
    bool has_nul = key.len > 0 && memchr(key.ptr, '\0', key.len) != NULL;
    out->key = base_new_text(key.ptr, key.len);
    if (text.ptr != NULL)
        explicit_bzero(text.ptr, text.capacity);
    base_buf_fini(&text);
    if (has_nul || !is_visible_ascii(out->key))
        return cli_fail(CLI_USAGE, "%s does not hold a key: one line of letters and digits", path);
    return CLI_OK;
}

/* Overwrites the value of --key in argv with stars, so that the process list no longer shows it. */
static void hide_key(int argc, char **argv, const char *key)
{
    for (int i = 1; i < argc; i++) {
        if (argv[i] == key)
            memset(argv[i], '*', strlen(argv[i]));
        else if (strncmp(argv[i], "--key=", 6) == 0 && argv[i] + 6 == key)
            memset(argv[i] + 6, '*', strlen(argv[i] + 6));
    }
}

static enum cli_exit load_key(const struct cli_args *args, int argc, char **argv,
                              struct cli_config *out)
{
    const char *key = cli_args_value(args, "key");
    const char *file = cli_args_value(args, "key-file");
    if (key != NULL && file != NULL)
        return cli_fail(CLI_USAGE, "--key and --key-file exclude each other");
    if (file != NULL)
        return cli_config_read_key(file, out);
    const char *where = key != NULL ? "--key" : "BIGTENT_KEY";
    bool on_line = key != NULL;
    if (key == NULL)
        key = from_environment("BIGTENT_KEY");
    if (key == NULL)
        return CLI_OK;
    out->key = base_new_text(key, strlen(key));
    if (on_line)
        hide_key(argc, argv, key);
    if (strlen(out->key) > CLI_KEY_BYTES || !is_visible_ascii(out->key))
        return cli_fail(CLI_USAGE, "%s does not hold a key: letters and digits only", where);
    return CLI_OK;
}

enum cli_exit cli_config_load(const struct cli_args *args, int argc, char **argv,
                              struct cli_config *out)
{
    memset(out, 0, sizeof *out);
    out->json = cli_args_flag(args, "json");
    out->cacert = setting(args, "cacert", "BIGTENT_CACERT");
    out->tenant = cli_args_value(args, "tenant");
    out->retries = CLI_RETRY_DEFAULT;
    if (out->tenant != NULL && !is_visible_ascii(out->tenant))
        return cli_fail(CLI_USAGE, "\"%s\" is not a tenant ID", out->tenant);
    const char *retries = cli_args_value(args, "retry");
    if (retries != NULL && (base_parse_u64(base_slice_text(retries), &out->retries) != ERR_OK ||
                            out->retries > CLI_RETRY_MAX))
        return cli_fail(CLI_USAGE, "--retry takes a number from 0 to %d", CLI_RETRY_MAX);
    enum cli_exit e = load_url(args, out);
    return e == CLI_OK ? load_key(args, argc, argv, out) : e;
}

void cli_config_fini(struct cli_config *c)
{
    base_free(c->url);
    if (c->key != NULL)
        base_free_secret(c->key, strlen(c->key));
    memset(c, 0, sizeof *c);
}

bool cli_config_is_plain(const struct cli_config *c)
{
    return c->is_foreign && strncmp(c->url, HTTP, strlen(HTTP)) == 0;
}

char *cli_config_foreign_url(const char *url)
{
    char *plain = new_url(url, HTTP);
    return plain != NULL ? plain : new_url(url, HTTPS);
}

enum cli_key_kind cli_config_key_kind(const struct cli_config *c)
{
    if (c->key == NULL || strncmp(c->key, "bt", 2) != 0 || strlen(c->key) < 4 || c->key[3] != '_')
        return CLI_KEY_UNKNOWN;
    switch (c->key[2]) {
    case 't':
        return CLI_KEY_TENANT;
    case 's':
        return CLI_KEY_SERVICE;
    case 'o':
        return CLI_KEY_OPERATOR;
    default:
        return CLI_KEY_UNKNOWN;
    }
}

const char *cli_config_trust(const struct cli_config *c)
{
    return c->cacert != NULL ? c->cacert : "the system's certificates";
}
