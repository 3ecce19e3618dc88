/*
 * migrations/datadir.c - FORMAT says whether a directory is ours; LOCK says which process has it.
 *
 *   existing contents                    open                      create
 *   nothing                              ERR_NOT_FOUND             creates it
 *   not a directory                      ERR_INVALID               ERR_INVALID
 *   empty, or only a LOCK                ERR_INVALID               uses it
 *   files, but no FORMAT                 ERR_INVALID               ERR_EXISTS
 *   a malformed FORMAT                   ERR_INVALID               ERR_EXISTS
 *   FORMAT of a later version            ERR_UNSUPPORTED           ERR_EXISTS
 *   FORMAT of an earlier version         ERR_CONFLICT              ERR_EXISTS
 *   FORMAT of ours                       locks it                  ERR_EXISTS
 *
 * 1. open writes nothing (not even LOCK) before it has read a FORMAT of ours.
 * 2. create checks the directory again under the lock: of two at once, one succeeds.
 */
#include "migrations/datadir.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "migrations/format_history.h"

#include "base/banned.h"

#define FORMAT_NAME      "FORMAT"
#define LOCK_NAME        "LOCK"
#define FORMAT_WORDS     "bigtent data "
#define FORMAT_BYTES_MAX 64

enum content { HOLDS_NOTHING, HOLDS_FORMAT, HOLDS_OTHER };

/* --- inspecting ------------------------------------------------------------------------------- */

static enum err fail_errno(struct errbuf *eb, const char *path)
{
    if (errno == EACCES || errno == EPERM)
        return base_fail(eb, ERR_IO, "permission denied for the data directory %s", path);
    if (errno == ENOENT)
        return base_fail(eb, ERR_NOT_FOUND,
                         "the data directory %s does not exist; run bigtentd init", path);
    if (errno == ENOTDIR)
        return base_fail(eb, ERR_INVALID, "%s is not a directory", path);
    return base_fail(eb, ERR_IO, "cannot read the data directory %s: %s", path, strerror(errno));
}

static enum err look(const char *path, enum content *out, struct errbuf *eb)
{
    DIR *dir = opendir(path);
    if (dir == NULL)
        return fail_errno(eb, path);
    enum content content = HOLDS_NOTHING;
    errno = 0;
    for (const struct dirent *d = readdir(dir); d != NULL; d = readdir(dir)) {
        if (strcmp(d->d_name, FORMAT_NAME) == 0)
            content = HOLDS_FORMAT;
        else if (content == HOLDS_NOTHING && strcmp(d->d_name, ".") != 0 &&
                 strcmp(d->d_name, "..") != 0 && strcmp(d->d_name, LOCK_NAME) != 0)
            content = HOLDS_OTHER;
    }
    enum err rc = errno == 0 ? ERR_OK : fail_errno(eb, path);
    (void)closedir(dir); /* nothing was written */
    if (rc == ERR_OK)
        *out = content;
    return rc;
}

/* --- FORMAT ----------------------------------------------------------------------------------- */

static enum err format_parse(struct slice text, uint64_t *out)
{
    struct slice words = SLICE_LIT(FORMAT_WORDS);
    if (!base_slice_starts_with(text, words) || text.ptr[text.len - 1] != '\n')
        return ERR_INVALID;
    struct slice number = base_slice_skip(text, words.len);
    number.len--;
    enum err rc = base_parse_u64(number, out);
    return rc == ERR_OK && *out > 0 ? ERR_OK : ERR_INVALID;
}

