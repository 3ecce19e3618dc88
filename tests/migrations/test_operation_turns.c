/*
 * tests/migrations/test_operation_turns.c - which operation on backups is next: tenants and
 * operators in turn, each with places of their own.
 */
#include "tests/migrations/workshop.h"

#include "base/banned.h"

Suite *suite_migrations_operation_turns(void);

#define ROWS    50
#define IN_TURN 6

static struct shop_ask create(const char *tenant, const char *name)
{
    return (struct shop_ask){
        .what = SHOP_CREATE, .tenant = tenant, .name = name, .table = "devices"};
}

struct turns {
    struct shop_ask asks[IN_TURN];
    size_t ended[IN_TURN]; /* indexes of asks, in the order in which they ended */
    _Atomic size_t count;
};
static struct turns turns;

static void note_end(const struct mig_operation *op)
{
    size_t at = 0, count = atomic_load(&turns.count);
    while (at < IN_TURN && strcmp(turns.asks[at].id, op->id) != 0)
        at++;
    if (count < IN_TURN)
        turns.ended[count] = at;
    atomic_store(&turns.count, count + 1);
}

static void setup_turns(void)
{
    memset(&turns, 0, sizeof turns);
    shop_ended = note_end;
    shop_setup();
}

static void teardown_turns(void)
{
    shop_teardown();
    shop_ended = NULL;
}

/* Operations of one tenant, and then one of another and two of operators for the first. */
static void ask_turns(struct tent *t, void *ctx)
{
    (void)ctx;
    static const char *const NAMES[] = {"a0", "a1", "a2", "b0", "o0", "o1"};
    for (size_t i = 0; i < IN_TURN; i++) {
        turns.asks[i] = create(i == 3 ? "cirrus" : "altostrat", NAMES[i]);
        if (i > 3)
            turns.asks[i].what = SHOP_CREATE_BY_OPERATOR;
        shop_do(t, &turns.asks[i]);
    }
}

static bool all_have_ended(void *arg)
{
    (void)arg;
    return atomic_load(&turns.count) >= IN_TURN;
}

static size_t turn_of(size_t ask)
{
    size_t at = 0;
    while (at < IN_TURN && turns.ended[at] != ask)
        at++;
    return at;
}

static void await_turns(void)
{
    process_await(all_have_ended, NULL, "the end of all operations");
    ck_assert_uint_eq(atomic_load(&turns.count), IN_TURN);
    for (size_t i = 0; i < IN_TURN; i++)
        ck_assert_int_eq(turns.asks[i].rc, ERR_OK);
}

/* a0 may have started before the others were there; otherwise o0 is the first. */
START_TEST(tenants_and_operators_are_served_in_turn)
{
    static const size_t THEN[] = {3, 5, 1, 2}; /* b0, o1, a1, a2 */
    vault_fill("altostrat", ROWS);
    vault_fill("cirrus", ROWS);
    tent_control(&tent, ask_turns, NULL);
    await_turns();
    ck_assert_uint_le(turn_of(4), 1); /* o0 */
    ck_assert_uint_le(turn_of(0), 1); /* a0 */
    for (size_t i = 0; i < 4; i++)
        ck_assert_uint_eq(turns.ended[2 + i], THEN[i]);
}
END_TEST

/* However many end before the stop: those of others and of operators end before a2. */
START_TEST(they_are_served_in_turn_after_a_restart)
{
    vault_fill("altostrat", ROWS);
    vault_fill("cirrus", ROWS);
    tent_control(&tent, ask_turns, NULL);
    shop_close();
    shop_open();
    await_turns();
    ck_assert_uint_eq(turn_of(2), IN_TURN - 1);
}
END_TEST

/* Every one is stored when its place is free; none ends meanwhile. */
static void ask_for_all_places(struct tent *t, void *ctx)
{
    struct shop_ask *last = ctx;
    char id[16];
    struct shop_ask a = {.what = SHOP_CREATE, .tenant = id, .name = ""};
    for (int i = 0; i < LIM_OPERATIONS_OF_TENANTS; i++) {
        (void)snprintf(id, sizeof id, "t%d", i / LIM_OPERATIONS_OF_TENANT);
        shop_do(t, &a);
        ck_assert_msg(a.rc == ERR_OK, "%d: %s", i, eb.text);
    }
    last[0] = (struct shop_ask){.what = SHOP_CREATE, .tenant = "altostrat", .name = ""};
    shop_do(t, &last[0]);
    ck_assert_msg(strstr(eb.text, "256 operations on backups wait or run that tenants") != NULL,
                  "%s", eb.text);
    a.what = SHOP_CREATE_BY_OPERATOR;
    for (int i = 0; i < LIM_OPERATIONS_OF_OPERATORS; i++) {
        shop_do(t, &a); /* of a tenant that has eight of its own */
        ck_assert_msg(a.rc == ERR_OK, "%d: %s", i, eb.text);
    }
    last[1] = a;
    shop_do(t, &last[1]);
    ck_assert_msg(strstr(eb.text, "64 operations on backups wait or run that operators") != NULL,
                  "%s", eb.text);
}

START_TEST(operators_have_places_that_tenants_do_not_fill)
{
    struct shop_ask last[2];
    char id[16];
    (void)tent_create(&tent, "altostrat");
    for (int i = 0; i < LIM_OPERATIONS_OF_TENANTS / LIM_OPERATIONS_OF_TENANT; i++) {
        (void)snprintf(id, sizeof id, "t%d", i);
        (void)tent_create(&tent, id);
    }
    tent_control(&tent, ask_for_all_places, last);
    ck_assert_int_eq(last[0].rc, ERR_OVERLOADED);
    ck_assert_int_eq(last[1].rc, ERR_OVERLOADED);
}
END_TEST

Suite *suite_migrations_operation_turns(void)
{
    Suite *s = suite_create("migrations_operation_turns");
    TCase *tc = tcase_create("turns");
    tcase_add_checked_fixture(tc, setup_turns, teardown_turns);
    tcase_set_timeout(tc, 600);
    tcase_add_test(tc, tenants_and_operators_are_served_in_turn);
    tcase_add_test(tc, they_are_served_in_turn_after_a_restart);
    suite_add_tcase(s, tc);
    tc = tcase_create("places");
    tcase_add_checked_fixture(tc, shop_setup, shop_teardown);
    tcase_set_timeout(tc, 600);
    tcase_add_test(tc, operators_have_places_that_tenants_do_not_fill);
    suite_add_tcase(s, tc);
    return s;
}
