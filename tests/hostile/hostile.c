/*
 * tests/hostile/hostile.c - runs attacks beside a victim and says which of them the victim felt.
 *
 * A case: setup, the victim alone (the baseline), the victim beside the attack, verify. A case that
 * is red, and one that leaves the server slow, end with a SIGKILL and a new start, so that the next
 * case meets a server that is well.
 */
#define _GNU_SOURCE
#include <check.h>
#include <getopt.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/text.h"
#include "tests/hostile/guard.h"
#include "tests/hostile/hostile.h"
#include "tests/hostile/peer.h"
#include "tests/hostile/victim.h"
#include "tests/support/scrape.h"

#include "base/banned.h"

#define RATIO_MAX    3.0
#define WORST_MAX_MS 2000.0
#define SETTLES      5
#define SHORT_TRIES  3
#define REASON       512

static const char USAGE[] =
    "usage: hostile [--short] [--case NAME] [--minutes N] [--seed N] [--seconds N]\n"
    "               [--floor-ms N] [--growth-mib N] [--list] [--serve \"OPTION VALUE ...\"]\n"
    "Runs attacks of one tenant on a bigtentd of its own, beside a victim, and fails when the\n"
    "victim's p99 is over 3 times its baseline (and over the floor), a wait is 2 s or more, one "
    "of\n"
    "its requests fails, the server ends, its memory grows beyond the limit, or a quota leaks.\n\n"
    "  --case NAME      only this case\n"
    "  --short          4 s of each case, a mixture of 20 s; default 15 s and --minutes.\n"
    "                   Red is what was so three times in a row\n"
    "  --minutes N      of the mixture; default 10\n"
    "  --seconds N      of each case\n"
    "  --seed N         of the mixture; default: the clock\n"
    "  --floor-ms N     a p99 up to this is good; default 50, with --short 250\n"
    "  --growth-mib N   resident memory beside the block cache may grow by this in a case;\n"
    "                   default 256\n"
    "  --serve OPTIONS  of `bigtentd serve`, separated by spaces; default --request-mb 128\n"
    "  --list           the cases, and what each proved\n";

struct hostile {
    struct server server;
    struct http *op;
    struct victim victim;
    const char *only;
    bool is_short;
    long minutes, seconds, floor_ms, growth_mib;
    uint64_t seed;
    unsigned red, run;
};

static const struct hostile_case *const GROUPS[] = {
    hostile_regex,   hostile_memory,  hostile_connections, hostile_growth,
    hostile_control, hostile_streams, hostile_writes,      hostile_mixture};
#define GROUP_COUNT (sizeof GROUPS / sizeof GROUPS[0])

/* --- the server --------------------------------------------------------------------------------
 */

static void server_up(void *user)
{
    struct hostile *h = user;
    bool is_new = h->server.root[0] == '\0';
    if (is_new) {
        const char *options[SERVER_OPTIONS];
        memcpy(options, h->server.options, sizeof options);
        server_create(&h->server);
        memcpy(h->server.options, options, sizeof options);
    }
    server_start(&h->server, NULL);
    h->op = http_open(&h->server, HTTP_2, h->server.operator_key);
    if (is_new)
        victim_create(&h->victim, &h->server, h->op);
}

static void server_down(void *user)
{
    struct hostile *h = user;
    http_close(h->op);
    h->op = NULL;
    server_kill(&h->server);
}

static bool server_ended(struct hostile *h, char reason[REASON])
{
    int status = 0;
    if (h->server.pid == 0 || !process_wait(h->server.pid, 0, &status))
        return false;
    (void)snprintf(reason, REASON, "the server ended: %s %d",
                   WIFEXITED(status) ? "exit code" : "signal",
                   WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    h->server.pid = 0;
    (void)close(h->server.stdout_fd);
    h->server.stdout_fd = -1;
    http_close(h->op);
    h->op = NULL;
    return true;
}

/* A line of /proc/PID/status in MiB; 0 when the process is gone. */
static uint64_t memory_mib(pid_t pid, const char *line_name)
{
    char path[64], line[256];
    uint64_t kib = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *f = fopen(path, "r");
    if (f == NULL)
        return 0;
    while (fgets(line, sizeof line, f) != NULL) {
        const char *digits = line + strcspn(line, "0123456789");
        if (strncmp(line, line_name, strlen(line_name)) == 0)
            (void)!base_parse_u64(base_slice(digits, strspn(digits, "0123456789")), &kib);
    }
    (void)fclose(f);
    return kib / 1024;
}

static uint64_t machine_mib(void)
{
    return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / MIB;
}

struct look {
    struct http *op;
    uint64_t bytes;
};

static void look_at_cache(void *user)
{
    struct look *look = user;
    http_reconnect(look->op); /* it was idle for as long as the attack */
    look->bytes = scrape_number(look->op, "bigtent_block_cache_bytes");
}

/* In MiB; 0 when no answer comes. */
static uint64_t cache_mib(struct hostile *h)
{
    struct look look = {.op = h->op};
    return guard_run(look_at_cache, &look) ? look.bytes / MIB : 0;
}

/* VmHWM counts from now on. */
static void forget_peak(pid_t pid)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/clear_refs", (int)pid);
    FILE *f = fopen(path, "w");
    if (f == NULL)
        return;
    (void)fputs("5", f);
    (void)fclose(f);
}

