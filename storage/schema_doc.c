/*
 * storage/schema_doc.c - a schema as a stored document (base/record.h).
 *
 *   document   1 next number, 2 deleting, 3 one family each, 4 protected, 5 notes on row keys,
 *              6 numbers of dropped families as varints, 7 revision, 8 seconds for which changes
 *              are kept, 9 start of the change stream, 10 origin, 17 one split each, ascending
 *   family     1 number, 2 name, 5 aggregate, 6 gc rule: (varint kind, varint value) for each node,
 *              7 value type, of a family without aggregate
 *
 * Before rules were trees, a family had 3 max versions and 4 max age, 0 for none; cells that either
 * of them excludes were hidden. They are decoded to the equivalent rule and encoded in the new
 * form.
 *
 * Before there were revisions, a table's revision was its document's version. The caller that
 * decodes a document without a revision (0) sets it so.
 *
 * 1. The version is the document's, not in it. 2. Decoding counts first and allocates exactly.
 */
#include "base/record.h"
#include "base/text.h"
#include "storage/mutation.h"
#include "storage/schema_internal.h"

#include "base/banned.h"

enum {
    FIELD_NEXT_NUMBER = 1,
    FIELD_DELETING = 2,
    FIELD_FAMILY = 3,
    FIELD_PROTECTED = 4,
    FIELD_NOTES = 5,
    FIELD_DROPPED = 6,
    FIELD_REVISION = 7,
    FIELD_CHANGE_RETENTION = 8,
    FIELD_CHANGE_SINCE = 9,
    FIELD_ORIGIN = 10,
    FIELD_SPLIT = 17,
};
enum {
    FAMILY_NUMBER = 1,
    FAMILY_NAME = 2,
    FAMILY_MAX_VERSIONS = 3,
    FAMILY_MAX_AGE = 4,
    FAMILY_AGGREGATE = 5,
    FAMILY_GC = 6,
    FAMILY_VALUE_TYPE = 7,
};

#define FAMILY_BYTES_MAX (2 * KIB) /* 64 gc nodes of at most 11 bytes, a name, numbers */
#define US_PER_MS        1000U

/* --- encoding ----------------------------------------------------------------------------- */

static uint64_t node_value(const struct sto_gc_node *n)
{
    if (n->kind == STO_GC_MAX_VERSIONS)
        return n->max_versions;
    return n->kind == STO_GC_MAX_AGE ? n->max_age_us : n->member_count;
}

static enum err family_encode(const struct sto_family *f, struct buf *out)
{
    struct buf gc;
    base_buf_init(&gc, FAMILY_BYTES_MAX);
    for (size_t i = 0; i < f->gc.node_count; i++) {
        (void)base_varint_put(&gc, f->gc.nodes[i].kind); /* errors latch, here and below */
        (void)base_varint_put(&gc, node_value(&f->gc.nodes[i]));
    }
    enum err rc = gc.error;
    (void)base_record_put_u64(out, FAMILY_NUMBER, f->number);
    (void)base_record_put_bytes(out, FAMILY_NAME, base_slice(f->name, f->name_len));
    if (f->aggregate != STO_AGGREGATE_NONE)
        (void)base_record_put_u64(out, FAMILY_AGGREGATE, f->aggregate);
    if (f->value_type != STO_VALUE_UNTYPED)
        (void)base_record_put_u64(out, FAMILY_VALUE_TYPE, f->value_type);
    if (f->gc.node_count > 0)
        (void)base_record_put_bytes(out, FAMILY_GC, base_buf_slice(&gc));
    base_buf_fini(&gc);
    return rc != ERR_OK ? rc : out->error;
}

static enum err families_encode(const struct sto_schema *s, struct buf *out)
{
    for (size_t i = 0; i < s->family_count; i++) {
        struct buf one;
        base_buf_init(&one, FAMILY_BYTES_MAX);
        enum err rc = family_encode(&s->families[i], &one);
        if (rc == ERR_OK)
            rc = base_record_put_bytes(out, FIELD_FAMILY, base_buf_slice(&one));
        base_buf_fini(&one);
        if (rc != ERR_OK)
            return rc;
    }
    return ERR_OK;
}

static enum err dropped_encode(const struct sto_schema *s, struct buf *out)
{
    struct buf numbers;
    base_buf_init(&numbers, 3 * LIM_FAMILIES_DROPPED);
    for (size_t i = 0; i < s->dropped_count; i++)
        (void)base_varint_put(&numbers, s->dropped[i]); /* errors latch */
    enum err rc = numbers.error;
    if (rc == ERR_OK)
        rc = base_record_put_bytes(out, FIELD_DROPPED, base_buf_slice(&numbers));
    base_buf_fini(&numbers);
    return rc;
}

