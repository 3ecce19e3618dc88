/*
 * gateway/grpc/family_proto.c - ColumnFamily messages as storage's families, and back.
 *
 * A gc rule is a tree in the message and a list in prefix order in storage. Conversion from a
 * message keeps the lists that are still being read on a stack; conversion to a message, the lists
 * that are still being filled.
 */
#include "gateway/grpc/family_proto.h"

#include "gateway/grpc/decode.h"

#include "base/banned.h"

#define NANOS_PER_US 1000
#define US_PER_S     1000000

/* --- gc rules: from messages -------------------------------------------------------------------
 */

struct gc_walk {
    struct {
        Bta__GcRule *const *rules;
        size_t left;
    } open[LIM_FILTER_DEPTH];
    size_t depth;
    struct sto_gc_node nodes[LIM_GC_NODES];
    size_t count;
};

static enum err put_node(struct gc_walk *w, struct sto_gc_node node, struct errbuf *eb)
{
    if (w->count == LIM_GC_NODES)
        return base_fail(eb, ERR_TOO_BIG, "a gc rule has more than %d parts", LIM_GC_NODES);
    w->nodes[w->count++] = node;
    return ERR_OK;
}

static enum err put_versions(struct gc_walk *w, int32_t versions, struct errbuf *eb)
{
    if (versions < 1)
        return base_fail(eb, ERR_INVALID, "max_num_versions is %d; it must be at least 1",
                         versions);
    return put_node(
        w, (struct sto_gc_node){.kind = STO_GC_MAX_VERSIONS, .max_versions = (uint32_t)versions},
        eb);
}

static enum err put_age(struct gc_walk *w, const Google__Protobuf__Duration *age, struct errbuf *eb)
{
    bool is_in_range = age->seconds >= 0 && age->seconds < INT64_MAX / US_PER_S / 4 &&
                       age->nanos >= 0 && age->nanos < NANOS_PER_US * US_PER_S;
    uint64_t us = (uint64_t)age->seconds * US_PER_S + (uint64_t)(age->nanos / NANOS_PER_US);
    if (!is_in_range || us == 0)
        return base_fail(eb, ERR_INVALID, "max_age must be at least one millisecond");
    return put_node(w, (struct sto_gc_node){.kind = STO_GC_MAX_AGE, .max_age_us = us}, eb);
}

static enum err put_members(struct gc_walk *w, enum sto_gc_kind kind, Bta__GcRule *const *rules,
                            size_t count, struct errbuf *eb)
{
    if (count == 0)
        return base_fail(eb, ERR_INVALID, "a union or intersection of gc rules is empty");
    if (w->depth == LIM_FILTER_DEPTH)
        return base_fail(eb, ERR_TOO_BIG, "a gc rule is nested deeper than %d", LIM_FILTER_DEPTH);
    w->open[w->depth].rules = rules;
    w->open[w->depth].left = count;
    w->depth++;
    return put_node(w, (struct sto_gc_node){.kind = kind, .member_count = (uint32_t)count}, eb);
}

static enum err put_rule(struct gc_walk *w, const Bta__GcRule *rule, struct errbuf *eb)
{
    switch (rule->rule_case) {
    case BTA__GC_RULE__RULE_MAX_NUM_VERSIONS:
        return put_versions(w, rule->max_num_versions, eb);
    case BTA__GC_RULE__RULE_MAX_AGE:
        return put_age(w, rule->max_age, eb);
    case BTA__GC_RULE__RULE_INTERSECTION:
        return put_members(w, STO_GC_INTERSECTION, rule->intersection->rules,
                           rule->intersection->n_rules, eb);
    case BTA__GC_RULE__RULE_UNION:
        return put_members(w, STO_GC_UNION, rule->union_->rules, rule->union_->n_rules, eb);
    case BTA__GC_RULE__RULE__NOT_SET:
    default:
        return base_fail(eb, ERR_INVALID, "a member of a gc rule is empty");
    }
}

/* Reads a gc rule. An absent or empty rule: nothing is garbage. */
static enum err read_gc(const Bta__GcRule *rule, struct gc_walk *w, struct errbuf *eb)
{
    w->depth = 0;
    w->count = 0;
    if (rule == NULL || rule->rule_case == BTA__GC_RULE__RULE__NOT_SET)
        return ERR_OK;
    enum err e = put_rule(w, rule, eb);
    while (e == ERR_OK && w->depth > 0) {
        if (w->open[w->depth - 1].left == 0) {
            w->depth--;
            continue;
        }
        w->open[w->depth - 1].left--;
        e = put_rule(w, *w->open[w->depth - 1].rules++, eb);
    }
    return e;
}

