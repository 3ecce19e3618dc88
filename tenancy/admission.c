/*
 * tenancy/admission.c - the only code that admits requests and charges them.
 *
 * Rates are charged one after the other: the key's, then the tenant's; operations before bytes.
 * When one refuses, the previous charges are undone, so a request that one policy refuses uses up
 * no other rate. Between the two another request may be refused that would have been admitted; it
 * is told to retry like any other. 575 lines because a request's whole path through its tenant's
 * state, share and rates is here, to be read at once.
 */
#include "tenancy/admission.h"

#include <inttypes.h>

#include "base/clock.h"

#include "base/banned.h"

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_US 1000
/* The end of a request in flight is not known; this is a guess that keeps clients from retrying
 * at once. */
#define CONCURRENCY_WAIT_NS (1000 * NS_PER_MS)

struct kind {
    enum ten_policy policy;
    const char *name;
    const char *key_name;
    const char *unit;
    const char *text;
};

/* The index after the rates: of the tenant only, charged besides its write_ops, and metered with
 * those. */
#define CONTROL_OPS TEN_RATE_COUNT

static const struct kind KINDS[TEN_RATE_COUNT + 1] = {
    [TEN_RATE_READ_OPS] = {TEN_POLICY_READ_OPS, "read_ops", "key_read_ops", NULL,
                           "read operations per second"},
    [TEN_RATE_WRITE_OPS] = {TEN_POLICY_WRITE_OPS, "write_ops", "key_write_ops", NULL,
                            "write operations per second"},
    [TEN_RATE_READ_BYTES] = {TEN_POLICY_READ_BYTES, "read_bytes", "key_read_bytes", "content-bytes",
                             "bytes read per second"},
    [TEN_RATE_WRITE_BYTES] = {TEN_POLICY_WRITE_BYTES, "write_bytes", "key_write_bytes",
                              "content-bytes", "bytes written per second"},
    [CONTROL_OPS] = {TEN_POLICY_WRITE_OPS, "control_ops", NULL, NULL,
                     "changes of tables per second"},
};

/* --- which rates -------------------------------------------------------------------------------
 */

static enum ten_rate_kind ops_kind(enum ten_access access)
{
    return access == TEN_READ ? TEN_RATE_READ_OPS : TEN_RATE_WRITE_OPS;
}

static enum ten_rate_kind bytes_kind(enum ten_access access)
{
    return access == TEN_READ ? TEN_RATE_READ_BYTES : TEN_RATE_WRITE_BYTES;
}

struct charge {
    struct ten_rate *rate;
    enum ten_rate_kind kind;
    bool of_key;
    uint64_t cost;
};

enum { CHARGES = 5 };

/* Lists the rates that a load is checked against, in the order in which they are charged. */
static size_t charges_of(const struct ten_visit *v, const struct ten_load *load,
                         struct charge out[CHARGES])
{
    struct ten_rates *owners[2] = {v->key == NULL ? NULL : &v->key->rates, &v->tenant->rates};
    size_t count = 0;
    for (size_t i = 0; i < 2; i++) {
        enum ten_rate_kind ops = ops_kind(v->access), bytes = bytes_kind(v->access);
        if (owners[i] == NULL)
            continue;
        if (load->ops > 0)
            out[count++] = (struct charge){&owners[i]->each[ops], ops, i == 0, load->ops};
        if (load->ops > 0 || load->bytes > 0)
            out[count++] = (struct charge){&owners[i]->each[bytes], bytes, i == 0, load->bytes};
    }
    if (v->access == TEN_DEFINE && load->ops > 0)
        out[count++] = (struct charge){&v->tenant->control_ops, CONTROL_OPS, false, load->ops};
    return count;
}

/* --- refusing ----------------------------------------------------------------------------------
 */