enum err sto_schema_encode(const struct sto_schema *s, struct buf *out)
{
    (void)base_record_put_u64(out, FIELD_NEXT_NUMBER, s->next_number); /* errors latch in out */
    (void)base_record_put_u64(out, FIELD_REVISION, s->revision);
    if (s->deleting)
        (void)base_record_put_u64(out, FIELD_DELETING, 1);
    if (s->protected)
        (void)base_record_put_u64(out, FIELD_PROTECTED, 1);
    if (s->change_retention_s > 0) {
        (void)base_record_put_u64(out, FIELD_CHANGE_RETENTION, s->change_retention_s);
        (void)base_record_put_u64(out, FIELD_CHANGE_SINCE, (uint64_t)s->change_since_us);
    }
    if (s->row_key_notes.len > 0)
        (void)base_record_put_bytes(out, FIELD_NOTES, s->row_key_notes);
    if (s->origin.len > 0)
        (void)base_record_put_bytes(out, FIELD_ORIGIN, s->origin);
    for (size_t i = 0; i < s->split_count; i++)
        (void)base_record_put_bytes(out, FIELD_SPLIT, s->splits[i]); /* errors latch */
    enum err rc = families_encode(s, out);
    if (rc == ERR_OK && s->dropped_count > 0)
        rc = dropped_encode(s, out);
    return rc != ERR_OK ? rc : out->error;
}

/* --- decoding a family -------------------------------------------------------------------- */

struct family_body {
    struct sto_family_spec spec;
    uint16_t number;
    uint32_t max_versions; /* of the old form */
    uint64_t max_age_us;
    struct sto_gc_node nodes[LIM_GC_NODES];
};

static enum err gc_decode(struct slice body, struct family_body *out)
{
    size_t n = 0;
    while (body.len > 0) {
        uint64_t kind = 0;
        uint64_t value = 0;
        if (n == LIM_GC_NODES || base_varint_take(&body, &kind) != ERR_OK ||
            base_varint_take(&body, &value) != ERR_OK || kind < STO_GC_MAX_VERSIONS ||
            kind > STO_GC_INTERSECTION || (kind != STO_GC_MAX_AGE && value > UINT32_MAX))
            return ERR_CORRUPT;
        struct sto_gc_node *node = &out->nodes[n++];
        *node = (struct sto_gc_node){.kind = (enum sto_gc_kind)kind};
        if (kind == STO_GC_MAX_AGE)
            node->max_age_us = value;
        else if (kind == STO_GC_MAX_VERSIONS)
            node->max_versions = (uint32_t)value;
        else
            node->member_count = (uint32_t)value;
    }
    out->spec.gc_node_count = n;
    return ERR_OK;
}

/* Converts max versions and max age of the old form to the equivalent rule. */
static void gc_from_old_form(struct family_body *f)
{
    if (f->spec.gc_node_count > 0)
        return;
    bool both = f->max_versions != 0 && f->max_age_us != 0;
    size_t n = 0;
    if (both)
        f->nodes[n++] = (struct sto_gc_node){.kind = STO_GC_UNION, .member_count = 2};
    if (f->max_versions != 0)
        f->nodes[n++] =
            (struct sto_gc_node){.kind = STO_GC_MAX_VERSIONS, .max_versions = f->max_versions};
    if (f->max_age_us != 0) {
        /* Fractions of a millisecond were allowed. No timestamp has them, so rounding up keeps all
         * cells. */
        uint64_t whole_ms = f->max_age_us / US_PER_MS + (f->max_age_us % US_PER_MS != 0);
        f->nodes[n++] =
            (struct sto_gc_node){.kind = STO_GC_MAX_AGE, .max_age_us = whole_ms * US_PER_MS};
    }
    f->spec.gc_node_count = n;
}

static enum err family_number_field(const struct base_field *field, struct family_body *out)
{
    if (!field->is_number)
        return ERR_CORRUPT;
    switch (field->tag) {
    case FAMILY_NUMBER:
        if (field->number == 0 || field->number >= STO_FAMILY_NUMBER_MAX)
            return ERR_CORRUPT;
        out->number = (uint16_t)field->number;
        return ERR_OK;
    case FAMILY_MAX_VERSIONS:
        if (field->number > INT32_MAX)
            return ERR_CORRUPT;
        out->max_versions = (uint32_t)field->number;
        return ERR_OK;
    case FAMILY_MAX_AGE:
        if (field->number > INT64_MAX)
            return ERR_CORRUPT;
        out->max_age_us = field->number;
        return ERR_OK;
    case FAMILY_VALUE_TYPE:
        if (field->number >= STO_VALUE_TYPE_COUNT)
            return ERR_CORRUPT;
        out->spec.value_type = (enum sto_value_type)field->number;
        return ERR_OK;
    default:
        if (field->number >= STO_AGGREGATE_COUNT)
            return ERR_CORRUPT;
        out->spec.aggregate = (enum sto_aggregate)field->number;
        return ERR_OK;
    }
}

