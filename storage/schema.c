/*
 * storage/schema.c - immutable schemas that share one lasting table.
 *
 * 1. A schema holds one ref on its table; the table lives as long as any of its schemas.
 * 2. Families are sorted by number, names are unique, every number is below next_number.
 * 3. The stored document (base/record.h): 1 next number, 2 deleting, 3 one family each, itself a
 *    record of 1 number, 2 name, 3 max versions, 4 max age. The version is the document's.
 */
#include "storage/schema.h"

#include "base/alloc.h"
#include "base/record.h"

#include "base/banned.h"

enum { FIELD_NEXT_NUMBER = 1, FIELD_DELETING = 2, FIELD_FAMILY = 3 };
enum { FAMILY_NUMBER = 1, FAMILY_NAME = 2, FAMILY_MAX_VERSIONS = 3, FAMILY_MAX_AGE = 4 };

#define NUMBER_MAX 65535u

static bool is_name_byte(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
}

enum err sto_table_id_check(struct slice id, struct errbuf *eb)
{
    if (id.len < 1 || id.len > LIM_TABLE_ID)
        return base_fail(eb, ERR_INVALID, "table ID has %zu characters; it must have 1 to %d",
                         id.len, LIM_TABLE_ID);
    for (size_t i = 0; i < id.len; i++)
        if (!is_name_byte(id.ptr[i]) || (i == 0 && (id.ptr[0] == '-' || id.ptr[0] == '.')))
            return base_fail(eb, ERR_INVALID,
                             "table ID may hold letters, digits, '_', '-' and '.', and must not "
                             "begin with '-' or '.'; character %zu is wrong",
                             i + 1);
    return ERR_OK;
}

enum err sto_family_name_check(struct slice name, struct errbuf *eb)
{
    if (name.len < 1 || name.len > LIM_FAMILY_NAME)
        return base_fail(eb, ERR_INVALID, "family name has %zu characters; it must have 1 to %d",
                         name.len, LIM_FAMILY_NAME);
    for (size_t i = 0; i < name.len; i++)
        if (!is_name_byte(name.ptr[i]))
            return base_fail(eb, ERR_INVALID,
                             "family name may hold letters, digits, '_', '-' and '.'; character "
                             "%zu is wrong",
                             i + 1);
    return ERR_OK;
}

/* --- refs --------------------------------------------------------------------------------- */

static struct sto_table *table_new(struct slice id)
{
    struct sto_table *t = base_new(sizeof(*t));
    atomic_init(&t->refs, 1);
    memcpy(t->id, id.ptr, id.len);
    t->id_len = (uint8_t)id.len;
    return t;
}

static struct sto_table *table_ref(struct sto_table *t)
{
    uint32_t before = atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
    INVARIANT(before > 0 && before < UINT32_MAX);
    return t;
}

static void table_unref(struct sto_table *t)
{
    uint32_t before = atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel);
    INVARIANT(before > 0);
    if (before == 1)
        base_free(t);
}

/* Takes over the caller's ref on table. */
static struct sto_schema *schema_new(struct sto_table *table, size_t family_count)
{
    struct sto_schema *s = base_new(sizeof(*s) + family_count * sizeof(s->families[0]));
    atomic_init(&s->refs, 1);
    s->table = table;
    s->family_count = family_count;
    return s;
}

struct sto_schema *sto_schema_ref(struct sto_schema *s)
{
    uint32_t before = atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    INVARIANT(before > 0 && before < UINT32_MAX);
    return s;
}

void sto_schema_unref(struct sto_schema *s)
{
    if (s == NULL)
        return;
    uint32_t before = atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel);
    INVARIANT(before > 0);
    if (before != 1)
        return;
    table_unref(s->table);
    base_free(s);
}

/* --- lookup ------------------------------------------------------------------------------- */

const struct sto_family *sto_schema_family(const struct sto_schema *s, struct slice name)
{
    for (size_t i = 0; i < s->family_count; i++)
        if (base_slice_equal(base_slice(s->families[i].name, s->families[i].name_len), name))
            return &s->families[i];
    return NULL;
}

