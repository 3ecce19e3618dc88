/* tests/base/test_hashmap.c - a map that grows and shrinks under its readers. */
#include "tests/base/check_base.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hashmap.h"
#include "base/siphash.h"

Suite *suite_base_hashmap(void);

static struct base_epoch *epoch;
static struct base_hashmap *map;

static void make_map(void)
{
    epoch = base_epoch_new();
    map = base_hashmap_new(epoch);
}

static void free_map(void)
{
    base_hashmap_free(map);
    base_epoch_free(epoch);
}

struct name {
    char text[24];
};

static struct slice key_of(int i, struct name *name)
{
    int len = snprintf(name->text, sizeof name->text, "tenant-%d", i);
    return base_slice(name->text, (size_t)len);
}

static void *value_of(int i)
{
    return (void *)(uintptr_t)(i + 1);
}

static void insert(int i)
{
    struct name name;
    ck_assert_int_eq(base_hashmap_insert(map, key_of(i, &name), value_of(i)), ERR_OK);
}

static void *find(int i)
{
    struct name name;
    return base_hashmap_find(map, key_of(i, &name));
}

static void *take_out(int i)
{
    struct name name;
    return base_hashmap_remove(map, key_of(i, &name));
}

START_TEST(empty_map_finds_nothing)
{
    ck_assert_ptr_null(find(1));
    ck_assert_ptr_null(take_out(1));
    ck_assert_ptr_null(base_hashmap_find(map, SLICE_EMPTY));
    ck_assert_uint_eq(base_hashmap_count(map), 0);
}
END_TEST

START_TEST(inserted_keys_are_found_through_growth)
{
    for (int i = 0; i < 10000; i++) {
        insert(i);
        ck_assert_ptr_eq(find(i), value_of(i));
        ck_assert_ptr_null(find(i + 1));
        ck_assert_uint_eq(base_hashmap_count(map), i + 1);
    }
    for (int i = 0; i < 10000; i++)
        ck_assert_ptr_eq(find(i), value_of(i));
}
END_TEST

START_TEST(second_insert_of_a_key_is_refused)
{
    insert(1);
    ck_assert_int_eq(base_hashmap_insert(map, SLICE_LIT("tenant-1"), value_of(2)), ERR_EXISTS);
    ck_assert_ptr_eq(find(1), value_of(1));
    ck_assert_uint_eq(base_hashmap_count(map), 1);
}
END_TEST

START_TEST(removed_keys_are_gone_and_may_return)
{
    for (int i = 0; i < 1000; i++)
        insert(i);
    for (int i = 0; i < 1000; i += 2)
        ck_assert_ptr_eq(take_out(i), value_of(i));
    ck_assert_uint_eq(base_hashmap_count(map), 500);
    for (int i = 0; i < 1000; i++)
        ck_assert_ptr_eq(find(i), i % 2 == 0 ? NULL : value_of(i));
    ck_assert_ptr_null(take_out(0));
    insert(0);
    ck_assert_ptr_eq(find(0), value_of(0));
}
END_TEST

START_TEST(keys_are_bytes)
{
    struct slice keys[] = {SLICE_EMPTY,      SLICE_LIT("\0"),   SLICE_LIT("\0\0"), SLICE_LIT("a"),
                           SLICE_LIT("a\0"), SLICE_LIT("a\0b"), SLICE_LIT("\xff"), SLICE_LIT("A")};
    for (int i = 0; i < 8; i++)
        ck_assert_int_eq(base_hashmap_insert(map, keys[i], value_of(i)), ERR_OK);
    for (int i = 0; i < 8; i++)
        ck_assert_ptr_eq(base_hashmap_find(map, keys[i]), value_of(i));
}
END_TEST

START_TEST(map_keeps_a_copy_of_the_key)
{
    char key[] = "mutable";
    ck_assert_int_eq(base_hashmap_insert(map, base_slice_text(key), value_of(1)), ERR_OK);
    key[0] = 'M';
    ck_assert_ptr_eq(base_hashmap_find(map, SLICE_LIT("mutable")), value_of(1));
    ck_assert_ptr_null(base_hashmap_find(map, base_slice_text(key)));
}
END_TEST