/* --- types: from messages -----------------------------------------------------------------------
 */

static enum err read_aggregate(const Bta__Type__Aggregate *type, enum sto_aggregate *out,
                               struct errbuf *eb)
{
    const Bta__Type *input = type->input_type;
    switch (type->aggregator_case) {
    case BTA__TYPE__AGGREGATE__AGGREGATOR_SUM:
        *out = STO_AGGREGATE_SUM;
        break;
    case BTA__TYPE__AGGREGATE__AGGREGATOR_MIN:
        *out = STO_AGGREGATE_MIN;
        break;
    case BTA__TYPE__AGGREGATE__AGGREGATOR_MAX:
        *out = STO_AGGREGATE_MAX;
        break;
    case BTA__TYPE__AGGREGATE__AGGREGATOR_HLLPP_UNIQUE_COUNT:
        *out = STO_AGGREGATE_HLL;
        return ERR_OK;
    case BTA__TYPE__AGGREGATE__AGGREGATOR__NOT_SET:
    default:
        return base_fail(eb, ERR_INVALID, "an aggregate type does not say which aggregator");
    }
    if (input != NULL && input->kind_case != BTA__TYPE__KIND_INT64_TYPE &&
        input->kind_case != BTA__TYPE__KIND__NOT_SET)
        return base_fail(eb, ERR_UNSUPPORTED, "the input of sum, min and max must be int64");
    return ERR_OK;
}

static enum sto_value_type string_type_of(const Bta__Type__String *type)
{
    bool is_raw = type->encoding != NULL &&
                  type->encoding->encoding_case == BTA__TYPE__STRING__ENCODING__ENCODING_UTF8_RAW;
    return is_raw ? STO_VALUE_UTF8_RAW : STO_VALUE_STRING;
}

static enum err read_int64(const Bta__Type__Int64 *type, enum sto_value_type *out,
                           struct errbuf *eb)
{
    *out = STO_VALUE_INT64;
    if (type->encoding == NULL ||
        type->encoding->encoding_case != BTA__TYPE__INT64__ENCODING__ENCODING_ORDERED_CODE_BYTES)
        return ERR_OK;
    return base_fail(eb, ERR_UNSUPPORTED,
                     "value_type.int64_type.encoding must be big_endian_bytes, or be left out");
}

/* Reads a type. An encoding that is left out is the default one. */
static enum err read_type(const Bta__Type *type, struct sto_family_spec *out, struct errbuf *eb)
{
    if (type == NULL)
        return ERR_OK;
    switch ((int)type->kind_case) {
    case BTA__TYPE__KIND__NOT_SET:
        return ERR_OK;
    case BTA__TYPE__KIND_BYTES_TYPE:
        out->value_type = STO_VALUE_BYTES;
        return ERR_OK;
    case BTA__TYPE__KIND_STRING_TYPE:
        out->value_type = string_type_of(type->string_type);
        return ERR_OK;
    case BTA__TYPE__KIND_INT64_TYPE:
        return read_int64(type->int64_type, &out->value_type, eb);
    case BTA__TYPE__KIND_AGGREGATE_TYPE:
        return read_aggregate(type->aggregate_type, &out->aggregate, eb);
    default:
        return base_fail(eb, ERR_UNSUPPORTED,
                         "value_type must be bytes, string, int64 or an aggregate, or be left out");
    }
}

enum err gw_family_from_proto(struct slice name, const Bta__ColumnFamily *message,
                              struct arena *arena, struct sto_family_spec *out, struct errbuf *eb)
{
    struct gc_walk walk;
    struct errbuf inner = {{0}};
    *out = (struct sto_family_spec){.name = name};
    enum err e = read_type(message->value_type, out, &inner);
    if (e == ERR_OK)
        e = read_gc(message->gc_rule, &walk, &inner);
    if (e != ERR_OK)
        return base_fail(eb, e, "family \"%.*s\": %s", SLICE_ARGS(name), inner.text);
    if (walk.count == 0)
        return ERR_OK;
    struct sto_gc_node *nodes = base_arena_alloc(arena, walk.count * sizeof *nodes);
    if (nodes == NULL)
        return base_fail(eb, ERR_NO_MEMORY, "out of memory for a gc rule");
    memcpy(nodes, walk.nodes, walk.count * sizeof *nodes);
    out->gc_nodes = nodes;
    out->gc_node_count = walk.count;
    return ERR_OK;
}

/* --- to messages --------------------------------------------------------------------------------
 */

