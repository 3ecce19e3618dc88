/*
 * tests/cli/test_top_screen.c - the screen of bigtent top: keys, windows of all sizes, servers that
 * go, keys that are revoked, and a terminal that is given back.
 */
#define _GNU_SOURCE
#include "tests/cli/session.h"

#include <termios.h>

#include "base/text.h"

#include "base/banned.h"

#define ENTER "\033[?1049h"
#define LEAVE "\033[?25h\033[?1049l"
#define HOME  "\033[H"
#define READY "q ends, space pauses" /* on a page that is neither stale nor paused */

static struct server own;
static int terminal_fd; /* stays when the program is gone */

static void set_up(void)
{
    session_set_up();
    (void)setenv("TERM", "xterm", 1); /* cannot fail but for memory */
}

static void set_up_own(void)
{
    server_create(&own);
    server_start(&own, NULL);
    world_init_on(&w, &own, HTTP_2, "loner");
    (void)snprintf(url, sizeof url, "https://127.0.0.1:%u", own.port);
    op = (struct setup){.url = url, .key = own.operator_key, .cacert = own.ca};
    (void)setenv("TERM", "xterm", 1); /* cannot fail but for memory */
}

static void tear_down_own(void)
{
    world_fini(&w);
    server_remove(&own);
}

static void start_screen(struct setup *s, const char *const *args)
{
    s->terminal = true;
    run_start(&r, s, args);
    terminal_fd = fcntl(r.out_fd, F_DUPFD_CLOEXEC, 0);
    ck_assert_int_ge(terminal_fd, 0);
    run_read(&r, READY);
    run_read(&r, "\033[J");
}

#define START(s, ...) start_screen((s), (const char *const[]){"top", __VA_ARGS__, NULL})

static void forget(void)
{
    r.out_len = 0;
    r.out[0] = '\0';
}

static void type(const char *keys)
{
    ck_assert_int_eq(write(terminal_fd, keys, strlen(keys)), (ssize_t)strlen(keys));
}

/* Only what is drawn from now on counts. */
static void type_and_read(const char *keys, const char *until)
{
    forget();
    type(keys);
    run_read(&r, until);
}

/* The last whole page. */
static const char *last_page(void)
{
    static char page[65536];
    char *at = NULL;
    const char *begin = NULL;
    const char *end = NULL;
    for (at = r.out; (at = strstr(at, HOME)) != NULL; at++) {
        const char *ends = strstr(at, "\033[J");
        if (ends == NULL)
            break;
        begin = at + strlen(HOME);
        end = ends;
    }
    ck_assert_ptr_nonnull(begin);
    ck_assert_uint_lt((size_t)(end - begin), sizeof page);
    (void)snprintf(page, sizeof page, "%.*s", (int)(end - begin), begin);
    return page;
}

/* A page that is drawn from now on. */
static void read_page(void)
{
    forget();
    const char *begin = NULL;
    while ((begin = strstr(r.out, HOME)) == NULL || strstr(begin, "\033[J") == NULL)
        ck_assert_msg(take_output(r.out_fd, r.out, &r.out_len), "it ended: %s", r.out);
}

static void expect_given_back(void)
{
    char name[64];
    struct termios fresh;
    struct termios now;
    int other = open_terminal(name);
    ck_assert_int_eq(tcgetattr(other, &fresh), 0);
    ck_assert_int_eq(tcgetattr(terminal_fd, &now), 0);
    ck_assert_uint_eq(now.c_lflag, fresh.c_lflag);
    ck_assert_uint_eq(now.c_iflag, fresh.c_iflag);
    ck_assert_uint_eq(now.c_oflag, fresh.c_oflag);
    ck_assert_mem_eq(now.c_cc, fresh.c_cc, sizeof now.c_cc);
    const char *leave = strstr(r.out, LEAVE);
    ck_assert_msg(leave != NULL, "%s", r.out);
    EXPECT_NOT_IN(leave, HOME);
    EXPECT_NOT_IN(leave, ENTER);
    (void)close(other);
}

static void finish(int code)
{
    run_finish(&r);
    EXPECT_CODE(&r, code);
    expect_given_back();
    (void)close(terminal_fd);
}

START_TEST(screen_shows_what_is_done_and_q_ends_it)
{
    op.columns = 140;
    START(&op, "--interval", "1");
    ck_assert(memcmp(r.out, ENTER, strlen(ENTER)) == 0);
    EXPECT_IN(r.out, "  bigtentd " BIGTENT_VERSION " up 00:0");
    EXPECT_IN(r.out, "bigtent top by ops  ");
    struct termios modes;
    ck_assert_int_eq(tcgetattr(terminal_fd, &modes), 0);
    ck_assert_uint_eq(modes.c_lflag & (tcflag_t)(ICANON | ECHO), 0);
    do {
        tenant_put(w.http, "devices", "r", "stats", "q", "v");
        read_page();
    } while (strstr(last_page(), w.tenant) == NULL);
    EXPECT_IN(last_page(), "TENANT");
    EXPECT_IN(last_page(), " active  ");
    EXPECT_IN(last_page(), "WRITES/S");
    EXPECT_IN(last_page(), " B           1\033");
    type("q");
    finish(0);
}
END_TEST