START_TEST(null_map_may_be_freed)
{
    base_hashmap_free(NULL);
}
END_TEST

START_TEST(foreign_handle_is_a_broken_invariant)
{
    static uint64_t not_a_map[64];
    (void)base_hashmap_find((struct base_hashmap *)not_a_map, SLICE_LIT("x"));
}
END_TEST

/* --- walking -------------------------------------------------------------------------------- */

struct walk {
    bool seen[1000];
    int count;
    int stop_after;
    bool is_removing;
};

static bool note_visit(void *ctx, struct slice key, void *value)
{
    struct walk *walk = ctx;
    struct name name;
    int i = (int)(uintptr_t)value - 1;
    ck_assert(base_slice_equal(key, key_of(i, &name)));
    ck_assert(!walk->seen[i]);
    walk->seen[i] = true;
    walk->count++;
    if (walk->is_removing) {
        ck_assert_ptr_eq(base_hashmap_remove(map, key), value);
        ck_assert(base_slice_equal(key, key_of(i, &name))); /* alive until the epoch passes */
    }
    return walk->count != walk->stop_after;
}

START_TEST(walk_sees_every_key_once)
{
    struct walk walk = {0};
    base_hashmap_walk(map, note_visit, &walk);
    ck_assert_int_eq(walk.count, 0);
    for (int i = 0; i < 1000; i++)
        insert(i);
    base_hashmap_walk(map, note_visit, &walk);
    ck_assert_int_eq(walk.count, 1000);
}
END_TEST

START_TEST(walk_stops_when_told)
{
    struct walk walk = {.stop_after = 7};
    for (int i = 0; i < 1000; i++)
        insert(i);
    base_hashmap_walk(map, note_visit, &walk);
    ck_assert_int_eq(walk.count, 7);
}
END_TEST

START_TEST(walk_may_remove_what_it_is_shown)
{
    struct walk walk = {.is_removing = true};
    for (int i = 0; i < 1000; i++)
        insert(i);
    int slot = base_epoch_join(epoch); /* the key must outlive its removal */
    base_hashmap_walk(map, note_visit, &walk);
    base_epoch_leave(epoch, slot);
    ck_assert_int_eq(walk.count, 1000);
    ck_assert_uint_eq(base_hashmap_count(map), 0);
}
END_TEST

START_TEST(random_edits_match_a_model)
{
    static bool model[500];
    uint64_t seed = 41;
    size_t count = 0;
    for (int step = 0; step < 50000; step++) {
        int i = (int)(next_random(&seed) % 500);
        struct name name;
        switch (next_random(&seed) % 3) {
        case 0:
            ck_assert_int_eq(base_hashmap_insert(map, key_of(i, &name), value_of(i)),
                             model[i] ? ERR_EXISTS : ERR_OK);
            count += !model[i];
            model[i] = true;
            break;
        case 1:
            ck_assert_ptr_eq(take_out(i), model[i] ? value_of(i) : NULL);
            count -= model[i];
            model[i] = false;
            break;
        default:
            ck_assert_ptr_eq(find(i), model[i] ? value_of(i) : NULL);
        }
        ck_assert_uint_eq(base_hashmap_count(map), count);
    }
}
END_TEST

/* --- hashing -------------------------------------------------------------------------------- */

START_TEST(hash_depends_on_the_bytes_only)
{
    char here[] = "altostrat", there[] = "altostrat";
    ck_assert_uint_eq(base_hash(base_slice_text(here)), base_hash(base_slice_text(there)));
    ck_assert_uint_ne(base_hash(base_slice_text(here)), base_hash(SLICE_LIT("altostrau")));
}
END_TEST