const struct sto_family *sto_schema_family_by_number(const struct sto_schema *s, uint16_t number)
{
    size_t low = 0;
    size_t high = s->family_count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (s->families[mid].number == number)
            return &s->families[mid];
        if (s->families[mid].number < number)
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}

/* --- making ------------------------------------------------------------------------------- */

static enum err specs_check(const struct sto_family_spec *families, size_t count, struct errbuf *eb)
{
    if (count > LIM_FAMILIES)
        return base_fail(eb, ERR_TOO_BIG, "a table has at most %d families; this one has %zu",
                         LIM_FAMILIES, count);
    for (size_t i = 0; i < count; i++) {
        enum err rc = sto_family_name_check(families[i].name, eb);
        if (rc != ERR_OK)
            return rc;
        for (size_t k = 0; k < i; k++)
            if (base_slice_equal(families[i].name, families[k].name))
                return base_fail(eb, ERR_INVALID, "family \"%.*s\" is named twice",
                                 SLICE_ARGS(families[i].name));
    }
    return ERR_OK;
}

static void family_insert(struct sto_schema *s, size_t used, uint16_t number,
                          const struct sto_family_spec *spec)
{
    size_t at = used;
    while (at > 0 && s->families[at - 1].number > number) {
        s->families[at] = s->families[at - 1];
        at--;
    }
    struct sto_family *f = &s->families[at];
    memset(f, 0, sizeof(*f));
    f->number = number;
    memcpy(f->name, spec->name.ptr, spec->name.len);
    f->name_len = (uint8_t)spec->name.len;
    f->gc = spec->gc;
}

enum err sto_schema_make(struct slice table_id, const struct sto_schema *old,
                         const struct sto_family_spec *families, size_t count,
                         struct sto_schema **out, struct errbuf *eb)
{
    enum err rc = sto_table_id_check(table_id, eb);
    if (rc == ERR_OK)
        rc = specs_check(families, count, eb);
    if (rc != ERR_OK)
        return rc;
    if (old != NULL && !base_slice_equal(table_id, base_slice(old->table->id, old->table->id_len)))
        return base_fail(eb, ERR_INVALID, "the table ID does not match the schema it replaces");

    struct sto_schema *s =
        schema_new(old != NULL ? table_ref(old->table) : table_new(table_id), count);
    uint32_t next = old != NULL ? old->next_number : 1;
    s->version = old != NULL ? old->version : 0;
    for (size_t i = 0; i < count; i++) {
        const struct sto_family *kept =
            old != NULL ? sto_schema_family(old, families[i].name) : NULL;
        if (kept == NULL && next >= NUMBER_MAX) {
            sto_schema_unref(s);
            return base_fail(eb, ERR_TOO_BIG,
                             "this table has had %u families; make a new table for more",
                             NUMBER_MAX - 1);
        }
        family_insert(s, i, kept != NULL ? kept->number : (uint16_t)next++, &families[i]);
    }
    s->next_number = (uint16_t)next;
    *out = s;
    return ERR_OK;
}

struct sto_schema *sto_schema_make_deleting(const struct sto_schema *old)
{
    struct sto_schema *s = schema_new(table_ref(old->table), old->family_count);
    s->version = old->version;
    s->next_number = old->next_number;
    s->deleting = true;
    memcpy(s->families, old->families, old->family_count * sizeof(old->families[0]));
    return s;
}

/* --- stored form -------------------------------------------------------------------------- */

enum err sto_schema_encode(const struct sto_schema *s, struct buf *out)
{
    (void)base_record_put_u64(out, FIELD_NEXT_NUMBER, s->next_number); /* errors latch in out */
    if (s->deleting)
        (void)base_record_put_u64(out, FIELD_DELETING, 1);
    for (size_t i = 0; i < s->family_count; i++) {
        const struct sto_family *f = &s->families[i];
        struct buf one;
        base_buf_init(&one, 256);
        (void)base_record_put_u64(&one, FAMILY_NUMBER, f->number);
        (void)base_record_put_bytes(&one, FAMILY_NAME, base_slice(f->name, f->name_len));
        (void)base_record_put_u64(&one, FAMILY_MAX_VERSIONS, f->gc.max_versions);
        (void)base_record_put_u64(&one, FAMILY_MAX_AGE, f->gc.max_age_us);
        enum err rc = one.error;
        if (rc == ERR_OK)
            (void)base_record_put_bytes(out, FIELD_FAMILY, base_buf_slice(&one));
        base_buf_fini(&one);
        if (rc != ERR_OK)
            return rc;
    }
    return out->error;
}

