/*
 * tests/support/rates.c - rates of a real server, checked from outside at any request speed.
 */
#include "tests/support/rates.h"

#include <check.h>

#include "base/clock.h"
#include "tests/support/process.h"

#include "base/banned.h"

#define NS_PER_S       1000000000u
#define USE_UP_NS      (60ull * NS_PER_S)
#define NS_PER_UNIT(r) (NS_PER_S / (uint64_t)(r)->per_second)

void rate_watch(struct rate *r, int64_t per_second, int64_t burst)
{
    *r = (struct rate){.per_second = per_second, .burst = burst, .since_ns = base_monotonic_ns()};
}

/* Returns the whole units earned since rate_watch, at most. */
static int64_t earned(const struct rate *r)
{
    return (int64_t)((base_monotonic_ns() - r->since_ns) / NS_PER_UNIT(r));
}

void rate_passed(struct rate *r)
{
    int64_t allowed = r->burst + earned(r);
    r->passed++;
    ck_assert_msg(r->passed <= allowed, "%lld passed, %lld were allowed", (long long)r->passed,
                  (long long)allowed);
}

void rate_expect_left(const struct rate *r, int64_t left)
{
    int64_t least = r->burst > r->passed ? r->burst - r->passed : 0;
    int64_t most = r->burst - r->passed + earned(r);
    if (most > r->burst)
        most = r->burst;
    ck_assert_msg(left >= least && left <= most, "%lld are left, not %lld to %lld", (long long)left,
                  (long long)least, (long long)most);
}

void rate_use_up(struct rate *r, rate_ask *ask, void *arg, int passes, int refused)
{
    uint64_t end_ns = base_monotonic_ns() + USE_UP_NS * (uint64_t)process_patience();
    for (int status = ask(arg); status != refused; status = ask(arg)) {
        ck_assert_msg(status == passes, "status %d", status);
        rate_passed(r);
        ck_assert_msg(base_monotonic_ns() < end_ns, "no request was refused");
    }
}
