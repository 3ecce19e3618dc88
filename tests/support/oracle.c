/*
 * tests/support/oracle.c - cells in a sorted array.
 */
#include "tests/support/oracle.h"

#include "base/alloc.h"
#include "storage/aggregate.h"
#include "storage/keycodec.h"

#include "base/banned.h"

/* The address of a cell, its sort key. */
struct address {
    struct slice key;
    uint16_t family;
    struct slice qualifier;
    int64_t timestamp_us;
};

static int compare(const struct oracle_cell *c, const struct address *a)
{
    int order = base_slice_compare(oracle_key(c), a->key);
    if (order == 0)
        order = (int)c->family - (int)a->family;
    if (order == 0)
        order = base_slice_compare(oracle_qualifier(c), a->qualifier);
    if (order == 0 && c->timestamp_us != a->timestamp_us)
        order = c->timestamp_us > a->timestamp_us ? -1 : 1;
    return order;
}

/* Returns the index of the first cell that is not before the address. */
static size_t lower_bound(const struct oracle_table *t, const struct address *a)
{
    size_t low = 0, high = t->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(&t->cells[middle], a) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void make_room(struct oracle_table *t, size_t more)
{
    if (t->count + more <= t->room)
        return;
    t->room = 2 * (t->count + more) + 16;
    t->cells = base_try_realloc(t->cells, t->room * sizeof t->cells[0]);
    INVARIANT(t->cells != NULL);
}

void oracle_fini(struct oracle_table *t)
{
    base_free(t->cells);
    *t = (struct oracle_table){0};
}

static struct oracle_cell *find(const struct oracle_table *t, const struct address *a)
{
    size_t at = lower_bound(t, a);
    return at < t->count && compare(&t->cells[at], a) == 0 ? &t->cells[at] : NULL;
}

static void put(struct oracle_table *t, const struct sto_family *family, const struct address *a,
                struct slice value)
{
    INVARIANT(a->key.len <= ORACLE_KEY && a->qualifier.len <= ORACLE_QUALIFIER &&
              value.len <= ORACLE_VALUE);
    size_t at = lower_bound(t, a);
    if (at == t->count || compare(&t->cells[at], a) != 0) {
        make_room(t, 1);
        memmove(&t->cells[at + 1], &t->cells[at], (t->count - at) * sizeof t->cells[0]);
        t->count++;
    }
    struct oracle_cell c = {.key_len = (uint8_t)a->key.len,
                            .qualifier_len = (uint8_t)a->qualifier.len,
                            .value_len = (uint8_t)value.len,
                            .family_name_len = family->name_len,
                            .family = a->family,
                            .timestamp_us = a->timestamp_us};
    memcpy(c.key, a->key.ptr, a->key.len);
    if (a->qualifier.len > 0)
        memcpy(c.qualifier, a->qualifier.ptr, a->qualifier.len);
    if (value.len > 0)
        memcpy(c.value, value.ptr, value.len);
    t->cells[at] = c;
}

/* Removes the cells c for which goes is true. */
#define REMOVE_WHERE(t, c, goes)                                                                   \
    do {                                                                                           \
        size_t kept_ = 0;                                                                          \
        for (size_t i_ = 0; i_ < (t)->count; i_++) {                                               \
            const struct oracle_cell *c = &(t)->cells[i_];                                         \
            if (!(goes))                                                                           \
                (t)->cells[kept_++] = *c;                                                          \
        }                                                                                          \
        (t)->count = kept_;                                                                        \
    } while (0)

/* --- garbage -----------------------------------------------------------------------------------
 */

/* Evaluates one rule of the tree; advances *at past the rule. */
static bool rule_collects(const struct sto_gc_node *nodes, size_t *at, uint64_t newer,
                          int64_t timestamp_us, int64_t now_us)
{
    const struct sto_gc_node *n = &nodes[(*at)++];
    if (n->kind == STO_GC_MAX_VERSIONS)
        return newer >= n->max_versions;
    if (n->kind == STO_GC_MAX_AGE)
        return now_us > timestamp_us && (uint64_t)(now_us - timestamp_us) > n->max_age_us;
    bool any = false, all = true;
    for (uint32_t i = 0; i < n->member_count; i++) {
        bool member = rule_collects(nodes, at, newer, timestamp_us, now_us);
        any = any || member;
        all = all && member;
    }
    return n->kind == STO_GC_UNION ? any : all;
}

static bool same_column(const struct oracle_cell *a, const struct oracle_cell *b)
{
    return a->family == b->family && base_slice_equal(oracle_key(a), oracle_key(b)) &&
           base_slice_equal(oracle_qualifier(a), oracle_qualifier(b));
}

/* Returns whether a read shows the cell at that index. */
static bool is_visible(const struct oracle_table *t, const struct sto_schema *schema, size_t index,
                       int64_t now_us)
{
    const struct oracle_cell *c = &t->cells[index];
    const struct sto_family *family = sto_schema_family_by_number(schema, c->family);
    if (family == NULL || family->gc.node_count == 0)
        return family != NULL;
    uint64_t newer = 0;
    while (newer < index && same_column(&t->cells[index - newer - 1], c))
        newer++;
    size_t at = 0;
    return !rule_collects(family->gc.nodes, &at, newer, c->timestamp_us, now_us);
}

void oracle_sweep(struct oracle_table *t, const struct sto_schema *schema, int64_t now_us)
{
    struct oracle_table left = {0};
    make_room(&left, t->count);
    for (size_t i = 0; i < t->count; i++)
        if (is_visible(t, schema, i, now_us))
            left.cells[left.count++] = t->cells[i];
    base_free(t->cells);
    *t = left;
}

/* --- mutations ----------------------------------------------------------------------------------
 */

const struct oracle_cell *oracle_newest(const struct oracle_table *t,
                                        const struct sto_schema *schema, struct slice key,
                                        uint16_t family, struct slice qualifier, int64_t now_us)
{
    struct address a = {key, family, qualifier, INT64_MAX};
    for (size_t i = lower_bound(t, &a); i < t->count; i++) {
        const struct oracle_cell *c = &t->cells[i];
        if (c->family != family || !base_slice_equal(oracle_key(c), key) ||
            !base_slice_equal(oracle_qualifier(c), qualifier))
            return NULL;
        if (is_visible(t, schema, i, now_us))
            return c;
    }
    return NULL;
}

static int64_t integer(struct slice value)
{
    return (int64_t)sto_get_be64(value.ptr);
}

static enum err aggregate(struct oracle_table *row, const struct sto_family *family,
                          const struct address *a, const struct sto_mutation *m)
{
    const struct oracle_cell *old = find(row, a);
    if (family->aggregate != STO_AGGREGATE_HLL) {
        int64_t x = integer(m->value), y = old != NULL ? integer(oracle_value(old)) : x;
        uint8_t bytes[8];
        if (family->aggregate == STO_AGGREGATE_SUM && old != NULL &&
            __builtin_add_overflow(x, y, &x))
            return ERR_INVALID;
        if ((family->aggregate == STO_AGGREGATE_MIN && y < x) ||
            (family->aggregate == STO_AGGREGATE_MAX && y > x))
            x = y;
        sto_put_be64(bytes, (uint64_t)x);
        put(row, family, a, base_slice(bytes, sizeof bytes));
        return ERR_OK;
    }
    struct buf state;
    base_buf_init(&state, STO_AGGREGATE_STATE_MAX);
    struct slice before = old != NULL ? oracle_value(old) : SLICE_EMPTY;
    enum err rc = m->kind == STO_ADD_TO_CELL
                      ? sto_aggregate_add(STO_AGGREGATE_HLL, before, m->value, &state, NULL)
                      : sto_aggregate_merge(STO_AGGREGATE_HLL, before, m->value, &state, NULL);
    INVARIANT(rc == ERR_OK);
    put(row, family, a, base_buf_slice(&state));
    base_buf_fini(&state);
    return ERR_OK;
}

static enum err modify(struct oracle_table *row, const struct sto_schema *schema,
                       const struct sto_family *family, struct address *a,
                       const struct sto_mutation *m, int64_t now_us)
{
    const struct oracle_cell *old =
        oracle_newest(row, schema, a->key, a->family, a->qualifier, now_us);
    uint8_t bytes[2 * ORACLE_VALUE];
    size_t len = old != NULL ? old->value_len : 0;
    a->timestamp_us = old != NULL && old->timestamp_us > now_us ? old->timestamp_us : now_us;
    if (len > 0)
        memcpy(bytes, old->value, len);
    if (m->kind == STO_APPEND) {
        INVARIANT(m->value.len <= ORACLE_VALUE);
        if (m->value.len > 0)
            memcpy(bytes + len, m->value.ptr, m->value.len);
        len += m->value.len;
        if (len > ORACLE_VALUE)
            return ERR_TOO_BIG;
    } else {
        uint64_t n = 0;
        if (old != NULL && len != 8)
            return ERR_CONFLICT;
        if (old != NULL)
            n = (uint64_t)integer(oracle_value(old));
        sto_put_be64(bytes, n + (uint64_t)m->increment);
        len = 8;
    }
    put(row, family, a, base_slice(bytes, len));
    return ERR_OK;
}

static bool is_deleted(const struct oracle_cell *c, const struct sto_mutation *m)
{
    if (m->kind == STO_DELETE_FROM_ROW)
        return true;
    if (c->family != m->family || m->kind == STO_DELETE_FROM_FAMILY)
        return c->family == m->family;
    return base_slice_equal(oracle_qualifier(c), m->qualifier) && c->timestamp_us >= m->start_us &&
           (m->end_us == 0 || c->timestamp_us < m->end_us);
}

enum err oracle_mutate(struct oracle_table *row, const struct sto_schema *schema, struct slice key,
                       const struct sto_mutation *m, int64_t now_us)
{
    const struct sto_family *family = sto_schema_family_by_number(schema, m->family);
    struct address a = {key, m->family, m->qualifier,
                        m->timestamp_us == STO_TIMESTAMP_SERVER ? now_us : m->timestamp_us};
    switch (m->kind) {
    case STO_SET_CELL:
        put(row, family, &a, m->value);
        return ERR_OK;
    case STO_ADD_TO_CELL:
    case STO_MERGE_TO_CELL:
        return aggregate(row, family, &a, m);
    case STO_APPEND:
    case STO_INCREMENT:
        return modify(row, schema, family, &a, m, now_us);
    case STO_DELETE_FROM_COLUMN:
    case STO_DELETE_FROM_FAMILY:
    case STO_DELETE_FROM_ROW:
        REMOVE_WHERE(row, c, is_deleted(c, m));
        break;
    }
    return ERR_OK;
}

/* --- rows and tables ----------------------------------------------------------------------------
 */

static size_t row_begin(const struct oracle_table *t, struct slice key)
{
    return lower_bound(t, &(struct address){key, 0, SLICE_EMPTY, INT64_MAX});
}

static size_t row_end(const struct oracle_table *t, size_t begin, struct slice key)
{
    while (begin < t->count && base_slice_equal(oracle_key(&t->cells[begin]), key))
        begin++;
    return begin;
}

void oracle_row_copy(const struct oracle_table *from, struct slice key, struct oracle_table *out)
{
    size_t begin = row_begin(from, key), n = row_end(from, begin, key) - begin;
    out->count = 0;
    make_room(out, n + 1);
    if (n > 0)
        memcpy(out->cells, &from->cells[begin], n * sizeof out->cells[0]);
    out->count = n;
}

void oracle_row_replace(struct oracle_table *t, struct slice key, const struct oracle_table *row)
{
    size_t begin = row_begin(t, key), end = row_end(t, begin, key);
    make_room(t, row->count + 1);
    memmove(&t->cells[begin + row->count], &t->cells[end], (t->count - end) * sizeof t->cells[0]);
    if (row->count > 0)
        memcpy(&t->cells[begin], row->cells, row->count * sizeof t->cells[0]);
    t->count = t->count - (end - begin) + row->count;
}

void oracle_row_visible(const struct oracle_table *t, const struct sto_schema *schema,
                        struct slice key, int64_t now_us, struct oracle_row *out)
{
    out->key = key;
    out->count = 0;
    size_t begin = row_begin(t, key), end = row_end(t, begin, key);
    for (size_t i = begin; i < end; i++) {
        const struct oracle_cell *c = &t->cells[i];
        if (!is_visible(t, schema, i, now_us))
            continue;
        INVARIANT(out->count < ORACLE_CELLS);
        out->cells[out->count++] =
            (struct sto_cell){.family = sto_schema_family_by_number(schema, c->family),
                              .qualifier = oracle_qualifier(c),
                              .timestamp_us = c->timestamp_us,
                              .value = oracle_value(c)};
    }
}

struct sto_usage oracle_usage(const struct oracle_table *t)
{
    struct sto_usage u = {.cells = t->count};
    for (size_t i = 0; i < t->count; i++) {
        const struct oracle_cell *c = &t->cells[i];
        u.bytes += c->key_len + c->family_name_len + c->qualifier_len + c->value_len + 8UL;
        u.rows += i == 0 || !base_slice_equal(oracle_key(c), oracle_key(c - 1));
    }
    return u;
}

static bool in_range(const struct sto_row_range *r, struct slice key)
{
    int start = base_slice_compare(key, r->start);
    int end = r->end.len == 0 ? -1 : base_slice_compare(key, r->end);
    return (start > 0 || (start == 0 && !r->start_exclusive)) &&
           (end < 0 || (end == 0 && r->end_inclusive));
}

void oracle_drop(struct oracle_table *t, struct sto_row_range range, uint16_t family)
{
    REMOVE_WHERE(t, c, in_range(&range, oracle_key(c)) && (family == 0 || c->family == family));
}

/* --- reads
 * ---------------------------------------------------------------------------------------- */

static bool is_asked_for(const struct sto_read_spec *spec, struct slice key)
{
    if (spec->row_key.len != 0)
        return base_slice_equal(key, spec->row_key);
    bool asked = spec->rows.count == 0 && !spec->rows.none;
    for (size_t i = 0; i < spec->rows.count; i++)
        asked = asked || in_range(&spec->rows.ranges[i], key);
    return asked;
}

static bool is_projected(const struct sto_projection *p, const struct sto_schema *schema,
                         const struct sto_cell *c)
{
    return sto_projection_has_family(p, (size_t)(c->family - schema->families)) &&
           sto_bytes_range_holds(&p->qualifiers, c->qualifier) && c->timestamp_us >= p->since_us &&
           (p->until_us == 0 || c->timestamp_us < p->until_us);
}

/* Removes cells outside the projection, or beyond the number of versions. */
static void narrow(const struct sto_read_spec *spec, const struct sto_schema *schema,
                   struct oracle_row *row)
{
    size_t kept = 0, versions = 0;
    for (size_t i = 0; i < row->count; i++) {
        const struct sto_cell *c = &row->cells[i];
        if (spec->narrowed && !is_projected(&spec->projection, schema, c))
            continue;
        bool same = kept > 0 && row->cells[kept - 1].family == c->family &&
                    base_slice_equal(row->cells[kept - 1].qualifier, c->qualifier);
        versions = same ? versions + 1 : 1;
        if (spec->versions == 0 || versions <= spec->versions)
            row->cells[kept++] = *c;
    }
    row->count = kept;
}

/* Emits a row; returns true when the row has output. */
static bool give_row(struct oracle_row *row, const struct sto_filter *filter,
                     struct sto_row_sink *sink)
{
    static const struct sto_filter pass = {.kind = STO_FILTER_PASS_ALL};
    struct oracle_list list = oracle_evaluate(filter != NULL ? filter : &pass, row, false);
    bool any = list.count > 0;
    if (any)
        sink->row_begin(sink, row->key);
    for (size_t i = 0; i < list.count; i++)
        sink->cell(sink, &list.items[i].cell);
    if (any)
        sink->row_end(sink);
    oracle_list_free(&list);
    return any;
}

uint64_t oracle_read(const struct oracle_table *t, const struct sto_schema *schema,
                     const struct sto_read_spec *spec, const struct sto_filter *filter,
                     int64_t now_us, struct sto_row_sink *sink)
{
    static struct oracle_row row;
    uint64_t rows = 0;
    for (size_t n = 0; n < t->count && (spec->row_limit == 0 || rows < spec->row_limit); n++) {
        size_t i = spec->reversed ? t->count - 1 - n : n;
        struct slice key = oracle_key(&t->cells[i]);
        size_t before = spec->reversed ? i + 1 : i - 1;
        if ((n > 0 && base_slice_equal(oracle_key(&t->cells[before]), key)) ||
            !is_asked_for(spec, key))
            continue;
        oracle_row_visible(t, schema, key, now_us, &row);
        narrow(spec, schema, &row);
        rows += give_row(&row, filter, sink);
    }
    return rows;
}