/* Seconds that the page says its figures are old; 0: none. */
static uint64_t paused_for(const char *page)
{
    uint64_t seconds = 0;
    const char *at = strstr(page, "PAUSED, ");
    if (at == NULL)
        return 0;
    at += strlen("PAUSED, ");
    if (base_parse_u64(base_slice(at, strspn(at, "0123456789")), &seconds) != ERR_OK)
        return 0;
    return seconds;
}

/* Everything that is no key of ours is ignored, also what cursor keys send. */
START_TEST(keys_order_pause_and_go_on)
{
    START(&op, "--interval", "1");
    type_and_read("b", "by bytes  ");
    type_and_read("t", "by throttled  ");
    type_and_read("l", "by latency  ");
    type("\033Ob"); /* F-keys and the like, with our letters in them */
    read_page();
    EXPECT_IN(last_page(), "by latency  ");
    type_and_read("o", "by ops  ");
    type_and_read(" ", "PAUSED, ");
    do
        read_page();
    while (paused_for(last_page()) < 2); /* seconds, the page of any of which may be passed over */
    EXPECT_NOT_IN(last_page(), READY);
    type_and_read("b", "by bytes  ");
    read_page();
    EXPECT_IN(last_page(), "PAUSED, ");
    type_and_read(" ", READY);
    type_and_read("xq", LEAVE);
    finish(0);
}
END_TEST

static bool is_before(const char *page, const char *first, const char *second)
{
    const char *a = strstr(page, first);
    const char *b = strstr(page, second);
    return a != NULL && b != NULL && a < b;
}

/* One tenant does much that is small, another one little that is large. */
START_TEST(order_keys_change_who_is_first)
{
    static char value[200001];
    char body[64];
    struct world other;
    memset(value, 'v', sizeof value - 1);
    (void)snprintf(body, sizeof body, "%s", w.tenant);
    world_init(&other, HTTP_2);
    START(&op, "--interval", "1");
    static const char *const keys[] = {"o", "b", "o"};
    for (size_t i = 0; i < 3; i++) {
        bool is_ops = keys[i][0] == 'o';
        bool seen = false;
        for (int tries = 0; tries < 20 * process_patience() && !seen; tries++) {
            tenant_put(other.http, "devices", "large", "stats", "q", value);
            for (int n = 0; n < 30; n++)
                tenant_put(w.http, "devices", "small", "stats", "q", "v");
            type_and_read(keys[i], is_ops ? "by ops  " : "by bytes  ");
            read_page();
            seen = is_ops ? is_before(last_page(), w.tenant, other.tenant)
                          : is_before(last_page(), other.tenant, w.tenant);
        }
        ck_assert_msg(seen, "key %s: %s", keys[i], last_page());
    }
    type("q");
    finish(0);
    world_fini(&other);
}
END_TEST

START_TEST(signals_end_it_and_the_terminal_is_given_back)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGINT, SIGQUIT};
    START(&op, "--interval", "1h");
    if (_i == 3)
        type("\003"); /* Ctrl-C */
    else if (_i == 4)
        type("\034"); /* Ctrl-\ */
    else
        (void)kill(r.pid, numbers[_i]);
    finish(128 + numbers[_i]);
}
END_TEST

/* Nobody reads what it draws: the first signal finds it in a write, and leaves it there. */
START_TEST(second_signal_ends_what_is_stuck_and_gives_back_too)
{
    START(&op, "--interval", "1h");
    for (int i = 0; i < 200; i++) {
        type("o");
        process_sleep_ms(2);
    }
    process_sleep_ms(500);
    int status = 0;
    (void)kill(r.pid, SIGTERM);
    if (!process_wait(r.pid, 300, &status)) { /* as nearly always: it is still there */
        (void)kill(r.pid, SIGTERM);
        ck_assert(process_wait(r.pid, 60000 * process_patience(), &status));
    }
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    struct termios modes;
    ck_assert_int_eq(tcgetattr(terminal_fd, &modes), 0);
    ck_assert_uint_ne(modes.c_lflag & (tcflag_t)ICANON, 0);
    (void)close(terminal_fd);
}
END_TEST

/* Where jobs cannot be stopped, as here, it goes on at once. */
START_TEST(suspend_key_gives_the_terminal_back_meanwhile)
{
    START(&op, "--interval", "1h");
    type_and_read("\032", ENTER);
    const char *leave = strstr(r.out, LEAVE);
    ck_assert_ptr_nonnull(leave);
    EXPECT_IN(leave, ENTER);
    run_read(&r, READY);
    forget();
    type("q");
    finish(0);
}
END_TEST