static enum err refuse(const struct ten_visit *v, const struct ten_refusal *why, const char *whose,
                       const char *of_what, struct errbuf *eb)
{
    ten_meter_throttled(v->tenant, why->policy, why->wait_ns);
    return base_fail(eb, ERR_RATE_LIMITED,
                     "%s limit is %" PRIu64 " %s (%s); retry in %" PRIu64 " ms", whose, why->limit,
                     of_what, why->name, why->wait_ns / NS_PER_MS + 1);
}

static enum err refuse_rate(const struct ten_visit *v, const struct charge *c, uint64_t wait_ns,
                            struct ten_refusal *out, struct errbuf *eb)
{
    const struct kind *kind = &KINDS[c->kind];
    *out = (struct ten_refusal){
        .policy = c->of_key ? TEN_POLICY_KEY : kind->policy,
        .name = c->of_key ? kind->key_name : kind->name,
        .limit = atomic_load_explicit(&c->rate->per_second, memory_order_relaxed),
        .wait_ns = wait_ns,
    };
    return refuse(v, out, c->of_key ? "this key's" : "the tenant's", kind->text, eb);
}

/* --- requests in flight ----------------------------------------------------------------------- */

static enum err enter(struct ten_visit *v, struct ten_refusal *out, struct errbuf *eb)
{
    struct ten_tenant *t = v->tenant;
    uint32_t max = atomic_load_explicit(&t->under_way_max, memory_order_relaxed);
    uint32_t now = atomic_load_explicit(&t->under_way, memory_order_relaxed);
    do {
        if (now >= max) {
            *out = (struct ten_refusal){.policy = TEN_POLICY_CONCURRENCY,
                                        .name = ten_policy_name(TEN_POLICY_CONCURRENCY),
                                        .limit = max,
                                        .wait_ns = CONCURRENCY_WAIT_NS};
            return refuse(v, out, "the tenant's", "requests at a time", eb);
        }
    } while (!atomic_compare_exchange_weak_explicit(&t->under_way, &now, now + 1,
                                                    memory_order_relaxed, memory_order_relaxed));
    v->under_way = true;
    return ERR_OK;
}

static void leave(struct ten_visit *v)
{
    if (!v->under_way)
        return;
    v->under_way = false;
    uint32_t before = atomic_fetch_sub_explicit(&v->tenant->under_way, 1, memory_order_relaxed);
    INVARIANT(before > 0);
}

void ten_visit_begin(struct ten_visit *v, struct ten_tenant *t, struct ten_key_rates *key)
{
    ten_visit_end(v);
    v->tenant = t;
    v->key = ten_key_rates_ref(key);
}

void ten_visit_end(struct ten_visit *v)
{
    leave(v);
    ten_key_rates_unref(v->key);
    *v = (struct ten_visit){.tenant = NULL};
}

/* --- overload ----------------------------------------------------------------------------------
 */

static bool is_watched(const struct ten_visit *v)
{
    return v->tenant->overload != NULL;
}

static struct ten_overload_by by(const struct ten_visit *v)
{
    struct ten_tenant *t = v->tenant;
    return (struct ten_overload_by){
        .all = t->overload,
        .part = &t->load,
        .weight = atomic_load_explicit(&t->account.share.weight, memory_order_relaxed),
        .now_ns = base_monotonic_ns(),
    };
}

static uint64_t units_of(uint64_t ops, uint64_t bytes)
{
    return ops + bytes / KIB;
}

/* Changes of tables may always wait: they are few, and official clients do not repeat them. */
static bool may_wait(const struct ten_visit *v)
{
    return v->access == TEN_DEFINE ||
           atomic_load_explicit(&v->tenant->under_way, memory_order_relaxed) <= LIM_OVERLOAD_TURNS;
}