static bool write_age(Bta__GcRule *rule, uint64_t age_us, struct arena *arena)
{
    Google__Protobuf__Duration *age = gw_proto_new(arena, &google__protobuf__duration__descriptor);
    if (age == NULL)
        return false;
    age->seconds = (int64_t)(age_us / US_PER_S);
    age->nanos = (int32_t)(age_us % US_PER_S) * NANOS_PER_US;
    rule->rule_case = BTA__GC_RULE__RULE_MAX_AGE;
    rule->max_age = age;
    return true;
}

/* Adds a list of members to the rule. *out_members: where the members go. */
static bool write_members(Bta__GcRule *rule, const struct sto_gc_node *n, struct arena *arena,
                          Bta__GcRule ***out_members)
{
    Bta__GcRule **members = base_arena_alloc(arena, n->member_count * sizeof(*members));
    if (n->kind == STO_GC_UNION) {
        Bta__GcRule__Union *u = gw_proto_new(arena, &bta__gc_rule__union__descriptor);
        if (u == NULL || members == NULL)
            return false;
        u->rules = members;
        u->n_rules = n->member_count;
        rule->rule_case = BTA__GC_RULE__RULE_UNION;
        rule->union_ = u;
    } else {
        Bta__GcRule__Intersection *i = gw_proto_new(arena, &bta__gc_rule__intersection__descriptor);
        if (i == NULL || members == NULL)
            return false;
        i->rules = members;
        i->n_rules = n->member_count;
        rule->rule_case = BTA__GC_RULE__RULE_INTERSECTION;
        rule->intersection = i;
    }
    *out_members = members;
    return true;
}

static bool write_node(Bta__GcRule *rule, const struct sto_gc_node *n, struct arena *arena,
                       Bta__GcRule ***out_members)
{
    *out_members = NULL;
    switch (n->kind) {
    case STO_GC_MAX_VERSIONS:
        rule->rule_case = BTA__GC_RULE__RULE_MAX_NUM_VERSIONS;
        rule->max_num_versions = (int32_t)n->max_versions;
        return true;
    case STO_GC_MAX_AGE:
        return write_age(rule, n->max_age_us, arena);
    case STO_GC_UNION:
    case STO_GC_INTERSECTION:
        return write_members(rule, n, arena, out_members);
    }
    return false;
}

static Bta__GcRule *write_gc(const struct sto_gc *gc, struct arena *arena)
{
    struct {
        Bta__GcRule **members;
        size_t left;
    } open[LIM_FILTER_DEPTH];
    size_t depth = 0;
    Bta__GcRule *root = NULL;
    for (size_t i = 0; i < gc->node_count; i++) {
        Bta__GcRule **members = NULL;
        Bta__GcRule *rule = gw_proto_new(arena, &bta__gc_rule__descriptor);
        if (rule == NULL || !write_node(rule, &gc->nodes[i], arena, &members))
            return NULL;
        while (depth > 0 && open[depth - 1].left == 0)
            depth--;
        if (depth == 0) {
            root = rule;
        } else {
            *open[depth - 1].members++ = rule;
            open[depth - 1].left--;
        }
        if (members != NULL) {
            open[depth].members = members;
            open[depth++].left = gc->nodes[i].member_count;
        }
    }
    return root;
}

/* Types are the same for every family: whole messages, only read. */
#define BASE(type) .base = PROTOBUF_C_MESSAGE_INIT(&bta__type__##type##__descriptor)

static Bta__Type__Int64__Encoding__BigEndianBytes big_endian = {
    BASE(int64__encoding__big_endian_bytes)};
static Bta__Type__Int64__Encoding int64_encoding = {
    BASE(int64__encoding), .encoding_case = BTA__TYPE__INT64__ENCODING__ENCODING_BIG_ENDIAN_BYTES,
    .big_endian_bytes = &big_endian};
static Bta__Type__Int64 int64 = {BASE(int64), .encoding = &int64_encoding};
static Bta__Type int64_type = {.base = PROTOBUF_C_MESSAGE_INIT(&bta__type__descriptor),
                               .kind_case = BTA__TYPE__KIND_INT64_TYPE,
                               .int64_type = &int64};

static Bta__Type__Bytes__Encoding__Raw raw = {BASE(bytes__encoding__raw)};
static Bta__Type__Bytes__Encoding bytes_encoding = {
    BASE(bytes__encoding), .encoding_case = BTA__TYPE__BYTES__ENCODING__ENCODING_RAW, .raw = &raw};
static Bta__Type__Bytes bytes = {BASE(bytes), .encoding = &bytes_encoding};
static Bta__Type bytes_type = {.base = PROTOBUF_C_MESSAGE_INIT(&bta__type__descriptor),
                               .kind_case = BTA__TYPE__KIND_BYTES_TYPE,
                               .bytes_type = &bytes};

