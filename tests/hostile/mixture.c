/*
 * tests/hostile/mixture.c - one tenant does what other cases do, at random and at once.
 *
 * Every case is set up once, for the same tenant with a table and a key of its own; those that
 * have their tenant suspended get one of their own. Each thread then draws a case and a time of 1
 * to 3 s, again and again, from the seed. Quotas are of the whole, so no case is verified here:
 * what holds is that the victim does not suffer, and that the server's memory does not grow.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "tests/hostile/hostile.h"
#include "tests/hostile/peer.h"

#include "base/banned.h"

#define PARTS_MAX  32
#define ROUND_MS   1000
#define ROUNDS_MAX 3
/* Room for what the cases write beforehand, and for little of what they write then. */
#define QUOTA                                                                                      \
    "{'stored_bytes':1073741824,'change_bytes':67108864,'backup_bytes':67108864,"                  \
    "'idempotency_tokens':1000}"

struct mixture {
    struct attack *parts[PARTS_MAX];
    size_t count;
    atomic_uint drawn;
};

static void mixture_add(struct attack *a, struct mixture *m, const struct hostile_case *kind)
{
    struct attack *part = base_new(sizeof *part);
    part->kind = kind;
    part->server = a->server;
    part->op = a->op;
    part->is_short = a->is_short;
    if (!kind->in_own_tenant) {
        (void)snprintf(part->tenant, sizeof part->tenant, "%s", a->tenant);
        (void)snprintf(part->owner_key, sizeof part->owner_key, "%s", a->owner_key);
    }
    if (kind->setup != NULL)
        kind->setup(part);
    if (kind->in_own_tenant)
        attack_limit(part);
    m->parts[m->count++] = part;
}

static void mixture_setup(struct attack *a)
{
    static const struct hostile_case *const GROUPS[] = {
        hostile_regex,   hostile_memory,  hostile_connections, hostile_growth,
        hostile_control, hostile_streams, hostile_writes};
    struct mixture *m = base_new(sizeof *m);
    a->state = m;
    attack_prepare(a, &(struct attack_needs){.quota = QUOTA, .scopes = "['data.read']"});
    for (size_t g = 0; g < sizeof GROUPS / sizeof GROUPS[0]; g++)
        for (const struct hostile_case *c = GROUPS[g]; c->name != NULL; c++) {
            ck_assert_msg(m->count < PARTS_MAX, "more than %d cases", PARTS_MAX);
            mixture_add(a, m, c);
        }
}

/* Threads may draw the same part: its end is then the later of the two. */
static void mixture_attack(struct attack *a, unsigned thread)
{
    struct mixture *m = a->state;
    struct random r = {a->seed + atomic_fetch_add(&m->drawn, 1)};
    struct attack *part = m->parts[random_below(&r, (uint32_t)m->count)];
    uint64_t ms = ROUND_MS * (1 + random_below(&r, ROUNDS_MAX));
    uint64_t end_ns = base_monotonic_ns() + ms * 1000000u, whole_ns = atomic_load(&a->until_ns);
    atomic_store(&part->until_ns, end_ns < whole_ns ? end_ns : whole_ns);
    while (!attack_is_over(part)) {
        part->kind->attack(part, thread);
        peers_close_all();
    }
}

static void mixture_teardown(struct attack *a)
{
    struct mixture *m = a->state;
    for (size_t i = 0; i < m->count; i++) {
        struct attack *part = m->parts[i];
        for (int k = 0; k < HOSTILE_CODES; k++)
            (void)atomic_fetch_add(&a->codes[k], atomic_load(&part->codes[k]));
        for (int k = 0; k < HOSTILE_STATUSES; k++)
            (void)atomic_fetch_add(&a->statuses[k], atomic_load(&part->statuses[k]));
        if (part->kind->teardown != NULL)
            part->kind->teardown(part);
        attack_fini(part);
        base_free(part);
    }
    base_free(m);
}

const struct hostile_case hostile_mixture[] = {
    {.name = "mixture",
     .proved = "what one tenant's attacks do together, in random order",
     .threads = 4,
     .setup = mixture_setup,
     .attack = mixture_attack,
     .teardown = mixture_teardown},
    {.name = NULL},
};
