/*
 * tenancy/view_doc.c - parts by tag, in order.
 *
 * Qualifiers and prefixes follow the family that they belong to.
 *
 * 1. Tags are stored: append only.
 */
#include "tenancy/view_doc.h"

#include "base/alloc.h"
#include "base/record.h"
#include "base/siphash.h"

#include "base/banned.h"

enum {
    TAG_PROTECTED = 1,
    TAG_ROW_PREFIX = 2,
    TAG_FAMILY = 3,
    TAG_QUALIFIER = 4,
    TAG_QUALIFIER_PREFIX = 5,
};

/* --- encoding ---------------------------------------------------------------------------------
 */

/* Errors latch in out. */
static void put_list(struct buf *out, uint32_t tag, const struct slice *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        (void)base_record_put_bytes(out, tag, list[i]);
}

enum err ten_view_encode(const struct sto_view_spec *spec, struct buf *out)
{
    (void)base_record_put_u64(out, TAG_PROTECTED, spec->protected); /* latches, and all below */
    put_list(out, TAG_ROW_PREFIX, spec->row_prefixes, spec->row_prefix_count);
    for (size_t i = 0; i < spec->family_count; i++) {
        const struct sto_view_family_spec *f = &spec->families[i];
        put_list(out, TAG_FAMILY, &f->name, 1);
        put_list(out, TAG_QUALIFIER, f->qualifiers, f->qualifier_count);
        put_list(out, TAG_QUALIFIER_PREFIX, f->prefixes, f->prefix_count);
    }
    return out->error;
}

uint64_t ten_view_digest(struct slice body)
{
    /* No secret is needed: a client can only make its own views collide. */
    return base_siphash13((struct base_siphash_key){0, 0}, body);
}

/* --- decoding ---------------------------------------------------------------------------------
 */

/* Lists of different owners share one array, one part after the other. */
struct draft {
    struct sto_view_spec spec;
    struct slice row_prefixes[LIM_VIEW_PARTS];
    struct sto_view_family_spec families[LIM_FAMILIES];
    struct slice parts[LIM_VIEW_PARTS];
    size_t part_count;
};

static enum err take_family(struct draft *d, struct slice name)
{
    if (d->spec.family_count == LIM_FAMILIES)
        return ERR_CORRUPT;
    const struct slice *next = &d->parts[d->part_count];
    d->families[d->spec.family_count++] =
        (struct sto_view_family_spec){.name = name, .qualifiers = next, .prefixes = next};
    return ERR_OK;
}

static enum err take_column(struct draft *d, struct slice bytes, bool is_prefix)
{
    if (d->spec.family_count == 0 || d->part_count == LIM_VIEW_PARTS)
        return ERR_CORRUPT;
    struct sto_view_family_spec *f = &d->families[d->spec.family_count - 1];
    d->parts[d->part_count++] = bytes;
    if (is_prefix) {
        f->prefix_count++;
        return ERR_OK;
    }
    if (f->prefix_count > 0)
        return ERR_CORRUPT; /* they come first */
    f->qualifier_count++;
    f->prefixes = &d->parts[d->part_count];
    return ERR_OK;
}

static enum err take_field(void *ctx, const struct base_field *field)
{
    struct draft *d = ctx;
    if (field->is_number != (field->tag == TAG_PROTECTED) && field->tag <= TAG_QUALIFIER_PREFIX)
        return ERR_CORRUPT;
    switch (field->tag) {
    case TAG_PROTECTED:
        d->spec.protected = field->number != 0;
        return ERR_OK;
    case TAG_ROW_PREFIX:
        if (d->spec.row_prefix_count == LIM_VIEW_PARTS)
            return ERR_CORRUPT;
        d->row_prefixes[d->spec.row_prefix_count++] = field->bytes;
        return ERR_OK;
    case TAG_FAMILY:
        return take_family(d, field->bytes);
    case TAG_QUALIFIER:
    case TAG_QUALIFIER_PREFIX:
        return take_column(d, field->bytes, field->tag == TAG_QUALIFIER_PREFIX);
    default:
        return ERR_OK; /* from a newer program */
    }
}

enum err ten_view_decode(struct slice id, struct slice body, struct sto_view **out)
{
    struct draft *d = base_new(sizeof *d);
    d->spec.row_prefixes = d->row_prefixes;
    d->spec.families = d->families;
    enum err rc = base_record_visit(body, take_field, d);
    if (rc == ERR_OK)
        rc = sto_view_make(id, &d->spec, out, NULL);
    base_free(d);
    return rc == ERR_OK || rc == ERR_NO_MEMORY ? rc : ERR_CORRUPT;
}
