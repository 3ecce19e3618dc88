/*
 * gateway/read_database.c - bigtentd read-database: a foreign RocksDB database to standard output.
 *
 * bigtent move-in starts this command, because bigtent itself does not link RocksDB. Errors are
 * reported in the stream, where the reader expects them, and on stderr for people.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/pair_stream.h"
#include "gateway/command.h"
#include "storage/rocksdb/foreign.h"

#include "base/banned.h"

#define OUT_BYTES  (1024 * 1024)
#define AFTER_MAX  (16UL * 1024 * 1024)
#define AFTER_STEP 4096UL

/* A key is the customer's: it is not passed on the command line, which other users can see. */
enum { COLUMN_FAMILY = GW_OPTION_FIRST, AFTER };

static const struct option OPTIONS[] = {
    {"column-family", required_argument, NULL, COLUMN_FAMILY},
    {"after", no_argument, NULL, AFTER},
    {NULL, 0, NULL, 0},
};

struct request {
    const char *dir;
    const char *family;
    bool is_after;
    struct buf after;
};

struct writing {
    struct errbuf *eb;
    uint64_t pairs;
};

/* --- writing ---------------------------------------------------------------------------------- */

static enum err put(const void *bytes, size_t len, struct errbuf *eb)
{
    if (fwrite(bytes, 1, len, stdout) == len)
        return ERR_OK;
    return base_fail(eb, ERR_IO, "cannot write to standard output: %s", strerror(errno));
}

static enum err put_lengths(uint32_t first, uint32_t second, struct errbuf *eb)
{
    uint8_t lengths[BASE_PAIRS_HEAD_BYTES];
    base_pairs_put_u32(lengths, first);
    base_pairs_put_u32(lengths + 4, second);
    return put(lengths, sizeof lengths, eb);
}

static enum err put_about(const struct sto_foreign *f, struct errbuf *eb)
{
    uint8_t about[BASE_PAIRS_ABOUT_BYTES];
    base_pairs_put_u64(about, sto_foreign_sequence(f));
    base_pairs_put_u64(about + 8, sto_foreign_bytes(f));
    enum err rc = put_lengths(BASE_PAIRS_ABOUT, sizeof about, eb);
    return rc == ERR_OK ? put(about, sizeof about, eb) : rc;
}

static enum err put_pair(void *ctx, struct slice key, struct slice value)
{
    struct writing *w = ctx;
    if (key.len >= BASE_PAIRS_ABOUT || value.len > UINT32_MAX)
        return base_fail(w->eb, ERR_TOO_BIG, "a key or value has more than 4 GiB");
    enum err rc = put_lengths((uint32_t)key.len, (uint32_t)value.len, w->eb);
    if (rc == ERR_OK)
        rc = put(key.ptr, key.len, w->eb);
    if (rc == ERR_OK)
        rc = put(value.ptr, value.len, w->eb);
    w->pairs++;
    return rc;
}

static enum err put_end(uint64_t pairs, struct errbuf *eb)
{
    uint8_t count[BASE_PAIRS_END_BYTES];
    base_pairs_put_u64(count, pairs);
    enum err rc = put_lengths(BASE_PAIRS_END, sizeof count, eb);
    if (rc == ERR_OK)
        rc = put(count, sizeof count, eb);
    if (rc == ERR_OK && fflush(stdout) != 0)
        rc = base_fail(eb, ERR_IO, "cannot write to standard output: %s", strerror(errno));
    return rc;
}

/* Writes a failure to the stream. If the reader is gone, nothing can be reported. */
static void put_failure(const struct errbuf *eb)
{
    struct errbuf ignored = {0};
    size_t len = strlen(eb->text);
    if (put_lengths(BASE_PAIRS_FAILED, (uint32_t)len, &ignored) == ERR_OK &&
        put(eb->text, len, &ignored) == ERR_OK)
        (void)fflush(stdout);
}

/* --- the command ------------------------------------------------------------------------------ */

/* Reads all of standard input. */
static enum err read_after(struct buf *out, struct errbuf *eb)
{
    while (base_buf_reserve(out, AFTER_STEP) == ERR_OK) {
        size_t n = fread(base_buf_end(out), 1, AFTER_STEP, stdin);
        out->len += n;
        if (n < AFTER_STEP)
            return ferror(stdin) == 0
                       ? ERR_OK
                       : base_fail(eb, ERR_IO, "cannot read standard input: %s", strerror(errno));
    }
    return base_fail(eb, ERR_TOO_BIG, "the key in standard input is too long");
}

static enum err stream(struct request *q, struct errbuf *eb)
{
    struct sto_foreign *f = NULL;
    struct writing w = {.eb = eb};
    enum err rc = put(BASE_PAIRS_MAGIC, BASE_PAIRS_MAGIC_LEN, eb);
    if (rc == ERR_OK && q->is_after)
        rc = read_after(&q->after, eb);
    if (rc == ERR_OK)
        rc = sto_foreign_open(q->dir, q->family, &f, eb);
    if (rc == ERR_OK)
        rc = put_about(f, eb);
    if (rc == ERR_OK)
        rc = sto_foreign_read(f, q->is_after, base_buf_slice(&q->after), put_pair, &w, eb);
    if (rc == ERR_OK)
        rc = put_end(w.pairs, eb);
    if (rc != ERR_OK)
        put_failure(eb);
    sto_foreign_close(f);
    return rc;
}

static int parse(int argc, char **argv, struct request *q)
{
    struct gw_options given = {.argc = argc, .argv = argv, .table = OPTIONS};
    int option;
    while ((option = gw_options_next(&given)) != -1) {
        if (option == COLUMN_FAMILY)
            q->family = optarg;
        else if (option == AFTER)
            q->is_after = true;
        else
            return GW_EXIT_USAGE;
    }
    if (optind + 1 != argc)
        return gw_command_usage("read-database needs one directory");
    q->dir = argv[optind];
    return GW_EXIT_OK;
}

int gw_command_read_database(int argc, char **argv)
{
    struct request q = {.family = "default"};
    struct errbuf eb = {{0}};
    base_buf_init(&q.after, AFTER_MAX);
    int exit_code = parse(argc, argv, &q);
    if (exit_code == GW_EXIT_OK) {
        char *buffer = base_new(OUT_BYTES);
        (void)setvbuf(stdout, buffer, _IOFBF, OUT_BYTES); /* works without it, but slower */
        enum err rc = stream(&q, &eb);
        if (rc != ERR_OK)
            exit_code = gw_command_failed(rc, &eb);
        (void)fflush(stdout); /* the end of the stream was flushed, or does not exist */
        (void)setvbuf(stdout, NULL, _IONBF, 0);
        base_free(buffer);
    }
    base_buf_fini(&q.after);
    return exit_code;
}
