/*
 * gateway/master_key.c - reads sixty-four digits from one of three sources.
 */
#define _GNU_SOURCE

#include "gateway/master_key.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"

#include "base/banned.h"

#define TEXT_MAX 1024 /* digits, and white space around them */

static int digit_of(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static bool is_space(uint8_t c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static enum err parse(struct slice text, const char *place, uint8_t out[TEN_MASTER_KEY],
                      struct errbuf *eb)
{
    while (text.len > 0 && is_space(text.ptr[0]))
        text = base_slice_skip(text, 1);
    while (text.len > 0 && is_space(text.ptr[text.len - 1]))
        text.len--;
    bool good = text.len == 2 * (size_t)TEN_MASTER_KEY;
    for (size_t i = 0; good && i < TEN_MASTER_KEY; i++) {
        int high = digit_of((char)text.ptr[2 * i]), low = digit_of((char)text.ptr[2 * i + 1]);
        good = high >= 0 && low >= 0;
        out[i] = good ? (uint8_t)(high << 4 | low) : 0;
    }
    return good ? ERR_OK
                : base_fail(eb, ERR_INVALID,
                            "the master key from %s must be %d hexadecimal digits (openssl rand "
                            "-hex %d makes one)",
                            place, 2 * TEN_MASTER_KEY, TEN_MASTER_KEY);
}

static enum err from_file(const char *path, uint8_t out[TEN_MASTER_KEY], struct errbuf *eb)
{
    struct buf text = {0};
    enum err rc = base_file_read(path, TEXT_MAX, &text, eb);
    if (rc == ERR_OK)
        rc = parse(base_buf_slice(&text), path, out, eb);
    if (text.ptr != NULL)
        OPENSSL_cleanse(text.ptr, text.capacity);
    base_buf_fini(&text);
    return rc;
}

/* Runs in the child: sends the command's output to fd. */
_Noreturn static void run_shell(const char *command, int fd)
{
    if (dup2(fd, STDOUT_FILENO) >= 0)
        (void)execl("/bin/sh", "sh", "-c", command, (char *)NULL); /* returns when it fails */
    _exit(127);
}

static size_t read_all(int fd, char *out, size_t max)
{
    size_t len = 0;
    ssize_t n = 1;
    while (len < max && (n > 0 || (n < 0 && errno == EINTR))) {
        n = read(fd, out + len, max - len);
        len += n > 0 ? (size_t)n : 0;
    }
    return len;
}

static int wait_for(pid_t child)
{
    int status = -1;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    return status;
}

static enum err from_command(const char *command, uint8_t out[TEN_MASTER_KEY], struct errbuf *eb)
{
    char text[TEXT_MAX];
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return base_fail(eb, ERR_IO, "the master key's command cannot be run: %s",
                         strerrordesc_np(errno));
    pid_t child = fork();
    if (child == 0)
        run_shell(command, ends[1]);
    (void)close(ends[1]); /* the child's end */
    size_t n = child < 0 ? 0 : read_all(ends[0], text, sizeof text);
    (void)close(ends[0]); /* read only */
    int status = child < 0 ? -1 : wait_for(child);
    enum err rc = status != 0
                      ? base_fail(eb, ERR_IO, "the master key's command ended with status %d",
                                  WIFEXITED(status) ? WEXITSTATUS(status) : -1)
                      : parse(base_slice(text, n), "the command", out, eb);
    OPENSSL_cleanse(text, sizeof text);
    return rc;
}

static enum err from_variable(char *value, uint8_t out[TEN_MASTER_KEY], struct errbuf *eb)
{
    enum err rc = parse(base_slice_text(value), GW_MASTER_KEY_VARIABLE, out, eb);
    OPENSSL_cleanse(value, strlen(value));  /* /proc shows it */
    (void)unsetenv(GW_MASTER_KEY_VARIABLE); /* a constant name: cannot fail */
    return rc;
}

enum err gw_master_key_read(const struct gw_master_key_source *source, uint8_t out[TEN_MASTER_KEY],
                            bool *out_given, struct errbuf *eb)
{
    char *value = getenv(GW_MASTER_KEY_VARIABLE);
    int places = (source->file != NULL) + (source->command != NULL) + (value != NULL);
    *out_given = places > 0;
    if (places > 1)
        return base_fail(eb, ERR_INVALID,
                         "the master key is given more than once: --master-key-file, "
                         "--master-key-command and %s exclude each other",
                         GW_MASTER_KEY_VARIABLE);
    if (source->file != NULL)
        return from_file(source->file, out, eb);
    if (source->command != NULL)
        return from_command(source->command, out, eb);
    return value != NULL ? from_variable(value, out, eb) : ERR_OK;
}