START_TEST(hash_spreads_similar_keys_evenly)
{
    enum { KEYS = 64000, PARTS = 64 };
    int parts[PARTS] = {0};
    for (int i = 0; i < KEYS; i++) {
        struct name name;
        parts[base_hash(key_of(i, &name)) % PARTS]++;
    }
    for (int i = 0; i < PARTS; i++) { /* 1000 expected; 8 standard deviations are 253 */
        ck_assert_int_gt(parts[i], 740);
        ck_assert_int_lt(parts[i], 1260);
    }
}
END_TEST

START_TEST(hash_is_keyed)
{
    /* With a key anybody knows, hostile keys could be made to collide. */
    struct base_siphash_key zero = {0, 0};
    ck_assert_uint_ne(base_hash(SLICE_LIT("seed")), base_siphash13(zero, SLICE_LIT("seed")));
}
END_TEST

/* --- many threads --------------------------------------------------------------------------- */

#define READERS 3
#define STABLE  200
#define CHURN   400
#define STEPS   30000

struct tenant {
    int number;
    atomic_bool is_freed;
};

static struct tenant stable[STABLE];
static _Atomic(int) inserted; /* so many stable tenants are in the map */
static atomic_bool stop_reading;
static atomic_long missing, wrong, freed_met, finds;

static void mark_freed(void *object)
{
    atomic_store(&((struct tenant *)object)->is_freed, true);
}

static struct slice churn_key(int i, struct name *name)
{
    int len = snprintf(name->text, sizeof name->text, "churn-%d", i);
    return base_slice(name->text, (size_t)len);
}

static void look_up_stable(uint64_t *seed)
{
    int known = atomic_load_explicit(&inserted, memory_order_acquire);
    if (known == 0)
        return;
    int i = (int)(next_random(seed) % (unsigned)known);
    struct tenant *t = find(i);
    if (t == NULL)
        atomic_fetch_add(&missing, 1);
    else if (t != &stable[i])
        atomic_fetch_add(&wrong, 1);
}

static void look_up_churning(uint64_t *seed)
{
    struct name name;
    int i = (int)(next_random(seed) % CHURN);
    struct tenant *t = base_hashmap_find(map, churn_key(i, &name));
    if (t == NULL)
        return;
    atomic_fetch_add_explicit(&finds, 1, memory_order_relaxed);
    if (next_random(seed) % 64 == 0)
        sched_yield();
    if (t->number != i)
        atomic_fetch_add(&wrong, 1);
    if (atomic_load_explicit(&t->is_freed, memory_order_relaxed))
        atomic_fetch_add(&freed_met, 1);
}

static void *read_map(void *arg)
{
    uint64_t seed = (uint64_t)(uintptr_t)arg;
    int slot = base_epoch_join(epoch);
    while (!atomic_load(&stop_reading)) {
        for (int i = 0; i < 8; i++) {
            look_up_stable(&seed);
            look_up_churning(&seed);
        }
        base_epoch_quiescent(epoch, slot);
    }
    base_epoch_leave(epoch, slot);
    return NULL;
}

/* Insert and remove at random, and now and then a key that stays. */
static struct tenant *write_map(void)
{
    static struct tenant *in_map[CHURN];
    struct tenant *made = calloc(STEPS, sizeof *made);
    uint64_t seed = 51;
    for (int step = 0; step < STEPS; step++) {
        struct name name;
        int i = (int)(next_random(&seed) % CHURN);
        struct slice key = churn_key(i, &name);
        if (in_map[i] == NULL) {
            in_map[i] = &made[step];
            in_map[i]->number = i;
            ck_assert_int_eq(base_hashmap_insert(map, key, in_map[i]), ERR_OK);
        } else {
            ck_assert_ptr_eq(base_hashmap_remove(map, key), in_map[i]);
            base_epoch_retire(epoch, in_map[i], mark_freed);
            in_map[i] = NULL;
        }
        if (step == STEPS / 2) /* a busy machine may not have begun to read */
            while (atomic_load(&finds) == 0)
                sched_yield();
        if (step % (STEPS / STABLE) == 0) {
            int known = atomic_load(&inserted);
            ck_assert_int_eq(base_hashmap_insert(map, key_of(known, &name), &stable[known]),
                             ERR_OK);
            atomic_store_explicit(&inserted, known + 1, memory_order_release);
        }
    }
    return made;
}