static size_t widest_line(const char *page)
{
    size_t widest = 0;
    for (const char *line = page; line != NULL; line = strstr(line, "\r\n")) {
        line += *line == '\r' ? 2 : 0;
        size_t len = strcspn(line, "\033\r");
        widest = len > widest ? len : widest;
    }
    return widest;
}

START_TEST(columns_are_those_that_fit_the_window)
{
    op.columns = 40;
    START(&op, "--interval", "1");
    EXPECT_IN(last_page(), "TENANT");
    EXPECT_IN(last_page(), "WRITES/S");
    EXPECT_NOT_IN(last_page(), "THROTTLED ");
    EXPECT_NOT_IN(last_page(), "ROWS");
    ck_assert_uint_le(widest_line(last_page()), 39);
    type_and_read("b", "by bytes");
    read_page();
    EXPECT_IN(last_page(), "OUT/S");
    EXPECT_NOT_IN(last_page(), "WRITES/S");
    forget();
    const struct winsize wide = {.ws_row = 24, .ws_col = 140};
    ck_assert_int_eq(ioctl(terminal_fd, TIOCSWINSZ, &wide), 0);
    run_read(&r, "ROWS");
    read_page();
    EXPECT_IN(last_page(), "THROTTLED");
    const struct winsize tiny = {.ws_row = 2, .ws_col = 9};
    ck_assert_int_eq(ioctl(terminal_fd, TIOCSWINSZ, &tiny), 0);
    do {
        read_page();
    } while (strncmp(last_page(), "bigtent \033[K", 11) != 0);
    ck_assert_uint_le(widest_line(last_page()), 8);
    EXPECT_NOT_IN(last_page(), "TENANT");
    type("q");
    finish(0);
}
END_TEST

START_TEST(no_keys_are_read_from_what_is_no_terminal)
{
    int ends[2];
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    ck_assert_int_eq(write(ends[1], "qqqq", 4), 4);
    op.input_fd = ends[0];
    START(&op, "--interval", "1");
    forget();
    run_read(&r, READY);
    (void)kill(r.pid, SIGTERM);
    finish(128 + SIGTERM);
    (void)close(ends[1]);
}
END_TEST

START_TEST(revoked_key_ends_the_screen_with_the_reason)
{
    char key[WORLD_KEY];
    char id[WORLD_ID];
    admin_create_global_key(w.op, "operator", key, id);
    struct setup watcher = op;
    watcher.key = key;
    START(&watcher, "--interval", "1");
    ck_assert_int_eq(http_delete(w.op, "/v1/admin/keys/%s", id) / 100, 2);
    finish(1);
    EXPECT_IN(strstr(r.out, LEAVE), "bigtent: Authentication required: ");
}
END_TEST

START_TEST(server_that_is_gone_leaves_its_figures_until_it_is_back)
{
    char listen[64];
    START(&op, "--interval", "1");
    tenant_put(w.http, "devices", "r", "stats", "q", "v");
    forget();
    run_read(&r, "loner");
    server_kill(&own);
    forget();
    run_read(&r, "STALE, ");
    run_read(&r, "s old: cannot reach https://127.0.0.1:");
    read_page();
    EXPECT_IN(last_page(), "STALE, ");
    EXPECT_IN(last_page(), "loner");
    EXPECT_NOT_IN(r.out, "bigtent: ");
    (void)snprintf(listen, sizeof listen, "127.0.0.1:%u", own.port);
    own.options[0] = "--listen";
    own.options[1] = listen;
    server_start(&own, NULL);
    forget();
    run_read(&r, READY);
    server_kill(&own);
    forget();
    run_read(&r, "STALE, ");
    type("q");
    finish(0);
    EXPECT_NOT_IN(strstr(r.out, LEAVE), "bigtent: ");
}
END_TEST

Suite *suite_cli_top_screen(void);

Suite *suite_cli_top_screen(void)
{
    Suite *s = suite_create("cli_top_screen");
    TCase *t = session_tcase("screen", set_up);
    tcase_add_test(t, screen_shows_what_is_done_and_q_ends_it);
    tcase_add_test(t, keys_order_pause_and_go_on);
    tcase_add_test(t, order_keys_change_who_is_first);
    tcase_add_loop_test(t, signals_end_it_and_the_terminal_is_given_back, 0, 5);
    tcase_add_test(t, second_signal_ends_what_is_stuck_and_gives_back_too);
    tcase_add_test(t, suspend_key_gives_the_terminal_back_meanwhile);
    tcase_add_test(t, columns_are_those_that_fit_the_window);
    tcase_add_test(t, no_keys_are_read_from_what_is_no_terminal);
    tcase_add_test(t, revoked_key_ends_the_screen_with_the_reason);
    world_end(t);
    suite_add_tcase(s, t);
    TCase *going = tcase_create("going");
    tcase_set_timeout(going, 600);
    tcase_add_checked_fixture(going, set_up_own, tear_down_own);
    tcase_add_test(going, server_that_is_gone_leaves_its_figures_until_it_is_back);
    suite_add_tcase(s, going);
    return s;
}