/* *out_turn_ns: when the request may start; 0: now. */
static enum err begin(struct ten_visit *v, uint64_t *out_turn_ns, struct ten_refusal *out,
                      struct errbuf *eb)
{
    uint64_t wait_ns = 0;
    if (!is_watched(v))
        return ERR_OK;
    const struct ten_overload_by who = by(v);
    uint64_t most_ns = may_wait(v) ? LIM_OVERLOAD_TURN_MS * NS_PER_MS : 0;
    if (ten_overload_begin(&who, most_ns, &wait_ns)) {
        *out_turn_ns = wait_ns == 0 ? 0 : who.now_ns + wait_ns;
        return ERR_OK;
    }
    *out = (struct ten_refusal){.policy = TEN_POLICY_SERVICE,
                                .name = ten_policy_name(TEN_POLICY_SERVICE),
                                .limit = ten_overload_limit(&v->tenant->load),
                                .wait_ns = wait_ns};
    ten_meter_throttled(v->tenant, out->policy, wait_ns);
    return base_fail(
        eb, ERR_OVERLOADED,
        "the server is busy, and the tenant uses more than its share of it (%s); retry "
        "in %" PRIu64 " ms",
        out->name, wait_ns / NS_PER_MS + 1);
}

static void pay(struct ten_visit *v, uint64_t ops, uint64_t bytes)
{
    uint64_t units = units_of(ops, bytes);
    if (!is_watched(v) || units == 0)
        return;
    const struct ten_overload_by who = by(v);
    uint64_t pause_ns = ten_overload_pay(&who, units);
    v->pauses_until_ns = pause_ns == 0 ? 0 : who.now_ns + pause_ns;
}

void ten_visit_waits(struct ten_visit *v)
{
    v->waits_since_ns = base_monotonic_ns();
}

void ten_visit_waited(struct ten_visit *v)
{
    if (v->tenant == NULL || !is_watched(v) || v->waits_since_ns == 0)
        return;
    const struct ten_overload_by who = by(v);
    if (units_of(v->charged.ops, v->charged.bytes) <= LIM_OVERLOAD_SMALL)
        ten_overload_waited(&who, v->access == TEN_READ ? TEN_WAITED_READ : TEN_WAITED_WRITE,
                            who.now_ns - v->waits_since_ns);
    v->waits_since_ns = 0;
}

/* --- charging ----------------------------------------------------------------------------------
 */

/* A cost of 0 is admitted while the rate is open: bytes charged later must not pile up debt. */
static bool take(const struct charge *c, uint64_t now_ns, uint64_t *out_wait_ns)
{
    if (c->cost != 0)
        return ten_rate_take(c->rate, c->cost, now_ns, out_wait_ns);
    *out_wait_ns = ten_rate_wait_ns(c->rate, now_ns);
    return *out_wait_ns == 0;
}

static enum err take_all(struct ten_visit *v, const struct ten_load *load, struct ten_refusal *out,
                         struct errbuf *eb)
{
    struct charge all[CHARGES];
    size_t count = charges_of(v, load, all);
    uint64_t now_ns = base_monotonic_ns();
    uint64_t wait_ns = 0;
    size_t taken = 0;
    while (taken < count && take(&all[taken], now_ns, &wait_ns))
        taken++;
    if (taken < count) {
        enum err e = refuse_rate(v, &all[taken], wait_ns, out, eb);
        while (taken-- > 0)
            ten_rate_give_back(all[taken].rate, all[taken].cost);
        return e;
    }
    v->charged.ops += load->ops;
    v->charged.bytes += load->bytes;
    return ERR_OK;
}

enum err ten_admit_entries(struct ten_visit *v, struct ten_load load, struct ten_refusal *out,
                           struct errbuf *eb)
{
    enum err e = ten_access_check(v->tenant, v->access, eb);
    return e == ERR_OK ? take_all(v, &load, out, eb) : e;
}

void ten_visit_pay_entry(struct ten_visit *v, uint64_t bytes)
{
    pay(v, 1, bytes);
}