/* --- one case ----------------------------------------------------------------------------------
 */

struct worker {
    struct attack *attack;
    unsigned number;
    pthread_t thread;
};

static void worker_round(void *user)
{
    struct worker *w = user;
    w->attack->kind->attack(w->attack, w->number);
}

static void *worker_thread(void *user)
{
    struct worker *w = user;
    while (!attack_is_over(w->attack)) {
        if (!guard_run(worker_round, w)) {
            (void)atomic_fetch_add(&w->attack->codes[0], 1);
            attack_sleep_ms(w->attack, 100);
        }
        peers_close_all();
    }
    return NULL;
}

static void case_setup(void *user)
{
    struct attack *a = user;
    if (a->kind->setup != NULL)
        a->kind->setup(a);
    attack_limit(a);
}

struct verdict {
    struct victim_times before, during;
    uint64_t rss_before, rss_peak, cache_before, cache_after; /* MiB */
    double limit_ms;
    char reason[REASON]; /* "": green */
};

static void blame(struct verdict *v, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void blame(struct verdict *v, const char *format, ...)
{
    size_t used = strlen(v->reason);
    va_list args;
    va_start(args, format);
    if (used > 0 && used + 2 < sizeof v->reason) {
        memcpy(v->reason + used, "; ", 3);
        used += 2;
    }
    (void)vsnprintf(v->reason + used, sizeof v->reason - used, format, args);
    va_end(args);
}

static void case_judge(struct hostile *h, struct verdict *v)
{
    double limit = v->before.p99_ms * RATIO_MAX;
    v->limit_ms = limit > (double)h->floor_ms ? limit : (double)h->floor_ms;
    if (v->during.p99_ms > v->limit_ms)
        blame(v, "p99 over %.0f ms, worst of all a %s", v->limit_ms, v->during.worst_kind);
    if (v->during.worst_ms >= WORST_MAX_MS)
        blame(v, "a %s waited %.1f s", v->during.worst_kind, v->during.worst_ms / 1000);
    if (v->during.errors > 0)
        blame(v, "%zu requests of the victim failed (%s)", v->during.errors, v->during.first_error);
    uint64_t cached = v->cache_after > v->cache_before ? v->cache_after - v->cache_before : 0;
    if (v->rss_peak > v->rss_before + cached + (uint64_t)h->growth_mib)
        blame(v, "memory grew by %llu MiB beside the cache",
              (unsigned long long)(v->rss_peak - v->rss_before - cached));
    if (v->rss_peak > machine_mib() / 2)
        blame(v, "more than half of the machine's %llu MiB", (unsigned long long)machine_mib());
}

struct crew {
    struct attack *attack;
    int ms;
    struct worker workers[HOSTILE_THREADS];
};

static void crew_start(void *user)
{
    struct crew *c = user;
    c->attack->began_ns = base_monotonic_ns();
    atomic_store(&c->attack->until_ns, c->attack->began_ns + (uint64_t)c->ms * 1000000u);
    for (unsigned i = 0; i < c->attack->kind->threads; i++) {
        c->workers[i] = (struct worker){c->attack, i, 0};
        if (pthread_create(&c->workers[i].thread, NULL, worker_thread, &c->workers[i]) != 0)
            ck_abort_msg("no thread for an attack");
    }
}

static void case_measure(struct hostile *h, struct attack *a, int ms, struct verdict *v)
{
    struct crew crew = {.attack = a, .ms = ms};
    victim_run(&h->victim, h->is_short ? 1500 : 4000, NULL, NULL, &v->before);
    v->cache_before = cache_mib(h);
    v->rss_before = memory_mib(h->server.pid, "VmRSS:");
    forget_peak(h->server.pid);
    victim_run(&h->victim, ms, crew_start, &crew, &v->during);
    for (unsigned i = 0; i < a->kind->threads; i++)
        (void)pthread_join(crew.workers[i].thread, NULL);
    v->rss_peak = memory_mib(h->server.pid, "VmHWM:");
    v->cache_after = cache_mib(h);
    case_judge(h, v);
}

struct verification {
    struct attack *attack;
    bool is_good;
    char finding[HOSTILE_FINDING];
};

static void case_verify(void *user)
{
    struct verification *f = user;
    f->is_good = f->attack->kind->verify(f->attack, f->finding);
}

static void print_answers(const struct attack *a)
{
    (void)printf("    attacker:");
    for (int i = 0; i < HOSTILE_CODES; i++)
        if (atomic_load(&a->codes[i]) > 0)
            (void)printf(" %s %d x%llu", i == 0 ? "broken" : "HTTP", i,
                         (unsigned long long)atomic_load(&a->codes[i]));
    for (int i = 0; i < HOSTILE_STATUSES; i++)
        if (atomic_load(&a->statuses[i]) > 0)
            (void)printf(" gRPC %d x%llu", i, (unsigned long long)atomic_load(&a->statuses[i]));
    (void)printf("%s%s\n", a->refusal[0] != '\0' ? "; gRPC says " : "", a->refusal);
}

static void case_print(const struct attack *a, const struct verdict *v)
{
    (void)printf("%-22s %7.1f %7.1f %8.1f %7.1f %7.1f %8.1f %6.1f %5zu %5llu %5llu  %s\n",
                 a->kind->name, v->before.p50_ms, v->before.p99_ms, v->before.worst_ms,
                 v->during.p50_ms, v->during.p99_ms, v->during.worst_ms,
                 v->before.p99_ms > 0 ? v->during.p99_ms / v->before.p99_ms : 0, v->during.errors,
                 (unsigned long long)v->rss_before, (unsigned long long)v->rss_peak,
                 v->reason[0] == '\0' ? "green" : "RED");
    print_answers(a);
    if (v->reason[0] != '\0')
        (void)printf("    red: %s\n", v->reason);
    (void)fflush(stdout);
}

/* Whether the victim is served as before within some seconds. */
static bool case_settles(struct hostile *h, const struct verdict *v)
{
    struct victim_times after;
    for (int i = 0; i < SETTLES; i++) {
        victim_run(&h->victim, 500, NULL, NULL, &after);
        if (after.errors == 0 && after.p99_ms <= v->limit_ms)
            return true;
    }
    return false;
}

/* Whether it was green. */
static bool case_run(struct hostile *h, const struct hostile_case *kind, int ms)
{
    struct verdict v = {0};
    struct attack *a = base_new(sizeof *a);
    if (h->server.pid == 0)
        server_up(h);
    a->kind = kind;
    a->server = &h->server;
    a->op = h->op;
    a->is_short = h->is_short;
    a->seed = h->seed;
    struct verification f = {.attack = a, .is_good = true};
    if (!guard_run(case_setup, a)) {
        blame(&v, "setup failed: %s", guard_text());
    } else {
        case_measure(h, a, ms, &v);
        char ended[REASON] = "";
        if (server_ended(h, ended))
            blame(&v, "%s", ended);
        else if (kind->verify != NULL && !guard_run(case_verify, &f))
            blame(&v, "verify failed: %s", guard_text());
        if (!f.is_good)
            blame(&v, "%s", f.finding);
        if (kind->teardown != NULL)
            kind->teardown(a);
    }
    attack_fini(a);
    case_print(a, &v);
    if (h->server.pid != 0 && (v.reason[0] != '\0' || !case_settles(h, &v)))
        (void)guard_run(server_down, h);
    base_free(a);
    return v.reason[0] == '\0';
}

/* With --short a red one is tried again: its few seconds may be those of a machine that was busy
 * with something else, and what a server does not bear it does not bear twice. */
static void case_try(struct hostile *h, const struct hostile_case *kind, int ms)
{
    bool is_green = false;
    for (int tries = 0; tries < (h->is_short ? SHORT_TRIES : 1) && !is_green; tries++)
        is_green = case_run(h, kind, ms);
    h->run++;
    h->red += !is_green;
}

/* --- all ---------------------------------------------------------------------------------------
 */

static int run_all(struct hostile *h)
{
    (void)printf("seed %llu; ms; floor %ld ms, memory may grow by %ld MiB\n",
                 (unsigned long long)h->seed, h->floor_ms, h->growth_mib);
    (void)printf("%-22s %24s %24s %6s %5s %11s\n", "", "alone: p50 p99 worst",
                 "attacked: p50 p99 worst", "ratio", "fail", "MiB peak");
    for (size_t g = 0; g < GROUP_COUNT; g++) {
        for (const struct hostile_case *c = GROUPS[g]; c->name != NULL; c++) {
            if (h->only != NULL && strcmp(h->only, c->name) != 0)
                continue;
            long seconds = h->seconds;
            if (GROUPS[g] == hostile_mixture)
                seconds = h->is_short ? 20 : h->minutes * 60;
            case_try(h, c, (int)seconds * 1000);
        }
    }
    if (h->server.pid != 0)
        (void)guard_run(server_down, h);
    if (h->server.root[0] != '\0')
        server_remove(&h->server);
    (void)printf("%u cases, %u red\n", h->run, h->red);
    if (h->run == 0)
        (void)fprintf(stderr, "hostile: no case is named \"%s\"; --list shows them\n", h->only);
    return h->run == 0 ? 2 : h->red > 0;
}

static void list_cases(void)
{
    for (size_t g = 0; g < GROUP_COUNT; g++)
        for (const struct hostile_case *c = GROUPS[g]; c->name != NULL; c++)
            (void)printf("%-22s %s\n", c->name, c->proved);
}

static long number_option(const char *name, const char *text)
{
    uint64_t n = 0;
    if (base_parse_u64(base_slice_text(text), &n) == ERR_OK && n > 0 && n <= 1000000000)
        return (long)n;
    (void)fprintf(stderr, "hostile: --%s takes a number from 1 to 1000000000, not \"%s\"\n", name,
                  text);
    exit(2);
}

static void serve_options(struct server *s, char *text)
{
    size_t count = 0;
    char *rest = text;
    for (char *word; (word = strsep(&rest, " ")) != NULL;) {
        if (*word == '\0')
            continue;
        if (count == SERVER_OPTIONS) {
            (void)fprintf(stderr, "hostile: --serve takes at most %d words\n", SERVER_OPTIONS);
            exit(2);
        }
        s->options[count++] = word;
    }
}

int main(int argc, char **argv)
{
    static const struct option OPTIONS[] = {{"short", no_argument, NULL, 'q'},
                                            {"case", required_argument, NULL, 'c'},
                                            {"minutes", required_argument, NULL, 'm'},
                                            {"seconds", required_argument, NULL, 's'},
                                            {"seed", required_argument, NULL, 'r'},
                                            {"floor-ms", required_argument, NULL, 'f'},
                                            {"growth-mib", required_argument, NULL, 'g'},
                                            {"serve", required_argument, NULL, 'o'},
                                            {"list", no_argument, NULL, 'l'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    static struct hostile h;
    int option, at;
    h.minutes = 10;
    h.growth_mib = 256;
    h.seed = (uint64_t)base_wall_us() % 1000000000;
    while ((option = getopt_long(argc, argv, "", OPTIONS, &at)) != -1) {
        if (option == 'q')
            h.is_short = true;
        else if (option == 'c')
            h.only = optarg;
        else if (option == 'm')
            h.minutes = number_option("minutes", optarg);
        else if (option == 's')
            h.seconds = number_option("seconds", optarg);
        else if (option == 'r')
            h.seed = (uint64_t)number_option("seed", optarg);
        else if (option == 'f')
            h.floor_ms = number_option("floor-ms", optarg);
        else if (option == 'g')
            h.growth_mib = number_option("growth-mib", optarg);
        else if (option == 'o')
            serve_options(&h.server, optarg);
        else if (option == 'l')
            return list_cases(), 0;
        else
            return (void)fputs(USAGE, option == 'h' ? stdout : stderr), option == 'h' ? 0 : 2;
    }
    if (h.server.options[0] == NULL) {
        h.server.options[0] =
            "--request-mb"; /* so that one tenant's share of it is told from none */
        h.server.options[1] = "128";
    }
    if (h.seconds == 0)
        h.seconds = h.is_short ? 4 : 15;
    if (h.floor_ms == 0)
        h.floor_ms = h.is_short ? 250 : 50;
    json_set_alloc_funcs(base_try_alloc, base_free);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    return run_all(&h);
}
