/*
 * tests/hostile/control.c - attacks on the thread that changes tenants, tables and keys.
 */
#include <check.h>
#include <stdio.h>

#include "tests/hostile/peer.h"

#include "base/banned.h"

static void changes_setup(struct attack *a)
{
    attack_prepare(a, &(struct attack_needs){.scopes = "['table.admin']"});
}

/* Each request changes the rule of the family. */
static void changes_attack(struct attack *a, unsigned thread)
{
    char path[96], body[96];
    struct peer *p = peer_new(a, PEER_WINDOW);
    (void)snprintf(path, sizeof path, "/v1/tables/%s", a->table);
    for (unsigned n = thread; !attack_is_over(a);) {
        for (; p->open < 50; n++) {
            (void)snprintf(body, sizeof body, "{'families':{'f':{'gc':{'max_versions':%u}}}}",
                           1 + n % 1000);
            (void)peer_request(p, "PUT", path, quoted(body), 0, false);
        }
        if (!peer_pump(p, 50))
            return;
        peer_forget(p);
    }
}

const struct hostile_case hostile_control[] = {
    {.name = "table-changes",
     .proved = "a loop of table changes raised the operator's p50 from 0.5 to 293 ms",
     .threads = 4,
     .setup = changes_setup,
     .attack = changes_attack},
    {.name = NULL},
};