enum err ten_admit(struct ten_visit *v, enum ten_access access, struct ten_load load,
                   struct ten_refusal *out, struct errbuf *eb)
{
    v->access = access;
    bool was_under_way = v->under_way;
    uint64_t turn_ns = 0;
    enum err e = ten_access_check(v->tenant, v->access, eb);
    if (e == ERR_OK && !was_under_way)
        e = enter(v, out, eb);
    if (e == ERR_OK && !was_under_way)
        e = begin(v, &turn_ns, out, eb);
    if (e == ERR_OK)
        e = take_all(v, &load, out, eb);
    if (e == ERR_OK)
        pay(v, load.ops, load.bytes);
    else if (!was_under_way)
        leave(v);
    if (!was_under_way) /* the request does not wait for its own charge */
        v->pauses_until_ns = turn_ns;
    return e;
}

static void give_back_ops(struct ten_visit *v, uint64_t ops)
{
    enum ten_rate_kind kind = ops_kind(v->access);
    INVARIANT(v->charged.ops >= ops);
    ten_rate_give_back(&v->tenant->rates.each[kind], ops);
    if (v->key != NULL)
        ten_rate_give_back(&v->key->rates.each[kind], ops);
    if (v->access == TEN_DEFINE)
        ten_rate_give_back(&v->tenant->control_ops, ops);
    v->charged.ops -= ops;
}

enum err ten_admit_bytes(struct ten_visit *v, uint64_t bytes, uint64_t ops, struct ten_refusal *out,
                         struct errbuf *eb)
{
    const struct ten_load load = {0, bytes};
    enum err e = take_all(v, &load, out, eb);
    if (e == ERR_OK)
        pay(v, 0, bytes);
    else
        give_back_ops(v, ops);
    return e;
}

enum err ten_admit_condition(struct ten_visit *v, uint64_t ops, struct ten_refusal *out,
                             struct errbuf *eb)
{
    struct ten_rates *owners[2] = {v->key == NULL ? NULL : &v->key->rates, &v->tenant->rates};
    v->has_condition = true;
    for (size_t i = 0; i < 2; i++) {
        if (owners[i] == NULL)
            continue;
        const struct charge c = {&owners[i]->read_bytes, TEN_RATE_READ_BYTES, i == 0, 0};
        uint64_t wait_ns = 0;
        if (take(&c, base_monotonic_ns(), &wait_ns))
            continue;
        give_back_ops(v, ops);
        return refuse_rate(v, &c, wait_ns, out, eb);
    }
    return ERR_OK;
}

static uint64_t charge(struct ten_rate *rate, uint64_t bytes)
{
    return ten_rate_is_limited(rate) ? ten_rate_charge(rate, bytes, base_monotonic_ns()) : 0;
}

static void charge_bytes(struct ten_visit *v, uint64_t bytes)
{
    uint64_t unpaid = charge(&v->tenant->rates.read_bytes, bytes);
    uint64_t of_key = v->key == NULL ? 0 : charge(&v->key->rates.read_bytes, bytes);
    v->unpaid += of_key > unpaid ? of_key : unpaid;
    v->charged.bytes += bytes;
    pay(v, 0, bytes);
}

void ten_charge_visited(struct ten_visit *v, uint64_t rows, uint64_t bytes)
{
    v->bytes_visited += bytes;
    v->rows_visited += rows;
    charge_bytes(v, bytes + rows * TEN_ROW_VISITED_BYTES);
}

void ten_charge_work(struct ten_visit *v, uint64_t work_ns)
{
    uint64_t bytes = work_ns / NS_PER_US * TEN_BYTES_PER_WORK_US;
    if (bytes == 0)
        return;
    v->bytes_worked += bytes;
    charge_bytes(v, bytes);
}

/* Charges bytes without a check; a later write waits for at most one burst. */
static void charge_written(struct ten_visit *v, uint64_t bytes)
{
    (void)charge(&v->tenant->rates.write_bytes, bytes);
    if (v->key != NULL)
        (void)charge(&v->key->rates.write_bytes, bytes);
    v->bytes_worked += bytes;
    v->charged.bytes += bytes;
    pay(v, 0, bytes);
}

void ten_charge_deleted(struct ten_visit *v, uint64_t bytes)
{
    if (bytes > 0)
        charge_written(v, bytes);
}