static enum err family_decode(struct slice body, struct sto_family *out)
{
    memset(out, 0, sizeof(*out));
    for (;;) {
        struct base_field field;
        bool end = false;
        enum err rc = base_record_next(&body, &field, &end);
        if (rc != ERR_OK)
            return rc;
        if (end)
            break;
        if (field.tag == FAMILY_NAME) {
            if (sto_family_name_check(field.bytes, NULL) != ERR_OK)
                return ERR_CORRUPT;
            memcpy(out->name, field.bytes.ptr, field.bytes.len);
            out->name_len = (uint8_t)field.bytes.len;
        } else if (field.tag == FAMILY_NUMBER || field.tag == FAMILY_MAX_VERSIONS ||
                   field.tag == FAMILY_MAX_AGE) {
            if (!field.is_number)
                return ERR_CORRUPT;
            if (field.tag == FAMILY_MAX_AGE) {
                out->gc.max_age_us = field.number;
            } else if (field.tag == FAMILY_MAX_VERSIONS) {
                if (field.number > UINT32_MAX)
                    return ERR_CORRUPT;
                out->gc.max_versions = (uint32_t)field.number;
            } else {
                if (field.number == 0 || field.number >= NUMBER_MAX)
                    return ERR_CORRUPT;
                out->number = (uint16_t)field.number;
            }
        }
    }
    return out->number != 0 && out->name_len != 0 ? ERR_OK : ERR_CORRUPT;
}

static enum err family_append(struct sto_schema *s, struct slice body)
{
    struct sto_family f;
    enum err rc = family_decode(body, &f);
    if (rc != ERR_OK)
        return rc;
    if (s->family_count == LIM_FAMILIES)
        return ERR_CORRUPT;
    if (s->family_count > 0 && s->families[s->family_count - 1].number >= f.number)
        return ERR_CORRUPT;
    if (sto_schema_family(s, base_slice(f.name, f.name_len)) != NULL)
        return ERR_CORRUPT;
    s->families[s->family_count++] = f;
    return ERR_OK;
}

static enum err body_decode(struct slice body, struct sto_schema *s)
{
    for (;;) {
        struct base_field field;
        bool end = false;
        enum err rc = base_record_next(&body, &field, &end);
        if (rc != ERR_OK)
            return rc;
        if (end)
            break;
        if (field.tag == FIELD_FAMILY) {
            rc = family_append(s, field.bytes);
            if (rc != ERR_OK)
                return rc;
        } else if (field.tag == FIELD_NEXT_NUMBER) {
            if (!field.is_number || field.number == 0 || field.number > NUMBER_MAX)
                return ERR_CORRUPT;
            s->next_number = (uint16_t)field.number;
        } else if (field.tag == FIELD_DELETING) {
            if (!field.is_number)
                return ERR_CORRUPT;
            s->deleting = field.number != 0;
        }
    }
    if (s->next_number == 0)
        return ERR_CORRUPT;
    if (s->family_count > 0 && s->families[s->family_count - 1].number >= s->next_number)
        return ERR_CORRUPT;
    return ERR_OK;
}

enum err sto_schema_decode(struct slice table_id, struct slice body, struct sto_table *table,
                           struct sto_schema **out)
{
    if (sto_table_id_check(table_id, NULL) != ERR_OK)
        return ERR_INVALID;
    struct sto_schema *s =
        schema_new(table != NULL ? table_ref(table) : table_new(table_id), LIM_FAMILIES);
    s->family_count = 0;
    enum err rc = body_decode(body, s);
    if (rc != ERR_OK) {
        sto_schema_unref(s);
        return rc;
    }
    *out = s;
    return ERR_OK;
}