static enum err family_field(void *ctx, const struct base_field *field)
{
    struct family_body *out = ctx;
    if (field->tag == FAMILY_NAME)
        out->spec.name = field->bytes;
    else if (field->tag == FAMILY_GC)
        return gc_decode(field->bytes, out);
    else if (field->tag >= FAMILY_NUMBER && field->tag <= FAMILY_VALUE_TYPE)
        return family_number_field(field, out);
    return ERR_OK;
}

static enum err family_decode(struct slice body, struct family_body *out)
{
    out->spec = (struct sto_family_spec){.gc_nodes = out->nodes};
    out->number = 0;
    out->max_versions = 0;
    out->max_age_us = 0;
    enum err rc = base_record_visit(body, family_field, out);
    if (rc != ERR_OK)
        return rc;
    gc_from_old_form(out);
    bool is_whole =
        out->number != 0 && sto_family_name_check(out->spec.name, NULL) == ERR_OK &&
        (out->spec.aggregate == STO_AGGREGATE_NONE || out->spec.value_type == STO_VALUE_UNTYPED);
    return is_whole ? ERR_OK : ERR_CORRUPT;
}

/* --- decoding a schema -------------------------------------------------------------------- */

static enum err dropped_count(struct slice body, size_t *out)
{
    uint64_t last = 0;
    size_t n = 0;
    for (; body.len > 0; n++) {
        uint64_t number = 0;
        if (base_varint_take(&body, &number) != ERR_OK || number <= last ||
            number >= STO_FAMILY_NUMBER_MAX)
            return ERR_CORRUPT;
        last = number;
    }
    *out = n;
    return n <= LIM_FAMILIES_DROPPED ? ERR_OK : ERR_CORRUPT;
}

static enum err split_count(struct slice key, struct sto_schema_room *out)
{
    out->splits++;
    out->split_bytes += key.len;
    bool is_good = sto_row_key_check(NULL, key, NULL) == ERR_OK && out->splits <= LIM_SPLITS &&
                   out->split_bytes <= LIM_SPLIT_BYTES;
    return is_good ? ERR_OK : ERR_CORRUPT;
}

static enum err family_count(struct slice body, struct family_body *scratch,
                             struct sto_schema_room *out)
{
    enum err rc = family_decode(body, scratch);
    out->gc_nodes += scratch->spec.gc_node_count;
    return rc == ERR_OK && ++out->families > LIM_FAMILIES ? ERR_CORRUPT : rc;
}

static enum err notes_count(struct slice notes, struct sto_schema_room *out)
{
    bool is_good =
        notes.len <= LIM_ROW_KEY_NOTES && out->notes_bytes == 0 && base_utf8_is_valid(notes);
    out->notes_bytes = notes.len;
    return is_good ? ERR_OK : ERR_CORRUPT;
}

static enum err origin_count(const struct base_field *field, struct sto_schema_room *out)
{
    bool is_good = !field->is_number && field->bytes.len > 0 &&
                   field->bytes.len <= LIM_TABLE_ORIGIN && out->origin_bytes == 0;
    out->origin_bytes = field->bytes.len;
    return is_good ? ERR_OK : ERR_CORRUPT;
}

/* Counts the room that the document needs. */
struct counting {
    struct family_body *scratch;
    struct sto_schema_room *room;
};

static enum err count_field(void *ctx, const struct base_field *field)
{
    const struct counting *c = ctx;
    switch (field->tag) {
    case FIELD_FAMILY:
        return family_count(field->bytes, c->scratch, c->room);
    case FIELD_DROPPED:
        return c->room->dropped == 0 ? dropped_count(field->bytes, &c->room->dropped) : ERR_CORRUPT;
    case FIELD_NOTES:
        return notes_count(field->bytes, c->room);
    case FIELD_ORIGIN:
        return origin_count(field, c->room);
    case FIELD_SPLIT:
        return field->is_number ? ERR_CORRUPT : split_count(field->bytes, c->room);
    default:
        return ERR_OK;
    }
}

