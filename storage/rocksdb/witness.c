/*
 * storage/rocksdb/witness.c - three lines of text, the last of which checks the first two.
 *
 *   bigtent witness 1 adopting | bigtent witness 1 live
 *   sequence N
 *   check H          FNV-1a of all bytes before this line, in decimal
 */
#include "storage/rocksdb/witness.h"

#include <inttypes.h>

#include "base/file.h"
#include "base/text.h"

#include "base/banned.h"

#define FILE_BYTES_MAX 256

static uint64_t fnv(struct slice s)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < s.len; i++)
        h = (h ^ s.ptr[i]) * 0x100000001b3u;
    return h;
}

/* Cuts one line off rest and returns the text after `head` in it. */
static bool take_line(struct slice *rest, const char *head, struct slice *out)
{
    const uint8_t *end = rest->len == 0 ? NULL : memchr(rest->ptr, '\n', rest->len);
    struct slice want = base_slice_text(head);
    if (end == NULL)
        return false;
    struct slice line = base_slice(rest->ptr, (size_t)(end - rest->ptr));
    if (!base_slice_starts_with(line, want))
        return false;
    *out = base_slice_skip(line, want.len);
    *rest = base_slice_skip(*rest, line.len + 1);
    return true;
}

static bool parse(struct slice text, struct rdb_witness *out)
{
    struct slice rest = text, state, sequence, check;
    uint64_t sum = 0;
    if (!take_line(&rest, "bigtent witness 1 ", &state) ||
        !take_line(&rest, "sequence ", &sequence))
        return false;
    struct slice checked = base_slice(text.ptr, text.len - rest.len);
    if (!take_line(&rest, "check ", &check) || rest.len != 0)
        return false;
    if (base_parse_u64(sequence, &out->sequence) != ERR_OK ||
        base_parse_u64(check, &sum) != ERR_OK || sum != fnv(checked))
        return false;
    out->adopting = base_slice_is(state, "adopting");
    return out->adopting || base_slice_is(state, "live");
}

enum err sto_rdb_witness_read(const char *dir, struct rdb_witness *out, struct errbuf *eb)
{
    char path[BASE_PATH_BYTES];
    enum err rc = base_path_join(path, dir, "witness", eb);
    if (rc != ERR_OK)
        return rc;
    struct buf text;
    rc = base_file_read(path, FILE_BYTES_MAX, &text, eb);
    if (rc == ERR_OK && !parse(base_buf_slice(&text), out))
        rc = ERR_CORRUPT;
    if (rc == ERR_CORRUPT || rc == ERR_TOO_BIG)
        rc = base_fail(eb, ERR_CORRUPT, "%s is not a witness file; restore a backup", path);
    base_buf_fini(&text);
    return rc;
}

enum err sto_rdb_witness_write(const char *dir, const struct rdb_witness *w, struct errbuf *eb)
{
    char path[BASE_PATH_BYTES];
    enum err rc = base_path_join(path, dir, "witness", eb);
    if (rc != ERR_OK)
        return rc;
    struct buf text;
    base_buf_init(&text, FILE_BYTES_MAX);
    (void)base_buf_printf(&text, "bigtent witness 1 %s\nsequence %" PRIu64 "\n",
                          w->adopting ? "adopting" : "live", w->sequence); /* latches */
    (void)base_buf_printf(&text, "check %" PRIu64 "\n", fnv(base_buf_slice(&text)));
    rc = text.error;
    if (rc == ERR_OK)
        rc = base_file_replace(path, base_buf_slice(&text), 0600, eb);
    base_buf_fini(&text);
    return rc;
}
