/*
 * migrations/format_history.c - a few lines of text, readable for people too.
 */
#include "migrations/format_history.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"

#include "base/banned.h"

#define LINE_BYTES_MAX 128

static const char *const NAMES[] = {
    [MIG_REACHED_NOT] = "due",           [MIG_REACHED] = "done",
    [MIG_REACHED_MADE] = "made",         [MIG_REACHED_RESTORED] = "restored",
    [MIG_REACHED_UPGRADED] = "upgraded",
};

const char *mig_reached_name(enum mig_reached how)
{
    return NAMES[how];
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Returns the text before `end`, and skips both; all of it when `end` is missing. */
static struct slice take_until(struct slice *rest, char end)
{
    const uint8_t *at = rest->len == 0 ? NULL : memchr(rest->ptr, end, rest->len);
    struct slice taken = *rest;
    if (at == NULL) {
        *rest = SLICE_EMPTY;
        return taken;
    }
    taken.len = (size_t)(at - rest->ptr);
    *rest = base_slice_skip(*rest, taken.len + 1);
    return taken;
}

static enum err line_parse(struct slice line, uint64_t *out_format, struct mig_format_state *out)
{
    enum err rc = base_parse_u64(take_until(&line, ' '), out_format);
    struct slice how = take_until(&line, ' ');
    *out = (struct mig_format_state){.how = MIG_REACHED_NOT};
    for (int i = MIG_REACHED_MADE; i <= MIG_REACHED_UPGRADED; i++)
        if (base_slice_is(how, NAMES[i]))
            out->how = (enum mig_reached)i;
    if (rc == ERR_OK)
        rc = base_parse_time(take_until(&line, ' '), &out->at_us);
    if (rc != ERR_OK || out->how == MIG_REACHED_NOT || line.len == 0 ||
        line.len >= sizeof out->software)
        return ERR_CORRUPT;
    memcpy(out->software, line.ptr, line.len);
    return ERR_OK;
}

static enum err file_read(const char *path, struct buf *out, struct errbuf *eb)
{
    struct errbuf why = {{0}};
    enum err rc = base_file_read(path, MIG_HISTORY_LINES * LINE_BYTES_MAX, out, &why);
    if (rc == ERR_NOT_FOUND)
        return ERR_OK; /* from before this file existed */
    return rc == ERR_OK ? rc : base_fail(eb, rc, "%s", why.text);
}

enum err mig_format_states(const char *data, uint32_t format,
                           struct mig_format_state out[MIG_FORMAT_VERSION], struct errbuf *eb)
{
    char path[BASE_PATH_BYTES];
    struct buf text = {0};
    enum err rc = base_path_join(path, data, MIG_HISTORY_FILE, eb);
    if (rc == ERR_OK)
        rc = file_read(path, &text, eb);
    struct slice rest = base_buf_slice(&text);
    for (uint32_t i = 0; i < MIG_FORMAT_VERSION; i++)
        out[i] = (struct mig_format_state){.how = i < format ? MIG_REACHED : MIG_REACHED_NOT};
    while (rc == ERR_OK && rest.len > 0) {
        struct mig_format_state state;
        uint64_t of = 0;
        rc = line_parse(take_until(&rest, '\n'), &of, &state);
        if (rc != ERR_OK)
            (void)base_fail(eb, rc, "%s has a line that bigtentd does not write", path);
        else if (of > 0 && of <= format && of <= MIG_FORMAT_VERSION)
            out[of - 1] = state;
    }
    base_buf_fini(&text);
    return rc;
}

/* --- recording -------------------------------------------------------------------------------- */

/* Returns at most MIG_HISTORY_LINES - 1 lines, the newest ones. */
static struct slice newest_lines(struct slice text)
{
    size_t lines = 0;
    for (size_t i = 0; i < text.len; i++)
        lines += text.ptr[i] == '\n';
    for (; lines >= MIG_HISTORY_LINES; lines--)
        (void)take_until(&text, '\n'); /* the oldest one */
    return text;
}

enum err mig_format_note(const char *data, uint32_t format, enum mig_reached how, struct errbuf *eb)
{
    char path[BASE_PATH_BYTES];
    char now[BASE_TIME_TEXT];
    struct buf old = {0};
    struct buf text;
    base_buf_init(&text, (MIG_HISTORY_LINES + 1) * LINE_BYTES_MAX);
    base_time_format(base_wall_us(), now);
    enum err rc = base_path_join(path, data, MIG_HISTORY_FILE, eb);
    if (rc == ERR_OK)
        rc = file_read(path, &old, eb);
    if (rc == ERR_OK) {
        (void)base_buf_append(&text, newest_lines(base_buf_slice(&old))); /* errors latch */
        base_buf_printf(&text, "%" PRIu32 " %s %s %s\n", format, NAMES[how], now, BIGTENT_VERSION);
        rc = text.error;
    }
    if (rc == ERR_OK)
        rc = base_file_replace(path, base_buf_slice(&text), 0644, eb);
    base_buf_fini(&old);
    base_buf_fini(&text);
    return rc;
}