static enum err family_append(struct sto_schema_fill *f, struct slice body,
                              struct family_body *scratch)
{
    const struct sto_schema *s = f->schema;
    enum err rc = family_decode(body, scratch);
    if (rc != ERR_OK)
        return rc;
    if (s->family_count > 0 && s->families[s->family_count - 1].number >= scratch->number)
        return ERR_CORRUPT;
    if (sto_schema_family(s, scratch->spec.name) != NULL)
        return ERR_CORRUPT;
    rc = sto_schema_fill_family(f, scratch->number, &scratch->spec, NULL);
    return rc == ERR_OK ? ERR_OK : ERR_CORRUPT;
}

static enum err number_field(const struct base_field *field, struct sto_schema *s)
{
    if (!field->is_number)
        return ERR_CORRUPT;
    if (field->tag == FIELD_DELETING) {
        s->deleting = field->number != 0;
    } else if (field->tag == FIELD_PROTECTED) {
        s->protected = field->number != 0;
    } else if (field->tag == FIELD_REVISION) {
        s->revision = field->number;
    } else if (field->tag == FIELD_CHANGE_RETENTION) {
        if (field->number == 0 || field->number > LIM_CHANGES_KEPT_S)
            return ERR_CORRUPT;
        s->change_retention_s = (uint32_t)field->number;
    } else if (field->tag == FIELD_CHANGE_SINCE) {
        if (field->number == 0 || field->number > INT64_MAX)
            return ERR_CORRUPT;
        s->change_since_us = (int64_t)field->number;
    } else {
        if (field->number == 0 || field->number > STO_FAMILY_NUMBER_MAX)
            return ERR_CORRUPT;
        s->next_number = (uint16_t)field->number;
    }
    return ERR_OK;
}

static enum err split_append(struct sto_schema_fill *f, struct slice key)
{
    const struct sto_schema *s = f->schema;
    if (s->split_count > 0 && base_slice_compare(s->splits[s->split_count - 1], key) >= 0)
        return ERR_CORRUPT;
    sto_schema_fill_split(f, key);
    return ERR_OK;
}

/* Adds the numbers. They were counted before, so they are well formed. */
static void dropped_fill(struct sto_schema_fill *f, struct slice body)
{
    uint64_t number = 0;
    while (body.len > 0 && base_varint_take(&body, &number) == ERR_OK)
        sto_schema_fill_dropped(f, (uint16_t)number);
}

/* Detects numbers that are not assigned yet, a family both present and dropped, and half a change
 * stream. */
static bool numbers_are_wrong(const struct sto_schema *s)
{
    if (s->next_number == 0 || (s->change_retention_s == 0) != (s->change_since_us == 0))
        return true;
    if (s->family_count > 0 && s->families[s->family_count - 1].number >= s->next_number)
        return true;
    if (s->dropped_count > 0 && s->dropped[s->dropped_count - 1] >= s->next_number)
        return true;
    for (size_t i = 0; i < s->dropped_count; i++)
        if (sto_schema_family_by_number(s, s->dropped[i]) != NULL)
            return true;
    return false;
}

struct filling {
    struct family_body *scratch;
    struct sto_schema_fill *fill;
};

static enum err fill_field(void *ctx, const struct base_field *field)
{
    const struct filling *f = ctx;
    if (field->tag == FIELD_FAMILY)
        return family_append(f->fill, field->bytes, f->scratch);
    if (field->tag == FIELD_SPLIT)
        return split_append(f->fill, field->bytes);
    if (field->tag == FIELD_NOTES)
        sto_schema_fill_notes(f->fill, field->bytes);
    else if (field->tag == FIELD_ORIGIN)
        sto_schema_fill_origin(f->fill, field->bytes);
    else if (field->tag == FIELD_DROPPED)
        dropped_fill(f->fill, field->bytes);
    else if (field->tag >= FIELD_NEXT_NUMBER && field->tag <= FIELD_CHANGE_SINCE)
        return number_field(field, f->fill->schema);
    return ERR_OK;
}

enum err sto_schema_decode(struct slice table_id, struct slice body, struct sto_table *table,
                           struct sto_schema **out)
{
    if (sto_table_id_check(table_id, NULL) != ERR_OK)
        return ERR_INVALID;
    struct family_body scratch;
    struct sto_schema_room room = {0};
    enum err rc = base_record_visit(body, count_field, &(struct counting){&scratch, &room});
    if (rc != ERR_OK)
        return rc;
    struct sto_schema_fill fill;
    sto_schema_fill_begin(&fill, table, table_id, &room);
    rc = base_record_visit(body, fill_field, &(struct filling){&scratch, &fill});
    if (rc == ERR_OK && numbers_are_wrong(fill.schema))
        rc = ERR_CORRUPT;
    if (rc != ERR_OK) {
        sto_schema_unref(fill.schema);
        return rc;
    }
    *out = fill.schema;
    return ERR_OK;
}
