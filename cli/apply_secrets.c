/* cli/apply_secrets.c - see apply_secrets.h. */
#include "cli/apply_secrets.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/json_text.h"
#include "cli/out.h"

#include "base/banned.h"

#define LINE_BYTES (4 * KIB)

/* Makes the new file's name durable. */
static enum cli_exit sync_directory(const char *path)
{
    char directory[BASE_PATH_BYTES] = ".";
    struct errbuf eb = {0};
    const char *slash = strrchr(path, '/');
    if (slash != NULL)
        (void)snprintf(directory, sizeof directory, "%.*s", slash == path ? 1 : (int)(slash - path),
                       path); /* the file was made */
    if (base_dir_sync(directory, &eb) == ERR_OK)
        return CLI_OK;
    return cli_fail(CLI_USAGE, "cannot make the file for the keys: %s", eb.text);
}

enum cli_exit cli_apply_secrets_open(struct cli_apply_secrets *s, const char *path)
{
    *s = (struct cli_apply_secrets){.fd = -1, .path = path};
    if (path == NULL)
        return CLI_OK;
    if (strlen(path) >= BASE_PATH_BYTES)
        return cli_fail(CLI_USAGE, "--keys-out is too long a path");
    s->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (s->fd < 0)
        return cli_fail(CLI_USAGE, "cannot make %s for the keys: %s; nothing was changed", path,
                        strerror(errno));
    return sync_directory(path);
}

void cli_apply_secrets_close(struct cli_apply_secrets *s)
{
    if (s->fd < 0)
        return;
    (void)close(s->fd); /* every line was synced */
    if (s->count == 0)
        (void)unlink(s->path); /* this process created it, and an empty file is harmless */
    s->fd = -1;
}

static bool write_all(int fd, struct slice bytes)
{
    while (bytes.len > 0) {
        ssize_t n = write(fd, bytes.ptr, bytes.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        bytes = base_slice_skip(bytes, (size_t)n);
    }
    return fsync(fd) == 0;
}

enum cli_exit cli_apply_secrets_add(struct cli_apply_secrets *s, const struct cli_apply_item *item,
                                    const json_t *made)
{
    struct buf line;
    enum cli_exit e = CLI_OK;
    json_t *doc = json_pack("{s:s, s:s*, s:s, s:O*, s:O*}", "kind", cli_apply_kind_name(item),
                            "tenant", item->tenant, "label", item->id, "id",
                            json_object_get(made, "id"), "key", json_object_get(made, "key"));
    base_buf_init(&line, LINE_BYTES);
    bool fits = cli_json_append(&line, doc, 0) && base_buf_append_byte(&line, '\n') == ERR_OK;
    errno = 0;
    if (!fits || json_object_get(made, "key") == NULL)
        e = cli_fail(CLI_REFUSED, "the server's answer holds no key");
    else if (!write_all(s->fd, base_buf_slice(&line)))
        e = cli_fail(CLI_REFUSED, "cannot write a key to %s: %s", s->path, strerror(errno));
    else
        s->count++;
    if (line.ptr != NULL)
        explicit_bzero(line.ptr, line.len);
    base_buf_fini(&line);
    json_decref(doc);
    return e;
}