static Bta__Type__String__Encoding__Utf8Bytes utf8_bytes = {BASE(string__encoding__utf8_bytes)};
static Bta__Type__String__Encoding__Utf8Raw utf8_raw = {BASE(string__encoding__utf8_raw)};
static Bta__Type__String__Encoding utf8_bytes_encoding = {
    BASE(string__encoding), .encoding_case = BTA__TYPE__STRING__ENCODING__ENCODING_UTF8_BYTES,
    .utf8_bytes = &utf8_bytes};
static Bta__Type__String__Encoding utf8_raw_encoding = {
    BASE(string__encoding), .encoding_case = BTA__TYPE__STRING__ENCODING__ENCODING_UTF8_RAW,
    .utf8_raw = &utf8_raw};
static Bta__Type__String string = {BASE(string), .encoding = &utf8_bytes_encoding};
static Bta__Type__String raw_string = {BASE(string), .encoding = &utf8_raw_encoding};
static Bta__Type string_type = {.base = PROTOBUF_C_MESSAGE_INIT(&bta__type__descriptor),
                                .kind_case = BTA__TYPE__KIND_STRING_TYPE,
                                .string_type = &string};
static Bta__Type raw_string_type = {.base = PROTOBUF_C_MESSAGE_INIT(&bta__type__descriptor),
                                    .kind_case = BTA__TYPE__KIND_STRING_TYPE,
                                    .string_type = &raw_string};

static Bta__Type *const value_types[STO_VALUE_TYPE_COUNT] = {
    [STO_VALUE_UNTYPED] = NULL,        [STO_VALUE_BYTES] = &bytes_type,
    [STO_VALUE_STRING] = &string_type, [STO_VALUE_UTF8_RAW] = &raw_string_type,
    [STO_VALUE_INT64] = &int64_type,
};

static Bta__Type__Aggregate__Sum sum = {BASE(aggregate__sum)};
static Bta__Type__Aggregate__Min min = {BASE(aggregate__min)};
static Bta__Type__Aggregate__Max max = {BASE(aggregate__max)};
static Bta__Type__Aggregate__HyperLogLogPlusPlusUniqueCount distinct = {
    BASE(aggregate__hyper_log_log_plus_plus_unique_count)};

static Bta__Type__Aggregate aggregates[STO_AGGREGATE_COUNT] = {
    [STO_AGGREGATE_SUM] = {BASE(aggregate),
                           &int64_type,
                           &int64_type,
                           BTA__TYPE__AGGREGATE__AGGREGATOR_SUM,
                           {.sum = &sum}},
    [STO_AGGREGATE_MIN] = {BASE(aggregate),
                           &int64_type,
                           &int64_type,
                           BTA__TYPE__AGGREGATE__AGGREGATOR_MIN,
                           {.min = &min}},
    [STO_AGGREGATE_MAX] = {BASE(aggregate),
                           &int64_type,
                           &int64_type,
                           BTA__TYPE__AGGREGATE__AGGREGATOR_MAX,
                           {.max = &max}},
    [STO_AGGREGATE_HLL] = {BASE(aggregate),
                           &bytes_type,
                           &bytes_type,
                           BTA__TYPE__AGGREGATE__AGGREGATOR_HLLPP_UNIQUE_COUNT,
                           {.hllpp_unique_count = &distinct}},
};

static Bta__Type *write_aggregate(enum sto_aggregate a, struct arena *arena)
{
    Bta__Type *type = gw_proto_new(arena, &bta__type__descriptor);
    if (type == NULL)
        return NULL;
    type->kind_case = BTA__TYPE__KIND_AGGREGATE_TYPE;
    type->aggregate_type = &aggregates[a];
    return type;
}

enum err gw_family_to_proto(const struct sto_family *family, struct arena *arena,
                            Bta__ColumnFamily **out, struct errbuf *eb)
{
    Bta__ColumnFamily *message = gw_proto_new(arena, &bta__column_family__descriptor);
    bool is_made = message != NULL;
    if (is_made && family->gc.node_count > 0) {
        message->gc_rule = write_gc(&family->gc, arena);
        is_made = message->gc_rule != NULL;
    }
    if (is_made && family->aggregate == STO_AGGREGATE_NONE) {
        message->value_type = value_types[family->value_type];
    } else if (is_made) {
        message->value_type = write_aggregate(family->aggregate, arena);
        is_made = message->value_type != NULL;
    }
    *out = message;
    return is_made ? ERR_OK : base_fail(eb, ERR_NO_MEMORY, "out of memory for a family");
}