static enum err format_read(const char *path, uint32_t *out, struct errbuf *eb)
{
    char file[BASE_PATH_BYTES];
    enum err rc = base_path_join(file, path, FORMAT_NAME, eb);
    if (rc != ERR_OK)
        return rc;
    struct buf text;
    struct errbuf detail = {0};
    uint64_t version = 0;
    rc = base_file_read(file, FORMAT_BYTES_MAX, &text, &detail);
    if (rc == ERR_OK)
        rc = format_parse(base_buf_slice(&text), &version);
    else if (rc == ERR_TOO_BIG)
        rc = ERR_INVALID;
    base_buf_fini(&text);
    if (rc == ERR_INVALID)
        return base_fail(eb, ERR_INVALID,
                         "%s is not what bigtentd writes; this is no Bigtent data directory, or "
                         "it is damaged",
                         file);
    if (rc != ERR_OK)
        return base_fail(eb, ERR_IO, "%s", detail.text);
    if (version > MIG_FORMAT_VERSION)
        return base_fail(eb, ERR_UNSUPPORTED,
                         "the data directory %s has format %llu; this program reads up to %d: it "
                         "was written by a newer bigtentd",
                         path, (unsigned long long)version, MIG_FORMAT_VERSION);
    *out = (uint32_t)version;
    return ERR_OK;
}

static enum err format_write(struct mig_datadir *d, uint32_t format, bool is_new, struct errbuf *eb)
{
    char file[BASE_PATH_BYTES];
    char text[FORMAT_BYTES_MAX];
    enum err rc = base_path_join(file, d->path, FORMAT_NAME, eb);
    if (rc != ERR_OK)
        return rc;
    (void)snprintf(text, sizeof text, FORMAT_WORDS "%u\n", format); /* fits */
    rc = is_new ? base_file_create(file, base_slice_text(text), 0644, eb)
                : base_file_replace(file, base_slice_text(text), 0644, eb);
    if (rc == ERR_OK)
        d->format = format;
    return rc;
}

/* --- locking ---------------------------------------------------------------------------------- */

static enum err take_lock(const char *path, struct mig_datadir *out, struct errbuf *eb)
{
    char file[BASE_PATH_BYTES];
    struct errbuf detail = {0};
    enum err rc = base_path_join(file, path, LOCK_NAME, eb);
    if (rc != ERR_OK)
        return rc;
    rc = base_file_lock(file, &out->lock_fd, &detail);
    if (rc == ERR_LOCKED)
        return base_fail(eb, ERR_LOCKED, "the data directory %s is in use by another process",
                         path);
    return rc == ERR_OK ? ERR_OK : base_fail(eb, rc, "%s", detail.text);
}

static enum err init(const char *path, struct mig_datadir *out, struct errbuf *eb)
{
    size_t len = strlen(path);
    *out = (struct mig_datadir){.lock_fd = -1};
    /* space for the names inside: the longest is server.pem with the suffix of its temporary
     * file */
    if (len == 0 || len >= sizeof out->path)
        return base_fail(eb, len == 0 ? ERR_INVALID : ERR_TOO_BIG,
                         "the path of the data directory is %zu bytes; it must be 1 to %zu", len,
                         sizeof out->path - 1);
    memcpy(out->path, path, len);
    return ERR_OK;
}

/* --- permissions ------------------------------------------------------------------------------ */

/* Restricts access to the owner: the files hold rows of all tenants, and keys. */
static enum err close_to_others(struct mig_datadir *d, struct errbuf *eb)
{
    struct stat st;
    if (stat(d->path, &st) != 0)
        return fail_errno(eb, d->path);
    d->mode_before = st.st_mode & 07777;
    if ((st.st_mode & (S_IRWXG | S_IRWXO)) == 0 || chmod(d->path, S_IRWXU) == 0)
        return ERR_OK;
    return base_fail(eb, ERR_IO,
                     "the data directory %s has mode %04o, and others than its owner may look into "
                     "it; its mode cannot be changed: %s",
                     d->path, (unsigned)d->mode_before, strerror(errno));
}

/* --- creating, opening, closing --------------------------------------------------------------- */

static enum err check_unused(const char *path, struct errbuf *eb)
{
    enum content content;
    enum err rc = look(path, &content, eb);
    if (rc != ERR_OK || content == HOLDS_NOTHING)
        return rc;
    if (content == HOLDS_FORMAT)
        return base_fail(eb, ERR_EXISTS, "%s is a data directory already", path);
    return base_fail(eb, ERR_EXISTS,
                     "%s has files in it and is not a data directory; give an empty or a new one",
                     path);
}

