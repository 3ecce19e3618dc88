/* cli/target.c - see target.h. */
#include "cli/target.h"

#include "base/text.h"
#include "cli/bounds.h"

#include "base/banned.h"

/* Appends a path segment. The dots of "." and ".." are also encoded,
 * because clients resolve them. */
static void append_segment(struct buf *out, const char *value)
{
    if (strcmp(value, ".") == 0)
        base_buf_append_text(out, "%2E");
    else if (strcmp(value, "..") == 0)
        base_buf_append_text(out, "%2E%2E");
    else
        base_percent_encode(base_slice_text(value), out);
}

static void fill(struct buf *out, const char *pattern, const char *const *values, size_t count)
{
    size_t used = 0;
    base_buf_init(out, CLI_TARGET_BYTES);
    for (const char *p = pattern; *p != '\0';) {
        const char *hole = strstr(p, "{}");
        size_t len = hole != NULL ? (size_t)(hole - p) : strlen(p);
        base_buf_append(out, base_slice(p, len));
        p += len;
        if (hole != NULL) {
            INVARIANT(used < count);
            append_segment(out, values[used++]);
            p += 2;
        }
    }
}

void cli_target1(struct buf *out, const char *pattern, const char *value)
{
    fill(out, pattern, &value, 1);
}

void cli_target2(struct buf *out, const char *pattern, const char *first, const char *second)
{
    const char *values[] = {first, second};
    fill(out, pattern, values, 2);
}

void cli_target_query(struct buf *target, const char *name, const char *value)
{
    if (value == NULL)
        return;
    bool is_first = target->len == 0 || memchr(target->ptr, '?', target->len) == NULL;
    base_buf_append_byte(target, is_first ? '?' : '&');
    base_buf_append_text(target, name);
    base_buf_append_byte(target, '=');
    base_percent_encode(base_slice_text(value), target);
}