/* Returns the bytes that a request pays for with its operations and the bytes of its writes. */
static uint64_t paid_bytes(const struct ten_visit *v)
{
    const uint64_t of_op = v->access == TEN_READ ? TEN_COST_READ * TEN_COST_READ_BYTES
                                                 : TEN_COST_WRITE * TEN_COST_WRITE_BYTES;
    uint64_t visited = v->bytes_visited + v->rows_visited * TEN_ROW_VISITED_BYTES;
    return v->charged.ops * of_op + v->charged.bytes - visited - v->bytes_worked;
}

void ten_charge_handling(struct ten_visit *v, uint64_t bytes)
{
    v->bytes_handled += bytes;
    uint64_t paid = paid_bytes(v) + v->bytes_handled_charged;
    if (v->bytes_handled <= paid)
        return;
    uint64_t unpaid = v->bytes_handled - paid;
    v->bytes_handled_charged += unpaid;
    if (v->access != TEN_READ) {
        charge_written(v, unpaid);
        return;
    }
    v->bytes_worked += unpaid;
    charge_bytes(v, unpaid);
}

/* The debt shared with other requests, then the debt of this ticket alone, both as times. */
struct owed {
    const struct ten_rate *rate;
    uint64_t shared_ns;
    uint64_t own_ns;
};

static struct owed owed_to(const struct ten_rate *rate, uint64_t unpaid)
{
    if (!ten_rate_is_limited(rate))
        return (struct owed){rate, 0, 0};
    return (struct owed){rate, ten_rate_wait_ns(rate, base_monotonic_ns()),
                         ten_rate_price_ns(rate, unpaid)};
}

/* Returns the rest of the pause that overload imposes. */
static uint64_t busy_ns(const struct ten_visit *v)
{
    uint64_t now_ns = v->pauses_until_ns == 0 ? 0 : base_monotonic_ns();
    return v->pauses_until_ns > now_ns ? v->pauses_until_ns - now_ns : 0;
}

/* Rates may have changed since the previous call: unpaid bytes are priced at the current rate. */
uint64_t ten_visit_pause_ns(struct ten_visit *v)
{
    uint64_t busy = busy_ns(v);
    struct owed most = owed_to(&v->tenant->rates.read_bytes, v->unpaid);
    enum ten_policy policy = TEN_POLICY_READ_BYTES;
    if (v->key != NULL) {
        struct owed of_key = owed_to(&v->key->rates.read_bytes, v->unpaid);
        if (of_key.shared_ns + of_key.own_ns > most.shared_ns + most.own_ns) {
            most = of_key;
            policy = TEN_POLICY_KEY;
        }
    }
    uint64_t wait_ns = most.shared_ns + most.own_ns;
    if (wait_ns > TEN_PAUSE_NS)
        wait_ns = TEN_PAUSE_NS;
    uint64_t paid =
        wait_ns > most.shared_ns ? ten_rate_units(most.rate, wait_ns - most.shared_ns) : 0;
    v->unpaid = wait_ns == 0 || paid > v->unpaid ? 0 : v->unpaid - paid;
    if (busy > wait_ns) {
        wait_ns = busy < TEN_PAUSE_NS ? busy : TEN_PAUSE_NS;
        policy = TEN_POLICY_SERVICE;
    }
    if (wait_ns > 0)
        ten_meter_throttled(v->tenant, policy, wait_ns);
    return wait_ns;
}

uint64_t ten_visit_turn_ns(const struct ten_visit *v)
{
    uint64_t wait_ns = busy_ns(v);
    if (wait_ns > 0)
        ten_meter_throttled(v->tenant, TEN_POLICY_SERVICE, wait_ns);
    return wait_ns;
}

bool ten_visit_waits_again(const struct ten_visit *v, uint64_t waited_ns, uint64_t wait_ns)
{
    const uint64_t most_ns = LIM_OVERLOAD_TURN_MS * NS_PER_MS;
    bool waits =
        v->tenant != NULL && may_wait(v) && waited_ns <= most_ns && wait_ns <= most_ns - waited_ns;
    if (waits)
        ten_meter_throttled(v->tenant, TEN_POLICY_SERVICE, wait_ns);
    return waits;
}