enum err mig_datadir_create(const char *path, struct mig_datadir *out, struct errbuf *eb)
{
    struct mig_datadir d;
    enum err rc = init(path, &d, eb);
    if (rc != ERR_OK)
        return rc;
    rc = base_dir_make(path, 0700, eb);
    if (rc == ERR_EXISTS)
        rc = check_unused(path, eb);
    if (rc == ERR_OK)
        rc = take_lock(path, &d, eb);
    if (rc == ERR_OK)
        rc = check_unused(path, eb);
    if (rc == ERR_OK)
        rc = close_to_others(&d, eb);
    if (rc != ERR_OK) {
        mig_datadir_close(&d);
        return rc;
    }
    if (eb != NULL)
        eb->text[0] = '\0'; /* "exists" was not a failure */
    *out = d;
    return ERR_OK;
}

/* Recorded first: the format takes effect when FORMAT is written. */
static enum err format_reach(struct mig_datadir *d, uint32_t format, enum mig_reached how,
                             struct errbuf *eb)
{
    INVARIANT(d->lock_fd >= 0 && format > 0 && format <= MIG_FORMAT_VERSION);
    enum err rc = mig_format_note(d->path, format, how, eb);
    return rc == ERR_OK ? format_write(d, format, how != MIG_REACHED_UPGRADED, eb) : rc;
}

enum err mig_datadir_seal_as(struct mig_datadir *d, uint32_t format, struct errbuf *eb)
{
    return format_reach(d, format, MIG_REACHED_RESTORED, eb);
}

enum err mig_datadir_seal(struct mig_datadir *d, struct errbuf *eb)
{
    return format_reach(d, MIG_FORMAT_VERSION, MIG_REACHED_MADE, eb);
}

enum err mig_datadir_raise(struct mig_datadir *d, uint32_t format, struct errbuf *eb)
{
    INVARIANT(format > d->format);
    return format_reach(d, format, MIG_REACHED_UPGRADED, eb);
}

enum err mig_datadir_open_any(const char *path, struct mig_datadir *out, struct errbuf *eb)
{
    struct mig_datadir d;
    enum content content;
    enum err rc = init(path, &d, eb);
    if (rc == ERR_OK)
        rc = look(path, &content, eb);
    if (rc != ERR_OK)
        return rc;
    if (content == HOLDS_NOTHING)
        return base_fail(eb, ERR_INVALID, "the data directory %s is empty; run bigtentd init",
                         path);
    if (content == HOLDS_OTHER)
        return base_fail(eb, ERR_INVALID,
                         "%s has no %s file: it is not a Bigtent data directory, or bigtentd init "
                         "was interrupted",
                         path, FORMAT_NAME);
    rc = format_read(path, &d.format, eb);
    if (rc == ERR_OK)
        rc = take_lock(path, &d, eb);
    if (rc == ERR_OK)
        rc = close_to_others(&d, eb);
    if (rc != ERR_OK) {
        mig_datadir_close(&d);
        return rc;
    }
    *out = d;
    return ERR_OK;
}

enum err mig_datadir_open(const char *path, struct mig_datadir *out, struct errbuf *eb)
{
    struct mig_datadir d;
    enum err rc = mig_datadir_open_any(path, &d, eb);
    if (rc != ERR_OK)
        return rc;
    if (d.format < MIG_FORMAT_VERSION) {
        mig_datadir_close(&d);
        return base_fail(eb, ERR_CONFLICT,
                         "the data directory %s has format %u; this program works on %d: back it "
                         "up, then run bigtentd upgrade --data %s",
                         path, d.format, MIG_FORMAT_VERSION, path);
    }
    *out = d;
    return ERR_OK;
}

void mig_datadir_close(struct mig_datadir *d)
{
    if (d == NULL || d->lock_fd < 0)
        return;
    (void)close(d->lock_fd); /* releases the lock */
    d->lock_fd = -1;
}