START_TEST(readers_find_what_is_there_while_the_map_changes)
{
    pthread_t readers[READERS];
    for (int i = 0; i < READERS; i++)
        pthread_create(&readers[i], NULL, read_map, (void *)(uintptr_t)i);
    struct tenant *made = write_map();
    atomic_store(&stop_reading, true);
    for (int i = 0; i < READERS; i++)
        pthread_join(readers[i], NULL);
    ck_assert_int_eq(atomic_load(&missing), 0);
    ck_assert_int_eq(atomic_load(&wrong), 0);
    ck_assert_int_eq(atomic_load(&freed_met), 0);
    ck_assert_int_gt(atomic_load(&finds), 0);
    free(made);
}
END_TEST

#define GROWN 50000

static void *read_while_growing(void *arg)
{
    uint64_t seed = (uint64_t)(uintptr_t)arg;
    int slot = base_epoch_join(epoch);
    while (!atomic_load(&stop_reading)) {
        int known = atomic_load_explicit(&inserted, memory_order_acquire);
        for (int n = 0; n < 16 && known > 0; n++) {
            int i = (int)(next_random(&seed) % (unsigned)known);
            if (find(i) != value_of(i))
                atomic_fetch_add(&missing, 1);
        }
        base_epoch_quiescent(epoch, slot);
    }
    base_epoch_leave(epoch, slot);
    return NULL;
}

START_TEST(growth_hides_no_key_from_a_reader)
{
    pthread_t readers[READERS];
    for (int i = 0; i < READERS; i++)
        pthread_create(&readers[i], NULL, read_while_growing, (void *)(uintptr_t)i);
    for (int i = 0; i < GROWN; i++) {
        insert(i);
        atomic_store_explicit(&inserted, i + 1, memory_order_release);
    }
    atomic_store(&stop_reading, true);
    for (int i = 0; i < READERS; i++)
        pthread_join(readers[i], NULL);
    ck_assert_int_eq(atomic_load(&missing), 0);
}
END_TEST

Suite *suite_base_hashmap(void)
{
    Suite *suite = suite_create("base_hashmap");
    TCase *content = tcase_create("content");
    tcase_add_checked_fixture(content, make_map, free_map);
    tcase_add_test(content, empty_map_finds_nothing);
    tcase_add_test(content, inserted_keys_are_found_through_growth);
    tcase_add_test(content, second_insert_of_a_key_is_refused);
    tcase_add_test(content, removed_keys_are_gone_and_may_return);
    tcase_add_test(content, keys_are_bytes);
    tcase_add_test(content, map_keeps_a_copy_of_the_key);
    tcase_add_test(content, null_map_may_be_freed);
    tcase_add_test_raise_signal(content, foreign_handle_is_a_broken_invariant, SIGABRT);
    tcase_add_test(content, random_edits_match_a_model);
    suite_add_tcase(suite, content);
    TCase *walk = tcase_create("walk");
    tcase_add_checked_fixture(walk, make_map, free_map);
    tcase_add_test(walk, walk_sees_every_key_once);
    tcase_add_test(walk, walk_stops_when_told);
    tcase_add_test(walk, walk_may_remove_what_it_is_shown);
    suite_add_tcase(suite, walk);
    TCase *hash = tcase_create("hash");
    tcase_add_test(hash, hash_depends_on_the_bytes_only);
    tcase_add_test(hash, hash_spreads_similar_keys_evenly);
    tcase_add_test(hash, hash_is_keyed);
    suite_add_tcase(suite, hash);
    TCase *stress = tcase_create("stress");
    tcase_set_timeout(stress, 60);
    tcase_add_checked_fixture(stress, make_map, free_map);
    tcase_add_test(stress, readers_find_what_is_there_while_the_map_changes);
    tcase_add_test(stress, growth_hides_no_key_from_a_reader);
    suite_add_tcase(suite, stress);
    return suite;
}