uint64_t ten_visit_cost(const struct ten_visit *v)
{
    bool is_read = v->access == TEN_READ;
    return v->charged.ops * (is_read ? TEN_COST_READ : TEN_COST_WRITE) +
           v->charged.bytes / (is_read ? TEN_COST_READ_BYTES : TEN_COST_WRITE_BYTES);
}

/* --- limits that a caller may see ------------------------------------------------------------- */

static bool uses(const struct ten_visit *v, enum ten_rate_kind kind)
{
    return kind == ops_kind(v->access) || kind == bytes_kind(v->access) ||
           (v->has_condition && kind == TEN_RATE_READ_BYTES);
}

static struct ten_standing standing_of(const struct ten_rate *rate, enum ten_rate_kind kind,
                                       bool of_key, bool is_used, uint64_t now_ns)
{
    uint64_t wait_ns = ten_rate_wait_ns(rate, now_ns);
    return (struct ten_standing){
        .name = of_key ? KINDS[kind].key_name : KINDS[kind].name,
        .unit = KINDS[kind].unit,
        .limit = atomic_load_explicit(&rate->per_second, memory_order_relaxed),
        .burst = atomic_load_explicit(&rate->burst, memory_order_relaxed),
        .left = wait_ns > 0 ? 0 : ten_rate_left(rate, now_ns),
        .reset_ns = wait_ns > 0 ? wait_ns : ten_rate_full_ns(rate, now_ns),
        .is_rate = true,
        .is_used = is_used,
    };
}

static size_t rates_standing(const struct ten_visit *v, const struct ten_rates *rates, bool of_key,
                             struct ten_standing *out)
{
    size_t count = 0;
    uint64_t now_ns = 0;
    for (size_t i = 0; i < TEN_RATE_COUNT; i++) {
        const struct ten_rate *rate = &rates->each[i];
        enum ten_rate_kind kind = (enum ten_rate_kind)i;
        if (!ten_rate_is_limited(rate))
            continue;
        if (now_ns == 0) /* without limits the clock is not read */
            now_ns = base_monotonic_ns();
        out[count++] = standing_of(rate, kind, of_key, uses(v, kind), now_ns);
    }
    return count;
}

size_t ten_visit_standings(const struct ten_visit *v, struct ten_standing out[TEN_STANDINGS])
{
    const struct ten_tenant *t = v->tenant;
    if (t == NULL)
        return 0;
    size_t count = rates_standing(v, &t->rates, false, out);
    uint32_t max = atomic_load_explicit(&t->under_way_max, memory_order_relaxed);
    if (max != UINT32_MAX && max != LIM_CONCURRENT_STANDARD) { /* the default is not reported */
        uint32_t now = atomic_load_explicit(&t->under_way, memory_order_relaxed) - v->under_way;
        out[count++] = (struct ten_standing){
            .name = ten_policy_name(TEN_POLICY_CONCURRENCY),
            .unit = "concurrent-requests",
            .limit = max,
            .burst = max,
            .left = max > now ? max - now : 0,
            .reset_ns = max > now ? 0 : CONCURRENCY_WAIT_NS,
            .is_used = true,
        };
    }
    if (v->key != NULL)
        count += rates_standing(v, &v->key->rates, true, out + count);
    return count;
}

int ten_visit_write_room(const struct ten_visit *v)
{
    struct ten_standing all[TEN_STANDINGS];
    size_t count = ten_visit_standings(v, all);
    int room = -1;
    for (size_t i = 0; i < count; i++) {
        if (!all[i].is_rate || !all[i].is_used)
            continue;
        int one = (int)((double)all[i].left / (double)all[i].burst * TEN_ROOM_FULL);
        room = room < 0 || one < room ? one : room;
    }
    return room;
}
