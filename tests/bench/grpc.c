/*
 * tests/bench/grpc.c - load on a server of Bigtable's protocol: bench grpc ... prints rows_per_s.
 *
 * One thread drives all connections by epoll's edges. A table of its own is made and filled first,
 * every row of it looked at, then the mode runs: a second unmeasured, the given ones measured, and
 * until everything under way is answered. Any status but OK ends the program; so does an answer
 * shorter than its rows.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/limits.h"
#include "tests/bench/bench.h"
#include "tests/bench/grpc_message.h"
#include "tests/bench/h2_client.h"
#include "tests/support/random.h"

#include "base/banned.h"

#define DATA_SERVICE     "/google.bigtable.v2.Bigtable/"
#define ADMIN_SERVICE    "/google.bigtable.admin.v2.BigtableTableAdmin/"
#define EVENTS           64
#define QUIET_MS         30000 /* without any event: something hangs */
#define FILL_CONNECTIONS 4
#define FILL_STREAMS     32
#define NS_PER_S         1000000000ULL
#define WARM_UP_S        1
#define CONNECTIONS_MAX  1024
#define STREAMS_MAX      100 /* what servers allow at least */

/* The same call, over and over. */
struct load {
    const char *path;
    struct grpc_message message;
    size_t connections;
    size_t streams;
    uint64_t rows;     /* in the table */
    uint64_t per_call; /* rows that an answer is about */
    size_t least_bytes;
    bool in_order; /* row by row, to the end of the table; else random rows until end_ns */
    bool keeps;    /* and looks at them: a scan */
    uint64_t begin_ns;
    uint64_t end_ns;
    uint64_t asked;
    uint64_t answered;
    uint64_t measured;
    struct random dice;
};

static void ask(struct load *l, struct h2_client *c)
{
    if (l->in_order ? l->asked * l->per_call >= l->rows : base_monotonic_ns() >= l->end_ns)
        return;
    grpc_set_row(&l->message, l->in_order ? l->asked : random_below(&l->dice, (uint32_t)l->rows));
    l->asked++;
    h2_request(c, base_buf_slice(&l->message.bytes));
}

static void answered(struct h2_client *c, const struct h2_answer *answer, void *user)
{
    struct load *l = user;
    uint64_t now_ns = base_monotonic_ns();
    l->answered++;
    if (answer->bytes < l->least_bytes)
        bench_fail("an answer of %zu bytes, not %zu or more", answer->bytes, l->least_bytes);
    if (l->keeps)
        grpc_check_rows(base_buf_slice(&answer->kept), 0, l->rows);
    if (now_ns >= l->begin_ns && now_ns < l->end_ns)
        l->measured++;
    ask(l, c);
}

static void drive(struct load *l, int poll)
{
    while (l->answered < l->asked) {
        struct epoll_event events[EVENTS];
        int n = epoll_wait(poll, events, EVENTS, QUIET_MS);
        if (n == 0 || (n < 0 && errno != EINTR))
            bench_fail("%s: nothing comes any more", l->path);
        for (int i = 0; i < n; i++)
            h2_ready(events[i].data.ptr);
    }
}

/* Run it to its end, on connections of its own. */
static void run(struct load *l, const struct h2_target *target)
{
    int poll = epoll_create1(EPOLL_CLOEXEC);
    struct h2_client **all = base_new_array(l->connections, sizeof(struct h2_client *));
    if (poll < 0)
        bench_fail("no epoll");
    for (size_t i = 0; i < l->connections; i++) {
        all[i] = h2_open(target, l->path, l->streams, answered, l);
        struct epoll_event want = {EPOLLIN | EPOLLOUT | EPOLLET, {.ptr = all[i]}};
        if (epoll_ctl(poll, EPOLL_CTL_ADD, h2_fd(all[i]), &want) != 0)
            bench_fail("a connection cannot be watched");
        if (l->keeps)
            h2_keep_answers(all[i]);
    }
    for (size_t i = 0; i < l->streams; i++)
        for (size_t k = 0; k < l->connections; k++)
            ask(l, all[k]);
    drive(l, poll); /* the first edge of each says that it can be written */
    for (size_t i = 0; i < l->connections; i++)
        h2_close(all[i]);
    base_free(all);
    (void)close(poll); /* nothing is in it */
    grpc_message_fini(&l->message);
}

/* --- the table ----------------------------------------------------------------------------------
 */

static void call_once(const struct h2_target *target, const char *path, struct grpc_message message)
{
    struct load once = {.path = path, .message = message, .connections = 1, .streams = 1};
    once.in_order = true;
    once.rows = once.per_call = 1;
    run(&once, target);
}

static void make_table(const struct h2_target *target, const char *parent, const char *id,
                       const char *table, uint64_t rows)
{
    struct grpc_message create;
    grpc_create_table(&create, parent, id);
    call_once(target, ADMIN_SERVICE "CreateTable", create);
    struct load fill = {.path = DATA_SERVICE "MutateRow", .rows = rows, .per_call = 1};
    fill.connections = FILL_CONNECTIONS;
    fill.streams = FILL_STREAMS;
    fill.in_order = true;
    grpc_mutate_row(&fill.message, table);
    run(&fill, target);
    struct load look = {.path = DATA_SERVICE "ReadRows", .rows = rows, .per_call = rows};
    look.connections = look.streams = 1;
    look.in_order = look.keeps = true;
    grpc_scan(&look.message, table);
    run(&look, target);
}

static void drop_table(const struct h2_target *target, const char *table)
{
    struct grpc_message drop;
    grpc_delete_table(&drop, table);
    call_once(target, ADMIN_SERVICE "DeleteTable", drop);
}

/* --- modes --------------------------------------------------------------------------------------
 */

static void set_mode(struct load *l, const char *mode, const char *table)
{
    l->per_call = 1;
    l->path = DATA_SERVICE "ReadRows";
    if (strcmp(mode, "read") == 0) {
        l->least_bytes = GRPC_VALUE_BYTES;
        grpc_read_row(&l->message, table);
    } else if (strcmp(mode, "write") == 0) {
        l->path = DATA_SERVICE "MutateRow";
        grpc_mutate_row(&l->message, table);
    } else if (strcmp(mode, "scan") == 0) {
        l->per_call = l->rows;
        l->least_bytes = l->rows * GRPC_VALUE_BYTES;
        grpc_scan(&l->message, table);
    } else {
        bench_fail("MODE is read, write or scan");
    }
}

static void measure(const struct h2_target *target, struct load *l, uint64_t seconds)
{
    l->dice = (struct random){1};
    l->begin_ns = base_monotonic_ns() + WARM_UP_S * NS_PER_S;
    l->end_ns = l->begin_ns + seconds * NS_PER_S;
    run(l, target);
    (void)printf("rows_per_s %.0f\n", (double)(l->measured * l->per_call) / (double)seconds);
}

int bench_grpc(int argc, char **argv)
{
    char id[32];
    char table[128];
    if (argc != 9)
        bench_fail("usage: bench grpc ADDRESS CA KEY PARENT read|write|scan CONNECTIONS STREAMS "
                   "SECONDS ROWS (CA and KEY of a server in plaintext: -)");
    bool is_plain = strcmp(argv[1], "-") == 0;
    struct h2_target target = {{argv[0], is_plain ? NULL : argv[1]}, is_plain ? NULL : argv[2]};
    struct load l = {.connections = bench_number(argv[5]), .streams = bench_number(argv[6])};
    l.rows = bench_number(argv[8]);
    if (l.connections == 0 || l.connections > CONNECTIONS_MAX || l.streams == 0 ||
        l.streams > STREAMS_MAX || l.rows == 0 || l.rows > UINT32_MAX)
        bench_fail("1..%d connections, 1..%d streams, 1..%u rows", CONNECTIONS_MAX, STREAMS_MAX,
                   UINT32_MAX);
    (void)snprintf(id, sizeof id, "bench-%llx", (unsigned long long)base_wall_us()); /* fits */
    int len = snprintf(table, sizeof table, "%s/tables/%s", argv[3], id);
    if (len < 0 || (size_t)len >= sizeof table)
        bench_fail("PARENT is too long");
    set_mode(&l, argv[4], table);
    make_table(&target, argv[3], id, table, l.rows);
    measure(&target, &l, bench_number(argv[7]));
    drop_table(&target, table);
    return EXIT_SUCCESS;
}
